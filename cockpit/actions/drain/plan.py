"""The plan of a drain: the cordon with its note, the evictions behind it, and what a person has to know
first.

Only what the server lists on the node by now is evicted, each pod by its uid, and nobody who came later.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from cockpit.actions.cordon import as_now
from cockpit.actions.drain.bill import Bill, Broken, Delay, NodePod, bill_of, delays, is_known, jobs_on
from cockpit.actions.drain.reads import budgets_in, pods_on
from cockpit.actions.planner import Planner
from cockpit.actions.planning import Planning
from cockpit.actions.rights import right_to_patch_node
from cockpit.errors import BadInput, Refused, Unchanged
from cockpit.fit.scheduling_context import Budget
from cockpit.gangs.sentence import counted, listed
from cockpit.kube.resource import NODES, PODS
from cockpit.local_state.audit import local_user
from cockpit.model.duration import parse_duration
from cockpit.model.node import Node
from cockpit.model.plan import AwaitedJob, Call, DrainOrder, Plan
from cockpit.model.right import Right
from cockpit.pools import drain_mark
from cockpit.pools.drain_mark import DrainMark, mark_of, still_there

MERGE: Final = "application/merge-patch+json"
EVICTION: Final = "policy/v1"
_MOST_NAMES = 300  # characters of a line of names


async def plan_drain(
    planning: Planning,
    node: Node,
    *,
    after_job: bool = False,
    grace_seconds: int | None = None,
    longest_seconds: float = 0.0,
    force: bool = False,
    takes_scratch: bool = False,
) -> Plan:
    """Cordon the node, then evict its pods; with `after_job` only once the jobs that hold GPUs on it are
    over.

    `force` and `takes_scratch` are kubectl's: without them pods that nobody makes again, and pods with an
    emptyDir, are refused. Raises BadInput for these, Unchanged where nothing is left to do, Refused where the
    pods cannot be listed or are not known yet.
    """
    bill = bill_of(node.name, await pods_on(planning.session, node.name))
    if not bill.evicted and not bill.ending and node.unschedulable:
        raise Unchanged(f"node {node.name} is cordoned, and no pod is left on it to evict")
    if not is_known(bill.evicted, planning.store):
        raise Refused(f"node {node.name}: pods came to it a moment ago; try again")
    found = jobs_on(node.name, (one.uid for one in bill.evicted), planning.jobs, planning.store)
    waited = [one for one in found if one[0].is_worth_waiting] if after_job else []
    if after_job and not waited:
        raise BadInput(f"no job with GPUs runs on node {node.name}: drain it without --after-job")
    spared = {uid for _, uids in waited for uid in uids}
    bill = bill._replace(evicted=tuple(one for one in bill.evicted if one.uid not in spared))
    names = {one.name for one, _ in waited}
    lost = [one for one, _ in found if one.name not in names]
    _refuse_as_kubectl(node, bill, force=force, takes_scratch=takes_scratch)
    budgets = await budgets_in(planning.session, frozenset(one.namespace for one in bill.evicted))
    order = _order(planning, node, bill, waited, grace_seconds=grace_seconds, longest_seconds=longest_seconds)
    gangs = [one for one in lost if one.is_gang]
    own = _kubectl(order, grace_seconds, force=force, takes_scratch=takes_scratch)
    return Plan(
        verb="drain",
        title=f"Drain node {node.name}{_after_words(order.after)}",
        done=_done(node, order),
        calls=(_noted(planning, node, bill, order, own),),
        lines=tuple(_lines(node, bill, order, lost)),
        warnings=tuple(_warnings(bill, lost, budgets)),
        is_destructive=bool(bill.evicted),
        typed=_typed(node, bill, gangs),
        goes_on=order,
    )


def _typed(node: Node, bill: Bill, gangs: Sequence[Broken]) -> str:
    """The name of the one gang that breaks, else that of the node whose pods are evicted."""
    if len(gangs) == 1:
        return gangs[0].name.partition("/")[2]
    return node.name if bill.evicted else ""


def _refuse_as_kubectl(node: Node, bill: Bill, *, force: bool, takes_scratch: bool) -> None:
    what = []
    if bill.unowned and not force:
        what.append(f"{listed('no controller recreates them: ', _keys(bill.unowned), _MOST_NAMES)} (--force)")
    if bill.scratch and not takes_scratch:
        told = listed("their emptyDir data is lost: ", _keys(bill.scratch), _MOST_NAMES)
        what.append(f"{told} (--delete-emptydir-data)")
    if what:
        raise BadInput(f"node {node.name} is not drained: {'; '.join(what)}")


# ---- calls


def _order(
    planning: Planning,
    node: Node,
    bill: Bill,
    waited: Sequence[tuple[Broken, tuple[str, ...]]],
    *,
    grace_seconds: int | None,
    longest_seconds: float,
) -> DrainOrder:
    said = f"{node.uid} {planning.at_seconds} {local_user()}"
    return DrainOrder(
        node=node.name,
        node_uid=node.uid,
        id=hashlib.sha256(said.encode()).hexdigest()[:12],
        evictions=tuple(_eviction(one, grace_seconds) for one in bill.evicted),
        after=tuple(AwaitedJob(name=one.name, pod_uids=uids) for one, uids in waited),
        longest_seconds=longest_seconds,
    )


def _eviction(pod: NodePod, grace_seconds: int | None) -> Call:
    if not pod.uid:
        raise BadInput(f"pod {pod.key} has no known uid: it is not evicted by name alone")
    options: dict[str, Any] = {"preconditions": {"uid": pod.uid}}
    if grace_seconds is not None:
        options["gracePeriodSeconds"] = grace_seconds
    return Call(
        method="POST",
        path=PODS.path(pod.namespace, pod.name, "eviction"),
        body={
            "apiVersion": EVICTION,
            "kind": "Eviction",
            "metadata": {"name": pod.name, "namespace": pod.namespace},
            "deleteOptions": options,
        },
        target=f"pod {pod.key}",
    )


def _kubectl(
    order: DrainOrder, grace_seconds: int | None, *, force: bool, takes_scratch: bool
) -> tuple[str, ...]:
    """The words before the node by which kubectl does the same; () where it waits for jobs."""
    if order.after:
        return ()
    words = ["drain", "--ignore-daemonsets"]
    words += ["--force"] if force else []
    words += ["--delete-emptydir-data"] if takes_scratch else []
    words += [f"--grace-period={grace_seconds}"] if grace_seconds is not None else []
    words += [f"--timeout={order.longest_seconds:g}s"] if order.longest_seconds else []
    return tuple(words)


def _noted(planning: Planning, node: Node, bill: Bill, order: DrainOrder, kubectl: tuple[str, ...]) -> Call:
    before = mark_of(node)
    mark = DrainMark(
        id=order.id,
        by=local_user(),
        at=planning.at,
        pods=len(bill.evicted) - len(bill.finished) + sum(len(one.pod_uids) for one in order.after),
        after=tuple(one.name for one in order.after),
        # of a drain that goes on, the first one knows who cordoned it
        has_cordoned=not node.unschedulable if before is None else before.has_cordoned,
    )
    notes = mark.annotations()
    if len(notes[drain_mark.AFTER]) > drain_mark.MOST_CHARACTERS:
        raise BadInput(f"node {node.name}: too many jobs to wait for ({len(order.after)}): drain it later")
    guard = {"uid": node.uid, "resourceVersion": node.resource_version}
    return Call(
        method="PATCH",
        path=NODES.path(name=node.name),
        body={"metadata": {**guard, "annotations": notes}, "spec": {"unschedulable": True}},
        content_type=MERGE,
        target=f"node {node.name}",
        kubectl=kubectl,
    )


# ---- words


def _after_words(after: Sequence[AwaitedJob]) -> str:
    return f" {listed('after ', [one.name for one in after], 80)}" if after else ""


def _done(node: Node, order: DrainOrder) -> str:
    if order.after:
        return f"Cordoned node {node.name}: it drains{_after_words(order.after)}"
    return f"Cordoned node {node.name}: {counted(len(order.evictions), 'pod')} to evict"


def _lines(node: Node, bill: Bill, order: DrainOrder, lost: Sequence[Broken]) -> Iterable[str]:
    first = "it stays cordoned" if node.unschedulable else "cordoned at once"
    if order.after:
        jobs = listed("", [one.name for one in order.after], _MOST_NAMES)
        yield f"{first}; once {jobs} {'has' if len(order.after) == 1 else 'have'} ended, {_evicted(bill)}"
        yield "until then it is seen on the node; uncordon it to call the drain off"
    else:
        yield f"{first}; {_evicted(bill)}"
    services = _services(bill, lost)
    if services:
        yield listed("made again elsewhere: ", services, _MOST_NAMES)
    if bill.ending:
        yield f"{counted(len(bill.ending), 'pod')} {'is' if len(bill.ending) == 1 else 'are'} ending already"
    stays = [
        f"{len(pods)} of {whose}"
        for pods, whose in ((bill.of_daemons, "DaemonSets"), (bill.of_kubelet, "the kubelet"))
        if pods
    ]
    if stays:
        yield f"stay: {', '.join(stays)}"


def _evicted(bill: Bill) -> str:
    number = len(bill.evicted)
    if not number:
        return "no pod has to be evicted"
    ended = f" ({len(bill.finished)} finished)" if bill.finished else ""
    return f"{counted(number, 'pod')}{ended} {'is' if number == 1 else 'are'} evicted"


def _services(bill: Bill, lost: Sequence[Broken]) -> list[str]:
    """Pods that are of no job: their controllers make others elsewhere."""
    own = {uid for one in lost for uid in one.job.pod_uids}
    counts: dict[str, int] = {}
    for pod in bill.evicted:
        if pod.owner_kind and not pod.is_finished and pod.uid not in own:
            name = f"{pod.owner_kind} {pod.namespace}/{pod.owner_name}"
            counts[name] = counts.get(name, 0) + 1
    return [f"{number} of {name}" for name, number in sorted(counts.items())]


def _warnings(bill: Bill, lost: Sequence[Broken], budgets: Sequence[Budget] | None) -> Iterable[str]:
    for one in lost:
        yield _loss(one)
    if budgets is None:
        yield "disruption budgets may not be listed here: they may delay it"
    else:
        yield from map(_delay, delays(bill.evicted, budgets))
    if bill.unowned:
        yield listed("no controller recreates them: ", _keys(bill.unowned), _MOST_NAMES)
    if bill.scratch:
        yield f"emptyDir data of {counted(len(bill.scratch), 'pod')} is lost"


def _loss(one: Broken) -> str:
    gpus = f", {counted(one.gpus, 'GPU')} here" if one.gpus else ""
    what = f"{one.name} ({one.job.kind}{gpus})"
    if not one.is_gang:
        return f"interrupts {what}: what it has not saved is lost"
    idle = (
        f": {counted(one.idle, 'GPU')} on {counted(one.nodes, 'other node')} would idle" if one.idle else ""
    )
    return f"breaks gang {what}{idle}"


def _delay(one: Delay) -> str:
    pods = counted(one.pods, "pod")
    if len(one.budgets) > 1:
        names = listed("", [f"{it.namespace}/{it.name}" for it in one.budgets], _MOST_NAMES)
        return f"{pods} under several budgets ({names}): the server evicts none of these; delete a budget"
    budget = one.budgets[0]
    return f"budget {budget_words(budget)}: {pods} here {'has' if one.pods == 1 else 'have'} to wait"


def budget_words(budget: Budget) -> str:
    """`team-a/db: 0 of 2 may be disrupted`. The server counts pods without a Deployment or the like only for
    a `minAvailable` that is a number, and lets none go whom it cannot count (disruption controller)."""
    name = f"{budget.namespace}/{budget.name}"
    if not budget.expected:
        return f"{name}: none may be disrupted, the server counts none of its pods; give it minAvailable: N"
    return f"{name}: {budget.allowed} of {budget.expected} may be disrupted"


def _keys(pods: Iterable[NodePod]) -> list[str]:
    return [one.key for one in pods]


@dataclass(frozen=True, slots=True)
class DrainOptions:
    """How a drain goes; times as they were typed, "" for none."""

    after_job: bool = False
    grace: str = ""
    within: str = ""
    force: bool = False
    delete_emptydir_data: bool = False

    def __post_init__(self) -> None:
        self.seconds("grace")
        self.seconds("within")

    def seconds(self, field: str) -> float | None:
        """One of the times, None where it was not given. Raises BadInput."""
        text = getattr(self, field)
        try:
            return parse_duration(text) if text else None
        except ValueError:
            raise BadInput(f"--{field}: {text!r} is no time; write for example 90s or 10m") from None


async def plan_to_drain(planning: Planning, node: Node, options: DrainOptions) -> Plan:
    """Cordon the node and evict its pods, as far as their budgets let it."""
    grace = options.seconds("grace")
    return await plan_drain(
        planning,
        await as_now(planning, node),
        after_job=options.after_job,
        grace_seconds=None if grace is None else int(grace),
        longest_seconds=options.seconds("within") or 0.0,
        force=options.force,
        takes_scratch=options.delete_emptydir_data,
    )


def _needs(planning: Planning, node: Node) -> tuple[Right, ...]:
    spaces = sorted({pod.namespace for pod in still_there(node.name, planning.store)})
    evicts = (Right("create", "", "pods", "eviction", space) for space in spaces)
    return (*right_to_patch_node(planning, node), *evicts)


DRAIN = Planner(options=DrainOptions, plan=plan_to_drain, needs=_needs)
