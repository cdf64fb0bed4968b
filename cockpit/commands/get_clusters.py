"""`cockpit get KIND [--contexts a,b]`: the rows of several clusters as one list, each with its cluster."""

import argparse
import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cockpit.attach import Attachment
from cockpit.clock import Clock, SystemClock
from cockpit.commands import get, overview
from cockpit.commands.attached import Live
from cockpit.commands.document import SCHEMA, document_lines, of_clusters
from cockpit.commands.each_cluster import ClusterAnswer, Noted, ask_each, noted, unanswered
from cockpit.commands.get import (
    LISTS,
    WITH_GPUS,
    items_of,
    overview_json,
    refuse_view,
    settled,
    telemetry,
)
from cockpit.commands.get_documents import OF_KIND, OverviewsDocument
from cockpit.commands.output import put, table_lines
from cockpit.commands.settings import contexts_given, each_attach_options, settings_in_force
from cockpit.errors import BadInput
from cockpit.model.namespaces import Namespaces
from cockpit.views.clusters import ClusterRow, cluster_table
from cockpit.views.lazy_table import LazyTable, ListRows
from cockpit.views.view_state import ViewState


@dataclass(frozen=True, slots=True)
class _OfOne:
    """What was read of one cluster."""

    attachment: Attachment
    namespaces: Namespaces
    listed: ListRows[Any] | None = None
    overview: dict[str, Any] | None = None


def run(options: argparse.Namespace) -> int:
    """Print the rows of one cluster, or of several; the exit code is 1 where one of these did not answer."""
    if not (contexts := contexts_given(options)):
        return get.run(options)
    if options.kind not in (*LISTS, "overview"):
        raise BadInput(
            f"--contexts: get {options.kind} shows one cluster; give --context, or one of"
            f" {', '.join(('overview', *LISTS))}"
        )
    if options.watch:
        raise BadInput("--watch: follows one cluster; give --context in the place of --contexts")
    chosen = each_attach_options(options, settings_in_force(), contexts)
    clock = SystemClock()
    kind: str = options.kind

    async def work(live: Live) -> Noted[_OfOne]:
        notes = await settled(live, kind, options.timeout, clock)
        one, now_seconds = live.attachment, clock.cluster_now()
        if kind == "overview":
            return _OfOne(one, one.namespaces, overview=overview.tree(one, now_seconds)), notes
        listed = LISTS[kind](one, now_seconds)
        return _OfOne(one, one.namespaces, ListRows(listed.view, tuple(listed.rows))), notes

    answers = asyncio.run(ask_each(chosen, options.timeout, clock, work))
    found = {answer.context: answer.found for answer in answers if answer.found is not None}
    if found:
        put(_lines(options, found, answers, clock))
    return noted(answers)


def _lines(
    options: argparse.Namespace,
    found: dict[str, _OfOne],
    answers: Sequence[ClusterAnswer[_OfOne]],
    clock: Clock,
) -> list[str]:
    kind, now_seconds = options.kind, clock.cluster_now()
    head = {
        "kind": kind,
        "contexts": list(found),
        "at_seconds": now_seconds,
        "unanswered": unanswered(answers),
    }
    if kind == "overview":
        trees = [one.overview for one in found.values() if one.overview is not None]
        if options.output == "table":
            return overview.lines_of(trees)
        told = [overview_json(tree, found[tree["context"]].attachment) for tree in trees]
        clusters = [{"schema": SCHEMA, **tree} for tree in told]
        return document_lines(OverviewsDocument, {**head, "clusters": clusters}, options.output)
    state = ViewState(filter=options.filter, sort=options.sort, descending=options.descending)
    source: LazyTable[ClusterRow[Any]] = cluster_table(
        {context: one.listed for context, one in found.items() if one.listed is not None},
        state,
        now_seconds,
        namespaces={context: one.namespaces for context, one in found.items()},
    )
    refuse_view(source, state)
    if options.output == "table":
        return table_lines(source) if len(source) else [f"no {kind} in {', '.join(found)}"]
    if kind in WITH_GPUS:
        head["telemetry"] = {context: telemetry(one.attachment) for context, one in found.items()}
    tree = {**head, "items": _items(kind, source, found)}
    return document_lines(of_clusters(OF_KIND[kind]), tree, options.output)


def _items(kind: str, source: LazyTable[ClusterRow[Any]], found: dict[str, _OfOne]) -> list[dict[str, Any]]:
    """The rows in the order of the table, each with its cluster."""
    rows = [source.row(at) for at in range(len(source))]
    told = {
        context: iter(items_of(kind, [row.row for row in rows if row.cluster == context], one.attachment))
        for context, one in found.items()
    }
    return [{"cluster": row.cluster, **next(told[row.cluster])} for row in rows]
