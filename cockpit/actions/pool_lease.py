"""One change of a pool's size in flight, held by a Lease that every cockpit of the cluster reads.

Whoever begins a change takes the pool's Lease first, by its resource version, so of two who begin at once one
is refused. It is renewed while the change goes on (`pool_follow`), given back at its end, and free for others
where it was not renewed for its duration. Without the right to it a change is planned all the same, and says
that another cockpit cannot be excluded.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final, NamedTuple

import msgspec

from cockpit.actions.planning import Planning, PoolTerms
from cockpit.actions.refusals import withheld
from cockpit.clock import Clock
from cockpit.errors import BadInput, Refused
from cockpit.kube.access import read_verdict
from cockpit.kube.decode.leases import BY, FROM, TO, lease_record
from cockpit.kube.decode.times import from_text
from cockpit.kube.resource import Resource
from cockpit.local_state.audit import local_user
from cockpit.model.lease import Lease, LeaseRead
from cockpit.model.plan import Call, PoolLeaseHandle
from cockpit.model.pool import Pool
from cockpit.model.right import Permission, Right, cannot
from cockpit.model.session import Session

LEASES: Final = Resource("coordination.k8s.io", "v1", "leases", "Lease", namespaced=True)
LEASE_SECONDS: Final = 600
"""Unrenewed it lapses after so long: about what a machine takes to come, for a command that does not wait."""
RENEW_SECONDS: Final = LEASE_SECONDS / 3
_MERGE: Final = "application/merge-patch+json"
_JSON_PATCH: Final = "application/json-patch+json"
Notes = Mapping[str, str | None]


class Taking(NamedTuple):
    """How the pool is taken: the call, None where it cannot be, and why; which change of ours in flight it
    `replaces`, which may be over while a person reads."""

    call: Call | None
    hold: PoolLeaseHandle
    lacks: tuple[str, ...] = ()
    replaces: tuple[str, ...] = ()


def lease_name(pool: Pool) -> str:
    """A name that is the same in every cockpit, allowed for an object, and the pool's alone."""
    return f"gpu-cockpit-{pool.mark}"


async def take(
    session: Session, pool: Pool, terms: PoolTerms, *, now: int | None, to: int, briefly: bool = False
) -> Taking:
    """How to take the pool for a change from `now` to `to` nodes; `briefly` for what its calls do alone, and
    not while any change is in flight.

    Raises BadInput where another cockpit has it, NoConnection.
    """
    name, namespace, at_seconds = lease_name(pool), terms.lease_namespace, terms.lease_seconds
    who = terms.holder or holder_here(session)
    hold = PoolLeaseHandle(
        pool=pool.name,
        pool_key=pool.key,
        to=to,
        path=LEASES.path(namespace, name),
        target=f"lease {namespace}/{name}",
        holder=who,
        taken=micro_time(at_seconds),
        is_brief=briefly,
    )
    answer = await session.request("GET", hold.path)
    if answer.status == 403:
        return _unheld(hold, cannot(Right("get", LEASES.group, LEASES.plural, "", namespace)))
    tree = answer.json() if answer.status == 200 else None
    if answer.status != 404 and not (isinstance(tree, dict) and tree.get("metadata")):
        return _unheld(hold, f"{hold.target} cannot be read")
    found = None if tree is None else lease_record(tree)
    is_taken = found is not None and found.is_in_force(at_seconds)
    if found is not None and is_taken and (briefly or found.holder != who):
        raise BadInput(_taken(pool, found))
    verb = "create" if found is None else "patch"
    lacks = await _lacks(session, Right(verb, LEASES.group, LEASES.plural, "", namespace))
    if lacks:
        return _unheld(hold, lacks)
    notes = {} if briefly else {TO: str(to), FROM: None if now is None else str(now), BY: who}
    if found is None:
        return Taking(_create(hold, namespace, name, notes), hold)
    if is_taken or briefly:  # of a brief one: who asked for the size that the pool has stays known
        hold = msgspec.structs.replace(hold, replaces=found)
    own = f"your change {found.change} is in flight: this replaces it"
    return Taking(_seize(hold, found, notes), hold, replaces=(own,) if is_taken else ())


async def take_briefly(planning: Planning, pool: Pool) -> Taking:
    """How to take the pool while a node that a removal has closed is opened: a removal that is on its way, by
    whomever, would have another one go. Raises BadInput while one may be, NoConnection."""
    size = pool.nodes_now if pool.target is None else pool.target
    return await take(planning.session, pool, planning.pools, now=size, to=size, briefly=True)


async def read_lease(session: Session, pool: Pool, namespace: str) -> LeaseRead:
    """Who changes the pool now, or did last. Raises NoConnection."""
    answer = await session.request("GET", LEASES.path(namespace, lease_name(pool)))
    if answer.status == 404:
        return LeaseRead()
    if trouble := withheld(answer.status, f"get leases in {namespace}"):
        return LeaseRead(trouble=trouble)
    tree = answer.json() if answer.status == 200 else None
    if not isinstance(tree, dict) or not tree.get("metadata"):
        return LeaseRead(trouble=f"lease {namespace}/{lease_name(pool)} cannot be read")
    found = lease_record(tree)
    return LeaseRead(found, is_ours=bool(found.holder) and found.holder == holder_here(session))


def hold_of(pool: Pool, lease: Lease, namespace: str) -> PoolLeaseHandle | None:
    """The hold behind that Lease as its holder wrote it; None where it does not say for what."""
    if lease.to_nodes is None:
        return None
    name = lease_name(pool)
    return PoolLeaseHandle(
        pool=pool.name,
        pool_key=pool.key,
        to=lease.to_nodes,
        path=LEASES.path(namespace, name),
        target=f"lease {namespace}/{name}",
        holder=lease.holder,
        taken="" if lease.acquired_seconds is None else micro_time(lease.acquired_seconds),
    )


def holder_here(session: Session) -> str:
    """The name of the user of this host as a holder."""
    return local_user() or session.user or "unknown user"


def _unheld(hold: PoolLeaseHandle, why: str) -> Taking:
    free = PoolLeaseHandle(pool=hold.pool, pool_key=hold.pool_key, to=hold.to, is_brief=hold.is_brief)
    return Taking(None, free, (f"another cockpit that changes this pool cannot be excluded: {why}",))


async def _lacks(session: Session, right: Right) -> str:
    """Why the Lease cannot be written, "" where it can."""
    try:
        verdict = await read_verdict(session, right)  # type: ignore[arg-type]  # asks by `request` alone
    except Refused as error:
        return error.sentence
    if verdict is Permission.ALLOWED:
        return ""
    return cannot(right) if verdict is Permission.DENIED else f"whether you may {right.words} is not known"


def _taken(pool: Pool, lease: Lease) -> str:
    since = f" since {clock_words(lease.acquired_seconds)}" if lease.acquired_seconds else ""
    change = f" ({lease.change})" if lease.change else ""
    lapses = lease.lapses_seconds()
    until = f", or until {clock_words(lapses)} when its hold lapses" if lapses is not None else ""
    return (
        f"pool {pool.name} is being changed by {lease.holder}{since}{change}: wait until that is done{until}"
    )


def clock_words(seconds: float) -> str:
    """`14:02:10 UTC`."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%H:%M:%S UTC")


def micro_time(seconds: float) -> str:
    """A moment as the API server writes a MicroTime."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _spec(hold: PoolLeaseHandle, transitions: int) -> dict[str, object]:
    return {
        "holderIdentity": hold.holder,
        "leaseDurationSeconds": LEASE_SECONDS,
        "acquireTime": hold.taken,
        "renewTime": hold.taken,
        "leaseTransitions": transitions,
    }


def _create(hold: PoolLeaseHandle, namespace: str, name: str, notes: Notes) -> Call:
    said = {key: value for key, value in notes.items() if value is not None}
    body = {
        "apiVersion": LEASES.api_version,
        "kind": LEASES.kind,
        "metadata": {"name": name, "namespace": namespace, "annotations": said},
        "spec": _spec(hold, 0),
    }
    return Call(method="POST", path=LEASES.path(namespace), body=body, target=hold.target)


def _seize(hold: PoolLeaseHandle, lease: Lease, notes: Notes) -> Call:
    guard = {"uid": lease.uid, "resourceVersion": lease.resource_version}
    body = {
        "metadata": {**guard, "annotations": dict(notes)},
        "spec": _spec(hold, lease.transitions + (lease.holder != hold.holder)),
    }
    return Call(method="PATCH", path=hold.path, body=body, content_type=_MERGE, target=hold.target)


def renew_call(hold: PoolLeaseHandle, at_seconds: float) -> Call:
    """Keep it; refused where another holder has it."""
    return _own(hold, {"op": "replace", "path": "/spec/renewTime", "value": micro_time(at_seconds)})


def release_call(hold: PoolLeaseHandle, at_seconds: float) -> Call:
    """Give it back; refused where another holder has it."""
    return _own(hold, *_released(at_seconds))


def _released(at_seconds: float) -> tuple[dict[str, object], ...]:
    return (
        {"op": "remove", "path": "/spec/holderIdentity"},
        {"op": "replace", "path": "/spec/renewTime", "value": micro_time(at_seconds)},
        {"op": "replace", "path": "/spec/leaseDurationSeconds", "value": 1},
    )


def may_have_lapsed(hold: PoolLeaseHandle | None, clock: Clock) -> bool:
    """Whether so much time went by since its plan was made, on a host that slept or a line that hung, that
    another holder may have the pool by now, and have changed it."""
    taken = from_text(hold.taken) if hold is not None and hold.path else None
    if taken is None:
        return False
    return abs(clock.cluster_now() - taken) > RENEW_SECONDS * clock.cluster_pace()


def give_up_call(hold: PoolLeaseHandle, at_seconds: float) -> Call:
    """What was to be done behind it is not: give it back, to the change that it replaced where one is in
    flight; refused where another holder has it."""
    before = hold.replaces
    if before is None or before.acquired_seconds is None:
        return release_call(hold, at_seconds)
    acquired: dict[str, object] = {
        "op": "replace",
        "path": "/spec/acquireTime",
        "value": micro_time(before.acquired_seconds),
    }
    if hold.is_brief:
        return _own(hold, acquired, *_released(at_seconds))
    said = {TO: before.to_nodes, FROM: before.from_nodes}
    notes: list[dict[str, object]] = [
        {"op": "add", "path": f"/metadata/annotations/{_pointer(key)}", "value": str(nodes)}
        for key, nodes in said.items()
        if nodes is not None
    ]
    return _own(
        hold,
        *notes,
        acquired,
        {"op": "replace", "path": "/spec/renewTime", "value": micro_time(at_seconds)},
    )


def _pointer(key: str) -> str:
    """RFC 6901."""
    return key.replace("~", "~0").replace("/", "~1")


def _own(hold: PoolLeaseHandle, *operations: dict[str, object]) -> Call:
    # another session of the same user and host may have begun a change since, also to the same size
    tests = (("/spec/acquireTime", hold.taken), ("/spec/holderIdentity", hold.holder))
    body = [*({"op": "test", "path": path, "value": value} for path, value in tests), *operations]
    return Call(method="PATCH", path=hold.path, body=body, content_type=_JSON_PATCH, target=hold.target)
