"""What an engine waits for before it lets a job in, and who can give it: a flavor, a label, a check, a place
at the head of the queue, a group of the right size."""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from cockpit.catalogue.cause import Cause
from cockpit.errors import BadInput
from cockpit.fit.shape import Part
from cockpit.fit.what_if import WhatIf
from cockpit.gangs import registry
from cockpit.gangs.sentence import counted
from cockpit.k8s.gpu_resources import resource_word
from cockpit.k8s.json_patch import pointed
from cockpit.model.gang import PodGroup, QuotaRow, Workload
from cockpit.model.record import Kind
from cockpit.triage.changes.job_edits import edit_offer, in_each, own_object
from cockpit.triage.changes.line_drops import DROPS, toleration
from cockpit.triage.changes.offer import (
    FREE,
    MONEY,
    OTHERS,
    OWN_LINE,
    ChangeOffer,
    ChangeOffers,
    Desk,
    Records,
    applied,
    cockpit,
    json_patch,
    merge_patch,
    short,
)
from cockpit.triage.verdict import Change, Subject, Verdict
from cockpit.triage.wanted import Tree, job_of, tree_of

_REQUIRED: Final = "podset-required-topology"
_PREFERRED: Final = "podset-preferred-topology"
_MINIMUM: Final = "minMember"
_GATED_BY: Final = "admission-gated-by"


def _queue_tree(desk: Desk) -> Tree | None:
    queue = desk.queue
    return None if queue is None else tree_of(desk.view, "ClusterQueue", "", queue.name)


def _of_queue(desk: Desk) -> Subject | None:
    return None if desk.queue is None else Subject("queue", "", desk.queue.name)


def flavor_for_it(desk: Desk, verdict: Verdict) -> ChangeOffers:
    """The job tolerates the flavor's taint, or the queue covers the resource."""
    if taint := verdict.fact("taint"):
        found = in_each(desk, lambda place: toleration(place, taint))
        offer = edit_offer(desk, OWN_LINE + 2, "tolerate", f"made anew tolerating the taint {taint}", found)
        if offer is not None:
            yield offer
    if selector := verdict.fact("selector"):
        found = in_each(desk, lambda place: DROPS["drop_selector"](place, selector))
        words = f"made anew without the node selector {selector}"
        offer = edit_offer(desk, OWN_LINE + 4, "drop_selector", words, found)
        then = None if offer is None else _on_its_nodes(desk, verdict.fact("flavor"), offer.then)
        if offer is not None and then is not None and then.starts(desk.view.store):
            yield offer._replace(then=then)
    yield from _covered(desk, verdict.fact("resource"))


def _on_its_nodes(desk: Desk, name: str, then: WhatIf) -> WhatIf | None:
    """The same with what the flavor adds to each pod: the labels of its nodes; None where it was not read."""
    kind = None if desk.queue is None else registry.engine_of_queue(desk.queue).flavor_kind
    tree = None if kind is None else tree_of(desk.view, kind[1], "", name)
    if tree is None:
        return None
    labels = tuple(((tree.get("spec") or {}).get("nodeLabels") or {}).items())
    parts = tuple(
        Part(
            one.role,
            one.count,
            msgspec.structs.replace(one.shape, node_selector=(*one.shape.node_selector, *labels)),
        )
        for one in then.parts
    )
    return msgspec.structs.replace(then, parts=parts)


def _covered(desk: Desk, resource: str) -> ChangeOffers:
    """Quota of a resource that the queue does not cover, as much as the job asks for."""
    tree, queue = _queue_tree(desk), desk.queue
    groups = [] if tree is None else (tree.get("spec") or {}).get("resourceGroups") or []
    amount = sum(dict(one.shape.requests).get(resource, 0) * one.count for one in desk.wanted.parts)
    if queue is None or not amount or len(groups) != 1 or resource in groups[0].get("coveredResources", ()):
        return
    quota = {"name": resource, "nominalQuota": str(amount)}
    flavors = groups[0].get("flavors") or []
    change = Change(
        kind="raise_quota",
        words=f"give {short(queue.name)} a quota of {amount} {resource_word(resource, amount)}",
        command=json_patch(
            ("clusterqueue", queue.name),
            {"op": "add", "path": "/spec/resourceGroups/0/coveredResources/-", "value": resource},
            *(
                {"op": "add", "path": f"/spec/resourceGroups/0/flavors/{at}/resources/-", "value": quota}
                for at in range(len(flavors))
            ),
        ),
        target=_of_queue(desk),
    )
    rows = tuple(QuotaRow(str(one.get("name")), resource, amount, used=0, reserved=0) for one in flavors)
    records = ((Kind.CLUSTER_QUEUE, msgspec.structs.replace(queue, quotas=(*queue.quotas, *rows))),)
    yield ChangeOffer(MONEY + amount, change, msgspec.structs.replace(desk.base, records=records))


def usable_queue(desk: Desk, verdict: Verdict) -> ChangeOffers:
    """The one flavor that the queue names and that does not exist is created, or the namespace gets the
    labels that the queue asks of it."""
    queue, space = desk.queue, desk.wanted.namespace
    if queue is None:
        return
    yield from _flavor(desk)
    chosen = ((_queue_tree(desk) or {}).get("spec") or {}).get("namespaceSelector") or {}
    labels = chosen.get("matchLabels") or {}
    if not labels or chosen.get("matchExpressions"):
        return
    pairs = [f"{key}={value}" for key, value in sorted(labels.items())]
    change = Change(
        kind="label_namespace",
        words=f"label namespace {short(space)} {' '.join(pairs)}: {short(queue.name)} takes no other",
        command=("kubectl", "label", "namespace", space, *pairs, "--overwrite"),
        target=Subject("namespace", "", space),
    )
    yield ChangeOffer(OWN_LINE, change, desk.base)


def _flavor(desk: Desk) -> ChangeOffers:
    queue = desk.queue
    kind = None if queue is None else registry.engine_of_queue(queue).flavor_kind
    if queue is None or kind is None:
        return
    told = next((one for one in queue.conditions if one.type == "Active"), None)
    named = sorted({row.flavor for row in queue.quotas})
    known = {one["metadata"]["name"] for one in desk.view.trees.get((kind[1], ""), ())}
    missing = [name for name in named if name not in known] if known else named
    if told is None or told.status != "False" or told.reason != "FlavorNotFound" or len(missing) != 1:
        return
    (name,) = missing
    manifest = {"apiVersion": kind[0], "kind": kind[1], "metadata": {"name": name}}
    change = Change(
        kind="create",
        words=f"create {kind[1]} {short(name)}, of any node",
        command=applied(manifest),
        target=Subject("flavor", "", name),
    )
    open_ = tuple(one for one in queue.conditions if one.type != "Active")
    records = ((Kind.CLUSTER_QUEUE, msgspec.structs.replace(queue, conditions=open_)),)
    yield ChangeOffer(FREE + 3, change, msgspec.structs.replace(desk.base, records=records))


def _workload(desk: Desk) -> tuple[Workload, str] | None:
    """What stands for the job with its engine, and its kind as kubectl has it."""
    job = desk.wanted.job
    found: Workload | None = (
        desk.view.store.get(Kind.WORKLOAD, job.workload_uid) if job is not None and job.workload_uid else None
    )
    kind = None if found is None else registry.engine_of_workload(found).workload_kind
    if found is None or kind is None:
        return None
    group = kind[0].rpartition("/")[0]
    return found, f"{kind[1].lower()}s.{group}"


def passed_check(desk: Desk, verdict: Verdict) -> ChangeOffers:
    """Somebody who may do so says for the check's controller that this one job is ready."""
    known, name = _workload(desk), verdict.fact("check")
    if known is None or not name:
        return
    workload, kind = known
    at = next((number for number, one in enumerate(workload.checks) if one.name == name), None)
    if at is None or any(one.state != "Ready" for one in workload.checks if one.name != name):
        return
    words = (kind, workload.name, "-n", workload.namespace, "--subresource=status")
    place = f"/status/admissionChecks/{at}/state"
    change = Change(
        kind="pass_check",
        words=f"say Ready for admission check {short(name)}, if whoever runs it agrees",
        command=json_patch(words, {"op": "replace", "path": place, "value": "Ready"}),
        target=desk.wanted.subject,
    )
    yield ChangeOffer(OTHERS, change, desk.base)


def ungated(desk: Desk, verdict: Verdict) -> ChangeOffers:
    """The annotation by which a controller holds the job is taken off."""
    known = _workload(desk)
    if known is None:
        return
    workload, kind = known
    engine = registry.engine_of_workload(workload)
    own = None if engine.workload_kind is None else engine.workload_kind[0].rpartition("/")[0]
    change = Change(
        kind="drop_gate",
        words=f"without the hold of {short(verdict.fact('holder'))}, if it agrees",
        command=("kubectl", "annotate", kind, workload.name, "-n", workload.namespace, f"{own}/{_GATED_BY}-"),
        target=desk.wanted.subject,
    )
    yield ChangeOffer(OTHERS, change, desk.base)


def _other(text: str) -> Subject | None:
    space, slash, name = text.partition("/")
    return Subject("job", space, name) if slash else None


def past_the_head(desk: Desk, verdict: Verdict) -> ChangeOffers:
    """The head of the queue steps aside, or the queue lets those pass that fit."""
    head, queue = _other(verdict.fact("head")), desk.queue
    if head is not None:
        change = Change(
            kind="suspend",
            words=f"suspend {short(head.key)}, which is first in line",
            verb="job.suspend",
            command=cockpit("job.suspend", head.key),
            target=head,
        )
        yield ChangeOffer(OTHERS, change, msgspec.structs.replace(desk.base, records=_held(desk, head)))
    if queue is not None and queue.strategy == "StrictFIFO":
        then = msgspec.structs.replace(queue, strategy="BestEffortFIFO")
        change = Change(
            kind="let_pass",
            words=f"let jobs that fit pass the head of {short(queue.name)} (BestEffortFIFO)",
            command=merge_patch(
                ("clusterqueue", queue.name), {"spec": {"queueingStrategy": "BestEffortFIFO"}}
            ),
            target=_of_queue(desk),
        )
        records = ((Kind.CLUSTER_QUEUE, then),)
        yield ChangeOffer(MONEY, change, msgspec.structs.replace(desk.base, records=records))


def _held(desk: Desk, other: Subject) -> Records:
    """The Workload of a job that waits, as it reads once the job is suspended."""
    job = job_of(other, desk.view)
    found: Workload | None = (
        desk.view.store.get(Kind.WORKLOAD, job.workload_uid) if job is not None and job.workload_uid else None
    )
    return () if found is None else ((Kind.WORKLOAD, msgspec.structs.replace(found, is_active=False)),)


def without_the_one_before(desk: Desk, verdict: Verdict) -> ChangeOffers:
    """The job whose pods do not become ready, for which all others wait, is suspended."""
    other = _other(verdict.fact("other"))
    if other is None:
        return
    change = Change(
        kind="suspend",
        words=f"suspend {short(other.key)}, whose pods are not ready",
        verb="job.suspend",
        command=cockpit("job.suspend", other.key),
        target=other,
    )
    yield ChangeOffer(OTHERS, change, desk.base)


def laxer_topology(desk: Desk, verdict: Verdict) -> ChangeOffers:
    """One place is preferred instead of required."""
    tree = own_object(desk)
    found: list[dict[str, Any]] = []
    for pointer, held in _annotations(tree, ""):
        for key, value in held.items():
            if key.endswith(f"/{_REQUIRED}"):
                other = key.removesuffix(_REQUIRED) + _PREFERRED
                found.append({"op": "remove", "path": pointer + pointed(key)})
                found.append({"op": "add", "path": pointer + pointed(other), "value": value})
    words = f"made anew with topology {short(verdict.fact('topology'))} preferred, not required"
    offer = edit_offer(desk, OWN_LINE, "prefer_topology", words, found)
    if offer is not None:
        yield offer


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


def group_of_its_size(desk: Desk, verdict: Verdict) -> ChangeOffers:
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
        change = Change(kind="create", words=words, command=applied(manifest), target=target)
        yield ChangeOffer(FREE + 2, change, desk.base)
    elif group.min_member is not None and group.min_member > len(pods) and _MINIMUM in wanted:
        # where the minimum stands elsewhere (KEP-4671) the server lets nobody change it
        resource = f"podgroups.{group.api_version.rpartition('/')[0]}"
        fewer = f"{counted(len(pods), 'pod')} instead of {group.min_member}"
        change = Change(
            kind="smaller_group",
            words=f"let group {short(name)} start with {fewer}",
            command=merge_patch((resource, name, "-n", space), {"spec": {_MINIMUM: len(pods)}}),
            target=target,
        )
        yield ChangeOffer(OWN_LINE, change, desk.base)


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
        made = registry.engine_named(engine).attach(job).before
    except (BadInput, NotImplementedError):
        return None
    return (made[0]["apiVersion"], json.loads(json.dumps(made[0]["spec"]))) if made else None


ADMISSIONS: Final[Mapping[str, Callable[[Desk, Verdict], ChangeOffers]]] = {
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
"""By the row of the catalogue that the verdict names."""
