"""Samples straight from the exporters' pods, through the API server's pod proxy: for clusters without a
Prometheus that scrapes them.

A node may have several exporters, and an exporter several ports: the page with the most readings is taken,
and asked for alone until it has fewer. A label or a name alone does not say what a page has.

Proxy reads go through the API server: at most `MOST_AT_ONCE` pages at a time, of at most `MOST_PAGES` nodes a
round (nodes on screen first, then the others in turn), each at most `PAGE_BYTES` long.
Sources: kubernetes.io access-cluster-services (the proxy's path), NVIDIA/dcgm-exporter
deployment/templates/daemonset.yaml and NVIDIA/gpu-operator assets/state-dcgm-exporter (labels, ports).
"""

import asyncio
import re
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import msgspec

from cockpit.clock import Clock
from cockpit.daemon_thread import apart
from cockpit.errors import CockpitError
from cockpit.model.batch import Phase
from cockpit.model.gpu import Gpu
from cockpit.model.gpu_detail import GpuDetail
from cockpit.model.pod import Pod
from cockpit.model.pod_use import PodUse
from cockpit.model.store_reader import StoreReader
from cockpit.sanitise import clean
from cockpit.telemetry import detail_names
from cockpit.telemetry.cards.round import gpus
from cockpit.telemetry.faults import TelemetryError, refused_by_cluster
from cockpit.telemetry.history import Line, Past
from cockpit.telemetry.kubelets import KubeletPages, ReadPage
from cockpit.telemetry.labels import instance_of, uuid_of
from cockpit.telemetry.lately import Stretch
from cockpit.telemetry.names import MEANINGS, TABLE, GpuMetric
from cockpit.telemetry.sample import Sample, is_reading, parse_exposition
from cockpit.telemetry.source import places_of

MOST_AT_ONCE = 20
MOST_PAGES = 100
PAGE_BYTES = 4 * 2**20
LOOKED_AT_BYTES = 256
MOST_SAMPLES = 5_000
"""Of one page; sixteen cards of seven instances with forty quantities each are less."""
MOST_PORTS = 3
"""Of one pod: metrics may be behind a proxy on a second port."""
LIST_AGAIN_SECONDS = 30.0

PORTS: dict[str, int] = {
    name: section["port"] for section in TABLE.values() for name in section.get("pods", ())
}
"""Names under which the exporters' pods are known, and where they serve metrics if no port is named."""
_KEYS = ("app.kubernetes.io/name", "app", "k8s-app")


def selectors() -> tuple[str, ...]:
    """Labels under which exporters are known, a selector each: a pod needs one of them only."""
    return tuple(f"{key} in ({','.join(PORTS)})" for key in _KEYS)


_PORT_NAMES = ("metrics", "gpu-metrics", "http-metrics")
_HTTPS_PORT_NAME = "https-metrics"
_DEFAULT_PORT = 9400


@dataclass(frozen=True, slots=True)
class Exporter:
    """A pod that may tell of one node's cards, and the port of its page."""

    node: str
    namespace: str
    pod: str
    port: int
    is_https: bool = False

    @property
    def path(self) -> str:
        """Its page, through the API server."""
        scheme = "https:" if self.is_https else ""
        name = f"{scheme}{quote(self.pod, safe='')}:{self.port}"
        return f"/api/v1/namespaces/{quote(self.namespace, safe='')}/pods/{name}/proxy/metrics"


def exporters_of(tree: Any) -> list[Exporter]:
    """Running exporter pods of a PodList as JSON tree, each port that may serve metrics, the likeliest first;
    items of another shape are left out."""
    items = tree.get("items") if isinstance(tree, dict) else None
    found: list[Exporter] = []
    for item in items if isinstance(items, list) else ():
        if not isinstance(item, dict):
            continue
        meta, spec, status = (_table(item, part) for part in ("metadata", "spec", "status"))
        node = spec.get("nodeName")
        if not node or status.get("phase") != "Running" or meta.get("deletionTimestamp"):
            continue
        namespace, name = (clean(str(meta.get(part, ""))) for part in ("namespace", "name"))
        found.extend(
            Exporter(clean(str(node)), namespace, name, port, is_https)
            for port, is_https in _ports(_items(spec, "containers"), _table(meta, "labels"))
        )
    return found


def _table(tree: Any, name: str) -> dict[str, Any]:
    found = tree.get(name)
    return found if isinstance(found, dict) else {}


def _items(tree: Any, name: str) -> list[Any]:
    found = tree.get(name)
    return found if isinstance(found, list) else []


def _ports(containers: Iterable[Any], labels: dict[str, Any]) -> list[tuple[int, bool]]:
    """Port and whether it is HTTPS: those named for metrics before the others."""
    ports = [
        port
        for container in containers
        if isinstance(container, dict)
        for port in _items(container, "ports")
        if isinstance(port, dict) and isinstance(port.get("containerPort"), int)
    ]
    ports.sort(key=lambda port: port.get("name") not in (*_PORT_NAMES, _HTTPS_PORT_NAME))
    usual = next((PORTS[name] for key in _KEYS if (name := str(labels.get(key))) in PORTS), _DEFAULT_PORT)
    ports = ports[:MOST_PORTS] or [{"containerPort": usual}]
    return [(int(port["containerPort"]), port.get("name") == _HTTPS_PORT_NAME) for port in ports]


def reading_count(samples: Iterable[Sample]) -> int:
    """How many quantities of how many cards the samples tell; who holds a card is no quantity of it."""
    return len(
        {
            (meaning.quantity, uuid_of(sample.labels), instance_of(sample.labels))
            for sample in samples
            if (meaning := MEANINGS.get(sample.name)) is not None
            and meaning.quantity is not GpuMetric.HOLDER
            and is_reading(sample.value)
        }
    )


ACCELERATORS = re.compile(
    r"^\w*(?:nvidia|gpu|npu|tpu|dcgm|neuron|habana|gaudi|xpu|accelerator|amdsmi)\w*[{ ]",
    re.MULTILINE | re.IGNORECASE,
)
"""Series that by their names are of accelerators."""


def not_understood(unknown: Mapping[str, int]) -> str:
    """That exporters answer of which no name is known, "" where there is none."""
    if not unknown:
        return ""
    first, count = min(unknown.items())
    more = f" (and {len(unknown) - 1} more)" if len(unknown) > 1 else ""
    return f"The exporter {first}{more} answers; none of its {count} GPU series is known."


class ExporterPages:
    """A `Source` that reads the page of each exporter by itself."""

    who = "the exporters' pods"

    def __init__(self, read: ReadPage, clock: Clock) -> None:
        self._read = read
        self._clock = clock
        self._kubelets = KubeletPages(read, clock)
        self._exporters: dict[str, list[Exporter]] = {}  # by node, the one with the most readings first
        self._most: dict[str, int] = {}  # node -> readings of its first exporter when all were compared
        self._listed_at: float | None = None
        self._turn = 0
        self.complaint = ""
        self._unknown: dict[str, int] = {}  # exporter -> series of accelerators of which none is known
        self.is_partial = False
        self.asked: frozenset[str] | None = frozenset()

    @property
    def nothing(self) -> str:
        """The exporters answer, and print nothing that is known."""
        return not_understood(self._unknown) or "The exporters answer but print no GPU whose names are known."

    async def find(self) -> int:
        """Look for exporter pods; answers on how many nodes there is one. Raises TelemetryError."""
        found: dict[str, list[Exporter]] = {}
        for selector in selectors():
            try:
                body = await self._read("/api/v1/pods", (("labelSelector", selector),), 16 * PAGE_BYTES)
                tree = msgspec.json.decode(body)
            except CockpitError as error:
                raise refused_by_cluster(error) from None
            except (ValueError, RecursionError):
                raise TelemetryError("the list of exporter pods is not JSON", Phase.ABSENT) from None
            for exporter in exporters_of(tree):
                known = found.setdefault(exporter.node, [])
                if exporter not in known:
                    known.append(exporter)
        self._keep_order(found)
        self._listed_at = self._clock.monotonic()
        return len(found)

    def _keep_order(self, found: dict[str, list[Exporter]]) -> None:
        """Take the exporters found; those of a node are compared again where one is new."""
        for node, exporters in found.items():
            before = self._exporters.get(node, [])
            if any(exporter not in before for exporter in exporters):
                self._most.pop(node, None)
            exporters.sort(key=lambda exporter: before.index(exporter) if exporter in before else len(before))
        self._exporters = found
        self._most = {node: most for node, most in self._most.items() if node in found}

    async def read(
        self, cluster: StoreReader, nodes: Sequence[str], cards_known: int
    ) -> tuple[list[Gpu], float | None]:
        """As `Source.read`; a page that does not come leaves its cards out, and `complaint` says so."""
        if self._listed_at is None or self._clock.monotonic() - self._listed_at > LIST_AGAIN_SECONDS:
            await self.find()
        chosen = self._chosen(nodes)
        if not chosen:
            raise TelemetryError("No exporter pod is running on any node.", Phase.ABSENT)
        self.asked = frozenset(chosen)
        gate = asyncio.Semaphore(MOST_AT_ONCE)
        self._unknown = {}
        pages = await asyncio.gather(*(self._best_page(node, gate) for node in chosen))
        faults = [page for page in pages if isinstance(page, str)]
        if len(faults) == len(chosen):
            raise TelemetryError(f"No exporter answers: {faults[0]}")
        self.is_partial = bool(faults)
        self.complaint = (
            f"{len(faults)} of {len(chosen)} nodes have no exporter that answers: {faults[0]}"
            if faults
            else not_understood(self._unknown)
        )
        samples = [sample for page in pages if not isinstance(page, str) for sample in page]
        places = places_of(cluster)
        return await apart(lambda: gpus(samples, places)), self._clock.cluster_now()

    async def details(self, cluster: StoreReader, nodes: Sequence[str]) -> list[GpuDetail]:
        """The page again, for all that `read` leaves out of it; a page that does not come gives nothing."""
        chosen = [self._exporters[node][0] for node in nodes if node in self._exporters][:MOST_AT_ONCE]
        gate = asyncio.Semaphore(MOST_AT_ONCE)
        pages = await asyncio.gather(*(self._page(item, gate, detail_names.NAMES) for item in chosen))
        samples = [sample for page in pages if not isinstance(page, str) for sample in page]
        places = places_of(cluster)
        return await apart(lambda: detail_names.details(samples, places))

    async def uses(self, pods: Sequence[Pod]) -> list[PodUse]:
        """Exporters tell of cards only; CPU and network come from the kubelets, where these may be asked."""
        return await self._kubelets.uses(pods)

    async def past(self, asked: Past, now_seconds: float) -> dict[str, Line]:
        """Exporters remember nothing."""
        return {}

    async def lately(self, now_seconds: float) -> dict[str, tuple[Stretch, ...]]:
        """Nor what was just before."""
        return {}

    async def lines(self, pods: Sequence[Pod], now_seconds: float) -> None:
        """Nor this."""

    def _chosen(self, nodes: Sequence[str]) -> list[str]:
        """The nodes on screen first; others as far as there is room, each in its turn."""
        first = [node for node in nodes if node in self._exporters][:MOST_PAGES]
        others = sorted(self._exporters.keys() - set(first))
        room = MOST_PAGES - len(first)
        if len(others) <= room:
            return first + others
        start = self._turn % len(others)
        self._turn = start + room
        return first + (others[start:] + others[:start])[:room]

    async def _best_page(self, node: str, gate: asyncio.Semaphore) -> list[Sample] | str:
        """The samples of the node's exporter that tells most, or the sentence why there are none.

        The first exporter is asked alone while its page has as many readings as when all were compared.
        """
        first, *others = self._exporters[node]
        page = await self._page(first, gate, MEANINGS)
        if not others:
            return page
        count = _count_of(page)
        if count > 0 and count >= self._most.get(node, count + 1):
            return page
        pages = [page, *await asyncio.gather(*(self._page(other, gate, MEANINGS) for other in others))]
        counts = [_count_of(page) for page in pages]
        best = counts.index(max(counts))
        self._exporters[node].insert(0, self._exporters[node].pop(best))
        self._most[node] = counts[best]
        return pages[best]

    async def _page(
        self, exporter: Exporter, gate: asyncio.Semaphore, names: Container[str]
    ) -> list[Sample] | str:
        """The page's samples of these names, or the sentence why there is none. It is taken apart before
        others are read: only so many whole pages are held at once."""
        async with gate:
            try:
                body = await self._read(exporter.path, (), PAGE_BYTES)
            except CockpitError as error:
                return f"{exporter.namespace}/{exporter.pod}: {error.sentence}"
            if body[:LOOKED_AT_BYTES].lstrip()[:1] == b"<":
                return f"{exporter.namespace}/{exporter.pod}: answers with a web page instead of metrics"
            now = self._clock.cluster_now()
            text = body.decode("utf-8", "replace")
            samples = await apart(lambda: parse_exposition(text, now, names, MOST_SAMPLES))
            if not samples and names is MEANINGS and (count := len(ACCELERATORS.findall(text))):
                self._unknown[f"{exporter.namespace}/{exporter.pod}"] = count
            return samples

    async def close(self) -> None:
        """Holds nothing."""


def _count_of(page: list[Sample] | str) -> int:
    """Readings of a page; -1 where there is none, so that an empty page is better than no answer."""
    return -1 if isinstance(page, str) else reading_count(page)
