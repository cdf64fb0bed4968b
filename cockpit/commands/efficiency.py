"""`cockpit job efficiency BASELINE RUN`: what a run makes of its GPUs beside another one."""

import argparse
import asyncio
import os
from collections.abc import Iterable
from typing import Any, Literal

from cockpit.actions.find import job_named
from cockpit.actions.record_run import kept_in_cluster, read_run
from cockpit.attach import AttachOptions
from cockpit.clock import SystemClock
from cockpit.commands.attached import Live, attached
from cockpit.commands.document import OutputDocument, document_lines
from cockpit.commands.output import note, plain, put
from cockpit.commands.patience import within
from cockpit.commands.settings import attach_options, settings_in_force
from cockpit.jobs.template import load_library
from cockpit.jobs.training.efficiency import Comparison, compared, gpu_hours_per_million
from cockpit.jobs.training.record import RunRecord, decoded, encoded, record_of
from cockpit.local_state.history import LocalHistory, history_path
from cockpit.local_state.paths import state_folder
from cockpit.model.namespaces import Namespaces
from cockpit.model.record import Kind

KINDS = (Kind.POD, Kind.JOB, Kind.MPIJOB, Kind.NODE)


class RunItem(RunRecord, frozen=True, kw_only=True):
    """A run, with its GPU-hours per million of what it counts."""

    gpu_hours_per_million: float | None


class EfficiencyDocument(OutputDocument, kw_only=True):
    """`cockpit job efficiency`. `overhead_ratio` is null where the runs have different numbers of GPUs."""

    kind: Literal["efficiency"]
    baseline: RunItem
    run: RunItem
    efficiency_ratio: float
    overhead_ratio: float | None
    speedup: float


def run(options: argparse.Namespace) -> int:
    """Print both runs and what the second makes of the first."""
    settings = settings_in_force()
    return asyncio.run(within(options.timeout, _run(options, attach_options(options, settings))))


async def _run(options: argparse.Namespace, chosen: AttachOptions) -> int:
    async with attached(chosen, SystemClock()) as live:
        note(await live.settle(KINDS, options.timeout))
        history = _history(live)
        baseline = await _found(live, options.baseline, chosen.namespaces, history)
        other = await _found(live, options.run, chosen.namespaces, history)
        if history.note:
            note([history.note])
    found = compared(baseline, other)
    if options.output != "table":
        put(document_lines(EfficiencyDocument, _tree(baseline, other, found), options.output))
        return 0
    put(lines(baseline, other, found))
    note(remarks((baseline, other)))
    return 0


def _history(live: Live) -> LocalHistory:
    attachment = live.attachment
    assert attachment.session is not None
    context = attachment.session.context
    return LocalHistory(history_path(state_folder(os.environ), context, attachment.session.server))


async def _found(live: Live, text: str, namespaces: Namespaces, history: LocalHistory) -> RunRecord:
    """The run that is meant: of a job that is there by its log, else as it was kept there or here."""
    attachment = live.attachment
    jobs = attachment.jobs.jobs.values()
    kept: list[RunRecord] = []
    if any(_is_meant(job.namespace, job.name, job.kind, text, namespaces) for job in jobs):
        job = job_named(jobs, text, namespaces)
        library = await asyncio.to_thread(load_library, settings_in_force().template_folders)
        session, members = attachment.connected(), attachment.jobs.members(job.key)
        training = await read_run(session, job, members, library.templates.values())
        record = record_of(training, job, attachment.clock.cluster_now())
        if record.rate:
            await asyncio.to_thread(history.keep_training, job.uid, record.at_seconds, encoded(record))
            return record
        kept = [record]
    known = [item for item in map(decoded, await asyncio.to_thread(history.trainings)) if item is not None]
    known += await kept_in_cluster(attachment.connected(), namespaces.only or _namespace_in(text))
    kept += [item for item in known if _is_meant(item.namespace, item.name, item.kind, text, namespaces)]
    if not kept:
        job_named(jobs, text, namespaces)  # raises: it says which names are near
    return max(kept, key=lambda one: (one.rate is not None, one.at_seconds))


def _namespace_in(text: str) -> str:
    words = text.split("/")
    return words[-2] if len(words) > 1 else ""


def _is_meant(of_namespace: str, name: str, kind: str, text: str, namespaces: Namespaces) -> bool:
    """Whether `text` (name, namespace/name or kind/namespace/name) names it."""
    own = (kind.lower(), of_namespace, name)
    words = text.strip().split("/")
    if len(words) == 1 and of_namespace not in namespaces:
        return False
    if len(words) == 3:
        words[0] = words[0].lower()
    return len(words) <= 3 and tuple(words) == own[-len(words) :]


# ---- in words


def lines(baseline: RunRecord, other: RunRecord, found: Comparison) -> list[str]:
    """Both runs as columns, then the sentences."""
    rows: list[tuple[str, str, str]] = [("", baseline.label, other.label)]
    rows.append((f"{other.seat}s", f"{baseline.seats:,}", f"{other.seats:,}"))
    rows.append((baseline.unit, _rate(baseline), _rate(other)))
    each = (f"{item.rate / item.seats:,.1f}" if item.rate else "?" for item in (baseline, other))
    rows.append((f"{baseline.unit} per {other.seat}", *each))  # type: ignore[arg-type]
    hours = [gpu_hours_per_million(item) for item in (baseline, other)]
    if all(item is not None for item in hours):
        work = baseline.unit.removesuffix("/s")
        rows.append((f"GPU-hours per million {work}", *(f"{item:.3g}" for item in hours)))  # type: ignore[arg-type]
    widths = [max(len(row[at]) for row in rows) for at in range(3)]
    drawn = [f"{row[0]:<{widths[0]}}  {row[1]:>{widths[1]}}  {row[2]:>{widths[2]}}" for row in rows]
    return [*drawn, "", *sentences(baseline, other, found)]


def _rate(one: RunRecord) -> str:
    return "?" if one.rate is None else f"{one.rate:,.1f} ±{one.deviation:,.1f}"


def sentences(baseline: RunRecord, other: RunRecord, found: Comparison) -> list[str]:
    """The efficiency, and the overhead where both have as many GPUs."""
    seats = f"{other.seats:,} {other.seat}{'s' if other.seats != 1 else ''} against {baseline.seats:,}"
    if found.overhead is not None:
        word = "overhead" if found.overhead >= 0 else "gain"
        return [
            f"{word} {abs(100 * found.overhead):.1f} % of {other.label} against {baseline.label}, {seats}"
        ]
    percent, faster = f"{100 * found.efficiency:.1f} %", f"{found.speedup:.2f} times as fast"
    return [f"scaling efficiency {percent} of {other.label} against {baseline.label}, {seats} ({faster})"]


def remarks(records: Iterable[RunRecord]) -> list[str]:
    """What was taken for granted."""
    return [
        f"{record.label}: its log does not show whether {record.unit} are of one rank or of all; all assumed"
        for record in records
        if record.is_rate_assumed
    ]


def _tree(baseline: RunRecord, other: RunRecord, found: Comparison) -> dict[str, Any]:
    """For programs. `overhead_ratio` is null where the runs have not as many GPUs."""
    return {
        "kind": "efficiency",
        "baseline": {**plain(baseline), "gpu_hours_per_million": gpu_hours_per_million(baseline)},
        "run": {**plain(other), "gpu_hours_per_million": gpu_hours_per_million(other)},
        "efficiency_ratio": found.efficiency,
        "overhead_ratio": found.overhead,
        "speedup": found.speedup,
    }
