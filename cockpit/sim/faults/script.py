"""Faults as data: which requests, when, how often, and what happens to them; seeded, by a passed clock."""

import asyncio
import json
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from random import Random
from typing import Any

import msgspec

from cockpit.clock import Clock
from cockpit.sim.faults import kinds
from cockpit.sim.faults.exchange import Exchange, Fault, SeenRequest
from cockpit.sim.faults.kinds import JSON, status_object
from cockpit.sim.faults.reading import FaultRule, read_rules
from cockpit.sim.faults.target import FaultTarget, target_of

__all__ = ["FaultRule", "Fired", "Script", "read_rules"]

_KEPT = 10_000


GONE = "too old resource version: 1 (2)"


class Fired(msgspec.Struct, frozen=True):
    """One fault that happened: when (seconds since the script began), by which rule (from 0), to what."""

    at_seconds: float
    rule: int
    fault: str
    method: str
    path: str
    user: str


class Script:
    """Rules at work. The same requests at the same times and the same seed meet the same faults.

    `choose` is for a `FaultProxy` or a `FaultLayer`; the first rule that takes a request has it. `fired`
    keeps the last ten thousand faults. Delays pass in the clock's time (a clock with `speed` shortens them).
    """

    def __init__(self, rules: Sequence[FaultRule], clock: Clock, seed: int) -> None:
        self.rules = tuple(rules)
        self.fired: deque[Fired] = deque(maxlen=_KEPT)
        self._clock = clock
        self._began = clock.now()
        self._randoms = [Random(f"faults {seed} {number}") for number in range(len(self.rules))]
        self._met = [0] * len(self.rules)
        self._used = [0] * len(self.rules)

    @classmethod
    def read(cls, faults: Sequence[Mapping[str, Any]], clock: Clock, seed: int) -> "Script":
        """From the `faults` of a scenario. Raises BadFault in one sentence."""
        return cls(read_rules(faults), clock, seed)

    def choose(self, seen: SeenRequest) -> Fault | None:
        """What happens to this request: None for nothing."""
        if not self.rules:
            return None
        now = self._clock.now() - self._began
        target = target_of(seen.method, seen.path, seen.query)
        for number, rule in enumerate(self.rules):
            if self._takes(number, rule, seen, target, now):
                self._used[number] += 1
                self.fired.append(Fired(now, number, rule.fault, seen.method, seen.path, seen.user))
                return self._fault(rule)
        return None

    def _takes(
        self, number: int, rule: FaultRule, seen: SeenRequest, target: FaultTarget, now: float
    ) -> bool:
        if now < rule.start_seconds or (rule.last_seconds is not None and now >= rule.end_seconds):
            return False
        if rule.count is not None and self._used[number] >= rule.count:
            return False
        if not _matches(rule, seen, target):
            return False
        self._met[number] += 1
        if self._met[number] <= rule.skip:
            return False
        return rule.chance >= 1.0 or self._randoms[number].random() < rule.chance

    async def _pause(self, seconds: float) -> None:
        await asyncio.sleep(seconds / self._clock.cluster_pace())

    def _fault(self, rule: FaultRule) -> Fault:
        given = rule.settings
        match rule.fault:
            case "status":
                code = given["code"]
                reason, message = _WORDS.get(code, ("", "injected"))
                return kinds.status(
                    code,
                    reason=given.get("reason", reason),
                    message=given.get("message", message),
                    retry_after_seconds=given.get("retry_after"),
                )
            case "delay":
                return kinds.delay(given["seconds"], self._pause)
            case "cut":
                if "after_events" in given:
                    return cut_events(given["after_events"], orderly=given.get("orderly", False))
                return kinds.cut(given.get("after_bytes", 0), orderly=given.get("orderly", False))
            case "gone":
                return gone(given.get("after_events", 0))
        return _PLAIN[rule.fault]


_PLAIN: dict[str, Fault] = {
    "drop": kinds.refuse(),
    "lose_answer": kinds.lost_answer(),
    "log_in_page": kinds.html(),
    "expire_token": kinds.status(401, reason="Unauthorized", message="Unauthorized"),
}
_WORDS = {
    401: ("Unauthorized", "Unauthorized"),
    403: ("Forbidden", "forbidden: injected"),
    404: ("NotFound", "the server could not find the requested resource"),
    409: ("Conflict", "Operation cannot be fulfilled: injected"),
    410: ("Expired", GONE),
    429: ("TooManyRequests", "Too many requests, please try again later."),
    500: ("InternalError", "Internal error occurred: etcdserver: leader changed"),
    503: ("ServiceUnavailable", "the server is currently unable to handle the request"),
    504: ("Timeout", "Timeout: request did not complete within the allotted timeout"),
}


def _matches(rule: FaultRule, seen: SeenRequest, target: FaultTarget) -> bool:
    held = {
        "method": seen.method,
        "path": seen.path,
        "user": seen.user,
        "verb": target.verb,
        "kind": target.kind,
        "namespace": target.namespace,
        "name": target.name,
    }
    return all(any(fnmatchcase(held[word], pattern) for pattern in patterns) for word, patterns in rule.match)


class _Enough(ConnectionAbortedError):
    """The part of a stream that is let through has been sent."""


async def by_line(exchange: Exchange, take: Callable[[int, bytes], Awaitable[None]]) -> None:
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


async def _cut_short(exchange: Exchange, after_events: int) -> bool:
    """Let the first events of a watch through; whether the server had as many, and one was waited for."""

    async def take(number: int, line: bytes) -> None:
        if number < after_events:
            await exchange.write(line + b"\n")
        if number + 1 >= after_events:
            raise _Enough

    try:
        await by_line(exchange, take)
    except _Enough:
        return True
    return False


def cut_events(after_events: int, *, orderly: bool = False) -> Fault:
    """The first `after_events` of a watch, then the connection drops (`orderly`: it ends as if whole)."""

    async def fault(exchange: Exchange) -> None:
        if await _cut_short(exchange, after_events) and not orderly:
            exchange.abort()

    return fault


def gone(after_events: int = 0) -> Fault:
    """A watch that ends as after a compaction of the history: an ERROR event 410, after some events."""
    error = {"type": "ERROR", "object": status_object(410, "Expired", GONE)}
    last = json.dumps(error).encode() + b"\n"

    async def fault(exchange: Exchange) -> None:
        if not after_events:
            await exchange.answer(200, JSON, last)
        elif await _cut_short(exchange, after_events):
            await exchange.write(last)

    return fault
