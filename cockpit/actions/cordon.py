"""Take a node out of scheduling, and put it back.

What `kubectl cordon` does: `spec.unschedulable`, guarded by uid and resource version. Its pods stay.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from msgspec.structs import replace

from cockpit.actions.planner import Planner
from cockpit.actions.planning import Planning
from cockpit.actions.pool_lease import take_briefly
from cockpit.actions.read import read_tree
from cockpit.actions.rights import right_to_patch_node
from cockpit.actions.shell import words_line
from cockpit.actions.store_overlay import record_of
from cockpit.actions.verbs.node import UNCORDON as UNCORDON_VERB
from cockpit.errors import Unchanged
from cockpit.gangs.sentence import counted
from cockpit.kube.decode.decoders import NODE
from cockpit.kube.resource import NODES
from cockpit.model.node import Node
from cockpit.model.plan import Plan
from cockpit.pools import drain_mark
from cockpit.pools.drain_mark import PREFIX, mark_of
from cockpit.pools.idle import RECLAIM, RECLAIM_AT, is_closed, is_tainted
from cockpit.pools.index import pools_of
from cockpit.pools.node_patches import node_call, refuse_while_shrinking, unmark_calls
from cockpit.pools.registry import taint_words
from cockpit.pools.truth import gpus_allocated, is_use_known

_UPGRADE: Final = "nvidia.com/gpu-driver-upgrade-state"  # NVIDIA k8s-operator-libs pkg/upgrade/consts.go
_UPGRADE_ENDS: Final = ("", "upgrade-done", "upgrade-failed")
_AGAIN: Final = "schedulable again"


async def plan_to_cordon(planning: Planning, node: Node, _options: Any) -> Plan:
    """No new pod is placed on the node. Raises Unchanged where it is cordoned already."""
    now = await as_now(planning, node)
    if now.unschedulable:
        raise Unchanged(f"node {now.name} is already cordoned")
    lines = ["no new pod is scheduled on it", *_allocated(planning.store, (now,)), *_pool(planning, now)]
    return _plan("cordon", now, True, lines, [*_owners(now)])


async def plan_to_uncordon(planning: Planning, node: Node, _options: Any) -> Plan:
    """Pods are placed on the node again, and its machine goes before no other any more.

    Raises Unchanged where it is not cordoned, BadInput while its machine is on its way out.
    """
    now = await as_now(planning, node)
    if not is_closed(now):
        raise Unchanged(f"node {now.name} is not cordoned")
    lines = ["new pods are scheduled on it again", *_told_free(planning.store, (now,), _AGAIN)]
    warnings = [*_owners(now), *_notes(now)]
    if now.ready != "True":
        warnings.append("it is not Ready: no pod is scheduled on it until it is")
    return await _with_machine(planning, now, _plan("uncordon", now, None, lines, warnings))


async def _with_machine(planning: Planning, node: Node, plan: Plan) -> Plan:
    """Takes off, too, what a removal of ours that was broken off left on its machine: whoever shrinks the
    pool next would have it go first, with whatever works there by then.

    Raises BadInput while one is on its way.
    """

    if not (is_tainted(node) or any(key == RECLAIM for key, _ in node.annotations)):
        return plan
    pool = next((one for one in pools_of(planning.store) if node.name in one.node_names), None)
    marks = () if pool is None else unmark_calls(node, pool, planning.store)
    if pool is None or not (marks or is_tainted(node)):
        return plan
    taking = await take_briefly(planning, pool)
    refuse_while_shrinking(pool, planning.store)
    held = () if taking.call is None else (taking.call,)
    warnings = (*plan.warnings, *taking.lacks)
    return replace(plan, calls=(*held, *marks, *plan.calls), hold=taking.hold, warnings=warnings)


def _plan(
    verb: str, node: Node, unschedulable: bool | None, lines: Sequence[str], warnings: Sequence[str]
) -> Plan:

    marks: dict[str, str | None] = {}
    if not unschedulable and any(key.startswith(drain_mark.PREFIX) for key, _ in node.annotations):
        marks |= dict.fromkeys(drain_mark.KEYS)
    if not unschedulable and any(key == RECLAIM for key, _ in node.annotations):
        # a mark that stays would have the node removed once somebody else cordons it
        marks |= {RECLAIM: None, RECLAIM_AT: None}
    call = node_call(node, unschedulable, marks, is_going=None if unschedulable else False)
    kubectl = () if not unschedulable and is_tainted(node) else (verb,)
    calls = (replace(call, kubectl=kubectl),)
    return Plan(verb=verb, title="", calls=calls, lines=tuple(lines), warnings=tuple(warnings))


def back_line(names: Sequence[str], context: str) -> str:
    """The command that puts these nodes back into scheduling."""
    return words_line((*UNCORDON_VERB.subcommand, *names), context)


async def as_now(planning: Planning, node: Node) -> Node:
    """The node of the tables; as the server has it now where they were too old for a write."""
    if not planning.reads:
        return node
    target = f"node {node.name}"
    tree = await read_tree(planning.session, NODES.path(name=node.name), target)
    found: Node = record_of(NODE, tree, node.uid, target)
    return found


# ---- what it means


def _free(store: Any, nodes: Sequence[Node]) -> int | None:
    """GPUs that nobody has, None where not every pod is seen."""
    if not is_use_known(store):
        return None
    return sum(max(0, (one.gpu_allocatable or 0) - gpus_allocated(store, one.name)) for one in nodes)


def _allocated(store: Any, nodes: Sequence[Node]) -> Iterable[str]:
    """What stays as it is, and what stops being offered."""
    pods = sum(not pod.is_finished for one in nodes for pod in store.pods_on(one.name))
    gpus = sum(gpus_allocated(store, one.name) for one in nodes)
    kept = f"; {counted(gpus, 'GPU')} stay{'s' * (gpus == 1)} allocated" if gpus else ""
    yield f"{counted(pods, 'pod')} keep{'s' * (pods == 1)} running{kept}" if pods else "no pod is affected"
    yield from _told_free(store, nodes, "no longer schedulable")


def _told_free(store: Any, nodes: Sequence[Node], what: str) -> Iterable[str]:
    """What becomes of the GPUs that nobody has."""
    free = _free(store, nodes)
    if free is None:
        yield "its free GPUs are unknown: not all pods are visible"
    elif free:
        yield f"{counted(free, 'free GPU')} {'is' if free == 1 else 'are'} {what}"
    elif any(one.gpu_allocatable for one in nodes):
        yield "no GPU is free now"


def _pool(planning: Planning, node: Node) -> Iterable[str]:
    """Which pool may make another node in its place."""
    for pool in pools_of(planning.store):
        if node.name not in pool.node_names:
            continue
        if not pool.owner_kind:
            yield f"pool {pool.name}: {pool.why_not}"
        elif pool.maximum is not None and pool.nodes_now >= pool.maximum:
            yield f"pool {pool.name} cannot add a node in its place: it is at its maximum of {pool.maximum}"
        else:
            most = f" of at most {pool.maximum}" if pool.maximum is not None else ""
            yield f"pool {pool.name} may add a node in its place: {pool.nodes_now}{most} now"


def _owners(node: Node) -> Iterable[str]:
    """Who else is about to take the node away, or cordons it by itself."""
    for taint in node.taints:
        if told := taint_words().get(taint.key):
            yield f"taint {taint.key}: {told}"
    state = dict(node.labels).get(_UPGRADE, "")
    if state not in _UPGRADE_ENDS:
        yield f"the GPU operator is upgrading its driver ({state}): it cordons and uncordons the node itself"


def _notes(node: Node) -> Iterable[str]:
    """Notes of whoever cordoned it."""
    mark = mark_of(node)
    if mark is not None:
        yield f"a drain of it was begun {mark.begun}: uncordoning calls it off"
    for key, value in node.annotations:
        if "cordon" in key and not key.startswith(PREFIX):
            yield f"cordoned by someone else: annotation {key}{f'={value}' if value else ''}"


def _many_cordoned(nodes: Sequence[Node], store: Any) -> Iterable[str]:
    yield "no new pod is scheduled on them"
    yield from _allocated(store, nodes)


def _many_uncordoned(nodes: Sequence[Node], store: Any) -> Iterable[str]:
    yield "new pods are scheduled on them again"
    yield from _told_free(store, nodes, _AGAIN)


CORDON = Planner(plan=plan_to_cordon, needs=right_to_patch_node, many_lines=_many_cordoned)
UNCORDON = Planner(plan=plan_to_uncordon, needs=right_to_patch_node, many_lines=_many_uncordoned)
