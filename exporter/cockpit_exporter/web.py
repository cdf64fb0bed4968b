"""The HTTP side: /metrics, /healthz (is the snapshot fresh), /livez (is the process there).

A connection carries one request. The probes are always answered and need neither password nor
certificate: the kubelet has none.
"""

import gzip
import socket
import ssl
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from http.client import LineTooLong
from http.server import BaseHTTPRequestHandler, HTTPServer
from io import BufferedReader
from pathlib import Path
from typing import Any, NamedTuple

from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from cockpit_exporter.connections import ClientConnection, ConnectionSlots, Limits
from cockpit_exporter.passwords import PasswordGate

LEAST_TO_COMPRESS = 1024
RETRY_SECONDS = 1
BUSY = b"busy: too many scrapes at once, try again\n"

Encoding = Callable[[str], tuple[Callable[[Collector], bytes], str]]


class PageCollector(Collector):
    """A prometheus_client collector that makes its families when it is asked."""

    def __init__(self, page: Callable[[], Iterable[Metric]]) -> None:
        self._page = page

    def collect(self) -> Iterable[Metric]:
        return self._page()


@dataclass(frozen=True, slots=True)
class Tls:
    """Files of certificate and key; with `client_authority` the numbers are for clients with a certificate of
    it. The probes are for all, so the certificate is asked for by TLS and wanted by the page."""

    certificate: Path
    key: Path
    client_authority: Path | None = None

    def context(self) -> ssl.SSLContext:
        """Raises OSError (ssl.SSLError is one) where a file cannot be used."""
        made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        made.minimum_version = ssl.TLSVersion.TLSv1_2
        made.load_cert_chain(self.certificate, self.key)
        if self.client_authority is not None:
            made.load_verify_locations(self.client_authority)
            made.verify_mode = ssl.CERT_OPTIONAL
        return made

    def changed(self) -> tuple[int, ...]:
        """Differs when the files are renewed. Raises OSError where one is gone."""
        files = (self.certificate, self.key, self.client_authority)
        return tuple(file.stat().st_mtime_ns for file in files if file is not None)


class Server(HTTPServer):
    """Serves on one address, a thread a connection."""

    request_queue_size = 64

    def __init__(
        self,
        host: str,
        port: int,
        page: Callable[[], Iterable[Metric]],
        is_healthy: Callable[[], str],
        encoding: Encoding = choose_encoder,
        *,
        gate: PasswordGate | None = None,
        tls: Tls | None = None,
        limits: Limits | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`is_healthy` gives "" or why not, `encoding` the writer and content type for an Accept header.
        Raises OSError where address or TLS files cannot be used."""
        self.collector = PageCollector(page)
        self.is_healthy = is_healthy
        self.encoding = encoding
        self.gate = gate
        self.limits = limits or Limits()
        self.wants_certificate = tls is not None and tls.client_authority is not None
        self.places = ConnectionSlots(self.limits.connections)
        self.scrapes = threading.BoundedSemaphore(self.limits.scrapes)
        self._clock = clock
        self._tls = tls
        self._context = tls.context() if tls else None
        self._context_of = tls.changed() if tls else ()
        self.address_family = socket.AF_INET6 if ":" in host or not host else socket.AF_INET
        try:
            super().__init__((host, port), _Handler)
        except OSError:
            if host or self.address_family == socket.AF_INET:
                raise
            self.address_family = socket.AF_INET  # a machine without IPv6
            super().__init__((host, port), _Handler)

    def server_bind(self) -> None:
        if self.address_family == socket.AF_INET6 and not self.server_address[0]:
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        # not HTTPServer's: it asks the resolver for the host's name
        socketserver_bind(self)

    def process_request(self, request: Any, client_address: Any) -> None:
        connection = ClientConnection(request, self.limits, self._clock)
        if not self.places.enter(connection):
            self._refuse(request, connection)
            return
        work = threading.Thread(
            target=self._serve_one, args=(connection, client_address), name="http client", daemon=True
        )
        try:
            work.start()
        except RuntimeError:  # no thread to be had
            self.places.leave(connection)
            self._refuse(request, connection)

    def stop(self) -> None:
        """Accept no new connection, let pending responses go out for a moment, and close the address."""
        self.shutdown()
        self.server_close()
        self.places.end(self.limits.stop_seconds)

    def _refuse(self, request: socket.socket, connection: ClientConnection) -> None:
        """503 from the thread that accepts, so without waiting; under TLS there is nothing to say it in."""
        if self._context is None:
            head = f"HTTP/1.0 503 Service Unavailable\r\nRetry-After: {RETRY_SECONDS}\r\n"
            head += f"Content-Type: text/plain; charset=utf-8\r\nContent-Length: {len(BUSY)}\r\n\r\n"
            with suppress(OSError):
                request.setblocking(False)
                request.send(head.encode() + BUSY)
        connection.close()

    def _serve_one(self, connection: ClientConnection, client_address: Any) -> None:
        try:
            if self._context is not None:
                # in this thread: a slow handshake delays no other client
                connection.handshake(self._renewed())
            self.finish_request(connection, client_address)  # type: ignore[arg-type]  # ours is no socket
        except OSError:
            pass  # a client that goes away or is too slow is no error of ours
        except Exception as problem:  # noqa: BLE001 - one request's; the others go on
            sys.stderr.write("".join(traceback.format_exception(problem)))
        finally:
            self.places.leave(connection)
            connection.close()

    def _renewed(self) -> ssl.SSLContext:
        """The TLS context; of the new files where they were renewed and can be read."""
        assert self._tls is not None
        assert self._context is not None
        try:
            changed = self._tls.changed()
            if changed != self._context_of:
                self._context = self._tls.context()
                self._context_of = changed
        except OSError:
            return self._context
        return self._context


def socketserver_bind(server: Server) -> None:
    """socketserver.TCPServer.server_bind, and the names that http.server wants."""
    server.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.socket.bind(server.server_address)
    server.server_address = server.socket.getsockname()
    server.server_name = str(server.server_address[0])
    server.server_port = int(server.server_address[1])


class _Answer(NamedTuple):
    status: int
    body: bytes
    kind: str = "text/plain; charset=utf-8"
    more: tuple[tuple[str, str], ...] = ()


class _Handler(BaseHTTPRequestHandler):
    server: Server
    connection: ClientConnection
    server_version = "cockpit-exporter"
    sys_version = ""

    def setup(self) -> None:
        self.connection = self.request
        self.rfile = BufferedReader(self.connection)
        self.wfile = self.connection  # type: ignore[assignment]

    def handle(self) -> None:
        self.command = self.requestline = ""
        self.request_version = self.protocol_version
        try:
            self.handle_one_request()
        except LineTooLong:
            self.send_error(431, "Request header fields too large")

    def finish(self) -> None:
        """The server closes the connection."""

    def do_GET(self) -> None:
        path = self.path.split("?", 1)[0]
        if path == "/livez":
            self._send(_Answer(200, b"ok\n"))
        elif path == "/healthz":
            why = self.server.is_healthy()
            self._send(_Answer(503 if why else 200, f"{why or 'ok'}\n".encode()))
        elif path in ("/metrics", "/"):
            self._guarded(path)
        else:
            self._send(_Answer(404, b"there is /metrics, /healthz and /livez\n"))

    do_HEAD = do_GET  # noqa: N815 - http.server's word

    def _guarded(self, path: str) -> None:
        with self.server.places.work(self.connection):
            answer = self._judged(path)
        self._send(answer)

    def _judged(self, path: str) -> _Answer:
        gate = self.server.gate
        if self.server.wants_certificate and not self.connection.has_certificate():
            return _Answer(403, b"a client certificate is needed\n")
        if gate is not None and not gate.opens(self.headers.get("Authorization")):
            realm = (("WWW-Authenticate", 'Basic realm="cockpit-exporter"'),)
            return _Answer(401, b"credentials are needed\n", more=realm)
        if path == "/":
            return _Answer(200, b"cockpit-exporter: the numbers are at /metrics\n")
        if not self.server.scrapes.acquire(blocking=False):
            return _Answer(503, BUSY, more=(("Retry-After", str(RETRY_SECONDS)),))
        try:
            encode, kind = self.server.encoding(self.headers.get("Accept", ""))
            return self._zipped(_Answer(200, encode(self.server.collector), kind))
        finally:
            self.server.scrapes.release()

    def _zipped(self, answer: _Answer) -> _Answer:
        if len(answer.body) < LEAST_TO_COMPRESS or "gzip" not in self.headers.get("Accept-Encoding", ""):
            return answer
        body = gzip.compress(answer.body, compresslevel=1, mtime=0)
        return answer._replace(body=body, more=(*answer.more, ("Content-Encoding", "gzip")))

    def _send(self, answer: _Answer) -> None:
        self.connection.begin_answer()
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.kind)
        self.send_header("Content-Length", str(len(answer.body)))
        for name, value in answer.more:
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - http.server's word
        """Scrapes are not logged."""
