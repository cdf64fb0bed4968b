"""What an engine waits for before it lets a job in, and who can give it: a flavor, a label, a check, a place
at the head of the queue, a group of the right size."""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from cockpit.catalogue.cause import Cause
from cockpit.errors import BadInput
from cockpit.gangs import registry
from cockpit.gangs.sentence import counted
from cockpit.k8s.gpu_resources import resource_word
from cockpit.k8s.json_patch import pointed
from cockpit.model.finding import Finding, Subject
from cockpit.model.gang import PodGroup, QuotaRow, Workload
from cockpit.model.record import Condition, Kind
from cockpit.triage.changes.job_edits import edit_offer, in_each, own_object
from cockpit.triage.changes.line_drops import DROPS, toleration
from cockpit.triage.changes.offer import (
    FREE,
    MONEY,
    OTHERS,
    OWN_LINE,
    ChangeOffers,
    Desk,
    Records,
    applied,
    json_patch,
    made,
    merge_patch,
    short,
)
from cockpit.triage.changes.quotas import created, other_queues, resumed
from cockpit.triage.context import Tree
from cockpit.triage.wanted import job_of

_REQUIRED: Final = "podset-required-topology"
_PREFERRED: Final = "podset-preferred-topology"
_MINIMUM: Final = "minMember"
_GATED_BY: Final = "admission-gated-by"


def flavor_for_it(desk: Desk, blocker: Finding) -> ChangeOffers:
    """The job tolerates the flavor's taint or drops its selector, or the queue covers the resource."""
    if taint := blocker.fact("taint"):
        found = in_each(desk, lambda place: toleration(place, taint))
        yield from edit_offer(
            desk, OWN_LINE + 2, "tolerate", f"made anew tolerating the taint {taint}", found
        )
    if selector := blocker.fact("selector"):
        found = in_each(desk, lambda place: DROPS["drop_selector"](place, selector))
        words = f"made anew without the node selector {selector}"
        yield from edit_offer(desk, OWN_LINE + 4, "drop_selector", words, found)
    yield from _covered(desk, blocker.fact("resource"))


def _covered(desk: Desk, resource: str) -> ChangeOffers:
    """Quota of a resource that the queue does not cover, as much as the job asks for."""
    queue = desk.queue
    tree = None if queue is None else desk.queue_tree(queue.name)
    groups = [] if tree is None else (tree.get("spec") or {}).get("resourceGroups") or []
    amount = sum(dict(one.shape.requests).get(resource, 0) * one.count for one in desk.wanted.parts)
    if queue is None or not amount or len(groups) != 1 or resource in groups[0].get("coveredResources", ()):
        return
    quota = {"name": resource, "nominalQuota": f"{amount}m" if resource == "cpu" else str(amount)}
    flavors = groups[0].get("flavors") or []
    command = json_patch(
        ("clusterqueue", queue.name),
        {"op": "add", "path": "/spec/resourceGroups/0/coveredResources/-", "value": resource},
        *(
            {"op": "add", "path": f"/spec/resourceGroups/0/flavors/{at}/resources/-", "value": quota}
            for at in range(len(flavors))
        ),
    )
    rows = tuple(QuotaRow(str(one.get("name")), resource, amount, used=0, reserved=0) for one in flavors)
    yield made(
        desk,
        MONEY + amount,
        "raise_quota",
        f"give {short(queue.name)} a quota of {amount} {resource_word(resource, amount)}",
        command,
        target=Subject("queue", "", queue.name),
        records=((Kind.CLUSTER_QUEUE, msgspec.structs.replace(queue, quotas=(*queue.quotas, *rows))),),
    )


def usable_queue(desk: Desk, blocker: Finding) -> ChangeOffers:
    """Another queue, or the one flavor that the queue names and that does not exist is created, or the
    namespace gets the labels that the queue asks of it."""
    queue, space = desk.queue, desk.wanted.namespace
    yield from created(desk)
    yield from other_queues(desk)
    if queue is None:
        return
    yield from _flavor(desk)
    chosen = ((desk.queue_tree(queue.name) or {}).get("spec") or {}).get("namespaceSelector") or {}
    labels = chosen.get("matchLabels") or {}
    if not labels or chosen.get("matchExpressions"):
        return
    pairs = [f"{key}={value}" for key, value in sorted(labels.items())]
    spaces = desk.view.trees.get(("Namespace", ""), ())
    bare: Tree = {"metadata": {"name": space}}
    now = next((one for one in spaces if one["metadata"].get("name") == space), bare)
    held = {**now["metadata"], "labels": {**(now["metadata"].get("labels") or {}), **labels}}
    yield made(
        desk,
        OWN_LINE,
        "label_namespace",
        f"label namespace {short(space)} {' '.join(pairs)}: {short(queue.name)} takes no other",
        ("kubectl", "label", "namespace", space, *pairs, "--overwrite"),
        target=Subject("namespace", "", space),
        trees=({**now, "kind": "Namespace", "metadata": held},),
    )


def _flavor(desk: Desk) -> ChangeOffers:
    queue = desk.queue
    kind = None if queue is None else registry.engine_of_queue(queue).flavor_kind
    if queue is None or kind is None:
        return
    told = next((one for one in queue.conditions if one.type == "Active"), None)
    named = sorted({row.flavor for row in queue.quotas})
    missing = [name for name in named if name not in desk.flavors] if desk.flavors else named
    if told is None or told.status != "False" or told.reason != "FlavorNotFound" or len(missing) != 1:
        return
    (name,) = missing
    manifest = {"apiVersion": kind[0], "kind": kind[1], "metadata": {"name": name}}
    open_ = tuple(one for one in queue.conditions if one.type != "Active")
    yield made(
        desk,
        FREE + 3,
        "create",
        f"create {kind[1]} {short(name)}, of any node",
        applied(manifest),
        target=Subject("flavor", "", name),
        records=((Kind.CLUSTER_QUEUE, msgspec.structs.replace(queue, conditions=open_)),),
        trees=(manifest,),
    )


def _workload_words(workload: Workload) -> tuple[str, ...]:
    """The workload as kubectl takes it."""
    kind = registry.engine_of_workload(workload).workload_kind
    group = "" if kind is None else kind[0].rpartition("/")[0]
    plural = "" if kind is None else kind[1].lower()
    return (f"{plural}s.{group}", workload.name, "-n", workload.namespace)


def passed_check(desk: Desk, blocker: Finding) -> ChangeOffers:
    """A person who may do so says for the check's controller that this one job is ready."""
    workload, name = desk.workload, blocker.fact("check")
    at = next((at for at, one in enumerate(workload.checks) if one.name == name), None) if workload else None
    if workload is None or at is None:
        return
    place = {"op": "replace", "path": f"/status/admissionChecks/{at}/state", "value": "Ready"}
    checks = tuple(
        msgspec.structs.replace(one, state="Ready") if one.name == name else one for one in workload.checks
    )
    then = msgspec.structs.replace(workload, checks=checks)
    if workload.cluster_queue and all(one.state == "Ready" for one in checks):
        others = (one for one in workload.conditions if one.type != "Admitted")
        admitted = Condition(type="Admitted", status="True")
        then = msgspec.structs.replace(then, conditions=(*others, admitted))
    yield made(
        desk,
        OTHERS,
        "pass_check",
        f"say Ready for admission check {short(name)}, if whoever runs it agrees",
        json_patch((*_workload_words(workload), "--subresource=status"), place),
        records=((Kind.WORKLOAD, then),),
    )


def ungated(desk: Desk, blocker: Finding) -> ChangeOffers:
    """The annotation by which a controller holds the job is taken off, of its owner too where that has it."""
    workload, job = desk.workload, desk.wanted.job
    if workload is None or job is None:
        return
    kind = registry.engine_of_workload(workload).workload_kind
    mark = f"{'' if kind is None else kind[0].rpartition('/')[0]}/{_GATED_BY}"
    command = ("kubectl", "annotate", *_workload_words(workload), f"{mark}-")
    if mark in (((desk.wanted.tree or {}).get("metadata") or {}).get("annotations") or {}):
        group = job.api_version.rpartition("/")[0]
        owner = job.kind.lower() + (f".{group}" if group else "")
        command = ("kubectl", "annotate", owner, job.name, "-n", job.namespace, f"{mark}-", "&&", *command)
    yield made(
        desk,
        OTHERS,
        "drop_gate",
        f"without the hold of {short(blocker.fact('holder'))}, if it agrees",
        command,
        records=((Kind.WORKLOAD, msgspec.structs.replace(workload, gated_by="")),),
    )


def _other(text: str) -> Subject | None:
    space, slash, name = text.partition("/")
    return Subject("job", space, name) if slash else None


def past_the_head(desk: Desk, blocker: Finding) -> ChangeOffers:
    """The head of the queue steps aside, or the queue lets those pass that fit."""
    head, queue = _other(blocker.fact("head")), desk.queue
    if head is not None:
        yield made(
            desk,
            OTHERS,
            "suspend",
            f"suspend {short(head.key)}, which is first in line",
            (head.key,),
            verb="job.suspend",
            target=head,
            records=_held(desk, head),
        )
    if queue is not None and queue.strategy == "StrictFIFO":
        then = msgspec.structs.replace(queue, strategy="BestEffortFIFO")
        yield made(
            desk,
            MONEY,
            "let_pass",
            f"let jobs that fit pass the head of {short(queue.name)} (BestEffortFIFO)",
            merge_patch(("clusterqueue", queue.name), {"spec": {"queueingStrategy": "BestEffortFIFO"}}),
            target=Subject("queue", "", queue.name),
            records=((Kind.CLUSTER_QUEUE, then),),
        )


def _held(desk: Desk, other: Subject) -> Records:
    """The Workload of a job that waits, as it reads once the job is suspended."""
    job = job_of(other, desk.view)
    found: Workload | None = (
        desk.view.store.get(Kind.WORKLOAD, job.workload_uid) if job is not None and job.workload_uid else None
    )
    return () if found is None else ((Kind.WORKLOAD, msgspec.structs.replace(found, is_active=False)),)


def without_the_one_before(desk: Desk, blocker: Finding) -> ChangeOffers:
    """The job whose pods do not become ready, for which all others wait, is suspended."""
    other = _other(blocker.fact("other"))
    if other is not None:
        words = f"suspend {short(other.key)}, whose pods are not ready"
        yield made(desk, OTHERS, "suspend", words, (other.key,), verb="job.suspend", target=other)


def laxer_topology(desk: Desk, blocker: Finding) -> ChangeOffers:
    """One place is preferred instead of required."""
    tree = own_object(desk)
    found: list[dict[str, Any]] = []
    for pointer, held in _annotations(tree, ""):
        for key, value in held.items():
            if key.endswith(f"/{_REQUIRED}"):
                other = key.removesuffix(_REQUIRED) + _PREFERRED
                found.append({"op": "remove", "path": pointer + pointed(key)})
                found.append({"op": "add", "path": pointer + pointed(other), "value": value})
    words = f"made anew with topology {short(blocker.fact('topology'))} preferred, not required"
    yield from edit_offer(desk, OWN_LINE, "prefer_topology", words, found)


def _annotations(node: Any, pointer: str) -> list[tuple[str, Mapping[str, str]]]:
    """Annotations of every pod template, with the pointer to them."""
    if not isinstance(node, Mapping):
        return []
    found: list[tuple[str, Mapping[str, str]]] = []
    for key, value in node.items():
        if key == "template" and isinstance(value, Mapping):
            held = (value.get("metadata") or {}).get("annotations")
            if isinstance(held, Mapping):
                found.append((f"{pointer}/template/metadata/annotations", held))
        elif key not in ("status", "metadata"):
            found += _annotations(value, pointer + pointed(str(key)))
    return found


def group_of_its_size(desk: Desk, blocker: Finding) -> ChangeOffers:
    """The group that the pods name is created, or asks for as many pods as there are."""
    job, pods = desk.wanted.job, desk.wanted.pods
    names = {pod.gang for pod in pods}
    if job is None or len(names) != 1 or not (name := names.pop()):
        return
    spec = _group_spec(job.engine, len(pods))
    if spec is None:
        return
    api_version, wanted = spec
    space = desk.wanted.namespace
    group: PodGroup | None = desk.view.store.by_key(Kind.POD_GROUP, f"{space}/{name}")
    target = Subject("gang", space, name)
    if group is None:
        metadata = {"name": name, "namespace": space}
        manifest = {"apiVersion": api_version, "kind": "PodGroup", "metadata": metadata, "spec": wanted}
        words = f"create pod group {short(name)} of {len(pods)} in {short(space)}"
        yield made(desk, FREE + 2, "create", words, applied(manifest), target=target)
    elif group.min_member is not None and group.min_member > len(pods) and _MINIMUM in wanted:
        # where the minimum stands elsewhere (KEP-4671) the server lets nobody change it
        resource = f"podgroups.{group.api_version.rpartition('/')[0]}"
        words = (
            f"let group {short(name)} start with {counted(len(pods), 'pod')} instead of {group.min_member}"
        )
        command = merge_patch((resource, name, "-n", space), {"spec": {_MINIMUM: len(pods)}})
        yield made(desk, OWN_LINE, "smaller_group", words, command, target=target)


def _group_spec(engine: str, members: int) -> tuple[str, dict[str, Any]] | None:
    """(apiVersion, spec) of a group of so many pods, as the engine attaches one to a job."""
    container = {"name": "main", "image": "none"}
    pod = {"restartPolicy": "Never", "containers": [container]}
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "any"},
        "spec": {"parallelism": members, "completions": members, "template": {"spec": pod}},
    }
    try:
        before = registry.engine_named(engine).attach(job).before
    except (BadInput, NotImplementedError):
        return None
    return (before[0]["apiVersion"], json.loads(json.dumps(before[0]["spec"]))) if before else None


ADMISSIONS: Final[Mapping[str, Callable[[Desk, Finding], ChangeOffers]]] = {
    Cause.SUSPENDED_BY_HAND: resumed,
    Cause.SWITCHED_OFF: resumed,
    Cause.LAUNCHER_NOT_MADE: group_of_its_size,
    Cause.NO_FLAVOR_FITS: flavor_for_it,
    Cause.QUEUE_UNUSABLE: usable_queue,
    Cause.ADMISSION_CHECK: passed_check,
    Cause.OTHERS_NOT_READY: without_the_one_before,
    Cause.TOPOLOGY_FULL: laxer_topology,
    Cause.ADMISSION_GATED: ungated,
    Cause.BEHIND_THE_HEAD: past_the_head,
    Cause.GANG_MEMBERS_MISSING: group_of_its_size,
    Cause.GANG_MISSING: group_of_its_size,
}
"""By the cause that they mend."""
