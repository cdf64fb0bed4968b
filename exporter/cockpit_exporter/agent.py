"""The parts together: threads that read, and what a scrape sees of them."""

import os
import re
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import Metric

from cockpit_exporter import dcgm_names, exposition
from cockpit_exporter.attribution import Joined, join
from cockpit_exporter.collector import Collector, CollectorPace
from cockpit_exporter.driver import Nvml
from cockpit_exporter.kubelet import KEPT_SECONDS, KubeletWatch
from cockpit_exporter.seen import AttributionState, Seen
from cockpit_exporter.slices import SliceWatch
from cockpit_exporter.web import Encoding
from cockpit_exporter.xids import XidWatch

STOP_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """What the flags say. `pod_resources` is the socket's path, "" for none; so are the others."""

    node: str
    pace: CollectorPace
    dcgm_names: str = ""  # A, C, or "" for our own
    pod_resources: str = ""
    resources: tuple[str, ...] = ()
    slices_url: str = ""
    pod_logs: str = ""
    proc: Path = Path("/proc")
    version: str = ""


class Agent:
    """Reads until it is stopped. `ended` is set when the collector is done; `exit_status` then says how."""

    def __init__(self, settings: AgentSettings, nvml: Nvml, clock: Callable[[], float]) -> None:
        self._settings = settings
        self._clock = clock
        self.collector = Collector(nvml, settings.pace, clock, pod_of_process(settings.proc), settings.proc)
        self.xids = XidWatch(nvml, clock, self._answering, self.collector.expect_identity)
        self.kubelet = (
            KubeletWatch(settings.pod_resources, clock, settings.resources)
            if settings.pod_resources
            else None
        )
        self.slices = (
            SliceWatch(settings.node, settings.slices_url, claims=self._claims)
            if settings.slices_url
            else None
        )
        self.ended = threading.Event()
        self._threads: list[threading.Thread] = []

    @property
    def exit_status(self) -> int:
        return self.collector.exit_status

    def start(self) -> None:
        """Start the threads; all are daemons, for a driver call may never return."""
        runs: list[tuple[str, Callable[[], None]]] = [("collector", self._collect), ("xids", self.xids.run)]
        if self.kubelet is not None:
            runs.append(("kubelet", self.kubelet.run))
        if self.slices is not None:
            runs.append(("slices", self.slices.run))
        for name, run in runs:
            thread = threading.Thread(target=run, name=name, daemon=True)
            self._threads.append(thread)
            thread.start()

    def _collect(self) -> None:
        try:
            self.collector.run()
        finally:
            self.ended.set()

    def stop(self) -> None:
        """Ask all to end and wait a little; then leave the driver."""
        for part in (self.collector, self.xids, self.kubelet, self.slices):
            if part is not None:
                part.stop()
        until = self._clock() + STOP_SECONDS  # for all together: a pod has ten seconds to end
        for thread in self._threads:
            thread.join(max(0.0, until - self._clock()))
        self.collector.close()

    def health(self) -> str:
        """Empty, or why the numbers are not to be trusted."""
        age = self._clock() - self.collector.snapshot.taken_seconds
        if self.collector.is_stale():
            return f"the snapshot is {age:.0f} s old, more than three intervals"
        return ""

    def _claims(self) -> set[tuple[str, str]]:
        """Namespace and name of the claims in use here."""
        told = self.kubelet.current().assignments if self.kubelet is not None else ()
        return {(item.namespace, item.claim) for item in told if item.claim}

    def _answering(self) -> frozenset[str]:
        cards = self.collector.snapshot.cards
        return frozenset(card.device.uuid for card in cards if card.device.uuid and not card.down)

    def seen(self) -> Seen:
        """Everything as it stands now."""
        snapshot = self.collector.snapshot
        names = pod_names(Path(self._settings.pod_logs)) if self._settings.pod_logs else {}
        joined, attribution = self._attribution(names)
        return Seen(
            now_seconds=self._clock(),
            snapshot=snapshot,
            node=self._settings.node,
            joined=joined,
            attribution=attribution,
            xids=self.xids.xids(),
            is_xid_watched=self.xids.state == "watching",
            names=names,
            version=self._settings.version,
        )

    def _attribution(self, names: dict[str, tuple[str, str]]) -> tuple[Joined | None, AttributionState]:
        cards = self.collector.snapshot.cards
        if self.kubelet is None:
            has_pods = any(process.pod_uid for card in cards for process in card.processes)
            return (join(cards, (), names=names) if has_pods else None), AttributionState()
        told = self.kubelet.current()
        age = None if told.taken_seconds is None else max(0.0, self._clock() - told.taken_seconds)
        is_known = age is not None and age <= KEPT_SECONDS
        reason = self.slices.reason if self.slices is not None else None
        state = AttributionState("pod-resources", told.reason, age, reason)
        if not is_known:
            return None, state
        if self.slices is None:
            return join(cards, told.assignments, told.allocatable, names=names), state
        proofs, watched = self.slices.slices, self.slices.watched
        return join(
            cards, told.assignments, told.allocatable, slices=proofs, names=names, watched=watched
        ), state

    @property
    def encoding(self) -> Encoding:
        """How its pages are written."""
        return dcgm_names.encoding if self._settings.dcgm_names else choose_encoder

    def page(self) -> Iterable[Metric]:
        """The families of one scrape."""
        if self._settings.dcgm_names == "A":
            return dcgm_names.page(self.seen(), "A")
        if self._settings.dcgm_names == "C":
            return dcgm_names.page(self.seen(), "C")
        return exposition.page(self.seen())


_POD = re.compile(
    r"[/-]pod(?P<uid>[0-9a-f]{8}(?P<dash>[-_])[0-9a-f]{4}(?P=dash)[0-9a-f]{4}(?P=dash)[0-9a-f]{4}"
    r"(?P=dash)[0-9a-f]{12}"
    r"|[0-9a-f]{32})(?=[/.]|$)",
    re.MULTILINE,
)
"""kubepods-burstable-pod1c2d_....slice (systemd driver) or kubepods/burstable/pod1c2d-... (cgroupfs); pods
from files have 32 digits."""

MOST_BYTES = 65_536


def pod_uid(cgroup: str) -> str:
    """The UID of the pod that this cgroup file speaks of, "" where it is no pod's. The innermost counts."""
    found = ""
    for match in _POD.finditer(cgroup):
        found = match["uid"].replace("_", "-")
    return found


def pod_of_process(proc: Path) -> Callable[[int], str]:
    """A function from pid to pod UID; "" where the process is gone or not ours to see."""

    def of(pid: int) -> str:
        try:
            with (proc / str(pid) / "cgroup").open("rb") as file:
                return pod_uid(file.read(MOST_BYTES).decode("utf-8", "replace"))
        except OSError:
            return ""

    return of


def pod_names(pod_logs: Path) -> dict[str, tuple[str, str]]:
    """(namespace, name) by UID from the kubelet's log folders namespace_name_uid; empty where unreadable."""
    try:
        entries = os.listdir(pod_logs)
    except OSError:
        return {}
    split = (entry.split("_") for entry in entries)
    return {parts[2]: (parts[0], parts[1]) for parts in split if len(parts) == 3}
