"""Three contexts of two embedded clusters in one cockpit: one acts, one has fewer rights, one is killed."""

import json
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, cast

import pytest
from cockpit_widgets import ResourceTable

from cockpit.app import AppOptions, CockpitApp
from cockpit.attach import AttachOptions
from cockpit.views.clusters import split_key
from tests.tui import looking
from tests.tui.embedded import embedded
from tests.tui.on_the_bed import Headless
from tests.tui.several import merged

pytestmark = pytest.mark.waits

CONTEXTS = ("east", "reader", "west")


def rows(app: CockpitApp) -> list[tuple[str, str]]:
    source = app.screen.query_one("#table", ResourceTable).source
    return [split_key(source.key(at)) for at in range(len(source))]


def move_to(app: CockpitApp, cluster: str, name: str) -> None:
    table = app.screen.query_one("#table", ResourceTable)
    at = next(at for at, (of, key) in enumerate(rows(app)) if of == cluster and key.endswith(name))
    assert table.move_to(table.source.key(at))


async def holds(screen: Headless, what: str, is_so: Callable[[], bool]) -> None:
    await screen.until(what, lambda _lines: True if is_so() else None)


async def test_one_acts_one_may_not_and_one_that_is_killed_slows_no_other(tmp_path: Path) -> None:
    with ExitStack() as east_ends, ExitStack() as west_ends:
        east = east_ends.enter_context(embedded(tmp_path / "a", "two-nodes", 20))
        west = west_ends.enter_context(embedded(tmp_path / "b", "two-nodes", 20))
        kubeconfig = merged(
            tmp_path / "kubeconfig",
            {"east": (east, "admin"), "reader": (east, "viewer"), "west": (west, "admin")},
        )
        first, *others = (
            AttachOptions(kubeconfig=str(kubeconfig), context=name, write=name != "west") for name in CONTEXTS
        )
        app = CockpitApp(
            AppOptions(first, attach_also=tuple(others), first_place="jobs", state_folder=tmp_path / "state")
        )
        async with app.run_test(size=(200, 50)) as pilot:
            screen = Headless(app, pilot)
            await screen.until_text("east live rw", "reader live rw", "west live ro")
            await screen.until_text("team-a/cifar-3")
            wanted = {(name, f"cifar-{number}") for name in CONTEXTS for number in (1, 2, 3)}
            await holds(screen, "every row", lambda: named(app) == wanted)
            move_to(app, "reader", "cifar-3")
            await screen.until_text("K×kill")
            move_to(app, "west", "cifar-3")
            await holds(screen, "no key that changes", lambda: "kill" not in looking.lines(app)[-1])
            move_to(app, "east", "cifar-3")
            await screen.until_text("K kill")
            await screen.press("K")
            await screen.until_text("the cluster would accept it", "--context east")

            west_ends.close()
            await screen.press("y")
            await holds(screen, "killed in east", lambda: ("east", "cifar-3") not in named(app))
            assert ("west", "cifar-3") in named(app), "what was last known of the dead one stays"
            await screen.until_text("east live rw", "west no answer")
            await screen.press("3")
            await holds(screen, "nodes of each", lambda: {of for of, _ in rows(app)} == {*CONTEXTS})
            await screen.press("enter")
            await screen.until_text("node")
            assert cast(Any, app.screen).cockpit.context in CONTEXTS
        lines = (tmp_path / "state" / "audit.jsonl").read_text().splitlines()
        assert {json.loads(line)["context"] for line in lines} == {"east"}


def named(app: CockpitApp) -> set[tuple[str, str]]:
    return {(of, key.rpartition("/")[2]) for of, key in rows(app)}
