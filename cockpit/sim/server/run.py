"""Starting the embedded server: certificates, tokens, a port on loopback, a kubeconfig."""

import asyncio
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random, SystemRandom
from typing import TYPE_CHECKING

import msgspec

from cockpit.clock import Clock, SystemClock
from cockpit.errors import BadInput
from cockpit.sim.server.assembly import ENGINEER_NAMESPACE, Assembled, assemble
from cockpit.sim.server.http.certificates import (
    Certificates,
    kubelet_context,
    make_certificates,
    server_context,
)
from cockpit.sim.server.http.kubeconfig import write_kubeconfig
from cockpit.sim.server.local_port import LocalPort
from cockpit.sim.server.operations import Operations
from cockpit.sim.server.rbac.tokens import Tokens, shipped_users

if TYPE_CHECKING:
    import ssl

    from aiohttp import web

    from cockpit.sim.faults.embedded import FaultLayer
    from cockpit.sim.server.http.server_context import ServerContext

HOST = "127.0.0.1"
_BACKLOG = 1024
_LONGEST_LINE_BYTES = 1 << 20
"""As Go has it (net/http DefaultMaxHeaderBytes)."""
_GOODBYE_SECONDS = 0.5


class Embedded(msgspec.Struct, frozen=True, eq=False):
    """A server that runs. `tokens` and `usernames` are by context: admin, engineer, viewer, nobody, expired.

    A kubelet endpoint that wants to know its caller trusts `certificates.ca_file` for client certificates.
    """

    url: str
    folder: Path
    kubeconfig: Path
    certificates: Certificates
    tokens: Mapping[str, str]
    usernames: Mapping[str, str]
    operations: Operations
    context: "ServerContext"
    faults: "FaultLayer"
    """Give it something to choose from, and the server misbehaves."""

    @property
    def ca_file(self) -> Path:
        """What clients are to trust."""
        return self.certificates.ca_file

    def port(self, manager: str = "") -> LocalPort:
        """An actor's door past HTTP; one for each engine."""
        return LocalPort(self.operations, manager=manager)


@asynccontextmanager
async def serving(
    folder: Path,
    clock: Clock,
    random: Random,
    *,
    port: int = 0,
    has_accounts: bool = True,
    has_quotas: bool = True,
) -> AsyncIterator[Embedded]:
    """Serves until the block ends. `folder` gets certificates, `kubeconfig` and `audit.log`.

    `clock` and `random` are the cluster's; secrets come from the machine. Port 0 means any. Raises BadInput
    when the folder cannot be written or the port is taken.
    """
    listening = _listening(port)
    try:
        certificates = _prepared(folder)
        assembled = assemble(clock, random, has_accounts=has_accounts, has_quotas=has_quotas)
        host, number = listening.getsockname()[:2]
        people = shipped_users()
        tokens = Tokens(clock, SystemRandom())
        secrets = tokens.issue_all(people)
        kubeconfig = folder / "kubeconfig"
        url = f"https://{host}:{number}"
        known = {one.context: secrets[one.context] for one in people if one.token_is_known}
        write_kubeconfig(kubeconfig, url, certificates.ca_file, known, {"engineer": ENGINEER_NAMESPACE})
        context = _context(
            folder,
            clock,
            random,
            assembled=assembled,
            tokens=tokens,
            certificates=certificates,
            address=f"{host}:{number}",
        )
    except BaseException:
        listening.close()
        raise
    faults = _fault_layer(context)
    runner = await _speaking(context, faults, listening, server_context(certificates))
    try:
        yield Embedded(
            url=url,
            folder=folder,
            kubeconfig=kubeconfig,
            certificates=certificates,
            tokens=secrets,
            usernames={one.context: one.user.name for one in people},
            operations=assembled.operations,
            context=context,
            faults=faults,
        )
    finally:
        await context.close()
        await runner.cleanup()


def _listening(port: int) -> socket.socket:
    try:
        return socket.create_server((HOST, port), backlog=_BACKLOG)
    except (OSError, OverflowError) as error:
        why = getattr(error, "strerror", None) or str(error).rstrip(".")
        raise BadInput(
            f"Port {port} on {HOST} cannot be used: {why}; give another one, or 0 for any that is free."
        ) from None


def _prepared(folder: Path) -> Certificates:
    try:
        return make_certificates(folder / "pki", SystemClock())
    except OSError as error:
        raise BadInput(
            f"The folder {folder} cannot be written: {error.strerror}; give one that can."
        ) from None


def _context(
    folder: Path,
    clock: Clock,
    random: Random,
    *,
    assembled: Assembled,
    tokens: Tokens,
    certificates: Certificates,
    address: str,
) -> "ServerContext":
    from cockpit.sim.server.http.audit import ServerAuditLog
    from cockpit.sim.server.http.discovery import Discovery
    from cockpit.sim.server.http.openapi import OpenAPI
    from cockpit.sim.server.http.server_context import ServerContext

    operations = assembled.operations
    made = ServerContext(
        operations=operations,
        authoriser=assembled.authoriser,
        tokens=tokens,
        clock=clock,
        # Dice of its own: what clients ask must not move the history of the cluster.
        random=Random(random.getrandbits(64)),
        discovery=Discovery(operations.kinds, address),
        audit=ServerAuditLog(folder / "audit.log", clock),
        documents=OpenAPI(operations.kinds, operations.storage),
        kubelet_tls=kubelet_context(certificates),
        stopping=asyncio.Event(),
        ends={},
    )
    operations.kinds.listeners.append(made.look_around)
    return made


def _fault_layer(context: "ServerContext") -> "FaultLayer":
    from cockpit.sim.faults.embedded import FaultLayer

    def user_of(http: "web.Request") -> str:
        user = context.tokens.user_of(http.headers.get("Authorization", "").removeprefix("Bearer "))
        return user.name if user else ""

    return FaultLayer(context.clock, user_of=user_of)


async def _speaking(
    context: "ServerContext", faults: "FaultLayer", listening: socket.socket, tls: "ssl.SSLContext"
) -> "web.AppRunner":
    """What speaks HTTP on each connection. Bodies are taken as sent: kube-apiserver unpacks none either."""
    from aiohttp import web

    from cockpit.sim.server.http.handler import application

    served = application(context)
    served.middlewares.append(faults.middleware)
    runner = web.AppRunner(
        served,
        access_log=None,
        handler_cancellation=True,
        max_line_size=_LONGEST_LINE_BYTES,
        shutdown_timeout=_GOODBYE_SECONDS,
        keepalive_timeout=90,
        auto_decompress=False,
    )
    await runner.setup()
    await web.SockSite(runner, listening, ssl_context=tls, backlog=_BACKLOG).start()
    return runner
