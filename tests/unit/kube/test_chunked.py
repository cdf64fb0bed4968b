"""Chunked bodies: by example, and as aiohttp's own parser and the standard library's read them."""

import asyncio
import http.client
import io
import itertools
from collections.abc import Iterable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cockpit.kube import chunked as chunked_module
from cockpit.kube.chunked import LONGEST_LINE_BYTES, LONGEST_TRAILER_BYTES, ChunkError, Dechunker
from tests.unit.kube.variants import needs_gist

HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


def read(pieces: Iterable[bytes]) -> tuple[bytes, bool]:
    """The body in these pieces, each in a reused buffer with rubbish behind it, and whether it ended."""
    dechunker = Dechunker()
    body = b""
    for piece in pieces:
        buffer = bytearray(piece + b"\r\n3\r\nxyz\r\n")
        body += dechunker.feed(buffer, len(piece))
        buffer[:] = b"!" * len(buffer)  # nothing may still look at it
        buffer.clear()
    return body, dechunker.is_done


def pieces_of(data: bytes, cuts: Sequence[int]) -> list[bytes]:
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    return [data[begin:end] for begin, end in itertools.pairwise(edges)]


async def by_aiohttp(data: bytes) -> bytes:
    from aiohttp.base_protocol import BaseProtocol
    from aiohttp.http import HttpResponseParser

    loop = asyncio.get_running_loop()
    protocol = BaseProtocol(loop)
    protocol.connection_made(asyncio.Transport())
    parser = HttpResponseParser(protocol, loop, 1 << 20)
    messages, _, _ = parser.feed_data(HEAD + data)
    return await messages[0][1].read()


def by_the_standard_library(data: bytes) -> bytes:
    class Connection:
        def makefile(self, _mode: str) -> io.BytesIO:
            return io.BytesIO(HEAD + data)

    answer = http.client.HTTPResponse(Connection())  # type: ignore[arg-type]
    answer.begin()
    return answer.read()


token = st.text("abcdefghijklmnopqrstuvwxyz0123456789", min_size=1, max_size=6).map(str.encode)
extension = st.one_of(
    st.just(b""),
    token.map(lambda name: b";" + name),
    st.tuples(token, token).map(lambda pair: b";" + pair[0] + b"=" + pair[1]),
    st.tuples(token, token).map(lambda pair: b";" + pair[0] + b'="' + pair[1] + b'"'),
)
content = st.one_of(
    st.binary(min_size=1, max_size=40),
    st.sampled_from([b"\r\n", b"\r\n0\r\n\r\n", b"0\r\n", b"\r", b"\n", b"\r\n5\r\n", b"x" * 300]),
)


@st.composite
def chunked(draw: st.DrawFn) -> tuple[bytes, bytes]:
    """A chunked body on the wire, and what it holds."""
    parts = draw(st.lists(st.tuples(content, extension, st.integers(0, 3), st.booleans()), max_size=8))
    wire = b""
    for data, more, zeros, is_upper in parts:
        size = b"0" * zeros + f"{len(data):{'X' if is_upper else 'x'}}".encode()
        wire += size + more + b"\r\n" + data + b"\r\n"
    trailer = b"".join(
        name + b": " + value + b"\r\n" for name, value in draw(st.lists(st.tuples(token, token), max_size=2))
    )
    wire += b"0" + draw(extension) + b"\r\n" + trailer + b"\r\n"
    return wire, b"".join(data for data, _, _, _ in parts)


@given(chunked(), st.lists(st.integers(0, 800), max_size=12))
def test_what_was_sent_is_read_wherever_it_is_cut(sent: tuple[bytes, bytes], cuts: list[int]) -> None:
    wire, body = sent
    assert read(pieces_of(wire, cuts)) == (body, True)
    assert read(wire[at : at + 1] for at in range(len(wire))) == (body, True)


@given(chunked())
def test_as_aiohttp_and_the_standard_library_read_it(sent: tuple[bytes, bytes]) -> None:
    wire, body = sent
    assert asyncio.run(by_aiohttp(wire)) == by_the_standard_library(wire) == body == read([wire])[0]


def test_every_single_cut() -> None:
    wire = (
        b'1\r\nA\r\n00b;a="b";c \r\n\r\n0\r\n\r\n1234\r\n3 \t;x\r\nabc\r\n0\r\nDigest: 1\r\nB: 2\r\n\r\nrest'
    )
    for at in range(len(wire) + 1):
        assert read([wire[:at], wire[at:]]) == (b"A\r\n0\r\n\r\n1234abc", True), at


@given(chunked(), st.integers(0, 800))
def test_a_body_that_is_cut_gives_what_came_and_has_not_ended(sent: tuple[bytes, bytes], kept: int) -> None:
    wire, body = sent
    wire = wire[: min(kept, len(wire) - 1)]
    came, is_done = read([wire])
    assert body.startswith(came)
    assert not is_done


def test_what_follows_the_end_is_left_alone() -> None:
    assert read([b"2\r\nab\r\n0\r\n\r\nHTTP/1.1 500"]) == (b"ab", True)
    assert read([b"2\r\nab\r\n0\r\n\r\n", b"no chunk at all"]) == (b"ab", True)


@pytest.mark.parametrize(
    "wire",
    [
        b"HTTP",
        b"\r\n",
        b"-1\r\n",
        b"+5\r\nabcde\r\n",
        b"0x5\r\nabcde\r\n",
        b"1_0\r\n",
        b" 5\r\nabcde",
        b"5 \r\nabcde\r\n",
        b"5\nabcde\r\n",
        b"5;a\nabcde\r\n",
        b"5\r\r\n",
        b"2\r\nabc\r\n",
        b"2\r\nab\n0\r\n",
        b"2\r\nabX",
        b"2\r\nab\rX",
        b"11111111111111111\r\n",
        b"g\r\n",
        b"0\r\n\n",
        b"0\r\nDigest: 1\n\r\n",
        b"5;" + b"a" * (LONGEST_LINE_BYTES + 1),
        b"1\r\na\r\n5;" + b"a" * (LONGEST_LINE_BYTES + 1),
        b"0\r\n" + b"a" * (LONGEST_LINE_BYTES + 1),
        b"0\r\n" + b"a: b\r\n" * (LONGEST_TRAILER_BYTES // 6 + 1),
    ],
)
def test_what_is_no_chunked_body_is_refused(wire: bytes) -> None:
    with pytest.raises(ChunkError):
        read([wire])
    with pytest.raises(ChunkError):
        read(wire[at : at + 1] for at in range(len(wire)))


@given(st.text("0f5a;= \r\n", max_size=40).map(str.encode), st.integers(0, 40))
def test_rubbish_is_judged_alike_wherever_it_is_cut(rubbish: bytes, cut: int) -> None:
    def outcome(pieces: Iterable[bytes]) -> tuple[bytes, bool] | None:
        try:
            return read(pieces)
        except ChunkError:
            return None

    assert outcome([rubbish]) == outcome(pieces_of(rubbish, [cut]))


def outcome(pieces: Sequence[bytes]) -> tuple[list[bytes], str, bool]:
    """The body piece by piece, what was wrong in the end, and whether it ended."""
    dechunker = Dechunker()
    found: list[bytes] = []
    try:
        found.extend(dechunker.feed(bytearray(piece), len(piece)) for piece in pieces)
    except ChunkError as error:
        return found, str(error), False
    return found, "", dechunker.is_done


damage = st.lists(
    st.tuples(
        st.integers(0, 400), st.sampled_from([b"", b"\r", b"\n", b"\r\n", b"g", b"0", b";x", b"f" * 17, b" "])
    ),
    max_size=3,
)


@needs_gist
@settings(max_examples=400, deadline=None)
@given(chunked(), st.lists(st.integers(0, 800), max_size=6), damage)
def test_the_compiled_way_reads_as_the_other_one(
    sent: tuple[bytes, bytes], cuts: list[int], hurt: list[tuple[int, bytes]]
) -> None:
    wire = sent[0]
    for at, more in hurt:
        wire = wire[:at] + more + wire[at + (not more) :]
    pieces = pieces_of(wire, cuts)
    compiled = outcome(pieces)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunked_module, "unchunked", None)
        assert outcome(pieces) == compiled


@needs_gist
def test_the_compiled_way_leaves_what_is_not_a_plain_size_alone() -> None:
    unchunked = pytest.importorskip("cockpit.kube.decode._gist").unchunked

    def read_from(data: bytes, at: int, left: int) -> object:
        return unchunked(data, at, len(data), left)

    assert read_from(b"abc\r\n2\r\nde\r\nF\r\nfg", 0, 3) == (b"abcdefg", 17, 13)
    assert read_from(b"abc\r\n2;x\r\nde", 0, 3) == (b"abc", 3, 0)
    assert read_from(b"abc\r\n0\r\n\r\n", 0, 3) == (b"abc", 3, 0)
    assert read_from(b"abc\r\n" + b"1" * 17 + b"\r\nx", 1, 2) == (b"bc", 3, 0)
    assert read_from(b"abc\r\n" + b"f" * 16 + b"\r\nx", 1, 2) == (b"bcx", 24, (1 << 64) - 2)
    assert unchunked(b"abc", 1, 2, (1 << 64) - 1) == (b"b", 2, (1 << 64) - 2)
    assert read_from(b"", 0, 0) == (b"", 0, 0)
    for given_ in ((b"abc", 2, 1, 0), (b"abc", -1, 1, 0), (b"abc", 0, 4, 0)):
        with pytest.raises(ValueError, match="outside"):
            unchunked(*given_)
    with pytest.raises(OverflowError):
        unchunked(b"abc", 0, 1, -1)
    with pytest.raises(TypeError):
        unchunked("abc", 0, 1, 1)
