"""The idle jobs of a pool given back by key: the choice, what is read of each before yes, and what of it is
remembered and told on the pool's page."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from cockpit_widgets import ChoiceDialog

from cockpit.local_state.history import LocalHistory
from cockpit.model.batch import Batch
from cockpit.model.job import RECLAIM_AT, RECLAIM_BY, RECLAIM_DUE, ReclaimMark
from cockpit.model.record import Kind
from tests.tui.deck import settle, until
from tests.tui.estate import NOW, Estate
from tests.tui.idle_app import IdleJobApp
from tests.tui.looking import flat

JOB = "/apis/kubeflow.org/v2beta1/namespaces/team-b/mpijobs/asr-large"
NOTES = {RECLAIM_AT: "2026-09-21T13:30:00Z", RECLAIM_DUE: "2026-09-21T13:45:00Z", RECLAIM_BY: "bob@bastion"}
"""The estate stands at 14:13:20 that day, and the job has idled since 13:25."""


class MarkedJobApp(IdleJobApp):
    """Before the same job, which was marked half an hour ago, and is due."""

    def __init__(self, estate: Estate | None, **options: Any) -> None:
        super().__init__(estate, **options)
        store = self.attachment.store
        (one,) = (one for one in store.records(Kind.MPIJOB).values() if one.name == "asr-large")
        marked = msgspec.structs.replace(one, reclaim=ReclaimMark(NOW - 1_700, "bob@bastion"))
        store.apply(Batch(kind=Kind.MPIJOB, changed=(marked,)))
        self.attachment.jobs.catch_up()
        session: Any = self.attachment.session
        before = session.request

        async def request(method: str = "", path: str = "", *more: Any, **options: Any) -> Any:
            found = await before(method, path, *more, **options)
            if method == "GET" and path == JOB:
                tree = found.json()
                notes = {**tree, "metadata": {**tree["metadata"], "annotations": NOTES}}
                found.json = lambda: notes
            return found

        session.request = request


async def test_the_choice_the_sweep_the_history_and_the_line_of_the_pool(tmp_path: Path) -> None:
    app = MarkedJobApp(Estate(), write=True, place="pools", state_folder=tmp_path)
    async with app.run_test(size=(160, 45)) as pilot:
        await settle(pilot)
        assert "a100" in flat(app)
        app.screen.set_sort("name", descending=False)  # type: ignore[attr-defined]
        await pilot.press("home", "R")
        await until(app, pilot, lambda: isinstance(app.screen, ChoiceDialog))
        assert "1 idle job" in flat(app) and "idle nodes" in flat(app)
        await pilot.press(*"job", "enter")
        await until(app, pilot, lambda: "server: the cluster would accept it" in flat(app))
        shown = flat(app)
        for part in (
            "Reclaim 1 job",
            "it holds 8 GPUs",
            "owners: barbara (1)",
            "team-b/asr-large: suspend it; 8 GPUs idle for 78 min, 10.4 GPU-hours, $41.6",
            "cockpit pool reclaim a100 --jobs",
        ):
            assert part in shown, part
        assert app.sent == []
        await pilot.press("y")
        await until(
            app, pilot, lambda: bool(app.pool_watch.reclaims("MachineDeployment.cluster.x-k8s.io/fleet/a100"))
        )
        mark, suspend = app.sent
        assert mark == f"PATCH {JOB}" and suspend.endswith("/workloads/mpijob-asr-large-1a2b3")
        await pilot.press("enter")
        await until(app, pilot, lambda: "1 job in 7 days" in flat(app))
        history = app.run_history()
        assert isinstance(history, LocalHistory)
        await until(app, pilot, lambda: bool(history.reclaims()))
        (kept,) = history.reclaims()
        assert kept.what == "mpijob team-b/asr-large" and kept.gpu_hours == pytest.approx(10.4)
