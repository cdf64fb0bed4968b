"""Asks for what jobs that look idle did over the last hours, and has it judged: bounded, beside the
painting."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, cast

from cockpit.actions.kill import members_of
from cockpit.errors import Refused
from cockpit.model.job import Job
from cockpit.model.pod import Pod
from cockpit.model.session import Session
from cockpit.model.store_reader import StoreReader
from cockpit.model.trace import PodLines
from cockpit.telemetry.faults import TelemetryError
from cockpit.triage.idle_jobs import IDLE_FOR_SECONDS, IdleJobs, trace_of
from cockpit.triage.idleness import Judged, judge

if TYPE_CHECKING:
    from cockpit.kube.session import ApiSession

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
    from cockpit.kube.pod_times import read_times

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
    """Judge what looks idle and was not judged just now; whether anything new was learnt.

    Raises NoConnection.
    """
    is_new = False
    for job in known.due(jobs.values(), reads.store, now_seconds):
        try:
            judged = await judge_job(job, reads, IDLE_FOR_SECONDS)
        except TelemetryError:
            judged = None  # asked again after a while, like all that look idle
        else:
            known.is_remembered = judged is not None
        is_new = known.take(job, judged, now_seconds) or is_new
    return is_new
