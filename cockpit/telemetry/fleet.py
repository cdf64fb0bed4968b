"""Reading a large fleet from a Prometheus: few queries, and of each series only what is new."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol, TypeVar

from cockpit.model.gpu import Gpu
from cockpit.telemetry import partial_rounds, promql
from cockpit.telemetry.cards.register import Register, TooFewLabels
from cockpit.telemetry.cards.round import Round, gpus
from cockpit.telemetry.cards.stamps import stamps_of
from cockpit.telemetry.faults import TelemetryError, Unheard
from cockpit.telemetry.labels import NodeNames
from cockpit.telemetry.names import GpuMetric, names_of
from cockpit.telemetry.promql import BY_NODE, by_card
from cockpit.telemetry.rows import Row, samples

T = TypeVar("T")


class VectorApi(Protocol):
    """What is asked: `cockpit.telemetry.prometheus.Prometheus`."""

    async def series(self, promql: str, at_seconds: float | None = None) -> list[Row]: ...
    async def apart(self, work: Callable[[], T]) -> T: ...


class FleetReader:
    """Reads every card of one Prometheus; remembers the series that it met and what stands still."""

    def __init__(self, asked: VectorApi) -> None:
        self._asked = asked
        self._whole: partial_rounds.Whole | None = None
        self._register = Register(NodeNames())
        self._way = 0  # place in partial_rounds.WAYS; past its end all labels of all series are needed
        self._way_until: float | None = None

    async def read(self, places: NodeNames, at: float | None) -> tuple[list[Gpu], float | None]:
        """Cards as of a moment of the server's time, and the time of the newest sample's answer.

        Raises TelemetryError.
        """
        if self._way and (at is None or self._way_until is None or at >= self._way_until):
            self._way = 0
        if at is not None and self._whole is not None and self._whole.is_good(at):
            found = await self._read(places, at, self._whole)
            if found is not None:
                return found
        while self._way < len(partial_rounds.WAYS):
            found = await self._read(places, at, None)
            if found is not None:
                return found
            self._way += 1
            self._way_until = None if at is None else at + partial_rounds.WHOLE_SECONDS
        return await self._with_all_labels(places, at)

    async def _read(
        self, places: NodeNames, at: float | None, known: partial_rounds.Whole | None
    ) -> tuple[list[Gpu], float | None] | None:
        """A whole round, or with `known` a lean one; None where it does not suffice."""
        way = partial_rounds.WAYS[self._way] if known is None else known.labelled
        labelled = [await self._asked.series(item, at) for item in partial_rounds.labelled(known, way)]
        trimmed = [await self._asked.series(item, at) for item in partial_rounds.trimmed(known, way)]
        times = await self._times(
            promql.sample_times(by=BY_NODE if known is not None and known.is_placed else by_card()), at
        )

        def work() -> tuple[list[Gpu], bool] | None:
            try:
                return self._cards(places, labelled, trimmed, times, known)
            except TooFewLabels:
                return None

        answer = await self._asked.apart(work)
        if answer is None:
            return None
        cards, is_all_placed = answer
        if known is None:
            self._whole = partial_rounds.whole(
                cards, at or 0.0, way, is_placed=is_all_placed, has_holders=bool(labelled[-1])
            )
            if self._whole is None:
                return None
        newest = max((row.value[0] for rows in (*labelled, *trimmed) for row in rows[:1]), default=None)
        return cards, newest

    def _cards(
        self,
        places: NodeNames,
        labelled: Sequence[Sequence[Row]],
        trimmed: Sequence[Sequence[Row]],
        times: Sequence[Row],
        known: partial_rounds.Whole | None,
    ) -> tuple[list[Gpu], bool]:
        """Cards, and whether host labels name all their nodes. Raises TooFewLabels."""
        if self._register.places != places:
            self._register = Register(places)
        register = self._register
        # a register that was left half-way by an exception is not used again
        self._register = Register(NodeNames())
        found = Round(register, times)
        for rows in labelled:
            found.take_labelled(rows)
        for rows in trimmed:
            found.take(rows)
        cards = found.cards(None if known is None else known.cards)
        if not register.is_outgrown(found.rows):
            self._register = register
        return cards, known is not None or found.is_placed()

    async def _with_all_labels(self, places: NodeNames, at: float | None) -> tuple[list[Gpu], float | None]:
        """Every quantity with all its labels: the most that can be asked for."""
        found = []
        each = (promql.instant(names_of((item,))) for item in GpuMetric if item is not GpuMetric.THROTTLE)
        for query in (*each, promql.throttle_told()):
            rows = await self._asked.series(query, at)
            found += await self._asked.apart(partial(samples, rows))
        times = await self._times(promql.sample_times(), at)
        newest = max(
            (item.sampled_seconds for item in found if item.sampled_seconds is not None), default=None
        )
        return await self._asked.apart(
            lambda: (gpus(found, places, stamps_of(samples(times), places)), newest)
        )

    async def _times(self, query: str, at: float | None) -> list[Row]:
        try:
            return await self._asked.series(query, at)
        except Unheard:
            raise
        except TelemetryError:
            # numbers without their age are better than none; the next round asks again
            return []
