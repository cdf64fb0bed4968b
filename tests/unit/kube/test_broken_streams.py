"""Lines too long, lines that are no events: they cost themselves, or one stream, and never the program."""

import asyncio
import json
import random
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from cockpit.clock import ManualClock
from cockpit.kube.decode import decoders
from cockpit.kube.decode.frames import FramingError
from cockpit.kube.decode.wire import wire_of
from cockpit.kube.event_dispatch import BAD_FRAMES_IN_A_ROW
from cockpit.kube.reflector import Reflector
from cockpit.kube.resource import PODS
from cockpit.kube.session import ApiSession
from cockpit.kube.stream_end import How
from cockpit.model.batch import Batch
from cockpit.model.record import Kind
from cockpit.store.store import Store
from tests.reliability.figures import Tell, whole
from tests.unit.kube.builders import FakeServer, event, meta, pod, stream
from tests.unit.kube.watching import INITIAL, PATH, Watcher

MIB = 1 << 20
SIZES_MIB = (1.5, 4, 15.9, 16.1, 64)
READ_MIB = 16
SECONDS = 120.0


def big(name: str, mib: float) -> bytes:
    """A pod with an annotation that makes its line so long."""
    return event(
        "ADDED", pod(name, metadata=meta(name, version="20", annotations={"note": "x" * int(mib * MIB)}))
    )


@pytest.mark.row(14, "sizes", least=5, unit="cases")
@pytest.mark.row(14, "stream breaks", most=0)
@pytest.mark.row(14, "objects of up to 16 MiB that are missing", most=0)
@pytest.mark.row(14, "longer ones that are not counted", most=0)
async def test_an_event_of_any_size_breaks_no_stream(
    server: FakeServer, watcher: Watcher, figure: Tell
) -> None:
    lines = {f"big-{mib}": big(f"big-{mib}", mib) for mib in SIZES_MIB}
    last = event("ADDED", pod("last", version="21"))
    server.on(PATH, stream(*INITIAL, *lines.values(), last, stays=True), stream(stays=True))
    await watcher.until(lambda: "last" in watcher.names, seconds=SECONDS)
    readable = {name for name, line in lines.items() if len(line) <= READ_MIB * MIB}
    figure("sizes", len(lines))
    figure("stream breaks", server.count(PATH) - 1)
    figure("objects of up to 16 MiB that are missing", len(readable - set(watcher.names)))
    watcher.reflector.bookmark("22")  # its status tells the count
    figure("longer ones that are not counted", len(lines) - len(readable) - watcher.skipped)
    assert set(watcher.names) == {"a", "b", "last", *readable}


GOOD = event("MODIFIED", pod("a", version="11")).rstrip(b"\n")


def invalid_utf8(rng: random.Random) -> bytes:
    at = rng.randrange(len(GOOD))
    return GOOD[:at] + bytes(rng.randrange(0x80, 0x100) for _ in range(3)) + GOOD[at + 1 :]


def cut_short(rng: random.Random) -> bytes:
    return GOOD[: rng.randrange(len(GOOD))]


def html(rng: random.Random) -> bytes:
    return rng.choice((b"<html><body>please log in</body></html>", b"<!DOCTYPE html>", b"<p>502 Bad Gateway"))


def numbers(rng: random.Random) -> bytes:
    odd = rng.choice((b"NaN", b"Infinity", b"-Infinity", b"1e999", b"-0", b"9" * 400, b"0x10"))
    return GOOD.replace(rng.choice((b'"11"', b'"1"', b'"Running"')), odd)


def nested(rng: random.Random) -> bytes:
    deep = rng.choice((100, 5_000, 100_000)) if rng.random() < 0.01 else rng.randrange(2, 200)
    opening, closing = rng.choice(((b"[", b"]"), (b'{"a":', b"}")))
    tree = opening * deep + b"1" + closing * rng.choice((deep, 0))
    return rng.choice((tree, b'{"type":"ADDED","object":' + tree + b"}"))


def odd_event(rng: random.Random) -> bytes:
    """JSON, but not what a watch sends."""
    value: Any = rng.choice(
        (None, 7, "text", [], {}, [[]], {"metadata": 3}, {"metadata": {"uid": 5}}, {"spec": []})
    )
    type_ = rng.choice(("ADDED", "MODIFIED", "DELETED", "BOOKMARK", "SURPRISE", 5, None))
    return json.dumps(rng.choice((value, {"type": type_, "object": value}, {"object": value}))).encode()


def flipped(rng: random.Random) -> bytes:
    line = bytearray(GOOD)
    for _ in range(rng.randint(1, 4)):
        line[rng.randrange(len(line))] = rng.randrange(256)
    return bytes(line).replace(b"\n", b" ")


BROKEN: tuple[Callable[[random.Random], bytes], ...] = (
    invalid_utf8,
    cut_short,
    html,
    numbers,
    nested,
    odd_event,
    flipped,
)


@dataclass
class LastTold:
    """Keeps the rows, and how many objects or lines were skipped so far."""

    store: Store = field(default_factory=Store)
    skipped: int = 0

    def __call__(self, batch: Batch) -> None:
        self.store.apply(batch)
        if batch.status is not None:
            self.skipped = batch.status.skipped


def some_lines(rng: random.Random) -> list[tuple[bytes, bool]]:
    """Lines of a stream, and whether each is certainly no event."""
    lines: list[tuple[bytes, bool]] = []
    for _ in range(rng.randint(1, 12)):
        make = rng.choice((*BROKEN, None))
        line = GOOD if make is None else make(rng)
        if line.strip():
            lines.append((line, make in (cut_short, html)))
    return lines


def ends_by_bad_lines(lines: list[tuple[bytes, bool]]) -> bool:
    """Whether three that are certainly no events follow each other."""
    return "b" * BAD_FRAMES_IN_A_ROW in "".join("b" if is_bad else "-" for _, is_bad in lines)


@pytest.mark.row(15, "lines", least=1_000_000, unit="cases")
@pytest.mark.row(15, "crashes", most=0)
@pytest.mark.row(15, "bad lines that were not counted", most=0)
@pytest.mark.row(15, "streams that went on after three bad lines", most=0)
async def test_no_line_ends_more_than_its_stream(session: ApiSession, figure: Tell) -> None:
    rng, told = random.Random(15), LastTold()
    reflector = Reflector(session, PODS, decoders.POD, told, kind=Kind.POD, clock=ManualClock(), rng=rng)
    wire, wanted = wire_of("application/json"), whole(1_000_000, 20_000)
    lines, crashes, uncounted, unended = 0, 0, 0, 0
    while lines < wanted:
        sent, before, has_ended = some_lines(rng), told.skipped, False
        data = b"\n".join(line for line, _ in sent) + b"\n"
        chunks = cut(data, rng.randrange(len(data)))
        answer: Any = SimpleNamespace(content_type="application/json", chunks=chunks)
        try:
            async with asyncio.timeout(None) as life:
                ended = await reflector._events(answer, wire, life, is_listing=False)
            has_ended = ended.how is not How.CLOSED
        except FramingError as error:
            has_ended = True
            assert "cannot be read" in error.reason
        except Exception:
            crashes += 1
        reflector.bookmark("12")  # its status tells the count
        lines += len(sent)
        uncounted += not has_ended and told.skipped - before < sum(is_bad for _, is_bad in sent)
        unended += not has_ended and ends_by_bad_lines(sent)
    figure("lines", lines)
    figure("crashes", crashes)
    figure("bad lines that were not counted", uncounted)
    figure("streams that went on after three bad lines", unended)
    assert told.store.records(Kind.POD), "good lines between were read"


async def cut(data: bytes, at: int) -> AsyncIterator[bytes]:
    """The same bytes in two pieces."""
    for piece in (data[:at], data[at:]):
        if piece:
            yield piece
