"""A metrics server by its own URL, over sockets of this machine."""

import asyncio
import gzip
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from cockpit.model.metrics_server import NO_METRICS_SERVER, MetricsServer
from cockpit.telemetry.endpoint import Endpoint
from cockpit.telemetry.faults import TelemetryError, Throttled, Unheard
from cockpit.telemetry.http_client import Direct
from cockpit.telemetry.prometheus import Prometheus

EMPTY = b'{"status":"success","data":{"resultType":"vector","result":[]}}'
Say = Callable[[asyncio.StreamWriter], Awaitable[None]]


def plain(body: bytes, *heads: bytes, status: bytes = b"200 OK") -> bytes:
    head = [
        b"HTTP/1.1 " + status,
        b"Content-Type: application/json",
        b"Content-Length: %d" % len(body),
        *heads,
    ]
    return b"\r\n".join([*head, b"", body])


class Server:
    """Writes one answer a request, byte for byte; keeps the heads of what was asked."""

    def __init__(self) -> None:
        self.heads: list[str] = []
        self.answers: list[bytes] = []
        self.drip = False
        self.left = asyncio.Event()
        self.port = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                self.heads.append(head.decode())
                writer.write(self.answers.pop(0) if len(self.answers) > 1 else self.answers[0])
                await writer.drain()
                if self.drip:
                    await reader.read()  # until the other side has gone
                    self.left.set()
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            self.left.set()
        finally:
            writer.close()


@asynccontextmanager
async def serving(*answers: bytes, drip: bool = False) -> AsyncIterator[Server]:
    server = Server()
    server.answers, server.drip = list(answers), drip
    made = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    server.port = made.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        made.close()


def asked(server: Server, login: MetricsServer = NO_METRICS_SERVER, **more: float) -> Prometheus:
    endpoint = Endpoint("http", "127.0.0.1", server.port, "/prom")
    return Prometheus(Direct(endpoint, login, "Prometheus at x"), who="Prometheus at x", **more)  # type: ignore[arg-type]


async def test_a_query_and_its_answer() -> None:
    async with serving(plain(EMPTY)) as server:
        prometheus = asked(server)
        assert await prometheus.query('up{a="b c"}') == []
        await prometheus.close()
    (head,) = server.heads
    assert head.startswith("GET /prom/api/v1/query?query=up%7Ba%3D%22b+c%22%7D HTTP/1.1")
    assert "Authorization" not in head and "Cookie" not in head


@pytest.mark.parametrize(
    "start", [b"", b"HTTP/1.1 200 OK\r\nX-", plain(EMPTY)[:-9]], ids=["none", "head", "body"]
)
async def test_an_answer_that_drips_is_abandoned_with_its_connection(start: bytes) -> None:
    async with serving(start, drip=True) as server:
        prometheus = asked(server, timeout_seconds=0.2)
        with pytest.raises(Unheard, match="Prometheus at x did not answer within"):
            await prometheus.query("up")
        await asyncio.wait_for(server.left.wait(), 10)
        await prometheus.close()


@pytest.mark.parametrize("kind", [b"gzip", b"deflate", b"br"])
async def test_a_packed_bomb_is_not_unpacked(kind: bytes) -> None:
    bomb = gzip.compress(b" " * (256 * 2**20), 9)
    async with serving(plain(bomb, b"Content-Encoding: " + kind)) as server:
        prometheus = asked(server, limit_bytes=2**20)
        tracemalloc.start()
        try:
            with pytest.raises(TelemetryError, match=r"more than 1 MiB|damaged|not valid HTTP"):
                await prometheus.query("up")
            assert tracemalloc.get_traced_memory()[1] < 16 * 2**20
        finally:
            tracemalloc.stop()
        await prometheus.close()


@pytest.mark.parametrize("status", [b"301 Moved", b"302 Found", b"307 Temporary Redirect", b"308 x"])
async def test_a_redirect_is_not_followed_and_takes_no_credentials(status: bytes) -> None:
    async with serving(plain(EMPTY)) as other:
        there = b"Location: http://127.0.0.1:%d/" % other.port
        async with serving(plain(b"", there, status=status)) as server:
            prometheus = asked(server, MetricsServer(token="t-1"))
            with pytest.raises(TelemetryError, match="redirects"):
                await prometheus.query("up")
            await prometheus.close()
    assert "Authorization: Bearer t-1" in server.heads[0]
    assert other.heads == []


BROKEN = {
    "status line": b"HTTP/1.1 200 \x1b]0;owned\x07\xe2\x80\xae\r\n\r\n",
    "no http": b"\x1b[2J hello\r\n\r\n",
    "header": b"HTTP/1.1 200 OK\r\nX: \x1b]0;owned\x07\r\n\r\n",
    "giant header": b"HTTP/1.1 200 OK\r\nX: " + b"x" * 200_000 + b"\r\n\r\n",
    "length": plain(EMPTY).replace(b"Content-Length: 63", b"Content-Length: \x1b[2J"),
    "chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\x1b[2J\r\n",
}


@pytest.mark.parametrize("name", BROKEN)
async def test_what_is_no_http_is_one_clean_sentence(name: str) -> None:
    async with serving(BROKEN[name]) as server:
        prometheus = asked(server, timeout_seconds=5.0)
        with pytest.raises(TelemetryError) as caught:
            await prometheus.query("up")
        await prometheus.close()
    assert caught.value.sentence.isprintable()
    assert "owned" not in caught.value.sentence and "[2J" not in caught.value.sentence


async def test_a_token_is_read_again_where_the_file_changed(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("t-1\n")
    refusal = plain(b"", status=b"401 Unauthorized")
    async with serving(plain(EMPTY), plain(EMPTY), refusal) as server:
        prometheus = asked(server, MetricsServer(token_file=str(file)))
        await prometheus.query("up")
        file.write_text("t-2\n")
        await prometheus.query("up")
        with pytest.raises(TelemetryError, match="rejects the credentials"):
            await prometheus.query("up")
        await prometheus.close()
    sent = [line for head in server.heads for line in head.split("\r\n") if line.startswith("Authorization")]
    assert sent == ["Authorization: Bearer t-1", "Authorization: Bearer t-2", "Authorization: Bearer t-2"]


async def test_a_user_and_a_password_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_bytes("s@/:ä".encode())
    async with serving(plain(EMPTY)) as server:
        prometheus = asked(server, MetricsServer(username="u", password_file=str(file)))
        await prometheus.query("up")
        await prometheus.close()
    assert "Authorization: Basic dTpzQC86w6Q=\r\n" in server.heads[0]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"", "does not hold one line"),
        (b"a\r\nX-Other: b\n", "does not hold one line"),
        (b"\xff", "does not hold one line"),
        (b"x" * 70_000, "does not hold one line"),
        (b"two words", "not one word"),
        (None, "No such file"),
    ],
)
async def test_a_token_file_that_cannot_be_used(text: bytes | None, words: str, tmp_path: Path) -> None:
    file = tmp_path / "token"
    if text is not None:
        file.write_bytes(text)
    async with serving(plain(EMPTY)) as server:
        prometheus = asked(server, MetricsServer(token_file=str(file)))
        with pytest.raises(TelemetryError, match=words) as caught:
            await prometheus.query("up")
        await prometheus.close()
    assert str(file) in caught.value.sentence
    assert server.heads == []


async def test_an_authority_is_taken_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "ca.pem"
    file.write_text("no certificate")
    for name, words in ((str(file), "no certificates in PEM form"), (str(tmp_path / "none"), "No such file")):
        endpoint = Endpoint("https", "127.0.0.1", 1)
        prometheus = Prometheus(Direct(endpoint, MetricsServer(ca_file=name), "Prometheus"))
        with pytest.raises(TelemetryError, match=words):
            await prometheus.query("up")
        await prometheus.close()


THROTTLED = {
    "seconds": ([b"Retry-After: 30"], 30.0),
    "a date against the server's own": (
        [b"Date: Mon, 23 Nov 2026 04:00:00 GMT", b"Retry-After: Mon, 23 Nov 2026 04:02:00 GMT"],
        120.0,
    ),
    "a date that has passed": (
        [b"Date: Mon, 23 Nov 2026 04:00:00 GMT", b"Retry-After: Mon, 23 Nov 2026 03:00:00 GMT"],
        0.0,
    ),
    "a year": ([b"Retry-After: 31536000"], 3_600.0),
}


@pytest.mark.parametrize("status", [b"429 Too Many Requests", b"503 Service Unavailable"])
@pytest.mark.parametrize("name", THROTTLED)
async def test_retry_after_is_what_it_says(name: str, status: bytes) -> None:
    heads, seconds = THROTTLED[name]
    async with serving(plain(b"", *heads, status=status)) as server:
        prometheus = asked(server)
        with pytest.raises(Throttled) as caught:
            await prometheus.query("up")
        await prometheus.close()
    assert caught.value.retry_after_seconds == seconds
    assert caught.value.wait_seconds <= 600.0
    assert f"HTTP {status[:3].decode()}" in caught.value.told(seconds)
    assert caught.value.told(30.0).endswith("; next try in 30 s.")


@pytest.mark.parametrize(
    "heads", [[], [b"Retry-After: soon"], [b"Retry-After: Mon, 23 Nov 2026 04:02:00 GMT"]]
)
async def test_a_retry_after_that_says_nothing_is_left_to_our_own_pause(heads: list[bytes]) -> None:
    async with serving(plain(b"", *heads, status=b"429 Too Many Requests")) as server:
        prometheus = asked(server)
        with pytest.raises(TelemetryError) as caught:
            await prometheus.query("up")
        await prometheus.close()
    assert not isinstance(caught.value, Throttled)
    assert caught.value.wait_seconds == 0.0


async def test_a_refusal_names_the_server_and_the_remedy() -> None:
    async with serving(plain(b"", status=b"401 Unauthorized")) as server:
        prometheus = asked(server)
        with pytest.raises(TelemetryError) as caught:
            await prometheus.query("up")
        await prometheus.close()
    assert "--prometheus-token-file" in caught.value.sentence
    assert caught.value.sentence.startswith("Prometheus at x ")
