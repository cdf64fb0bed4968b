"""What the API server or a controller refuses in a job's object, and the change that it would take: another
line, another name, a class that is created, a label of the namespace, more of a ResourceQuota."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from cockpit.catalogue.cause import Cause
from cockpit.fit.demand import asked_of
from cockpit.fit.remedies import with_gpus
from cockpit.fit.shape import Part
from cockpit.gangs import registry
from cockpit.gangs.wording import short
from cockpit.jobs.planned import planned_gang
from cockpit.k8s.gpu_resources import is_gpu_resource, resource_word
from cockpit.k8s.json_patch import Operation, pointed
from cockpit.k8s.kubectl import applied, json_patch, merge_patch
from cockpit.k8s.quantity import amounts_of, parse_quantity
from cockpit.model.finding import Finding, Subject
from cockpit.model.record import Kind
from cockpit.triage.changes.job_edits import (
    PodSpecPlace,
    added,
    edit_each,
    edit_offer,
    fewer_gpus,
    field_removed,
    in_each,
    needs_spare,
    other_request,
    other_resource,
    own_object,
    with_spare,
)
from cockpit.triage.changes.offer import (
    FREE,
    MONEY,
    OTHERS,
    OWN_LINE,
    OWN_SIZE,
    ChangeOffer,
    ChangeOffers,
    Desk,
    amount_text,
    made,
)
from cockpit.triage.context import Tree
from cockpit.triage.room import amount_words

_LONGEST_NAME: Final = 40
"""Leaves room for what controllers put behind it: 63 in all."""
_ENFORCED: Final = "pod-security.kubernetes.io/enforce"
_PER_POD: Final = ("limits.", "requests.")
_HOST_FIELDS: Final = ("hostNetwork", "hostPID", "hostIPC")


def limits_stated(desk: Desk, blocker: Finding) -> ChangeOffers:
    """The limits or requests that a quota demands: as much as is requested already."""
    trees = desk.view.trees.get(("ResourceQuota", desk.wanted.namespace), ())
    quota = next((one for one in trees if one["metadata"].get("name") == blocker.fact("quota")), {})
    fields = [one for one in (quota.get("spec") or {}).get("hard") or () if one.startswith(_PER_POD)]

    def lines(place: PodSpecPlace) -> Iterator[Operation]:
        for pointer, container in place.containers():
            held = container.get("resources") or {}
            for side, _, resource in (one.partition(".") for one in fields):
                other = (held.get("limits" if side == "requests" else "requests") or {}).get(resource)
                if other is None or resource in (held.get(side) or {}):
                    continue
                if side in held:
                    yield added(f"{pointer}/resources/{side}{pointed(resource)}", other)
                else:
                    yield added(f"{pointer}/resources/{side}", {resource: other})

    found = in_each(desk, lines)
    if not _within(quota, fields, found, desk):
        return
    amounts = " and ".join(f"{field} {_stated(one)}" for field, one in zip(fields, found, strict=False))
    yield from edit_offer(desk, OWN_LINE, "state_limits", f"with {amounts}", found)


def _within(quota: Mapping[str, Any], fields: list[str], found: list[Operation], desk: Desk) -> bool:
    """Whether the quota has room for what would be stated."""
    members = sum(one.count for one in desk.wanted.parts)
    hard, used = quota["spec"]["hard"], (quota.get("status") or {}).get("used") or {}
    for field, one in zip(fields, found, strict=False):
        asked = parse_quantity(_stated(one)) * members
        if asked > parse_quantity(hard[field]) - parse_quantity(used.get(field, "0")):
            return False
    return bool(found)


def _stated(one: Operation) -> str:
    value = one["value"]
    return value if isinstance(value, str) else str(next(iter(value.values())))


def within_range(desk: Desk, blocker: Finding) -> ChangeOffers:
    """A container that asks for what the LimitRange allows."""
    resource, bound, asked = (blocker.fact(one) for one in ("resource", "bound", "asked"))
    if not resource or not bound or blocker.fact("whom") not in ("Container", "Pod"):
        return
    unit = resource_word(resource, 1 if bound == "1" else 2)
    words, lines = (
        f"with {bound} {unit} instead of {asked}",
        partial(other_request, resource=resource, amount=bound),
    )
    yield from edit_each(desk, OWN_SIZE, "within_range", words, lines)


def laxer_namespace(desk: Desk, blocker: Finding) -> ChangeOffers:
    """The namespace's Pod Security level that such pods need: an admin's decision, so it comes last."""
    tree, space = own_object(desk), desk.wanted.namespace
    if tree is None:
        return
    needs: list[Operation] = in_each(desk, _beyond_baseline)
    level = "privileged" if needs else "baseline"
    if level == blocker.fact("level"):
        return
    words = f"let namespace {short(space)} run {level} pods (Pod Security)"
    command = ("kubectl", "label", "namespace", space, f"{_ENFORCED}={level}", "--overwrite")
    yield made(desk, OTHERS, "pod_security", words, command, target=Subject("namespace", "", space))


def _beyond_baseline(place: PodSpecPlace) -> Iterator[Operation]:
    """Something for each line of a spec that the level *baseline* forbids (pod-security-admission
    policy/check_*.go)."""
    spec = place.spec
    for field in _HOST_FIELDS:
        yield from field_removed(place, field) if spec.get(field) else ()
    for volume in spec.get("volumes") or ():
        if "hostPath" in volume:
            yield {"op": "test", "path": place.pointer}
    for pointer, container in place.containers():
        if (container.get("securityContext") or {}).get("privileged"):
            yield {"op": "test", "path": pointer}
        if any(one.get("hostPort") for one in container.get("ports") or ()):
            yield {"op": "test", "path": pointer}


def queue_priority(desk: Desk, blocker: Finding) -> ChangeOffers:
    """The queue's priority class that the job names is created, or the job names none."""
    kind, name = blocker.fact("kind"), blocker.fact("priority_class")
    job = desk.wanted.job
    for engine in registry.engines_by_quota():
        priority = engine.priority
        if priority is None or priority.kind[1] != kind or not name or job is None:
            continue
        version = priority.kind[0]
        manifest = {"apiVersion": version, "kind": kind, "metadata": {"name": name}, "value": 0}
        words = f"create {kind} {short(name)} of priority 0"
        target = Subject(kind.lower(), "", name)
        yield made(desk, FREE + 2, "create", words, applied(manifest), target=target)
        labels = ((own_object(desk) or {}).get("metadata") or {}).get("labels") or {}
        gone: tuple[Operation, ...] = ()
        if priority.label in labels:  # off a job that is there its webhook takes no label
            gone = ({"op": "remove", "path": "/metadata/labels" + pointed(priority.label)},)
        words = f"without the {kind} {short(name)}"
        yield from edit_offer(desk, OWN_LINE, "drop_priority", words, gone)


def own_controller(desk: Desk, blocker: Finding) -> ChangeOffers:
    """A job that is left to a controller which does nothing goes back to the usual one."""
    tree = own_object(desk)
    if tree is None or "managedBy" not in (tree.get("spec") or {}):
        return
    words = f"without managedBy {short(blocker.fact('manager'))}"
    found = ({"op": "remove", "path": "/spec/managedBy"},)
    yield from edit_offer(desk, OWN_LINE, "drop_manager", words, found)


def other_name(desk: Desk, blocker: Finding) -> ChangeOffers:
    """The same job under a name that is short enough, or that nobody has taken."""
    job = desk.wanted.job
    if job is None:
        return
    name = job.name if len(job.name) <= _LONGEST_NAME else job.name[:_LONGEST_NAME].rstrip("-.")
    taken = {one.name for one in desk.view.jobs.jobs.values() if one.namespace == job.namespace}
    number = 2
    while name in taken:
        name, number = f"{job.name[: _LONGEST_NAME - 3].rstrip('-.')}-{number}", number + 1
    command = (desk.name, "--name", name)
    yield made(desk, OWN_LINE, "other_name", f"submitted again as {short(name)}", command, verb="job.clone")


def usual_scheduler(desk: Desk, blocker: Finding) -> ChangeOffers:
    """Placed by the scheduler that is there."""
    words = f"for the default scheduler instead of {short(blocker.fact('scheduler'))}"
    lines = partial(field_removed, field="schedulerName")
    yield from edit_each(desk, OWN_LINE, "usual_scheduler", words, lines)


def without_gate(desk: Desk, blocker: Finding) -> ChangeOffers:
    """The gate is taken off by hand: off the pods that are there, or for good."""
    gate, pods = blocker.fact("gate"), desk.wanted.pods
    if registry.engine_of_gate(gate) is not None:
        return  # its engine takes it off, once it has let the pods in
    gated = [pod for pod in pods if pod.is_gated]
    if gate and gated and all(len(pod.traits.wishes.gates) == 1 for pod in gated):
        where = ("pod", *(pod.name for pod in gated), "-n", gated[0].namespace)
        command = json_patch(where, {"op": "remove", "path": "/spec/schedulingGates"})
        words = f"without the scheduling gate {short(gate)}, if its owner agrees"
        yield made(desk, OWN_LINE, "drop_gate", words, command)
    words, lines = (
        f"without the scheduling gate {short(gate)}",
        partial(field_removed, field="schedulingGates"),
    )
    yield from edit_each(desk, OWN_LINE + 1, "drop_gate", words, lines)


def offered_resource(desk: Desk, blocker: Finding) -> ChangeOffers:
    """What the nodes offer instead of what nobody offers."""
    before = blocker.fact("resource")
    nodes = desk.view.store.records(Kind.NODE).values()
    offered = {name for node in nodes for name, count in node.allocatable if count and is_gpu_resource(name)}
    for after in sorted(offered - {before}):
        amount = max((dict(part.shape.requests).get(before, 0) for part in desk.wanted.parts), default=0)
        lines = partial(other_resource, before=before, after=after, amount=str(amount))
        words = f"with {amount} {after} instead of {before}"
        yield from edit_each(desk, OWN_LINE, "other_resource", words, lines)


def less_besides(desk: Desk, blocker: Finding) -> ChangeOffers:
    """As much processor, memory and other devices as the best node has left."""
    one = next((part for part in desk.answer.parts if part.missing), None)
    if one is None:
        return
    shape = one.part.shape
    asked = {**dict(shape.requests), "pods": 1}
    best: dict[str, int] = {}
    for look in one.node_fits:
        free = dict(zip(asked, look.free, strict=True))
        if look.blocks or free["pods"] < 1 or free.get(shape.gpu_resource, 0) < shape.gpus:
            continue
        less = {name: _rounded(name, free[name]) for name, each in asked.items() if free[name] < each}
        if less and all(less.values()) and (not best or sorted(less.items()) > sorted(best.items())):
            best = less
    words = " and ".join(
        f"{amount_words(name, amount)} instead of {amount_words(name, asked[name])}"
        for name, amount in best.items()
    )

    def lines(place: PodSpecPlace) -> Iterator[Operation]:
        for name, amount in best.items():
            yield from other_request(place, name, _quantity(name, amount))

    yield from edit_each(desk, OWN_SIZE, "ask_less", f"with {words}", lines)


_GIB: Final = 1 << 30


def _rounded(resource: str, amount: int) -> int:
    """Down to whole processors or GiB, where there is one."""
    unit = 1000 if resource == "cpu" else _GIB if resource == "memory" else 1
    return max(0, amount // unit * unit)


def _quantity(resource: str, amount: int) -> str:
    if resource == "cpu":
        return str(amount // 1000)
    return f"{amount // _GIB}Gi" if resource == "memory" else str(amount)


_REQUESTS: Final = "requests."
_BARE: Final = ("cpu", "memory", "pods")


class Lack(NamedTuple):
    """What one line of a quota lacks; amounts in base units. `line` is as it stands in spec.hard."""

    quota: str
    line: str
    resource: str
    hard: int
    left: int
    asked: int


def lacks(quotas: Sequence[Mapping[str, Any]], parts: Sequence[Part]) -> tuple[Lack, ...] | None:
    """Every line that the pods exceed; None where a quota counts what a shape does not tell (limits,
    scopes)."""
    asked, found = asked_of(parts), []
    for tree in quotas:
        spec, status = tree.get("spec") or {}, tree.get("status") or {}
        if spec.get("scopes") or spec.get("scopeSelector"):
            return None
        hard, used = _amounts(spec.get("hard")), _amounts(status.get("used"))
        for line, (resource, most) in hard.items():
            if not resource:
                return None
            left = max(0, most - used.get(line, (resource, 0))[1])
            if asked.get(resource, 0) > left:
                name = str(tree["metadata"]["name"])
                found.append(Lack(name, line, resource, most, left, asked[resource]))
    return tuple(found)


def _amounts(lines: Any) -> dict[str, tuple[str, int]]:
    """Line -> (resource, amount); resource "" for a line that no request of a pod counts in."""
    found: dict[str, tuple[str, int]] = {}
    for line, text in lines.items() if isinstance(lines, Mapping) else ():
        resource = line.removeprefix(_REQUESTS)
        if line == resource and line not in _BARE:
            if line.startswith("count/") or "." not in line:
                continue  # numbers of other objects
            found[line] = ("", 0)
            continue
        found[line] = (resource, amounts_of({resource: text}).get(resource, 0))
    return found


def namespace_quota(desk: Desk, blocker: Finding) -> ChangeOffers:
    """More of every line of a quota that is short, or where it is one, less of what is asked for; for what is
    rolled out with other lines as well also as much as its further pod asks for."""
    parts, tree = desk.wanted.parts, desk.wanted.tree
    quotas = desk.view.trees.get(("ResourceQuota", desk.wanted.namespace), ())
    short_of = lacks(quotas, parts)
    if not short_of or len({one.quota for one in short_of}) != 1:
        return
    yield _more(desk, quotas, short_of)
    if tree is not None and needs_spare(tree) and len(desk.blockers) > 1:
        rolled = lacks(quotas, with_spare(planned_gang(tree, desk.wanted.namespace), desk))
        if rolled and {one.quota for one in rolled} == {one.quota for one in short_of}:
            yield _more(desk, quotas, rolled, spare=1)
    if len(short_of) == 1:
        yield from _less(desk, quotas, short_of[0])


def _more(desk: Desk, quotas: Sequence[Tree], short_of: Sequence[Lack], *, spare: int = 0) -> ChangeOffer:
    space, lack = desk.wanted.namespace, short_of[0]
    needed = {one.line: one.hard + one.asked - one.left for one in short_of}
    hard = {one.line: f"{needed[one.line]}{'m' * (one.resource == 'cpu')}" for one in short_of}
    words = " and ".join(
        f"from {amount_text(one.resource, one.hard)} to {amount_words(one.resource, needed[one.line])}"
        for one in short_of
    )
    tree = next(one for one in quotas if one["metadata"]["name"] == lack.quota)
    spec = {**tree["spec"], "hard": {**tree["spec"]["hard"], **hard}}
    more = sum(one.asked - one.left if is_gpu_resource(one.resource) else 1 for one in short_of)
    return made(
        desk,
        MONEY + more + spare,
        "raise_quota",
        f"raise quota {short(lack.quota)} of {short(space)} {words}",
        merge_patch(("resourcequota", lack.quota, "-n", space), {"spec": {"hard": hard}}),
        target=Subject("quota", space, lack.quota),
        trees=({**tree, "kind": "ResourceQuota", "spec": spec},),
    )


def _less(desk: Desk, quotas: Sequence[Mapping[str, Any]], lack: Lack) -> ChangeOffers:
    """The largest size of each member with which all are within the quota."""
    if not is_gpu_resource(lack.resource) or len(desk.wanted.parts) != 1:
        return
    (part,) = desk.wanted.parts
    each = min(part.shape.gpus - 1, lack.left // part.count)
    if each < 1 or part.shape.gpu_resource != lack.resource:
        return
    less = Part(part.role, part.count, with_gpus(part.shape, each))
    if not lacks(quotas, (less,)):
        yield fewer_gpus(desk, part, less)


REFUSALS: Final[Mapping[str, Callable[[Desk, Finding], ChangeOffers]]] = {
    Cause.NAMESPACE_QUOTA_USED_UP: namespace_quota,
    Cause.LIMITS_NOT_STATED: limits_stated,
    Cause.OUTSIDE_LIMIT_RANGE: within_range,
    Cause.REFUSED_BY_POD_SECURITY: laxer_namespace,
    Cause.NOT_TAKEN_BY_QUEUE: queue_priority,
    Cause.NO_CONTROLLER: own_controller,
    Cause.REFUSED_BY_OPERATOR: other_name,
    Cause.NAME_TAKEN: other_name,
    Cause.RESOURCE_NOT_OFFERED: offered_resource,
    Cause.OTHER_RESOURCE_SHORT: less_besides,
    Cause.SCHEDULING_GATE: without_gate,
    Cause.NO_SUCH_SCHEDULER: usual_scheduler,
    Cause.OTHER_GPU_UNIT: offered_resource,
}
"""By the cause that they mend."""
