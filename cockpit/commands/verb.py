"""`cockpit NOUN VERB NAME ...`: every verb of the registry that has a plan, on what is named."""

import argparse
import asyncio
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from cockpit.actions.drain.run import DrainRun, DrainStatus
from cockpit.actions.execute.run_verb import Intent, picking_line
from cockpit.actions.planning import FreshPlanning, Planning, PoolTerms
from cockpit.actions.target_kinds import KINDS, TargetKind
from cockpit.actions.verbs.registry import verb_of
from cockpit.actions.verbs.verb import NOUNS, Verb
from cockpit.attach import Attachment, AttachOptions
from cockpit.clock import Clock, SystemClock
from cockpit.commands.attached import WEIGHED_KINDS, Live, attached
from cockpit.commands.confirm import confirm_and_carry, refuse_without_right
from cockpit.commands.each_cluster import Noted, act_in, ask_each, only_context
from cockpit.commands.output import note, put
from cockpit.commands.patience import within
from cockpit.commands.pool_wait import LONGEST_SECONDS, until_there
from cockpit.commands.settings import (
    attach_options,
    audit_log,
    contexts_given,
    each_attach_options,
    known_of_pools,
    settings_in_force,
)
from cockpit.commands.submitting import served_lookup
from cockpit.errors import BadInput, NoConnection, Refused
from cockpit.model.job import Job
from cockpit.model.plan import DrainOrder
from cockpit.views import jobs as view
from cockpit.views.view_state import ViewState


def run(options: argparse.Namespace) -> int:
    """Do the verb `options.verb` to what is named; the answer is the exit code."""
    verb = verb_of(options.verb)
    kind, noun = KINDS[verb.kind], NOUNS[verb.kind]
    told = verb.planner.options(**{item.field: getattr(options, f"verb_{item.field}") for item in verb.flags})
    names: list[str] = list(options.names)
    if not names and not options.filter and verb.planner.picks is None:
        raise BadInput(
            f"which {kind.word}s? give names, or --filter TEXT as typed after / on the screen, to {verb.name}"
        )
    for name in names:
        if not all(name.split("/")):
            raise BadInput(f"{name!r} is not a {kind.word}: write {noun.naming}")
    if not kind.is_namespaced:
        # it is not in the namespace that a person works in: everything is listed
        options.all_namespaces, options.namespace = True, ""
    namespace = narrowed(names) if noun.has_filter else ""
    if contexts := contexts_given(options):
        _choose_context(verb, kind, options, contexts, namespace)
    chosen = attach_options(options, settings_in_force(), namespace)
    refuse_without_right(options, may_write=chosen.write)
    return asyncio.run(within(options.timeout, _run(verb, kind, told, options, chosen)))


def _choose_context(
    verb: Verb, kind: TargetKind, options: argparse.Namespace, contexts: Sequence[str], namespace: str
) -> None:
    """Have the verb act in the one cluster of `--contexts` that has all that is named.

    Raises BadInput where that is none or more than one, or where no name tells which.
    """
    names = list(dict.fromkeys(options.names))
    if not names or options.filter:
        raise BadInput(f"--contexts: only names tell the cluster in which to {verb.name}; give --context")
    clock = SystemClock()

    async def where(live: Live) -> Noted[str]:
        await live.settle(kind.watched(), options.timeout)
        planning = (await planner(live, clock))()
        things = [kind.found(planning, name, live.attachment.namespaces) for name in names]
        return ", ".join(map(kind.shell_name, things)), ()

    chosen = each_attach_options(options, settings_in_force(), contexts, namespace)
    found = asyncio.run(ask_each(chosen, options.timeout, clock, where))
    act_in(options, only_context(f"{kind.word} {', '.join(names)!r}", found, is_write=True))


def narrowed(names: Sequence[str]) -> str:
    """The namespace that all names name, "" where they do not: what is listed is narrowed to it."""
    spaces = {name.split("/")[-2] if name.count("/") in (1, 2) else "" for name in names}
    return spaces.pop() if len(spaces) == 1 else ""


async def _run(
    verb: Verb, kind: TargetKind, told: Any, options: argparse.Namespace, chosen: AttachOptions
) -> int:
    clock = SystemClock()
    async with attached(chosen, clock) as live:
        needed = kind.watched() + (KINDS["pool"].watched() if verb.is_measured else ())
        note(await live.settle(needed, options.timeout, with_gpus=verb.is_measured))
        if verb.weighs_others:
            await live.settle((*needed, *WEIGHED_KINDS), options.timeout)
        if verb.is_measured and options.filter:
            await live.judge_idle_jobs()  # the filter sees the rows as the screen shows them
        fresh = await planner(live, clock)
        planning = fresh()
        things = _meant(kind, planning, options, live.attachment, clock)
        if verb.planner.picks is not None:
            things = verb.planner.picks(things, told, clock.cluster_now())
        if not things:
            put([f"no {kind.word} to {verb.name}"])
            return 0
        shell = ""
        if verb.planner.picks is not None:
            shell = picking_line(verb, told, planning.context, options.names, options.filter)

        async def goes_on(orders: Sequence[DrainOrder]) -> int:
            return await follow(orders, live, clock)

        then = None
        if getattr(options, "verb_wait", False):
            then = partial(until_there, live, clock, options.verb_deadline or LONGEST_SECONDS)
        return await confirm_and_carry(
            Intent(verb, things, told, shell),
            fresh,
            options,
            clock,
            context=planning.context,
            goes_on=goes_on,
            then=then,
        )


async def planner(live: Live, clock: Clock) -> FreshPlanning:
    """What plans are made on as it is by then. Raises NoConnection where the connection is lost."""
    session = live.attachment.session
    if session is None:
        raise NoConnection(live.attachment.sentence or "the connection was lost")
    lookup = await served_lookup(session)
    settings = settings_in_force()
    folders = tuple(settings.template_folders)
    at_seconds = clock.now()  # one moment for the plan that is shown and the one that is sent
    own = settings.of_context(session.context)
    pools = PoolTerms(
        own.lease_namespace,
        clock.cluster_now(),
        outside=live.attachment.outside,
        known=partial(known_of_pools, settings, session.context, session.server),
        shrink_at_once=own.shrink_at_once,
        reclaim_idle_for_seconds=own.reclaim_idle_for_seconds,
        reclaim_grace_seconds=own.reclaim_grace_seconds,
    )

    def fresh(*, reads: bool = False) -> Planning:
        attachment = live.attachment
        attachment.jobs.catch_up()
        jobs = attachment.jobs.jobs
        return Planning(
            attachment.store,
            session,
            lookup,
            session.context,
            jobs,
            reads,
            folders,
            session.server_version,
            at_seconds,
            replace(pools, made_seconds=clock.cluster_now()),
            lines=attachment.lines,
        )

    return fresh


def _meant(
    kind: TargetKind, planning: Planning, options: argparse.Namespace, attachment: Attachment, clock: Clock
) -> Sequence[Any]:
    """What is named, or all; of those what the filter shows."""
    if kind.named is None:
        raise BadInput(f"a {kind.word} cannot be named here")
    named = [kind.found(planning, name, attachment.namespaces) for name in options.names]
    if not NOUNS[kind.word].has_filter or (named and not options.filter):
        return named
    return _shown(named or planning.jobs.values(), options.filter, attachment, clock)


def _shown(jobs: Any, text: str, attachment: Attachment, clock: Clock) -> list[Job]:
    state = ViewState(filter=text, namespaces=attachment.namespaces)
    now_seconds, verdicts = clock.cluster_now(), attachment.verdicts
    table = view.table(jobs, attachment.store, state, now_seconds, explain=verdicts.of)
    if table.problem:
        raise BadInput(f"--filter: {table.problem}")
    return [table.row(at).job for at in range(len(table))]


async def follow(orders: Sequence[DrainOrder], live: Live, clock: Clock) -> int:
    """Each to its end; 0 where all are drained. Raises Refused with the first that is not. Left by ctrl+c
    they stay cordoned, and a note says how to go on."""
    session = live.attachment.session
    if session is None:
        raise NoConnection(live.attachment.sentence or "the connection was lost")
    runs = [
        DrainRun(
            item, session=session, store=live.attachment.store, audit=audit_log(), clock=clock, told=_told
        )
        for item in orders
    ]
    try:
        ended = await asyncio.gather(*(run.go() for run in runs))
    except asyncio.CancelledError:
        note(left_lines(runs))
        raise
    for item in ended:
        if item.is_done:
            put([item.sentence])
    if failed := [item.sentence for item in ended if not item.is_done]:
        raise Refused("; ".join(failed))
    return 0


def left_lines(runs: Sequence[DrainRun]) -> list[str]:
    """What is left behind by who leaves before the end."""
    return [
        f"node {run.order.node} stays cordoned, {run.status.sentence}: to go on run cockpit node drain"
        f" {run.order.node}, to call it off cockpit node stop-drain {run.order.node}"
        for run in runs
    ]


def _told(status: DrainStatus) -> None:
    put([f"{status.node}: {status.sentence}"])
