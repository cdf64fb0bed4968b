"""The end of a drain that somebody calls off: its note goes, and with it the cordon that it set itself."""

from collections.abc import Iterable
from typing import Any

from cockpit.actions.cordon import as_now
from cockpit.actions.drain.plan import MERGE
from cockpit.actions.planner import Planner
from cockpit.actions.planning import Planning
from cockpit.actions.rights import right_to_patch_node
from cockpit.errors import Unchanged
from cockpit.gangs.sentence import counted
from cockpit.kube.resource import NODES
from cockpit.model.node import Node
from cockpit.model.plan import Call, Plan
from cockpit.model.store_reader import StoreReader
from cockpit.pools.drain_mark import KEYS, DrainMark, mark_of, still_there


def plan_stop(node: Node, store: StoreReader) -> Plan:
    """Call the drain off. A node that somebody cordoned before it stays cordoned. Raises Unchanged."""
    mark = mark_of(node)
    if mark is None:
        raise Unchanged(f"node {node.name} is in no drain")
    body: dict[str, Any] = {
        "metadata": {
            "uid": node.uid,
            "resourceVersion": node.resource_version,
            "annotations": dict.fromkeys(KEYS),
        }
    }
    if mark.has_cordoned:
        body["spec"] = {"unschedulable": None}
    left = len(still_there(node.name, store))
    end = "uncordoned" if mark.has_cordoned else "it stays cordoned"
    return Plan(
        verb="stop-drain",
        title=f"Stop the drain of node {node.name}",
        done=f"Stopped the drain of node {node.name}: {counted(left, 'pod')} stay{'s' * (left == 1)}, {end}",
        calls=(
            Call(
                method="PATCH",
                path=NODES.path(name=node.name),
                body=body,
                content_type=MERGE,
                target=f"node {node.name}",
            ),
        ),
        lines=tuple(_lines(mark, left)),
    )


def _lines(mark: DrainMark, left: int) -> Iterable[str]:
    gone = max(0, mark.pods - left)
    if mark.begun:
        yield f"it was begun {mark.begun}"
    yield f"{counted(gone, 'pod')} of {mark.pods} left it already; {left} stay{'s' * (left == 1)}"
    if mark.has_cordoned:
        yield "new pods are scheduled on it again"
    else:
        yield "it was cordoned before that drain, by someone else: it stays cordoned"


async def _plan(planning: Planning, node: Node, _options: Any) -> Plan:
    return plan_stop(await as_now(planning, node), planning.store)


STOP_DRAIN = Planner(plan=_plan, needs=right_to_patch_node)
