"""The pods that a manifest asks for: every pod template in its tree, and how many pods are made from each.

Any kind: a pod template is a mapping with a pod spec (`containers`) below it, wherever it stands. The number
is the product of the counts beside and above it (`replicas`, `parallelism` ...). A count that the manifest
does not say is None, and so is every sum that needs it: unknown is never zero.
"""

import math
import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any, Final

import msgspec

from cockpit.fit.shape import requests_of
from cockpit.k8s.gpu_resources import is_gpu_resource
from cockpit.k8s.json_values import mapping, mappings
from cockpit.k8s.quantity import parse_quantity

ONLY_ROLE: Final = "main"
"""Of the pods of an object that has one template, without a name."""
COUNTS: Final = ("replicas", "parallelism", "instances", "count")
_ONE_UNLESS_SAID: Final = frozenset(
    (
        *("Pod", "Job", "CronJob", "Deployment", "StatefulSet", "ReplicaSet", "ReplicationController"),
        *("JobSet", "LeaderWorkerSet", "Notebook", "RayCluster", "RayJob", "RayService"),
    )
)
"""Kinds whose controllers make one pod where no count is stated. A DaemonSet is not among them."""
_PLAIN_STEPS: Final = ("spec", "template", "jobTemplate", "podTemplate", "rayClusterSpec", "rayClusterConfig")
"""Fields that say nothing of a role."""
_SUFFIXES: Final = ("ReplicaSpecs", "GroupSpecs", "GroupSpec", "PodTemplate", "Template", "Spec")
_ROLE: Final = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")


class UnknownNumber(StrEnum):
    """Why a number of pods or GPUs cannot be told from a manifest."""

    NO_TEMPLATE = "no pod template"
    RUNTIME = "set by a runtime"
    COUNT = "count not stated"
    DEVICES = "devices not stated"
    CLAIMS = "devices by claim"
    ELSEWHERE = "devices outside the pod templates"


class ManifestPods(msgspec.Struct, frozen=True, kw_only=True):
    """Equal pods of a manifest. `template` (metadata, spec) is the tree's own, not a copy.

    `replicas` None: the manifest does not say how many. `gpus_each` None: nor how many devices each asks for.
    """

    role: str
    replicas: int | None
    gpus_each: int | None
    template: dict[str, Any]

    @property
    def pod_spec(self) -> dict[str, Any]:
        """`spec` of the template."""
        return mapping(self.template.get("spec"))

    @property
    def gpus(self) -> int | None:
        """Devices of all its pods; None where unknown."""
        if self.replicas == 0 or self.gpus_each == 0:
            return 0
        return None if self.replicas is None or self.gpus_each is None else self.replicas * self.gpus_each


class PodsAsked(msgspec.Struct, frozen=True, kw_only=True):
    """All pods of a manifest. `unknown` None: every count is known."""

    sets: tuple[ManifestPods, ...] = ()
    unknown: UnknownNumber | None = None
    role: str = ""  # whose count or devices are unknown, where it is one role's

    @property
    def members(self) -> int | None:
        """How many pods there would be; None where unknown."""
        counts = [item.replicas for item in self.sets]
        if not counts or None in counts:
            return None
        return sum(count or 0 for count in counts)

    @property
    def gpus(self) -> int | None:
        """How many devices they would ask for; None where unknown."""
        found = [item.gpus for item in self.sets]
        if not found or None in found or self.unknown is UnknownNumber.ELSEWHERE:
            return None
        return sum(item or 0 for item in found)

    @property
    def gpus_at_least(self) -> int:
        """Devices of the sets that are known."""
        return sum(item.gpus or 0 for item in self.sets)


_WITHOUT_PODS: Final = frozenset(
    {
        *("rbac.authorization.k8s.io", "networking.k8s.io", "gateway.networking.k8s.io", "storage.k8s.io"),
        *("policy", "scheduling.k8s.io", "autoscaling", "monitoring.coreos.com", "snapshot.storage.k8s.io"),
    }
)
"""Groups of Kubernetes' APIs whose objects make no pods."""
_CORE_WITH_PODS: Final = frozenset(("Pod", "PodTemplate", "ReplicationController"))


def makes_no_pods(manifest: Mapping[str, Any]) -> bool:
    """Whether its kind is one of which no pod comes: a ConfigMap, a claim, a role beside a job."""
    group, slash, _version = str(manifest.get("apiVersion")).rpartition("/")
    return group in _WITHOUT_PODS if slash else manifest.get("kind") not in _CORE_WITH_PODS


def pods_asked(manifest: Mapping[str, Any]) -> PodsAsked:
    """The pods that the manifest asks for. A malformed field reads as not stated; never raises."""
    if manifest.get("kind") == "TrainJob":
        return _trained(mapping(mapping(manifest.get("spec")).get("trainer")))
    sets = pod_sets(manifest)
    if not sets:
        return PodsAsked(unknown=UnknownNumber.NO_TEMPLATE)
    if not _is_known(manifest) and _names_devices(manifest, frozenset(id(item.pod_spec) for item in sets)):
        return PodsAsked(sets=sets, unknown=UnknownNumber.ELSEWHERE)
    for item in sets:
        if item.replicas is None:
            return PodsAsked(sets=sets, unknown=UnknownNumber.COUNT, role=item.role)
    for one in sets:
        if one.gpus is None:
            claims = mapping(one.template["spec"]).get("resourceClaims")
            return PodsAsked(
                sets=sets, unknown=UnknownNumber.CLAIMS if claims else UnknownNumber.DEVICES, role=one.role
            )
    return PodsAsked(sets=sets)


def pod_sets(manifest: Mapping[str, Any]) -> tuple[ManifestPods, ...]:
    """The pod templates of the tree, in its own order; () for a TrainJob, whose pods come from a runtime."""
    if manifest.get("kind") == "TrainJob":
        return ()
    tree = manifest if isinstance(manifest, dict) else dict(manifest)
    return tuple(_below(tree, _Above(is_known=_is_known(tree))))


class _Above(msgspec.Struct, frozen=True):
    """What stands above a place in the tree. `counts` holds None for one that is no plain number."""

    counts: tuple[int | None, ...] = ()
    is_known: bool = False
    role: str = ONLY_ROLE
    key: str = ""


def _below(node: dict[str, Any], above: _Above) -> Iterator[ManifestPods]:
    if str(node.get("kind")) in _ONE_UNLESS_SAID:  # an object inside another (AppWrapper)
        above = msgspec.structs.replace(above, is_known=True)
    if _is_pod_spec(node.get("spec")):
        yield _made(node, msgspec.structs.replace(above, counts=(*above.counts, *_counts(node, above))))
        return
    # A template inside says how many pods it makes by counts here; a status is no wish.
    above = msgspec.structs.replace(above, counts=(*above.counts, *_counts(node, above)))
    for key, value in node.items():
        if key in ("status", "metadata") or not isinstance(key, str):
            continue
        inner = _step(above, key, node)
        if _is_pod_spec(value):
            yield _made({"spec": value}, inner)
        elif isinstance(value, dict):
            yield from _below(value, inner)
        elif isinstance(value, list):
            for item in value:
                if isinstance(item, dict):
                    yield from _below(item, _named(inner, item))


def _step(above: _Above, key: str, node: Mapping[str, Any]) -> _Above:
    """Below the field `key` of `node`."""
    counts, is_known = above.counts, above.is_known
    if key in ("leaderTemplate", "workerTemplate") and above.key == "leaderWorkerTemplate":
        size = _plain(node.get("size", 1))
        leaders = 1 if "leaderTemplate" in node else 0
        counts = (*counts, 1 if key == "leaderTemplate" else None if size is None else max(0, size - leaders))
    is_known = is_known or key.endswith("ReplicaSpecs")
    role = above.role if key in _PLAIN_STEPS else _role(key) or above.role
    return _Above(counts, is_known, role, key)


def _role(key: str) -> str:
    for item in _SUFFIXES:
        if key.endswith(item) and key != item:
            key = key.removesuffix(item)
            break
    return key.lower() if _ROLE.fullmatch(key) else ""


def _named(above: _Above, item: Mapping[str, Any]) -> _Above:
    """Below an item of a list, whose name is the role."""
    name = item.get("name") or item.get("groupName")
    role = name if isinstance(name, str) and _ROLE.fullmatch(name) else above.role
    return msgspec.structs.replace(above, role=role)


def _counts(node: Mapping[str, Any], above: _Above) -> tuple[int | None, ...]:
    """The counts that stand in this mapping."""
    if above.key == "workerGroupSpecs":
        return (_ray_workers(node),)
    found = {key: _plain(node[key]) for key in COUNTS if node.get(key) is not None}
    completions = _plain(node.get("completions"))
    if found.get("parallelism") is not None and completions is not None:
        found["parallelism"] = min(found["parallelism"] or 0, completions)
    if len(found) > 1:
        return (None,)  # which one counts pods is the controller's affair
    return tuple(found.values())


def _ray_workers(group: Mapping[str, Any]) -> int | None:
    """Pods of a worker group when it starts (source: KubeRay, GetWorkerGroupDesiredReplicas)."""
    least, most = _plain(group.get("minReplicas") or 0), group.get("maxReplicas")
    wanted, hosts = _plain(group.get("replicas") or 0), _plain(group.get("numOfHosts", 1))
    if least is None or wanted is None or hosts is None:
        return None
    if group.get("suspend") is True:
        return 0
    wanted = max(wanted, least)
    return (min(wanted, most) if isinstance(most, int) else wanted) * hosts


def _plain(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _made(template: dict[str, Any], above: _Above) -> ManifestPods:
    counts = above.counts
    replicas: int | None = 1 if counts or above.is_known else None
    if None in counts:
        replicas = None
    elif replicas is not None:
        replicas = math.prod(count or 0 for count in counts)
    return ManifestPods(
        role=above.role, replicas=replicas, gpus_each=gpus_of(mapping(template["spec"])), template=template
    )


def gpus_of(pod_spec: Mapping[str, Any]) -> int | None:
    """Devices of one pod; None where an amount is no number, or where a resource claim brings devices."""
    if pod_spec.get("resourceClaims"):
        return None
    every = (*mappings(pod_spec.get("containers")), *mappings(pod_spec.get("initContainers")))
    for container in every:
        resources = mapping(container.get("resources"))
        for part in ("limits", "requests"):
            for name, amount in mapping(resources.get(part)).items():
                if is_gpu_resource(str(name)) and not _is_amount(amount):
                    return None
    return sum(amount for name, amount in requests_of(pod_spec) if is_gpu_resource(name))


def _is_amount(value: Any) -> bool:
    try:
        return parse_quantity(str(value)) >= 0
    except (ValueError, OverflowError):
        return False


def _is_pod_spec(value: Any) -> bool:
    containers = value.get("containers") if isinstance(value, dict) else None
    return isinstance(containers, list) and all(isinstance(container, dict) for container in containers)


def _is_known(manifest: Mapping[str, Any]) -> bool:
    kind, spec = manifest.get("kind"), mapping(manifest.get("spec"))
    return kind in _ONE_UNLESS_SAID or any(str(key).endswith("ReplicaSpecs") for key in spec)


def _names_devices(value: Any, pod_specs: frozenset[int]) -> bool:
    """True where a GPU resource is named outside the pod specs: pods may be made that are not seen."""
    if isinstance(value, str):
        return is_gpu_resource(value)
    if isinstance(value, list):
        return any(_names_devices(item, pod_specs) for item in value)
    if not isinstance(value, dict) or id(value) in pod_specs:
        return False
    return any(
        _names_devices(key, pod_specs) or _names_devices(one, pod_specs)
        for key, one in value.items()
        if key not in ("status", "metadata")
    )


def _trained(trainer: dict[str, Any]) -> PodsAsked:
    """The nodes of a TrainJob: their pods are made from the runtime, only what the job overrides is seen."""
    resources = trainer.get("resourcesPerNode")
    spec = {"containers": [{"name": "node", "resources": resources, "image": trainer.get("image")}]}
    nodes = ManifestPods(
        role="node",
        replicas=_plain(trainer.get("numNodes")),
        gpus_each=gpus_of(spec) if isinstance(resources, dict) else None,
        template={"spec": spec},
    )
    is_whole = nodes.replicas is not None and nodes.gpus_each is not None
    return PodsAsked(sets=(nodes,), unknown=None if is_whole else UnknownNumber.RUNTIME, role="node")
