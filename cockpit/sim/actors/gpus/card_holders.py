"""Who held which card from when to when: noted from the kubelets' table, kept for a while after it ended."""

import math
from collections.abc import Sequence
from typing import Protocol

import msgspec

from cockpit.sim.actors.common.gpu_load import Load


class AllocatedDevices(Protocol):
    """Devices (ids as the pod-resources API spells them) that a kubelet gave to a container."""

    @property
    def namespace(self) -> str: ...
    @property
    def pod(self) -> str: ...
    @property
    def uid(self) -> str: ...
    @property
    def container(self) -> str: ...
    @property
    def device_ids(self) -> tuple[str, ...]: ...


class DeviceReader(Protocol):
    """The kubelets' table of devices."""

    def holders(self, node: str) -> Sequence[AllocatedDevices]: ...


class Tenure(msgspec.Struct, gc=False):
    """A container and its devices (uuids, one for each share). `load` None: it does not run yet; else it
    counts from `busy_seconds` on."""

    held: AllocatedDevices
    devices: tuple[str, ...]
    from_seconds: float
    load: Load | None = None
    busy_seconds: float = math.inf
    until_seconds: float = math.inf

    def load_at(self, at_seconds: float) -> Load | None:
        """What it does to its devices at a time."""
        return self.load if self.busy_seconds <= at_seconds < self.until_seconds else None


class CardHolders:
    """Holders of every node, by what `table` says now and what it said before."""

    def __init__(self, table: DeviceReader, keeps_seconds: float) -> None:
        self._table = table
        self._keeps_seconds = keeps_seconds
        self._loads: dict[str, tuple[Load, float]] = {}
        self._tenures: dict[str, list[Tenure]] = {}
        self._noted: dict[str, list[Tenure]] = {}

    # ---- what happens

    def begin(self, uid: str, load: Load, busy_seconds: float) -> None:
        """A pod runs."""
        self._loads[uid] = (load, busy_seconds)
        for tenure in self._noted.get(uid, ()):
            tenure.load, tenure.busy_seconds = load, busy_seconds

    def end(self, uid: str, at_seconds: float) -> None:
        """A pod has ended."""
        self._loads.pop(uid, None)
        for tenure in self._noted.pop(uid, ()):
            tenure.until_seconds = at_seconds

    def forget(self, node: str) -> None:
        """A node is gone."""
        for tenure in self._tenures.pop(node, ()):
            self._noted.pop(tenure.held.uid, None)

    def note(self, node: str, at_seconds: float) -> None:
        """Take what the table says of a node by now."""
        for held in self._table.holders(node):
            known = self._noted.get(held.uid, ())
            if any(one.held == held for one in known):
                continue
            load, busy_seconds = self._loads.get(held.uid, (None, math.inf))
            devices = tuple(device.partition("::")[0] for device in held.device_ids)
            tenure = Tenure(held, devices, min(at_seconds, busy_seconds), load, busy_seconds)
            self._noted.setdefault(held.uid, []).append(tenure)
            kept = self._tenures.get(node, ())
            oldest = at_seconds - self._keeps_seconds
            self._tenures[node] = [*(one for one in kept if one.until_seconds > oldest), tenure]

    # ---- asking

    def has_load(self, uid: str) -> bool:
        """Whether the pod is known to run."""
        return uid in self._loads

    def is_noted(self, uid: str) -> bool:
        """Whether the devices of a pod that runs are known."""
        return uid in self._noted and uid in self._loads

    def tenures(self, node: str) -> Sequence[Tenure]:
        """All that are kept, in the order in which they began."""
        return self._tenures.get(node, ())

    def by_device_at(self, node: str, at_seconds: float) -> dict[str, list[Tenure]]:
        """Who held each device at a time."""
        found: dict[str, list[Tenure]] = {}
        for one in self.tenures(node):
            if one.from_seconds <= at_seconds < one.until_seconds:
                for device in one.devices:
                    found.setdefault(device, []).append(one)
        return found
