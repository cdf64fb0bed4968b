"""Jobs by a schedule (CronJob): when the next run is due, which runs are there, and what is no schedule."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cockpit.errors import BadInput
from cockpit.gangs.sentence import counted
from cockpit.jobs.batch_job import ended_as
from cockpit.jobs.owner_chain import SCHEDULES
from cockpit.k8s.cron import parse_schedule
from cockpit.k8s.json_values import mapping
from cockpit.model.job import Job, JobObject
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader

_SHOWN = 3


def next_run(schedule: str, time_zone: str, now_seconds: float) -> str | None:
    """The next run as a date and a clock time with its zone, UTC where none is named, the zone of most
    controllers; None where no time within five years is due, "" for a zone that this machine does not know.
    Raises ValueError for what is no schedule."""
    found = parse_schedule(schedule)
    try:
        zone = ZoneInfo(time_zone) if time_zone else UTC
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return ""
    at = found.next_after(now_seconds, zone)
    if at is None:
        return None
    return f"{datetime.fromtimestamp(at, zone):%Y-%m-%d %H:%M} {time_zone or 'UTC'}"


def refuse_wrong_schedule(manifest: Mapping[str, Any]) -> None:
    """Raises BadInput for a CronJob whose schedule the API server would refuse."""
    if manifest.get("kind") != "CronJob":
        return
    text = mapping(manifest.get("spec")).get("schedule")
    try:
        parse_schedule(text if isinstance(text, str) else "")
    except ValueError as error:
        raise BadInput(f"spec.schedule: {text!r} is no schedule: {error}") from None


def runs_of(job: Job, store: StoreReader) -> list[JobObject]:
    """The jobs that a schedule has started and that are still there, the newest first; [] for other jobs."""
    if job.kind not in SCHEDULES:
        return []
    jobs: list[JobObject] = [*store.records(Kind.JOB).values(), *store.records(Kind.OTHER_JOB).values()]
    found = [item for item in jobs if item.owner is not None and item.owner.uid == job.uid]
    return sorted(found, key=lambda item: (item.created_seconds or 0.0, item.name), reverse=True)


def runs_words(runs: list[JobObject]) -> str:
    """`4: nightly-29 has 2 active pods, nightly-28 succeeded, nightly-27 failed and 1 more`."""
    if not runs:
        return "none is there"
    shown = ", ".join(f"{item.name} {_stands(item)}" for item in runs[:_SHOWN])
    more = f" and {len(runs) - _SHOWN} more" if len(runs) > _SHOWN else ""
    return f"{len(runs)}: {shown}{more}"


def _stands(run: JobObject) -> str:
    if ended := ended_as(run)[0]:
        return ended
    return "is suspended" if run.is_suspended else f"has {counted(run.active, 'active pod')}"
