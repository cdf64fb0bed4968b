"""The few smallest changes after which the subject starts: each is laid over the view, and every gate is
asked again. Where none does, what removes the first blocker, with what comes next. Pods that have their node
and do not run, or have ended: nothing but making what they name, or making them anew, helps."""

from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import Final

from msgspec.structs import replace

from cockpit.catalogue import Cause, Gate, Lift, ListOf, Trait, is_a, row_of
from cockpit.fit.gang import fit
from cockpit.fit.scheduling_context import Claim, Volume
from cockpit.fit.shape import Part, shape_of
from cockpit.fit.what_if import WhatIf
from cockpit.gangs.wording import short
from cockpit.jobs.planned import planned_gang
from cockpit.k8s.json_patch import Operation, edited
from cockpit.model.finding import Change, Finding, Subject
from cockpit.model.job import Job, JobState
from cockpit.model.listing import listing
from cockpit.model.record import Kind
from cockpit.model.sureness import Sureness
from cockpit.triage.changes.fit_offers import more_nodes, own_lines, partial_lines
from cockpit.triage.changes.gates import changed_view, create_named, left_after, still_told
from cockpit.triage.changes.in_line import turn_of
from cockpit.triage.changes.job_edits import authored, edit_command, own_pods, verb_of_edit
from cockpit.triage.changes.offer import FREE, ChangeOffer, ChangeOffers, Desk, made
from cockpit.triage.changes.other_jobs import other_jobs
from cockpit.triage.changes.queue_offers import ADMISSIONS, quotas
from cockpit.triage.changes.refusal_offers import REFUSALS
from cockpit.triage.context import ClusterView, Tree
from cockpit.triage.judgement import gaps
from cockpit.triage.wanted import Demand, Holdup, Wanted, job_of

_CREATED = {"configmap": ("create", "configmap"), "secret": ("create", "secret", "generic")}
_DEADLINE = "activeDeadlineSeconds"


def of_begun(verdict: Finding, view: ClusterView) -> tuple[Change, ...]:
    """Changes after which what has a node already, or has ended, runs; () where none is known."""
    if verdict.cause in (Cause.CONFIG_MISSING, Cause.VOLUME_NOT_MOUNTED):
        return _object_made(verdict)
    if is_a(verdict.cause, Trait.FINAL):
        return _anew(verdict, view, (), "made anew: its pod is final")
    if verdict.cause == Cause.DECLARED_FINISHED:
        return _recreated(verdict, view)
    if verdict.cause == Cause.DEADLINE:
        return _later_deadline(verdict, view)
    return ()


def _object_made(verdict: Finding) -> tuple[Change, ...]:
    """Where a pod has its node nothing else is needed: its kubelet tries again."""
    kind, name, space = verdict.fact("kind").lower(), verdict.fact("object"), verdict.subject.namespace
    made = _CREATED.get(kind)
    if made is None or not name:
        return ()
    words = f"create {kind} {short(name)} in {short(space)}, with what the container reads"
    command, target = ("kubectl", *made, name, "-n", space), Subject(kind, space, name)
    return (Change(kind="create", words=words, command=command, is_checked=True, target=target),)


def _tree(subject: Subject, view: ClusterView) -> Tree | None:
    job = job_of(subject, view) if subject.kind in ("job", "gang") else None
    if job is not None:
        return view.tree(job.kind, job.namespace, job.name)
    found = view.tree("Pod", subject.namespace, subject.name) if subject.kind == "pod" else None
    return None if found is None or found["metadata"].get("ownerReferences") else found


def _anew(
    verdict: Finding, view: ClusterView, operations: tuple[Operation, ...], words: str
) -> tuple[Change, ...]:
    found, job = _tree(verdict.subject, view), job_of(verdict.subject, view)
    if found is None:
        return ()
    tree = authored(found, job, view)
    members = () if job is None else view.jobs.members(job.key)
    then = WhatIf(
        parts=planned_gang(edited(tree, operations), verdict.subject.namespace),
        around=view.around,
        without=frozenset(one.uid for one in members),
    )
    if not then.parts or not then.starts(view.store):
        return ()
    return (replace(_edited(verdict, job, tree, operations), kind="made_anew", words=words, is_checked=True),)


def _edited(verdict: Finding, job: Job | None, tree: Tree, operations: tuple[Operation, ...]) -> Change:
    """The job recreated without what its queue wrote into it, and with the operations done."""
    name = verdict.subject.key if job is None else f"{job.namespace}/{job.name}"
    return Change(
        kind="recreate",
        words="recreated without what its queue wrote into it",
        verb=verb_of_edit(tree),
        command=edit_command(tree, operations, name),
        target=verdict.subject,
    )


def _recreated(verdict: Finding, view: ClusterView) -> tuple[Change, ...]:
    """The job as its author wrote it, at the end of its queue: it starts, or what comes next is told."""
    found, job = _tree(verdict.subject, view), job_of(verdict.subject, view)
    if found is None or job is None:
        return ()
    change, written = _edited(verdict, job, found, ()), authored(found, job, view)
    parts = planned_gang(written, job.namespace)
    if not parts:
        return (change,)
    wanted = Wanted(subject=verdict.subject, parts=parts, queue=job.queue, job=job, tree=written)
    desk = Desk(wanted, view, is_anew=True)
    then = replace(desk.base, without=own_pods(desk))
    left = next(left_after(desk, ChangeOffer(0, change, then, written)), None)
    leaves = "" if left is None else left.sentence
    return (replace(change, is_checked=left is None, leaves=leaves),)


def _later_deadline(verdict: Finding, view: ClusterView) -> tuple[Change, ...]:
    spec = (_tree(verdict.subject, view) or {}).get("spec") or {}
    for path, held in (("/spec", spec), ("/spec/runPolicy", spec.get("runPolicy") or {})):
        if _DEADLINE in held:
            words = f"made anew without its deadline of {held[_DEADLINE]} s"
            gone: Operation = {"op": "remove", "path": f"{path}/{_DEADLINE}"}
            return _anew(verdict, view, (gone,), words)
    return ()


MOST_OFFERS: Final = 5
_MOST_TRIED: Final = 20
_MOST_STEPS: Final = 3
_MOST_FIRST: Final = 2
_ALIKE: Final = {
    **dict.fromkeys(("kill", "suspend"), "end"),
    **dict.fromkeys(("drop_selector", "other_pool"), "place"),
    **dict.fromkeys(("wait_nodes", "more_nodes", "scale_pool"), "nodes"),
    **dict.fromkeys(("ask_nodes", "grows", "raise_maximum"), "nodes"),
}
"""Kinds of which the smallest makes the others superfluous; every other kind stands for itself."""
_ABOUT_ROOM: Final = frozenset(
    (
        *("wait_for", "suspend", "kill", "wait_nodes", "more_nodes", "scale_pool", "ask_nodes", "grows"),
        *("raise_maximum", "fewer_gpus", "fewer_members", "force_delete", "repair_node"),
    )
)
"""Kinds that come last: they give seats to a job that nothing else keeps from them."""
_ON_ITS_OBJECTS: Final = frozenset(("drop_gate", "pass_check", "tolerate"))
"""Kinds that change a pod or workload that is there: a job that is made anew has others."""
_SEATS: Final = (ListOf(Kind.NODE, is_wide=True), ListOf(Kind.POD, is_wide=True))
_QUOTA: Final = (
    ListOf(Kind.LOCAL_QUEUE),
    ListOf(Kind.CLUSTER_QUEUE, is_wide=True),
    ListOf(Kind.WORKLOAD, is_wide=True),
)
_POOLS: Final = (ListOf(Kind.POOL, is_wide=True), ListOf(Kind.MACHINE, is_wide=True))
"""The lists from which it is worked out whether an offer starts its subject."""

Route = tuple[ChangeOffer, ...]


def changes_for(
    verdict: Finding, view: ClusterView, most: int = MOST_OFFERS, demand: Demand | None = None
) -> tuple[Change, ...]:
    """Changes after which the verdict's subject starts, the smallest first; () where none is known, where
    waiting is the cure, or where what it asks for was not read. Where no change alone does, several that do
    together; where these do not either, what removes the first blocker, with what it leaves. None is checked
    where a list that it rests on is not complete. `demand`: the subject's, where it was worked out before."""
    if row_of(verdict.cause).lifted_by is Lift.TIME:
        return ()
    demand = demand or Demand(verdict.subject, view)
    return tuple(
        _unless_unknown(one, verdict, view, demand.wanted) for one in _changes(verdict, view, most, demand)
    )


def _changes(verdict: Finding, view: ClusterView, most: int, demand: Demand) -> tuple[Change, ...]:
    """As if all lists were complete; where pods or nodes are not listed whole, what is free is not known, and
    what mends the word of a component is all there is to offer."""
    if begun := of_begun(verdict, view):
        return begun
    wanted = demand.wanted
    sees_all = all(listing(view.store, kind).has_all for kind in (Kind.POD, Kind.NODE))
    if sees_all and (wanted is None or wanted.holdup in (Holdup.MAKER, Holdup.SCHEDULER)):
        found = failed_worker(verdict.subject, view)
        if found or wanted is None:
            return found
    if wanted is None:
        return ()
    desk = desk_of(verdict, view, demand)
    if not sees_all:
        mending = [one for one in _mending(desk) if row_of(one.mends).lifted_by is Lift.COMPONENT]
        return tuple(one.change for one in sorted(mending, key=_order)[:_MOST_FIRST])
    return starting(desk, most) or tuple(islice(_first_steps(desk), _MOST_FIRST))


def starting(desk: Desk, most: int = MOST_OFFERS) -> tuple[Change, ...]:
    """Changes after which the subject starts, the smallest first."""
    return tuple(_together(route) for route in routes(desk, most))[:most]


def _unless_unknown(change: Change, verdict: Finding, view: ClusterView, wanted: Wanted | None) -> Change:
    """The offer as it is where all lists that it rests on are complete, else not checked."""
    rests = [*_SEATS, *(one for found in (verdict, *verdict.then) for one in row_of(found.cause).rests_on)]
    if wanted is not None and (wanted.queue or (wanted.job is not None and wanted.job.queue)):
        rests += _QUOTA
    if any(one.target is not None and one.target.kind == "pool" for one in (change, *change.steps)):
        rests += _POOLS
    unsure = dict.fromkeys(one.words for one in gaps(view.store, rests, verdict.subject.namespace))
    if not unsure:
        return change
    return replace(change, is_checked=False, leaves="", unknown=", ".join(unsure))


def desk_of(verdict: Finding, view: ClusterView, demand: Demand) -> Desk:
    """What the offers of the verdict's subject are made from: its members on the nodes of its flavors. Only
    where something is wanted."""
    wanted = demand.wanted
    assert wanted is not None
    desk = Desk(wanted, view, _blockers(verdict, wanted), answer=demand.answer)
    parts = turn_of(desk, desk.base).parts
    if parts == wanted.parts:
        return desk
    return Desk(replace(wanted, parts=parts), view, desk.blockers)


def routes(desk: Desk, most: int = MOST_OFFERS) -> list[Route]:
    """Changes that start the subject one after the other, as few as it takes: of each kind the smallest."""
    found = _routes(desk, most, _MOST_STEPS)
    fewest = min(map(len, found), default=0)
    chosen = {tuple(sorted(one.change.kind for one in route)): route for route in reversed(found)}
    return [route for route in reversed(chosen.values()) if len(route) == fewest]


def _blockers(verdict: Finding, wanted: Wanted) -> tuple[Finding, ...]:
    """All that was told of the subject, also what was not understood; of a scheduler nodes tell more."""
    is_raw = verdict.sureness is Sureness.UNKNOWN and bool(verdict.sentence)
    is_raw = is_raw and wanted.holdup is not Holdup.SCHEDULER
    first = (verdict,) if verdict.cause or is_raw else ()
    return (*first, *(one for one in verdict.then if one.cause))


def _order(offer: ChangeOffer) -> tuple[int, str]:
    return offer.cost, offer.change.words


def _candidates(desk: Desk) -> ChangeOffers:
    """What helps against the causes themselves, and once no component holds the subject any more, whatever
    gives it quota and seats."""
    yield from _mending(desk)
    yield from create_named(desk)
    if next(still_told(desk), None) is not None:
        return
    yield from claims(desk)
    yield from quotas(desk)
    if desk.answer.missing:
        yield from own_lines(desk)
        yield from more_nodes(desk)
    if desk.answer.missing or turn_of(desk, desk.base).lacks:
        yield from other_jobs(desk)


def _mending(desk: Desk) -> ChangeOffers:
    for one in desk.blockers:
        mend = REFUSALS.get(one.cause) or ADMISSIONS.get(one.cause)
        for offer in () if mend is None else mend(desk, one):
            yield offer._replace(mends=one.cause)


def _routes(desk: Desk, most: int, steps: int) -> list[Route]:
    """Changes, or several of them in a row, that start the subject; of each kind the first that does."""
    offers = sorted(_candidates(desk), key=_order)
    found: list[Route] = [(one,) for one in _that_start(offers, desk, most)]
    if found or steps == 1:
        return found
    firsts = _firsts(desk, offers)
    tried = tuple(dict.fromkeys(one.change.kind for one in firsts))[:_MOST_FIRST]
    for first in [one for one in firsts if one.change.kind in tried][: _MOST_FIRST + 1]:
        if first.change.kind in {route[0].change.kind for route in found}:
            continue
        for rest in _routes(after(desk, first), 2, steps - 1):
            is_lost = first.tree is None and first.change.kind in _ON_ITS_OBJECTS
            if not (is_lost and any(one.is_anew for one in rest)):
                found.append(_raised_last(desk, (first, *rest)))
    return found


def _raised_last(desk: Desk, route: Route) -> Route:
    """The same with its quota raised last where that is by less: steps that end others free quota, too."""
    raises = [one for one in route[:-1] if one.change.kind == "raise_quota"]
    others = tuple(one for one in route if one not in raises)
    # a later step that changes a queue was made of the queue as it is raised
    if not raises or any(kind == Kind.CLUSTER_QUEUE for one in others for kind, _ in one.then.records):
        return route
    for one in others[:-1]:
        desk = after(desk, one)
    if next(left_after(desk, others[-1]), None) is None:
        return others
    desk = after(desk, others[-1])
    again = [one for one in quotas(desk) if one.change.kind == "raise_quota" and one.cost < raises[0].cost]
    return (*others, *again) if _that_start(again, desk, 1) else route


def _that_start(offers: Sequence[ChangeOffer], desk: Desk, most: int) -> list[ChangeOffer]:
    chosen: dict[str, ChangeOffer] = {}
    tried = 0
    for offer in offers:
        group = _ALIKE.get(offer.change.kind, offer.change.kind)
        if group in chosen:
            continue
        tried += 1
        if next(left_after(desk, offer), None) is None:
            chosen[group] = offer
        if len(chosen) == most or tried == _MOST_TRIED:
            break
    return list(chosen.values())


def _firsts(desk: Desk, offers: Sequence[ChangeOffer]) -> list[ChangeOffer]:
    """What may come before another change: what mends the first told cause, else what is not about room."""
    told = [one.cause for one in still_told(desk)]
    if told:
        return [one for one in offers if one.mends == told[0]]
    known = [one for one in offers if one.change.kind not in _ABOUT_ROOM]
    ways = {one.change.command or one.change.words for one in known}
    return [*known, *(it for it in partial_lines(desk) if (it.change.command or it.change.words) not in ways)]


def after(desk: Desk, offer: ChangeOffer) -> Desk:
    """The desk as it would be after the change."""
    is_anew = desk.is_anew or offer.is_anew
    turn = turn_of(desk, offer.then, is_last=is_anew)
    view = changed_view(desk, offer)
    wanted = replace(
        desk.wanted,
        parts=turn.parts,
        queue=offer.then.queue,
        tree=offer.tree or desk.wanted.tree,
        pods=() if offer.tree else desk.wanted.pods,
    )
    rivals = (*desk.waiting.beside(offer.then), *turn.rivals)
    answer = fit(view.store, turn.parts, surroundings=view.around, rivals=rivals)
    left = tuple(one for one in desk.blockers if one.cause != offer.mends)
    return Desk(wanted, view, left, answer=answer, is_anew=is_anew)


def _first_steps(desk: Desk) -> Iterator[Change]:
    """What takes the first blocker away and starts nothing yet: with what it leaves."""
    offers = sorted(_candidates(desk), key=_order)
    as_is = ChangeOffer(0, Change(kind="", words=""), desk.base)
    before = next(left_after(desk, as_is), None)
    kinds: set[str] = set()
    for offer in _firsts(desk, offers):
        left = next(left_after(desk, offer), None)
        if before is None or left is None or left.cause == before.cause or offer.change.kind in kinds:
            continue
        kinds.add(offer.change.kind)
        yield replace(offer.change, leaves=left.sentence)


def _together(route: Route) -> Change:
    """One change of several. What the API server asks for comes first; a job is made anew before anything
    lets it in: an engine that unsuspends it meanwhile may take the new one for the old one's end. A copy
    under another name is made last, of all that was done."""

    def turn(one: ChangeOffer) -> int:
        if one.is_anew:
            return 1 if one.tree is not None else 4
        if one.change.kind == "resume" or row_of(one.mends).gate is Gate.CREATION:
            return 0
        return 3 if one.change.kind == "other_queue" else 2  # no job is moved to a queue that is stopped

    steps = [one.change for one in sorted(route, key=turn)]
    if len(steps) == 1:
        return replace(steps[0], is_checked=True)
    commands = [one.command for one in steps if one.command]
    command = tuple(chain.from_iterable(("&&", *one) for one in commands))[1:]
    return replace(
        steps[0],
        kind=" ".join(one.kind for one in steps),
        words=", then ".join(one.words for one in steps),
        verb=steps[0].verb if len(commands) == 1 else "",
        command=command,
        is_checked=True,
        steps=tuple(chain.from_iterable(one.steps or (one,) for one in steps)),
    )


_KEEPS_FAILED = ("MPIJob",)
"""Kinds whose controllers leave a failed worker where it is and start no other in its place."""


def claims(desk: Desk) -> ChangeOffers:
    """Claims of its pods that do not exist. Any volume does: where it will lie is the choice of its maker."""
    around, space = desk.view.around, desk.wanted.namespace
    asked = {name for one in desk.wanted.parts for name in one.shape.claims}
    names = sorted(asked - (around.claims or {}).keys())
    if around.claims is None or not names:
        return
    bound = {name: Claim(name, volume=f"for {name}", is_bound=True) for name in names}
    volumes = {**(around.volumes or {}), **{one.volume: Volume(one.volume) for one in bound.values()}}
    after = replace(around, claims={**around.claims, **bound}, volumes=volumes)
    listed = " and ".join(short(name) for name in names)
    words = f"create claim{'s' * (len(names) != 1)} {listed} in {short(space)}"
    files = chain.from_iterable(("-f", f"{name}.yaml") for name in names)
    command = ("kubectl", "apply", "-n", space, *files)
    target = Subject("claim", space, names[0])
    yield made(desk, FREE + len(names), "create", words, command, target=target, around=after)


def failed_worker(subject: Subject, view: ClusterView) -> tuple[Change, ...]:
    """A failed worker that nobody replaces: gone, its controller makes it anew, if it then finds a seat."""
    job = job_of(subject, view) if subject.kind in ("job", "gang") else None
    if job is None or job.kind not in _KEEPS_FAILED or job.state in JobState.ENDED:
        return ()
    failed = [
        pod
        for pod in view.jobs.members(job.key)
        if pod.phase == "Failed" and pod.role == "worker" and pod.deleting_seconds is None
    ]
    parts: list[Part] = []
    for pod in failed:
        tree = view.tree("Pod", pod.namespace, pod.name)
        if tree is None:
            return ()
        template = dict(tree)
        template["spec"] = {name: one for name, one in dict(tree["spec"]).items() if name != "nodeName"}
        parts.append(Part(pod.role, 1, shape_of(template, pod.namespace)))
    if not parts or not WhatIf(parts=tuple(parts), around=view.around).starts(view.store):
        return ()
    names = [pod.name for pod in failed]
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    words = f"delete the failed worker {short(names[0])}{more}: a new one takes its place"
    command = ("kubectl", "delete", "pod", *names, "-n", job.namespace)
    target = Subject("pod", job.namespace, names[0])
    return (Change(kind="delete_worker", words=words, command=command, is_checked=True, target=target),)
