"""`cockpit why KIND/NAME`: why it waits or is broken, what would start it and when; `--explain CAUSE`: what a
cause means."""

import argparse
import asyncio
import contextlib
import os
from functools import partial
from typing import Any, Final

from cockpit.actions.find import or_unread
from cockpit.actions.kind_words import kind_named
from cockpit.actions.subjects import subject_named, subject_words
from cockpit.api_server import ApiServer
from cockpit.attach import Attachment, AttachOptions
from cockpit.catalogue import by_cause
from cockpit.clock import Clock, SystemClock
from cockpit.commands.attached import Live, attached
from cockpit.commands.document import document_lines
from cockpit.commands.each_cluster import Noted, act_in, ask_each, only_context
from cockpit.commands.get import NEEDS
from cockpit.commands.left_over import read_left_over
from cockpit.commands.output import note, put
from cockpit.commands.patience import limited
from cockpit.commands.report import write_report
from cockpit.commands.settings import (
    attach_options,
    contexts_given,
    each_attach_options,
    known_of_pools,
    settings_in_force,
)
from cockpit.commands.triage_document import alert_item
from cockpit.commands.why_document import CauseDocument, WhyDocument, verdict_tree
from cockpit.daemon_thread import apart
from cockpit.errors import BadInput, Refused
from cockpit.kube.discovery import discover
from cockpit.local_state.history import LocalHistory, history_path
from cockpit.local_state.paths import state_folder
from cockpit.model.finding import Finding, Subject
from cockpit.model.record import Kind
from cockpit.model.remembered import PastRun
from cockpit.nearest import nearest_words
from cockpit.pools.forecast import PoolExperience
from cockpit.triage.advice import advised
from cockpit.triage.alerts import alerts_about
from cockpit.triage.context import ClusterView
from cockpit.triage.engine import explain
from cockpit.views.cause_page import PAGE, cause_lines, cause_tree
from cockpit.views.why import lines

NEEDS_A_HUMAN: Final = 3
"""The exit code where something does; 0 where nothing does."""
_OF_NODES: Final = ("node", "card", "pool", "machine")


def run(options: argparse.Namespace) -> int:
    """Explain once; the answer is the exit code."""
    if options.explain:
        return _explain(options)
    word, name = subject_words(options.subject)
    if kind_named(word).subject in _OF_NODES:
        options.all_namespaces, options.namespace = True, ""
    clock, settings = SystemClock(), settings_in_force()
    if contexts := contexts_given(options):
        chosen_each = each_attach_options(options, settings, contexts)
        ask = partial(_where, (word, name), options, clock)
        found = asyncio.run(ask_each(chosen_each, options.timeout, clock, ask))
        act_in(options, only_context(f"{word} {name!r}", found))
    return asyncio.run(_run((word, name), options, attach_options(options, settings), clock))


async def _where(named: tuple[str, str], options: argparse.Namespace, clock: Clock, live: Live) -> Noted[str]:
    """What that kind and name mean in this cluster. Raises as `subject_named`."""
    _, _, subject = await _look(named, options, clock, live)
    return subject.text, ()


def _explain(options: argparse.Namespace) -> int:
    """Print what the catalogue knows of a cause. Raises BadInput where there is none of that name."""
    if options.subject or options.report:
        raise BadInput("--explain: takes no SUBJECT and no --report; name a cause alone")
    name = options.explain.strip().lower()
    row = by_cause().get(name)
    if row is None:
        raise BadInput(f"--explain: there is no cause {options.explain!r}; {nearest_words(name, by_cause())}")
    if options.output == "table":
        put(cause_lines(row))
    else:
        put(document_lines(CauseDocument, cause_tree(row), options.output))
    return 0


async def _run(
    named: tuple[str, str], options: argparse.Namespace, chosen: AttachOptions, clock: Clock
) -> int:
    async with limited(options.timeout), attached(chosen, clock) as live:
        notes, found, subject = await _look(named, options, clock, live)
        folders = tuple(settings_in_force().template_folders)
        view = await ApiServer(live.attachment).ask_verdict(subject, found, {}, folders)
        verdict = advised(explain(subject, view), view)
        if options.output == "table":
            put(lines(verdict, view, settings_in_force().docs_url))
        else:
            tree = _tree(verdict, live.attachment, view.now_seconds)
            put(document_lines(WhyDocument, tree, options.output))
        if options.report:
            notes = (*notes, await write_report(options.report, verdict, live.attachment, view))
    note(notes)
    return NEEDS_A_HUMAN if verdict.is_trouble else 0


async def _look(
    named: tuple[str, str], options: argparse.Namespace, clock: Clock, live: Live
) -> tuple[tuple[str, ...], ClusterView, Subject]:
    """Read what is needed; the notes about it, what is known, and what is meant."""
    needs = _needs(kind := kind_named(named[0]).subject)
    notes = await live.settle(needs, options.timeout, with_gpus=kind != "queue", with_alerts=True)
    await _discover(live.attachment)
    await live.judge_idle_jobs()
    await read_left_over(live.attachment)
    found = await _view(live.attachment, clock)
    served = () if live.attachment.served is None else live.attachment.served.resources
    with or_unread(live.attachment.store, needs):
        return notes, found, subject_named(*named, found, live.attachment.namespaces, served)


async def _discover(attachment: Attachment) -> None:
    """What is read on demand needs to know where it is served."""
    if attachment.served is None:
        with contextlib.suppress(Refused):
            attachment.served = await discover(attachment.connected())


async def _view(attachment: Attachment, clock: Clock) -> ClusterView:
    now_seconds = clock.cluster_now()
    past = await _past(attachment, now_seconds)
    known = (
        PoolExperience()
        if (session := attachment.session) is None
        else known_of_pools(settings_in_force(), session.context, session.server)
    )
    return ClusterView(
        store=attachment.store,
        jobs=attachment.jobs,
        now_seconds=now_seconds,
        past=past,
        known=known,
        idle=attachment.verdicts.on_demand.idle,
        ended_drains=attachment.verdicts.on_demand.drains_ended,
    )


async def _past(attachment: Attachment, now_seconds: float) -> tuple[PastRun, ...]:
    """Jobs that sessions on this host saw end; nothing is made where there was none."""
    session = attachment.session
    path = (
        None if session is None else history_path(state_folder(os.environ), session.context, session.server)
    )
    if path is None or not path.exists():
        return ()
    return (await apart(partial(LocalHistory(path).recall, now_seconds))).runs


def _needs(kind: str) -> tuple[str, ...]:
    """The first is what cannot be done without."""
    every = (*NEEDS["overview"], Kind.EVENT, Kind.POD_GROUP)
    first = Kind.NODE if kind in _OF_NODES else NEEDS["queues"][0] if kind == "queue" else Kind.POD
    return (first, *(item for item in every if item != first))


def _tree(verdict: Finding, attachment: Attachment, now_seconds: float) -> dict[str, Any]:
    """The verdict whole: nothing is shortened."""
    session = attachment.session
    alerts = alerts_about(verdict.subject, attachment.store, attachment.jobs)
    return {
        "kind": "why",
        "context": session.context if session else "",
        "at_seconds": now_seconds,
        "is_trouble": verdict.is_trouble,
        "page": PAGE.format(verdict.cause) if verdict.cause in by_cause() else "",
        "alerts": [alert_item(alert) for alert in alerts],
        **verdict_tree(verdict),
    }
