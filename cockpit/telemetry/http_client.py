"""GET from a metrics server by its own URL, with aiohttp. Imports aiohttp when the first request is made."""

import asyncio
import base64
import os
import socket
import ssl
import stat
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.request import getproxies, proxy_bypass

import aiohttp
from yarl import URL

from cockpit import __version__
from cockpit.daemon_thread import resolver
from cockpit.errors import NoConnection
from cockpit.model.batch import Phase
from cockpit.model.metrics_server import PROMETHEUS, MetricsServer, ServerKind
from cockpit.sanitise import clean
from cockpit.telemetry.endpoint import Endpoint
from cockpit.telemetry.faults import TelemetryError
from cockpit.telemetry.http_protocol import Query

if TYPE_CHECKING:
    import aiohttp

READ_BYTES = 1 << 16
CONNECT_SECONDS = 10.0
MOST_RETRY_SECONDS = 3_600.0


class DirectAnswer(NamedTuple):
    """As `cockpit.telemetry.http_protocol.HttpAnswer` has it."""

    status: int
    content_type: str
    body: bytes | bytearray
    retry_after_seconds: float | None


class Direct:
    """One endpoint. Redirects are not followed, cookies not kept, credentials sent to this endpoint only."""

    def __init__(self, endpoint: Endpoint, login: MetricsServer, who: str) -> None:
        self._endpoint = endpoint
        self._login = login
        self._who = who
        self._client: aiohttp.ClientSession | None = None
        self._tls: ssl.SSLContext | None = None

    async def get(self, path: str, query: Query, limit_bytes: int) -> DirectAnswer:
        """As `Http.get`. A 401 with a token from a file that changed meanwhile is asked once more."""
        try:
            header = authorization(self._login)
            answer = await self._once(path, query, limit_bytes, header)
            if answer.status == 401 and header and (renewed := authorization(self._login)) != header:
                answer = await self._once(path, query, limit_bytes, renewed)
            return answer
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise NoConnection(
                f"{self._who} cannot be reached: {reason_of(error, self._login.kind)}."
            ) from None

    async def _once(self, path: str, query: Query, limit_bytes: int, header: str) -> DirectAnswer:
        client = await self._open()
        url = URL(self._endpoint.url + path, encoded=True).with_query(list(query))
        options: dict[str, Any] = {"headers": {"Authorization": header}} if header else {}
        async with client.get(
            url, allow_redirects=False, ssl=self._tls or True, proxy=_proxy_for(self._endpoint), **options
        ) as answer:
            body = bytearray()
            async for part in answer.content.iter_any():
                body += part
                if len(body) > limit_bytes:
                    answer.close()
                    raise TelemetryError(
                        f"{self._who} answers more than {limit_bytes // 2**20} MiB; "
                        f"{self._login.kind.narrow}."
                    )
            return DirectAnswer(
                answer.status,
                answer.headers.get("Content-Type", ""),
                body,
                _seconds(answer.headers.get("Retry-After", ""), answer.headers.get("Date", "")),
            )

    async def _open(self) -> "aiohttp.ClientSession":
        if self._endpoint.scheme == "https" and self._tls is None:
            self._tls = _authorities(self._login)
        if self._client is None:
            headers = {
                "User-Agent": f"gpu-cockpit/{__version__}",
                "Accept": "application/json",
                "Accept-Encoding": "gzip",
            }
            self._client = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=4, resolver=resolver()),
                # callers have a deadline for the whole response, and cancel
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS),
                headers=headers,
                read_bufsize=READ_BYTES,
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        return self._client

    async def close(self) -> None:
        """Close its connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()


def _authorities(login: MetricsServer) -> ssl.SSLContext:
    """Whom to trust: the authorities in its file, else those of this machine. Raises TelemetryError."""
    ca_file, option = login.ca_file, f"{login.kind.option}-ca-file"
    try:
        return ssl.create_default_context(cafile=os.path.expanduser(ca_file) if ca_file else None)
    except ssl.SSLError:
        raise TelemetryError(
            f"{option}: {ca_file} contains no certificates in PEM form.", Phase.DENIED
        ) from None
    except OSError as error:
        raise TelemetryError(f"{option}: {ca_file} cannot be read: {error.strerror}.", Phase.DENIED) from None


def _proxy_for(endpoint: Endpoint) -> str | None:
    """HTTP_PROXY, HTTPS_PROXY and NO_PROXY of the environment, as for the API server."""
    if endpoint.is_loopback:
        return None
    found = getproxies()
    proxy = found.get(endpoint.scheme) or found.get("all")
    if not proxy or proxy_bypass(endpoint.origin.partition("://")[2]):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def _seconds(retry_after: str, date: str) -> float | None:
    """Retry-After in seconds, bounded: a number, or a date (RFC 9110), which is taken against the server's
    own `Date`, not our clock. None for anything else."""
    text = retry_after.strip()
    if text.isascii() and text.isdigit() and len(text) <= 9:
        return min(float(text), MOST_RETRY_SECONDS)
    try:
        then, now = parsedate_to_datetime(text), parsedate_to_datetime(date)
        return min(max(0.0, (then - now).total_seconds()), MOST_RETRY_SECONDS)
    except (TypeError, ValueError, OverflowError):  # a date without a zone cannot be told from one with
        return None


def reason_of(error: BaseException, kind: ServerKind = PROMETHEUS) -> str:
    """Why there is no answer, in a few words of our own or of the system: never the server's."""
    if isinstance(error, aiohttp.ClientConnectorCertificateError | ssl.SSLCertVerificationError):
        cause = getattr(error, "certificate_error", error)
        said = clean(str(getattr(cause, "verify_message", "")), 120)
        return f"its certificate is not trusted ({said or 'no reason given'}); give {kind.option}-ca-file"
    if isinstance(error, aiohttp.ClientConnectorSSLError | ssl.SSLError):
        inner = getattr(error, "os_error", error)
        said = str(getattr(inner, "reason", "") or "").lower().replace("_", " ")
        return f"TLS failed ({clean(said, 80) or 'no reason given'})"
    if isinstance(error, aiohttp.ClientProxyConnectionError | aiohttp.ClientHttpProxyError):
        return "the proxy of HTTP_PROXY or HTTPS_PROXY cannot be used"
    if isinstance(error, aiohttp.ClientConnectorDNSError | socket.gaierror):
        return "its name cannot be resolved"
    if isinstance(error, aiohttp.ServerTimeoutError | asyncio.TimeoutError):
        return "no connection in time"
    if isinstance(error, aiohttp.ClientConnectorError):
        number = error.os_error.errno
        return os.strerror(number).lower() if number and number > 0 else "no connection"
    if isinstance(error, aiohttp.ClientPayloadError):
        return "its answer is damaged or was cut"
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return "it closed the connection without an answer"
    if isinstance(error, aiohttp.ClientResponseError):
        return "its answer is not valid HTTP"
    if isinstance(error, OSError) and error.errno:
        return os.strerror(error.errno).lower()
    return f"the connection broke ({type(error).__name__})"


# ---- credentials


LARGEST_BYTES = 64 * 1024


def authorization(login: MetricsServer) -> str:
    """The header's value, "" where nothing is to be sent. Raises TelemetryError naming file and remedy."""
    option = login.kind.option
    if login.token or login.token_file:
        token = login.token or secret_of(login.token_file, f"{option}-token-file")
        if not (token.isascii() and token.isprintable() and " " not in token):
            where = f" in {login.token_file}" if login.token_file else ""
            raise TelemetryError(
                f"The {login.kind.name} token{where} is not one word of ASCII.", Phase.DENIED
            )
        return f"Bearer {token}"
    if login.username:
        password = login.password or secret_of(login.password_file, f"{option}-password-file")
        return "Basic " + base64.b64encode(f"{login.username}:{password}".encode()).decode()
    return ""


def secret_of(name: str, option: str) -> str:
    """The only line of a file. Raises TelemetryError where there is none."""
    try:
        handle = os.open(Path(name).expanduser(), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise TelemetryError(f"{option}: {name} is not a regular file; give one.", Phase.DENIED)
            raw = file.read(LARGEST_BYTES + 1)
    except OSError as error:
        raise TelemetryError(f"{option}: {name} cannot be read: {error.strerror}.", Phase.DENIED) from None
    except ValueError:
        raise TelemetryError(f"{option}: {name!r} is not a valid file name.", Phase.DENIED) from None
    try:
        text = raw.decode("utf-8").removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        text = ""
    if not text or len(raw) > LARGEST_BYTES or not text.isprintable():
        raise TelemetryError(f"{option}: {name} does not hold one line of text.", Phase.DENIED)
    return text
