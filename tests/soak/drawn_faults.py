"""The faults that a soak draws from, each with the rows of the matrix that it belongs to.

A fault is a function of the ground that begins it, lasts some seconds and ends it. What streams under a fault
would keep is cut at its end, as the intermediary that did it is gone then.
"""

import asyncio
import json
import os
import random
import signal
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from cockpit.sim.faults.exchange import Exchange, Fault
from tests.contract import faults
from tests.contract.test_faults import FAULTS as OF_THE_CONTRACT
from tests.soak.ground import Ground
from tests.soak.moving import Moving

SECONDS = 4.0
SHORT_SECONDS = 2.5
"""Of what is refused: after 7 s a refusal holds, and is asked about once in five minutes."""
BIG_BYTES, TOO_BIG_BYTES = 4 << 20, 17 << 20

Play = Callable[[Ground, Moving, random.Random], Awaitable[None]]


@dataclass(frozen=True)
class DrawnFault:
    """What happens, and to which rows of the matrix it belongs."""

    name: str
    rows: tuple[int, ...]
    play: Play


def _answers(fault: Fault, seconds: float = SECONDS, **plan: Any) -> Play:
    """Every connection is cut, and what is asked then gets the fault, for so many seconds."""

    async def play(ground: Ground, _moving: Moving, _rng: random.Random) -> None:
        ground.gate.plan(fault, times=None, **plan)
        ground.gate.cut_all()
        await asyncio.sleep(seconds)
        ground.gate.heal()
        ground.gate.cut_all()

    return play


def _expired(*more: tuple[Fault, dict[str, Any]], seconds: float = SECONDS) -> Play:
    """Every version has expired, so that kinds are listed; and the lists get the faults."""

    async def play(ground: Ground, _moving: Moving, _rng: random.Random) -> None:
        for fault, plan in more:
            ground.gate.plan(fault, **plan)
        gone = faults.status(410, reason="Expired", message="too old resource version")
        ground.gate.plan(gone, times=8, only=lambda seen: seen.is_watch and not seen.is_list)
        ground.gate.cut_all()
        await asyncio.sleep(seconds)
        ground.gate.heal()
        ground.gate.cut_all()

    return play


def _killed(seconds: float) -> Play:
    async def play(ground: Ground, _moving: Moving, _rng: random.Random) -> None:
        await ground.link.kill()
        await asyncio.sleep(seconds)
        await ground.link.open()

    return play


async def _half_open(ground: Ground, _moving: Moving, _rng: random.Random) -> None:
    ground.link.hold()


async def _black_hole(ground: Ground, _moving: Moving, _rng: random.Random) -> None:
    ground.link.hold()
    ground.link.holds_new = True
    await asyncio.sleep(2 * SECONDS)
    ground.link.holds_new = False


def _coin(share: float) -> Play:
    """So large a share of all requests fails, each in a way of its own."""

    async def play(ground: Ground, _moving: Moving, rng: random.Random) -> None:
        ways = (faults.status(500), faults.bare(502), faults.status(504), faults.refuse())

        async def fault(exchange: Exchange) -> None:
            await (rng.choice(ways)(exchange) if rng.random() < share else exchange.forward())

        ground.gate.plan(fault, times=None)
        ground.gate.cut_all()
        await asyncio.sleep(2 * SECONDS)
        ground.gate.heal()

    return play


def _lines(change: Callable[[int, dict[str, Any]], list[bytes]], seconds: float = SECONDS) -> Play:
    """Watches of pods in JSON, each event given to `change`; what it damaged changes once more afterwards."""

    async def play(ground: Ground, _moving: Moving, _rng: random.Random) -> None:
        def each(number: int, line: bytes) -> list[bytes]:
            event = json.loads(line)
            meta = (event.get("object") or {}).get("metadata") or {}
            if meta.get("name"):
                space = meta.get("namespace", "")
                ground.damaged.add(f"/api/v1/namespaces/{space}/pods/{meta['name']}")
            return change(number, event)

        ground.gate.plan(faults.lines(each), times=None, path="/api/v1/pods", watch=True)
        ground.gate.cut_all()
        await asyncio.sleep(seconds)
        ground.gate.heal()
        ground.gate.cut_all()

    return play


def _bytes(event: dict[str, Any]) -> bytes:
    return json.dumps(event).encode()


def _twice(_number: int, event: dict[str, Any]) -> list[bytes]:
    stranger = {"metadata": {"uid": "unknown", "name": "unknown", "namespace": "team-a"}}
    gone = {"type": "DELETED", "object": {"apiVersion": "v1", "kind": "Pod", **stranger}}
    return [_bytes(event), _bytes(gone), _bytes(event)]


def _flooded(_number: int, event: dict[str, Any]) -> list[bytes]:
    return [_bytes(event)] * 300


def _padded(size: int) -> Callable[[int, dict[str, Any]], list[bytes]]:
    def change(number: int, event: dict[str, Any]) -> list[bytes]:
        if number == 2:
            event["object"].setdefault("metadata", {})["annotations"] = {"padding": "x" * size}
        return [_bytes(event)]

    return change


def _spoilt(number: int, event: dict[str, Any]) -> list[bytes]:
    """Objects whose fields have other types, or are missing."""
    if number % 3 == 1:
        event["object"].update(spec=7, status=None)
    elif number % 3 == 2:
        event["object"] = {"metadata": {"uid": 5, "labels": [], "resourceVersion": None}}
    return [_bytes(event)]


def _newer(_number: int, event: dict[str, Any]) -> list[bytes]:
    """Fields and values of a version that is not known yet."""
    event["object"].setdefault("status", {}).update(phase="Thinking", mood={"a": [1, None]})
    event["object"]["also"] = {"b": 1e400}
    return [_bytes(event).replace(b"Infinity", b"1e400")]


def _garbage(number: int, event: dict[str, Any]) -> list[bytes]:
    if number % 4 == 3:
        return [b"\xff\xfe{" + b"[" * 5_000, b'{"type": "MODIFIED", "object": NaN}', b"<html>"]
    return [_bytes(event)]


async def _token(ground: Ground, _moving: Moving, rng: random.Random) -> None:
    """The token is another one, and the old one is refused; the file has it a second later."""
    ground.gate.token = f"token-{rng.getrandbits(64)}"
    ground.gate.cut_all()
    await asyncio.sleep(1.0)
    ground.token_file.write_text(ground.gate.token)


def _jump(seconds: float) -> Play:
    async def play(ground: Ground, _moving: Moving, _rng: random.Random) -> None:
        await ground.hear(f"jump {seconds}")
        await asyncio.sleep(SECONDS)
        await ground.hear("jump 0")

    return play


async def _stopped(ground: Ground, _moving: Moving, _rng: random.Random) -> None:
    """The program stands still, as in a laptop that sleeps, and the connections are gone when it wakes."""
    os.kill(ground.screen.pid, signal.SIGSTOP)
    await asyncio.sleep(1.5 * SECONDS)
    ground.gate.cut_all()
    os.kill(ground.screen.pid, signal.SIGCONT)


async def _sizes(ground: Ground, _moving: Moving, rng: random.Random) -> None:
    for size in ((20, 5), (300, 90), (1, 1), (rng.randrange(30, 200), rng.randrange(8, 70)), (160, 45)):
        ground.screen.resize(*size)
        await asyncio.sleep(SECONDS / 5)


async def _unread(ground: Ground, _moving: Moving, _rng: random.Random) -> None:
    """The terminal is not read, as behind an SSH connection that hangs."""
    ground.screen.leave()
    await asyncio.sleep(1.5 * SECONDS)
    ground.screen.read_on()


async def _flood(_ground: Ground, moving: Moving, _rng: random.Random) -> None:
    await moving.flood(300)


async def _kind_comes_and_goes(ground: Ground, _moving: Moving, rng: random.Random) -> None:
    group, plural = f"soak{rng.getrandbits(16)}.example", "things"
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    names = {"plural": plural, "singular": "thing", "kind": "Thing"}
    spec = {"group": group, "names": names, "scope": "Namespaced", "versions": [version]}
    tree = {"metadata": {"name": f"{plural}.{group}"}, "spec": spec}
    await asyncio.to_thread(ground.api.create, path, tree)
    await asyncio.sleep(SECONDS)
    await asyncio.to_thread(ground.api.delete, f"{path}/{plural}.{group}")


def _log(fault: Fault) -> Play:
    """The page of logs is open, and what it follows is broken."""

    async def play(ground: Ground, _moving: Moving, _rng: random.Random) -> None:
        ground.screen.press("escape", "2")
        await asyncio.sleep(0.5)
        ground.screen.press("/", *"llm", "enter", "l")
        await asyncio.sleep(1.5)
        ground.gate.plan(fault, times=None, path="/log")
        ground.gate.cut_all()
        await asyncio.sleep(SECONDS)
        ground.gate.heal()
        ground.gate.cut_all()
        ground.screen.press("escape", "escape")

    return play


_TOO_LARGE = {
    **faults.status_object(504, "Timeout", "Too large resource version"),
    "details": {"causes": [{"reason": "ResourceVersionTooLarge"}], "retryAfterSeconds": 1},
}
_LAGGING = faults.bare(504, json.dumps(_TOO_LARGE).encode(), faults.JSON)
_EXPIRED = faults.status(410, reason="Expired", message="the continue token is too old")
_IN_PAGES = (
    faults.asking(limit="5"),
    {"times": None, "only": lambda seen: not seen.is_watch and seen.is_list},
)
_NO_STREAMS = (
    faults.without_streaming_lists(),
    {"times": None, "only": lambda seen: "sendInitialEvents" in seen.query},
)
_LATE_PAGES = (_EXPIRED, {"times": 2, "only": lambda seen: "continue" in seen.query})
_FORBIDDEN = faults.status(403, reason="Forbidden", message="forbidden")
_FLOODED_LOG = faults.bare(200, b"x" * (1 << 20) + b"\n\xff\xfe\x1b[2J\x00\n" * 500, "text/plain")

FAULTS: tuple[DrawnFault, ...] = (
    DrawnFault("watches end in order", (1,), _answers(faults.cut(2_500, orderly=True), watch=True)),
    DrawnFault(
        "watches close at once", (2,), _answers(faults.empty_stream(faults.PROTOBUF_STREAM), watch=True)
    ),
    DrawnFault("410 for every watch", (3,), _expired()),
    DrawnFault(
        "410 as an event", (3,), _answers(OF_THE_CONTRACT["410 as an event"], SHORT_SECONDS, watch=True)
    ),
    DrawnFault("lists in pages whose token expires", (4, 11), _expired(_LATE_PAGES, _NO_STREAMS, _IN_PAGES)),
    DrawnFault("a version that is too large", (5,), _answers(_LAGGING)),
    DrawnFault("server killed for 3 s", (6,), _killed(3)),
    DrawnFault("server killed for 15 s", (6, 7), _killed(15)),
    DrawnFault("connections half open", (8,), _half_open),
    DrawnFault("black hole for 8 s", (8,), _black_hole),
    DrawnFault("a byte at a time", (9,), _answers(faults.trickle(1, 0.02))),
    DrawnFault("answers two seconds late", (9,), _answers(faults.delay(2.0))),
    DrawnFault("torn into tiny pieces", (9,), _answers(faults.drip(7))),
    DrawnFault("no streaming lists", (11,), _expired(_NO_STREAMS)),
    DrawnFault("events twice, and of strangers", (12,), _lines(_twice)),
    DrawnFault("each event 300 times", (13,), _lines(_flooded)),
    DrawnFault("a flood of 300 changes", (13,), _flood),
    DrawnFault("an event of 4 MiB", (14,), _lines(_padded(BIG_BYTES))),
    DrawnFault("an event of 17 MiB", (14,), _lines(_padded(TOO_BIG_BYTES))),
    DrawnFault("garbage among events", (15,), _lines(_garbage)),
    DrawnFault("random bytes", (15,), _answers(OF_THE_CONTRACT["random bytes"])),
    DrawnFault("cut inside an object", (15,), _answers(faults.cut(700))),
    DrawnFault("a page of HTML with 200", (15,), _answers(faults.html())),
    DrawnFault("broken gzip", (15,), _answers(OF_THE_CONTRACT["broken gzip"])),
    DrawnFault("a wrong content type", (15,), _answers(OF_THE_CONTRACT["wrong content type"])),
    DrawnFault("a length that lies", (15,), _answers(OF_THE_CONTRACT["a length that lies"], watch=True)),
    DrawnFault(
        "429 with a wait for lists",
        (16,),
        _expired((faults.status(429, retry_after_seconds=2), {"times": 6, "listing": True})),
    ),
    DrawnFault(
        "429 with a wait for watches", (17,), _answers(faults.status(429, retry_after_seconds=2), watch=True)
    ),
    DrawnFault(
        "503 with a wait for watches", (17,), _answers(faults.status(503, retry_after_seconds=3), watch=True)
    ),
    DrawnFault("429 without a wait", (17,), _answers(faults.bare(429))),
    DrawnFault("30 % of all requests fail", (19,), _coin(0.3)),
    DrawnFault("500 for everything", (19,), _answers(faults.status(500))),
    DrawnFault("500 for pods", (19,), _answers(faults.status(500), path="/pods")),
    DrawnFault(
        "502 of a balancer", (19,), _answers(faults.bare(502, b"<html>bad gateway</html>", "text/html"))
    ),
    DrawnFault("503 of a balancer", (19,), _answers(faults.bare(503))),
    DrawnFault("504 for everything", (19,), _answers(faults.status(504, reason="Timeout"))),
    DrawnFault("connections reset", (19,), _answers(faults.refuse())),
    DrawnFault("401 for everything", (21,), _answers(faults.status(401, reason="Unauthorized"))),
    DrawnFault("another token", (25,), _token),
    DrawnFault("a redirect", (28,), _answers(OF_THE_CONTRACT["redirect"])),
    DrawnFault("clock an hour ahead", (29,), _jump(3_600)),
    DrawnFault("clock an hour behind", (29,), _jump(-3_600)),
    DrawnFault("program stopped for 6 s", (29,), _stopped),
    DrawnFault("403 for pods", (31, 32, 33), _answers(_FORBIDDEN, SHORT_SECONDS, path="/pods")),
    DrawnFault("403 for nodes", (31, 32, 33), _answers(_FORBIDDEN, SHORT_SECONDS, path="/nodes")),
    DrawnFault("403 for custom kinds", (31, 32, 33), _answers(_FORBIDDEN, SHORT_SECONDS, path="/apis/")),
    DrawnFault("403 for everything", (32, 33), _answers(_FORBIDDEN, SHORT_SECONDS)),
    DrawnFault("objects of wrong types", (35,), _lines(_spoilt)),
    DrawnFault("objects of a newer version", (36,), _lines(_newer)),
    DrawnFault("discovery refused", (37,), _answers(faults.bare(503), path="/apis", watch=False)),
    DrawnFault("a kind comes and goes", (38,), _kind_comes_and_goes),
    DrawnFault(
        "404 for pods", (38,), _answers(faults.status(404, reason="NotFound"), SHORT_SECONDS, path="/pods")
    ),
    DrawnFault("JSON for protobuf", (36,), _answers(faults.as_json())),
    DrawnFault("logs cut", (46,), _log(faults.cut(300))),
    DrawnFault("logs end at once", (46,), _log(faults.empty_stream("text/plain"))),
    DrawnFault("logs of long lines and binary", (45,), _log(_FLOODED_LOG)),
    DrawnFault("logs refused", (46,), _log(faults.status(500))),
    DrawnFault("other sizes", (48,), _sizes),
    DrawnFault("terminal not read for 6 s", (48,), _unread),
    DrawnFault("exporters refused", (65,), _answers(faults.status(503), path="/proxy")),
    DrawnFault("exporters answer HTML", (65,), _answers(faults.html(), path="/proxy")),
    DrawnFault(
        "exporters answer garbage",
        (65,),
        _answers(faults.bare(200, b"DCGM_FI_DEV_GPU_UTIL{gpu=\n\xff" * 900), path="/proxy"),
    ),
)


def drawn(rng: random.Random, count: int) -> list[DrawnFault]:
    """So many in the order of the seed; each comes once before any comes again."""
    found: list[DrawnFault] = []
    while len(found) < count:
        found += rng.sample(FAULTS, len(FAULTS))
    return found[:count]
