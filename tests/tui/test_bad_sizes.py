"""`S` and `M` with what cannot be: the form says it in one sentence and keeps it typed; nothing is sent."""

from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from cockpit_widgets import Form

from cockpit.kube.decode.leases import FROM, TO
from cockpit.model.batch import Batch
from cockpit.model.lease import Lease
from cockpit.model.pool import Pool
from cockpit.model.record import Kind
from cockpit.screens.one_number import OneNumberScreen
from cockpit.screens.scale import LimitScreen
from tests.tui import looking
from tests.tui.deck import settle, until
from tests.tui.looking import flat
from tests.tui.why_app import GrowingApp, WhyEstate

IN_DIGITS = "is not a whole number of nodes: write it in digits, such as 4"
TABLE = [
    ("S", "", "Nodes of a100: no number of nodes was given: write one in digits, such as 4"),
    ("S", "many", f"Nodes of a100: 'many' {IN_DIGITS}"),
    ("S", "+2", f"Nodes of a100: '+2' {IN_DIGITS}"),
    ("S", "9" * 30, "Nodes of a100: '999999999999999999999999'… is too large a number of nodes"),
    ("S", "-1", "pool a100: -1 nodes are too few, at least 0"),
    ("S", "41", "pool a100: 41 is above its maximum of 40: give that or fewer, or raise it first"),
    ("S", "1", "are busy; drain what may go first (D, cockpit node drain)"),
    ("S", "13", "pool a100 is already set to 13; nothing was changed"),
    ("M", "", "Maximum of a100: no number of nodes was given: write one in digits, such as 4"),
    ("M", "2.5", f"Maximum of a100: '2.5' {IN_DIGITS}"),
    ("M", "-1", "pool a100: a maximum of -1 is too small, at least 0"),
    ("M", "12", "pool a100: a maximum of 12 is below what it has, 13 nodes: shrink it first"),
    ("M", "99999", "pool a100: a maximum of 99999 is too large, at most 10000"),
    ("M", "40", "the maximum of pool a100 is already 40; nothing was changed"),
]


def typed(app: GrowingApp) -> str:
    return app.screen.query_one("#fields", Form).values["to"]


def is_told(app: GrowingApp, said: str) -> bool:
    return said in flat(app)


async def form(app: GrowingApp, pilot: Any, key: str, text: str) -> None:
    """The form behind the key with that text in its field."""
    await settle(pilot)
    app.screen.set_sort("name", descending=False)  # type: ignore[attr-defined]
    await pilot.press("home", key)  # a100 first
    await until(app, pilot, lambda: isinstance(app.screen, OneNumberScreen))
    await pilot.press("ctrl+u", *text)
    await until(app, pilot, lambda: typed(app) == text)


async def test_a_bad_number_is_refused_in_its_form(tmp_path: Path) -> None:
    app = GrowingApp(WhyEstate(), write=True, place="pools", state_folder=tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        for key, text, said in TABLE:
            await form(app, pilot, key, text)
            await pilot.press("ctrl+s")
            await until(app, pilot, partial(is_told, app, said))
            assert isinstance(app.screen, OneNumberScreen)
            assert (typed(app), app.sent) == (text, []), text
            app.screen.dismiss(None)
            await until(app, pilot, lambda: not isinstance(app.screen, OneNumberScreen))


class HeldApp(GrowingApp):
    """Another cockpit has every pool."""

    async def _answer(self, method: str, path: str, **more: Any) -> Any:
        if method != "GET" or "/leases/" not in path:
            return await super()._answer(method, path, **more)
        meta = {"name": "x", "namespace": "default", "uid": "u", "resourceVersion": "1"}
        at = "2999-01-01T00:00:00.000000Z"
        spec = {"holderIdentity": "bob@bastion", "leaseDurationSeconds": 600, "renewTime": at}
        tree = {"metadata": {**meta, "annotations": {TO: "5", FROM: "2"}}, "spec": spec}
        return SimpleNamespace(status=200, ok=True, body=b"{}", json=lambda: tree, message=lambda: "")


def test_one_node_is_told_as_one() -> None:
    assert LimitScreen(Pool(name="a100", nodes_now=1, maximum=1)).field().help == "now 1 node, maximum 1"
    assert Lease(uid="u", resource_version="1", from_nodes=2, to_nodes=1).change == "from 2 to 1 node"


async def test_a_pool_that_another_cockpit_holds_keeps_the_form(tmp_path: Path) -> None:
    app = HeldApp(WhyEstate(), write=True, place="pools", state_folder=tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await form(app, pilot, "S", "16")
        await pilot.press("ctrl+s")
        await until(app, pilot, lambda: "pool a100 is being changed by bob@bastion" in flat(app))
        assert isinstance(app.screen, OneNumberScreen)
        assert (typed(app), app.sent) == ("16", [])


@pytest.mark.parametrize(("key", "text"), [("S", "16"), ("M", "42")])
async def test_a_pool_that_vanished_before_yes_is_told_and_the_form_stays(
    key: str, text: str, tmp_path: Path
) -> None:
    app = GrowingApp(WhyEstate(), write=True, place="pools", state_folder=tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await form(app, pilot, key, text)
        await pilot.press("ctrl+s")
        await until(app, pilot, lambda: "server: the cluster would accept it" in looking.text(app))
        store = app.attachment.store
        (owner,) = [one for one in store.records(Kind.POOL).values() if one.name == "a100"]
        nodes = [one.uid for one in store.records(Kind.NODE).values() if one.pool == "a100"]
        store.apply(Batch(kind=Kind.POOL, removed=(owner.uid,)))
        store.apply(Batch(kind=Kind.NODE, removed=tuple(nodes)))
        await pilot.press("y")
        await until(app, pilot, lambda: "pool a100 is gone, nothing was changed" in flat(app))
        assert isinstance(app.screen, OneNumberScreen)
        assert (typed(app), app.sent) == (text, [])
