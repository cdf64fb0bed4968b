"""The job page tells what the logs of its members tell: progress, the way to the first step, last words."""

from pathlib import Path

import pytest

from cockpit.jobs.training.record import RunRecord, decoded, encoded
from cockpit.model.job import Job
from cockpit.model.pod import Pod
from cockpit.screens.job import JobScreen
from tests.tui import scripted_logs
from tests.tui.deck import ScriptedApp
from tests.tui.estate import NOW, Estate
from tests.tui.pseudo_terminal import PseudoTerminal
from tests.tui.test_logs import shown, until
from tests.tui.training_estate import StalledApp, TrainingApp

TO_JOB = ("2", "down", "down", "down", "down", "down", "enter")


async def test_progress_and_the_way_to_the_first_step() -> None:
    app = ScriptedApp(Estate())
    async with app.run_test(size=(160, 50)) as pilot:
        seen = await shown(app, pilot, *TO_JOB, has="progress")
        assert "epoch 31/90 · step 1,590/5,005 · 34% · loss 2.154 · 9,919 images/s" in seen
        assert "admitted +2s → first bound +30s → all bound +40s" in seen
        assert "first step before +4h57m" in seen, "the log kept begins at epoch 31"
        assert "4 pods → Job llm-7b-sft-launcher → MPIJob llm-7b-sft" in seen


async def test_pods_that_go_before_their_log_is_read_end_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The page found members; when its log is to be read there are none, as while pods are 404."""
    looks: list[int] = []
    whole = JobScreen._job_and_members

    def seldom(self: JobScreen) -> tuple[Job, tuple[Pod, ...]] | None:
        looked = whole(self)
        looks.append(0)
        return None if looked is None else (looked[0], () if len(looks) == 2 else looked[1])

    monkeypatch.setattr(JobScreen, "_job_and_members", seldom)
    app = ScriptedApp(Estate())
    async with app.run_test(size=(160, 50)) as pilot:
        await shown(app, pilot, *TO_JOB, has="progress")
    assert len(looks) > 2


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


async def test_a_training_shows_its_curves_its_end_its_start_and_the_slow_rank() -> None:
    app = TrainingApp(Estate())
    async with app.run_test(size=(160, 45)) as pilot:
        seen = await shown(app, pilot, *TO_JOB, has="slower")
        assert "epoch 7 · step 12,000/18,000 · 67% · loss 1.926 · 9,890 samples/s · ends 16:" in seen
        assert "loss 1.926 · from 6.664" in seen
        assert "samples/s 9,890 · from 3,974" in seen
        assert "57s (goal 60s): queue 2s · schedule 38s · rendezvous 13s · first step 3s" in seen
        assert "rank 13: 23 % slower before the all-reduce, certain" in seen
        assert "1.12s +23%" in seen, "on the line of the member that holds it"
        assert list(app.attachment.runs.fractions().values()) == [pytest.approx(2 / 3)]
        await pilot.press("x", "x")
        await until(app, lambda text: "◣ slow" in text)


@pytest.mark.parametrize("height", [24, 30, 38, 42, 43, 48])
async def test_few_members_stand_whole_below_the_curves_at_every_height(height: int) -> None:
    app = TrainingApp(Estate())
    async with app.run_test(size=(160, height)) as pilot:
        seen = await shown(app, pilot, *TO_JOB, has="slower")
        assert "1.12s +23%" in seen and all(f"llm-7b-sft-worker-{rank} " in seen for rank in range(3))
        await shown(app, pilot, "e", has="Quota reserved in ClusterQueue research")


async def test_a_run_is_read_on_where_it_was_left() -> None:
    app = TrainingApp(Estate())
    async with app.run_test(size=(160, 45)) as pilot:
        await shown(app, pilot, *TO_JOB, has="slower")
        (key,) = app.attachment.runs.fractions()
        run = app.attachment.runs.of(key)
        assert run is not None
        lines, points = run.lines, len(run.loss)
        await pilot.press("escape")
        await shown(app, pilot, "enter", has="slower")
        assert app.attachment.runs.of(key) is run
        assert (run.lines, len(run.loss), run.restarts) == (lines, points, 0), "no line counts twice"


async def test_a_missing_rank_stands_with_its_last_line_and_no_end_is_promised() -> None:
    app = StalledApp(Estate())
    async with app.run_test(size=(140, 40)) as pilot:
        seen = await shown(app, pilot, *TO_JOB, has="rank 13 missing: the others wait in a collective")
        assert "last line   rank 13: progress step=12000" in seen
        assert "ends 16:" not in seen


async def test_what_the_run_reached_is_kept_on_this_host_and_others_stand_beside_it(tmp_path: Path) -> None:
    app = TrainingApp(Estate(), state_folder=tmp_path)
    history = app.run_history()
    assert history is not None
    before = RunRecord(
        uid="before", namespace="team-a", name="llm-7b-sft-1", kind="MPIJob", gpus=1, nodes=1, at_seconds=NOW,
        rate=500.0, unit="samples/s", start_seconds=41.0,
    )  # fmt: skip
    assert history.keep_training(before.uid, before.at_seconds, encoded(before))
    async with app.run_test(size=(160, 45)) as pilot:
        await shown(app, pilot, *TO_JOB, has="slower")
        await until(app, lambda seen: "57s (p50 49s of 2, 100% within 60s): queue 2s" in seen)
        kept = [one for one in map(decoded, history.trainings()) if one is not None and one.uid != "before"]
        assert [(one.name, one.gpus, one.ranks, one.step) for one in kept] == [("llm-7b-sft", 24, 24, 12_000)]
        assert kept[0].rate == pytest.approx(9_950, rel=0.01)
