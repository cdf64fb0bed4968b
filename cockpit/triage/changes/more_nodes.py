"""More machines: a larger pool where somebody may say so, a higher maximum where that is what keeps it
small."""

import json

import msgspec

from cockpit.gangs.sentence import counted
from cockpit.model.pool import Pool, PoolObject
from cockpit.model.record import Kind
from cockpit.pools import registry
from cockpit.pools.index import pool_object, pools_of
from cockpit.pools.node_labels import NO_POOL
from cockpit.triage.changes.offer import MONEY, ChangeOffer, ChangeOffers, Desk, cockpit, node, short
from cockpit.triage.verdict import Change, Subject

_A_NODE = 10
_GUARDS = ("uid", "resourceVersion")


def more_nodes(desk: Desk) -> ChangeOffers:
    """An offer for each pool of which the fit says that more nodes would do."""
    found = [one for one in desk.answer.remedies if one.kind == "more_nodes"]
    pools = pools_of(desk.view.store) if found else ()
    for way in found:
        count = len(way.nodes)
        pool = next((one for one in pools if way.detail in one.node_names), None)
        is_pool = pool is not None and pool.name != NO_POOL
        change = _of_pool(desk, pool, count) if pool is not None and is_pool else _unowned(count, way.detail)
        if change is None:
            continue
        records = tuple((Kind.NODE, one) for one in way.nodes)
        cost = MONEY + _A_NODE * count + (0 if change.command else 1)
        yield ChangeOffer(cost, change, msgspec.structs.replace(desk.base, records=records))


def _unowned(count: int, like: str) -> Change:
    words = f"{counted(count, 'more node')} like {short(like)}"
    return Change(kind="more_nodes", words=words, target=node(like))


def _of_pool(desk: Desk, pool: Pool, count: int) -> Change | None:
    """None where an autoscaler owns the size and may still grow the pool: nothing has to be changed for
    that."""
    size = pool.nodes_now if pool.target is None else pool.target
    wanted = size + count
    target = Subject("pool", "", pool.name)
    owner = pool_object(desk.view.store, pool)
    more = f"{counted(count, 'more node')}"
    if owner is None:
        return Change(kind="more_nodes", words=f"{more} in pool {short(pool.name)}", target=target)
    if pool.maximum is not None and wanted > pool.maximum:
        return Change(
            kind="raise_maximum",
            words=f"raise the maximum of pool {short(pool.name)} from {pool.maximum} to {wanted} ({more})",
            command=_raise(owner, wanted) if _may_limit(desk, owner) else (),
            target=target,
        )
    if pool.why_not:
        return None
    return Change(
        kind="scale_pool",
        words=f"scale pool {short(pool.name)} from {size} to {wanted}",
        verb="pool.scale",
        command=cockpit("pool.scale", pool.name, "--to", str(wanted)),
        target=target,
    )


def _may_limit(desk: Desk, owner: PoolObject) -> bool:
    return registry.ownership(owner, (), desk.view.store).may_limit.may is True


def _raise(owner: PoolObject, maximum: int) -> tuple[str, ...]:
    """What its holder would send, as kubectl sends it: without the marks of the object as it was read."""
    (call,) = registry.holder(owner, ()).limit_calls(owner, maximum)
    if call.via:
        return ()
    change = {key: value for key, value in call.body.items() if key != "metadata"}
    marks = {key: value for key, value in call.body["metadata"].items() if key not in _GUARDS}
    patch = json.dumps({**({"metadata": marks} if marks else {}), **change})
    place = ("-n", owner.namespace) if owner.namespace else ()
    return ("kubectl", "patch", owner.kind.lower(), owner.name, *place, "--type=merge", "-p", patch)
