"""A small synchronous client of the bed's API server, for setting things up and looking at them in tests.

It is not the cockpit's client, on purpose: a test that sets up through the code under test proves little.
"""

import http.client
import json
import ssl
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

Tree = dict[str, Any]
APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
_REBUILDING = b"storage is (re)initializing"
_REBUILT_SECONDS = 30.0
_RETRIED = (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError, ssl.SSLEOFError)


class ApiError(Exception):
    """An HTTP status of 400 or more; `message` is the server's own sentence."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status
        self.message = message


@dataclass(frozen=True)
class Reply:
    status: int
    content_type: str
    body: bytes
    warnings: tuple[str, ...] = ()
    """Its Warning headers."""

    def json(self) -> Tree:
        tree: Tree = json.loads(self.body)
        return tree

    def checked(self) -> "Reply":
        """Itself, or ApiError with the message of the Status object."""
        if self.status < 400:
            return self
        text = self.body.decode("utf-8", "replace")
        try:
            text = str(json.loads(text).get("message", text))
        except (ValueError, AttributeError):
            text = text.strip()
        raise ApiError(self.status, text)


class Api:
    """One user's view of one API server; safe to share between threads (a connection for each)."""

    def __init__(self, server: str, token: str, ca_file: Path) -> None:
        self.server = server
        self.token = token
        self._context = ssl.create_default_context(cafile=str(ca_file))
        self._local = threading.local()
        self._kinds: dict[str, dict[str, tuple[str, bool]]] = {}

    def request(
        self,
        method: str,
        path: str,
        body: Tree | list[Any] | bytes | None = None,
        *,
        query: Iterable[tuple[str, str]] = (),
        content_type: str = "application/json",
        accept: str = "application/json",
        headers: Iterable[tuple[str, str]] = (),
        timeout_seconds: float = 30.0,
    ) -> Reply:
        """One exchange, whatever its status; a kept-alive connection that was closed is tried once more.

        A real API server rebuilds a custom kind's storage some time after each change of its definition and
        answers 429 with Retry-After meanwhile; like client-go, the call waits and asks again.

        `headers` are sent besides the usual ones; a name may stand there more than once.
        """
        payload = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        pairs = list(query)
        target = f"{path}?{urlencode(pairs)}" if pairs else path
        sent = [("Authorization", f"Bearer {self.token}"), ("Accept", accept), ("User-Agent", "cockpit-bed")]
        if payload is not None:
            sent.append(("Content-Type", content_type))
        if payload is not None or method in ("POST", "PUT", "PATCH"):
            sent.append(("Content-Length", str(len(payload or b""))))
        sent += headers
        until = time.monotonic() + _REBUILT_SECONDS
        while True:
            try:
                reply = self._exchange(method, target, payload, sent, timeout_seconds)
            except _RETRIED:
                reply = self._exchange(method, target, payload, sent, timeout_seconds)
            if reply.status != 429 or _REBUILDING not in reply.body or time.monotonic() > until:
                return reply
            time.sleep(1.0)  # its Retry-After

    def _exchange(
        self,
        method: str,
        target: str,
        payload: bytes | None,
        headers: list[tuple[str, str]],
        timeout_seconds: float,
    ) -> Reply:
        connection: http.client.HTTPSConnection | None = getattr(self._local, "connection", None)
        if connection is None:
            address = urlsplit(self.server)
            connection = http.client.HTTPSConnection(
                address.hostname or "127.0.0.1", address.port, context=self._context
            )
            self._local.connection = connection
        connection.timeout = timeout_seconds
        if connection.sock is not None:
            connection.sock.settimeout(timeout_seconds)
        try:
            connection.putrequest(method, target)
            for name, value in headers:
                connection.putheader(name, value)
            connection.endheaders(payload)
            answer = connection.getresponse()
            warnings = tuple(answer.headers.get_all("Warning") or ())
            return Reply(answer.status, answer.getheader("Content-Type", ""), answer.read(), warnings)
        except BaseException:
            self.close()
            raise

    def lines(
        self, path: str, *, query: Iterable[tuple[str, str]] = (), timeout_seconds: float = 60.0
    ) -> Iterator[bytes]:
        """Lines of an answer as they come, of a watch for example, on a connection of their own.

        The connection ends with the iterator. Raises ApiError.
        """
        address = urlsplit(self.server)
        connection = http.client.HTTPSConnection(
            address.hostname or "127.0.0.1", address.port, context=self._context, timeout=timeout_seconds
        )
        headers = {"Authorization": f"Bearer {self.token}", "Accept": "application/json"}
        try:
            connection.request("GET", f"{path}?{urlencode(list(query))}", headers=headers)
            answer = connection.getresponse()
            if answer.status >= 400:
                Reply(answer.status, answer.getheader("Content-Type", ""), answer.read()).checked()
            yield from answer
        finally:
            connection.close()

    def close(self) -> None:
        """Drops this thread's connection."""
        connection: http.client.HTTPSConnection | None = getattr(self._local, "connection", None)
        self._local.connection = None
        if connection is not None:
            connection.close()

    def get(self, path: str, *, query: Iterable[tuple[str, str]] = ()) -> Tree:
        """Raises ApiError."""
        return self.request("GET", path, query=query).checked().json()

    def items(self, path: str, *, query: Iterable[tuple[str, str]] = ()) -> list[Tree]:
        """The items of a list. Raises ApiError."""
        found: list[Tree] = self.get(path, query=query)["items"]
        return found

    def create(self, path: str, tree: Tree) -> Tree:
        return self.request("POST", path, tree).checked().json()

    def merge(self, path: str, patch: Tree) -> Tree:
        """A merge patch; `path` may end in a subresource."""
        return self.request("PATCH", path, patch, content_type=MERGE).checked().json()

    def delete(self, path: str, body: Tree | None = None) -> None:
        """A missing object counts as deleted."""
        reply = self.request("DELETE", path, body)
        if reply.status != 404:
            reply.checked()

    def path_of(self, tree: Tree) -> str:
        """Where an object lives, by the server's discovery. Raises ApiError for a kind not served."""
        version, kind = str(tree["apiVersion"]), str(tree["kind"])
        base = f"/api/{version}" if "/" not in version else f"/apis/{version}"
        kinds = self._kinds.get(version)
        if kinds is None or kind not in kinds:
            kinds = {
                one["kind"]: (one["name"], one["namespaced"])
                for one in self.get(base)["resources"]
                if "/" not in one["name"]
            }
            self._kinds[version] = kinds
        if kind not in kinds:
            raise ApiError(404, f"{version} serves no {kind}")
        plural, namespaced = kinds[kind]
        metadata = tree["metadata"]
        where = f"/namespaces/{metadata.get('namespace', 'default')}" if namespaced else ""
        return f"{base}{where}/{plural}/{metadata['name']}"

    def apply(self, tree: Tree) -> Tree:
        """Server-side apply as field manager `bed`. Raises ApiError."""
        return (
            self.request(
                "PATCH",
                self.path_of(tree),
                tree,
                query=(("fieldManager", "bed"), ("force", "true")),
                content_type=APPLY,
            )
            .checked()
            .json()
        )
