"""One card in one round: who it is, its values, its MIG instances and its processes."""

import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from cockpit_exporter.driver import CARD_IS_GONE, DRIVER_IS_GONE, OFF_FOR_GOOD, CallFailed, Nvml, text
from cockpit_exporter.gpm import Gpm
from cockpit_exporter.model import Card, Device, Failure, Instance, Process, Value
from cockpit_exporter.processes import Processes
from cockpit_exporter.reads import READS, Rate, Read, memory

_PROFILE = re.compile(r"\bMIG ((?:\d+c\.)?\d+g\.\d+gb\S*)")


class InstanceHandle(NamedTuple):
    """An instance and the driver's handle for it, good for this round only."""

    handle: Any
    uuid: str
    gpu_instance: int
    compute_instance: int
    profile: str


def instances_of(nvml: Nvml, card: Any) -> list[InstanceHandle]:
    """The instances of a card in MIG mode, by slot. Empty slots say not-found and are passed over; so is an
    instance that goes while it is looked at."""
    found: list[InstanceHandle] = []
    for slot in range(nvml.call("nvmlDeviceGetMaxMigDeviceCount", card)):
        try:
            handle = nvml.call("nvmlDeviceGetMigDeviceHandleByIndex", card, slot)
            found.append(
                InstanceHandle(
                    handle,
                    text(nvml.call("nvmlDeviceGetUUID", handle)),
                    nvml.call("nvmlDeviceGetGpuInstanceId", handle),
                    nvml.call("nvmlDeviceGetComputeInstanceId", handle),
                    _profile(nvml, handle),
                )
            )
        except CallFailed as problem:
            if problem.error not in ("not-found", "invalid-argument"):
                raise
    return found


def _profile(nvml: Nvml, handle: Any) -> str:
    """1g.10gb, 1c.3g.20gb: from the instance's name, else from its slices and memory; "" if neither tells."""
    try:
        match = _PROFILE.search(text(nvml.call("nvmlDeviceGetName", handle)))
        if match:
            return match[1]
        found = nvml.call("nvmlDeviceGetAttributes_v2", handle)
    except CallFailed as problem:
        if problem.error in ("not-supported", "function-not-found"):
            return ""
        raise
    whole, part = found.gpuInstanceSliceCount, found.computeInstanceSliceCount
    shares = f"{part}c." if part and part < whole else ""
    return f"{shares}{whole}g.{round(found.memorySizeMB / 1024)}gb"


IDENTITY_SECONDS = 600.0

_QUIET = frozenset({"not-supported", "function-not-found", "deprecated"})
"""A chip or driver that lacks a thing has not failed: nothing is shown for it."""


class _State:
    """What is remembered of a card between rounds. Its lock is held while a thread reads the card."""

    def __init__(self, nvml: Nvml, pod_of: Callable[[int], str]) -> None:
        self.lock = threading.Lock()
        self.device: Device | None = None
        self.identity_due = 0.0
        self.mig_mode = ""
        self.off: dict[str, Failure] = {}
        self.slow: dict[str, tuple[float, tuple[Value, ...]]] = {}
        self.gpm = Gpm(nvml)
        self.processes = Processes(nvml, pod_of)


class CardReader:
    """Reads cards by index and remembers by UUID. Different cards may be read by different threads."""

    def __init__(self, nvml: Nvml, pod_of: Callable[[int], str], clock: Callable[[], float]) -> None:
        self._nvml = nvml
        self._pod_of = pod_of
        self._clock = clock
        self._states: dict[str, _State] = {}

    def read(self, index: int) -> Card:
        """The card at this index. A lost card is told as down; raises CallFailed where it cannot even be
        asked who it is, or where the driver itself is gone."""
        handle = self._nvml.call("nvmlDeviceGetHandleByIndex", index)
        uuid = text(self._nvml.call("nvmlDeviceGetUUID", handle))
        state = self._states.get(uuid)
        if state is None:
            state = self._states[uuid] = _State(self._nvml, self._pod_of)
        if not state.lock.acquire(blocking=False):
            return Card(state.device or Device(uuid, index), self._clock(), down="hung")
        try:
            return self._read(state, handle, uuid, index)
        finally:
            state.lock.release()

    def expect_identity(self, uuid: str) -> None:
        """Read the card's identity again in the next round (after an XID)."""
        state = self._states.get(uuid)
        if state is not None:
            state.identity_due = 0.0

    def _read(self, state: _State, handle: Any, uuid: str, index: int) -> Card:
        now = self._clock()
        failures: list[Failure] = []
        device = state.device = self._identity(state, handle, uuid, index, now)
        try:
            self._note_mig(state, handle, failures)
            values = [
                item
                for read in self._wanted(state)
                for item in self._group(state, read, handle, now, failures)
            ]
            gpm = self._gpm(state, handle, None, failures)
            instances = self._instances(state, handle, failures) if state.mig_mode == "enabled" else ()
            processes = self._processes(state, handle, now, failures)
        except CallFailed as problem:
            if problem.error not in CARD_IS_GONE:
                raise
            return Card(device, now, down=problem.error, is_lost=True, mig_mode=state.mig_mode)
        state.gpm.keep(frozenset(instance.gpu_instance for instance in instances) | {None})
        return Card(
            device,
            now,
            mig_mode=state.mig_mode,
            values=(*values, *gpm),
            instances=instances,
            processes=processes,
            failures=tuple(failures),
        )

    def _identity(self, state: _State, handle: Any, uuid: str, index: int, now: float) -> Device:
        if state.device is not None and now < state.identity_due:
            return replace(state.device, index=index)
        state.identity_due = now + IDENTITY_SECONDS
        pci = self._told("nvmlDeviceGetPciInfo", handle)
        minor = self._told("nvmlDeviceGetMinorNumber", handle)
        return Device(
            uuid=uuid,
            index=index,
            minor=minor if isinstance(minor, int) else None,
            model=text(self._told("nvmlDeviceGetName", handle) or b""),
            serial=text(self._told("nvmlDeviceGetSerial", handle) or b""),
            pci_bus_id=text(pci.busId if pci is not None else b""),
        )

    def _told(self, function: str, handle: Any) -> Any:
        try:
            return self._nvml.call(function, handle)
        except CallFailed as problem:
            if problem.error in DRIVER_IS_GONE:
                raise
            return None

    def _note_mig(self, state: _State, handle: Any, failures: list[Failure]) -> None:
        """Which mode the card is in. A change makes other calls possible: what was off is tried again."""
        if "mig" in state.off:
            return
        try:
            mode = "enabled" if self._nvml.call("nvmlDeviceGetMigMode", handle)[0] else "disabled"
        except CallFailed as problem:
            self._note(state, "mig", problem, failures)
            mode = ""
        if mode != state.mig_mode and state.mig_mode:
            state.off.clear()
            state.slow.clear()
        state.mig_mode = mode

    def _wanted(self, state: _State) -> Iterator[Read]:
        for read in READS:
            if read.name == "pcie traffic" and not state.off.keys() & {"gpm", "gpm card"}:
                continue  # GPM tells it without blocking
            yield read

    def _group(
        self, state: _State, read: Read, handle: Any, now: float, failures: list[Failure]
    ) -> tuple[Value, ...]:
        off = state.off.get(read.name)
        if off is not None:
            if off.error not in _QUIET:
                failures.append(off)
            return ()
        if read.rate is not Rate.FAST:
            due, kept = state.slow.get(read.name, (0.0, ()))
            if now < due:
                return kept
        values: tuple[Value, ...] = ()
        try:
            values = tuple(read.run(self._nvml, handle))
        except CallFailed as problem:
            self._note(state, read.name, problem, failures)
        if read.rate is not Rate.FAST:
            state.slow[read.name] = (now + read.rate.value, values)
        return values

    def _note(self, state: _State, name: str, problem: CallFailed, failures: list[Failure]) -> None:
        """A failure as data, or raised where it concerns the card or the driver as a whole."""
        if problem.error in CARD_IS_GONE or problem.error in DRIVER_IS_GONE:
            raise problem
        failure = Failure(problem.function, problem.error)
        if problem.error in OFF_FOR_GOOD:
            state.off[name] = failure
        if problem.error not in _QUIET:
            failures.append(failure)

    def _gpm(
        self, state: _State, handle: Any, instance: int | None, failures: list[Failure]
    ) -> tuple[Value, ...]:
        name = "gpm card" if instance is None else "gpm mig"
        if "gpm" in state.off or name in state.off:
            return ()
        try:
            if instance is None and not state.gpm.is_supported(handle):
                state.off["gpm"] = Failure("nvmlGpmQueryDeviceSupport", "not-supported")
                return ()
            return tuple(state.gpm.values(handle, instance))
        except CallFailed as problem:
            is_whole = problem.function in ("nvmlGpmQueryDeviceSupport", "nvmlGpmSampleAlloc")
            self._note(state, "gpm" if is_whole else name, problem, failures)
            return ()

    def _instances(self, state: _State, handle: Any, failures: list[Failure]) -> tuple[Instance, ...]:
        try:
            found = instances_of(self._nvml, handle)
        except CallFailed as problem:
            self._note(state, "instances", problem, failures)
            return ()
        ratios: dict[int, tuple[Value, ...]] = {}
        for item in found:
            if item.gpu_instance not in ratios:
                ratios[item.gpu_instance] = self._gpm(state, handle, item.gpu_instance, failures)
        return tuple(self._instance(state, item, ratios[item.gpu_instance], failures) for item in found)

    def _instance(
        self, state: _State, one: InstanceHandle, ratios: tuple[Value, ...], failures: list[Failure]
    ) -> Instance:
        values: tuple[Value, ...] = ()
        if "mig memory" not in state.off:
            try:
                values = tuple(memory(self._nvml, one.handle))
            except CallFailed as problem:
                self._note(state, "mig memory", problem, failures)
        return Instance(one.uuid, one.gpu_instance, one.compute_instance, one.profile, (*values, *ratios))

    def _processes(
        self, state: _State, handle: Any, now: float, failures: list[Failure]
    ) -> tuple[Process, ...]:
        return state.processes.read(
            handle, now, lambda name, problem: self._note(state, name, problem, failures), state.off
        )
