"""Several clusters in one cockpit: each row, page, key and write is about the cluster of its row."""

import json
from pathlib import Path
from typing import Any, cast

import pytest
from cockpit_widgets import ConfirmDialog, KeyFooter, ResourceTable

from cockpit.model.batch import Batch
from cockpit.model.job import Job
from cockpit.model.right import Right
from cockpit.screens.pages import PLACES
from cockpit.screens.place import Place
from cockpit.screens.table_place import TablePlace
from cockpit.views.clusters import joined_key, split_key
from tests.tui import looking
from tests.tui.clusters_app import ClustersApp, Empty
from tests.tui.deck import ScriptedApp, settle, until
from tests.tui.estate import Estate
from tests.tui.test_key_rights import Reviews
from tests.unit.widgets.builders import texts_of

LISTS = ("jobs", "nodes", "queues", "pools")
JOB = "team-a/llm-7b-sft"


def place(app: ClustersApp) -> Any:
    return cast(Any, app.screen)


def rows(app: ClustersApp) -> list[tuple[str, str]]:
    """Cluster and key of each row of the list in sight."""
    source = app.screen.query_one("#table", ResourceTable).source
    return [split_key(source.key(at)) for at in range(len(source))]


def told(app: ClustersApp) -> list[str]:
    return [one.message for one in app._notifications]


def footer(app: ClustersApp) -> str:
    return texts_of(app.screen.query_one(KeyFooter))[0]


async def stand_on(app: ClustersApp, pilot: Any, cluster: str, name: str = JOB) -> str:
    """The cursor on the row of that job in that cluster; its joined key."""
    jobs = next(each for each in app.clusters if each.context == cluster).attachment.jobs.jobs
    key = joined_key(cluster, next(job.key for job in jobs.values() if f"{job.namespace}/{job.name}" == name))
    table = app.screen.query_one("#table", ResourceTable)
    assert table.move_to(key)
    await settle(pilot)
    assert table.cursor_key == key
    return key


# ---- one list


@pytest.mark.parametrize("name", LISTS)
async def test_a_list_has_the_rows_of_every_cluster(name: str) -> None:
    app, alone = ClustersApp(place=name), ScriptedApp(Estate(), place=name)
    async with app.run_test(size=(200, 60)) as pilot:
        await settle(pilot)
        found = rows(app)
        columns = [column.id for column in app.screen.query_one("#table", ResourceTable).source.columns]
    async with alone.run_test(size=(200, 60)) as pilot:
        await settle(pilot)
        source = alone.screen.query_one("#table", ResourceTable).source
        own = [source.key(at) for at in range(len(source))]
        own_columns = [column.id for column in source.columns]
    for cluster in ("east", "west"):
        assert [key for of, key in found if of == cluster] == own
    assert len(found) == 2 * len(own)
    assert columns == [own_columns[0], "cluster", *own_columns[1:]]
    assert "cluster" not in own_columns


@pytest.mark.parametrize("size", [(80, 24), (160, 45)], ids=["80x24", "160x45"])
async def test_the_header_tells_the_link_and_the_lock_of_each(size: tuple[int, int]) -> None:
    app = ClustersApp(place="jobs")
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        head = looking.lines(app)[0]
    assert "east live rw" in head and "west live ro" in head and "dead waiting to reconnect ro" in head


async def test_of_many_clusters_those_in_trouble_and_their_number_stay_in_the_header() -> None:
    estates = {f"cluster-{number}": None if number == 7 else Empty() for number in range(10)}
    app = ClustersApp(estates, place="jobs")
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        head = looking.lines(app)[0]
        assert "10 clusters" in head and "cluster-7 waiting to reconnect ro" in head
        assert "cluster-0, cluster-1, cluster-2 and 6 more: There are no jobs." in looking.flat(app)


async def test_one_that_is_never_reached_is_told_where_no_cluster_has_a_row() -> None:
    app = ClustersApp({"east": None, "west": None}, place="jobs")
    async with app.run_test(size=(160, 45)) as pilot:
        await settle(pilot)
        assert "east, west: no answer from https://dead.example" in looking.flat(app)


async def test_a_filter_and_an_order_hold_over_all() -> None:
    app = ClustersApp(place="nodes")
    async with app.run_test(size=(160, 45)) as pilot:
        await settle(pilot)
        await pilot.press("slash", *"cluster:west", "enter")
        await settle(pilot)
        assert {cluster for cluster, _ in rows(app)} == {"west"}
        await pilot.press("escape")
        place(app).set_sort("cluster", descending=True)
        await settle(pilot)
        assert [cluster for cluster, _ in rows(app)] == ["west"] * 38 + ["east"] * 38


async def test_a_login_that_hangs_holds_up_no_other_cluster() -> None:
    app = ClustersApp(place="jobs")
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        assert len({id(each.attachment._logins) for each in app.clusters}) == len(app.clusters)


# ---- what a row opens


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("cluster", ["east", "west"])
async def test_a_row_opens_the_page_of_its_cluster(name: str, cluster: str) -> None:
    app = ClustersApp(place=name)
    async with app.run_test(size=(160, 45)) as pilot:
        await settle(pilot)
        table = app.screen.query_one("#table", ResourceTable)
        table.move_to(table.source.key([of for of, _ in rows(app)].index(cluster)))
        await settle(pilot)
        await pilot.press("enter")
        await settle(pilot)
        page = place(app)
        assert page.place in ("job", "node", "queue", "pool")
        assert page.cockpit.context == cluster
        assert looking.lines(app)[0].strip().startswith(cluster)
        await pilot.press("w")
        await settle(pilot)
        assert place(app).place == "why" and place(app).cockpit.context == cluster


async def test_the_detail_is_that_of_the_row() -> None:
    app = ClustersApp(place="jobs")
    async with app.run_test(size=(160, 45)) as pilot:
        await settle(pilot)
        key = await stand_on(app, pilot, "west")
        west = app.clusters[1].attachment
        pods = west.jobs.jobs[split_key(key)[1]].pod_uids
        west.store.apply(Batch(kind="pods", removed=tuple(pods)))
        west.jobs.catch_up()
        place(app).show()
        await settle(pilot)
        beside = [line.rpartition("╭─ ")[2] for line in looking.lines(app)]
        assert any(JOB in line and "running" not in line for line in beside)
        await stand_on(app, pilot, "east")
        cast(Any, app.clock).advance(1.0)
        place(app).side.show()
        await settle(pilot)
        beside = [line.rpartition("╭─ ")[2] for line in looking.lines(app)]
        assert any(JOB in line and "running" in line for line in beside)


async def test_a_place_of_one_cluster_is_that_of_the_row_before_it() -> None:
    app = ClustersApp(place="jobs")
    async with app.run_test(size=(160, 45)) as pilot:
        await settle(pilot)
        await stand_on(app, pilot, "west")
        await pilot.press("6")
        await settle(pilot)
        assert place(app).place == "events" and place(app).cockpit.context == "west"
        await pilot.press("ctrl+x")
        await settle(pilot)
        await pilot.press(*"east", "enter")
        await settle(pilot)
        assert place(app).place == "events" and place(app).cockpit.context == "east"
        await pilot.press("2")
        await settle(pilot)
        assert {cluster for cluster, _ in rows(app)} == {"east", "west"}
        await stand_on(app, pilot, "west")
        assert place(app).cockpit.context == "west"


# ---- verbs


async def test_a_verb_is_done_in_the_cluster_of_its_row_and_noted_with_it(tmp_path: Path) -> None:
    app = ClustersApp(write=("east", "west"), place="jobs", state_folder=tmp_path)
    async with app.run_test(size=(160, 45)) as pilot:
        await settle(pilot)
        await stand_on(app, pilot, "west", "team-c/sweep-12")
        await pilot.press("K")
        await until(app, pilot, lambda: isinstance(app.screen, ConfirmDialog))
        assert "--context west" in looking.flat(app)
        await until(app, pilot, lambda: "the cluster would accept it" in looking.flat(app))
        await pilot.press("y")
        await until(app, pilot, lambda: bool(app.sent.writes))
        await until(app, pilot, lambda: bool(told(app)))
    assert {context for context, *_ in app.sent.writes} == {"west"}
    lines = [json.loads(line) for line in (tmp_path / "audit.jsonl").read_text().splitlines()]
    assert {line["context"] for line in lines} == {"west"}


async def test_a_question_stays_with_its_cluster_when_the_row_goes(tmp_path: Path) -> None:
    app = ClustersApp(write=("east", "west"), place="jobs", state_folder=tmp_path)
    async with app.run_test(size=(160, 45)) as pilot:
        await settle(pilot)
        await stand_on(app, pilot, "east", "team-c/sweep-12")
        page = place(app)
        await pilot.press("K")
        await until(app, pilot, lambda: "the cluster would accept it" in looking.flat(app))
        # meanwhile the cursor comes to stand on the row of the same name in the other cluster
        page.set_filter("cluster:west")
        page.show()
        page.table.move_to(page.table.source.key(0))
        assert page.cockpit.context == "west"
        await pilot.press("y")
        await until(app, pilot, lambda: bool(app.sent.writes))
    assert {context for context, *_ in app.sent.writes} == {"east"}


async def test_a_row_of_a_read_only_cluster_has_no_changing_key() -> None:
    app = ClustersApp(place="jobs")
    async with app.run_test(size=(160, 45)) as pilot:
        await settle(pilot)
        await stand_on(app, pilot, "east")
        assert "K kill" in footer(app)
        await stand_on(app, pilot, "west")
        assert "K kill" not in footer(app)
        await pilot.press("K")
        await settle(pilot)
        assert told(app) == ["read-only: :write unlocks the keys that change the cluster"]
        assert not app.sent.writes


async def test_unlocking_is_for_the_cluster_of_the_row() -> None:
    app = ClustersApp(write=(), place="jobs")
    async with app.run_test(size=(160, 45)) as pilot:
        await settle(pilot)
        await stand_on(app, pilot, "west")
        await pilot.press("colon", *"write", "enter")
        await until(app, pilot, lambda: isinstance(app.screen, ConfirmDialog))
        assert "Unlock changes of west" in looking.flat(app)
        await pilot.press("y")
        await settle(pilot)
        assert [each.attachment.is_read_only for each in app.clusters] == [True, False, True]


async def test_fewer_rights_bar_the_keys_of_their_cluster_alone() -> None:
    app = ClustersApp(write=("east", "west"), place="jobs")
    allowed, denied = Reviews(), Reviews("delete", "patch", "create")
    app.clusters[0].attachment.access = cast(Any, allowed)
    app.clusters[1].attachment.access = cast(Any, denied)
    async with app.run_test(size=(160, 45)) as pilot:
        await settle(pilot)
        await stand_on(app, pilot, "east")
        assert "K kill" in footer(app)
        await stand_on(app, pilot, "west")
        assert "K×kill" in footer(app)
        await pilot.press("K")
        await settle(pilot)
        assert "(context west)" in told(app)[-1]
        asked: list[Right] = denied.doubted
        assert asked and not allowed.doubted


async def test_marks_in_two_clusters_are_refused_in_one_sentence() -> None:
    app = ClustersApp(write=("east", "west"), place="jobs")
    async with app.run_test(size=(160, 45)) as pilot:
        await settle(pilot)
        for cluster in ("east", "west"):
            await stand_on(app, pilot, cluster)
            await pilot.press("space")
        await settle(pilot)
        await pilot.press("K")
        await settle(pilot)
        assert told(app)[-1] == "marked rows are in 2 clusters (east, west): unmark those of all but one"
        assert isinstance(app.screen, TablePlace)


async def test_marks_and_not_the_cursor_say_in_which_cluster_a_verb_acts() -> None:
    app = ClustersApp(write=("east", "west"), place="jobs")
    async with app.run_test(size=(160, 45)) as pilot:
        await settle(pilot)
        for name in (JOB, "team-c/sweep-12"):
            await stand_on(app, pilot, "west", name)
            await pilot.press("space")
        await stand_on(app, pilot, "east")
        found: tuple[Job, ...] = place(app).marked_things("job")
        assert len(found) == 2 and place(app).acting.context == "west"
        await pilot.press("K")
        await until(app, pilot, lambda: isinstance(app.screen, ConfirmDialog))
        assert "--context west" in looking.flat(app)


# ---- Now


async def test_now_lists_the_problems_of_all_and_acknowledges_in_one() -> None:
    app = ClustersApp()
    async with app.run_test(size=(160, 45)) as pilot:
        await settle(pilot)
        table = app.screen.query_one("#attention", ResourceTable)
        keys = [split_key(table.source.key(at)) for at in range(len(table.source))]
        east, west = ([key for of, key in keys if of == name] for name in ("east", "west"))
        assert east == west and len(east) >= 4
        assert [of for of, _ in keys[:2]] == ["east", "west"], "the same rank, by cluster"
        table.move_to(table.source.key(1))
        await settle(pilot)
        await pilot.press("a")
        await settle(pilot)
        await pilot.press("enter")
        await settle(pilot)
        known = [
            [row.found.row for row in each.now_watch.look() if row.acknowledged] for each in app.clusters
        ]
        assert [len(rows) for rows in known] == [0, 1, 0]
        assert "west a100" in looking.flat(app) and "east a100" in looking.flat(app)


async def test_a_row_of_now_opens_in_its_cluster_and_so_does_the_map() -> None:
    app = ClustersApp()
    async with app.run_test(size=(160, 45)) as pilot:
        await settle(pilot)
        table = app.screen.query_one("#attention", ResourceTable)
        table.move_to(table.source.key(1))
        await settle(pilot)
        await pilot.press("enter")
        await settle(pilot)
        assert place(app).cockpit.context == "west"
        await pilot.press("escape")
        await settle(pilot)
        place(app).at_row(joined_key("west", "gpu-h100-07"), lambda name: place(app).cockpit.open_node(name))
        await settle(pilot)
        assert place(app).place == "node" and place(app).cockpit.context == "west"


@pytest.mark.parametrize("name", ["now", *LISTS])
async def test_every_key_on_a_row_of_each_cluster_writes_nowhere_else(name: str, tmp_path: Path) -> None:
    """Each key of the place, and what it opens left again; the app raises what goes wrong inside."""
    app = ClustersApp(place=name, state_folder=tmp_path)
    async with app.run_test(size=(160, 45)) as pilot:
        await settle(pilot)
        table = "#attention" if name == "now" else "#table"
        keys = sorted({key for key, found in app.screen._bindings if found.id} - {"q", "l", "E"})
        for cluster in ("east", "west"):
            for key in keys:
                found = app.screen.query_one(table, ResourceTable)
                at = next(
                    at for at in range(len(found.source)) if split_key(found.source.key(at))[0] == cluster
                )
                found.move_to(found.source.key(at))
                await settle(pilot)
                await pilot.press(key)
                await settle(pilot)
                top = app.screen
                if isinstance(top, Place) and top.place not in PLACES:
                    assert top.cockpit.context == cluster, key
                app.go(name)
                await until(app, pilot, lambda: bool(app.screen.query(table)))
    assert not app.sent.writes  # no question was answered with yes


async def test_with_one_context_nothing_is_added() -> None:
    app = ClustersApp({"east": Estate()}, place="jobs")
    async with app.run_test(size=(160, 45)) as pilot:
        await settle(pilot)
        assert isinstance(app.screen, Place) and place(app).cockpit is app
        assert "Cluster" not in looking.text(app)
        assert looking.lines(app)[0].strip().startswith("east")
