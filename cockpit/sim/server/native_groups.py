"""PodGroups of kube-scheduler itself, as kube-apiserver 1.36 serves them where `GenericWorkload` is on.

Source of fields, defaults, finalizer and refusals: a real one with `scheduling.k8s.io/v1alpha2` switched on.
Not served: Workloads, from whose templates a controller makes groups.
"""

from collections.abc import Iterator

from cockpit.sim.port import Tree
from cockpit.sim.resources import NATIVE_POD_GROUPS
from cockpit.sim.server.kinds import ServedKind
from cockpit.sim.server.refusals import Cause, required, wrong
from cockpit.sim.server.schema.custom import custom_schema

_PROTECTION = "scheduling.k8s.io/podgroup-protection"
_TEXT = {"type": "string"}
_POLICY: Tree = {
    "type": "object",
    "properties": {
        "basic": {"type": "object"},
        "gang": {"type": "object", "properties": {"minCount": {"type": "integer", "format": "int32"}}},
    },
}
_CONDITION: Tree = {
    "type": "object",
    "properties": {
        **dict.fromkeys(("type", "status", "reason", "message"), _TEXT),
        "lastTransitionTime": {"type": "string", "format": "date-time"},
        "observedGeneration": {"type": "integer", "format": "int64"},
    },
}
_SCHEMA: Tree = {
    "type": "object",
    "properties": {
        "apiVersion": _TEXT,
        "kind": _TEXT,
        "metadata": {"type": "object"},
        "spec": {
            "type": "object",
            "properties": {
                "schedulingPolicy": _POLICY,
                "disruptionMode": _TEXT,
                "priority": {"type": "integer", "format": "int32"},
                "priorityClassName": _TEXT,
            },
        },
        "status": {
            "type": "object",
            "properties": {
                "conditions": {
                    "type": "array",
                    "items": _CONDITION,
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["type"],
                },
            },
        },
    },
}


def pod_group_kind() -> ServedKind:
    """The kind, to be added to those that are served."""
    schema = custom_schema(NATIVE_POD_GROUPS.kind, {"schema": {"openAPIV3Schema": _SCHEMA}})
    return ServedKind(
        resource=NATIVE_POD_GROUPS,
        singular="podgroup",
        has_status=True,
        decode=schema.decode,
        shape=schema.shape,
        complete=(_complete,),
        revise=(_protect,),
        checks=(schema.check, _check),
        status_checks=(schema.check,),
    )


def _complete(tree: Tree) -> Tree:
    return {**tree, "spec": {"disruptionMode": "Pod", **(tree.get("spec") or {})}}


def _protect(tree: Tree, old: Tree | None) -> Tree:
    """A new group goes only when no pod of it is left."""
    if old is not None:
        return tree
    metadata = tree["metadata"]
    finalizers = metadata.get("finalizers") or []
    kept = finalizers if _PROTECTION in finalizers else [*finalizers, _PROTECTION]
    return {**tree, "metadata": {**metadata, "finalizers": kept}, "status": {}}


def _check(tree: Tree, old: Tree | None) -> Iterator[Cause]:
    policy = tree["spec"].get("schedulingPolicy") or {}
    kinds = sorted(policy)
    at = "spec.schedulingPolicy"
    if not kinds:
        yield wrong(at, "", "must specify one of: `basic`, `gang`")
    elif len(kinds) > 1:
        yield wrong(at, f"{{{', '.join(kinds)}}}", "must specify exactly one of: `basic`, `gang`")
    elif "gang" in policy:
        least = policy["gang"].get("minCount") or 0
        if least == 0:
            yield required(f"{at}.gang.minCount", "")
        elif least < 0:
            yield wrong(f"{at}.gang.minCount", least, "must be greater than zero")
