"""Two runs beside each other: scaling efficiency, overhead, and what a million samples cost."""

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from cockpit.errors import BadInput
from cockpit.jobs.training.record import RunRecord

_NUMBER: Final = re.compile(r"[-_.]?[0-9]+(?:-?gpus?|-?nodes?)?$")


class Comparison(NamedTuple):
    """Of a run against its baseline, as ratios: 0.9 is 90 %. `efficiency` is the share of the baseline's rate
    of a GPU that is left; `overhead` what is lost of the whole rate, where both have as many GPUs."""

    efficiency: float
    overhead: float | None
    speedup: float


def compared(baseline: RunRecord, run: RunRecord) -> Comparison:
    """Raises BadInput where the two cannot be compared, with what is missing."""
    names = f"{baseline.label} and {run.label}"
    for item in (baseline, run):
        if not item.rate:
            raise BadInput(
                f"{item.label} reported no throughput yet: read its log (cockpit job logs {item.label})"
            )
    if baseline.unit != run.unit:
        raise BadInput(f"{names} count {baseline.unit} and {run.unit}: compare runs of one program")
    if baseline.seat != run.seat:
        raise BadInput(f"one of {names} ran without GPUs: compare runs on the same kind")
    assert baseline.rate and run.rate
    speedup = run.rate / baseline.rate
    efficiency = speedup * baseline.seats / run.seats
    return Comparison(efficiency, 1.0 - speedup if run.seats == baseline.seats else None, speedup)


def baseline_of(run: RunRecord, known: Iterable[RunRecord]) -> RunRecord | None:
    """The run on the fewest GPUs that is alike: of the same namespace and unit, and of the same name but for
    the number at its end; fewer GPUs than this one has. Of several the newest."""
    alike = [
        item
        for item in known
        if item.rate and item.namespace == run.namespace and item.unit == run.unit and item.seat == run.seat
        if item.seats < run.seats and _stem(item.name) == _stem(run.name)
    ]
    return min(alike, key=lambda one: (one.seats, -one.at_seconds), default=None)


def _stem(name: str) -> str:
    return _NUMBER.sub("", name) or name


def gpu_hours_per_million(record: RunRecord) -> float | None:
    """GPU-hours for a million samples (or units of its rate); None without GPUs or rate."""
    if not record.rate or not record.gpus or not record.unit.endswith("/s"):
        return None
    return record.gpus * 1e6 / record.rate / 3_600
