"""`cockpit job edit NAME`: a job's manifest in the person's editor, then the plan of the change."""

import argparse
import asyncio
from pathlib import Path

from cockpit import terminal
from cockpit.actions.edit import EditOptions
from cockpit.actions.edit_file import edited_manifest
from cockpit.actions.execute.run_verb import Intent, carry_verb
from cockpit.actions.find import job_named
from cockpit.actions.target_kinds import KINDS
from cockpit.actions.verbs.job import EDIT
from cockpit.attach import AttachOptions
from cockpit.clock import SystemClock
from cockpit.commands.attached import WEIGHED_KINDS, attached
from cockpit.commands.confirm import Prompt, refuse_without_right, tell
from cockpit.commands.output import note, put
from cockpit.commands.patience import wait_on, within
from cockpit.commands.settings import attach_options, audit_log, settings_in_force
from cockpit.commands.verb import narrowed, planner
from cockpit.commands.verb import run as run_verb
from cockpit.errors import BadInput


def run(options: argparse.Namespace) -> int:
    """Edit the job that is named; the answer is the exit code."""
    if options.verb_patch:
        return run_verb(options)
    if len(options.names) != 1 or options.filter:
        raise BadInput("which job? give the name of one: a single manifest is edited at a time")
    terminal.editor_words()
    chosen = attach_options(options, settings_in_force(), narrowed(options.names))
    refuse_without_right(options, may_write=chosen.write)
    return asyncio.run(within(options.timeout, _run(options, chosen)))


async def _run(options: argparse.Namespace, chosen: AttachOptions) -> int:
    clock = SystemClock()
    async with attached(chosen, clock) as live:
        watched = KINDS[EDIT.kind].watched()
        note(await live.settle(watched, options.timeout))
        await live.settle((*watched, *WEIGHED_KINDS), options.timeout)
        fresh = await planner(live, clock)
        planning = fresh()
        job = job_named(planning.jobs.values(), options.names[0], chosen.namespaces)
        edited = await edited_manifest(fresh, job, _edit)
        if not edited.patch:
            put(["the manifest was not changed: nothing is done"])
            return 0
        is_done = False
        prompt = Prompt(options, planning.context)
        intent = Intent(EDIT, [job], EditOptions(edited.patch))
        try:
            done = await carry_verb(intent, fresh, audit_log, clock, asker=prompt)
            if done is None:
                return prompt.code
            code = tell(done.outcome)
            is_done = True
            return code
        finally:
            if is_done:
                edited.done()
            else:
                note([edited.kept])


async def _edit(path: Path) -> None:
    wait_on()
    await terminal.edit(path)
