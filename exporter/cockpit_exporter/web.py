"""The HTTP side: /metrics, /healthz (is the snapshot fresh), /livez (is the process there)."""

import gzip
import socket
import ssl
import sys
import threading
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from cockpit_exporter.passwords import Gate

MOST_CONNECTIONS = 16
CONNECTION_SECONDS = 10.0
LEAST_TO_COMPRESS = 1024


class PageCollector(Collector):
    """A prometheus_client collector that makes its families when it is asked."""

    def __init__(self, page: Callable[[], Iterable[Metric]]) -> None:
        self._page = page

    def collect(self) -> Iterable[Metric]:
        return self._page()


@dataclass(frozen=True, slots=True)
class Tls:
    """Files of certificate and key; with `client_authority` clients must show a certificate of it."""

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
            made.verify_mode = ssl.CERT_REQUIRED
        return made

    def changed(self) -> tuple[int, int]:
        """Grows when the files are renewed."""
        return self.certificate.stat().st_mtime_ns, self.key.stat().st_mtime_ns


class Server(ThreadingHTTPServer):
    """Serves on one address, a thread a connection and at most MOST_CONNECTIONS of them."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def __init__(
        self,
        host: str,
        port: int,
        page: Callable[[], Iterable[Metric]],
        is_healthy: Callable[[], str],
        *,
        gate: Gate | None = None,
        tls: Tls | None = None,
    ) -> None:
        """`is_healthy` gives "" or why not. Raises OSError where address or TLS files cannot be used."""
        self.collector = PageCollector(page)
        self.is_healthy = is_healthy
        self.gate = gate
        self._tls = tls
        self._context = tls.context() if tls else None
        self._context_of = tls.changed() if tls else (0, 0)
        self._free = threading.BoundedSemaphore(MOST_CONNECTIONS)
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
        if not self._free.acquire(blocking=False):
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except RuntimeError:  # no thread to be had
            self._free.release()
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            request.settimeout(CONNECTION_SECONDS)
            if self._context is not None:
                # in this thread: a slow handshake keeps nobody else waiting
                request = self._renewed().wrap_socket(request, server_side=True)
            super().process_request_thread(request, client_address)
        except OSError:
            self.shutdown_request(request)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is no error of ours; anything else is told in the log."""
        problem = sys.exception()
        if problem is not None and not isinstance(problem, OSError):
            sys.stderr.write("".join(traceback.format_exception(problem)))

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


class _Handler(BaseHTTPRequestHandler):
    server: Server
    server_version = "cockpit-exporter"
    sys_version = ""
    timeout = CONNECTION_SECONDS

    def do_GET(self) -> None:
        path = self.path.split("?", 1)[0]
        if path == "/livez":
            self._answer(200, b"ok\n")
        elif path == "/healthz":
            why = self.server.is_healthy()
            self._answer(503 if why else 200, f"{why or 'ok'}\n".encode())
        elif path in ("/metrics", "/"):
            self._guarded(path)
        else:
            self._answer(404, b"there is /metrics, /healthz and /livez\n")

    do_HEAD = do_GET  # noqa: N815 - http.server's word

    def _guarded(self, path: str) -> None:
        gate = self.server.gate
        if gate is not None and not gate.opens(self.headers.get("Authorization")):
            realm = (("WWW-Authenticate", 'Basic realm="cockpit-exporter"'),)
            self._answer(401, b"credentials are needed\n", more=realm)
        elif path == "/":
            self._answer(200, b"cockpit-exporter: the numbers are at /metrics\n")
        else:
            encode, kind = choose_encoder(self.headers.get("Accept", ""))
            self._answer(200, encode(self.server.collector), kind)

    def _answer(
        self,
        status: int,
        body: bytes,
        kind: str = "text/plain; charset=utf-8",
        more: Iterable[tuple[str, str]] = (),
    ) -> None:
        is_zipped = len(body) >= LEAST_TO_COMPRESS and "gzip" in self.headers.get("Accept-Encoding", "")
        if is_zipped:
            body = gzip.compress(body, compresslevel=1, mtime=0)
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if is_zipped:
            self.send_header("Content-Encoding", "gzip")
        for name, value in more:
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - http.server's word
        """Scrapes are not logged."""
