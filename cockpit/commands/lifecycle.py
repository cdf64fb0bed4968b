"""`cockpit job kill|suspend|resume|retry|scale|prioritise|prune|clone`: verbs on jobs that are there."""

import argparse
import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

from cockpit.actions import ground as verbs
from cockpit.actions.anew import rehearse_anew
from cockpit.actions.find import job_named
from cockpit.actions.ground import Ground, Make
from cockpit.actions.prune import ended_before, prune_line
from cockpit.actions.sweep import make_sweep, reached
from cockpit.attach import AttachOptions
from cockpit.clock import Clock, SystemClock
from cockpit.commands.ask import confirm_and_carry, confirm_and_carry_all, refuse_without_right
from cockpit.commands.choose import attach_options, settings_in_force
from cockpit.commands.job import served_lookup, values_given
from cockpit.commands.live import Live, attached
from cockpit.commands.paper import note, put, tree_text
from cockpit.errors import BadInput, NoConnection, Refused
from cockpit.model.job import Job
from cockpit.model.plan import Outcome, Plan
from cockpit.model.record import Kind
from cockpit.views import jobs as view
from cockpit.views.view_state import Measure, ViewState, read_number

JOB_KINDS = (Kind.POD, Kind.MPIJOB, Kind.JOB, Kind.VOLCANO_JOB, Kind.WORKLOAD)
MakePlan = Callable[[Ground, Job], Awaitable[Plan]]


def kill(options: argparse.Namespace) -> int:
    """Delete jobs and their pods."""
    return _run("kill", options, verbs.kill)


def suspend(options: argparse.Namespace) -> int:
    """Hold jobs as their engine wants it."""
    return _run("suspend", options, verbs.suspend)


def resume(options: argparse.Namespace) -> int:
    """Let held jobs go on."""
    return _run("resume", options, verbs.resume)


def retry(options: argparse.Namespace) -> int:
    """Run failed jobs once more, or have a gang that waits looked at now."""
    # one moment for the plan that is shown and the one that is sent
    at = datetime.fromtimestamp(SystemClock().now(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return _run("retry", options, partial(verbs.retry, memory=options.memory, at=at))


def scale(options: argparse.Namespace) -> int:
    """Give elastic jobs another number of workers."""
    return _run("scale", options, partial(verbs.scale, workers=options.to))


def prioritise(options: argparse.Namespace) -> int:
    """Give jobs another priority class or queue."""
    if not options.priority and not options.to_queue:
        raise BadInput("give --priority CLASS or --queue QUEUE")
    return _run(
        "prioritise", options, partial(verbs.prioritise, priority=options.priority, queue=options.to_queue)
    )


def prune(options: argparse.Namespace) -> int:
    """Delete jobs that ended long ago."""
    age_seconds = read_number(options.older_than, Measure.SECONDS)
    if age_seconds is None or age_seconds < 0:
        raise BadInput(f"--older-than: {options.older_than!r} is no age; write for example 12h or 7d")
    return _run("prune", options, verbs.kill, age_seconds=age_seconds)


def _run(verb: str, options: argparse.Namespace, make: MakePlan, *, age_seconds: float | None = None) -> int:
    names: list[str] = list(options.names)
    if not names and not options.filter and age_seconds is None:
        raise BadInput(f"which jobs? give names, or --filter TEXT as typed after / on the screen, to {verb}")
    for name in names:
        if not all(name.split("/")):
            job_named((), name)
    chosen = attach_options(options, settings_in_force(), _narrow(names))
    refuse_without_right(options, may_write=chosen.write)
    return asyncio.run(_act(verb, options, chosen, make, age_seconds))


def _narrow(names: Sequence[str]) -> str:
    """The namespace that all names name, "" where they do not: what is listed is narrowed to it."""
    spaces = {one.split("/")[-2] if one.count("/") in (1, 2) else "" for one in names}
    return spaces.pop() if len(spaces) == 1 else ""


async def _act(
    verb: str,
    options: argparse.Namespace,
    chosen: AttachOptions,
    make: MakePlan,
    age_seconds: float | None,
) -> int:
    clock = SystemClock()
    async with attached(chosen, clock) as live:
        scene = await _scene(live, options, chosen, clock)
        jobs = _chosen(scene, options, age_seconds)
        if not jobs:
            put([f"no job to {verb}"])
            return 0
        if len(reached(jobs, scene.ground.store)) == 1 and verb != "prune":
            maker = scene.maker(make)(jobs[0])
            return await confirm_and_carry(await maker(), options, scene.ground.session, clock, maker)
        shell = "" if age_seconds is None else prune_line(options.older_than, options.filter, scene.context)
        session = scene.ground.session

        async def check(plan: Plan, again: Make) -> Outcome:
            return (await rehearse_anew(plan, again, session))[1]

        sweep = await make_sweep(
            verb,
            jobs,
            scene.maker(make),
            scene.ground.store,
            context=scene.context,
            shell=shell,
            check=check,
        )
        return await confirm_and_carry_all(sweep, options, session, clock)


class _Scene:
    """A settled attachment with what plans are made on."""

    def __init__(self, live: Live, ground: Ground, clock: Clock, namespace: str) -> None:
        self.live = live
        self.ground = ground
        self.clock = clock
        self.namespace = namespace

    @property
    def context(self) -> str:
        return self.ground.context

    def jobs(self) -> list[Job]:
        """Every job as it is now."""
        self.live.attachment.absorb()
        return list(self.live.attachment.jobs.jobs.values())

    def maker(self, make: MakePlan) -> Callable[[Job], Make]:
        """For each job how its plan is made anew, from the job as it is then."""

        def of(job: Job) -> Make:
            async def now(*, reads: bool = False) -> Plan:
                self.live.attachment.absorb()
                found = self.live.attachment.jobs.job(job.key)
                if found is None or found.uid != job.uid:
                    raise Refused(f"{job.kind.lower()} {job.namespace}/{job.name} is gone")
                return await make(replace(self.ground, reads=reads), found)

            return now

        return of


async def _scene(live: Live, options: argparse.Namespace, chosen: AttachOptions, clock: Clock) -> _Scene:
    note(await live.settle(JOB_KINDS, options.timeout))
    attachment = live.attachment
    session = attachment.session
    if session is None:
        raise NoConnection(attachment.sentence or "the connection was lost")
    lookup = await served_lookup(session)
    taken = frozenset(one.name for one in attachment.jobs.jobs.values())
    ground = Ground(attachment.store, session, lookup, session.context, taken)
    return _Scene(live, ground, clock, chosen.namespace)


def _chosen(scene: _Scene, options: argparse.Namespace, age_seconds: float | None) -> list[Job]:
    """The jobs that are named, or all; of those the ones that the filter shows and that are old enough."""
    jobs = scene.jobs()
    found = [job_named(jobs, name, scene.namespace) for name in options.names] if options.names else jobs
    if options.filter or not options.names:
        state = ViewState(filter=options.filter, namespace=scene.namespace)
        table = view.table(found, scene.ground.store, state, scene.clock.now())
        if table.problem:
            raise BadInput(f"--filter: {table.problem}")
        found = [table.row(at).job for at in range(len(table))]
    if age_seconds is not None:
        found = ended_before(found, scene.clock.now() - age_seconds)
    return found


def clone(options: argparse.Namespace) -> int:
    """Make a job like one that is there."""
    values = values_given(options)
    name: str = options.source
    chosen = attach_options(options, settings_in_force(), _narrow([name]))
    refuse_without_right(options, may_write=chosen.write)
    return asyncio.run(_clone(name, values, options, chosen))


async def _clone(
    name: str, values: dict[str, str], options: argparse.Namespace, chosen: AttachOptions
) -> int:
    clock = SystemClock()
    async with attached(chosen, clock) as live:
        scene = await _scene(live, options, chosen, clock)
        job = job_named(scene.jobs(), name, scene.namespace)
        template = await verbs.clone_form(scene.ground, job)
        plan = verbs.clone(scene.ground, job, template, values)
        if options.dry_run:
            put([tree_text(plan.calls[0].body, "yaml"), ""])
        return await confirm_and_carry(plan, options, scene.ground.session, clock)
