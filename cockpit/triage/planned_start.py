"""Whether a job that is not submitted yet would start: what holds it at each gate that it will pass, and the
changes after which nothing does. Gates and changes are those of jobs that wait (`triage/changes`)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Final

import msgspec
from msgspec.structs import replace

from cockpit.catalogue import ListOf
from cockpit.catalogue.cause import Cause
from cockpit.fit.gang import FitAnswer, fit
from cockpit.fit.pod_sets import pods_asked
from cockpit.fit.quota import Shortage
from cockpit.fit.shape import Part
from cockpit.fit.topology_placement import TogetherAnswer, fit_together
from cockpit.gangs import registry
from cockpit.gangs.installed_engines import installed_engines
from cockpit.jobs.planned import planned_gang
from cockpit.model.contender import Preemptions
from cockpit.model.finding import Change, Finding, Subject
from cockpit.model.gang import Workload
from cockpit.model.listing import Incomplete
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader
from cockpit.pools.truth import is_use_known
from cockpit.triage.changes.gates import before_nodes, silent_schedulers
from cockpit.triage.changes.in_line import QueueTurn, on_flavors_of, store_after, turn_of
from cockpit.triage.changes.offer import ChangeOffer, Desk
from cockpit.triage.changes.smallest import MOST_OFFERS, starting
from cockpit.triage.context import ClusterView
from cockpit.triage.judgement import gaps
from cockpit.triage.wanted import Wanted

_QUOTA_LISTS: Final = (
    ListOf(Kind.LOCAL_QUEUE),
    ListOf(Kind.CLUSTER_QUEUE, is_wide=True),
    ListOf(Kind.WORKLOAD, is_wide=True),
)


class PlannedStart(msgspec.Struct, frozen=True, kw_only=True):
    """What becomes of the job. `answer` is the fit on nodes of the flavors that its queue gives it.

    `walls` hold it before its pods look for nodes; `lacks` are those of them that are quota, in numbers.
    `beside_others`: there is room, which pods that wait may take first. `preempts` are those whose end
    lets it start, None where that is not how it starts; `is_preemption_known`: who that would be was worked
    out. `changes` start it, each by itself, () where none
    was found or looked for. `unread` are lists that the quota rests on and that are not complete.
    """

    answer: FitAnswer
    walls: tuple[Finding, ...] = ()
    lacks: tuple[Shortage, ...] = ()
    beside_others: bool = False
    preempts: Preemptions | None = None
    is_preemption_known: bool = False
    changes: tuple[Change, ...] = ()
    unread: tuple[Incomplete, ...] = ()
    silent: tuple[str, ...] = ()  # schedulers that have bound no pod yet: whether they run is not known
    together: TogetherAnswer | None = None
    level: str = ""  # of the topology that it has to stay inside

    quota_causes: ClassVar[tuple[str, ...]] = (Cause.QUOTA_IN_USE, Cause.NO_FLAVOR_FITS)
    """Causes of the walls that `lacks` are of."""

    @property
    def starts(self) -> bool:
        """Nothing holds it as things are."""
        return not self.walls and not self.answer.missing and not self.beside_others


def planned_start(
    manifest: Mapping[str, Any],
    view: ClusterView,
    namespace: str = "",
    preempts: Preemptions | None = None,
    *,
    most: int = 0,
) -> PlannedStart | None:
    """What holds the job; with `most` also that many changes that start it. `preempts`: whom the plan would
    preempt, once that is known. None where its pods are not known, or what is free is not."""
    if pods_asked(manifest).unknown is not None or not is_use_known(view.store):
        return None
    parts = planned_gang(manifest, namespace)
    if not parts:
        return None
    desk, unread = _desk(manifest, parts, view)
    is_known = preempts is not None and not preempts.unknown
    silent = tuple(sorted(_silent(desk.pod_specs, view.store)))
    found = replace(_as_is(desk), unread=tuple(unread), silent=silent, is_preemption_known=is_known)
    if found.starts or found.together is not None:
        return found
    if preempts is not None and preempts.jobs and is_known:
        then = _as_is(desk, preempts)
        if then.starts:
            return replace(then, preempts=preempts, unread=found.unread, silent=silent)
    return replace(found, changes=_changes(desk, found, most)) if most else found


def _desk(
    manifest: Mapping[str, Any], parts: Sequence[Part], view: ClusterView
) -> tuple[Desk, list[Incomplete]]:
    """What it is judged on, and the lists of its queue that are not complete: then no queue is looked at."""
    engine, queue = registry.admitting(manifest)
    space = parts[0].shape.namespace
    unread = gaps(view.store, _QUOTA_LISTS, space) if queue and engine.queues.local else []
    name = str((manifest.get("metadata") or {}).get("name") or "")
    wanted = Wanted(
        subject=Subject("job", space, name),
        parts=tuple(parts),
        queue=queue if engine.queues.local and not unread else "",
        tree=manifest,
        is_planned=True,
    )
    return Desk(wanted, view, is_anew=True), unread


def _silent(specs: Iterable[Mapping[str, Any]], store: StoreReader) -> set[str]:
    """Schedulers of these pod specs of which nothing shows that they run. Of an engine's scheduler also its
    controller shows it: a new engine has bound no pod yet."""
    names = {str(spec.get("schedulerName") or "") for spec in specs} & registry.schedulers()
    if names:
        names -= {pod.scheduler for pod in store.records(Kind.POD).values() if pod.node}
        alive = {item.engine for item in installed_engines(store, lambda *_: True) if item.is_alive}
        names -= {engine.scheduling.scheduler for engine in registry.engines() if engine.name in alive}
    return {*silent_schedulers(specs, store), *names}


def _as_is(desk: Desk, gone: Preemptions | None = None) -> PlannedStart:
    """What holds it with nothing changed but that these are gone."""
    view, then = desk.view, desk.base
    if gone is not None:
        freed = tuple(
            (Kind.WORKLOAD, replace(record, cluster_queue="", is_active=False))
            for uid in gone.workloads
            if isinstance(record := view.store.get(Kind.WORKLOAD, uid), Workload)
        )
        then = replace(then, without=gone.pods, records=freed)
    turn = turn_of(desk, then, is_last=True)
    levels = registry.required_levels(desk.wanted.tree or {}) if desk.wanted.queue else ()
    mends = Cause.TOPOLOGY_FULL if any(levels) else ""
    offer = ChangeOffer(0, Change(kind="", words=""), then, mends=mends)
    walls = tuple(before_nodes(desk, offer, turn))
    parts, seen = on_flavors_of(desk, turn), store_after(view.store, then)
    lacks = () if turn.behind else turn.lacks
    if any(levels) and len(levels) == len(parts):
        return _inside_one(desk, parts, levels, PlannedStart(answer=desk.answer, walls=walls, lacks=lacks))
    answer = fit(seen, parts, surroundings=view.around)
    beside = not answer.missing and _is_taken_first(desk, turn, parts)
    return PlannedStart(answer=answer, walls=walls, lacks=lacks, beside_others=beside)


def _is_taken_first(desk: Desk, turn: QueueTurn, parts: Sequence[Part]) -> bool:
    """Whether those that come first may leave too little room; where only their order tells, it is not."""
    rivals = (*desk.waiting.parts(()), *turn.rivals)
    return bool(rivals) and bool(
        fit(desk.view.store, parts, surroundings=desk.view.around, rivals=rivals).missing
    )


def _inside_one(
    desk: Desk, parts: Sequence[Part], levels: Sequence[str], found: PlannedStart
) -> PlannedStart:
    """The fit of a gang that its engine places inside one domain of its topology."""
    level = next(each for each in levels if each)
    bound = [at for at, each in enumerate(levels) if each == level]
    around = desk.view.around
    inside = fit_together(desk.view.store, parts, level, surroundings=around, bound_parts=bound)
    answer = found.answer if inside.answer is None else inside.answer
    return replace(found, answer=answer, together=inside, level=level)


def _changes(desk: Desk, found: PlannedStart, most: int) -> tuple[Change, ...]:
    """Done in the form, or to others."""
    wanted = replace(desk.wanted, parts=tuple(item.part for item in found.answer.parts))
    if found.lacks:
        wanted = desk.wanted
    full = Desk(wanted, desk.view, found.walls, is_anew=True)
    return starting(full, most or MOST_OFFERS)
