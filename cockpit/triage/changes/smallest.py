"""The few smallest changes after which the subject starts. Nothing is offered that was not tried."""

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from cockpit.fit.gang import FitAnswer
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader
from cockpit.triage.changes.absent import absent, failed_worker
from cockpit.triage.changes.more_nodes import more_nodes
from cockpit.triage.changes.named import create_named
from cockpit.triage.changes.namespace_quota import namespace_quota
from cockpit.triage.changes.offer import ChangeOffer, Desk
from cockpit.triage.changes.other_jobs import other_jobs
from cockpit.triage.changes.own_lines import own_lines
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
    "raise_maximum": "nodes",
}
"""Kinds of which the smallest makes the others superfluous; every other kind stands for itself."""
CURED_BY_WAITING: Final = frozenset(("B10", "B12", "C22", "C28", "C31"))
"""Causes of the catalogue that go by themselves: victims that end, a back-off, machines that come."""
_QUEUE_KINDS: Final = frozenset(("create", "other_queue", "resume_queue"))


def changes_for(
    verdict: Verdict, view: ClusterView, most: int = MOST_OFFERS, demand: Demand | None = None
) -> tuple[Change, ...]:
    """Changes after which the verdict's subject starts, the smallest first; () where none is known, where
    waiting is the cure, or where what it asks for was not read. Each was tried by a fit on the changed
    cluster. `demand` is the subject's, where it was worked out before."""
    subject = verdict.subject
    if verdict.cause in CURED_BY_WAITING or not _sees_all(view.store):
        return ()
    demand = demand or Demand(subject, view)
    wanted = demand.wanted
    if wanted is None or wanted.holdup in (Holdup.MAKER, Holdup.SCHEDULER):
        found = create_named(subject, view, wanted) or failed_worker(subject, view)
        if found or wanted is None:
            return found
    if wanted.holdup is Holdup.OTHER:
        return ()
    answer = demand.answer
    offers = sorted(_offers(Desk(wanted, view, answer)), key=lambda one: (one.cost, one.change.words))
    return _that_start(offers, view, answer, most)


def _that_start(
    offers: Sequence[ChangeOffer], view: ClusterView, answer: FitAnswer, most: int
) -> tuple[Change, ...]:
    """The first of each kind that works."""
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
        if offer.then.starts(view.store, answer):
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
    yield from _of_seats(desk)


def _of_seats(desk: Desk) -> Iterator[ChangeOffer]:
    if desk.answer.fits:
        return  # what holds it is not what seats or quota could mend
    yield from own_lines(desk)
    yield from more_nodes(desk)
    yield from other_jobs(desk)


def _sees_all(store: StoreReader) -> bool:
    """Without every pod nobody knows what is free."""
    status = store.status(Kind.POD)
    return status is None or status.is_whole
