"""CPU and network of pods straight from their nodes' kubelets, for clusters without a Prometheus.

The way is the API server's node proxy, `metrics/cadvisor`. A user who may use that proxy may do far more with
it, so it is closed in read-only mode and to most roles: then these numbers are not collected, and the next
try is a while off. Counters become rates over what was seen in the last minutes. Names and labels are those
that `cockpit.telemetry.uses` asks a Prometheus for.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import NamedTuple
from urllib.parse import quote

from cockpit.clock import Clock
from cockpit.daemon_thread import apart
from cockpit.errors import CockpitError
from cockpit.model.pod import Pod
from cockpit.model.pod_use import PodUse
from cockpit.telemetry.sample import Sample, is_reading, parse_exposition

ReadPage = Callable[[str, tuple[tuple[str, str], ...], int], Awaitable[bytes]]
"""(path, query, most bytes) -> body of a 200. Raises CockpitError with one sentence otherwise."""

MOST_NODES = 20
MOST_AT_ONCE = 2
"""A page of a full node has some MiB: whole ones are not held for all nodes at once."""
PAGE_BYTES = 16 * 2**20
AGAIN_SECONDS = 60.0
"""How long nothing is asked after no kubelet answered."""

WINDOW_SECONDS = 180.0
LEAST_SECONDS = 2.0
"""Two readings nearer than this make no rate."""

FIELDS = {
    "container_cpu_usage_seconds_total": "cpu_cores",
    "container_network_receive_bytes_total": "receive_bytes_per_second",
    "container_network_transmit_bytes_total": "transmit_bytes_per_second",
}
_LINES = tuple(name.encode() for name in FIELDS)


class _Reading(NamedTuple):
    """Counters of one pod by field, as of a moment (epoch seconds)."""

    seconds: float
    counters: Mapping[str, float]


class KubeletPages:
    """Asks the kubelets of pods on screen; remembers their counters and nothing of other pods."""

    def __init__(self, read: ReadPage, clock: Clock) -> None:
        self._read = read
        self._clock = clock
        self._seen: dict[str, list[_Reading]] = {}
        self._not_before: float | None = None

    async def uses(self, pods: Sequence[Pod]) -> list[PodUse]:
        """Rates of these pods as far as two readings tell them; raises nothing."""
        if self._not_before is not None and self._clock.monotonic() < self._not_before:
            return []
        nodes = list(dict.fromkeys(pod.node for pod in pods if pod.node))[:MOST_NODES]
        names = {(pod.namespace, pod.name) for pod in pods}
        gate = asyncio.Semaphore(MOST_AT_ONCE)
        pages = await asyncio.gather(*(self._page(node, names, gate) for node in nodes))
        if nodes and all(page is None for page in pages):
            self._not_before = self._clock.monotonic() + AGAIN_SECONDS
            return []
        found = {who: of for page in pages if page is not None for who, of in page.items()}
        longest = WINDOW_SECONDS * self._clock.cluster_pace()
        self._seen = {
            pod.uid: _kept(self._seen.get(pod.uid, []), found.get((pod.namespace, pod.name)), longest)
            for pod in pods
        }
        return [use for pod in pods if (use := _use(pod, self._seen[pod.uid])) is not None]

    async def _page(
        self, node: str, names: set[tuple[str, str]], gate: asyncio.Semaphore
    ) -> dict[tuple[str, str], _Reading] | None:
        path = f"/api/v1/nodes/{quote(node, safe='')}/proxy/metrics/cadvisor"
        async with gate:
            try:
                body = await self._read(path, (), PAGE_BYTES)
            except CockpitError:
                return None
            now = self._clock.cluster_now()
            return await apart(lambda: _readings(body, now, names))


def _readings(page: bytes, at: float, names: set[tuple[str, str]]) -> dict[tuple[str, str], _Reading]:
    """Counters of these pods: containers and interfaces added up, what is said of the whole pod left out."""
    sums: dict[tuple[str, str], dict[str, float]] = {}
    times: dict[tuple[str, str], float] = {}
    lines = b"\n".join(line for line in page.split(b"\n") if line.startswith(_LINES))
    for item in parse_exposition(lines.decode("utf-8", "replace"), at, FIELDS):
        field = FIELDS[item.name]
        who = (item.labels.get("namespace", ""), item.labels.get("pod", ""))
        if who not in names or not is_reading(item.value) or not _counts(item, field):
            continue
        counters = sums.setdefault(who, {})
        counters[field] = counters.get(field, 0.0) + item.value
        times[who] = max(times.get(who, 0.0), at if item.sampled_seconds is None else item.sampled_seconds)
    return {who: _Reading(times[who], counters) for who, counters in sums.items()}


def _counts(one: Sample, field: str) -> bool:
    """False for a series that repeats others: the pod's own cgroup, its sandbox, loopback, one core."""
    label = one.labels.get
    if field == "cpu_cores":
        return label("container", "") not in ("", "POD") and label("cpu", "total") == "total"
    return label("interface", "") not in ("", "lo")


def _kept(seen: Sequence[_Reading], new: _Reading | None, longest_seconds: float) -> list[_Reading]:
    """The readings of the last minutes; a counter that fell (its container restarted) is reset as well.

    Where the cluster's time runs faster than ours, even two rounds are minutes apart there: then these two,
    at most `longest_seconds` apart, make the rate.
    """
    if new is None:
        return []
    last = seen[-1] if seen else None
    if last is not None and new.seconds <= last.seconds:
        return list(seen)  # the kubelet looks every ten seconds or so: the same reading again
    if last is not None and any(new.counters.get(name, 0.0) < of for name, of in last.counters.items()):
        return [new]
    recent = [item for item in seen if new.seconds - item.seconds <= WINDOW_SECONDS]
    return [*(recent or [item for item in seen[-1:] if new.seconds - item.seconds <= longest_seconds]), new]


def _use(pod: Pod, seen: Sequence[_Reading]) -> PodUse | None:
    if len(seen) < 2 or seen[-1].seconds - seen[0].seconds < LEAST_SECONDS:
        return None
    first, last = seen[0], seen[-1]
    seconds = last.seconds - first.seconds
    rates = {
        name: (of - first.counters[name]) / seconds
        for name, of in last.counters.items()
        if name in first.counters
    }
    return PodUse(uid=pod.uid, key=pod.key, **rates) if rates else None
