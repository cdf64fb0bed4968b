"""The title line of a panel: title left, figure right, the figure gives way."""

import pytest
from cockpit_widgets.titled_panel import ruled


@pytest.mark.parametrize(
    ("width", "wanted"),
    [(24, "New job ───────── 2 left"), (16, "New job ─ 2 left"), (15, "New job"), (5, "New …")],
)
def test_the_title_stays_and_the_figure_goes_first(width: int, wanted: str) -> None:
    assert ruled("New job", "2 left", width) == wanted


def test_without_a_figure_the_title_stands_alone() -> None:
    assert ruled("What will happen", "", 40) == "What will happen"
