"""WebSockets to an API server: dialled with the session's credentials, refused in the server's own words."""

import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit

import msgspec
from yarl import URL

from cockpit.errors import NoConnection, Refused
from cockpit.kube.answer import ApiAnswer
from cockpit.kube.authorities import aiohttp
from cockpit.kube.failures import explain, host_of
from cockpit.kube.refusal import refusal_of
from cockpit.kube.transport import open_socket

if TYPE_CHECKING:
    import ssl

    import aiohttp
    from multidict import CIMultiDict

DIAL_SECONDS = 15.0
ALIVE_SECONDS = 20.0
"""A ping this often: balancers drop what is quiet, and a dead peer is noticed without input."""
_GOODBYE_SECONDS = 1.0
_MOST_MESSAGE_BYTES = 32 << 20
_MOST_REFUSAL_BYTES = 64 << 10


class Authority(Protocol):
    """Who we are (cockpit.kube.credentials.Credentials)."""

    @property
    def tls_context(self) -> "ssl.SSLContext | None":
        """The client's side of TLS, as it is now; None for the default."""

    async def authorization(self) -> str:
        """The Authorization header, "" without one."""

    async def renew(self, refused: str) -> bool:
        """Other credentials after a 401; False where there are none."""


class SocketRequest(msgspec.Struct, frozen=True):
    """Where to, and how."""

    url: str
    query: Sequence[tuple[str, str]]
    protocols: tuple[str, ...]
    headers: "CIMultiDict[str]"
    server_name: str | None
    proxy: str | None


class Socket:
    """One open WebSocket of binary messages."""

    def __init__(
        self, client: "aiohttp.ClientSession", socket: "aiohttp.ClientWebSocketResponse", server: str
    ) -> None:
        self._client = client
        self._socket = socket
        self._server = server

    @property
    def protocol(self) -> str:
        """The protocol that the server chose, "" for none."""
        return self._socket.protocol or ""

    async def receive(self) -> bytes | None:
        """The next message; None after the server's goodbye. Raises NoConnection where it was cut."""
        message = await self._socket.receive()
        if message.type is aiohttp.WSMsgType.BINARY:
            return bytes(message.data)
        if message.type is aiohttp.WSMsgType.TEXT:
            return str(message.data).encode()
        if message.type is aiohttp.WSMsgType.CLOSE and message.data != aiohttp.WSCloseCode.ABNORMAL_CLOSURE:
            return None
        error = self._socket.exception()
        if error is not None:
            raise explain(error, self._server)
        if self._socket.close_code == aiohttp.WSCloseCode.OK:
            return None
        raise NoConnection(f"The connection to {host_of(self._server)} was cut.")

    async def send(self, data: bytes) -> None:
        """Send one message. Raises NoConnection where the peer is gone."""
        try:
            await self._socket.send_bytes(data)
        except (ConnectionError, RuntimeError):
            raise NoConnection(f"The connection to {host_of(self._server)} was cut.") from None

    async def close(self) -> None:
        """Say goodbye and close; nothing more is sent or received."""
        with contextlib.suppress(ConnectionError, RuntimeError):
            await self._socket.close()
        await self._client.close()


async def dial(call: SocketRequest, authority: Authority) -> Socket:
    """Open a WebSocket; after a 401 once more with other credentials.

    Raises Refused with the server's sentence, NoConnection where no answer comes.
    """
    used = await authority.authorization()
    refusal = _Refusal()
    made = await _dial(call, used, authority.tls_context, refusal)
    if made is None and refusal.status == 401 and await authority.renew(used):
        refusal = _Refusal()
        made = await _dial(call, await authority.authorization(), authority.tls_context, refusal)
    if made is None:
        raise refusal.error(call.url)
    return made


class _Refusal:
    """What the server answers instead of a socket: aiohttp itself drops the body."""

    def __init__(self) -> None:
        self.status = 0
        self._content_type = ""
        self._body = b""

    async def read(self, _session: object, _context: object, params: "aiohttp.TraceRequestEndParams") -> None:
        response = params.response
        if response.status == 101:
            return
        self.status = response.status
        self._content_type = response.headers.get("Content-Type", "")
        with contextlib.suppress(aiohttp.ClientError, OSError):
            self._body = await response.content.read(_MOST_REFUSAL_BYTES)

    async def stay(self, _session: object, _context: object, _params: object) -> None:
        raise Refused("The server redirected us (redirects are not followed).")

    def error(self, url: str) -> Refused:
        answer = ApiAnswer(self.status, self._content_type, self._body)
        sentence = (
            answer.message() or f"{host_of(url)} does not open a WebSocket here (status {self.status})."
        )
        return Refused(sentence, refusal_of(answer, urlsplit(url).path))


async def _dial(
    call: SocketRequest, authorization: str, tls: "ssl.SSLContext | None", refusal: _Refusal
) -> Socket | None:
    """A socket, or None and the refusal filled. Raises NoConnection."""
    trace = aiohttp.TraceConfig()
    trace.on_request_end.append(refusal.read)
    trace.on_request_redirect.append(refusal.stay)
    headers = call.headers.copy()
    if authorization:
        headers["Authorization"] = authorization
    client = aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(socket_factory=open_socket, force_close=True),
        headers=headers,
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=DIAL_SECONDS),
        trace_configs=[trace],
    )
    try:
        socket = await client.ws_connect(
            URL(call.url, encoded=True).with_query(list(call.query)),
            protocols=call.protocols,
            timeout=aiohttp.ClientWSTimeout(ws_close=_GOODBYE_SECONDS),
            autoclose=False,
            heartbeat=ALIVE_SECONDS,
            ssl=tls or True,
            server_hostname=call.server_name,
            proxy=call.proxy,
            max_msg_size=_MOST_MESSAGE_BYTES,
        )
    except aiohttp.WSServerHandshakeError:
        await client.close()
        return None
    except (aiohttp.ClientError, OSError, ValueError) as error:
        await client.close()
        raise explain(error, call.url, call.proxy or "") from None
    except BaseException:
        await client.close()
        raise
    return Socket(client, socket, call.url)
