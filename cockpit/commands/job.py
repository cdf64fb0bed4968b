"""`cockpit job submit`; what is done to a job that is there stands in `lifecycle`."""

import argparse
import asyncio
from typing import TYPE_CHECKING

from cockpit.actions.address import Lookup
from cockpit.actions.submit import plan_submit
from cockpit.attach import AttachOptions
from cockpit.clock import Clock, SystemClock
from cockpit.commands.ask import confirm_and_carry, refuse_without_right
from cockpit.commands.choose import attach_options, settings_in_force
from cockpit.commands.fitting import FIT_KINDS, fit_told
from cockpit.commands.live import attached
from cockpit.commands.paper import put, tree_text
from cockpit.commands.submitting import Wish, lookup_in, planned
from cockpit.errors import BadInput, NoConnection, Refused
from cockpit.jobs.template import Template, load_library

if TYPE_CHECKING:
    from cockpit.kube.session import Session

SHORTS = ("name", "workers", "gpus", "image", "command", "queue")


def submit(options: argparse.Namespace) -> int:
    """Make a job from a template."""
    settings = settings_in_force()
    template = load_library(settings.template_folders).named(options.template)
    values = values_given(options)
    chosen = attach_options(options, settings)
    # Checked before anything is asked of the cluster: a wrong value needs no connection to be told.
    plan_submit(template, values, chosen.namespace, engine=options.engine)
    refuse_without_right(options, may_write=chosen.write)
    return asyncio.run(_submit(template, values, options, chosen))


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
            raise BadInput(f"--{name} and --set {name}= say the same: give one of them")
        values[name] = short
    return values


async def _submit(
    template: Template, values: dict[str, str], options: argparse.Namespace, chosen: AttachOptions
) -> int:
    from cockpit.kube.discovery import discover

    clock = SystemClock()
    if options.dry_run:
        return await _rehearse(template, values, options, chosen)
    session = await open_for(chosen, clock, options.timeout)
    try:
        served = await discover(session)
        wish = Wish(template, values, options.engine, chosen.namespace or session.namespace)
        return await confirm_and_carry(await planned(wish, session, served, None), options, session, clock)
    finally:
        await session.close()


async def _rehearse(
    template: Template, values: dict[str, str], options: argparse.Namespace, chosen: AttachOptions
) -> int:
    """The manifest, where it would go and the server's verdict, all over one attachment."""
    from cockpit.kube.discovery import discover

    clock = SystemClock()
    async with attached(chosen, clock) as live:
        trouble, notes = "", tuple[str, ...]()
        try:
            notes = await live.settle(FIT_KINDS, options.timeout)
        except Refused as error:
            trouble = error.sentence
        session = live.attachment.session
        if session is None:
            raise NoConnection(live.attachment.sentence or "not attached to a cluster")
        served = live.attachment.served or await discover(session)
        wish = Wish(template, values, options.engine, chosen.namespace or session.namespace)
        plan = await planned(wish, session, served, live.attachment.store)
        put([tree_text(plan.calls[0].body, "yaml"), ""])
        told = await fit_told(plan.calls[0].body, live.attachment, wish.namespace or "default", trouble)
        put([*told, *notes])
        return await confirm_and_carry(plan, options, session, clock)


async def open_for(chosen: AttachOptions, clock: Clock, timeout_seconds: float) -> "Session":
    """A session without watches, for a command. Raises NoConnection where no answer comes in time."""
    from cockpit.kube.session import SessionOptions, open_session

    wanted = SessionOptions(kubeconfig=chosen.kubeconfig, context=chosen.context, read_only=not chosen.write)
    try:
        async with asyncio.timeout(timeout_seconds):
            return await open_session(wanted, clock)
    except TimeoutError:
        raise NoConnection(
            f"no answer from the cluster within {timeout_seconds:g} s; give --timeout"
        ) from None


async def served_lookup(session: "Session") -> Lookup:
    """From apiVersion and kind to the resource that this cluster serves."""
    from cockpit.kube.discovery import discover

    return lookup_in(await discover(session))
