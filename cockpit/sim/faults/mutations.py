"""Faults that change what a server says: streams cut between events, JSON broken, doubled or out of order.

They ask the server for JSON whatever the reader asked for. What they choose
comes from a `Random` that is passed.
"""

import json
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any

from cockpit.sim.faults.exchange import Exchange, Fault
from cockpit.sim.faults.kinds import JSON, Pause, status_object

GONE = "too old resource version: 1 (2)"
_STEPS_A_SECOND = 10
_OTHERS: tuple[Any, ...] = (None, True, -1, "?", [], {})


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


def slow(bytes_per_second: int, pause: Pause) -> Fault:
    """The body at so many bytes a second."""
    size = max(1, bytes_per_second // _STEPS_A_SECOND)

    async def fault(exchange: Exchange) -> None:
        async def each(piece: bytes) -> None:
            for at in range(0, len(piece), size):
                part = piece[at : at + size]
                await exchange.write(part)
                await pause(len(part) / bytes_per_second)

        await exchange.forward(each)

    return fault


def truncate(random: Random) -> Fault:
    """JSON that breaks off inside, while the answer ends as if whole; of a watch, inside its first event."""

    def part(data: bytes) -> bytes:
        return data[: random.randrange(1, len(data))] if len(data) > 1 else b""

    async def fault(exchange: Exchange) -> None:
        if exchange.seen.is_watch:

            async def take(number: int, line: bytes) -> None:
                await exchange.write(part(line))
                raise _Enough

            try:
                await _by_line(exchange, take)
            except _Enough:
                return
        exchange.headers["Accept"] = JSON
        answer = await exchange.whole()
        await exchange.answer(answer.status, JSON, part(answer.body))

    return fault


def wrong_types(random: Random, share: float) -> Fault:
    """Objects in which one value has another type: `share` of them, at a place that is drawn."""

    def spoiled(tree: Any) -> Any:
        if not isinstance(tree, dict) or random.random() >= share:
            return tree
        places = [path for path in _places(tree) if path[0] not in ("kind", "apiVersion")]
        return _replaced(tree, random.choice(places), random) if places else tree

    async def fault(exchange: Exchange) -> None:
        if exchange.seen.is_watch:

            async def take(number: int, line: bytes) -> None:
                event = json.loads(line)
                event["object"] = spoiled(event["object"])
                await exchange.write(json.dumps(event).encode() + b"\n")

            await _by_line(exchange, take)
            return
        exchange.headers["Accept"] = JSON
        answer = await exchange.whole()
        tree = json.loads(answer.body)
        if isinstance(tree.get("items"), list):
            tree["items"] = [spoiled(item) for item in tree["items"]]
        else:
            tree = spoiled(tree)
        await exchange.answer(answer.status, JSON, json.dumps(tree).encode())

    return fault


def _places(tree: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Paths of all values below, in the order of the document."""
    found: list[tuple[Any, ...]] = [path] if path else []
    if isinstance(tree, dict):
        for name, value in tree.items():
            found += _places(value, (*path, name))
    elif isinstance(tree, list):
        for index, value in enumerate(tree):
            found += _places(value, (*path, index))
    return found


def _replaced(tree: Any, path: tuple[Any, ...], random: Random) -> Any:
    """A copy with another type at `path`."""
    if not path:
        return random.choice([other for other in _OTHERS if type(other) is not type(tree)])
    copy = dict(tree) if isinstance(tree, dict) else list(tree)
    copy[path[0]] = _replaced(tree[path[0]], path[1:], random)
    return copy


def duplicate_events(random: Random, share: float) -> Fault:
    """A watch in which `share` of the events come twice."""

    async def fault(exchange: Exchange) -> None:
        async def take(number: int, line: bytes) -> None:
            times = 2 if random.random() < share else 1
            await exchange.write((line + b"\n") * times)

        await _by_line(exchange, take)

    return fault


def reorder_events(random: Random, share: float) -> Fault:
    """A watch in which `share` of the events wait until the one after them has been sent."""

    async def fault(exchange: Exchange) -> None:
        held: list[bytes] = []

        async def take(number: int, line: bytes) -> None:
            if not held and random.random() < share:
                held.append(line)
                return
            await exchange.write(b"".join(one + b"\n" for one in (line, *held)))
            held.clear()

        await _by_line(exchange, take)
        if held:
            await exchange.write(held[0] + b"\n")

    return fault
