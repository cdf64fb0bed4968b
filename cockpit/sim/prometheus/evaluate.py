"""Answers a query at one moment, as prometheus/promql/engine.go does, from what targets said then."""

import math
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final, Protocol

from cockpit.sim.prometheus.promql import (
    NAME,
    Aggregation,
    Compared,
    Constant,
    Either,
    Expr,
    FunctionCall,
    Selector,
)

SCRAPE_SECONDS: Final = 15.0
LOOKBACK_SECONDS: Final = 300.0
_SCRAPES_KEPT: Final = 512

Labels = tuple[tuple[str, str], ...]
"""Names and values, sorted by name, none of them empty; the metric's name is one of them."""

ScrapedSample = tuple[Labels, float]
Vector = list[ScrapedSample]


class Unanswerable(Exception):
    """Read, and not to be answered; Prometheus' `execution`."""


class Target(Protocol):
    """What is scraped."""

    def scrape(
        self, at_seconds: float, selector: Selector
    ) -> Iterable[tuple[str, Iterable[tuple[str, str]], float]]:
        """Names, labels and values of that moment, at least those meant; none while it was silent."""


_COMPARE: Final[Mapping[str, Callable[[float, float], bool]]] = {
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
    ">=": operator.ge,
    "<=": operator.le,
}
_AGGREGATE: Final[Mapping[str, Callable[[Sequence[float]], float]]] = {
    "sum": math.fsum,
    "max": max,
    "count": len,
}


class Evaluation:
    """One query over some moments. `now_seconds` is the newest moment that was scraped."""

    def __init__(self, targets: Sequence[Target], now_seconds: float) -> None:
        self._targets = targets
        self._now_seconds = now_seconds
        self._scraped: dict[tuple[int, float], Vector] = {}

    def at(self, expr: Expr, at_seconds: float) -> Vector:
        """The vector at a moment. Raises Unanswerable."""
        match expr:
            case Constant():
                return [((), expr.number)]
            case Selector():
                return self._newest(expr, at_seconds)[1]
            case Either():
                return self._either(expr, at_seconds)
            case Compared():
                holds = _COMPARE[expr.operator]
                return [one for one in self.at(expr.of, at_seconds) if holds(one[1], expr.number)]
            case Aggregation():
                return self._aggregated(expr, at_seconds)
            case FunctionCall():
                return self._called(expr, at_seconds)

    def _newest(self, selector: Selector, at_seconds: float) -> tuple[float, Vector]:
        """The last scrape that counts, and its samples: none where it is too long ago."""
        scrape = _scrape_before(min(at_seconds, self._now_seconds))
        is_stale = at_seconds - scrape >= LOOKBACK_SECONDS
        return scrape, [] if is_stale else self._samples(selector, scrape)

    def _samples(self, selector: Selector, scrape: float) -> Vector:
        key = (id(selector), scrape)
        known = self._scraped.get(key)
        if known is None:
            if len(self._scraped) >= _SCRAPES_KEPT:
                del self._scraped[next(iter(self._scraped))]
            known = self._scraped[key] = list(self._matching(selector, scrape))
        return known

    def _matching(self, selector: Selector, scrape: float) -> Iterator[ScrapedSample]:
        others = [one for one in selector.matchers if one.label != NAME]
        for target in self._targets:
            for name, labels, value in target.scrape(scrape, selector):
                if name not in selector.names:
                    continue
                own = dict(labels)
                if all(one.matches(own.get(one.label, "")) for one in others):
                    yield _labelled({**own, NAME: name}), value

    def _either(self, expr: Either, at_seconds: float) -> Vector:
        found: Vector = []
        seen: set[Labels] = set()
        for part in expr.parts:
            new = [one for one in self.at(part, at_seconds) if _nameless(one[0]) not in seen]
            seen.update(_nameless(labels) for labels, _ in new)
            found += new
        return found

    def _aggregated(self, expr: Aggregation, at_seconds: float) -> Vector:
        groups: dict[Labels, list[float]] = {}
        for labels, value in self.at(expr.of, at_seconds):
            own = dict(labels)
            key = _labelled({label: own.get(label, "") for label in expr.by})
            groups.setdefault(key, []).append(value)
        reduce = _AGGREGATE[expr.function]
        return [(labels, float(reduce(values))) for labels, values in groups.items()]

    def _called(self, expr: FunctionCall, at_seconds: float) -> Vector:
        if expr.function == "rate":
            assert isinstance(expr.of, Selector)
            return _unique(self._rates(expr.of, at_seconds))
        if expr.function == "timestamp":
            if not isinstance(expr.of, Selector):
                return _unique(
                    [(_nameless(labels), at_seconds) for labels, _ in self.at(expr.of, at_seconds)]
                )
            scrape, found = self._newest(expr.of, at_seconds)
            return _unique([(_nameless(labels), scrape) for labels, _ in found])
        label, replacement, source, text = expr.words
        pattern = re.compile(text, re.DOTALL)
        return _unique(
            [
                (_replaced(one, label, replacement, source, pattern), value)
                for one, value in self.at(expr.of, at_seconds)
            ]
        )

    def _rates(self, selector: Selector, at_seconds: float) -> Vector:
        points: dict[Labels, list[tuple[float, float]]] = {}
        scrape = _scrape_before(at_seconds - selector.range_seconds) + SCRAPE_SECONDS
        while scrape <= min(at_seconds, self._now_seconds):
            for labels, value in self._samples(selector, scrape):
                points.setdefault(labels, []).append((scrape, value))
            scrape += SCRAPE_SECONDS
        since = at_seconds - selector.range_seconds
        return [
            (_nameless(labels), _rate(some, since, at_seconds))
            for labels, some in points.items()
            if len(some) > 1
        ]


def _scrape_before(at_seconds: float) -> float:
    return math.floor(at_seconds / SCRAPE_SECONDS) * SCRAPE_SECONDS


def _labelled(labels: Mapping[str, str]) -> Labels:
    return tuple(sorted(one for one in labels.items() if one[1]))


def _nameless(labels: Labels) -> Labels:
    return tuple(one for one in labels if one[0] != NAME)


def _unique(found: Vector) -> Vector:
    """Raises Unanswerable where two series have the same labels once their names are gone."""
    if len({labels for labels, _ in found}) < len(found):
        raise Unanswerable("vector cannot contain metrics with the same labelset")
    return found


def _replaced(labels: Labels, label: str, replacement: str, source: str, pattern: re.Pattern[str]) -> Labels:
    own = dict(labels)
    found = pattern.fullmatch(own.get(source, ""))
    if found is None:
        return labels
    value = re.sub(r"\$(\d)", lambda one: found[int(one[1])] or "", replacement)
    return _labelled({**own, label: value})


def _rate(points: Sequence[tuple[float, float]], since: float, until: float) -> float:
    """Per second, extrapolated to the range (promql/functions.go, extrapolatedRate)."""
    rise = points[-1][1] - points[0][1]
    rise += sum(before for (_, before), (_, after) in pairwise(points) if after < before)
    sampled = points[-1][0] - points[0][0]
    between = sampled / (len(points) - 1)
    far = 1.1 * between
    to_start, to_end = points[0][0] - since, until - points[-1][0]
    to_start = to_start if to_start < far else between / 2
    if rise > 0 and points[0][1] >= 0:
        to_start = min(to_start, sampled * points[0][1] / rise)  # a counter was never below zero
    to_end = to_end if to_end < far else between / 2
    return rise * (sampled + to_start + to_end) / sampled / (until - since)
