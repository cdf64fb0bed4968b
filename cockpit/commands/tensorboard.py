"""`cockpit job tensorboard NAME`: its TensorBoard, or another port of a member, at a port of this machine."""

import argparse
import asyncio

from cockpit.actions.find import job_named
from cockpit.actions.forward import Passage, board_candidates, find_board, plan_passage
from cockpit.attach import AttachOptions
from cockpit.clock import SystemClock
from cockpit.commands.attached import Live, attached
from cockpit.commands.enter import KINDS, member, options_of_a_way
from cockpit.commands.output import note
from cockpit.commands.patience import within
from cockpit.commands.port_forward import forwarded, session_of
from cockpit.errors import BadInput
from cockpit.model.job import Job
from cockpit.model.session import Reader


def run(options: argparse.Namespace) -> int:
    """Listen until interrupted, or until the pod has ended."""
    return asyncio.run(within(options.timeout, _run(options, options_of_a_way(options))))


async def _run(options: argparse.Namespace, chosen: AttachOptions) -> int:
    clock = SystemClock()
    async with attached(chosen, clock) as live:
        note(await live.settle(KINDS, options.timeout))
        jobs = live.attachment.jobs
        job = job_named(jobs.jobs.values(), options.name, chosen.namespaces)
        session = session_of(live)
        passage = await _passage(live, session, job, options)
        await forwarded(live, session, passage, clock, "http://{}/")
    return 0


async def _passage(live: Live, session: Reader, job: Job, options: argparse.Namespace) -> Passage:
    """Which port of which member. Raises BadInput, Refused."""
    name = f"{job.kind.lower()} {job.namespace}/{job.name}"
    members = live.attachment.jobs.members(job.key)
    if options.rank is not None:
        members = (member(members, options.rank, name),)
    if options.port is None:
        return await find_board(session, name, members, options.local_port)
    candidates = list(members) if options.rank is not None else board_candidates(members)
    if not candidates:
        raise BadInput(f"no member of {name} is running: there is no port to forward")
    return plan_passage(candidates[0], options.port, options.local_port)
