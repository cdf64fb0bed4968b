"""The HTTP side over real sockets: clients that are slow, half open or too many, TLS, and a clean end."""

import http.client
import os
import select
import socket
import ssl
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest
from cockpit_exporter.connections import Limits
from cockpit_exporter.web import Server, Tls
from prometheus_client.metrics_core import GaugeMetricFamily, Metric

from tests.unit.exporter.certificates import certificate

PATIENCE = 30.0
PATIENT = Limits(connections=16, head_seconds=PATIENCE, answer_seconds=PATIENCE)


def small() -> Iterable[Metric]:
    yield GaugeMetricFamily("cockpit_gpus", "Cards", value=8)


def large() -> Iterable[Metric]:
    """Far more than the buffers of a connection hold."""
    for number in range(200):
        yield GaugeMetricFamily(f"family_{number}", "x" * 100_000, value=1)


@contextmanager
def serving(
    page: Callable[[], Iterable[Metric]] = small, limits: Limits = PATIENT, tls: Tls | None = None
) -> Iterator[Server]:
    server = Server("127.0.0.1", 0, page, lambda: "", tls=tls, limits=limits)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield server
    finally:
        server.stop()


def connect(server: Server) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.server_port), timeout=PATIENCE)


def trusting(authority: Path, own: tuple[Path, Path] | None = None) -> ssl.SSLContext:
    """A client's context, with its own certificate and key where it has them."""
    made = ssl.create_default_context(cafile=str(authority))
    made.check_hostname = False
    if own is not None:
        made.load_cert_chain(*own)
    return made


def get(
    server: Server, path: str, context: ssl.SSLContext | None = None
) -> tuple[int, "http.client.HTTPMessage", bytes]:
    where = ("127.0.0.1", server.server_port)
    made = (
        http.client.HTTPSConnection(*where, timeout=PATIENCE, context=context)
        if context
        else http.client.HTTPConnection(*where, timeout=PATIENCE)
    )
    made.request("GET", path)
    answer = made.getresponse()
    body = answer.read()
    made.close()
    return answer.status, answer.headers, body


def is_ended(one: socket.socket) -> bool:
    """Whether the server has hung up, sooner or later."""
    try:
        while one.recv(65536):
            pass
    except TimeoutError:
        return False
    except OSError:
        return True
    return True


HALF_OPEN = [b"", b"GET /met", b"GET /metrics HTTP/1.1\r\nHost: x\r\n", b"\x16\x03\x01\x02"]


@pytest.mark.parametrize("said", HALF_OPEN)
def test_half_open_connections_do_not_starve_scrapes(said: bytes) -> None:
    with serving() as server, ExitStack() as open_ones:
        for _ in range(3 * PATIENT.connections):
            open_ones.enter_context(connect(server)).sendall(said)
            assert get(server, "/metrics")[0] == 200
        assert get(server, "/healthz")[0] == 200


def test_half_open_handshakes_do_not_starve_scrapes(tmp_path: Path) -> None:
    written = certificate(tmp_path, "server")
    context = trusting(written[0])
    with serving(tls=Tls(*written)) as server, ExitStack() as open_ones:
        for said in (b"", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc", b"GET /metrics HTTP/1.1\r\n\r\n") * 16:
            with suppress(OSError):
                open_ones.enter_context(connect(server)).sendall(said)
            assert get(server, "/metrics", context)[0] == 200
        assert get(server, "/healthz", context)[0] == 200


def test_clients_that_do_not_read_their_answer_do_not_starve_scrapes() -> None:
    few = Limits(connections=4, head_seconds=PATIENCE, answer_seconds=PATIENCE)
    with serving(large, few) as server, ExitStack() as open_ones:
        for _ in range(2 * few.connections):
            one = open_ones.enter_context(connect(server))
            one.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
            one.recv(1)  # its answer has begun
        assert get(server, "/healthz")[0] == 200
        assert len(get(server, "/metrics")[2]) > 20_000_000


def test_a_byte_at_a_time_does_not_extend_the_time_for_the_head() -> None:
    head = b"GET /metrics HTTP/1.1\r\nHost: " + b"x" * 4000
    with serving(limits=Limits(head_seconds=0.3)) as server, connect(server) as one:
        sent = 0
        with suppress(OSError):  # hung up on while sending is hung up on, too
            for at in range(len(head)):
                if select.select([one], [], [], 0.01)[0]:
                    break
                sent += one.send(head[at : at + 1])
        assert sent < len(head), "every byte of a head that never ends was taken"


def test_an_answer_read_a_little_at_a_time_ends_at_its_deadline() -> None:
    with serving(large, Limits(answer_seconds=0.3)) as server, connect(server) as one:
        one.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
        taken = 0
        with suppress(OSError):
            while part := one.recv(20_000):
                taken += len(part)
                select.select([], [], [one], 0.01)
        assert 0 < taken < 20_000_000


def test_a_head_without_end_is_refused() -> None:
    with serving() as server:
        for line in (b"GET /" + b"x" * 100_000, b"GET /metrics HTTP/1.1\r\n" + b"a: b\r\n" * 10_000):
            with connect(server) as one:
                with suppress(OSError):
                    one.sendall(line)
                answer = b""
                with suppress(OSError):
                    while part := one.recv(65536):
                        answer += part
                assert answer.startswith(b"HTTP/1.0 431 "), line[:40]


class Held:
    """A page that is ready when it is told so."""

    def __init__(self) -> None:
        self.begun = threading.Semaphore(0)
        self.go_on = threading.Event()

    def page(self) -> Iterable[Metric]:
        self.begun.release()
        assert self.go_on.wait(PATIENCE)
        return small()


def test_more_scrapes_at_once_than_it_takes_get_503_and_probes_still_pass() -> None:
    held = Held()
    with serving(held.page) as server, ThreadPoolExecutor(PATIENT.scrapes) as pool:
        scrapes = [pool.submit(get, server, "/metrics") for _ in range(PATIENT.scrapes)]
        for _ in scrapes:
            assert held.begun.acquire(timeout=PATIENCE)
        status, headers, body = get(server, "/metrics")
        assert (status, headers["Retry-After"]) == (503, "1")
        assert body == b"busy: too many scrapes at once, try again\n"
        assert [get(server, path)[0] for path in ("/healthz", "/livez")] == [200, 200]
        held.go_on.set()
        assert [one.result(PATIENCE)[0] for one in scrapes] == [200] * len(scrapes)
        assert get(server, "/metrics")[0] == 200


def test_where_every_place_is_worked_for_the_next_client_gets_503() -> None:
    held = Held()
    limits = Limits(connections=2, scrapes=2, head_seconds=PATIENCE)
    with serving(held.page, limits) as server, ThreadPoolExecutor(2) as pool:
        scrapes = [pool.submit(get, server, "/metrics") for _ in range(2)]
        for _ in scrapes:
            assert held.begun.acquire(timeout=PATIENCE)
        status, headers, _ = get(server, "/livez")
        assert (status, headers["Retry-After"]) == (503, "1")
        held.go_on.set()
        assert [one.result(PATIENCE)[0] for one in scrapes] == [200, 200]
        assert get(server, "/livez")[0] == 200


def test_it_ends_with_the_answers_on_their_way_and_without_waiting_for_the_others() -> None:
    held = Held()
    limits = Limits(head_seconds=PATIENCE, stop_seconds=PATIENCE)
    with serving(held.page, limits) as server, ThreadPoolExecutor(2) as pool:
        scrape = pool.submit(get, server, "/metrics")
        assert held.begun.acquire(timeout=PATIENCE)
        with connect(server) as half_open:
            half_open.sendall(b"GET /met")
            assert get(server, "/livez")[0] == 200  # so the one before is in, too
            stopped = pool.submit(server.stop)
            assert is_ended(half_open)
            held.go_on.set()
            assert scrape.result(PATIENCE)[0] == 200
            stopped.result(PATIENCE)
        with pytest.raises(OSError, match="refused"):
            connect(server)


def test_a_connection_carries_one_request() -> None:
    with serving() as server, connect(server) as one:
        one.sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\nConnection: keep-alive\r\n\r\n")
        assert is_ended(one)


def test_probes_need_no_client_certificate_and_the_numbers_do(tmp_path: Path) -> None:
    written = certificate(tmp_path, "server")
    client, client_key = certificate(tmp_path, "client")
    other, other_key = certificate(tmp_path, "other")

    def context(own: tuple[Path, Path] | None = None) -> ssl.SSLContext:
        return trusting(written[0], own)

    with serving(tls=Tls(*written, client_authority=client)) as server:
        kubelet, scraper = context(), context((client, client_key))
        assert [get(server, path, kubelet)[0] for path in ("/healthz", "/livez")] == [200, 200]
        status, _, body = get(server, "/metrics", kubelet)
        assert (status, body) == (403, b"a client certificate is needed\n")
        assert get(server, "/", kubelet)[0] == 403
        assert [get(server, path, scraper)[0] for path in ("/metrics", "/healthz")] == [200, 200]
        with pytest.raises(OSError, match=r"(?i)certificate|reset|eof|alert|unknown ca"):
            get(server, "/metrics", context((other, other_key)))


def test_tls_files_are_read_again_when_they_change(tmp_path: Path) -> None:
    certificate_file, key = certificate(tmp_path, "server")
    client, client_key = certificate(tmp_path, "client")
    authority = tmp_path / "authority.crt"
    authority.write_bytes(certificate(tmp_path, "old")[0].read_bytes())

    def context(own: tuple[Path, Path] | None = None) -> ssl.SSLContext:
        return trusting(certificate_file, own)

    def renew(file: Path, text: bytes) -> None:
        then = file.stat().st_mtime_ns
        file.write_bytes(text)
        os.utime(file, ns=(then + 10**9, then + 10**9))

    with serving(tls=Tls(certificate_file, key, authority)) as server:
        with pytest.raises(OSError, match=r"(?i)certificate|reset|eof|alert|unknown ca"):
            get(server, "/metrics", context((client, client_key)))
        renew(authority, client.read_bytes())
        assert get(server, "/metrics", context((client, client_key)))[0] == 200
        old = context()
        second, second_key = certificate(tmp_path, "second")
        renew(key, second_key.read_bytes())
        renew(certificate_file, second.read_bytes())
        with pytest.raises(ssl.SSLCertVerificationError):
            get(server, "/livez", old)
        assert get(server, "/livez", context())[0] == 200
