"""Reading a large fleet from a Prometheus: few queries, and of each series only what is new."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol, TypeVar

import msgspec

from cockpit.model.gpu import Gpu
from cockpit.telemetry import lean, promql
from cockpit.telemetry.faults import TelemetryError, Unheard
from cockpit.telemetry.labels import Places, is_placed
from cockpit.telemetry.names import Quantity, names_of
from cockpit.telemetry.normalise import ages, gpus
from cockpit.telemetry.quick import Round, Unknown
from cockpit.telemetry.register import Register, Unlabelled, Unusual
from cockpit.telemetry.rows import Row, samples

T = TypeVar("T")


class Asked(Protocol):
    """What is asked: `cockpit.telemetry.prometheus.Prometheus`."""

    async def series(self, promql: str, at_seconds: float | None = None) -> list[Row]: ...
    async def apart(self, work: Callable[[], T]) -> T: ...


class FleetReader:
    """Reads every card of one Prometheus; remembers the series that it met and what stands still."""

    def __init__(self, asked: Asked) -> None:
        self._asked = asked
        self._whole: lean.Whole | None = None
        self._register = Register(Places())
        self._way = 0  # place in lean.WAYS; past its end all labels of all series are needed
        self._way_until: float | None = None
        self._unusual_until: float | None = None

    async def read(self, places: Places, at: float | None) -> tuple[list[Gpu], float | None]:
        """Cards as of a moment of the server's time, and the time of the newest sample's answer.

        Raises TelemetryError.
        """
        if self._way and (at is None or self._way_until is None or at >= self._way_until):
            self._way = 0
        if at is not None and self._whole is not None and self._whole.is_good(at):
            found = await self._read(places, at, self._whole)
            if found is not None:
                return found
        while self._way < len(lean.WAYS):
            found = await self._read(places, at, None)
            if found is not None:
                return found
            self._way += 1
            self._way_until = None if at is None else at + lean.WHOLE_SECONDS
        return await self._with_all_labels(places, at)

    async def _read(
        self, places: Places, at: float | None, known: lean.Whole | None
    ) -> tuple[list[Gpu], float | None] | None:
        """A whole round, or with `known` a lean one; None where it does not suffice."""
        way = lean.WAYS[self._way] if known is None else known.labelled
        labelled = [await self._asked.series(one, at) for one in lean.labelled(known, way)]
        trimmed = [await self._asked.series(one, at) for one in lean.trimmed(known, way)]
        times = await self._times(promql.sample_times(is_placed=known is not None and known.is_placed), at)

        def work() -> tuple[list[Gpu], bool] | None:
            if at is None or self._unusual_until is None or at >= self._unusual_until:
                try:
                    return self._quickly(places, labelled, trimmed, times, known)
                except (Unknown, Unlabelled):
                    return None
                except (Unusual, ValueError, msgspec.DecodeError):
                    self._unusual_until = None if at is None else at + lean.WHOLE_SECONDS
            return _thoroughly(places, labelled, trimmed, times, known)

        answer = await self._asked.apart(work)
        if answer is None:
            return None
        cards, is_all_placed = answer
        if known is None:
            self._whole = lean.whole(
                cards, at or 0.0, way, is_placed=is_all_placed, has_holders=bool(labelled[-1])
            )
            if self._whole is None:
                return None
        newest = max((one.value[0] for rows in (*labelled, *trimmed) for one in rows[:1]), default=None)
        return cards, newest

    def _quickly(
        self,
        places: Places,
        labelled: Sequence[Sequence[Row]],
        trimmed: Sequence[Sequence[Row]],
        times: Sequence[Row],
        known: lean.Whole | None,
    ) -> tuple[list[Gpu], bool]:
        """Cards, and whether host labels name all their nodes. Raises Unknown, Unusual and ValueError."""
        if self._register.places != places:
            self._register = Register(places)
        register = self._register
        # a register that was left half-way by an exception is not used again
        self._register = Register(Places())
        found = Round(register)
        for rows in labelled:
            found.take_labelled(rows)
        for rows in trimmed:
            found.take(rows)
        cards = found.cards(times, None if known is None else known.cards)
        if not register.is_outgrown(found.rows):
            self._register = register
        return cards, known is not None or found.is_placed()

    async def _with_all_labels(self, places: Places, at: float | None) -> tuple[list[Gpu], float | None]:
        """Every quantity with all its labels: the most that can be asked for."""
        found = []
        for query in (*(promql.instant(names_of((one,))) for one in _EACH), promql.held_down()):
            rows = await self._asked.series(query, at)
            found += await self._asked.apart(partial(samples, rows))
        times = await self._times(promql.sample_times(), at)
        newest = max((one.sampled_seconds for one in found if one.sampled_seconds is not None), default=None)
        return await self._asked.apart(lambda: (gpus(found, places, ages(samples(times), places)), newest))

    async def _times(self, query: str, at: float | None) -> list[Row]:
        try:
            return await self._asked.series(query, at)
        except Unheard:
            raise
        except TelemetryError:
            # numbers without their age are better than none; the next round asks again
            return []


_EACH = tuple(one for one in Quantity if one is not Quantity.THROTTLE)
"""Of nine reasons a card (our exporter's) those that hold clocks down are asked for besides."""


def _thoroughly(
    places: Places,
    labelled: Sequence[Sequence[Row]],
    trimmed: Sequence[Sequence[Row]],
    times: Sequence[Row],
    known: lean.Whole | None,
) -> tuple[list[Gpu], bool] | None:
    """As `_quickly`, for any fleet: five times slower. None where a lean round does not suffice."""
    full = [one for rows in labelled for one in samples(rows)]
    rest = [one for rows in trimmed for one in samples(rows)]
    cards = gpus(full, places, ages(samples(times), places), rest)
    if known is not None:
        completed = lean.completed(cards, known)
        return None if completed is None else (completed, True)
    return cards, all(is_placed(one.labels, places) for one in full)
