"""What every handler of the HTTP server works with, and one request as they see it."""

import asyncio
from collections.abc import Callable, Mapping
from random import Random
from typing import TYPE_CHECKING, Protocol

import msgspec

from cockpit.clock import Clock
from cockpit.sim.loopback import Listens, no_resolver, on_loopback, socket_factory
from cockpit.sim.port import PortError, Tree
from cockpit.sim.server.http.audit import ServerAuditLog
from cockpit.sim.server.http.discovery import Discovery
from cockpit.sim.server.http.statuses import retry_seconds
from cockpit.sim.server.http.target import RequestTarget
from cockpit.sim.server.kinds import ServedKind
from cockpit.sim.server.operations import Operations
from cockpit.sim.server.rbac.authoriser import Authoriser
from cockpit.sim.server.rbac.tokens import Tokens
from cockpit.sim.server.request import Request, User

if TYPE_CHECKING:
    import ssl

    import aiohttp
    from aiohttp import web

VERSION: Tree = {
    "major": "1",
    "minor": "36",
    "emulationMajor": "1",
    "emulationMinor": "36",
    "minCompatibilityMajor": "1",
    "minCompatibilityMinor": "35",
    "gitVersion": "v1.36.0+cockpit",
    "gitCommit": "",
    "gitTreeState": "clean",
    "buildDate": "2026-01-01T00:00:00Z",
    "goVersion": "none",
    "compiler": "cpython",
    "platform": "embedded",
}
"""`/version`. The mark tells anybody that this is not a real control plane."""


class Documents(Protocol):
    """The OpenAPI documents."""

    def v3_index(self) -> bytes:
        """`/openapi/v3` as JSON."""

    def v3(self, path: str) -> bytes | None:
        """`/openapi/v3/PATH` as JSON; None when there is no such group and version."""


class ServerContext(msgspec.Struct, kw_only=True, eq=False):
    """The parts of one server. `clock` is the cluster's; `stopping` is set when the server ends.

    `reroute` tells of the `ADDRESS:PORT` of a simulated pod where it really answers, a URL without path.
    `listens` tells what of this machine's loopback is the cluster's own: nothing else is ever dialled.
    """

    operations: Operations
    authoriser: Authoriser
    tokens: Tokens
    clock: Clock
    random: Random
    discovery: Discovery
    audit: ServerAuditLog
    documents: Documents | None
    kubelet_tls: "ssl.SSLContext"
    stopping: asyncio.Event
    client: "aiohttp.ClientSession | None" = None
    ends: dict[int, Callable[[], None]] = {}
    reroute: Callable[[str], str | None] = lambda address: None
    listens: Listens = on_loopback

    def dialler(self) -> "aiohttp.ClientSession":
        """The client for kubelets, pods and services, opened when first needed."""
        if self.client is None:
            import aiohttp

            self.client = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    limit=0,
                    ssl=self.kubelet_tls,
                    resolver=no_resolver(),
                    socket_factory=socket_factory(lambda host, port: self.listens(host, port)),
                ),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=10),
                auto_decompress=False,
            )
        return self.client

    def look_around(self) -> None:
        """Every stream looks whether it has still something to serve: called when kinds come or go."""
        for end in list(self.ends.values()):
            end()

    async def close(self) -> None:
        """Ends every stream and closes the client."""
        self.stopping.set()
        self.look_around()
        if self.client is not None:
            await self.client.close()
        self.audit.close()


class ApiRequest(msgspec.Struct, kw_only=True, eq=False):
    """One request for a resource: after authentication and authorisation, its kind found."""

    http: "web.Request"
    target: RequestTarget
    user: User
    kind: ServedKind
    warnings: tuple[str, ...] = ()

    @property
    def query(self) -> Mapping[str, str]:
        """The decoded query; of a repeated name the first value."""
        return self.http.query

    def request(self, **more: object) -> Request:
        """As operations take it."""
        target = self.target
        return msgspec.structs.replace(
            Request(
                resource=self.kind.resource,
                namespace=target.namespace if self.kind.resource.namespaced else "",
                name=target.name,
                subresource=target.subresource,
                verb=target.verb,
                user=self.user,
            ),
            **more,
        )


def retry_after(error: PortError) -> Mapping[str, str]:
    """The header of a refusal that says when to come back."""
    seconds = retry_seconds(error)
    return {"Retry-After": str(seconds)} if seconds else {}
