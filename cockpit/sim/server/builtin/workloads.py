"""Deployments, replica sets, daemon sets and disruption budgets (pkg/apis/apps/v1/defaults.go)."""

from collections.abc import Iterator

from cockpit.sim.port import Tree
from cockpit.sim.server.builtin.filling import filled
from cockpit.sim.server.builtin.pod_rules import pod_spec_faults
from cockpit.sim.server.builtin.pod_spec import complete_template
from cockpit.sim.server.object_meta import label_faults_at
from cockpit.sim.server.refusals import Cause, banned, required, unsupported, wrong
from cockpit.sim.server.selectors import object_selector

_EVICTION_POLICIES = ("AlwaysAllow", "IfHealthyBudget")
_STRATEGIES = ("Recreate", "RollingUpdate")
_TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"


def _with_template(spec: Tree) -> Tree:
    template = spec.get("template") or {}
    done = complete_template(template)
    return spec if done == template else {**spec, "template": done}


def complete_deployment(tree: Tree) -> Tree:
    """Replicas, strategy, limits of history and progress."""
    spec = filled(
        tree.get("spec") or {},
        replicas=1,
        strategy={"type": "RollingUpdate"},
        revisionHistoryLimit=10,
        progressDeadlineSeconds=600,
    )
    strategy = filled(spec["strategy"], type="RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        rolling = filled(strategy.get("rollingUpdate") or {}, maxUnavailable="25%", maxSurge="25%")
        strategy = {**strategy, "rollingUpdate": rolling}
    return {**tree, "spec": _with_template({**spec, "strategy": strategy})}


def complete_replica_set(tree: Tree) -> Tree:
    """One replica, unless it says another number."""
    return {**tree, "spec": _with_template(filled(tree.get("spec") or {}, replicas=1))}


def complete_daemon_set(tree: Tree) -> Tree:
    """Update strategy and limit of history."""
    spec = filled(tree.get("spec") or {}, updateStrategy={"type": "RollingUpdate"}, revisionHistoryLimit=10)
    strategy = spec["updateStrategy"]
    if strategy.get("type", "RollingUpdate") == "RollingUpdate":
        rolling = filled(strategy.get("rollingUpdate") or {}, maxUnavailable=1, maxSurge=0)
        spec = {**spec, "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": rolling}}
    tree = {**tree, "spec": _with_template(spec)}
    metadata = tree["metadata"]
    has_number = _TEMPLATE_GENERATION in (metadata.get("annotations") or {})
    return tree if has_number else _numbered(tree, 1)


def revise_replica_set(tree: Tree, old: Tree | None) -> Tree:
    """Nothing runs yet."""
    return tree if old is not None else {**tree, "status": {"replicas": 0}}


def revise_daemon_set(tree: Tree, old: Tree | None) -> Tree:
    """Counts at zero, and the number of its template."""
    if old is None:
        zeros = ("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady")
        return {**tree, "status": dict.fromkeys(zeros, 0)}
    number = int((old["metadata"].get("annotations") or {}).get(_TEMPLATE_GENERATION, "1"))
    return _numbered(tree, number + (tree["spec"].get("template") != old["spec"].get("template")))


def _numbered(tree: Tree, number: int) -> Tree:
    metadata = tree["metadata"]
    annotations = metadata.get("annotations") or {}
    if annotations.get(_TEMPLATE_GENERATION) == str(number):
        return tree
    fresh = {**annotations, _TEMPLATE_GENERATION: str(number)}
    return {**tree, "metadata": {**metadata, "annotations": fresh}}


def check(tree: Tree, old: Tree | None) -> Iterator[Cause]:
    """What is wrong with a workload that has a selector and a template, or with a change of one."""
    spec = tree["spec"]
    if old is not None and spec == old["spec"]:
        return
    if spec.get("replicas", 0) < 0:
        yield wrong("spec.replicas", spec["replicas"], "must be greater than or equal to 0")
    selector = spec.get("selector")
    if selector is None:
        yield required("spec.selector")
    elif not selector.get("matchLabels") and not selector.get("matchExpressions"):
        yield wrong("spec.selector", selector, f"empty selector is invalid for {tree['kind'].lower()}")
    template = spec.get("template") or {}
    labels = (template.get("metadata") or {}).get("labels") or {}
    yield from label_faults_at("spec.template.metadata.labels", labels)
    if not object_selector(selector)(labels):
        yield wrong(
            "spec.template.metadata.labels", labels or None, "`selector` does not match template `labels`"
        )
    yield from pod_spec_faults(template.get("spec") or {}, "spec.template.spec")
    restarts = (template.get("spec") or {}).get("restartPolicy")
    if restarts in ("OnFailure", "Never"):
        yield unsupported("spec.template.spec.restartPolicy", restarts, ("Always",))


def check_progress(tree: Tree, old: Tree | None) -> Iterator[Cause]:
    """Times of a deployment are no less than nothing, and it may take longer than its pods must be ready."""
    spec = tree["spec"]
    if old is not None and spec == old["spec"]:
        return
    least, most = spec.get("minReadySeconds", 0), spec.get("progressDeadlineSeconds")
    if least < 0:
        yield wrong("spec.minReadySeconds", least, "must be greater than or equal to 0")
    if (kept := spec.get("revisionHistoryLimit")) is not None and kept < 0:
        yield wrong("spec.revisionHistoryLimit", kept, "must be greater than or equal to 0")
    yield from _strategy_faults(spec.get("strategy") or {})
    if most is not None and most <= least:
        yield wrong("spec.progressDeadlineSeconds", most, "must be greater than minReadySeconds")


def _strategy_faults(strategy: Tree) -> Iterator[Cause]:
    kind, rolling = strategy.get("type"), strategy.get("rollingUpdate")
    if kind == "Recreate" and rolling is not None:
        why = "may not be specified when strategy `type` is 'Recreate'"
        yield banned("spec.strategy.rollingUpdate", why)
    elif kind == "RollingUpdate" and rolling:
        if {str(rolling.get(key)).rstrip("%") for key in ("maxSurge", "maxUnavailable")} == {"0"}:
            yield wrong("spec.strategy.rollingUpdate.maxUnavailable", 0, "may not be 0 when `maxSurge` is 0")
    elif kind not in _STRATEGIES:
        inner = rolling and {
            "MaxUnavailable": rolling.get("maxUnavailable", 0),
            "MaxSurge": rolling.get("maxSurge", 0),
        }
        yield unsupported("spec.strategy", {"Type": kind, "RollingUpdate": inner}, _STRATEGIES)


def check_deployment_status(tree: Tree, old: Tree | None) -> Iterator[Cause]:
    """Counts that can be true of one deployment at once."""
    status = tree.get("status") or {}
    keys = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas", "unavailableReplicas")
    for key in ("observedGeneration", *keys):
        if status.get(key, 0) < 0:
            yield wrong(f"status.{key}", status[key], "must be greater than or equal to 0")
    total, ready = status.get("replicas", 0), status.get("readyReplicas", 0)
    for key in ("updatedReplicas", "readyReplicas", "availableReplicas"):
        if status.get(key, 0) > total:
            yield wrong(f"status.{key}", status.get(key, 0), "cannot be greater than status.replicas")
    if status.get("availableReplicas", 0) > ready:
        why = "cannot be greater than readyReplicas"
        yield wrong("status.availableReplicas", status["availableReplicas"], why)


def check_selector(tree: Tree, old: Tree | None) -> Iterator[Cause]:
    """What a workload selects stands."""
    selector = tree["spec"].get("selector")
    if old is not None and selector != old["spec"].get("selector"):
        yield wrong("spec.selector", selector, "field is immutable")


def revise_budget(tree: Tree, old: Tree | None) -> Tree:
    """Nothing may be disturbed before somebody has counted."""
    if old is not None:
        return tree
    counts = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")
    return {**tree, "status": dict.fromkeys(counts, 0)}


def check_budget(tree: Tree, old: Tree | None) -> Iterator[Cause]:
    """Either of the two limits, not both; a policy for the unhealthy that is known."""
    spec = tree.get("spec") or {}
    if spec.get("minAvailable") is not None and spec.get("maxUnavailable") is not None:
        why = "minAvailable and maxUnavailable cannot be both set"
        shown = {
            "MinAvailable": spec["minAvailable"],
            "Selector": spec.get("selector"),
            "MaxUnavailable": spec["maxUnavailable"],
            "UnhealthyPodEvictionPolicy": spec.get("unhealthyPodEvictionPolicy"),
        }
        yield wrong("spec", shown, why)
    for key in ("minAvailable", "maxUnavailable"):
        value = spec.get(key)
        if isinstance(value, int) and value < 0:
            yield wrong(f"spec.{key}", value, "must be greater than or equal to 0")
        elif isinstance(value, str) and not (value.endswith("%") and value[:-1].isdigit()):
            why = (
                "a valid percent string must be a numeric string followed by an ending '%' "
                "(e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"
            )
            yield wrong(f"spec.{key}", value, why)
        elif isinstance(value, str) and int(value[:-1]) > 100:
            yield wrong(f"spec.{key}", value, "must not be greater than 100%")
    policy = spec.get("unhealthyPodEvictionPolicy")
    if policy is not None and policy not in _EVICTION_POLICIES:
        yield unsupported("spec.unhealthyPodEvictionPolicy", policy, _EVICTION_POLICIES)
