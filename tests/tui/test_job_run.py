"""The job page tells what the logs of its members tell: progress, the way to the first step, last words."""

import pytest

from tests.tui import scripted_logs
from tests.tui.deck import ScriptedApp
from tests.tui.estate import NOW, Estate
from tests.tui.pseudo_terminal import PseudoTerminal
from tests.tui.test_logs import shown, until

TO_JOB = ("2", "down", "down", "down", "down", "down", "enter")


async def test_progress_and_the_way_to_the_first_step() -> None:
    app = ScriptedApp(Estate())
    async with app.run_test(size=(160, 50)) as pilot:
        seen = await shown(app, pilot, *TO_JOB, has="progress")
        assert "epoch 31/90 · step 1,590/5,005 · 34% · loss 2.154 · 9,919 images/s" in seen
        assert "admitted +2s → first bound +30s → all bound +40s" in seen
        assert "first step before +4h57m" in seen, "the log kept begins at epoch 31"
        assert "4 pods → Job llm-7b-sft-launcher → MPIJob llm-7b-sft" in seen


async def test_a_log_that_cannot_be_read_is_told_where_progress_would_stand() -> None:
    app = ScriptedApp(Estate())
    session = app.attachment.session
    assert session is not None
    session.stream = scripted_logs.refuse  # type: ignore[method-assign] # its kubelet is out
    async with app.run_test(size=(160, 50)) as pilot:
        await pilot.press(*TO_JOB)
        await until(
            app, lambda seen: "No log of team-a/llm-7b-sft-launcher-x7k2p: the kubelet is out" in seen
        )


async def test_who_failed_and_its_last_words() -> None:
    estate = Estate()
    pods = estate.records["pods"]
    at = next(n for n, one in enumerate(pods) if getattr(one, "name", "") == "llm-7b-sft-worker-2")
    failed = scripted_logs.changed(
        pods[at], phase="Failed", exit_code=1, terminated_reason="Error", finished_seconds=NOW - 60
    )
    pods[at] = failed
    app = ScriptedApp(estate)
    async with app.run_test(size=(160, 50)) as pilot:
        seen = await shown(app, pilot, "2", "slash", *"llm-7b-sft", "enter", "enter", has="last output")
        assert "1: worker-2" in seen
        assert "worker 2: OSError: [Errno 116] Stale file handle: '/data/train/n01440764'" in seen


@pytest.mark.parametrize("size", [(80, 24), (200, 60)], ids=["80x24", "200x60"])
def test_in_a_terminal(size: tuple[int, int]) -> None:
    with PseudoTerminal(["-m", "tests.tui.scripted", "--place", "jobs"], size) as terminal:
        terminal.shows("team-a/llm-7b-sft", "l logs")
        terminal.press("down", "down", "down", "down", "down", "enter")
        terminal.shows("Members by rank", "epoch 31/90", "loss 2.154")
        terminal.press("ctrl+c")
        assert terminal.ends() == 0
