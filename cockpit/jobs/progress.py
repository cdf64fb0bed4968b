"""How far a training run is, read from lines of its log by the patterns of its template."""

import math
import re
from collections.abc import Iterable
from typing import Final

import msgspec

from cockpit.jobs.template import ProgressPattern

LONGEST_LINE: Final = 2000
"""Characters of a line that are looked at: a pattern never walks through a line of megabytes."""


class Progress(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What was read so far, None where nothing told it. `rate` is in `rate_unit`, as the log counts."""

    epoch: int | None = None
    epochs: int | None = None
    step: int | None = None
    steps: int | None = None
    loss: float | None = None
    rate: float | None = None
    rate_unit: str = ""

    @property
    def fraction(self) -> float | None:
        """Done so far, 0 to 1, None where the end is not known.

        Epochs count as done when the next one begins; steps refine the current one where both are known.
        """
        if self.epochs and self.epoch is not None:
            within = self.step / self.steps if self.step is not None and self.steps else 0.0
            # Logs count the running epoch from 1; epoch 0 tells that this one counts from 0.
            before = max(0, self.epoch - 1) if within else self.epoch
            return min(1.0, max(0.0, (before + within) / self.epochs))
        if self.steps and self.step is not None:
            return min(1.0, max(0.0, self.step / self.steps))
        return None

    @property
    def is_empty(self) -> bool:
        """True when no line told anything."""
        return self == Progress()


class Patterns:
    """The patterns of one template, compiled once."""

    def __init__(self, patterns: Iterable[ProgressPattern]) -> None:
        self._patterns = tuple((re.compile(one.pattern), one.unit) for one in patterns)

    def read(self, line: str, so_far: Progress = Progress()) -> Progress:  # noqa: B008 (frozen)
        """What is known after this line; `so_far` itself where it tells nothing.

        A new epoch begins its steps anew. Numbers that are none (nan, words) are left out.
        """
        line = line[:LONGEST_LINE]
        told: dict[str, int | float | str] = {}
        for pattern, unit in self._patterns:
            found = pattern.search(line)
            for group, text in found.groupdict().items() if found is not None else ():
                number = _number(group, text)
                if number is not None:
                    told[group] = number
                    if group == "rate":
                        told["rate_unit"] = unit
        if not told:
            return so_far
        if (
            "step" not in told
            and so_far.epoch is not None
            and told.get("epoch", so_far.epoch) != so_far.epoch
        ):
            told["step"] = 0
        known = {name: getattr(so_far, name) for name in Progress.__struct_fields__}
        return msgspec.convert({**known, **told}, Progress)

    def read_all(self, lines: Iterable[str], so_far: Progress = Progress()) -> Progress:  # noqa: B008 (frozen)
        """What is known after all lines."""
        for line in lines:
            so_far = self.read(line, so_far)
        return so_far


def _number(group: str, text: str | None) -> int | float | None:
    if text is None:
        return None
    text = text.replace(",", "").replace("_", "")
    try:
        if group in ("epoch", "epochs", "step", "steps"):
            return int(text) if text.isascii() and len(text) <= 18 else None
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
