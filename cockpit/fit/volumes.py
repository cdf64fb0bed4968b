"""What the claims of a member ask of a node: VolumeRestrictions, VolumeBinding and VolumeZone.

Also NodeVolumeLimits, for volumes that have their claim. Not looked at, because the objects are read by
nobody here: storage capacities (CSIStorageCapacity). A claim that several members share and that has no
volume yet binds with the first member; the others then follow it, which is not foreseen here.
"""

from collections.abc import Iterator, Mapping
from functools import cached_property

from cockpit.fit.scheduling_context import ZONE_LABELS, Claim, StorageClass, Volume
from cockpit.fit.shape import Shape
from cockpit.fit.snapshot import ClusterSnapshot
from cockpit.k8s.node_affinity import NodeTerms
from cockpit.k8s.selectors import selects
from cockpit.model.node import Node

_GA_LABEL = {ZONE_LABELS[0]: ZONE_LABELS[2], ZONE_LABELS[1]: ZONE_LABELS[3]}


class VolumeNeeds:
    """The claims of one shape, looked up once."""

    def __init__(self, snapshot: ClusterSnapshot, shape: Shape) -> None:
        self._snapshot = snapshot
        self._space = shape.namespace
        self._claims: Mapping[str, Claim] = snapshot.around.claims or {}
        self._volumes: Mapping[str, Volume] = snapshot.around.volumes or {}
        self._classes: Mapping[str, StorageClass] = snapshot.around.classes or {}
        self._everywhere: list[str] = []
        self._bound: list[tuple[Claim, Volume]] = []
        self._waiting: list[Claim] = []
        self.is_for_one_pod = False
        """One of the claims may be used by a single pod only (ReadWriteOncePod)."""
        for name in shape.claims:
            words = self._sort(name)
            if words:
                self._everywhere.append(words)
        self._waiting.sort(key=lambda one: one.size_bytes)

    def _sort(self, name: str) -> str:
        """Where the claim belongs; words when no node can have it."""
        claim = self._claims.get(name)
        if claim is None:
            return f"there is no claim {name}"
        if claim.is_leaving:
            return f"claim {name} is being deleted"
        if claim.is_lost:
            return f"claim {name} lost its volume"
        if "ReadWriteOncePod" in claim.modes:
            self.is_for_one_pod = True
            if self._snapshot.claim_users(self._space, name):
                return f"claim {name} is for one pod and already in use"
        if claim.is_bound:
            volume = self._volumes.get(claim.volume)
            if volume is None:
                return f"claim {name} is bound to volume {claim.volume}, which is not there"
            self._bound.append((claim, volume))
            return ""
        made_for = self._classes.get(claim.storage_class)
        if made_for is None or not made_for.waits or claim.volume:
            return f"claim {name} has no volume yet"
        self._waiting.append(claim)
        return ""

    def obstacles(self, node: Node) -> Iterator[str]:
        """Why the node cannot have the volumes; nothing when it can."""
        yield from self._everywhere
        labels = self._snapshot.labels(node.name)
        for claim, volume in self._bound:
            if not _reaches(volume, node, labels):
                yield f"claim {claim.name} lies elsewhere"
            elif not _in_zone(volume, labels):
                yield f"claim {claim.name} lies in {', '.join(value for _, value in volume.zones)}"
        if self._waiting and not self._finds(node, labels):
            yield f"claim {self._waiting[0].name} finds no volume there"

    def beyond_limits(self, node: Node) -> Iterator[str]:
        """Drivers of which the node has as many volumes attached as it may: one more is too many."""
        limits = (self._snapshot.around.attach_limits or {}).get(node.name)
        if not limits:
            return
        attached = self._attached.get(node.name, set())
        own = {volume.name: volume.driver for _, volume in self._bound if volume.name not in attached}
        for driver in sorted({*own.values()} & limits.keys()):
            held = sum(1 for name in attached if self._volumes[name].driver == driver)
            if held + sum(1 for one in own.values() if one == driver) > limits[driver]:
                yield driver

    @cached_property
    def _attached(self) -> Mapping[str, set[str]]:
        """Volumes that pods use, by node."""
        of_claim = {one.reserved_for: one.name for one in self._volumes.values() if one.driver}
        found: dict[str, set[str]] = {}
        for space, node, claims in self._snapshot.claims_used():
            names = {name for claim in claims if (name := of_claim.get(f"{space}/{claim}"))}
            found.setdefault(node, set()).update(names)
        return found

    def _finds(self, node: Node, labels: Mapping[str, str]) -> bool:
        taken: set[str] = set()
        for claim in self._waiting:
            if claim.selected_node:
                if claim.selected_node != node.name:
                    return False
                continue
            fitting = [
                volume
                for volume in self._volumes.values()
                if volume.name not in taken and self._suits(volume, claim) and _reaches(volume, node, labels)
            ]
            if fitting:
                taken.add(min(fitting, key=lambda one: (one.size_bytes, one.name)).name)
            elif not _provisions(self._classes.get(claim.storage_class), labels):
                return False
        return True

    def _suits(self, volume: Volume, claim: Claim) -> bool:
        if volume.size_bytes < claim.size_bytes:
            return False
        if volume.reserved_for:
            return volume.reserved_for == f"{self._space}/{claim.name}"
        return (
            volume.is_free
            and volume.storage_class == claim.storage_class
            and set(claim.modes) <= set(volume.modes)
            and selects(claim.selector, dict(volume.labels))
        )


def has_volume(volume: Volume, node: Node, labels: Mapping[str, str]) -> bool:
    """Whether a bound volume can be used on the node: its node affinity and its zone."""
    return _reaches(volume, node, labels) and _in_zone(volume, labels)


def _reaches(volume: Volume, node: Node, labels: Mapping[str, str]) -> bool:
    return volume.node_terms is None or NodeTerms(volume.node_terms).matches(node.name, labels)


def _in_zone(volume: Volume, labels: Mapping[str, str]) -> bool:
    """A node without any zone label takes every volume, as the scheduler's plugin has it."""
    if not volume.zones or not any(key in labels for key in ZONE_LABELS):
        return True
    return all(
        labels.get(key, labels.get(_GA_LABEL.get(key, key))) in value.split("__")
        for key, value in volume.zones
    )


def _provisions(held: StorageClass | None, labels: Mapping[str, str]) -> bool:
    if held is None or not held.provisions:
        return False
    return not held.topologies or any(
        all(labels.get(key) in values for key, values in term) for term in held.topologies
    )
