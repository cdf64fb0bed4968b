"""An idle job given back by key: what is read before yes, at both ends of the sizes, and what is sent."""

from pathlib import Path

from tests.tui.deck import settle, until
from tests.tui.estate import Estate
from tests.tui.idle_app import IdleJobApp
from tests.tui.looking import flat
from tests.tui.test_growing_a_pool import EACH

FOUND = ("slash", *"asr-large", "enter", "R")


@EACH
async def test_the_plan_names_what_was_seen_the_owner_the_money_and_the_way_back(
    size: tuple[int, int], tmp_path: Path
) -> None:
    app = IdleJobApp(Estate(), write=True, place="jobs", state_folder=tmp_path)
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        await pilot.press(*FOUND)
        await until(app, pilot, lambda: "server: the cluster would accept it" in flat(app))
        shown = flat(app)
        for part in (
            "Reclaim mpijob team-b/asr-large: mark it",
            "nothing ends yet",
            "8 GPUs at 0% duty, no CPU, network or disk for 78 min",
            "owner: barbara",
        ):
            assert part in shown, part
        assert app.sent == []
        await pilot.press("y")
        await until(app, pilot, lambda: bool(app.sent))
        assert app.sent == ["PATCH /apis/kubeflow.org/v2beta1/namespaces/team-b/mpijobs/asr-large"]


async def test_a_job_that_reads_data_is_not_offered_and_says_why(tmp_path: Path) -> None:
    app = IdleJobApp(Estate(), write=True, place="jobs", state_folder=tmp_path)
    app.is_at_work = True
    async with app.run_test(size=(160, 45)) as pilot:
        await settle(pilot)
        await pilot.press(*FOUND)
        await until(app, pilot, lambda: bool(app._notifications))
        (said,) = app._notifications
        assert "it is not idle: disk was busy a moment ago" in said.message
        assert app.sent == []
