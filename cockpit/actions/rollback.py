"""The rollback of a plan that was to remove nodes: those that it closed and does not remove are opened."""

from contextlib import suppress

from cockpit.actions.cordon import back_line
from cockpit.actions.kubectl import place_of
from cockpit.actions.planning import Planning
from cockpit.actions.pool_lease import take_briefly
from cockpit.actions.pool_reads import machines_as_read, nodes_as_read, pool_as_now
from cockpit.errors import Refused, Unchanged
from cockpit.kube.resource import NODES
from cockpit.model.node import Node
from cockpit.model.plan import Call, Plan
from cockpit.model.pool import Pool
from cockpit.model.record import Kind
from cockpit.pools.idle import RECLAIM, users_of
from cockpit.pools.node_patches import (
    is_marked,
    is_taint_call,
    may_be_going,
    refuse_while_shrinking,
    uncordon_calls,
    untaint_calls,
)
from cockpit.pools.plan import nodes_named


async def roll_back(planning: Planning, pool: Pool, shown: Plan) -> Plan:
    """Take back what `shown` did to nodes before it was to remove them: uncordon those that it cordoned until
    they had settled, and open those that it closed as far as they were open before; our marks on their
    machines go, too. `expects` tells what came onto them.

    Raises Unchanged where there is none, BadInput while the owner has yet to take nodes away (it would take
    another one for each that is given back) or another cockpit is at it.
    """
    cordoned = {place_of(one.path).name for one in shown.calls if shown.later and _cordons(one)}
    closed = {place_of(one.path).name for one in shown.calls if is_taint_call(one)}
    if not (cordoned or closed):
        raise Unchanged("no node is cordoned by it")
    pool, store = await pool_as_now(planning, pool.key)
    refuse_while_shrinking(pool, store)
    back, told, calls, is_closed = list[str](), list[str](), list[Call](), False
    for one in [found for found in nodes_named(store, pool) if found.name in cordoned | closed]:
        with suppress(Refused):  # gone, or another one of its name; a node goes with its machine
            store = await nodes_as_read(planning.session, store, (one,))
            store = await machines_as_read(planning.session, store, (one.name,))
            node = store.by_key(Kind.NODE, one.name)
            if not isinstance(node, Node):
                continue
            is_closed = is_closed or may_be_going(node, pool, store)
            if node.name not in cordoned:
                calls += untaint_calls(node, pool, store)
                continue
            calls += uncordon_calls(node, pool, store)
            if is_marked(node, pool):
                back.append(node.name)
                told += [
                    f"{pod.key} was scheduled onto {node.name}" for pod in users_of(node.name, store)[:1]
                ]
    if not calls:
        raise Unchanged("no node is cordoned by it")
    taking = await take_briefly(planning, pool) if is_closed else None
    if taking is not None and taking.call is not None:
        calls.insert(0, taking.call)
    done = f"uncordoned {', '.join(back)}" if back else f"left as it was: {', '.join(sorted(closed))}"
    return Plan(
        verb="scale",
        title=f"Give nodes of pool {pool.name} back: {done}",
        done=done,
        calls=tuple(calls),
        expects=tuple(told),
        shell=back_line(back or sorted(closed), planning.context),
        hold=None if taking is None else taking.hold,
    )


def _cordons(call: Call) -> bool:
    notes = call.body.get("metadata", {}).get("annotations", {}) if isinstance(call.body, dict) else {}
    return call.path.startswith(NODES.path()) and RECLAIM in notes
