"""What became of each job after one verb on many, when not all of it was done."""

from collections.abc import Sequence
from typing import ClassVar

from cockpit_widgets.types import Tone
from textual.binding import BindingType

from cockpit.actions.sweep import Result
from cockpit.screens.keymap import EVERYWHERE, bindings
from cockpit.screens.text import TextScreen

_GLYPHS = {"done": "✓", "unchanged": "✓", "refused": "×", "failed": "×"}


class ResultsScreen(TextScreen):
    """One line a job: first those that were not done, then those left out, then the rest."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings("back", *EVERYWHERE[1:])]

    def __init__(self, verb: str, results: Sequence[Result], left_out: Sequence[str] = ()) -> None:
        super().__init__()
        self._verb = verb
        self._results = results
        self._left_out = left_out

    @property
    def heading(self) -> str:
        return f"{self._verb}: results"

    def on_mount(self) -> None:
        super().on_mount()
        told = sorted(self._results, key=lambda one: one.outcome.state in ("done", "unchanged"))
        lines = [f"{_GLYPHS[one.outcome.state]} {one.name}: {one.outcome.sentence}" for one in told]
        at = sum(one.outcome.state not in ("done", "unchanged") for one in told)
        self.put([*lines[:at], *(f"- left out: {sentence}" for sentence in self._left_out), *lines[at:]])

    def tone_of(self, line: str) -> Tone:
        return "bad" if line.startswith("×") else "warn" if line.startswith("-") else "good"
