"""Samples straight from the exporters' pods, through the API server's pod proxy: for clusters without a
Prometheus that scrapes them.

Proxy reads go through the API server, so at most `MOST_AT_ONCE` pages are asked for at a time, at most
`MOST_PAGES` a round (nodes on screen first, then the others in turn), each at most `PAGE_BYTES` long.
Sources: kubernetes.io access-cluster-services (the proxy's path), NVIDIA/dcgm-exporter
deployment/templates/daemonset.yaml and NVIDIA/gpu-operator assets/state-dcgm-exporter (labels, ports).
"""

import asyncio
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import msgspec

from cockpit.apart import apart
from cockpit.clean import clean
from cockpit.clock import Clock
from cockpit.errors import CockpitError
from cockpit.model.batch import Phase
from cockpit.model.gpu import Gpu
from cockpit.model.gpu_detail import GpuDetail
from cockpit.model.pod import Pod
from cockpit.model.pod_use import PodUse
from cockpit.model.store_reader import StoreReader
from cockpit.telemetry import detail_names
from cockpit.telemetry.cards.round import gpus
from cockpit.telemetry.faults import TelemetryError
from cockpit.telemetry.history import Line, Past
from cockpit.telemetry.kubelets import KubeletPages, ReadPage
from cockpit.telemetry.names import MEANINGS
from cockpit.telemetry.sample import Sample, parse_exposition
from cockpit.telemetry.source import places_of

MOST_AT_ONCE = 20
MOST_PAGES = 100
PAGE_BYTES = 4 * 2**20
LOOKED_AT_BYTES = 256
MOST_SAMPLES = 5_000
"""Of one page; sixteen cards of seven instances with forty quantities each are less."""
LIST_AGAIN_SECONDS = 30.0

NAMES = ("dcgm-exporter", "nvidia-dcgm-exporter", "cockpit-exporter")
SELECTORS = tuple(f"{key} in ({','.join(NAMES)})" for key in ("app.kubernetes.io/name", "app"))
"""Labels under which exporters are known, a selector each: a pod needs one of them only."""

_PORT_NAMES = ("metrics", "gpu-metrics", "http-metrics")
_DEFAULT_PORT = 9400


@dataclass(frozen=True, slots=True)
class Exporter:
    """The pod that tells of one node's cards."""

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
    """Running exporter pods of a PodList as JSON tree; items of another shape are left out."""
    items = tree.get("items") if isinstance(tree, dict) else None
    found: list[Exporter] = []
    for item in items if isinstance(items, list) else ():
        if not isinstance(item, dict):
            continue
        meta, spec, status = (_table(item, part) for part in ("metadata", "spec", "status"))
        node = spec.get("nodeName")
        if not node or status.get("phase") != "Running" or meta.get("deletionTimestamp"):
            continue
        port, is_https = _port(_items(spec, "containers"))
        namespace, name = (clean(str(meta.get(part, ""))) for part in ("namespace", "name"))
        found.append(Exporter(clean(str(node)), namespace, name, port, is_https))
    return found


def _table(tree: Any, name: str) -> dict[str, Any]:
    found = tree.get(name)
    return found if isinstance(found, dict) else {}


def _items(tree: Any, name: str) -> list[Any]:
    found = tree.get(name)
    return found if isinstance(found, list) else []


def _port(containers: Iterable[Any]) -> tuple[int, bool]:
    ports = [
        one
        for container in containers
        if isinstance(container, dict)
        for one in _items(container, "ports")
        if isinstance(one, dict) and isinstance(one.get("containerPort"), int)
    ]
    named = [one for one in ports if one.get("name") in _PORT_NAMES]
    chosen = (named or ports or [{"containerPort": _DEFAULT_PORT}])[0]
    return int(chosen["containerPort"]), chosen.get("name") == "https-metrics"


class ExporterPages:
    """A `Source` that reads the page of each exporter by itself."""

    who = "the exporters' pods"
    nothing = "The exporters answer but print no GPU (DCGM, cockpit_gpu, nvidia_gpu)."

    def __init__(self, read: ReadPage, clock: Clock) -> None:
        self._read = read
        self._clock = clock
        self._kubelets = KubeletPages(read, clock)
        self._exporters: dict[str, Exporter] = {}
        self._listed_at: float | None = None
        self._turn = 0
        self.complaint = ""
        self.is_partial = False
        self.asked: frozenset[str] | None = frozenset()

    async def find(self) -> int:
        """Look for exporter pods; answers on how many nodes there is one. Raises TelemetryError."""
        found: dict[str, Exporter] = {}
        for selector in SELECTORS:
            try:
                body = await self._read("/api/v1/pods", (("labelSelector", selector),), 16 * PAGE_BYTES)
                tree = msgspec.json.decode(body)
            except CockpitError as error:
                raise TelemetryError(error.sentence, Phase.DENIED) from None
            except (ValueError, RecursionError):
                raise TelemetryError("the list of exporter pods is not JSON", Phase.ABSENT) from None
            for one in exporters_of(tree):
                found.setdefault(one.node, one)
        self._exporters = found
        self._listed_at = self._clock.monotonic()
        return len(found)

    async def read(
        self, cluster: StoreReader, nodes: Sequence[str], cards_known: int
    ) -> tuple[list[Gpu], float | None]:
        """As `Source.read`; a page that does not come leaves its cards out, and `complaint` says so."""
        if self._listed_at is None or self._clock.monotonic() - self._listed_at > LIST_AGAIN_SECONDS:
            await self.find()
        chosen = self._chosen(nodes)
        if not chosen:
            raise TelemetryError("No exporter pod is running on any node.", Phase.ABSENT)
        self.asked = frozenset(one.node for one in chosen)
        gate = asyncio.Semaphore(MOST_AT_ONCE)
        pages = await asyncio.gather(*(self._page(one, gate, MEANINGS) for one in chosen))
        faults = [page for page in pages if isinstance(page, str)]
        if len(faults) == len(chosen):
            raise TelemetryError(f"No exporter answers: {faults[0]}")
        self.is_partial = bool(faults)
        self.complaint = (
            f"{len(faults)} of {len(chosen)} exporters do not answer: {faults[0]}" if faults else ""
        )
        samples = [one for page in pages if not isinstance(page, str) for one in page]
        places = places_of(cluster)
        return await apart(lambda: gpus(samples, places)), self._clock.cluster_now()

    async def details(self, cluster: StoreReader, nodes: Sequence[str]) -> list[GpuDetail]:
        """The page again, for all that `read` leaves out of it; a page that does not come gives nothing."""
        chosen = [self._exporters[node] for node in nodes if node in self._exporters][:MOST_AT_ONCE]
        gate = asyncio.Semaphore(MOST_AT_ONCE)
        pages = await asyncio.gather(*(self._page(one, gate, detail_names.NAMES) for one in chosen))
        samples = [one for page in pages if not isinstance(page, str) for one in page]
        places = places_of(cluster)
        return await apart(lambda: detail_names.details(samples, places))

    async def uses(self, pods: Sequence[Pod]) -> list[PodUse]:
        """Exporters tell of cards only; CPU and network come from the kubelets, where these may be asked."""
        return await self._kubelets.uses(pods)

    async def past(self, asked: Past, now_seconds: float) -> dict[str, Line]:
        """Exporters remember nothing."""
        return {}

    async def lines(self, pods: Sequence[Pod], now_seconds: float) -> None:
        """Nor this."""

    def _chosen(self, nodes: Sequence[str]) -> list[Exporter]:
        """Those of the nodes on screen first; others as far as there is room, each in its turn."""
        first = [self._exporters[node] for node in nodes if node in self._exporters][:MOST_PAGES]
        taken = {one.node for one in first}
        others = [self._exporters[node] for node in sorted(self._exporters) if node not in taken]
        room = MOST_PAGES - len(first)
        if len(others) <= room:
            return first + others
        start = self._turn % len(others)
        self._turn = start + room
        return first + (others[start:] + others[:start])[:room]

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
            return await apart(
                lambda: parse_exposition(body.decode("utf-8", "replace"), now, names, MOST_SAMPLES)
            )

    async def close(self) -> None:
        """Holds nothing."""
