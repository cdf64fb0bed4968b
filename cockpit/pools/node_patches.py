"""Cordon and taint nodes that are to go, and uncordon those that stay. Pure: the patches for it.

A node is cordoned first, with a mark that tells of which pool it is to go. Once no pod can come any more it
is closed by a taint as well and goes: who uncordons it in that moment brings no pod onto it, and what was
looked at still holds when its owner is told.
"""

from collections.abc import Mapping
from typing import Final

from cockpit.errors import BadInput
from cockpit.model.node import Node, Taint
from cockpit.model.plan import Call
from cockpit.model.pool import Machine, Pool, PoolObject
from cockpit.model.record import label
from cockpit.model.store_reader import StoreReader
from cockpit.pools import registry
from cockpit.pools.idle import RECLAIM, RECLAIM_AT, REMOVAL, is_tainted
from cockpit.pools.index import pool_object
from cockpit.pools.owner import MERGE_PATCH, MarksMachines

_NODES: Final = "/api/v1/nodes/"
_NO_MARK: Final = {RECLAIM: None, RECLAIM_AT: None}


def own_cordon_call(node: Node, pool: Pool, now_seconds: float) -> Call:
    """Cordon it as ours; a cordon that somebody else has set stays theirs."""
    is_theirs = node.unschedulable and label(node.annotations, RECLAIM) != pool.key
    marks = None if is_theirs else {RECLAIM: pool.key, RECLAIM_AT: str(int(now_seconds))}
    return node_call(node, True, marks)


def taint_call(node: Node) -> Call:
    """Cordoned as it was when its pods were read: who has uncordoned it since is met by the version; who does
    so from here on brings no pod onto it."""
    mark = label(node.annotations, RECLAIM)
    return node_call(node, True, {RECLAIM: mark} if mark else None, is_going=True)


def is_taint_call(call: Call) -> bool:
    """Whether it is such a call."""
    spec = call.body.get("spec", {}) if isinstance(call.body, dict) else {}
    return call.path.startswith(_NODES) and _taint(REMOVAL) in (spec.get("taints") or ())


def is_marked(node: Node, pool: Pool) -> bool:
    """Whether a reclaim of this pool cordoned it, and no pod comes to it since."""
    is_closed = node.unschedulable or is_tainted(node)
    return is_closed and (RECLAIM, pool.key) in node.annotations and node.deleting_seconds is None


def uncordon_calls(node: Node, pool: Pool, store: StoreReader) -> tuple[Call, ...]:
    """Take our mark off its machine, then have pods placed on it again; where somebody else has cordoned it
    that stays."""
    if not is_marked(node, pool):
        return untaint_calls(node, pool, store)
    return (*unmark_calls(node, pool, store), node_call(node, None, _NO_MARK, is_going=False))


def untaint_calls(node: Node, pool: Pool, store: StoreReader) -> tuple[Call, ...]:
    """Leave it as it was before it was closed for its removal: cordoned or not."""
    opened = (node_call(node, node.unschedulable or None, is_going=False),) if is_tainted(node) else ()
    return (*unmark_calls(node, pool, store), *opened)


def may_be_going(node: Node, pool: Pool, store: StoreReader) -> bool:
    """Whether a removal of ours has closed it or marked its machine: it may be on its way."""
    return is_tainted(node) or bool(unmark_calls(node, pool, store))


def unmark_calls(node: Node, pool: Pool, store: StoreReader) -> tuple[Call, ...]:
    """Take our mark off its machine; () where it bears none."""
    owner = pool_object(store, pool)
    machine = None if owner is None else machines_by_node(owner, store).get(node.name)
    holder = None if owner is None else registry.holder(owner, ())
    return () if machine is None or not isinstance(holder, MarksMachines) else holder.unmark_calls(machine)


def machines_by_node(owner: PoolObject, store: StoreReader) -> dict[str, Machine]:
    """The machines of the pool by their node."""
    return {one.node: one for one in registry.machines(owner, (), store) if one.node}


def refuse_while_shrinking(pool: Pool, store: StoreReader) -> None:
    """For each node that is given back while its owner has yet to take some away it would take another one,
    with whatever works there. Raises BadInput."""
    owner = pool_object(store, pool)
    present = max(pool.nodes_now, 0 if owner is None else owner.status_replicas or 0)
    if pool.target is not None and present > pool.target:
        raise BadInput(
            f"pool {pool.name} shrinks from {present} to {pool.target} now: nothing is uncordoned until that"
            " is done"
        )


def node_call(
    node: Node,
    unschedulable: bool | None,
    marks: Mapping[str, str | None] | None = None,
    *,
    is_going: bool | None = None,
) -> Call:
    """Cordon it, or not (None), with these annotations. `is_going` says whether it bears the taint of a
    removal, None leaves it as it is. The list of taints is one value to the API server
    (k8s.io/api/core/v1 types.go), so all are sent."""
    about = {"uid": node.uid, "resourceVersion": node.resource_version}
    spec: dict[str, object] = {"unschedulable": unschedulable}
    if is_going or (is_going is False and is_tainted(node)):
        taints = [one for one in node.taints if one.key != REMOVAL.key]
        spec["taints"] = [_taint(one) for one in (*taints, *((REMOVAL,) if is_going else ()))] or None
    return Call(
        method="PATCH",
        path=f"{_NODES}{node.name}",
        body={
            "metadata": about | ({"annotations": dict(marks)} if marks else {}),
            "spec": spec,
        },
        content_type=MERGE_PATCH,
        target=f"node {node.name}",
    )


def _taint(found: Taint) -> dict[str, str]:
    return {"key": found.key, "effect": found.effect} | ({"value": found.value} if found.value else {})
