"""`cockpit job submit`; what is done to a job that is there stands in `verb`."""

import argparse
import asyncio
import sys
from collections.abc import Sequence
from random import Random
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from cockpit.actions.execute.replan import rehearse_replanned
from cockpit.actions.others import with_others
from cockpit.actions.shell import submit_file_line
from cockpit.actions.submit import check_submit, together
from cockpit.attach import AttachOptions
from cockpit.clock import Clock, SystemClock
from cockpit.commands.attached import attached, late_login, logins_for, session_notes
from cockpit.commands.confirm import CODES, confirm_plan, refuse_without_right
from cockpit.commands.document import OutputDocument, document_lines
from cockpit.commands.exposure import exposure_notes
from cockpit.commands.fitting import FIT_KINDS, fit_told
from cockpit.commands.job_wait import until
from cockpit.commands.output import note, put, put_data, tree_text
from cockpit.commands.patience import within
from cockpit.commands.settings import attach_options, one_namespace, settings_in_force
from cockpit.commands.submitting import Wish, planned
from cockpit.commands.verb import planner
from cockpit.errors import BadInput, NoConnection, Refused
from cockpit.fit.pod_sets import pods_asked
from cockpit.jobs.manifest_file import read_manifests
from cockpit.jobs.template import Template, load_library
from cockpit.kube.discovery import discover
from cockpit.kube.session import SessionOptions, open_session
from cockpit.mask import mask_tree
from cockpit.model.plan import Outcome, Plan

if TYPE_CHECKING:
    from cockpit.kube.session import ApiSession

SHORTS = ("name", "workers", "gpus", "image", "command", "queue")


def submit(options: argparse.Namespace) -> int:
    """Make a job from a template, or the objects of a file."""
    if options.output != "table" and not options.dry_run:
        raise BadInput(f"--output {options.output}: only a dry run has this output; add --dry-run")
    settings = settings_in_force()
    chosen = attach_options(options, settings)
    values = values_given(options)
    templates = _of_file(options, values, one_namespace(chosen)) or (
        load_library(settings.template_folders).named(options.template),
    )
    # Checked before anything is asked of the cluster: a wrong value needs no connection to be told.
    for template in templates:
        check_submit(template, values, one_namespace(chosen), options.engine)
    refuse_without_right(options, may_write=chosen.write)
    return asyncio.run(within(options.timeout, _submit(templates, values, options, chosen)))


def _of_file(options: argparse.Namespace, values: dict[str, str], namespace: str) -> tuple[Template, ...]:
    """What `--file` holds, () without one. Raises BadInput."""
    if (options.file is None) == (options.template is None):
        raise BadInput("give the name of a template, or a file of manifests with --file: one of them")
    if options.file is None:
        return ()
    if values:
        raise BadInput(
            f"--set {next(iter(values))}: a file has no parameters; see cockpit template new --help"
        )
    templates = read_manifests(options.file, sys.stdin, Random())
    for template in templates:
        own = template.manifest["metadata"].get("namespace")
        if namespace and own and own != namespace:
            raise BadInput(
                f"{template.title}: namespace {own} in the file, but --namespace {namespace}: leave one"
            )
    return templates


def values_given(options: argparse.Namespace) -> dict[str, str]:
    """Parameters from `--set` and the short options. Raises BadInput for one without `=` or given twice."""
    values: dict[str, str] = {}
    for pair in options.set:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise BadInput(f"--set {pair!r}: write NAME=VALUE")
        if name in values:
            raise BadInput(f"--set {name}: given twice")
        values[name] = value
    for name in SHORTS:
        short: str | None = getattr(options, f"set_{name}", None)
        if short is None:
            continue
        if name in values:
            raise BadInput(f"--{name} and --set {name}= set the same parameter: give one of them")
        values[name] = short
    return values


async def _submit(
    templates: Sequence[Template], values: dict[str, str], options: argparse.Namespace, chosen: AttachOptions
) -> int:
    """The plan over an attachment: what it does to others rests on its tables. A dry run also shows the
    manifest and where it would go."""
    clock = SystemClock()
    async with attached(chosen, clock) as live:
        trouble, notes = "", tuple[str, ...]()
        try:
            notes = await live.settle(FIT_KINDS, options.timeout, may_be_new=True)
        except Refused as error:
            trouble = error.sentence
        session = live.attachment.session
        if session is None:
            raise NoConnection(live.attachment.sentence or "not connected to a cluster")
        served = live.attachment.served = live.attachment.served or await discover(session)
        where = one_namespace(chosen) or session.namespace
        plans = [
            await planned(
                Wish(template, values, options.engine, where), session, served, live.attachment.store
            )
            for template in templates
        ]
        plan = plans[0]
        if options.file is not None:
            line = submit_file_line(options.file, session.context, one_namespace(chosen))
            plan = together(plans, options.file, line)
        fresh = await planner(live, clock)
        if not options.dry_run:
            code = await confirm_plan(plan, options, fresh, clock)
            for made in plan.contends if options.wait and code == 0 else ():
                await until(live, str((made.manifest or {}).get("kind")), made.name, "running", None)
            return code
        told = [
            line
            for each in plans
            if each.contends
            for line in await fit_told(each, live.attachment, fresh(), trouble)
        ]
        if options.output != "table":
            plan, verdict = await rehearse_replanned(await with_others(fresh(), plan), None, session)
            note(notes)
            put(document_lines(SubmissionDocument, _described(plan, told, verdict), options.output))
            return CODES[verdict.state]
        bodies = [tree_text(mask_tree(call.body), "yaml") for call in plan.calls]
        put_data("\n---\n".join(bodies))
        put(["", *told, *notes])
        return await confirm_plan(plan, options, fresh, clock)


class PodsItem(msgspec.Struct):
    """Pods of one role; null is not stated by the manifest."""

    role: str
    count: int | None
    gpus_each: int | None


class ServerItem(msgspec.Struct):
    """The server's answer to the dry run."""

    state: str
    sentence: str


class SubmissionDocument(OutputDocument, kw_only=True):
    """`cockpit job submit --dry-run`. Null: not stated by the manifest."""

    kind: Literal["submission"]
    pods: list[PodsItem]
    members: int | None
    gpus: int | None
    gpus_at_least: int
    unknown: str | None
    fit: list[str]
    plan: list[str]
    warnings: list[str]
    server: ServerItem
    command: str
    manifest: dict[str, Any]


def _described(plan: Plan, fit: Sequence[str], verdict: Outcome) -> dict[str, Any]:
    """What a dry run says, for programs. Members and GPUs are null where the manifest does not tell them."""
    asked = pods_asked(plan.calls[0].body)
    return {
        "kind": "submission",
        "pods": [
            {"role": item.role, "count": item.replicas, "gpus_each": item.gpus_each} for item in asked.sets
        ],
        "members": asked.members,
        "gpus": asked.gpus,
        "gpus_at_least": asked.gpus_at_least,
        "unknown": asked.unknown,
        "fit": list(fit),
        "plan": list(plan.told),
        "warnings": list(plan.warnings),
        "server": {"state": verdict.state, "sentence": verdict.sentence},
        "command": plan.shell,
        "manifest": mask_tree(plan.calls[0].body),
    }


async def open_for(chosen: AttachOptions, clock: Clock, timeout_seconds: float) -> "ApiSession":
    """A session without watches, for a command. Raises NoConnection where no answer comes in time."""
    logins = await logins_for(chosen, clock)
    wanted = SessionOptions(
        kubeconfig=chosen.kubeconfig, context=chosen.context, read_only=not chosen.write, logins=logins
    )
    try:
        async with asyncio.timeout(timeout_seconds):
            session = await open_session(wanted, clock)
    except TimeoutError:
        if logins.running:
            raise NoConnection(late_login(logins.running, timeout_seconds)) from None
        raise NoConnection(
            f"no answer from the cluster within {timeout_seconds:g} s; give a longer --timeout"
        ) from None
    note(session_notes(session))
    note(exposure_notes(chosen, settings_in_force()))
    return session
