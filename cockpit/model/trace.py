"""What a job's cards and pods did over the last hours: the facts by which idle is told from waiting."""

from collections.abc import Mapping

import msgspec

Line = tuple[float | None, ...]
"""A value a step, the oldest first; None where nothing was measured, () if it is not collected."""


class CardTrace(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """One card under its present holder. `duty` is 0..1, the highest of each step; it is sampled at moments,
    `engine` is the mean over the exporter's interval. `energy_joules` counts since the driver was loaded:
    what it grows by between two points was drawn between them."""

    uuid: str
    duty: Line = ()
    engine: Line = ()
    energy_joules: Line = ()
    memory_bytes: Line = ()
    power_watts: Line = ()


class PodTrace(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Usage of one pod without its cards: mean rates of each step, disk and network in bytes a second."""

    uid: str
    key: str = ""  # namespace/name
    cpu_cores: Line = ()
    receive: Line = ()
    transmit: Line = ()
    disk_read: Line = ()
    disk_write: Line = ()


class PodLines(msgspec.Struct, frozen=True, kw_only=True):
    """What is remembered of some pods until `end_seconds`: by uid their cards, and their other usage."""

    end_seconds: float
    step_seconds: float
    cards: Mapping[str, tuple[CardTrace, ...]] = {}
    pods: Mapping[str, PodTrace] = {}


class Trace(msgspec.Struct, frozen=True, kw_only=True):
    """All lines of one job on one grid: as many points each, the last one taken at `end_seconds`.

    `started_seconds` is when the youngest of its containers started, None where that is not known;
    `coming` are members that have yet to start; `progress_seconds` when its log last told a step, None where
    it is not read. `is_whole` is False where a card or pod of the job has no lines here.
    """

    end_seconds: float
    step_seconds: float
    cards: tuple[CardTrace, ...]
    pods: tuple[PodTrace, ...]
    started_seconds: float | None = None
    coming: int = 0
    progress_seconds: float | None = None
    is_whole: bool = True
