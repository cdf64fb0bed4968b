"""Scale of whatever has one, and the binding of a pod to a node."""

from typing import Any

from cockpit.kube.resource import Resource
from cockpit.sim.port import PortError, Tree
from cockpit.sim.server.core import Core, WriteOutcome, served
from cockpit.sim.server.kinds import ScaleSubresource, ServedKind
from cockpit.sim.server.refusals import conflict, invalid, unknown_path, wrong
from cockpit.sim.server.request import Request
from cockpit.sim.server.schema.decode import accepted_patch
from cockpit.sim.server.schema.notation import named
from cockpit.sim.server.storage import Stored
from cockpit.sim.server.writing import Make, update_from

_SCALE = Resource("autoscaling", "v1", "scales", "Scale", namespaced=True)
_SCALE_SHAPE = named("autoscaling", "Scale")
_PODS_BINDING = Resource("", "v1", "pods/binding", "Binding", namespaced=True)


def scale_of(kind: ServedKind, stored: Stored, *, is_read: bool = False) -> Stored:
    """The `autoscaling/v1` Scale of an object. Raises PortError 404 where the kind has none, and 500 for a
    custom object without a number, where that is read."""
    scale = kind.scale
    if scale is None:
        raise unknown_path()
    tree = stored.tree
    metadata = {
        key: tree["metadata"][key]
        for key in ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
        if key in tree["metadata"]
    }
    status: Tree = {"replicas": _at(tree, scale.status_replicas) or 0}
    if selector := _selector(tree, scale):
        status["selector"] = selector
    replicas = _at(tree, scale.replicas)
    if replicas is None and kind.is_custom and is_read:
        path = "." + ".".join(scale.replicas)
        why = f'Internal error occurred: the spec replicas field "{path}" does not exist'
        raise PortError(
            500, "InternalError", why, [{"message": f'the spec replicas field "{path}" does not exist'}]
        )
    shown: Tree = {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": metadata,
        "spec": {"replicas": replicas} if replicas else {},
        "status": status,
    }
    return Stored(stored.key, shown, stored.version)


def _selector(tree: Tree, scale: ScaleSubresource) -> str:
    found = _at(tree, scale.selector) if scale.selector else None
    if isinstance(found, dict):
        labels = found if scale.is_label_map else found.get("matchLabels") or {}
        pairs = [f"{key}={value}" for key, value in sorted(labels.items())]
        if scale.is_label_map:
            return ",".join(pairs)
        return ",".join(pairs + [_expression(one) for one in found.get("matchExpressions") or ()])
    return found if isinstance(found, str) else ""


def _expression(one: Tree) -> str:
    values = ",".join(sorted(one.get("values") or ()))
    match one["operator"]:
        case "In":
            return f"{one['key']} in ({values})"
        case "NotIn":
            return f"{one['key']} notin ({values})"
        case "Exists":
            return str(one["key"])
        case _:
            return f"!{one['key']}"


def _at(tree: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        tree = tree.get(key) if isinstance(tree, dict) else None
    return tree


def _with(tree: Tree, path: tuple[str, ...], value: Any) -> Tree:
    inner = value if len(path) == 1 else _with(tree.get(path[0]) or {}, path[1:], value)
    return {**tree, path[0]: inner}


def write_scale(core: Core, kind: ServedKind, request: Request, make: Make) -> WriteOutcome:
    """A new number of replicas, by way of the Scale; answers the Scale as it is then."""
    stored = core.found(kind, request)
    old = served(kind, stored)
    wanted, _ = accepted_patch(make(scale_of(kind, old).tree), _SCALE_SHAPE, "")
    metadata = wanted.get("metadata") or {}
    version, uid = metadata.get("resourceVersion"), metadata.get("uid")
    if version and version != old.tree["metadata"]["resourceVersion"]:
        raise conflict(kind.resource, request.name)
    if uid and uid != old.tree["metadata"]["uid"]:
        raise conflict(kind.resource, request.name, _other_uid(uid, old.tree))
    replicas = (wanted.get("spec") or {}).get("replicas", 0)
    # A custom kind's own schema says what is wrong with a number.
    if not isinstance(replicas, int) or (replicas < 0 and not kind.is_custom):
        why = "must be greater than or equal to 0"
        raise invalid(_SCALE, request.name, [wrong("spec.replicas", replicas, why)])
    assert kind.scale is not None
    new = _with(old.tree, kind.scale.replicas, replicas)
    outcome = update_from(core, kind, request, stored, new)
    return WriteOutcome(scale_of(kind, outcome.stored), warnings=outcome.warnings)


def bind(core: Core, kind: ServedKind, request: Request, binding: Tree) -> WriteOutcome:
    """Put a pod on a node: once, and only what is not ending. Answers a Status of success."""
    node = (binding.get("target") or {}).get("name", "")
    if not node:
        raise PortError(500, "", "target.name: Required value")
    stored = core.found(kind, request)
    pod = stored.tree
    metadata = binding.get("metadata") or {}
    uid = metadata.get("uid")
    if uid and uid != pod["metadata"]["uid"]:
        where = f"/registry/pods/{stored.key}"
        said = (
            f"StorageError: invalid object, Code: 4, Key: {where}, ResourceVersion: 0, AdditionalErrorMsg: "
        )
        raise conflict(kind.resource, request.name, said + _other_uid(uid, pod))
    if why := _why_not(request.name, pod):
        raise conflict(_PODS_BINDING, request.name, why)
    core.admit(request, binding, None)
    own = dict(pod["metadata"])
    for part in ("labels", "annotations"):
        if metadata.get(part):
            own[part] = {**own.get(part, {}), **metadata[part]}
    status = _scheduled(pod.get("status") or {}, core.now)
    bound = {**pod, "metadata": own, "spec": {**pod["spec"], "nodeName": node}, "status": status}
    return WriteOutcome(core.put(kind, stored.key, bound, request), is_created=True, has_object=False)


def _other_uid(uid: str, tree: Tree) -> str:
    return f"Precondition failed: UID in precondition: {uid}, UID in object meta: {tree['metadata']['uid']}"


def _why_not(name: str, pod: Tree) -> str:
    """Why a pod cannot be bound; "" when it can."""
    if "deletionTimestamp" in pod["metadata"]:
        return f"pod {name} is being deleted, cannot be assigned to a host"
    if held := pod["spec"].get("nodeName"):
        return f'pod {name} is already assigned to node "{held}"'
    return f"pod {name} has non-empty .spec.schedulingGates" if pod["spec"].get("schedulingGates") else ""


def _scheduled(status: Tree, now: str) -> Tree:
    """With the condition PodScheduled true, as the binding itself writes it."""
    held: list[Tree] = list(status.get("conditions") or ())
    scheduled: Tree = {
        "type": "PodScheduled",
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": now,
    }
    for index, one in enumerate(held):
        if one["type"] == "PodScheduled":
            if one["status"] == "True":
                scheduled["lastTransitionTime"] = one.get("lastTransitionTime")
            held[index] = scheduled
            break
    else:
        held.append(scheduled)
    # A node that was only proposed is of no interest any more (ClearingNominatedNodeNameAfterBinding).
    rest = {key: value for key, value in status.items() if key != "nominatedNodeName"}
    return {**rest, "conditions": held}
