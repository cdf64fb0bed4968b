"""`cockpit job exec NAME [--rank N] [--container NAME] [-- COMMAND ...]`: a command in a member of a job."""

import argparse
import asyncio
from collections.abc import Sequence

from cockpit import terminal
from cockpit.actions.enter import Entrance, Running, enter, plan_entrance
from cockpit.actions.execute.execute_plan import READ_ONLY
from cockpit.actions.find import job_named, pod_named
from cockpit.attach import AttachOptions
from cockpit.clock import Clock, SystemClock
from cockpit.commands.attached import attached
from cockpit.commands.job import open_for
from cockpit.commands.output import note
from cockpit.commands.patience import wait_on, within
from cockpit.commands.settings import attach_options, audit_log, settings_in_force
from cockpit.errors import BadInput
from cockpit.jobs.members import LAUNCHER
from cockpit.model.pod import Pod
from cockpit.model.record import Kind

KINDS = (Kind.POD, Kind.MPIJOB, Kind.JOB)


def run(options: argparse.Namespace) -> int:
    """Run the command, a shell where none is given; the answer is its exit code, as with kubectl and ssh."""
    return asyncio.run(within(options.timeout, _run(options, options_of_a_way(options))))


def options_of_a_way(options: argparse.Namespace, kind: str = "job") -> AttachOptions:
    """How to attach on the way into the pod, or a member of the job, `options.name`: to its namespace alone.

    Raises BadInput for a name that cannot be one, and where changes are not allowed.
    """
    words = options.name.split("/")
    chosen = attach_options(options, settings_in_force(), words[-2] if len(words) in (2, 3) else "")
    if not all(words):
        job_named((), options.name) if kind == "job" else pod_named((), options.name)
    if not chosen.write:
        raise BadInput(f"{READ_ONLY} (or set write = true for this context in the configuration)")
    return chosen


async def _run(options: argparse.Namespace, chosen: AttachOptions) -> int:
    clock = SystemClock()
    is_tty = terminal.is_terminal()
    entrance = await _entrance(options, chosen, clock, is_tty=is_tty)

    async def join(running: Running) -> None:
        await terminal.join(running, is_tty=is_tty)

    session = await open_for(chosen, clock, options.timeout)
    try:
        wait_on()
        return await enter(entrance, session, audit_log(), clock, join)
    finally:
        await session.close()


async def _entrance(
    options: argparse.Namespace, chosen: AttachOptions, clock: Clock, *, is_tty: bool
) -> Entrance:
    """Which pod is meant. The watches end with it: the running command does not need them."""
    async with attached(chosen, clock) as live:
        note(await live.settle(KINDS, options.timeout))
        jobs = live.attachment.jobs
        job = job_named(jobs.jobs.values(), options.name, chosen.namespaces)
        pod = member(jobs.members(job.key), options.rank, f"{job.kind.lower()} {job.namespace}/{job.name}")
    return plan_entrance(pod, container=options.container, words=tuple(options.words), is_tty=is_tty)


def member(pods: Sequence[Pod], rank: int | None, job: str) -> Pod:
    """The member of that rank; without one the first that runs, by rank.

    Raises BadInput where there is none, naming the ranks there are.
    """
    if not pods:
        raise BadInput(f"{job} has no pods: there is no shell to open")
    if rank is not None:
        found = sorted((pod for pod in pods if pod.rank == rank), key=lambda one: one.role == LAUNCHER)
        if not found:
            ranks = sorted({pod.rank for pod in pods if pod.rank is not None})
            known = f"it has {ranks[0]} to {ranks[-1]}" if ranks else "its members have none"
            raise BadInput(f"{job} has no member of rank {rank}; {known}")
        return found[0]
    running = [pod for pod in pods if pod.phase == "Running"]
    return running[0] if running else pods[0]
