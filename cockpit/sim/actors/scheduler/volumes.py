"""Claims and volumes: VolumeRestrictions, VolumeBinding and VolumeZone of kube-scheduler 1.36.

Attach limits (CSINode) and storage capacities (CSIStorageCapacity) are not modelled: without those objects
the real plugins let every node pass, too.
"""

from collections.abc import Iterator, Mapping

from cockpit.k8s.node_affinity import NodeTerms, node_terms_of
from cockpit.k8s.quantity import amounts_of
from cockpit.k8s.selectors import selector_of, selects
from cockpit.kube.resource import Resource
from cockpit.sim.actors.scheduler.cache import SchedulerCache
from cockpit.sim.actors.scheduler.nodeinfo import NodeInfo
from cockpit.sim.actors.scheduler.podinfo import PodInfo
from cockpit.sim.actors.scheduler.verdict import Status, unresolvable, unschedulable
from cockpit.sim.port import Tree
from cockpit.sim.resources import PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES

SELECTED_NODE = "volume.kubernetes.io/selected-node"
_NO_PROVISIONER = "kubernetes.io/no-provisioner"
_ZONE_LABELS = (
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
)
_GA_LABEL = {_ZONE_LABELS[0]: _ZONE_LABELS[2], _ZONE_LABELS[1]: _ZONE_LABELS[3]}

_ONE_POD = unschedulable(
    "VolumeRestrictions",
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode "
    "already in-use by another pod",
)
_OTHER_ZONE = unresolvable("VolumeZone", "node(s) had no available volume zone")
_OTHER_NODE = "node(s) didn't match PersistentVolume's node affinity"
_NONE_TO_BIND = "node(s) didn't find available persistent volumes to bind"
_NO_VOLUME = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"


class PodVolumes:
    """What the claims of one pod ask of a node; made once per attempt."""

    def __init__(self, cache: SchedulerCache, pod: PodInfo) -> None:
        self.cache = cache
        self.refusal: Status | None = None
        self.bound: list[Tree] = []
        self.unbound: list[Tree] = []
        self.zones: list[tuple[str, frozenset[str]]] = []
        self.only_user: set[str] = set()
        self.conflicts = 0
        if pod.claims:
            self.refusal = self._restrictions(pod) or self._binding(pod) or self._zone(pod)

    @property
    def is_empty(self) -> bool:
        """True when nothing here can refuse a node."""
        return not (self.bound or self.unbound or self.zones or self.conflicts)

    def _restrictions(self, pod: PodInfo) -> Status | None:
        for name, is_own in pod.claims:
            if is_own:
                continue
            claim = self.cache.claims.get((pod.namespace, name))
            if claim is None:
                return unresolvable("VolumeRestrictions", f'persistentvolumeclaim "{name}" not found')
            if "ReadWriteOncePod" in (claim["spec"].get("accessModes") or ()):
                self.only_user.add(name)
                self.conflicts += self.cache.claim_users[(pod.namespace, name)] > 0
        return None

    def _binding(self, pod: PodInfo) -> Status | None:
        plugin = "VolumeBinding"
        immediate = False
        for name, is_own in pod.claims:
            claim = self.cache.claims.get((pod.namespace, name))
            if claim is None:
                waits = "waiting for ephemeral volume controller to create the persistentvolumeclaim"
                return unresolvable(plugin, f'{waits} "{name}"' if is_own else _not_found(name))
            spec = claim["spec"]
            if (claim.get("status") or {}).get("phase") == "Lost":
                volume = spec.get("volumeName", "")
                text = f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume "{volume}"'
                return unresolvable(plugin, text)
            if claim["metadata"].get("deletionTimestamp"):
                return unresolvable(plugin, f'persistentvolumeclaim "{name}" is being deleted')
            if is_own and not _is_made_for(pod, claim):
                space = pod.namespace
                text = f"PVC {space}/{name} was not created for pod {space}/{pod.name} (pod is not owner)"
                return unresolvable(plugin, text)
            if _is_bound(claim):
                self.bound.append(claim)
            elif self._waits_for_pod(claim) and not spec.get("volumeName"):
                self.unbound.append(claim)
            else:
                immediate = True
        if immediate:
            return unresolvable(plugin, "pod has unbound immediate PersistentVolumeClaims")
        self.unbound.sort(key=_size)
        return None

    def _waits_for_pod(self, claim: Tree) -> bool:
        held = self.cache.classes.get(_class_of(claim))
        return held is not None and held.get("volumeBindingMode") == "WaitForFirstConsumer"

    def _zone(self, pod: PodInfo) -> Status | None:
        for name, is_own in pod.claims:
            claim = self.cache.claims.get((pod.namespace, name))
            if is_own or claim is None or not (volume_name := claim["spec"].get("volumeName")):
                continue
            volume = self.cache.volumes.get(volume_name)
            if volume is None:
                return unresolvable("VolumeZone", f'persistentvolume "{volume_name}" not found')
            labels = volume["metadata"].get("labels") or {}
            for key in _ZONE_LABELS:
                if key in labels:
                    self.zones.append((key, frozenset(labels[key].split("__"))))
        return None

    def copy(self) -> "PodVolumes":
        """The same for a trial."""
        other: PodVolumes = object.__new__(PodVolumes)
        other.__dict__.update(self.__dict__)
        return other

    def count(self, pod: PodInfo, by: int) -> None:
        """A trial adds (1) or removes (-1) a pod that may use the same claim."""
        self.conflicts += by * sum(name in self.only_user for name, is_own in pod.claims if not is_own)

    def look(self, node: NodeInfo) -> Status | None:
        """Whether `node` can have the volumes."""
        if self.conflicts > 0:
            return _ONE_POD
        if (self.bound or self.unbound) and (status := self._look_bound(node)):
            return status
        if self.zones and any(key in node.labels for key in _ZONE_LABELS):
            for key, values in self.zones:
                held = node.labels.get(key, node.labels.get(_GA_LABEL.get(key, key)))
                if held not in values:
                    return _OTHER_ZONE
        return None

    def _look_bound(self, node: NodeInfo) -> Status | None:
        reasons: list[str] = []
        for claim in self.bound:
            volume = self.cache.volumes.get(claim["spec"].get("volumeName", ""))
            if volume is None:
                reasons.append(_NO_VOLUME)
                break
            if not _reaches(volume, node):
                reasons.append(_OTHER_NODE)
                break
        if self.unbound and not self._finds(node):
            reasons.insert(1 if _OTHER_NODE in reasons else 0, _NONE_TO_BIND)
        return unresolvable("VolumeBinding", *reasons) if reasons else None

    def _finds(self, node: NodeInfo) -> bool:
        chosen: set[str] = set()
        for claim in self.unbound:
            selected = (claim["metadata"].get("annotations") or {}).get(SELECTED_NODE)
            if selected is not None and selected != node.name:
                return False
            volume = None if selected is not None else self._smallest(claim, node, chosen)
            if volume is not None:
                chosen.add(volume["metadata"]["name"])
            elif not self._provisions(claim, node):
                return False
        return True

    def bindings(self, node: NodeInfo) -> Iterator[tuple[Resource, str, str, Tree]]:
        """Patches that tell volume controllers what `node` means for the unbound claims."""
        chosen: set[str] = set()
        for claim in self.unbound:
            metadata = claim["metadata"]
            marks = metadata.get("annotations") or {}
            volume = None if SELECTED_NODE in marks else self._smallest(claim, node, chosen)
            if volume is None:
                patch: Tree = {"metadata": {"annotations": {SELECTED_NODE: node.name}}}
                yield PERSISTENT_VOLUME_CLAIMS, metadata["namespace"], metadata["name"], patch
                continue
            chosen.add(volume["metadata"]["name"])
            reference = {"kind": "PersistentVolumeClaim", "apiVersion": "v1"}
            for key in ("namespace", "name", "uid"):
                reference[key] = metadata.get(key, "")
            yield PERSISTENT_VOLUMES, "", volume["metadata"]["name"], {"spec": {"claimRef": reference}}

    def _smallest(self, claim: Tree, node: NodeInfo, chosen: set[str]) -> Tree | None:
        fitting = [
            volume
            for name, volume in self.cache.volumes.items()
            if name not in chosen and _suits(volume, claim) and _reaches(volume, node)
        ]
        return min(fitting, key=_capacity, default=None)

    def _provisions(self, claim: Tree, node: NodeInfo) -> bool:
        held = self.cache.classes.get(_class_of(claim))
        if held is None or held.get("provisioner") in (None, "", _NO_PROVISIONER):
            return False
        terms = held.get("allowedTopologies") or ()
        return not terms or any(_in_topology(term, node.labels) for term in terms)


def _not_found(name: str) -> str:
    return f'persistentvolumeclaim "{name}" not found'


def _is_made_for(pod: PodInfo, claim: Tree) -> bool:
    return any(
        owner.get("controller") and owner.get("uid") == pod.uid
        for owner in claim["metadata"].get("ownerReferences") or ()
    )


def _is_bound(claim: Tree) -> bool:
    marks = claim["metadata"].get("annotations") or {}
    return bool(claim["spec"].get("volumeName")) and "pv.kubernetes.io/bind-completed" in marks


def _class_of(tree: Tree) -> str:
    marks = tree["metadata"].get("annotations") or {}
    legacy = marks.get("volume.beta.kubernetes.io/storage-class")
    return str(legacy if legacy is not None else tree["spec"].get("storageClassName") or "")


def _size(claim: Tree) -> int:
    return amounts_of((claim["spec"].get("resources") or {}).get("requests")).get("storage", 0)


def _capacity(volume: Tree) -> int:
    return amounts_of(volume["spec"].get("capacity")).get("storage", 0)


def _reaches(volume: Tree, node: NodeInfo) -> bool:
    required = (volume["spec"].get("nodeAffinity") or {}).get("required")
    if required is None:
        return True
    return NodeTerms(node_terms_of(required)).matches(node.name, node.labels)


def _suits(volume: Tree, claim: Tree) -> bool:
    """An available volume of the class, size, mode and access that the claim asks for."""
    spec, wanted = volume["spec"], claim["spec"]
    reference = spec.get("claimRef")
    if volume["metadata"].get("deletionTimestamp") or _capacity(volume) < _size(claim):
        return False
    if spec.get("volumeMode", "Filesystem") != wanted.get("volumeMode", "Filesystem"):
        return False
    if reference is not None:
        mine = claim["metadata"]
        same = reference.get("name") == mine["name"] and reference.get("namespace") == mine.get("namespace")
        return same and reference.get("uid", "") in ("", mine.get("uid", ""))
    selector = wanted.get("selector")
    labels: Mapping[str, str] = volume["metadata"].get("labels") or {}
    return (
        (volume.get("status") or {}).get("phase") == "Available"
        and (selector is None or selects(selector_of(selector), labels))
        and _class_of(volume) == _class_of(claim)
        and set(wanted.get("accessModes") or ()) <= set(spec.get("accessModes") or ())
    )


def _in_topology(term: Tree, labels: Mapping[str, str]) -> bool:
    return all(
        labels.get(each["key"]) in (each.get("values") or ())
        for each in term.get("matchLabelExpressions") or ()
    )
