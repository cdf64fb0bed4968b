"""Where samples come from, as the poller sees it; and the first of them, a Prometheus."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from cockpit.model.gpu import Gpu
from cockpit.model.gpu_detail import GpuDetail
from cockpit.model.node import Node
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.telemetry import detail_names
from cockpit.telemetry.faults import TelemetryError
from cockpit.telemetry.labels import Places
from cockpit.telemetry.names import MEANINGS, Quantity, names_of
from cockpit.telemetry.normalise import ages, gpus
from cockpit.telemetry.promql import PROBE, held_down, instant, sample_times
from cockpit.telemetry.sample import Sample, from_prometheus, newest_seconds

T = TypeVar("T")

MANY_CARDS = 2_000
"""From here on each quantity is asked for by itself: an answer of 8 MB parses in 60 ms, 40 MB in 400."""


class Cluster(Protocol):
    """What is read of the store."""

    def records(self, kind: str, /) -> Mapping[str, Any]: ...
    def pods_on(self, node: str, /) -> Sequence[Pod]: ...


class Source(Protocol):
    """One place to ask. `nothing` is what to say when it answers but knows no GPU; `complaint` what is wrong
    with a part of it, "" when nothing is; `asked` names the nodes that the last round spoke to, None where
    that is exactly those it was given (all, where it was given none)."""

    @property
    def who(self) -> str: ...
    @property
    def nothing(self) -> str: ...
    @property
    def complaint(self) -> str: ...
    @property
    def asked(self) -> frozenset[str] | None: ...

    async def read(
        self, cluster: Cluster, nodes: Sequence[str], cards_known: int
    ) -> tuple[list[Gpu], float | None]:
        """Cards as the exporters see them, and the source's own time (epoch seconds; None where it has none).

        `nodes` are those on screen, empty for all. Raises TelemetryError where there is no answer at all.
        """

    async def details(self, cluster: Cluster, nodes: Sequence[str]) -> list[GpuDetail]:
        """What only the pages of these nodes show. Raises TelemetryError as `read` does."""

    def close(self) -> None:
        """Let go of threads and connections."""


class Asked(Protocol):
    """What is asked: `cockpit.telemetry.prometheus.Prometheus`."""

    @property
    def who(self) -> str: ...
    async def query(self, promql: str, at_seconds: float | None = None) -> list[Any]: ...
    async def apart(self, work: Callable[[], T]) -> T: ...
    def close(self) -> None: ...


LAG_SECONDS = 1.0
"""How far behind the server's time a round looks: scrapes that began earlier have ended, or nearly all."""


class PrometheusSource:
    """Two instant queries a round: the values, and when they were sampled; both as of one moment.

    Otherwise a scrape between the two would give a new time to an old value.
    """

    complaint = ""
    asked = None

    def __init__(self, asked: Asked) -> None:
        self._asked = asked

    @property
    def who(self) -> str:
        """As sentences call it."""
        return self._asked.who

    @property
    def nothing(self) -> str:
        """It answers and has no GPU."""
        return (
            f"{self.who} answers but has no GPU series (DCGM, cockpit_gpu, nvidia_gpu); "
            "check that it scrapes dcgm-exporter."
        )

    async def read(
        self, cluster: Cluster, nodes: Sequence[str], cards_known: int
    ) -> tuple[list[Gpu], float | None]:
        """As `Source.read`; the time is Prometheus' own."""
        places = places_of(cluster)
        at = await self._moment()
        rows: list[Any] = []
        shares = _shares(cluster, cards_known)
        for names in shares:
            rows.extend(await self._asked.query(instant(names, nodes), at))
        if len(shares) > 1:
            # nine series a card where our exporter speaks: of a large fleet only those that say something
            rows.extend(await self._asked.query(held_down(nodes), at))
        times = await self._times(nodes, at)

        def work() -> tuple[list[Gpu], float | None]:
            samples = from_prometheus(rows)
            # under timestamp() the value is the time, so what is stamped on its rows is of no use
            sampled = ages(from_prometheus(times), places)
            return gpus(samples, places, sampled), newest_seconds(samples)

        return await self._asked.apart(work)

    async def details(self, cluster: Cluster, nodes: Sequence[str]) -> list[GpuDetail]:
        """One query for all that the page of a node shows besides; as `Source.details`."""
        if not nodes:
            return []
        rows = await self._asked.query(instant(detail_names.NAMES, nodes))
        places = places_of(cluster)
        return await self._asked.apart(
            lambda: detail_names.details(_unstamped(from_prometheus(rows)), places)
        )

    async def _moment(self) -> float | None:
        """A moment a little before the server's now; None where it does not tell its time."""
        found = from_prometheus(await self._asked.query(PROBE))
        now = newest_seconds(found)
        return None if now is None else now - LAG_SECONDS

    async def _times(self, nodes: Sequence[str], at: float | None) -> list[Any]:
        try:
            return await self._asked.query(sample_times(nodes), at)
        except TelemetryError:
            # numbers without their age are better than none; the next round asks again
            return []

    def close(self) -> None:
        """Stop its thread."""
        self._asked.close()


def _unstamped(samples: list[Sample]) -> list[Sample]:
    """An instant vector carries the time of the query: none is better than that one."""
    return [one._replace(sampled_seconds=None) for one in samples]


def _shares(cluster: Cluster, cards_known: int) -> list[tuple[str, ...]]:
    nodes: Mapping[str, Node] = cluster.records(Kind.NODE)
    devices = sum(node.gpu_capacity or 0 for node in nodes.values())
    if cards_known < MANY_CARDS and devices < MANY_CARDS:
        return [tuple(MEANINGS)]
    return [names_of((quantity,)) for quantity in Quantity if quantity is not Quantity.THROTTLE]


def places_of(cluster: Cluster) -> Places:
    """A snapshot of the names that labels are resolved by."""
    nodes: Sequence[Node] = tuple(cluster.records(Kind.NODE).values())
    pods: Mapping[str, Pod] = cluster.records(Kind.POD)
    agents = [pod for pod in pods.values() if "exporter" in pod.name or "dcgm" in pod.name]
    by_ip = {node.internal_ip: node.name for node in nodes if node.internal_ip}
    by_ip |= {pod.pod_ip: pod.node for pod in agents if pod.pod_ip and pod.node}
    return Places(
        nodes=frozenset(node.name for node in nodes),
        node_by_ip=by_ip,
        pod_node={pod.key: pod.node for pod in agents if pod.node},
    )
