"""`cockpit triage`: what needs a human, as *Now* says it, once or again and again."""

import argparse
import asyncio
from collections.abc import Sequence
from typing import Any, NamedTuple

from cockpit.attach import Attachment, AttachOptions
from cockpit.clock import Clock, SystemClock
from cockpit.commands.attached import Live, attached
from cockpit.commands.document import document_lines, of_clusters, round_lines
from cockpit.commands.each_cluster import ClusterAnswer, Noted, ask_each, noted, unanswered
from cockpit.commands.findings_out import FindingsOut, targets
from cockpit.commands.get import NEEDS, telemetry
from cockpit.commands.left_over import read_left_over
from cockpit.commands.output import grid, note, put
from cockpit.commands.patience import Sleep, wait_on, within
from cockpit.commands.settings import (
    attach_options,
    contexts_given,
    each_attach_options,
    settings_in_force,
)
from cockpit.commands.triage_document import TriageDocument, alert_source, finding_item
from cockpit.commands.why import NEEDS_A_HUMAN
from cockpit.errors import BadInput
from cockpit.model.finding import Finding
from cockpit.model.record import Kind
from cockpit.triage.alerts import counted_sentence
from cockpit.triage.attention import needs_human, rank
from cockpit.triage.judgement import quiet
from cockpit.triage.on_demand import rows_of
from cockpit.triage.remedies import remedy_text
from cockpit.views import format as fmt

NEEDED = (*NEEDS["overview"], Kind.EVENT)


def run(options: argparse.Namespace) -> int:
    """Print once, or with --watch until interrupted; the exit code tells whether anything needs a human."""
    if contexts := contexts_given(options):
        return _of_each(options, contexts)
    chosen = attach_options(options, settings_in_force())
    return asyncio.run(within(options.timeout, watch(options, chosen, SystemClock())))


def _of_each(options: argparse.Namespace, contexts: Sequence[str]) -> int:
    """One list of what needs a human in each of several clusters."""
    if options.watch:
        raise BadInput("--watch: follows one cluster; give --context in the place of --contexts")
    chosen, clock = each_attach_options(options, settings_in_force(), contexts), SystemClock()

    async def work(live: Live) -> Noted[OfCluster]:
        notes = await live.settle(NEEDED, options.timeout, with_gpus=True, with_alerts=True, tells_rest=True)
        found = await _found(live, clock.cluster_now())
        rows = tuple(each for row in found for each in row.alike or (row,)) if options.each else found
        one = live.attachment
        alerts = alert_source(one, clock.cluster_now())
        return OfCluster(rows, quiet(one.store, one.namespaces), telemetry(one), alerts), notes

    answers = asyncio.run(ask_each(chosen, options.timeout, clock, work))
    now_seconds = clock.cluster_now()
    rows = [(answer.context, row) for answer in answers if answer.found for row in answer.found.rows]
    rows.sort(key=lambda each: rank(each[1], now_seconds))
    put(_lines_of_each(options, answers, rows, now_seconds))
    return noted(answers) or (NEEDS_A_HUMAN if rows else 0)


class OfCluster(NamedTuple):
    """What needs a human in one cluster, its sentence where nothing does, how GPUs and alerts are read."""

    rows: tuple[Finding, ...]
    quiet: str
    telemetry: dict[str, Any]
    alerts: dict[str, Any]


def _lines_of_each(
    options: argparse.Namespace,
    answers: Sequence[ClusterAnswer[OfCluster]],
    rows: Sequence[tuple[str, Finding]],
    now_seconds: float,
) -> list[str]:
    found = {answer.context: answer.found for answer in answers if answer.found is not None}
    if options.output != "table":
        tree = {
            "kind": "triage",
            "contexts": list(found),
            "at_seconds": now_seconds,
            "unanswered": unanswered(answers),
            "telemetry": {context: one.telemetry for context, one in found.items()},
            "alertmanager": {context: one.alerts for context, one in found.items()},
            "items": [{"cluster": context, **finding_item(row)} for context, row in rows],
        }
        return document_lines(of_clusters(TriageDocument), tree, options.output)
    if not rows:
        return [f"{context}: {one.quiet}" for context, one in found.items()]
    words = [[row.glyph, context, *_words(row, now_seconds)] for context, row in rows]
    return grid(["", "cluster", "since", "what", "why", "remedy"], words)


async def watch(
    options: argparse.Namespace, chosen: AttachOptions, clock: Clock, sleep: Sleep = asyncio.sleep
) -> int:
    """Rounds of one attachment: with --watch one that says what the last one said is not printed."""
    told: tuple[str, ...] = ()
    printed: list[tuple[str, str]] | None = None
    to_others = FindingsOut(targets(options, settings_in_force()), sleep)
    async with attached(chosen, clock) as live, to_others as out:
        while True:
            notes = await live.settle(
                NEEDED, options.timeout, with_gpus=True, with_alerts=True, tells_rest=True
            )
            now_seconds = clock.cluster_now()
            found = await _found(live, now_seconds)
            if options.watch:
                await out.look(live.attachment, found, now_seconds)
            if options.each:
                found = tuple(each for row in found for each in row.alike or (row,))
            news = [(item.key, counted_sentence(item)) for item in found]
            if news != printed:
                put(page(options, live, found, now_seconds, is_first=printed is None))
                printed = news
            note(note for note in notes if note not in told)
            told = notes
            if not options.watch:
                return NEEDS_A_HUMAN if found else 0
            wait_on()
            await sleep(options.interval)


async def _found(live: Live, now_seconds: float) -> tuple[Finding, ...]:
    """What needs a human, with what the rows rest on and no watch covers read first."""
    one = live.attachment

    def look() -> tuple[Finding, ...]:
        return needs_human(one.store, one.jobs, now_seconds, one.namespaces, verdicts=one.verdicts)

    await live.judge_idle_jobs()
    await read_left_over(one)
    await live.read_rows(lambda: rows_of(look(), one.store, one.jobs))
    return look()


def page(
    options: argparse.Namespace,
    live: Live,
    found: Sequence[Finding],
    now_seconds: float,
    *,
    is_first: bool = True,
) -> list[str]:
    """The lines of one round; as JSON one line a round when watched."""
    if options.output == "table":
        end = [""] if options.watch else []
        one = live.attachment
        lines = table_lines(found, now_seconds) if found else [quiet(one.store, one.namespaces)]
        return [*lines, *end]
    tree = _tree(found, live.attachment, now_seconds)
    if options.watch:
        return round_lines(TriageDocument, tree, options.output, is_first=is_first)
    return document_lines(TriageDocument, tree, options.output)


def table_lines(found: Sequence[Finding], now_seconds: float) -> list[str]:
    """For a person."""
    rows = [[item.glyph, *_words(item, now_seconds)] for item in found]
    return grid(["", "since", "what", "why", "remedy"], rows)


def _words(one: Finding, now_seconds: float) -> tuple[str, ...]:
    since = fmt.since(one.since_seconds, now_seconds)
    return since, one.title, counted_sentence(one), remedy_text(one.remedies)


def _tree(found: Sequence[Finding], attachment: Attachment, now_seconds: float) -> dict[str, Any]:
    session = attachment.session
    return {
        "kind": "triage",
        "context": session.context if session else "",
        "at_seconds": now_seconds,
        "telemetry": telemetry(attachment),
        "alertmanager": alert_source(attachment, now_seconds),
        "items": [finding_item(row) for row in found],
    }
