"""A job with other lines or of another size: what has to be changed in its object, the job as it would then
be, and the command that makes it so. Templates of pods may not be changed while a job is there, so it is
recreated."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from cockpit.fit.demand import asked_of
from cockpit.fit.shape import Part
from cockpit.gangs import registry
from cockpit.gangs.sentence import counted
from cockpit.jobs.clone import as_written
from cockpit.jobs.planned import planned_gang
from cockpit.k8s.gpu_resources import resource_word
from cockpit.k8s.json_patch import Operation, Operations, edited, pointed
from cockpit.model.finding import Subject
from cockpit.model.job import Job
from cockpit.triage.changes.in_line import turn_of
from cockpit.triage.changes.offer import OWN_SIZE, ChangeOffer, ChangeOffers, Desk, made, member_word
from cockpit.triage.context import ClusterView, Tree

_MUTABLE: Final = ("Deployment", "StatefulSet", "DaemonSet")
"""Kinds whose controllers roll out another template by themselves."""


class PodSpecPlace(NamedTuple):
    """A pod spec within an object, and the JSON pointer to it."""

    pointer: str
    spec: Tree

    def containers(self) -> Iterator[tuple[str, Tree]]:
        """Each container, init containers too, with the pointer to it."""
        for field in ("initContainers", "containers"):
            for at, one in enumerate(self.spec.get(field) or ()):
                if isinstance(one, Mapping):
                    yield f"{self.pointer}/{field}/{at}", one


def pod_spec_places(tree: Tree) -> list[PodSpecPlace]:
    """Every pod spec of an object."""
    return list(_below(tree, ""))


def _below(node: Any, pointer: str) -> Iterator[PodSpecPlace]:
    if isinstance(node, Mapping):
        spec = node.get("spec")
        if isinstance(spec, Mapping) and isinstance(spec.get("containers"), list):
            yield PodSpecPlace(f"{pointer}/spec", spec)
            return
        for key, value in node.items():
            if key not in ("status", "metadata"):
                yield from _below(value, pointer + pointed(str(key)))
    elif isinstance(node, list):
        for at, value in enumerate(node):
            yield from _below(value, f"{pointer}/{at}")


def own_object(desk: Desk) -> Tree | None:
    """What the author of the subject's object wrote (the job's, a bare pod's); None where that was not
    read."""
    tree = desk.wanted.tree
    if tree is None or desk.is_anew or tree["kind"] in _MUTABLE:
        return tree
    return authored(tree, desk.wanted.job, desk.view)


def authored(tree: Tree, job: Job | None, view: ClusterView) -> Tree:
    """What the author of a job's object wrote: that is what a job is recreated from."""
    workload = registry.workload_of(job, view.store)
    if workload is None:
        return as_written(tree)
    return as_written(tree, view.tree("Workload", workload.namespace, workload.name))


def needs_spare(tree: Tree) -> bool:
    """Whether another template is rolled out only with one pod more than are wanted: that of a Deployment of
    which none may be missing (deployment/rolling.go; 25% may be where nothing is written)."""
    spec = tree.get("spec") or {}
    strategy = spec.get("strategy") or {}
    if tree.get("kind") != "Deployment" or strategy.get("type") == "Recreate":
        return False
    most = str((strategy.get("rollingUpdate") or {}).get("maxUnavailable", "25%"))
    share = int(most.removesuffix("%")) if most.removesuffix("%").isdigit() else 0
    return not (share * int(spec.get("replicas", 1)) // 100 if most.endswith("%") else share)


def with_spare(parts: Sequence[Part], desk: Desk) -> tuple[Part, ...]:
    """What has yet to be made of a Deployment that is rolled out, where these are all of its pods."""
    job = desk.wanted.job
    members = () if job is None else desk.view.jobs.members(job.key)
    there = sum(not one.is_finished for one in members)
    first, *others = parts
    return (replace(first, count=first.count + 1 - there), *others)


def edit_command(tree: Tree, operations: Operations, name: str) -> tuple[str, ...]:
    """The object with the operations done: patched where its controller follows, else recreated. `name` is
    that of its job as verbs take it."""
    meta, text = tree["metadata"], json.dumps(list(operations), separators=(",", ":"))
    if tree["kind"] not in _MUTABLE:
        return ("cockpit", "job", "recreate", name, *(("--patch", text) if text != "[]" else ()), "--write")
    group = str(tree["apiVersion"]).rpartition("/")[0]
    kind = str(tree["kind"]).lower() + (f".{group}" if group else "")
    where = ("-n", str(meta["namespace"])) if meta.get("namespace") else ()
    return ("kubectl", "patch", kind, meta["name"], *where, "--type=json", "-p", text)


def verb_of_edit(tree: Tree) -> str:
    """The verb that `edit_command` runs, "" where kubectl does it."""
    return "" if tree["kind"] in _MUTABLE else "job.recreate"


def edit_offer(  # noqa: PLR0917 - what an offer is, and of what
    desk: Desk, cost: int, kind: str, words: str, operations: Operations, target: Subject | None = None
) -> ChangeOffers:
    """The offer to give the job other lines (`without the host port 80`); none where its object was not read,
    or has no such lines. A job that exists is recreated with them."""
    tree, found = own_object(desk), list(operations)
    then_tree = edited(tree, found) if tree is not None and found else None
    parts = () if then_tree is None else planned_gang(then_tree, desk.wanted.namespace)
    if tree is None or then_tree is None or not parts:
        return
    after: dict[str, Any] = {"target": target, "tree": then_tree, "parts": parts, "without": own_pods(desk)}
    if desk.wanted.is_planned:
        yield made(desk, cost, kind, words, **after)
        return
    job = desk.wanted.job
    command = edit_command(tree, found, desk.name if job is not None else f"pod/{desk.name}")
    offer = made(desk, cost, kind, f"made anew {words}", command, **after)
    yield offer._replace(change=replace(offer.change, verb=verb_of_edit(tree)))


def in_each(desk: Desk, lines: Callable[[PodSpecPlace], Operations]) -> list[Operation]:
    """The operations that each pod spec of the job needs."""
    tree = own_object(desk)
    return [] if tree is None else [one for place in pod_spec_places(tree) for one in lines(place)]


def edit_each(  # noqa: PLR0917 - what an offer is, and of what
    desk: Desk,
    cost: int,
    kind: str,
    words: str,
    lines: Callable[[PodSpecPlace], Operations],
    target: Subject | None = None,
) -> ChangeOffers:
    """The same of the operations that each pod spec of the job needs."""
    return edit_offer(desk, cost, kind, words, in_each(desk, lines), target)


def own_pods(desk: Desk) -> frozenset[str]:
    """Pods of the job, which go where it is made anew."""
    job = desk.wanted.job
    members = () if job is None else desk.view.jobs.members(job.key)
    return frozenset(one.uid for one in members)


def fewer_gpus(desk: Desk, part: Part, less: Part) -> ChangeOffer:
    """With fewer GPUs for each member of a part."""
    each, before = less.shape.gpus, part.shape.gpus
    words = f"{each} {resource_word(part.shape.gpu_resource, each)} instead of {before}"
    if part.count > 1:
        words += f" for each of its {counted(part.count, member_word(part.role))}"
    cost = OWN_SIZE + (before - each) * part.count
    command = (desk.name, "--gpus", str(each))
    return made(desk, cost, "fewer_gpus", words, command, verb="job.clone", parts=_with(desk, part, less))


def fewer_members(desk: Desk, part: Part, less: Part) -> ChangeOffer:
    """With fewer members of a part; those that have a node stay."""
    job = desk.wanted.job
    there = 0 if job is None or job.wanted is None else max(0, job.wanted - part.count)
    after = there + less.count
    # only these kinds may change their size after creation without being elastic (jobs' own rules)
    is_job = job is not None and job.kind == "Job" and job.api_version == "batch/v1"
    resizes = is_job and bool(desk.wanted.pods)
    flag = ("--to", str(after)) if resizes else ("--workers", str(after))
    words = f"{counted(after, member_word(part.role))} instead of {there + part.count}"
    cost = OWN_SIZE + (part.count - less.count) * max(1, part.shape.gpus)
    verb = "job.scale" if resizes else "job.clone"
    return made(
        desk, cost, "fewer_members", words, (desk.name, *flag), verb=verb, parts=_with(desk, part, less)
    )


def _with(desk: Desk, part: Part, less: Part) -> tuple[Part, ...]:
    return tuple(less if one is part else one for one in desk.wanted.parts)


def smaller_for_quota(desk: Desk) -> ChangeOffers:
    """As many members as the queue's quota holds."""
    is_known = desk.wanted.job is not None or desk.wanted.is_planned
    if not is_known or len(desk.wanted.parts) != 1 or desk.wanted.pods:
        return
    (part,) = desk.wanted.parts
    one = asked_of((Part(part.role, 1, part.shape),))
    turn = turn_of(desk, desk.base, is_last=True)
    lacks = [each for each in turn.lacks if one.get(each.resource) and not turn.behind]
    count = min((each.left // one[each.resource] for each in lacks if each.flavor), default=0)
    if 0 < count < part.count:
        yield fewer_members(desk, part, Part(part.role, count, part.shape))


_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"


def _remove(path: str) -> Operation:
    return {"op": "remove", "path": path}


def added(path: str, value: Any) -> Operation:
    """The operation that adds it."""
    return {"op": "add", "path": path, "value": value}


def _selector(place: PodSpecPlace, detail: str) -> Iterator[Operation]:
    key, _, value = detail.partition("=")
    if (place.spec.get("nodeSelector") or {}).get(key) == value:
        yield _remove(f"{place.pointer}/nodeSelector{pointed(key)}")


def _affinity(place: PodSpecPlace, detail: str) -> Iterator[Operation]:
    if _REQUIRED in ((place.spec.get("affinity") or {}).get("nodeAffinity") or {}):
        yield _remove(f"{place.pointer}/affinity/nodeAffinity/{_REQUIRED}")


def toleration(place: PodSpecPlace, detail: str) -> Iterator[Operation]:
    """Of every taint with that key."""
    wanted = {"key": detail.partition("=")[0], "operator": "Exists"}
    if place.spec.get("tolerations"):
        yield added(f"{place.pointer}/tolerations/-", wanted)
    else:
        yield added(f"{place.pointer}/tolerations", [wanted])


def _node_name(place: PodSpecPlace, detail: str) -> Iterator[Operation]:
    if place.spec.get("nodeName"):
        yield _remove(f"{place.pointer}/nodeName")


def _port(place: PodSpecPlace, detail: str) -> Iterator[Operation]:
    for pointer, container in place.containers():
        for at, one in enumerate(container.get("ports") or ()):
            if str(one.get("hostPort", "")) == detail:
                yield _remove(f"{pointer}/ports/{at}/hostPort")


def _terms(kind: str, place: PodSpecPlace, detail: str) -> Iterator[Operation]:
    """From the last on, so that the places of those before stay."""
    held = ((place.spec.get("affinity") or {}).get(kind) or {}).get(_REQUIRED) or ()
    for at, one in reversed(list(enumerate(held))):
        if not detail or one.get("topologyKey") == detail:
            yield _remove(f"{place.pointer}/affinity/{kind}/{_REQUIRED}/{at}")


def _spread(place: PodSpecPlace, detail: str) -> Iterator[Operation]:
    for at, one in enumerate(place.spec.get("topologySpreadConstraints") or ()):
        if one.get("topologyKey") == detail and one.get("whenUnsatisfiable") == "DoNotSchedule":
            path = f"{place.pointer}/topologySpreadConstraints/{at}/whenUnsatisfiable"
            yield {"op": "replace", "path": path, "value": "ScheduleAnyway"}


DROPS: Final[Mapping[str, Callable[[PodSpecPlace, str], Iterator[Operation]]]] = {
    "drop_selector": _selector,
    "drop_affinity": _affinity,
    "tolerate": toleration,
    "unpin": _node_name,
    "drop_port": _port,
    "drop_apart": partial(_terms, "podAntiAffinity"),
    "drop_near": lambda place, _: _terms("podAffinity", place, ""),
    "drop_spread": _spread,
}
"""By the kind of a remedy of the fit, whose `detail` says which line is meant."""


def other_selector(place: PodSpecPlace, key: str, value: str) -> Iterator[Operation]:
    """The same selector with another value."""
    if key in (place.spec.get("nodeSelector") or {}):
        yield {"op": "replace", "path": f"{place.pointer}/nodeSelector{pointed(key)}", "value": value}


def other_request(place: PodSpecPlace, resource: str, amount: str) -> Iterator[Operation]:
    """The container that asks for most of a resource asks for so much of it."""
    for pointer, container in place.containers():
        held = container.get("resources") or {}
        for field in ("requests", "limits"):
            if resource in (held.get(field) or {}):
                path = f"{pointer}/resources/{field}{pointed(resource)}"
                yield {"op": "replace", "path": path, "value": amount}


def other_resource(place: PodSpecPlace, before: str, after: str, amount: str) -> Iterator[Operation]:
    """Another resource in the place of one that is asked for."""
    for pointer, container in place.containers():
        held = container.get("resources") or {}
        for field in ("requests", "limits"):
            if before in (held.get(field) or {}):
                yield _remove(f"{pointer}/resources/{field}{pointed(before)}")
                yield added(f"{pointer}/resources/{field}{pointed(after)}", amount)


def field_removed(place: PodSpecPlace, field: str) -> Iterator[Operation]:
    """Without a field of the pod spec."""
    if field in place.spec:
        yield _remove(f"{place.pointer}{pointed(field)}")
