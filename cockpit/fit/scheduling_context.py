"""What is not in the store and is asked for only when a fit depends on it: claims, volumes, budgets."""

from collections.abc import Mapping
from typing import Any

import msgspec

from cockpit.k8s import labels
from cockpit.k8s.node_affinity import node_terms_of
from cockpit.k8s.quantity import amounts_of
from cockpit.k8s.selectors import selector_of
from cockpit.model.record import Labels
from cockpit.model.scheduling import NodeTerm, Selector

ZONE_LABELS = (
    labels.OLD_ZONE,
    labels.OLD_REGION,
    labels.ZONE,
    labels.REGION,
)
NO_PROVISIONER = "kubernetes.io/no-provisioner"

Tree = Mapping[str, Any]


class Claim(msgspec.Struct, frozen=True):
    """A PersistentVolumeClaim."""

    name: str
    volume: str = ""  # name of its volume, "" until it has one
    is_bound: bool = False
    is_lost: bool = False
    is_leaving: bool = False
    modes: tuple[str, ...] = ()
    storage_class: str = ""
    size_bytes: int = 0
    selector: Selector = ()
    selected_node: str = ""  # where a provisioner is already at work


class Volume(msgspec.Struct, frozen=True):
    """A PersistentVolume."""

    name: str
    zones: Labels = ()  # its zone and region labels; several values are joined by __
    node_terms: tuple[NodeTerm, ...] | None = None
    storage_class: str = ""
    size_bytes: int = 0
    modes: tuple[str, ...] = ()
    labels: Labels = ()
    is_free: bool = False
    reserved_for: str = ""  # `namespace/name` of the claim that it is kept for
    driver: str = ""  # the CSI driver that attaches it, "" for none


class StorageClass(msgspec.Struct, frozen=True):
    """How claims of the class get a volume."""

    name: str
    waits: bool = False  # WaitForFirstConsumer
    provisions: bool = False
    topologies: tuple[tuple[tuple[str, tuple[str, ...]], ...], ...] = ()  # any of them: (key, values) all


class Budget(msgspec.Struct, frozen=True):
    """A PodDisruptionBudget: whom it protects, and how many may go now."""

    namespace: str
    name: str
    selector: Selector
    allowed: int = 0
    expected: int = 0  # pods that it counts
    takes_unready: bool = False  # it allows the eviction of pods that are not Ready at any budget


class Surroundings(msgspec.Struct, frozen=True):
    """None: not read, or not allowed to be read. Claims are those of the gang's namespace, by name."""

    claims: Mapping[str, Claim] | None = None
    volumes: Mapping[str, Volume] | None = None
    classes: Mapping[str, StorageClass] | None = None
    budgets: tuple[Budget, ...] | None = None
    namespaces: Mapping[str, Mapping[str, str]] | None = None
    priorities: Mapping[str, int] | None = None  # by PriorityClass; "" is the cluster's default
    attach_limits: Mapping[str, Mapping[str, int]] | None = None  # of a node, by CSI driver
    never_preempting: frozenset[str] = frozenset()  # PriorityClasses whose pods never preempt; "" as above


UNKNOWN = Surroundings()


def claim_of(tree: Tree) -> Claim:
    """From the object as the API server writes it."""
    meta, spec = tree["metadata"], tree.get("spec") or {}
    marks = meta.get("annotations") or {}
    legacy = marks.get("volume.beta.kubernetes.io/storage-class")
    selector = spec.get("selector")
    return Claim(
        name=meta["name"],
        volume=spec.get("volumeName") or "",
        is_bound=bool(spec.get("volumeName")) and "pv.kubernetes.io/bind-completed" in marks,
        is_lost=(tree.get("status") or {}).get("phase") == "Lost",
        is_leaving=bool(meta.get("deletionTimestamp")),
        modes=tuple(spec.get("accessModes") or ()),
        storage_class=legacy if legacy is not None else spec.get("storageClassName") or "",
        size_bytes=amounts_of((spec.get("resources") or {}).get("requests")).get("storage", 0),
        selector=() if selector is None else selector_of(selector),
        selected_node=marks.get("volume.kubernetes.io/selected-node") or "",
    )


def volume_of(tree: Tree) -> Volume:
    """From the object as the API server writes it."""
    meta, spec = tree["metadata"], tree.get("spec") or {}
    labels = meta.get("labels") or {}
    required = (spec.get("nodeAffinity") or {}).get("required")
    held = spec.get("claimRef") or {}
    return Volume(
        name=meta["name"],
        zones=tuple((key, labels[key]) for key in ZONE_LABELS if key in labels),
        node_terms=None if required is None else node_terms_of(required),
        storage_class=spec.get("storageClassName") or "",
        size_bytes=amounts_of(spec.get("capacity")).get("storage", 0),
        modes=tuple(spec.get("accessModes") or ()),
        labels=tuple(sorted(labels.items())),
        is_free=(tree.get("status") or {}).get("phase") == "Available" and not meta.get("deletionTimestamp"),
        reserved_for=f"{held.get('namespace')}/{held.get('name')}" if held else "",
        driver=(spec.get("csi") or {}).get("driver") or "",
    )


def attach_limits_of(tree: Tree) -> tuple[str, Mapping[str, int]]:
    """Of a CSINode: the node, and how many volumes of a driver it may have; a driver without a number has no
    limit."""
    drivers = (tree.get("spec") or {}).get("drivers") or ()
    counts = {one["name"]: (one.get("allocatable") or {}).get("count") for one in drivers}
    return tree["metadata"]["name"], {name: int(count) for name, count in counts.items() if count is not None}


def storage_class_of(tree: Tree) -> StorageClass:
    """From the object as the API server writes it."""
    terms = tree.get("allowedTopologies") or ()
    return StorageClass(
        name=tree["metadata"]["name"],
        waits=tree.get("volumeBindingMode") == "WaitForFirstConsumer",
        provisions=(tree.get("provisioner") or NO_PROVISIONER) != NO_PROVISIONER,
        topologies=tuple(
            tuple(
                (item["key"], tuple(item.get("values") or ()))
                for item in term.get("matchLabelExpressions") or ()
            )
            for term in terms
        ),
    )


def budget_of(tree: Tree) -> Budget:
    """From the object as the API server writes it."""
    meta = tree["metadata"]
    return Budget(
        namespace=meta["namespace"],
        name=meta["name"],
        selector=selector_of((tree.get("spec") or {}).get("selector")),
        allowed=int((tree.get("status") or {}).get("disruptionsAllowed") or 0),
        expected=int((tree.get("status") or {}).get("expectedPods") or 0),
        takes_unready=(tree.get("spec") or {}).get("unhealthyPodEvictionPolicy") == "AlwaysAllow",
    )
