"""The tour of the demo: steps as data (`tour.toml`), each ended by what the cluster and the screen show.

No step ends by time, and none by a key alone: every way that leads to what a step asks for is right.
"""

import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec

from cockpit.model.audit_action import AuditAction
from cockpit.model.job import Job

POOL, MODEL, LEAST_GPUS = "t4", "Tesla-T4", 6
"""Of the default scenario: a pool whose size is set by hand, its GPUs, and more of these than it has."""
MAKES_A_JOB = ("submit", "clone", "recreate")
FORM = "form"


class Sight(NamedTuple):
    """What the tour sees: the page on top (`FORM` for one that makes a job), what its form holds, the newest
    job that was made from here and is there, whether any was made; of the pool the nodes that it is to have,
    was to have before there was that job, and that offer their GPUs."""

    page: str
    values: Mapping[str, str] = {}
    job: Job | None = None
    has_made: bool = False
    nodes: int = 0
    nodes_before: int = 0
    nodes_ready: int = 0


def _gpus(sight: Sight) -> int:
    """GPUs of the form, 0 where its numbers are none yet."""
    texts = [sight.values.get(name, "") for name in ("workers", "gpus")]
    return int(texts[0]) * int(texts[1]) if all(text.isdecimal() for text in texts) else 0


def _runs(sight: Sight) -> bool:
    job = sight.job
    return job is not None and job.state == "running" and job.ready == job.wanted


def _is_overtaken(sight: Sight) -> bool:
    job = sight.job
    lacks = job is not None and job.gpus_allocated < (job.gpus_wanted or 0)
    return lacks and sight.nodes_ready >= sight.nodes > sight.nodes_before


def _is_elsewhere(sight: Sight) -> bool:
    return sight.page == FORM and sight.values.get("gpu-model") != MODEL


CHECKS: Mapping[str, Callable[[Sight], bool]] = {
    "on-jobs": lambda sight: sight.page == "jobs",
    "form": lambda sight: sight.page == FORM,
    "closed": lambda sight: sight.page != FORM,
    "named": lambda sight: bool(sight.values.get("name") and sight.values.get("image")),
    "on-t4": lambda sight: sight.values.get("gpu-model") == MODEL,
    "elsewhere": _is_elsewhere,
    "many": lambda sight: _gpus(sight) >= LEAST_GPUS and not _is_elsewhere(sight),
    "few": lambda sight: sight.page == FORM and 0 < _gpus(sight) < LEAST_GPUS,
    "submitted": lambda sight: sight.job is not None,
    "why": lambda sight: sight.page == "why",
    "off-why": lambda sight: sight.page != "why",
    "grown": lambda sight: sight.nodes > sight.nodes_before,
    "overtaken": _is_overtaken,
    "runs": _runs,
    "gone": lambda sight: sight.has_made and sight.job is None,
}


class TourStep(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A step, as its table says."""

    id: str
    title: str
    says: str
    until: tuple[str, ...]
    astray: Mapping[str, str] = {}
    back: Mapping[str, str] = {}


def load_steps() -> tuple[TourStep, ...]:
    """The steps of the tour."""
    tree = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    return msgspec.convert(tree["step"], tuple[TourStep, ...])


class Tour:
    """Where a person is in the tour."""

    def __init__(self, steps: tuple[TourStep, ...]) -> None:
        self._steps = steps
        self._at = 0
        self._nodes_before = 0

    @property
    def step(self) -> TourStep:
        return self._steps[self._at]

    @property
    def progress(self) -> str:
        """`3 of 11`."""
        return f"{self._at + 1} of {len(self._steps)}"

    def look(self, sight: Sight) -> str:
        """Go on as far as what is seen allows, or back; what to tell then."""
        if sight.job is None:
            self._nodes_before = sight.nodes
        sight = sight._replace(nodes_before=self._nodes_before)
        while any(CHECKS[name](sight) for name in self.step.until):
            self._at += 1
        for name, where in self.step.back.items():
            if CHECKS[name](sight):
                self._at = next(at for at, step in enumerate(self._steps) if step.id == where)
                return self.step.says
        helps = (text for name, text in self.step.astray.items() if CHECKS[name](sight))
        return next(helps, self.step.says)


def made_here(actions: Iterable[AuditAction]) -> tuple[str, ...]:
    """`namespace/name` of each job that was made from here, oldest first."""
    done = (item for item in actions if item.state == "done" and item.verb in MAKES_A_JOB)
    return tuple(item.target.rpartition(" ")[2] for item in done)
