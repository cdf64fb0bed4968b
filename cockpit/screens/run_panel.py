"""Loss and throughput of a training run on the page of its job, and its slow or missing ranks."""

from collections.abc import Sequence

from cockpit_widgets.flow_text import FLOW_CSS, FlowText
from cockpit_widgets.pair_layout import pair_lines
from cockpit_widgets.types import Line, Pair

from cockpit.views.run_curves import MIDDLE_LINES, SHORT_LINES, TALL_LINES, RunCurves, curve_lines

MIDDLE_HEIGHT, TALL_HEIGHT = 38, 48
"""Of the terminal, from which on charts take the place of lines, and more of it."""
MOST_SAID_SHORT, MOST_SAID = 2, 8
"""Lines about ranks, in a low terminal and else."""


class RunPanel(FlowText):
    """Hidden while there is nothing to draw and no rank to name."""

    DEFAULT_CSS = (
        "RunPanel { display: none; padding: 0 1;" + FLOW_CSS + "} RunPanel.shown { display: block; }"
    )

    def __init__(self) -> None:
        super().__init__(id="curves")
        self._shown: tuple[RunCurves, tuple[Pair, ...], int] = (RunCurves(), (), 0)

    def set_run(self, curves: RunCurves, said: Sequence[Pair], height: int) -> None:
        """Show these on a page of this height; the same ones again cost nothing."""
        wanted = (curves, tuple(said), height)
        if wanted != self._shown:
            self._shown = wanted
            self.set_class(curves.is_drawn or bool(said), "shown")
            self.reflow()

    def flow(self, width: int) -> list[Line]:
        curves, said, height = self._shown
        most = SHORT_LINES if height < MIDDLE_HEIGHT else MIDDLE_LINES if height < TALL_HEIGHT else TALL_LINES
        told = pair_lines(said, width)
        return (
            curve_lines(curves, width, most)
            + told[: MOST_SAID_SHORT if height < MIDDLE_HEIGHT else MOST_SAID]
        )
