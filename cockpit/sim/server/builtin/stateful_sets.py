"""Stateful sets: defaults, what stands once it is given (pkg/apis/apps: defaults.go, validation)."""

from collections.abc import Iterator

from cockpit.sim.port import Tree
from cockpit.sim.server.builtin.cluster import complete_claim, pending_status
from cockpit.sim.server.builtin.filling import filled
from cockpit.sim.server.builtin.pod_spec import complete_template
from cockpit.sim.server.refusals import Cause, banned, unsupported, wrong

_CHANGEABLE = (
    *("replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit"),
    *("persistentVolumeClaimRetentionPolicy", "minReadySeconds"),
)
_POLICIES = ("OrderedReady", "Parallel")
_STRATEGIES = ("RollingUpdate", "OnDelete")
_RETENTIONS = ("Retain", "Delete")


def complete(tree: Tree) -> Tree:
    """One pod after the other, rolled from the last to the first; claims stay."""
    spec = filled(
        tree.get("spec") or {},
        podManagementPolicy="OrderedReady",
        replicas=1,
        revisionHistoryLimit=10,
        serviceName="",
        persistentVolumeClaimRetentionPolicy={},
    )
    kept = filled(
        spec["persistentVolumeClaimRetentionPolicy"] or {}, whenDeleted="Retain", whenScaled="Retain"
    )
    spec = {
        **spec,
        "persistentVolumeClaimRetentionPolicy": kept,
        "updateStrategy": _strategy(spec.get("updateStrategy") or {}),
    }
    template = spec.get("template") or {}
    done = complete_template(template)
    if done != template:
        spec = {**spec, "template": done}
    if spec.get("volumeClaimTemplates"):
        spec["volumeClaimTemplates"] = [_claim(claim) for claim in spec["volumeClaimTemplates"]]
    return {**tree, "spec": spec}


def _strategy(strategy: Tree) -> Tree:
    if not strategy.get("type"):
        strategy = filled({**strategy, "type": "RollingUpdate"}, rollingUpdate={})
    if strategy["type"] == "RollingUpdate" and strategy.get("rollingUpdate") is not None:
        strategy = {**strategy, "rollingUpdate": filled(strategy["rollingUpdate"], partition=0)}
    return strategy


def _claim(claim: Tree) -> Tree:
    whole = pending_status(complete_claim(claim), None)
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", **whole}


def revise(tree: Tree, old: Tree | None) -> Tree:
    """Nothing runs yet."""
    return tree if old is not None else {**tree, "status": {"availableReplicas": 0, "replicas": 0}}


def check(tree: Tree, old: Tree | None) -> Iterator[Cause]:
    """Policies that are known, and what may not change."""
    spec = tree["spec"]
    if old is not None and spec == old["spec"]:
        return
    if spec["podManagementPolicy"] not in _POLICIES:
        why = "must be 'OrderedReady' or 'Parallel'"
        yield wrong("spec.podManagementPolicy", spec["podManagementPolicy"], why)
    strategy = spec["updateStrategy"]
    if strategy["type"] not in _STRATEGIES:
        shown = {"Type": strategy["type"], "RollingUpdate": strategy.get("rollingUpdate")}
        yield wrong("spec.updateStrategy", shown, "must be 'RollingUpdate' or 'OnDelete'")
    elif strategy["type"] == "OnDelete" and strategy.get("rollingUpdate") is not None:
        shown = {"Partition": strategy["rollingUpdate"].get("partition", 0), "MaxUnavailable": None}
        why = "only allowed for updateStrategy 'RollingUpdate'"
        yield wrong("spec.updateStrategy.rollingUpdate", shown, why)
    for key, value in spec["persistentVolumeClaimRetentionPolicy"].items():
        if value not in _RETENTIONS:
            yield unsupported(f"spec.persistentVolumeClaimRetentionPolicy.{key}", value, _RETENTIONS)
    if (start := (spec.get("ordinals") or {}).get("start", 0)) < 0:
        yield wrong("spec.ordinals.start", start, "must be greater than or equal to 0")
    if old is not None and _fixed(spec) != _fixed(old["spec"]):
        named = ", ".join(f"'{key}'" for key in _CHANGEABLE[:-1])
        rest = f"{named} and '{_CHANGEABLE[-1]}'"
        yield banned("spec", f"updates to statefulset spec for fields other than {rest} are forbidden")


def _fixed(spec: Tree) -> Tree:
    return {key: value for key, value in spec.items() if key not in _CHANGEABLE}
