"""`cockpit job clone NAME`: make a job like one that is there."""

import argparse
import asyncio

from cockpit.actions.clone_retry import clone_form, plan_of_clone
from cockpit.actions.find import job_named
from cockpit.actions.named_objects import refuse_absent
from cockpit.actions.target_kinds import KINDS
from cockpit.actions.verbs.job import CLONE
from cockpit.attach import AttachOptions
from cockpit.clock import SystemClock
from cockpit.commands.attached import WEIGHED_KINDS, attached
from cockpit.commands.confirm import confirm_plan, refuse_without_right
from cockpit.commands.job import values_given
from cockpit.commands.output import note, put_data, tree_text
from cockpit.commands.patience import within
from cockpit.commands.settings import attach_options, settings_in_force
from cockpit.commands.verb import narrowed, planner
from cockpit.mask import mask_tree


def run(options: argparse.Namespace) -> int:
    """Make the clone; the answer is the exit code."""
    values = values_given(options)
    chosen = attach_options(options, settings_in_force(), narrowed([options.source]))
    refuse_without_right(options, may_write=chosen.write)
    return asyncio.run(within(options.timeout, _run(values, options, chosen)))


async def _run(values: dict[str, str], options: argparse.Namespace, chosen: AttachOptions) -> int:
    clock = SystemClock()
    async with attached(chosen, clock) as live:
        note(await live.settle(KINDS[CLONE.kind].watched(), options.timeout))
        await live.settle((*KINDS[CLONE.kind].watched(), *WEIGHED_KINDS), options.timeout)
        fresh = await planner(live, clock)
        planning = fresh()
        job = job_named(planning.jobs.values(), options.source, chosen.namespaces)
        template = await clone_form(planning, job)
        plan = plan_of_clone(planning, job, template, values)
        body = plan.calls[0].body
        await refuse_absent(planning.session, planning.lookup, body, job.namespace)
        if options.dry_run:
            put_data(f"{tree_text(mask_tree(body), 'yaml')}\n")
        return await confirm_plan(plan, options, fresh, clock)
