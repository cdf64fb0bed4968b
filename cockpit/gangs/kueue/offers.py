"""Changes of Kueue's objects that would let a job in, and what a ClusterQueue asks of a job beside quota."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec.structs import replace

from cockpit.catalogue.cause import Cause
from cockpit.fit.quota import Cohorts
from cockpit.gangs.draft import draft
from cockpit.gangs.kueue.topology import PREFERRED, REQUIRED
from cockpit.gangs.offers import EngineChange, QueueCase, Tree, Trees
from cockpit.gangs.wording import short
from cockpit.k8s.admission.admission_specs import STRICT, FlavorSpec, cohort_specs, flavor_spec
from cockpit.k8s.gpu_resources import resource_word
from cockpit.k8s.json_patch import Operation, pointed
from cockpit.k8s.kubectl import applied, json_patch, merge_patch
from cockpit.model.finding import Finding, Subject
from cockpit.model.gang import ClusterQueue, QuotaRow, Workload
from cockpit.model.record import Condition, Kind, condition

_GROUP: Final = "kueue.x-k8s.io"
_FLAVOR: Final = "ResourceFlavor"
_GATED_BY: Final = f"{_GROUP}/admission-gated-by"
_BEST_EFFORT: Final = "BestEffortFIFO"

Changes = Iterator[EngineChange]


def changes(blocker: Finding, case: QueueCase) -> Changes:
    change = _CHANGES.get(blocker.cause)
    if change is not None:
        yield from change(blocker, case)


def flavors(trees: Trees) -> dict[str, FlavorSpec]:
    return {str(tree["metadata"]["name"]): flavor_spec(dict(tree)) for tree in trees.get((_FLAVOR, ""), ())}


def cohorts(trees: Trees) -> Cohorts:
    return cohort_specs(trees.get(("Cohort", ""), ()))


# ---- the ClusterQueue


def _spec(queue: ClusterQueue, trees: Trees) -> Mapping[str, Any] | None:
    """`spec` of the ClusterQueue, None where it was not read."""
    for tree in trees.get(("ClusterQueue", ""), ()):
        if tree["metadata"].get("name") == queue.name:
            return tree.get("spec") or {}
    return None


def _target(queue: ClusterQueue) -> Subject:
    return Subject("queue", "", queue.name)


def _quantity(resource: str, amount: int) -> str:
    return f"{amount}m" if resource == "cpu" else str(amount)


def _covered(blocker: Finding, case: QueueCase) -> Changes:
    """Quota of a resource that the queue does not cover, as much as the job asks for."""
    queue, resource = case.queue, blocker.fact("resource")
    amount = case.asked.get(resource, 0)
    groups = [] if queue is None else (_spec(queue, case.trees) or {}).get("resourceGroups") or []
    if queue is None or not amount or len(groups) != 1 or resource in groups[0].get("coveredResources", ()):
        return
    quota = {"name": resource, "nominalQuota": _quantity(resource, amount)}
    named = groups[0].get("flavors") or []
    group = "/spec/resourceGroups/0"
    command = json_patch(
        ("clusterqueue", queue.name),
        {"op": "add", "path": f"{group}/coveredResources/-", "value": resource},
        *(
            {"op": "add", "path": f"{group}/flavors/{at}/resources/-", "value": quota}
            for at in range(len(named))
        ),
    )
    rows = tuple(QuotaRow(str(one.get("name")), resource, amount, used=0, reserved=0) for one in named)
    yield EngineChange(
        "raise_quota",
        f"give {short(queue.name)} a quota of {amount} {resource_word(resource, amount)}",
        command,
        _target(queue),
        records=((Kind.CLUSTER_QUEUE, replace(queue, quotas=(*queue.quotas, *rows))),),
        amount=amount,
    )


def quota_command(queue: ClusterQueue, rows: Sequence[QuotaRow], trees: Trees) -> tuple[str, ...]:
    """A patch where the queue's object was read, else `kubectl edit`."""
    spec = _spec(queue, trees) or {}
    places = {
        (
            flavor.get("name"),
            quota.get("name"),
        ): f"/spec/resourceGroups/{i}/flavors/{j}/resources/{k}/nominalQuota"
        for i, group in enumerate(spec.get("resourceGroups") or ())
        for j, flavor in enumerate(group.get("flavors") or ())
        for k, quota in enumerate(flavor.get("resources") or ())
    }
    if not all((row.flavor, row.resource) in places for row in rows):
        return ("kubectl", "edit", "clusterqueue", queue.name)
    return json_patch(
        ("clusterqueue", queue.name),
        *(
            {
                "op": "replace",
                "path": places[row.flavor, row.resource],
                "value": _quantity(row.resource, row.nominal),
            }
            for row in rows
        ),
    )


def _usable(blocker: Finding, case: QueueCase) -> Changes:
    """The one flavor that the queue names and that is missing is created, or the namespace gets the labels
    that the queue asks of it."""
    queue, space = case.queue, case.namespace
    if queue is None:
        return
    yield from _flavor(queue, case.trees)
    chosen = (_spec(queue, case.trees) or {}).get("namespaceSelector") or {}
    labels = chosen.get("matchLabels") or {}
    if not labels or chosen.get("matchExpressions"):
        return
    pairs = [f"{key}={value}" for key, value in sorted(labels.items())]
    now = _namespace(space, case.trees) or {"metadata": {"name": space}}
    held = {**now["metadata"], "labels": {**(now["metadata"].get("labels") or {}), **labels}}
    yield EngineChange(
        "label_namespace",
        f"label namespace {short(space)} {' '.join(pairs)}: {short(queue.name)} takes no other",
        ("kubectl", "label", "namespace", space, *pairs, "--overwrite"),
        Subject("namespace", "", space),
        trees=({**now, "kind": "Namespace", "metadata": held},),
    )


def _namespace(name: str, trees: Trees) -> Tree | None:
    return next(
        (one for one in trees.get(("Namespace", ""), ()) if one["metadata"].get("name") == name), None
    )


def _flavor(queue: ClusterQueue, trees: Trees) -> Changes:
    active, known = condition(queue.conditions, "Active"), flavors(trees)
    named = sorted({row.flavor for row in queue.quotas})
    missing = [name for name in named if name not in known] if known else named
    if active is None or active.status != "False" or active.reason != "FlavorNotFound" or len(missing) != 1:
        return
    (name,) = missing
    manifest = {"apiVersion": f"{_GROUP}/v1beta2", "kind": _FLAVOR, "metadata": {"name": name}}
    others = tuple(one for one in queue.conditions if one.type != "Active")
    yield EngineChange(
        "create",
        f"create {_FLAVOR} {short(name)}, of any node",
        applied(manifest),
        Subject("flavor", "", name),
        records=((Kind.CLUSTER_QUEUE, replace(queue, conditions=others)),),
        trees=(manifest,),
        amount=1,
    )


def _let_pass(blocker: Finding, case: QueueCase) -> Changes:
    queue = case.queue
    if queue is None or queue.strategy != STRICT:
        return
    yield EngineChange(
        "let_pass",
        f"let jobs that fit pass the head of {short(queue.name)} ({_BEST_EFFORT})",
        merge_patch(("clusterqueue", queue.name), {"spec": {"queueingStrategy": _BEST_EFFORT}}),
        _target(queue),
        records=((Kind.CLUSTER_QUEUE, replace(queue, strategy=_BEST_EFFORT)),),
    )


def unmet(case: QueueCase) -> Iterator[Finding]:
    """Checks that are not through, flavors that do not exist, labels that the namespace does not have."""
    queue, workload = case.queue, case.workload
    if queue is None:
        return
    spec = _spec(queue, case.trees) or {}
    by_flavor = (spec.get("admissionChecksStrategy") or {}).get("admissionChecks") or ()
    names = [*(spec.get("admissionChecks") or ()), *(one.get("name", "") for one in by_flavor)]
    ready = {one.name for one in (() if workload is None else workload.checks) if one.state == "Ready"}
    for name in names:
        if name not in ready:
            yield draft(Cause.ADMISSION_CHECK, "admission check {check} decides then", {"check": name})
    rows = (one for group in spec.get("resourceGroups") or () for one in group.get("flavors") or ())
    for row in rows if (_FLAVOR, "") in case.trees else ():  # a queue that is stopped does not say so
        if row["name"] not in flavors(case.trees):
            text = "queue {queue} names ResourceFlavor {flavor}, which does not exist"
            yield draft(Cause.QUEUE_UNUSABLE, text, {"queue": queue.name, "flavor": row["name"]})
    chosen = (spec.get("namespaceSelector") or {}).get("matchLabels") or {}
    if not chosen or ("Namespace", "") not in case.trees:
        return
    own = _namespace(case.namespace, case.trees) or {}
    labels = (own.get("metadata") or {}).get("labels") or {}
    if any(labels.get(key) != value for key, value in chosen.items()):
        text = "queue {queue} does not take jobs of namespace {space}"
        yield draft(Cause.QUEUE_UNUSABLE, text, {"queue": queue.name, "space": case.namespace})


# ---- the Workload and the job


def _named(workload: Workload) -> tuple[str, ...]:
    """The workload as kubectl takes it."""
    return (f"workloads.{_GROUP}", workload.name, "-n", workload.namespace)


def _passed_check(blocker: Finding, case: QueueCase) -> Changes:
    """A person who may do so says for the check's controller that this one job is ready."""
    workload, name = case.workload, blocker.fact("check")
    names = [one.name for one in workload.checks] if workload else []
    if workload is None or name not in names:
        return
    path = f"/status/admissionChecks/{names.index(name)}/state"
    checks = tuple(replace(one, state="Ready") if one.name == name else one for one in workload.checks)
    then = replace(workload, checks=checks)
    if workload.cluster_queue and all(one.state == "Ready" for one in checks):
        others = (one for one in workload.conditions if one.type != "Admitted")
        then = replace(then, conditions=(*others, Condition(type="Admitted", status="True")))
    yield EngineChange(
        "pass_check",
        f"say Ready for admission check {short(name)}, if whoever runs it agrees",
        json_patch(
            (*_named(workload), "--subresource=status"), {"op": "replace", "path": path, "value": "Ready"}
        ),
        records=((Kind.WORKLOAD, then),),
    )


def _ungated(blocker: Finding, case: QueueCase) -> Changes:
    """The annotation by which a controller holds the job is taken off, of its owner too where that has it."""
    workload, job = case.workload, case.job
    if workload is None or job is None:
        return
    command = ("kubectl", "annotate", *_named(workload), f"{_GATED_BY}-")
    if _GATED_BY in (((case.tree or {}).get("metadata") or {}).get("annotations") or {}):
        group = job.api_version.rpartition("/")[0]
        owner = job.kind.lower() + (f".{group}" if group else "")
        command = (
            "kubectl",
            "annotate",
            owner,
            job.name,
            "-n",
            job.namespace,
            f"{_GATED_BY}-",
            "&&",
            *command,
        )
    yield EngineChange(
        "drop_gate",
        f"without the hold of {short(blocker.fact('holder'))}, if it agrees",
        command,
        records=((Kind.WORKLOAD, replace(workload, gated_by="")),),
    )


def _laxer_topology(blocker: Finding, case: QueueCase) -> Changes:
    """One place is preferred instead of required."""
    operations: list[Operation] = []
    for pointer, held in _annotations(case.tree, ""):
        if REQUIRED in held:
            operations.append({"op": "remove", "path": pointer + pointed(REQUIRED)})
            operations.append({"op": "add", "path": pointer + pointed(PREFERRED), "value": held[REQUIRED]})
    words = f"with topology {short(blocker.fact('topology'))} preferred, not required"
    yield EngineChange("prefer_topology", words, operations=operations)


def _annotations(node: Any, pointer: str) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Annotations of every pod template, with the pointer to them."""
    for key, value in node.items() if isinstance(node, Mapping) else ():
        if key == "template" and isinstance(value, Mapping):
            held = (value.get("metadata") or {}).get("annotations")
            if isinstance(held, Mapping):
                yield f"{pointer}/template/metadata/annotations", held
        elif key not in ("status", "metadata"):
            yield from _annotations(value, pointer + pointed(str(key)))


_CHANGES: Final[Mapping[str, Callable[[Finding, QueueCase], Changes]]] = {
    Cause.NO_FLAVOR_FITS: _covered,
    Cause.QUEUE_UNUSABLE: _usable,
    Cause.BEHIND_THE_HEAD: _let_pass,
    Cause.ADMISSION_CHECK: _passed_check,
    Cause.ADMISSION_GATED: _ungated,
    Cause.TOPOLOGY_FULL: _laxer_topology,
}
"""By the cause that they mend."""
