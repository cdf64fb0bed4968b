"""Keep a node: whoever takes idle machines away is told to let it be, and no longer."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from cockpit.actions.cordon import as_now
from cockpit.actions.planner import Planner
from cockpit.actions.planning import Planning
from cockpit.actions.rights import right_to_patch_node
from cockpit.errors import Unchanged
from cockpit.kube.resource import NODES
from cockpit.local_state.audit import local_user
from cockpit.model.node import Node
from cockpit.model.plan import Call, Plan
from cockpit.pools import registry
from cockpit.pools.index import pool_object, pools_of
from cockpit.pools.plan import nodes_named

OURS: Final = "gpu-cockpit/kept"
"""Names the annotations that the cockpit has set, so that only these are taken away again."""
OURS_BY: Final = "gpu-cockpit/kept-by"
_UNKNOWN: Final = "who takes its machine away is not known here: each of them is told"
_MERGE: Final = "application/merge-patch+json"


@dataclass(frozen=True, slots=True)
class KeepOptions:
    """`off`: let it go again."""

    off: bool = False


async def plan_to_keep(planning: Planning, node: Node, options: KeepOptions) -> Plan:
    """Set, or take away, what keeps the node. Raises Unchanged where it is so already."""
    now = await as_now(planning, node)
    return _plan_off(now) if options.off else _plan_on(planning, now)


def _plan_on(planning: Planning, node: Node) -> Plan:
    pool, decides = _pool_of(planning, node)
    wanted, there = registry.keep_annotations(node, decides), registry.kept_by(node)
    new = {key: owner for key, owner in wanted.items() if key not in there}
    if not new:
        raise Unchanged(f"node {node.name} is already kept: {', '.join(wanted)}")
    owners = " and ".join(new.values())
    lines = [f"{owners} will not take it away while it is idle", *(f"annotation {key}=true" for key in new)]
    if len(wanted) > 1:
        lines.append(f"{pool}: no autoscaler of it is seen, so each of them is told" if pool else _UNKNOWN)
    ours = sorted({*_ours(node), *new})
    notes: dict[str, Any] = dict.fromkeys(new, "true")
    notes |= {OURS: " ".join(ours), OURS_BY: f"{local_user()} {planning.at}"}
    warnings = ["it is cordoned: nothing new runs on it"] if node.unschedulable else []
    return _plan(node, notes, lines, warnings)


def _pool_of(planning: Planning, node: Node) -> tuple[str, str]:
    """What its pool is, "" where nobody knows, and the name of the owner that decides its size."""
    store = planning.store
    pool = next((one for one in pools_of(store) if node.name in one.node_names), None)
    if pool is None:
        return "", ""
    found, nodes = pool_object(store, pool), nodes_named(store, pool)
    decides = registry.ownership(found, nodes, store).owner
    if found is not None:
        return f"its pool is {found.kind} {found.key}", decides
    return f"its pool is one of {decides}" if registry.holder(
        None, nodes
    ).traits.decides_size else "", decides


def _plan_off(node: Node) -> Plan:
    there, ours = registry.kept_by(node), _ours(node)
    if not there:
        raise Unchanged(f"node {node.name} is not kept")
    foreign = [key for key in there if key not in ours]
    gone = [key for key in there if key in ours] or foreign
    lines = [f"{' and '.join(there[key] for key in gone)} may take it away when it is idle"]
    lines += [f"annotation {key} goes" for key in gone]
    warnings = [
        f"{key} was set by someone else" + ("" if key in gone else ": it stays, and keeps the node")
        for key in foreign
    ]
    notes: dict[str, Any] = dict.fromkeys((*gone, OURS, OURS_BY))
    return _plan(node, notes, lines, warnings, is_off=True, is_foreign=gone == foreign)


def _plan(
    node: Node,
    notes: dict[str, Any],
    lines: Iterable[str],
    warnings: Iterable[str],
    *,
    is_off: bool = False,
    is_foreign: bool = False,
) -> Plan:
    metadata = {"uid": node.uid, "resourceVersion": node.resource_version, "annotations": notes}
    target = f"node {node.name}"
    call = Call(
        method="PATCH",
        path=NODES.path(name=node.name),
        body={"metadata": metadata},
        content_type=_MERGE,
        target=target,
    )
    end = " no longer" if is_off else ""
    return Plan(
        verb="keep",
        title=f"Keep {target}{end}",
        done=f"{target} is no longer kept" if is_off else f"Kept {target}",
        calls=(call,),
        lines=tuple(lines),
        warnings=tuple(warnings),
        is_destructive=is_foreign,
    )


def _ours(node: Node) -> tuple[str, ...]:
    return tuple(dict(node.annotations).get(OURS, "").split())


def is_kept(node: Node) -> bool:
    """Whether an annotation keeps the node."""
    return bool(registry.kept_by(node))


KEEP = Planner(options=KeepOptions, plan=plan_to_keep, needs=right_to_patch_node)
