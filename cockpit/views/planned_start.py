"""What becomes of a job that is not submitted yet, as lines: the form and the command line print the same."""

from collections.abc import Iterator, Mapping
from typing import Any

from cockpit.fit.reasons import fit_lines, need_words, push_words, room_lines, shortage_words
from cockpit.gangs.sentence import counted, listed
from cockpit.model.contender import Preemptions
from cockpit.triage.context import ClusterView
from cockpit.triage.planned_start import PlannedStart, planned_start
from cockpit.views.fit import claimable_nodes, fit_report, together_note

_MOST_CHANGES = 4
_LONGEST_LIST = 200  # characters
_CLAIMS_MAY_SERVE = "cannot tell whether it fits now: {} may serve this request through claims (DRA)"


def start_report(
    manifest: Mapping[str, Any],
    view: ClusterView,
    namespace: str = "",
    preempts: Preemptions | None = None,
    *,
    with_changes: bool = True,
) -> list[str]:
    """Fits now and where; or every wall that holds it and what takes all of them away; or why that is
    unknown; [] for no pods. `preempts`: whom the plan would preempt, once that is known."""
    most = _MOST_CHANGES if with_changes else 0
    found = planned_start(manifest, view, namespace, preempts, most=most)
    if found is None:
        return fit_report(manifest, view.store, view.around, namespace)
    if found.together is not None and found.together.answer is None:
        return [f"pending: all members must be in one {found.level} domain, and no node has that label"]
    lines = start_lines(found)
    claimable = claimable_nodes(view.store, found.answer) if found.answer.missing else 0
    if not claimable:
        return lines
    unknown = _CLAIMS_MAY_SERVE.format(counted(claimable, "node"))
    return [unknown, f"  without these: {lines[0]}", *lines[1:]]


def start_lines(found: PlannedStart) -> list[str]:
    """The sentence; below it further walls, why nodes lack room, and what would start it."""
    notes = [f"  {note}" for note in _notes(found)]
    if found.starts:
        first, *rest = fit_lines(found.answer)
        if found.preempts is not None:
            first = _by_preempting(found, found.preempts)
        return [first, *notes, *rest]
    walls = list(_walls(found))
    lines = [f"pending: {walls[0]}", *notes, *(f"  then also: {wall}" for wall in walls[1:])]
    if found.answer.missing:
        lines += [f"  {line}" for line in room_lines(found.answer)]
    if found.changes:
        first_change, *others = [change.words for change in found.changes]
        lines.append(f"  would start if: {first_change}")
        lines += [f"    or: {words}" for words in others]
    if found.answer.push is not None and not found.is_preemption_known:
        lines.append(f"  {push_words(found.answer.push)}")
    return lines + [f"  {note}" for note in found.answer.notes]


def _by_preempting(found: PlannedStart, preempts: Preemptions) -> str:
    names = [f"{job.name} ({counted(job.gpus, 'GPU')})" for job in preempts.jobs]
    count = len(found.answer.places)
    where = f"on node {found.answer.places[0][0]}" if count == 1 else f"on {count} nodes"
    return listed(f"fits {where} once it has preempted ", names, _LONGEST_LIST)


def _walls(found: PlannedStart) -> Iterator[str]:
    """One sentence each, in the order in which the job meets them."""
    numbers = iter(found.lacks)
    for wall in found.walls:
        lack = next(numbers, None) if wall.cause in found.quota_causes else None
        yield shortage_words(lack) if lack is not None and not lack.words else wall.sentence
    if found.answer.missing:
        yield need_words(found.answer)
    elif found.beside_others:
        yield "pods that wait already, or jobs before it in the queue, may take the room that is free"


def _notes(found: PlannedStart) -> Iterator[str]:
    if found.together is not None:
        yield together_note(found.together, found.level)
    for name in found.silent:
        yield f"no pod was bound by a scheduler called {name} yet: whether it runs is not known"
    if found.unread:
        yield f"quota was not checked: {', '.join(item.words for item in found.unread)}"
