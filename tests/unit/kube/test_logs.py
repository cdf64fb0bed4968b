"""Logs: cleaned, cut, followed."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cockpit.errors import Refused
from cockpit.kube.logs import LINE_BYTES, cut_lines, follow
from cockpit.kube.session import ApiSession
from tests.unit.kube.builders import FakeServer, refuse, stream

PATH = "/api/v1/namespaces/team-a/pods/p/log"


async def test_follow(server: FakeServer, session: ApiSession) -> None:
    server.on(PATH, stream(b"one\ntw", b"o\n\x1b[31mred\x1b[0m \x07bell\nlast", content_type="text/plain"))
    lines = [
        line async for line in follow(session, "team-a", "p", container="main", tail=50, since_seconds=9)
    ]
    assert lines == ["one", "two", "red bell", "last"]
    assert server.queries(PATH) == [
        {"container": "main", "follow": "true", "tailLines": "50", "sinceSeconds": "9"}
    ]


async def test_previous_is_not_followed(server: FakeServer, session: ApiSession) -> None:
    server.on(PATH, stream(b"x\n"))
    assert [line async for line in follow(session, "team-a", "p", previous=True, tail=None)] == ["x"]
    assert server.queries(PATH) == [{"previous": "true"}]


async def test_refused(server: FakeServer, session: ApiSession) -> None:
    server.on(PATH, refuse(400, "BadRequest", 'container "main" is waiting to start'))
    with pytest.raises(Refused, match='No log of team-a/p: container "main" is waiting to start'):
        async for _ in follow(session, "team-a", "p"):
            raise AssertionError("a line")


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (b"\n", [""]),
        (b"10%\r20%\r30%\n", ["30%"]),
        (b"windows\r\n", ["windows"]),
        (b"\xff\xfe\n", ["\ufffd\ufffd"]),
        (b"[/nope] \x1b]0;title\x07x\n", ["[/nope] ]0;titlex"]),
    ],
)
def test_lines(data: bytes, lines: list[str]) -> None:
    assert cut_lines(data) == (lines, b"")


def test_a_line_without_end_comes_in_pieces() -> None:
    lines, rest = cut_lines(b"x" * (LINE_BYTES * 2 + 5))
    assert [len(line) for line in lines] == [LINE_BYTES, LINE_BYTES]
    assert rest == b"x" * 5


@settings(deadline=None, max_examples=150)
@given(st.binary(max_size=300), st.integers(1, 50))
def test_nothing_hostile_leaves(data: bytes, size: int) -> None:
    held, out = b"", []
    for at in range(0, len(data), size):
        lines, held = cut_lines(held + data[at : at + size])
        out += lines
    assert out == cut_lines(data)[0]
    assert all(line.isprintable() or " " in line or "\ufffd" in line for line in out)
    assert not any(ord(one) < 32 or 0x7F <= ord(one) < 0xA0 for line in out for one in line)
