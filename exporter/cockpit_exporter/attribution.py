"""Whose card it is: the kubelet's device ids, DRA devices and processes joined to cards and instances. Pure.

Order of precedence: the kubelet's device id, `nvidiaN`, a DRA device, processes through their cgroup. An id
that fits no card on this node is told as unmatched.

A DRA device is a name in a pool. Which card that is, its ResourceSlice proves (attribute `uuid`), or a CDI
name that is the card's UUID. The name alone (`gpu-3`) only says what the minor number was when NVIDIA's
driver published it; that is told as source `dra-name`, which is not sure.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from cockpit_exporter.model import Card, Instance

DRA_DRIVER = "gpu.nvidia.com"

_SOURCES = ("dra", "pod-resources", "dra-name", "process")
"""Where several tell the same holder, the first of these is named."""

Device = tuple[str, str, str]
"""Driver, pool and name of a DRA device."""

Unit = tuple[str, str]
"""The UUID of a card and of an instance on it, "" for the whole card."""


class Assignment(NamedTuple):
    """A device that a container holds: by `device_id`, or by a claim's (driver, pool, device)."""

    namespace: str
    pod: str
    container: str
    resource: str = ""
    device_id: str = ""
    claim: str = ""
    driver: str = ""
    pool: str = ""
    device: str = ""
    cdi: tuple[str, ...] = ()  # CDI names of the device


class Holder(NamedTuple):
    """A container on a card or instance. `source` says who told: pod-resources, dra, dra-name (by the name of
    the device alone, not sure) or process; processes tell the pod's UID and its name only where names are
    known. `replicas` counts shares of a shared card."""

    namespace: str
    pod: str
    container: str
    source: str
    pod_uid: str = ""
    claim: str = ""
    replicas: int = 0


@dataclass(frozen=True, slots=True)
class Joined:
    """Who holds what, and the ids that fit nothing here."""

    holders: Mapping[Unit, tuple[Holder, ...]] = field(default_factory=dict)
    unmatched: tuple[str, ...] = ()
    allocatable: frozenset[Unit] | None = None  # None where the kubelet does not tell


_REPLICA = re.compile(r"^(?P<id>.+)::(?P<replica>\d+)$")
_NUMBERED = re.compile(r"^nvidia(?P<minor>\d+)(?:/gi(?P<instance>\d+))?(?:/vgpu(?P<share>\d+))?$")
_DRA_NAME = re.compile(r"^gpu-(?P<minor>\d+)(?:-mig-(?P<profile>\d+g\.?\d+gb(?:\.me)?)(?:-.*)?)?$")


class _Place(NamedTuple):
    uuid: str
    minor: int | None
    instance: int | None
    is_share: bool


def parsed(device_id: str) -> _Place:
    """`GPU-..`, `MIG-..`, `nvidiaN`, `nvidiaN/giM`, `nvidiaN/vgpuK`, each with or without `::R`."""
    match = _REPLICA.match(device_id)
    is_share = match is not None
    plain = match["id"] if match else device_id
    numbered = _NUMBERED.match(plain)
    if numbered is None:
        return _Place(plain, None, None, is_share)
    instance = numbered["instance"]
    return _Place(
        "",
        int(numbered["minor"]),
        int(instance) if instance else None,
        is_share or numbered["share"] is not None,
    )


class _Units:
    """The cards and instances of a node, by everything that may name them."""

    def __init__(self, cards: Sequence[Card]) -> None:
        self.by_uuid: dict[str, Unit] = {}
        self.by_minor: dict[int, Card] = {}
        for card in cards:
            uuid = card.device.uuid
            if not uuid:
                continue
            self.by_uuid[uuid] = (uuid, "")
            if card.device.minor is not None:
                self.by_minor[card.device.minor] = card
            for instance in card.instances:
                self.by_uuid[instance.uuid] = (uuid, instance.uuid)

    def of_id(self, place: _Place) -> Unit | None:
        if place.minor is None:
            return self.by_uuid.get(place.uuid)
        card = self.by_minor.get(place.minor)
        if card is None or place.instance is None:
            return (card.device.uuid, "") if card is not None else None
        fits = [instance for instance in card.instances if instance.gpu_instance == place.instance]
        return (card.device.uuid, fits[0].uuid) if len(fits) == 1 else None

    def of_claim(self, one: Assignment, slices: Mapping[Device, str]) -> tuple[Unit | None, str]:
        """The card or instance and how it is known: by the slice's uuid attribute, by a CDI name, else by the
        name that NVIDIA's driver gives, and then an instance only where its card has a single one of the
        profile."""
        told = slices.get((one.driver, one.pool, one.device))
        if told is not None:
            return self.by_uuid.get(told), "dra"
        for name in one.cdi:
            unit = self.by_uuid.get(name.rpartition("=")[2])
            if unit is not None:
                return unit, "dra"
        return self._of_name(one), "dra-name"

    def _of_name(self, one: Assignment) -> Unit | None:
        match = _DRA_NAME.match(one.device) if one.driver == DRA_DRIVER else None
        card = self.by_minor.get(int(match["minor"])) if match else None
        if match is None or card is None:
            return None
        if match["profile"] is None:
            return (card.device.uuid, "")
        wanted = match["profile"].replace(".", "")
        fits: list[Instance] = [
            instance for instance in card.instances if instance.profile.replace(".", "") == wanted
        ]
        return (card.device.uuid, fits[0].uuid) if len(fits) == 1 else None


def join(
    cards: Sequence[Card],
    assignments: Iterable[Assignment],
    allocatable: Iterable[str] | None = None,
    *,
    slices: Mapping[Device, str] | None = None,
    names: Mapping[str, tuple[str, str]] | None = None,
    watched: Collection[tuple[str, str, Device]] = (),
) -> Joined:
    """Holders by card and instance. `slices` gives UUIDs of DRA devices, `names` a pod's (namespace, name) by
    its UID. Devices in `watched` are looked at, not held. The order of `cards` and `assignments` makes no
    difference."""
    units = _Units(cards)
    found: dict[Unit, dict[tuple[str, str, str], Holder]] = {}
    unmatched: set[str] = set()
    for item in assignments:
        place = parsed(item.device_id) if item.device_id else None
        if place is not None:
            unit, source = units.of_id(place), "pod-resources"
        elif (item.namespace, item.claim, (item.driver, item.pool, item.device)) in watched:
            continue
        else:
            unit, source = units.of_claim(item, slices or {})
        if unit is None:
            unmatched.add(item.device_id or f"{item.pool}/{item.device}")
            continue
        holders = found.setdefault(unit, {})
        key = (item.namespace, item.pod, item.container)
        old = holders.get(key, Holder(*key, source, claim=item.claim))
        share = 1 if place is not None and place.is_share else 0
        holders[key] = old._replace(
            source=min(old.source, source, key=_SOURCES.index),
            claim=max(old.claim, item.claim),
            replicas=old.replicas + share,
        )
    joined = {unit: tuple(holders[key] for key in sorted(holders)) for unit, holders in found.items()}
    for unit, by_process in _by_processes(cards, names or {}).items():
        joined.setdefault(unit, by_process)
    told = None
    if allocatable is not None:
        matched = (units.of_id(parsed(item)) for item in allocatable)
        told = frozenset(unit for unit in matched if unit is not None)
    return Joined(joined, tuple(sorted(unmatched)), told)


def _by_processes(
    cards: Sequence[Card], names: Mapping[str, tuple[str, str]]
) -> dict[Unit, tuple[Holder, ...]]:
    """Pods that have a process on the card or instance."""
    found: dict[Unit, set[str]] = {}
    for card in cards:
        first = {instance.gpu_instance: instance.uuid for instance in reversed(card.instances)}
        for process in card.processes:
            if not process.pod_uid or not card.device.uuid:
                continue
            instance = "" if process.instance is None else first.get(process.instance, "")
            if card.instances and not instance:
                continue  # which instance is not known
            found.setdefault((card.device.uuid, instance), set()).add(process.pod_uid)
    return {
        unit: tuple(Holder(*names.get(uid, ("", "")), "", "process", pod_uid=uid) for uid in sorted(uids))
        for unit, uids in found.items()
    }
