"""Faults that only tests ask for, beside those of the fault layer; functions of one exchange."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

from cockpit.sim.faults.exchange import Exchange, Fault
from cockpit.sim.faults.kinds import (
    HTML,
    JSON,
    PROTOBUF_STREAM,
    bare,
    cut,
    delay,
    html,
    lost_answer,
    refuse,
    silence,
    status,
    status_object,
)
from cockpit.sim.faults.script import by_line

__all__ = [
    "HTML",
    "JSON",
    "PROTOBUF_STREAM",
    "as_json",
    "asking",
    "bare",
    "cut",
    "delay",
    "drip",
    "empty_stream",
    "error_event",
    "framed",
    "frames",
    "html",
    "lines",
    "listed",
    "lost_answer",
    "mislabelled",
    "objects",
    "refuse",
    "silence",
    "status",
    "status_object",
    "trickle",
    "without_streaming_lists",
]


def empty_stream(content_type: str = JSON) -> Fault:
    """Status 200 and nothing else: the stream closes at once."""
    return bare(200, b"", content_type)


def error_event(code: int, reason: str, message: str) -> Fault:
    """Status 200, then one ERROR event in JSON, then the end."""
    line = json.dumps({"type": "ERROR", "object": status_object(code, reason, message)}).encode() + b"\n"
    return bare(200, line, JSON)


def drip(piece_bytes: int) -> Fault:
    """The body in tiny pieces, each flushed alone: every frame is torn apart."""

    async def fault(exchange: Exchange) -> None:
        async def each(piece: bytes) -> None:
            for at in range(0, len(piece), piece_bytes):
                await exchange.write(piece[at : at + piece_bytes])
                await asyncio.sleep(0)

        await exchange.forward(each)

    return fault


def trickle(piece_bytes: int, pause_seconds: float) -> Fault:
    """The body in pieces with a pause after each."""

    async def fault(exchange: Exchange) -> None:
        async def each(piece: bytes) -> None:
            for at in range(0, len(piece), piece_bytes):
                await exchange.write(piece[at : at + piece_bytes])
                await asyncio.sleep(pause_seconds)

        await exchange.forward(each)

    return fault


def as_json(then: Fault | None = None) -> Fault:
    """Asks the server for JSON whatever the reader asked for, as an intermediary that knows only JSON."""

    async def fault(exchange: Exchange) -> None:
        exchange.headers["Accept"] = JSON
        await (then(exchange) if then is not None else exchange.forward())

    return fault


def lines(change: Callable[[int, bytes], list[bytes]]) -> Fault:
    """JSON lines, each given to `change` with its number from 0; the answer is the lines that go on.

    The server is asked for JSON.
    """

    async def fault(exchange: Exchange) -> None:
        async def take(number: int, line: bytes) -> None:
            for one in change(number, line):
                await exchange.write(one + b"\n")

        await by_line(exchange, take)

    return fault


def objects(change: Callable[[dict[str, Any]], dict[str, Any]]) -> Fault:
    """JSON watch events, each object given to `change`."""

    def each(number: int, line: bytes) -> list[bytes]:
        event = json.loads(line)
        event["object"] = change(event["object"])
        return [json.dumps(event).encode()]

    return lines(each)


def listed(change: Callable[[dict[str, Any]], dict[str, Any]]) -> Fault:
    """A plain JSON list, whose tree is given to `change`."""

    async def fault(exchange: Exchange) -> None:
        exchange.headers["Accept"] = JSON
        answer = await exchange.whole()
        body = json.dumps(change(json.loads(answer.body))).encode()
        await exchange.answer(answer.status, JSON, body)

    return fault


def frames(change: Callable[[int, bytes], bytes]) -> Fault:
    """Length-prefixed protobuf frames; `change` turns number and payload into the bytes that are sent."""

    async def fault(exchange: Exchange) -> None:
        rest = b""
        number = 0

        async def each(piece: bytes) -> None:
            nonlocal rest, number
            rest += piece
            while len(rest) >= 4 and len(rest) >= 4 + (size := int.from_bytes(rest[:4], "big")):
                payload, rest = rest[4 : 4 + size], rest[4 + size :]
                await exchange.write(change(number, payload))
                number += 1

        await exchange.forward(each)

    return fault


def framed(payload: bytes) -> bytes:
    """A payload behind its 4-byte length."""
    return len(payload).to_bytes(4, "big") + payload


def mislabelled(content_type: str) -> Fault:
    """The server's own body under a wrong content type."""

    async def fault(exchange: Exchange) -> None:
        await exchange.forward(content_type=content_type)

    return fault


def asking(**query: str | None) -> Fault:
    """The request with other query parameters (None: without it), and the server's honest answer to that."""

    async def fault(exchange: Exchange) -> None:
        for name, value in query.items():
            if value is None:
                exchange.query.pop(name, None)
            else:
                exchange.query[name] = value
        await exchange.forward()

    return fault


def without_streaming_lists() -> Fault:
    """A server too old for sendInitialEvents: 422 in its words, everything else as it is."""

    async def fault(exchange: Exchange) -> None:
        if exchange.seen.query.get("sendInitialEvents"):
            message = (
                'ListOptions.meta.k8s.io "" is invalid: sendInitialEvents: Forbidden: '
                "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled"
            )
            await status(422, reason="Invalid", message=message)(exchange)
        else:
            await exchange.forward()

    return fault
