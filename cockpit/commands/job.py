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
from cockpit.commands.paper import put, tree_text
from cockpit.errors import BadInput, NoConnection
from cockpit.jobs.render import queue_of
from cockpit.jobs.template import Template, load_library
from cockpit.model.plan import Plan
from cockpit.model.record import Kind

if TYPE_CHECKING:
    from cockpit.kube.session import Session

SHORTS = ("name", "workers", "gpus", "image", "command", "queue")
QUEUES = "kueue.x-k8s.io/v1beta2"


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
    clock = SystemClock()
    session = await open_for(chosen, clock, options.timeout)
    try:
        lookup = await served_lookup(session)
        namespace = chosen.namespace or session.namespace
        plan = plan_submit(
            template, values, namespace, lookup=lookup, context=session.context, engine=options.engine
        )
        known = await _queue_known(session, lookup, plan, namespace or "default")
        plan = plan_submit(
            template,
            values,
            namespace,
            store=known,
            lookup=lookup,
            context=session.context,
            engine=options.engine,
        )
        if options.dry_run:
            from cockpit.commands.fitting import fit_of

            manifest = plan.calls[0].body
            put([tree_text(manifest, "yaml"), ""])
            put(await fit_of(manifest, chosen, namespace or "default", clock, options.timeout))
        return await confirm_and_carry(plan, options, session, clock)
    finally:
        await session.close()


class _Queues:
    """Stands for the store where only one queue was asked for."""

    def __init__(self, *, is_there: bool) -> None:
        self._is_there = is_there

    def by_key(self, kind: str, key: str) -> object | None:
        return key if kind == Kind.LOCAL_QUEUE and self._is_there else None


async def _queue_known(session: "Session", lookup: Lookup, plan: Plan, namespace: str) -> _Queues:
    """Whether the queue that the plan names exists; where nobody may look it counts as there."""
    manifest = plan.calls[0].body
    queue = queue_of(manifest)
    served = lookup(QUEUES, "LocalQueue")
    if not queue:
        return _Queues(is_there=False)
    if served is None:
        raise BadInput(f"queue {queue}: this cluster has no Kueue; leave the queue empty")
    where = str(manifest["metadata"].get("namespace") or namespace)
    answer = await session.request("GET", served.path(where, queue))
    return _Queues(is_there=answer.status != 404)


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

    served = await discover(session)

    def lookup(api_version: str, kind: str) -> object:
        group, _, version = api_version.rpartition("/")
        return served.find(group, kind, version) or served.find(group, kind)

    return lookup  # type: ignore[return-value]
