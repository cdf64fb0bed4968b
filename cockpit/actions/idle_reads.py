"""Asks for what jobs that look idle did over the last hours, and has it judged: bounded, beside the
painting."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Final, NamedTuple, cast

from cockpit.errors import Refused
from cockpit.jobs.members import members_of
from cockpit.kube.pod_times import read_times
from cockpit.kube.session import ApiSession
from cockpit.model.job import Job
from cockpit.model.pod import Pod
from cockpit.model.session import Session
from cockpit.model.store_reader import StoreReader
from cockpit.model.trace import PodLines
from cockpit.telemetry.faults import TelemetryError
from cockpit.triage.idle_jobs import (
    IDLE_FOR_SECONDS,
    IdleJobs,
    TelemetryGap,
    bounded,
    gap_of,
    trace_of,
)
from cockpit.triage.idleness import Judged, judge

ONCE_SECONDS: Final = 10.0
"""So long a command waits for what jobs that look idle did: what has not come by then is not known."""

Lines = Callable[[Sequence[Pod]], Awaitable[PodLines | None]]
"""What pods did over the last hours; None where nobody remembers it. Raises TelemetryError."""


class IdleReads(NamedTuple):
    """What a judgement rests on: the tables, the API server, and who remembers pods."""

    store: StoreReader
    session: Session
    lines: Lines


async def judge_job(job: Job, reads: IdleReads, idle_for_seconds: float) -> Judged | None:
    """What the job's trace tells now; None where nobody remembers it. Raises TelemetryError, NoConnection."""
    pods = members_of(job, reads.store)
    found = await reads.lines([one for one in pods if not one.is_finished])
    if found is None:
        return None
    return judge(trace_of(job, pods, found, await _restarted(reads.session, pods)), idle_for_seconds)


async def _restarted(session: Session, pods: Sequence[Pod]) -> Mapping[str, float | None]:
    """When the containers of pods that restarted did so last: their pods are older. None: not told."""
    found: dict[str, float | None] = {}
    for one in pods:
        if one.restarts and not one.is_finished:
            try:
                times = await read_times(cast("ApiSession", session), one.namespace, one.name)
            except Refused:
                found[one.uid] = None
            else:
                found[one.uid] = times.started_seconds
    return found


async def read_idle(known: IdleJobs, jobs: Mapping[str, Job], reads: IdleReads, now_seconds: float) -> bool:
    """Judge some of what looks idle and was not judged just now; whether anything new was learnt. Of calls
    soon after another all but the first do nothing: a screen looks again and again.

    Raises NoConnection.
    """
    if not known.is_time(now_seconds):
        return False
    due = known.due(jobs.values(), reads.store, now_seconds)
    return await judge_all(known, bounded(due), reads, now_seconds)


async def read_idle_once(
    known: IdleJobs, jobs: Mapping[str, Job], reads: IdleReads, now_seconds: float
) -> None:
    """Judge all that looks idle, the largest first, as far as one gets in `ONCE_SECONDS`. For a command that
    looks once. Raises NoConnection.
    """
    due = known.due(jobs.values(), reads.store, now_seconds)
    with suppress(TimeoutError):
        async with asyncio.timeout(ONCE_SECONDS):
            await judge_all(known, due, reads, now_seconds)


async def judge_all(known: IdleJobs, jobs: Iterable[Job], reads: IdleReads, now_seconds: float) -> bool:
    """Judge these, one after the other; whether anything new was learnt. Raises NoConnection."""
    is_new = False
    gap: TelemetryGap | None
    for job in jobs:
        try:
            judged = await judge_job(job, reads, IDLE_FOR_SECONDS)
        except TelemetryError as error:
            judged, gap = None, gap_of(error.phase) or TelemetryGap.STALE  # asked again after a while
        else:
            known.is_remembered, gap = judged is not None, None
        is_new = known.take(job, judged, now_seconds, gap) or is_new
    return is_new
