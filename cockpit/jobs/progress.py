"""How far a training run is, read from lines of its log: by the formats of the usual programs, else by the
patterns of its template."""

import re
from collections.abc import Iterable
from typing import Final

import msgspec

from cockpit.jobs.template import ProgressPattern
from cockpit.jobs.training.formats import Told, number_of, told_by
from cockpit.jobs.training.rank_lines import by_rank, prefixed

LONGEST_LINE: Final = 2000
"""Characters of a line that are looked at: a pattern never walks through a line of megabytes."""


class Progress(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What was read so far, None where nothing told it. `rate` is in `rate_unit`, as the log counts."""

    epoch: int | None = None
    epochs: int | None = None
    epoch_ratio: float | None = None  # done of the current epoch, where steps are not told
    step: int | None = None
    steps: int | None = None
    loss: float | None = None
    is_loss_lost: bool = False  # the newest loss is nan or infinite; `loss` is the last that was a number
    rate: float | None = None
    rate_unit: str = ""
    seconds_per_step: float | None = None
    compute_seconds: float | None = None  # of a step, what the rank spent before the all-reduce
    rank: int | None = None  # who told it last
    size: int | None = None  # ranks there are
    is_step_of_run: bool = False  # steps count from the beginning of the run, not of the epoch
    is_epoch_from_zero: bool = False
    is_rate_of_rank: bool | None = None  # the rate of one rank; False: of all together; None: not told
    is_mean_of_run: bool = False  # the rate is the program's own mean of the whole run
    is_any_loop: bool = False  # of a loop without a name: a validation's as well as the run's
    speaker: str = ""  # the word before the line by which a launcher tells who wrote it

    @property
    def fraction(self) -> float | None:
        """Done so far, 0 to 1, None where the end is not known.

        Epochs count as done when the next one begins; steps refine the current one where both are known.
        """
        if self.is_step_of_run and self.steps and self.step is not None:
            return _ratio(self.step, self.steps)
        if self.epochs and self.epoch is not None:
            within = self.epoch_ratio or 0.0
            if self.step is not None and self.steps and not self.is_step_of_run:
                within = self.step / self.steps
            # Logs count the running epoch from 1; epoch 0 tells that this one counts from 0.
            counts_from_one = within and not self.is_epoch_from_zero
            before = max(0, self.epoch - 1) if counts_from_one else self.epoch
            return _ratio(before + within, self.epochs)
        if self.steps and self.step is not None and self.epoch is None:
            return _ratio(self.step, self.steps)
        return None

    @property
    def is_empty(self) -> bool:
        """True when no line told anything."""
        return self == Progress()

    @property
    def has_moved(self) -> bool:
        """True when it tells of a step or an epoch."""
        return self.step is not None or self.epoch is not None


def fraction_done(progress: Progress | None) -> float | None:
    """Done so far, 0 to 1; None where nothing was read, or the end is not known."""
    return None if progress is None else progress.fraction


def _ratio(done: float, whole: int) -> float:
    return min(1.0, max(0.0, done / whole))


class Patterns:
    """The patterns of one template, compiled once."""

    def __init__(self, patterns: Iterable[ProgressPattern]) -> None:
        self._patterns = tuple((re.compile(item.pattern), item.unit) for item in patterns)

    def read(self, line: str, so_far: Progress = Progress()) -> Progress:  # noqa: B008 (frozen)
        """What is known after this line; `so_far` itself where it tells nothing.

        A new epoch restarts its steps. Numbers that are none (nan, words) are left out.
        """
        rank, text = by_rank(line[:LONGEST_LINE])
        told = None
        for rest in prefixed(text):
            told = told_by(rest.text)
            if told is not None:
                rank = rest.rank if rank is None else rank
                told = {**told, "speaker": rest.speaker} if told else told
                break
        if told is None:
            told = told_by(text)
        if told is None:
            told = self._told(text)
        if not told:
            return so_far
        if rank is not None:
            told["rank"] = rank
        is_new_epoch = so_far.epoch is not None and told.get("epoch", so_far.epoch) != so_far.epoch
        if is_new_epoch and so_far.step is not None and "step" not in told and not so_far.is_step_of_run:
            told["step"] = 0
        if is_new_epoch:
            told.setdefault("epoch_ratio", 0.0)
        if "rate" in told:
            told.setdefault("is_mean_of_run", False)
            told.setdefault("is_rate_of_rank", None)
        if "step" in told:
            told.setdefault("is_any_loop", False)
        told.setdefault("speaker", "")
        known = {name: getattr(so_far, name) for name in Progress.__struct_fields__}
        return msgspec.convert({**known, **told}, Progress)

    def read_all(self, lines: Iterable[str], so_far: Progress = Progress()) -> Progress:  # noqa: B008 (frozen)
        """What is known after all lines."""
        for line in lines:
            so_far = self.read(line, so_far)
        return so_far

    def _told(self, text: str) -> Told:
        """By the template's own patterns, each of them."""
        told: Told = {}
        for pattern, unit in self._patterns:
            found = pattern.search(text)
            for group, word in found.groupdict().items() if found is not None else ():
                number = number_of(group, word)
                if number is not None:
                    told[group] = number
                    if group == "loss":
                        told["is_loss_lost"] = False
                    if group == "rate":
                        told["rate_unit"] = unit
        return told
