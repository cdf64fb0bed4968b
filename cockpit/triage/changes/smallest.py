"""The few smallest changes after which the subject starts. Nothing is offered that was not tried."""

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from cockpit.catalogue.cause import Cause
from cockpit.fit.gang import fit
from cockpit.fit.what_if import changed_store
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader, sees_all
from cockpit.triage.changes.absent import absent, failed_worker
from cockpit.triage.changes.begun import of_begun
from cockpit.triage.changes.in_line import WaitingPods, after_others
from cockpit.triage.changes.more_nodes import more_nodes
from cockpit.triage.changes.named import create_named, is_bound
from cockpit.triage.changes.namespace_quota import namespace_quota
from cockpit.triage.changes.offer import FREE, ChangeOffer, Desk
from cockpit.triage.changes.other_jobs import other_jobs
from cockpit.triage.changes.own_admission import ADMISSIONS
from cockpit.triage.changes.own_lines import own_lines, partial_lines
from cockpit.triage.changes.own_refusals import REFUSALS, smaller_for_quota
from cockpit.triage.changes.quotas import is_open, quotas, resumed
from cockpit.triage.cluster_view import ClusterView
from cockpit.triage.verdict import Change, Verdict
from cockpit.triage.wanted import Demand, Holdup

MOST_OFFERS: Final = 5
_MOST_TRIED: Final = 20
_ALIKE: Final = {
    "kill": "end",
    "suspend": "end",
    "drop_selector": "place",
    "other_pool": "place",
    "more_nodes": "nodes",
    "scale_pool": "nodes",
    "ask_nodes": "nodes",
    "raise_maximum": "nodes",
}
"""Kinds of which the smallest makes the others superfluous; every other kind stands for itself."""
CURED_BY_WAITING: Final = frozenset(
    (
        Cause.QUOTA_VICTIMS_ENDING,
        Cause.BACKS_OFF,
        Cause.VICTIMS_ENDING,
        Cause.NODE_COMING,
        Cause.NOT_LOOKED_AT,
    )
)
"""Causes of the catalogue that go by themselves: victims that end, a back-off, machines that come."""
_QUEUE_KINDS: Final = frozenset(("create", "other_queue", "resume_queue"))


def changes_for(
    verdict: Verdict, view: ClusterView, most: int = MOST_OFFERS, demand: Demand | None = None
) -> tuple[Change, ...]:
    """Changes after which the verdict's subject starts, the smallest first; () where none is known, where
    waiting is the cure, or where what it asks for was not read. Each was tried by a fit on the changed
    cluster. Where no change alone does, two that do together. `demand` is the subject's, where it was worked
    out before."""
    subject = verdict.subject
    if verdict.cause in CURED_BY_WAITING or not _sees_all(view.store):
        return ()
    if begun := of_begun(verdict, view):
        return begun
    demand = demand or Demand(subject, view)
    wanted, named = demand.wanted, create_named(subject, view)
    if named is not None and is_bound(subject, view):
        return (msgspec.structs.replace(named, is_checked=True),)
    if wanted is None or wanted.holdup in (Holdup.MAKER, Holdup.SCHEDULER):
        found = failed_worker(subject, view)
        if found or wanted is None:
            return found
    desk = Desk(wanted, view, demand.answer)
    known = [*_of_cause(desk, verdict)]
    if named is not None and wanted.holdup in (Holdup.MAKER, Holdup.SCHEDULER):
        known = [ChangeOffer(FREE + 1, named, desk.base)]
    elif _UNSEEN.isdisjoint(_causes(verdict)) and wanted.holdup is not Holdup.OTHER:
        known += _offers(desk)
    if verdict.cause == _STARVED:
        known = [one for one in known if one.change.kind in _OF_OTHERS]
    offers = sorted(known, key=_order)
    return _that_start(offers, desk, most) or pairs(offers, desk, most)


_STARVED: Final = Cause.HALF_PLACED
"""The other half of what waits would take whatever room comes: only its end helps."""
_OF_OTHERS: Final = frozenset(("wait_for", "suspend", "kill"))


def _order(offer: ChangeOffer) -> tuple[int, str]:
    return offer.cost, offer.change.words


_UNSEEN: Final = frozenset(
    (
        *(
            Cause.LIMITS_NOT_STATED,
            Cause.OUTSIDE_LIMIT_RANGE,
            Cause.REFUSED_BY_POD_SECURITY,
            Cause.REFUSED_BY_WEBHOOK,
            Cause.NOT_ADMITTED_YET,
            Cause.NOT_TAKEN_BY_QUEUE,
            Cause.NO_CONTROLLER,
            Cause.REFUSED_BY_OPERATOR,
            Cause.NAME_TAKEN,
            Cause.GROUP_NOT_LET_IN,
            Cause.GROUP_QUEUE_CLOSED,
            Cause.WAITS_FOR_DEPENDENCY,
            Cause.LAUNCHER_NOT_MADE,
            Cause.RUNTIME_MISSING,
            Cause.BETWEEN_ATTEMPTS,
        ),
        *(
            Cause.NAMESPACE_GOING,
            Cause.NO_FLAVOR_FITS,
            Cause.ADMISSION_CHECK,
            Cause.OTHERS_NOT_READY,
            Cause.TOPOLOGY_FULL,
            Cause.ADMISSION_GATED,
            Cause.EVICTED_IN_A_LOOP,
            Cause.BEHIND_THE_HEAD,
            Cause.GANG_MEMBERS_MISSING,
            Cause.GANG_TIMED_OUT,
            Cause.GANG_BACKS_OFF,
            Cause.GANG_MISSING,
            Cause.ELASTIC_QUOTA_USED_UP,
            Cause.SEVERAL_SCHEDULERS,
            Cause.QUEUE_OVER_LIMIT,
        ),
        *(
            Cause.CLAIM_UNBOUND,
            Cause.VOLUME_ELSEWHERE,
            Cause.VOLUME_NOT_ATTACHABLE,
            Cause.DEVICE_CLAIM_MISSING,
            Cause.DEVICES_SHORT,
            Cause.DEVICE_ELSEWHERE,
            Cause.DEVICE_CLASS_MISSING,
            Cause.SCHEDULING_GATE,
            Cause.NO_SUCH_SCHEDULER,
            Cause.SCHEDULER_FAILED,
            Cause.HELD_BEFORE_QUEUE,
        ),
    )
)
"""Causes that no fit sees: room and quota start nothing while one of them stands."""


def _of_cause(desk: Desk, verdict: Verdict) -> Iterator[ChangeOffer]:
    """What helps against the causes themselves."""
    for cause in _causes(verdict):
        asked = REFUSALS.get(cause) or ADMISSIONS.get(cause)
        if asked is not None:
            yield from asked(desk, verdict)


def _causes(verdict: Verdict) -> tuple[str, ...]:
    """All that has to be mended before it starts."""
    return (verdict.cause, *(each.cause for each in verdict.then))


# ---- two together


def pairs(offers: Sequence[ChangeOffer], desk: Desk, most: int) -> tuple[Change, ...]:
    """Two changes that start the subject together, where the first alone does not."""
    first = [one for one in offers if _may_come_first(one)]
    first += [
        one
        for one in partial_lines(desk)
        if one.change.command not in [each.change.command for each in first]
    ]
    chosen: list[Change] = []
    for one in first[:_MOST_FIRST]:
        then = _after(desk, one)
        second = sorted((*_of_seats(then), *_of_quota(then)), key=_order)
        found = _that_start(second, then, 2)
        taken = {each.kind for each in chosen}
        anew = {each.change.words for each in second if each.tree is not None}
        both = (_in_order(one.change, other, other.words in anew) for other in found)
        chosen += [each for each in both if each.kind not in taken]
        if len(chosen) >= most:
            break
    return tuple(chosen[:most])


_MOST_FIRST: Final = 2
_LAST: Final = frozenset(
    (
        *("wait_for", "suspend", "kill", "more_nodes", "scale_pool", "ask_nodes", "raise_maximum"),
        *("fewer_gpus", "fewer_members", "force_delete", "repair_node"),
    )
)
"""Kinds that are about room: they come second."""


def _may_come_first(offer: ChangeOffer) -> bool:
    is_lost = offer.change.kind == "drop_gate" and offer.tree is None  # a job made anew has its gate again
    return offer.change.kind not in _LAST and not is_lost


def _after(desk: Desk, offer: ChangeOffer) -> Desk:
    """The desk as it would be after the change."""
    wanted, then = desk.wanted, after_others(desk, offer) or offer.then
    store = changed_store(desk.view.store, offer.then.records, offer.then.without)
    view = msgspec.structs.replace(desk.view, store=store, around=then.around)
    wanted = msgspec.structs.replace(
        wanted,
        parts=then.parts,
        queue=then.queue,
        tree=offer.tree or wanted.tree,
        pods=() if offer.tree else wanted.pods,
    )
    is_anew = desk.is_anew or offer.tree is not None
    answer = fit(store, then.parts, queue=then.queue, surroundings=then.around, rivals=then.rivals)
    return Desk(wanted, view, answer, is_anew)


def _of_quota(desk: Desk) -> Iterator[ChangeOffer]:
    if desk.answer.shortage is not None:
        yield from quotas(desk)
        yield from smaller_for_quota(desk)


def _in_order(first: Change, second: Change, is_made_anew: bool) -> Change:
    """A job is made anew before a queue lets it in: an engine that unsuspends it meanwhile may take the new
    one for the old one's end."""
    swaps = is_made_anew and first.kind in _QUEUE_KINDS
    return _together(second, first) if swaps else _together(first, second)


def _together(first: Change, second: Change) -> Change:
    command = (*first.command, "&&", *second.command) if second.command else first.command
    return Change(
        kind=f"{first.kind} {second.kind}",
        words=f"{first.words}, then {second.words}",
        verb="" if second.command else first.verb,
        command=command,
        is_checked=True,
        target=first.target,
        steps=(first, second),
    )


def _that_start(offers: Sequence[ChangeOffer], desk: Desk, most: int) -> tuple[Change, ...]:
    """The first of each kind that works, whoever else is let in by it."""
    waiting = WaitingPods(desk) if offers else None
    chosen: list[Change] = []
    taken: set[str] = set()
    tried = 0
    for offer in offers:
        group = _ALIKE.get(offer.change.kind, offer.change.kind)
        if group in taken:
            continue
        tried += 1
        if tried > _MOST_TRIED:
            break
        then = after_others(desk, offer, waiting)
        if then is not None and then.starts(desk.view.store, desk.answer):
            taken.add(group)
            chosen.append(msgspec.structs.replace(offer.change, is_checked=True))
            if len(chosen) == most:
                break
    return tuple(chosen)


def _offers(desk: Desk) -> Iterator[ChangeOffer]:
    """Whatever might help against what holds the subject up."""
    match desk.wanted.holdup:
        case Holdup.MAKER:
            yield from namespace_quota(desk)
        case Holdup.SUSPENDED:
            yield from resumed(desk)
        case Holdup.QUEUE:
            yield from _of_the_queue(desk)
        case Holdup.SCHEDULER:
            yield from absent(desk)
            yield from _of_seats(desk)


def _of_the_queue(desk: Desk) -> Iterator[ChangeOffer]:
    """A queue that does not exist or admits nobody is helped by nothing but a queue."""
    queue = desk.queue
    if queue is None or not is_open(queue):
        found = (*absent(desk), *quotas(desk))
        yield from (one for one in found if one.change.kind in _QUEUE_KINDS)
        return
    yield from quotas(desk)
    if desk.answer.shortage is not None:
        yield from smaller_for_quota(desk)
    yield from _of_seats(desk)


def _of_seats(desk: Desk) -> Iterator[ChangeOffer]:
    if desk.answer.fits:
        return  # what holds it is not what seats or quota could mend
    yield from own_lines(desk)
    yield from more_nodes(desk)
    yield from other_jobs(desk)


def _sees_all(store: StoreReader) -> bool:
    """Without every pod and every node nobody knows what is free."""
    return sees_all(store, Kind.POD) and sees_all(store, Kind.NODE)
