"""Processes on a card and the pod each one is in."""

from collections.abc import Callable
from typing import Any

from cockpit_exporter.driver import CallFailed, Failing, Nvml, text
from cockpit_exporter.model import Failure, Process
from cockpit_exporter.reads import BLANK_UNSIGNED, Rate

MOST_PROCESSES = 128
"""A card is shown with at most this many, those with the most memory first."""

NO_INSTANCE = 0xFFFFFFFF

_KINDS = (
    ("compute", ("nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2")),
    ("graphics", ("nvmlDeviceGetGraphicsRunningProcesses_v3", "nvmlDeviceGetGraphicsRunningProcesses_v2")),
    ("mps", ("nvmlDeviceGetMPSComputeRunningProcesses_v3", "nvmlDeviceGetMPSComputeRunningProcesses_v2")),
)


class Processes:
    """The processes of one card, read at most once in ten seconds. Used by one thread at a time."""

    def __init__(self, nvml: Nvml, pod_of: Callable[[int], str]) -> None:
        self._nvml = nvml
        self._pod_of = pod_of
        self._due = 0.0
        self._kept: tuple[Process, ...] = ()
        self._names: dict[int, str] = {}
        self._newest_microseconds = 0

    def read(self, handle: Any, now: float, note: Failing, off: dict[str, Failure]) -> tuple[Process, ...]:
        """By kind and pid. `note` is told what failed, `off` names what is not to be tried."""
        if now < self._due:
            return self._kept
        self._due = now + Rate.PROCESSES.value
        found: dict[tuple[str, int, int | None], Process] = {}
        for kind, functions in _KINDS:
            if kind in off:
                continue
            try:
                listed = self._nvml.first(functions, handle)
            except CallFailed as problem:
                note(kind, problem)
                continue
            for item in listed:
                instance = None if item.gpuInstanceId == NO_INSTANCE else int(item.gpuInstanceId)
                used = item.usedGpuMemory
                used = None if used is None or used == BLANK_UNSIGNED else float(used)
                found[kind, int(item.pid), instance] = Process(int(item.pid), kind, used, instance)
        duties = self._duties(handle, note, off) if found else {}
        pids = {pid for _, pid, _ in found}
        self._names = {pid: name for pid, name in self._names.items() if pid in pids}
        chosen = sorted(found.values(), key=lambda one: (one.kind, -(one.memory_bytes or 0.0), one.pid))
        self._kept = tuple(self._told(item, duties) for item in chosen[:MOST_PROCESSES])
        return self._kept

    def _told(self, one: Process, duties: dict[int, float]) -> Process:
        pid = one.pid
        return one._replace(duty_ratio=duties.get(pid), name=self._name(pid), pod_uid=self._pod_of(pid))

    def _duties(self, handle: Any, note: Failing, off: dict[str, Failure]) -> dict[int, float]:
        """Share of the multiprocessors by pid, newest sample; not-found: there is none since then."""
        if "process duty" in off:
            return {}
        try:
            samples = self._nvml.call("nvmlDeviceGetProcessUtilization", handle, self._newest_microseconds)
        except CallFailed as problem:
            if problem.error != "not-found":
                note("process duty", problem)
            return {}
        newest: dict[int, tuple[int, float]] = {}
        for sample in samples:
            stamp, pid = int(sample.timeStamp), int(sample.pid)
            if stamp and sample.smUtil <= 100 and stamp >= newest.get(pid, (0, 0.0))[0]:
                newest[pid] = (stamp, sample.smUtil / 100)
        self._newest_microseconds = max([self._newest_microseconds, *(stamp for stamp, _ in newest.values())])
        return {pid: duty for pid, (_, duty) in newest.items()}

    def _name(self, pid: int) -> str:
        if pid not in self._names:
            try:
                whole = text(self._nvml.call("nvmlSystemGetProcessName", pid))
            except CallFailed:
                whole = ""  # of another process namespace, or gone
            self._names[pid] = whole.rsplit("/", 1)[-1][:64]
        return self._names[pid]
