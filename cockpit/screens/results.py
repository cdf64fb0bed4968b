"""What became of each job after one verb on many, when not all of it was done."""

from collections.abc import Sequence
from typing import ClassVar

from cockpit_widgets.types import Tone, ToneLine
from textual.binding import BindingType

from cockpit.actions.execute.bulk_plan import Result
from cockpit.screens.keymap import EVERYWHERE, bindings
from cockpit.screens.text import TextScreen

_MARKS: dict[str, tuple[str, Tone]] = {
    "done": ("✓", "good"),
    "unchanged": ("✓", "good"),
    "refused": ("×", "bad"),
    "failed": ("×", "bad"),
    "unknown": ("▲", "warn"),
}
_NAMING = ("done", "unchanged")


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
        told = sorted(self._results, key=lambda one: one.outcome.state in ("done", "unchanged"))
        lines = [_line(item) for item in told]
        at = sum(item.outcome.state not in ("done", "unchanged") for item in told)
        left_out = (ToneLine(f"- left out: {sentence}", "warn") for sentence in self._left_out)
        self.tell([*lines[:at], *left_out, *lines[at:]])


def _line(result: Result) -> ToneLine:
    """What was done, or was answered by the server, names its object in its sentence."""
    outcome = result.outcome
    mark, tone = _MARKS[outcome.state]
    is_named = outcome.state in _NAMING or outcome.refusal is not None
    return ToneLine(
        f"{mark} {outcome.sentence}" if is_named else f"{mark} {result.name}: {outcome.sentence}", tone
    )
