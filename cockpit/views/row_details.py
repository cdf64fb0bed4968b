"""Details of jobs, nodes, queues, pools, pods and events, made by the views of their pages."""

from collections.abc import Callable, Sequence
from functools import partial

from cockpit_widgets.pair_layout import pair_lines
from cockpit_widgets.types import Line, Pair

from cockpit.fit.scheduling_context import Budget
from cockpit.model.event import Event
from cockpit.model.job import Job
from cockpit.model.job_reader import JobReader
from cockpit.model.node import Node
from cockpit.model.pod import Pod
from cockpit.model.store_reader import StoreReader
from cockpit.triage.node_walk import stage_at
from cockpit.views import (
    detail,
    events,
    job_page,
    jobs,
    node_page,
    pods,
    pool_page,
    queue_page,
    queues,
    timeline,
    training_panel,
)
from cockpit.views.detail import Detail
from cockpit.views.jobs import Explain
from cockpit.views.pool_page import PoolPage
from cockpit.views.pools import size_text
from cockpit.views.queues import QueueRow
from cockpit.views.run_curves import curve_lines
from cockpit.views.states import job_cell, node_cell, pod_cell
from cockpit.views.timeline import Run
from cockpit.views.view_state import ViewState

CURVE_LINES = 7
_CURVE_SHARE = 3
"""Curves take at most this part of the height."""
_FATE = ("why", "reclaim", "progress", "queue", "members", "GPUs", "now", "exit codes", "last output")
"""Facts of a job before its curves and members; the rest follows."""
_OF_NODE = ("pool", "machine", "taints", "age", "kubelet")
"""Facts of a node behind its GPUs."""


def job_facts(
    job: Job,
    members: Sequence[Pod],
    store: StoreReader,
    run: Run,
    now_seconds: float,
    *,
    past: Sequence[float | None] = (),
    why: str = "",
) -> tuple[Pair, ...]:
    """All facts of a job: what it is, where it stands, what its run does, its way to the first step."""
    found = job_page.facts(job, store, now_seconds, members, past, why=why)
    return timeline.merged(found, timeline.facts(job, members, store, run, now_seconds))


def job_detail(
    job: Job,
    members: Sequence[Pod],
    store: StoreReader,
    run: Run,
    now_seconds: float,
    *,
    past: Sequence[float | None] = (),
    why: str = "",
) -> Detail:
    """The sentence and progress, curves, members with trouble first, then the other facts of its page."""
    facts = job_facts(job, members, store, run, now_seconds, past=past, why=why)
    fate = [pair for name in _FATE for pair in facts if pair.name == name]
    rest = [pair for pair in facts if pair not in fate and pair.name not in ("job", "state")]
    ordered = sorted(members, key=pods.urgency)
    table = job_page.members_table(ordered, store, ViewState(), now_seconds, computes=run.lens.computes)
    return Detail(
        f"{job.namespace}/{job.name}",
        job_cell(job.state).text,
        (
            detail.pairs((*fate, *training_panel.facts(run.lens))),
            lambda width, height: curve_lines(run.curves, width, min(CURVE_LINES, height // _CURVE_SHARE)),
            detail.table("Members", table),
            detail.pairs(rest),
        ),
    )


def node_detail(
    node: Node,
    store: StoreReader,
    now_seconds: float,
    drained_here: str | None = None,
    budgets: Sequence[Budget] | None = None,
) -> Detail:
    """What is wrong with it, its cards, its pods, then the other facts of its page."""
    facts = node_page.facts(node, store, now_seconds, drained_here, budgets)
    first = [pair for pair in facts if pair.name not in (*_OF_NODE, "node", "state")]
    rest = [pair for pair in facts if pair.name in _OF_NODE]
    cards = node_page.devices_table(node, store, ViewState(), now_seconds)
    on_it = pods.table(store, ViewState(), now_seconds, pods=store.pods_on(node.name))
    return Detail(
        node.name,
        node_cell(stage_at(node, store, now_seconds)).text,
        (
            detail.pairs(first),
            detail.table("GPUs", cards.without("sampled")),  # its seconds grow on an idle page
            detail.table("Pods", on_it),
            detail.pairs(rest),
        ),
    )


def queue_detail(
    row: QueueRow, store: StoreReader, rows: JobReader, now_seconds: float, *, explain: Explain
) -> Detail:
    """Its quota, who holds it and who waits."""
    held = jobs.table(queue_page.holders(row, store, rows), store, ViewState(), now_seconds, explain=explain)
    facts = [pair for pair in queue_page.facts(row) if pair.name not in ("queue", "state")]
    return Detail(
        row.name,
        queues.state_cell(row).text,
        (
            detail.pairs(facts),
            detail.table("Holders", held),
            detail.table("Waiting", queues.waiting_table(store, row, ViewState(), now_seconds)),
        ),
    )


def pool_detail(page: PoolPage) -> Detail:
    """The ladder of the growth under way, size and demand, what would start next, then its other facts."""

    def lines(width: int, height: int) -> list[Line]:
        return pool_page.page_lines(page, width, height) + pair_lines(pool_page.facts(page), width)

    return Detail(f"pool {page.pool.name}", f"{size_text(page.pool)} nodes", (lines,))


def pod_detail(pod: Pod, store: StoreReader, now_seconds: float, why: str = "") -> Detail:
    """What it says of itself, all that the list knows, its events. `why` is the sentence of its job."""
    row = detail.row_pairs(pods.table(store, ViewState(), now_seconds, pods=(pod,)), pod.uid)
    message = pods.message(pod)
    first = [
        *([Pair("why", why, "warn")] if why else []),
        *([Pair("says", message, "warn")] if message else []),
    ]
    found = events.table(store, ViewState(), now_seconds, events=store.events_of(pod.uid))
    return Detail(
        pod.key,
        pod_cell(pod).text,
        (detail.pairs(first), detail.pairs(row[1:]), detail.table("Events, newest first", found)),
    )


def event_detail(event: Event, store: StoreReader, now_seconds: float, about: Detail | None) -> Detail:
    """The whole message, then the detail of the object that it is about."""
    row = detail.row_pairs(events.table(store, ViewState(), now_seconds, events=(event,)), event.uid)
    message = [pair.value for pair in row if pair.name == "message"]
    parts = [detail.text(message), detail.pairs([pair for pair in row if pair.name != "message"])]
    if about is not None:
        parts.append(partial(_under, f"{about.title}  {about.figure}", about.lines))
    return Detail(f"{event.object_kind} {event.object_name}", event.reason, tuple(parts))


def _under(title: str, lines: Callable[[int, int], list[Line]], width: int, height: int) -> list[Line]:
    return [detail.rule(title, width), *lines(width, height - 1)]
