"""`cockpit top node|job|gpu`: what works hardest now, once or again and again."""

import argparse
import asyncio
from typing import Any, Final

from cockpit.attach import Attachment, AttachOptions
from cockpit.clock import Clock, SystemClock
from cockpit.commands.attached import Live, attached
from cockpit.commands.document import document_lines, round_lines
from cockpit.commands.get import NEEDS, item, refuse_view, tables, telemetry
from cockpit.commands.get_documents import OF_KIND
from cockpit.commands.output import note, plain, put, table_lines
from cockpit.commands.patience import Sleep, wait_on, within
from cockpit.commands.settings import attach_options, settings_in_force
from cockpit.model.listing import listing
from cockpit.model.quantity import Absent
from cockpit.model.record import Kind
from cockpit.model.right import cannot
from cockpit.views import format as fmt
from cockpit.views.fleet import Fleet, fleet
from cockpit.views.now import fleet_segments
from cockpit.views.view_state import ViewState

KINDS: Final = {"node": ("nodes", "duty"), "job": ("jobs", "gpus"), "gpu": ("gpus", "duty")}
"""What is asked for -> the view behind it, and the column it is ordered by, the largest first."""


def run(options: argparse.Namespace) -> int:
    """Print once, or with --watch until interrupted."""
    chosen = attach_options(options, settings_in_force())
    return asyncio.run(within(options.timeout, watch(options, chosen, SystemClock())))


async def watch(
    options: argparse.Namespace, chosen: AttachOptions, clock: Clock, sleep: Sleep = asyncio.sleep
) -> int:
    """Rounds of one attachment: the lists are read once and then followed."""
    told: tuple[str, ...] = ()
    async with attached(chosen, clock) as live:
        is_first = True
        while True:
            notes = await _round(options, live, clock, is_first=is_first)
            is_first = False
            # a remark that stays is made once
            note(note for note in notes if note not in told)
            told = notes
            if not options.watch:
                return 0
            wait_on()
            await sleep(options.interval)


async def _round(options: argparse.Namespace, live: Live, clock: Clock, *, is_first: bool) -> tuple[str, ...]:
    view, column = KINDS[options.kind]
    notes = await live.settle(NEEDS[view], options.timeout, with_gpus=True)
    state = ViewState(
        filter=options.filter,
        sort=options.sort or column,
        descending=not options.sort or options.descending,
        namespaces=live.attachment.namespaces,
    )
    put(page(options, live.attachment, state, clock.cluster_now(), is_first=is_first))
    return notes


def page(
    options: argparse.Namespace,
    attachment: Attachment,
    state: ViewState,
    now_seconds: float,
    *,
    is_first: bool = True,
) -> list[str]:
    """The lines of one round: the fleet in a line, then the table; as JSON one line a round when watched."""
    view, _ = KINDS[options.kind]
    source = tables()[view](attachment, state, now_seconds)
    refuse_view(source, state)
    count = min(len(source), options.limit) if options.limit else len(source)
    found = fleet(attachment.store) if listing(attachment.store, Kind.NODE).has_all else None
    if options.output == "table":
        lines = table_lines(source) if len(source) else [f"no {view}"]
        # the titles are one line
        shown = lines[: count + 1] if len(source) else lines
        return [sums(found), *shown, *([""] if options.watch else [])]
    tree = {
        "kind": options.kind,
        "context": attachment.session.context if attachment.session else "",
        "at_seconds": now_seconds,
        "telemetry": telemetry(attachment),
        "fleet": None if found is None else plain(_fleet_tree(found)),
        "items": [item(source.row(at), attachment) for at in range(count)],
    }
    if options.watch:
        return round_lines(OF_KIND[options.kind], tree, options.output, is_first=is_first)
    return document_lines(OF_KIND[options.kind], tree, options.output)


def sums(found: Fleet | None) -> str:
    """`46/34 GPUs busy · ... · duty 71% · power 12.4kW · memory 1.2Ti/2.5Ti`; None: nodes are not known."""
    if found is None:
        return f"nodes and GPUs are not known: {cannot('list nodes')}"
    words = [segment.text for segment in fleet_segments(found)]
    if found.watts is not None:
        words.append(f"power {fmt.watts(found.watts)}")
    if found.memory_used_bytes is not None and found.memory_total_bytes is not None:
        words.append(f"memory {fmt.memory_cell(found.memory_used_bytes, found.memory_total_bytes).text}")
    return " · ".join(words) or "no nodes"


def _fleet_tree(found: Fleet) -> dict[str, Any]:
    names = (
        "gpus",
        "busy",
        "idle_allocated",
        "allocated_unknown",
        "free",
        "unseen",
        "lost",
        "joining",
        "shares",
    )
    more = ("shares_allocated", "implausible", "contradicted")
    tree: dict[str, Any] = {name: getattr(found, name) for name in (*names, *more)}
    tree["duty_ratio"] = found.duty.value if isinstance(found.duty, Absent) else found.duty
    tree["power_watts"] = found.watts
    tree["memory_used_bytes"] = found.memory_used_bytes
    tree["memory_total_bytes"] = found.memory_total_bytes
    return tree
