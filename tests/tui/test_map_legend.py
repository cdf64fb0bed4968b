"""The legend under the fleet: whole at every size and for every quantity, and the sums over the fleet."""

import pytest

from cockpit.views.heatmap import Metric
from tests.tui import looking
from tests.tui.deck import ScriptedApp, settle
from tests.tui.estate import Estate


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
async def test_every_quantity_has_its_whole_legend(size: tuple[int, int]) -> None:
    app = ScriptedApp(Estate())
    async with app.run_test(size=size) as pilot:
        for metric in Metric:
            await settle(pilot)
            drawn = looking.lines(app)
            assert f"Fleet by {metric.value}" in looking.text(app)
            begin = next(at for at, line in enumerate(drawn) if "one cell per " in line)
            is_one_line = any(word in drawn[begin] for word in ("shade:", "owner:", "priority,"))
            end = begin + (1 if is_one_line else 2)
            legend = "   ".join(line.strip() for line in drawn[begin:end])
            assert "· free  × lost  ? n/c  ~ stale" in legend
            wanted = {Metric.OWNER: "owner: ", Metric.PRIORITY: "priority, lowest first: "}
            assert wanted.get(metric, "shade: ") in legend
            assert "…" not in legend, legend
            await pilot.press("m")


async def test_the_sums_beside_the_title_are_dropped_whole_where_there_is_no_room() -> None:
    app = ScriptedApp(Estate())
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        for metric in Metric:
            title = next(line for line in looking.lines(app) if f"Fleet by {metric.value}" in line).rstrip()
            assert not title.rstrip(" ─").endswith(("·", "…")), title
            assert " · " in title, "what fits stands there"
            await pilot.press("m")
            await settle(pilot)
