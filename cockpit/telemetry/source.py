"""Where samples come from, as the poller sees it; and the first of them, a Prometheus."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol, TypeVar

from cockpit.model.gpu import Gpu
from cockpit.model.gpu_detail import GpuDetail
from cockpit.model.node import Node
from cockpit.model.pod import Pod
from cockpit.model.pod_use import PodUse
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader
from cockpit.model.trace import PodLines
from cockpit.sanitise import clean
from cockpit.telemetry import detail_names, history, lately
from cockpit.telemetry import pod_lines as lines
from cockpit.telemetry import uses as pod_uses
from cockpit.telemetry.cards.round import gpus
from cockpit.telemetry.cards.stamps import stamps_of
from cockpit.telemetry.faults import Complaint, TelemetryError, Unheard
from cockpit.telemetry.fleet import FleetReader
from cockpit.telemetry.history import Line, Past
from cockpit.telemetry.labels import NodeNames
from cockpit.telemetry.lately import Stretch
from cockpit.telemetry.names import MEANINGS
from cockpit.telemetry.pool_history import duty_line
from cockpit.telemetry.promql import PROBE, UNKNOWN, instant, sample_times
from cockpit.telemetry.rows import Row
from cockpit.telemetry.sample import Sample, from_prometheus, newest_seconds

T = TypeVar("T")

MANY_CARDS = 2_000
"""From here on each quantity is asked for by itself and few labels are (`cockpit.telemetry.fleet`)."""

Answer = tuple[list[Gpu], float | None]
"""Cards, and the source's own time."""


class SourceState(Protocol):
    """How a source stands. `nothing` is what to say when it answers but knows no GPU; `complaint` what is
    wrong with a part of it, "" when nothing is; `is_partial` whether cards may be missing for that; `asked`
    names the nodes that the last round spoke to, None where that is exactly those it was given (all, where it
    was given none)."""

    @property
    def who(self) -> str: ...
    @property
    def nothing(self) -> str: ...
    @property
    def complaint(self) -> str: ...
    @property
    def is_partial(self) -> bool: ...
    @property
    def asked(self) -> frozenset[str] | None: ...


class KeepsPast(Protocol):
    """What a source knows of the past; nothing where it keeps no history."""

    async def past(self, asked: Past, now_seconds: float) -> dict[str, Line]:
        """Lines of the last hour, where the source keeps history. Raises only Unheard."""

    async def lately(self, now_seconds: float) -> dict[str, tuple[Stretch, ...]]:
        """What all cards did in the last minutes, by `Gpu.uuid`; nothing where that is not remembered. Raises
        nothing but Unheard."""

    async def lines(self, pods: Sequence[Pod], now_seconds: float) -> PodLines | None:
        """Usage of these pods and their cards over the last hours; None without history. Raises
        TelemetryError."""


class TelemetrySource(SourceState, KeepsPast, Protocol):
    """One place to ask."""

    async def read(
        self, cluster: StoreReader, nodes: Sequence[str], cards_known: int
    ) -> tuple[list[Gpu], float | None]:
        """Cards as the exporters see them, and the source's own time (epoch seconds; None where it has none).

        `nodes` are those on screen, empty for all. Raises TelemetryError where there is no answer at all.
        """

    async def details(self, cluster: StoreReader, nodes: Sequence[str]) -> list[GpuDetail]:
        """What only the pages of these nodes show. Raises TelemetryError as `read` does."""

    async def uses(self, pods: Sequence[Pod]) -> list[PodUse]:
        """CPU and network of these pods, as far as they are collected. Raises only Unheard."""

    async def close(self) -> None:
        """Let go of connections."""


class PrometheusApi(Protocol):
    """What is asked: `cockpit.telemetry.prometheus.Prometheus`."""

    @property
    def who(self) -> str: ...
    async def query(self, promql: str, at_seconds: float | None = None) -> list[Any]: ...
    async def series(self, promql: str, at_seconds: float | None = None) -> list[Row]: ...
    async def query_range(
        self, promql: str, start_seconds: float, end_seconds: float, step_seconds: int
    ) -> list[Any]: ...
    async def apart(self, work: Callable[[], T]) -> T: ...
    def take_complaint(self) -> Complaint: ...
    async def close(self) -> None: ...


LAG_SECONDS = 1.0
"""How far behind the server's time a round looks: scrapes that began earlier have ended, or nearly all."""


class PrometheusSource:
    """Values, and when they were sampled: instant queries as of one moment.

    Otherwise a scrape between two of them would give a new time to an old value.
    """

    asked = None

    def __init__(self, asked: PrometheusApi, many_cards: int = MANY_CARDS) -> None:
        self._asked = asked
        self._many_cards = many_cards
        self._fleet = FleetReader(asked)
        self.complaint, self.is_partial = Complaint()
        self._unknown = ""  # a job with series of accelerators, where none is known

    @property
    def who(self) -> str:
        """As sentences call it."""
        return self._asked.who

    @property
    def nothing(self) -> str:
        """It answers and has no GPU."""
        if self._unknown:
            return f"{self.who} answers; it has {self._unknown}, none of whose names is known."
        return f"{self.who} answers but has no GPU series; check that it scrapes the cards' exporter."

    async def read(
        self, cluster: StoreReader, nodes: Sequence[str], cards_known: int
    ) -> tuple[list[Gpu], float | None]:
        """As `Source.read`; the time is Prometheus' own."""
        answer = await self._read(cluster, nodes, cards_known)
        if not answer[0]:
            await self._look_for_unknown()
        self.complaint, self.is_partial = self._asked.take_complaint()
        return answer

    async def _look_for_unknown(self) -> None:
        """No card is known: are there series that by their names are of accelerators?"""
        try:
            rows = from_prometheus(await self._asked.query(UNKNOWN))
        except Unheard:
            raise
        except TelemetryError:
            # it answered a moment ago; the next round asks again
            return
        row = max(rows, key=lambda row: row.value, default=None)
        job = "" if row is None else clean(row.labels.get("job", ""))
        self._unknown = "" if row is None else f"{row.value:.0f} GPU series of job {job or 'without a name'}"

    async def _read(self, cluster: StoreReader, nodes: Sequence[str], cards_known: int) -> Answer:
        places = places_of(cluster)
        at = await self._moment()
        if nodes or max(cards_known, _devices(cluster)) < self._many_cards:
            rows = await self._asked.query(instant(MEANINGS, nodes), at)
            return await self._cards(rows, places, sample_times(nodes), at)
        return await self._fleet.read(places, at)

    async def _cards(self, rows: list[Any], places: NodeNames, times: str, at: float | None) -> Answer:
        asked = await self._times(times, at)

        def work() -> Answer:
            samples = from_prometheus(rows)
            stamps = stamps_of(from_prometheus(asked), places)
            return gpus(samples, places, stamps), newest_seconds(samples)

        return await self._asked.apart(work)

    async def details(self, cluster: StoreReader, nodes: Sequence[str]) -> list[GpuDetail]:
        """One query for all further facts on the page of a node; as `Source.details`."""
        if not nodes:
            return []
        rows = await self._asked.query(instant(detail_names.NAMES, nodes))
        places = places_of(cluster)
        return await self._asked.apart(
            lambda: detail_names.details(_unstamped(from_prometheus(rows)), places)
        )

    async def uses(self, pods: Sequence[Pod]) -> list[PodUse]:
        """One query for all of them; as `Source.uses`."""
        if not pods:
            return []
        try:
            rows = await self._asked.query(pod_uses.query(pods))
        except Unheard:
            raise
        except TelemetryError:
            # GPU numbers without them are better than none; the next round asks again
            return []
        return await self._asked.apart(lambda: pod_uses.uses(rows, pods))

    async def past(self, asked: Past, now_seconds: float) -> dict[str, Line]:
        """One range query for the cards of a node, two for the mean of many cards; as `Source.past`."""
        end = history.end_of(now_seconds)
        start = end - history.RANGE_SECONDS
        try:
            if asked.node:
                query = history.card_query(asked.node)
                rows = await self._asked.query_range(query, start, end, history.STEP_SECONDS)
                return await self._asked.apart(lambda: history.card_lines(rows, end))
            if asked.nodes or asked.gpu_nodes:
                line = await duty_line(self._asked, asked, end)
                return {asked.key: line} if line else {}
            if not asked.pods:
                return {}
            sums, counts = [
                await self._asked.query_range(query, start, end, history.STEP_SECONDS)
                for query in history.pod_queries(asked.pods)
            ]
        except Unheard:
            raise
        except TelemetryError:
            # what is now matters more than what was; the next round asks again
            return {}
        line = history.mean_line(sums, counts, end)
        return {asked.key: line} if line else {}

    async def lately(self, now_seconds: float) -> dict[str, tuple[Stretch, ...]]:
        """One range query; as `Source.lately`."""
        end = now_seconds
        start, step = end - lately.RANGE_SECONDS, lately.STEP_SECONDS
        try:
            rows = await self._asked.query_range(lately.query(), start, end, step)
        except Unheard:
            raise
        except TelemetryError:
            # what is now matters more than what was
            return {}
        return await self._asked.apart(lambda: lately.stretches(rows))

    async def lines(self, pods: Sequence[Pod], now_seconds: float) -> PodLines | None:
        """Two range queries for each twenty pods; as `Source.lines`."""
        end = history.end_of(now_seconds)
        start = end - lines.RANGE_SECONDS
        step = float(lines.STEP_SECONDS)
        found = PodLines(end_seconds=end, step_seconds=step)
        for at in range(0, len(pods), lines.MOST_PODS):
            some = pods[at : at + lines.MOST_PODS]
            cards = await self._asked.query_range(lines.card_query(some), start, end, lines.CARD_STEP_SECONDS)
            used = await self._asked.query_range(lines.use_query(some), start, end, lines.STEP_SECONDS)
            part = await self._asked.apart(partial(lines.pod_lines, cards, used, some, end))
            cards_found, pods_found = {**found.cards, **part.cards}, {**found.pods, **part.pods}
            found = PodLines(end_seconds=end, step_seconds=step, cards=cards_found, pods=pods_found)
        return found

    async def _moment(self) -> float | None:
        """A moment a little before the server's now; None where it does not tell its time."""
        found = from_prometheus(await self._asked.query(PROBE))
        now = newest_seconds(found)
        return None if now is None else now - LAG_SECONDS

    async def _times(self, query: str, at: float | None) -> list[Any]:
        try:
            return await self._asked.query(query, at)
        except Unheard:
            raise
        except TelemetryError:
            # numbers without their age are better than none; the next round asks again
            return []

    async def close(self) -> None:
        """Let go of its connections."""
        await self._asked.close()


def _unstamped(samples: list[Sample]) -> list[Sample]:
    """An instant vector carries the time of the query: none is better than that one."""
    return [sample._replace(sampled_seconds=None) for sample in samples]


def _devices(cluster: StoreReader) -> int:
    nodes: Mapping[str, Node] = cluster.records(Kind.NODE)
    return sum(node.gpu_capacity or 0 for node in nodes.values())


def places_of(cluster: StoreReader) -> NodeNames:
    """A snapshot of the names that labels are resolved by."""
    nodes: Sequence[Node] = tuple(cluster.records(Kind.NODE).values())
    pods: Mapping[str, Pod] = cluster.records(Kind.POD)
    agents = [pod for pod in pods.values() if "exporter" in pod.name or "dcgm" in pod.name]
    by_ip = {node.internal_ip: node.name for node in nodes if node.internal_ip}
    by_ip |= {pod.pod_ip: pod.node for pod in agents if pod.pod_ip and pod.node}
    return NodeNames(
        nodes=frozenset(node.name for node in nodes),
        node_by_ip=by_ip,
        pod_node={pod.key: pod.node for pod in agents if pod.node},
    )
