"""`cockpit job tensorboard NAME`: its TensorBoard, or another port of a member, at a port of this machine."""

import argparse
import asyncio

from cockpit.actions.find import job_named
from cockpit.actions.forward import Passage, board_candidates, find_board, hold_open, plan_passage
from cockpit.attach import AttachOptions
from cockpit.clock import SystemClock
from cockpit.commands.attached import Live, attached
from cockpit.commands.enter import KINDS, member, options_of_a_way
from cockpit.commands.output import note, put
from cockpit.commands.patience import wait_on, within
from cockpit.commands.settings import audit_log
from cockpit.errors import BadInput, NoConnection
from cockpit.listener import LOOPBACK, Listener
from cockpit.model.job import Job
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.model.session import Reader

LOOK_SECONDS = 1.0


def run(options: argparse.Namespace) -> int:
    """Listen until interrupted, or until the pod has ended."""
    return asyncio.run(within(options.timeout, _run(options, options_of_a_way(options))))


async def _run(options: argparse.Namespace, chosen: AttachOptions) -> int:
    clock = SystemClock()
    async with attached(chosen, clock) as live:
        note(await live.settle(KINDS, options.timeout))
        jobs = live.attachment.jobs
        job = job_named(jobs.jobs.values(), options.name, chosen.namespaces)
        session = live.attachment.session
        if session is None:
            raise NoConnection(live.attachment.sentence or "not connected to a cluster")
        passage = await _passage(live, session, job, options)

        async def stay(listener: Listener) -> str:
            wait_on()
            put([f"http://{LOOPBACK}:{listener.port}/"])
            note([f"{passage.target}; press ctrl+c to stop"])
            return await _until_over(live, passage, listener)

        why = await hold_open(passage, session, audit_log(), clock, stay)
        note([why])
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


async def _until_over(live: Live, passage: Passage, listener: Listener) -> str:
    """Wait until the pod has ended or is gone; troubles are told as they come."""
    told = ""
    while True:
        live.attachment.jobs.catch_up()
        pod = live.attachment.store.get(Kind.POD, passage.uid)
        if not isinstance(pod, Pod):
            return f"ended: pod {passage.pod} is gone"
        if pod.is_finished:
            return f"ended: pod {passage.pod} has ended ({pod.phase})"
        if listener.trouble != told:
            told = listener.trouble
            note([told] if told else [])
        await asyncio.sleep(LOOK_SECONDS)
