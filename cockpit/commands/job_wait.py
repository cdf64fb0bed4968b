"""`cockpit job wait NAME`: a job followed until it runs or has ended, a line for each change."""

import argparse
import asyncio

from cockpit.actions.find import job_named
from cockpit.clock import SystemClock
from cockpit.commands.attached import Live, attached
from cockpit.commands.fitting import FIT_KINDS
from cockpit.commands.output import note, put
from cockpit.commands.patience import wait_on, within
from cockpit.commands.settings import attach_options, settings_in_force
from cockpit.errors import NoConnection, Refused
from cockpit.model.job import Job, JobState

LOOK_SECONDS = 0.5
APPEARS_SECONDS = 10.0
"""How long a job that was just made may take to come by the watch."""


def run(options: argparse.Namespace) -> int:
    """0 once the job is there, 1 where it will not be: it failed, or is gone."""
    words = options.name.split("/")
    chosen = attach_options(options, settings_in_force(), words[-2] if len(words) in (2, 3) else "")

    async def work() -> int:
        async with attached(chosen, SystemClock()) as live:
            note(await live.settle(FIT_KINDS, options.timeout))
            job = job_named(live.attachment.jobs.jobs.values(), options.name, chosen.namespaces)
            name = f"{job.namespace}/{job.name}"
            return await until(live, job.kind, name, options.wanted, options.within)

    return asyncio.run(within(options.timeout, work()))


async def until(live: Live, kind: str, name: str, wanted: str, longest_seconds: float | None) -> int:
    """Print each change of the job `name` (namespace/name) until it is `wanted`: running or done.

    Raises Refused where it ended otherwise, is gone, or is not there within `longest_seconds`; NoConnection.
    """
    wait_on()
    attachment = live.attachment
    begun, told, is_seen = attachment.clock.monotonic(), "", False
    while True:
        attachment.jobs.catch_up()
        rows = attachment.jobs.jobs.values()
        job = next((row for row in rows if (row.kind, f"{row.namespace}/{row.name}") == (kind, name)), None)
        passed = attachment.clock.monotonic() - begun
        if attachment.session is None:
            raise NoConnection(attachment.sentence or "the connection was lost")
        if job is None and (is_seen or passed > APPEARS_SECONDS):
            raise Refused(f"job {name} is gone" if is_seen else f"job {name} did not appear")
        if job is not None:
            is_seen = True
            why = attachment.verdicts.of(job, attachment.clock.cluster_now()).sentence
            line = f"{name}: {job.state}" + (f", {why}" if why and job.state != JobState.RUNNING else "")
            if line != told:
                told = line
                put([line])
            if _is_reached(job, wanted, why):
                return 0
        if longest_seconds is not None and passed >= longest_seconds:
            raise Refused(
                f"job {name} is not {wanted} after {longest_seconds:g} s: {told.partition(': ')[2]}"
            )
        await asyncio.sleep(LOOK_SECONDS)


def _is_reached(job: Job, wanted: str, why: str) -> bool:
    """Raises Refused where it never will be."""
    if job.state == JobState.FAILED:
        raise Refused(f"job {job.namespace}/{job.name} failed" + (f": {why}" if why else ""))
    if wanted == "running":
        return job.state in (JobState.RUNNING, JobState.SUCCEEDED)
    return bool(job.state == JobState.SUCCEEDED)
