"""Faults that cut a watch between two events. They ask the server for JSON whatever the reader asked for."""

import json
from collections.abc import Awaitable, Callable

from cockpit.sim.faults.exchange import Exchange, Fault
from cockpit.sim.faults.kinds import JSON, status_object

GONE = "too old resource version: 1 (2)"


class _Enough(ConnectionAbortedError):
    """The part of a stream that is let through has been sent."""


async def _by_line(exchange: Exchange, take: Callable[[int, bytes], Awaitable[None]]) -> None:
    """The server's answer in JSON, line by line with its number from 0; a rest without an end goes last."""
    exchange.headers["Accept"] = JSON
    rest = b""
    number = 0

    async def each(piece: bytes) -> None:
        nonlocal rest, number
        *whole, rest = (rest + piece).split(b"\n")
        for line in whole:
            await take(number, line)
            number += 1

    await exchange.forward(each)
    if rest:
        await take(number, rest)


def cut_events(after_events: int, *, orderly: bool = False) -> Fault:
    """The first `after_events` of a watch, then the connection drops (`orderly`: it ends as if whole)."""

    async def fault(exchange: Exchange) -> None:
        async def take(number: int, line: bytes) -> None:
            if number < after_events:
                await exchange.write(line + b"\n")
            if number + 1 >= after_events:
                raise _Enough

        try:
            await _by_line(exchange, take)
        except _Enough:
            if not orderly:
                exchange.abort()

    return fault


def gone(after_events: int = 0) -> Fault:
    """A watch that ends as after a compaction of the history: an ERROR event 410, after some events."""
    error = {"type": "ERROR", "object": status_object(410, "Expired", GONE)}
    last = json.dumps(error).encode() + b"\n"

    async def fault(exchange: Exchange) -> None:
        if not after_events:
            await exchange.answer(200, JSON, last)
            return

        async def take(number: int, line: bytes) -> None:
            await exchange.write(line + b"\n")
            if number + 1 >= after_events:
                raise _Enough

        try:
            await _by_line(exchange, take)
        except _Enough:
            await exchange.write(last)

    return fault
