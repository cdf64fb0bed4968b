"""Rank by device: every GPU of every member, and who lags behind."""

from cockpit_widgets.types import Cell

from cockpit.model.gpu import Mark
from cockpit.model.pod import Pod
from cockpit.model.quantity import Absent
from cockpit.store.store import Store
from cockpit.views import job_grid, job_page
from cockpit.views.view_state import ViewState
from tests.unit.views.builders import NOW, card, node, pod, store


def job() -> Store:
    return store(
        node(gpus=8),
        pod("w-0", gpus=2, rank=0, role="worker"),
        pod("w-1", gpus=2, rank=1, role="worker"),
        pod("w-2", gpus=1, rank=2, role="worker"),
        pod("w-3", gpus=1, rank=3, role="worker", phase="Succeeded"),
        card(0, "w-0", duty=0.92),
        card(1, "w-0", duty=0.94),
        card(2, "w-1", duty=0.93),
        card(3, "w-1", duty=0.41, throttle=0x40),
    )


def the_pod(made: Store) -> Pod:
    found = made.by_key("pods", "team-a/w-0")
    assert isinstance(found, Pod)
    return found


def shown(made: Store) -> list[dict[str, Cell]]:
    members = [made.by_key("pods", f"team-a/w-{at}") for at in range(4)]
    table = job_grid.table([one for one in members if one is not None], made, ViewState(), NOW)
    ids = [one.id for one in table.columns]
    return [dict(zip(ids, table.cells(at), strict=True)) for at in range(len(table))]


def test_a_row_for_each_device_of_each_member_that_holds_any() -> None:
    rows = shown(job())
    assert [(one["rank"].text, one["gpu"].text, one["duty"].text) for one in rows] == [
        ("worker 0", "0", "92%"),
        ("worker 0", "1", "94%"),
        ("worker 1", "2", "93%"),
        ("worker 1", "3", "▼ 41%"),
        ("worker 2", "?", "n/c"),
    ]
    assert rows[3]["health"] == Cell("▲ throttled", "warn")
    assert rows[4]["mark"].text == "n/c"


def test_keys_are_of_the_device_and_lead_to_the_member() -> None:
    made = job()
    keys = [row.key for row in job_grid.rows([the_pod(made)], made)]
    assert keys == ["uid-w-0/GPU-gpu-1-0", "uid-w-0/GPU-gpu-1-1"]
    assert {job_grid.pod_uid(key) for key in keys} == {"uid-w-0"}


def test_nobody_lags_where_there_is_no_crowd() -> None:
    assert job_grid.usual_duty([card(0, "w", duty=0.9), card(1, "w", duty=0.1)]) is None
    assert not job_grid.lags(0.1, None)
    assert not job_grid.lags(Absent.STALE, 0.9)
    assert job_grid.lags(0.5, 0.9)


def test_a_member_shows_a_glyph_for_each_of_its_devices() -> None:
    made = store(
        node(gpus=2),
        pod("w-0", gpus=2),
        card(0, "w-0", duty=1.0),
        card(1, "w-0", duty=Absent.STALE, mark=Mark.GUESSED),
    )
    table = job_page.members_table([the_pod(made)], made, ViewState(), NOW)
    ids = [one.id for one in table.columns]
    assert table.cells(0)[ids.index("bars")].text == "█~"
