"""What happened while nobody looked: between the end of the last session and the first sight of this one.

From the objects' own timestamps and from what the host remembers. What came and went in between left no trace
and is not told.
"""

from collections.abc import Collection, Iterator
from typing import Final

import msgspec

from cockpit.gangs.sentence import counted
from cockpit.model.job import JobState
from cockpit.model.job_reader import JobReader
from cockpit.model.namespaces import EVERY, Namespaces
from cockpit.model.record import Kind
from cockpit.model.remembered import Remembered
from cockpit.model.store_reader import StoreReader
from cockpit.triage.troubles import GOES_SILENTLY, MEASURED

LAST_SIGHT_SECONDS: Final = 300.0
"""A problem seen so shortly before the end of the last session was there when it ended."""
MOST_CHANGES: Final = 500
_NAMED: Final = 2


class Happened(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """One thing that happened. `what` is failed, node gone, resolved, node new, started or ended;
    `at_seconds` None: at some time since."""

    what: str
    subject_key: str
    subject: str
    words: str = ""
    at_seconds: float | None = None
    kind: str = "job"  # or node


FAILED, GONE, RESOLVED = "failed", "node gone", "resolved"
NEW, STARTED, ENDED = "node new", "started", "ended"
ORDER: Final = (FAILED, GONE, RESOLVED, NEW, STARTED, ENDED)
"""What wants to be known first."""


def since_left(
    store: StoreReader,
    jobs: JobReader,
    left: Remembered,
    troubled: Collection[tuple[str, str]],
    namespaces: Namespaces = EVERY,
) -> tuple[Happened, ...]:
    """What happened since `left.left_seconds`; nothing where no earlier session is known.

    `troubled` are the problems that are there now, as `key_of` names them.
    """
    if left.left_seconds is None:
        return ()
    found = [*_jobs(jobs, left.left_seconds, namespaces), *_nodes(store, left.nodes)]
    told = {one.subject_key for one in found} | {subject for subject, _ in troubled}
    if not namespaces:  # whose problems they were is not remembered
        found += _resolved(left, left.left_seconds, told)
    found.sort(key=lambda one: (ORDER.index(one.what), -(one.at_seconds or 0.0), one.subject))
    return tuple(found[:MOST_CHANGES])


def _jobs(jobs: JobReader, left_seconds: float, namespaces: Namespaces) -> Iterator[Happened]:
    for job in jobs.jobs.values():
        if job.namespace not in namespaces:
            continue
        what, at, gpus = (
            FAILED if job.state == JobState.FAILED else ENDED,
            job.finished_seconds,
            job.gpus_wanted,
        )
        if job.state == JobState.RUNNING:
            what, at, gpus = STARTED, job.started_seconds, job.gpus_allocated
        elif job.state not in JobState.ENDED:
            continue
        if at is not None and at > left_seconds:
            subject, words = f"{job.namespace}/{job.name}", counted(gpus, "GPU") if gpus else ""
            yield Happened(what=what, subject_key=job.key, subject=subject, words=words, at_seconds=at)


def _nodes(store: StoreReader, before: frozenset[str] | None) -> Iterator[Happened]:
    if before is None:
        return
    here = {one.name: one for one in store.records(Kind.NODE).values()}
    for name in before - here.keys():
        yield _of_node(GONE, name)
    for name in here.keys() - before:
        node = here[name]
        words = counted(node.gpu_capacity, "GPU") if node.gpu_capacity else ""
        yield _of_node(NEW, name, words, node.created_seconds)


def _of_node(what: str, name: str, words: str = "", at: float | None = None) -> Happened:
    return Happened(
        what=what, subject_key=name, subject=f"node {name}", words=words, at_seconds=at, kind="node"
    )


def _resolved(left: Remembered, left_seconds: float, told: Collection[str]) -> Iterator[Happened]:
    """Problems that were there when the last session ended and are not there now. Those that are measured are
    not known to be gone before telemetry has told so."""
    for one in left.problems:
        was_there = one.resolved_seconds is None and left_seconds - one.last_seconds <= LAST_SIGHT_SECONDS
        if was_there and one.subject_key not in told and one.finding not in GOES_SILENTLY | MEASURED:
            kind = "node" if one.finding.startswith("node-") else "job"
            yield Happened(
                what=RESOLVED, subject_key=one.subject_key, subject=one.subject, words=one.sentence, kind=kind
            )


def summary(found: tuple[Happened, ...]) -> str:
    """`2 jobs failed: team-a/llm, team-b/asr · 1 node gone: gpu-7 · 12 jobs ended`."""
    words: list[str] = []
    for what in ORDER:
        here = [one for one in found if one.what == what]
        if here:
            words.append(_words(what, here))
    return " · ".join(words)


def _words(what: str, here: list[Happened]) -> str:
    count = counted(len(here), "node" if what in (GONE, NEW) else "problem" if what == RESOLVED else "job")
    verb = {GONE: "gone", NEW: "new"}.get(what, what)
    if what in (STARTED, ENDED):
        return f"{count} {verb}"
    names = ", ".join(one.subject_key if one.kind == "node" else one.subject for one in here[:_NAMED])
    return f"{count} {verb}: {names}{', ...' if len(here) > _NAMED else ''}"
