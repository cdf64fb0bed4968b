"""What stands there when nothing else can: each state of the data says why; the app lets go at once."""

import asyncio
import time
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from cockpit_widgets import ResourceTable
from textual.pilot import Pilot

from cockpit.api_server import ApiServer
from cockpit.attach import Link
from cockpit.clock import ManualClock
from cockpit.local_state.config import Settings
from cockpit.model.batch import Phase
from cockpit.model.namespaces import Namespaces
from cockpit.model.record import Kind
from cockpit.screens.place import Place
from tests.tui import looking
from tests.tui.bare import KIND_OF, Bare
from tests.tui.deck import ScriptedApp, settle
from tests.tui.estate import Estate

PLACES = {"1": "now", "2": "jobs", "3": "nodes", "4": "queues", "5": "pools", "6": "events", "7": "pods"}
QUIT_SECONDS = 1.0


async def visit(pilot: Pilot[Any], *keys: str) -> None:
    await pilot.press(*keys)
    await settle(pilot)


@pytest.mark.parametrize(
    ("phase", "message", "objects", "wanted"),
    [
        (
            Phase.DENIED,
            "Denied: you cannot list {kind} in this cluster.",
            0,
            "Denied: you cannot list {kind}",
        ),
        (Phase.LISTING, "", 1_234, "Listing"),
        (Phase.CONNECTING, "", 0, "Connecting"),
        (Phase.BACKING_OFF, "{kind}: the server said 503, asked again in 4 s.", 0, "the server said 503"),
        (Phase.ABSENT, "This cluster does not serve {kind}.", 0, "This cluster does not serve {kind}"),
        (Phase.LIVE, "", 0, "There are no"),
    ],
    ids=lambda value: value.value if isinstance(value, Phase) else "",
)
async def test_an_empty_table_says_why(phase: Phase, message: str, objects: int, wanted: str) -> None:
    app = ScriptedApp(Bare(phase, message, objects))
    async with app.run_test(size=(80, 24)) as pilot:
        for key, name in PLACES.items():
            await visit(pilot, key)
            said = looking.flat(app)
            if key == "1":
                expected = "Nothing needs a human." if phase is Phase.LIVE else wanted.format(kind=Kind.NODE)
            else:
                expected = wanted.format(kind=KIND_OF[key])
            assert expected in said, f"{name}\n{looking.text(app)}"
            if phase is Phase.LISTING and key != "1":
                assert "1,234 so far" in said, f"{name}\n{looking.text(app)}"
            assert looking.size_fault(app) == ""


@pytest.mark.parametrize(
    ("link", "sentence", "wanted"),
    [
        (Link.CONNECTING, "", "Connecting"),
        (
            Link.WAITING,
            "The API server at https://10.0.0.1:6443 does not answer.",
            "The API server at https://10.0.0.1:6443 does not answer. Retrying automatically.",
        ),
        (
            Link.FAILED,
            "There is no kubeconfig at /home/ada/.kube/config.",
            "There is no kubeconfig at /home/ada/.kube/config. To reconnect, press ctrl+x and choose",
        ),
    ],
    ids=["connecting", "unreachable", "failed"],
)
async def test_without_a_server_the_sentence_stands_where_the_rows_would(
    link: Link, sentence: str, wanted: str
) -> None:
    app = ScriptedApp(None)
    app.attachment.link, app.attachment.sentence = link, sentence
    async with app.run_test(size=(80, 24)) as pilot:
        for key, name in PLACES.items():
            await visit(pilot, key)
            assert wanted in looking.flat(app), f"{name}\n{looking.text(app)}"
            wanted_name = link.value if link is Link.CONNECTING else "no context"  # not read yet, or none
            assert looking.header_pieces(app)[:1] == [wanted_name], name
            assert looking.size_fault(app) == "", name


# ---- the filter


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("gpus>many", "'many' is not a number for 'gpus'"),
        ("colour=red", "no field 'colour' here; fields are"),
        ("state>3", "'state' is text and cannot be compared"),
        ('"half', "is not closed"),
        ("state:", "a value is missing"),
    ],
)
async def test_a_mistake_in_the_filter_is_told_in_place(typed: str, told: str) -> None:
    app = ScriptedApp(Estate())
    async with app.run_test(size=(120, 40)) as pilot:
        await visit(pilot, "2")
        await visit(pilot, "slash")
        await pilot.press(*_keys(typed))
        await settle(pilot)
        drawn = looking.lines(app)
        problem = next((at for at, line in enumerate(drawn) if told in line), None)
        assert problem is not None, "\n".join(drawn)
        # a long one takes two rows
        assert f"/ {typed}" in [line.strip() for line in drawn[problem + 1 : problem + 3]], (
            "the sentence does not stand at the line it is about"
        )
        assert "team-a/llm-70b" in looking.text(app), "the last good rows stay"
        await visit(pilot, "escape")
        assert told not in looking.text(app)
        assert typed not in looking.text(app)


async def test_a_filter_without_a_match_says_so_and_stays_in_sight() -> None:
    app = ScriptedApp(Estate())
    async with app.run_test(size=(80, 24)) as pilot:
        await visit(pilot, "2", "slash", *"nosuchjob", "enter")
        assert "None of 9 jobs matches 'nosuchjob'; press / to change the filter." in looking.flat(app)
        assert looking.lines(app)[-2].strip() == "/ nosuchjob"
        await visit(pilot, "3", "2")
        assert looking.lines(app)[-2].strip() == "/ nosuchjob", "a filter that hides rows is in sight"
        assert "esc back" in looking.footer(app)
        await visit(pilot, "escape")
        assert "team-a/llm-70b" in looking.text(app)
        assert "nosuchjob" not in looking.text(app)


def _keys(typed: str) -> list[str]:
    names = {">": "greater_than_sign", "=": "equals_sign", ":": "colon", '"': "quotation_mark"}
    return [names.get(char, char) for char in typed]


# ---- pickers


async def test_the_namespace_picker_narrows_everything() -> None:
    app = ScriptedApp(Estate())
    asked: list[dict[str, Any]] = []
    app.reattach = lambda **changes: asked.append(changes)  # type: ignore[method-assign]
    async with app.run_test(size=(120, 40)) as pilot:
        await visit(pilot, "2", "ctrl+n")
        drawn = looking.text(app)
        for name in ("all namespaces", "default", "team-a", "team-b", "team-c"):
            assert name in drawn
        await visit(pilot, *"team-b", "enter")
        assert asked == [{"namespaces": Namespaces(("team-b",))}]


async def test_marks_of_the_namespace_picker_show_several_and_all_again() -> None:
    app = ScriptedApp(Estate())
    async with app.run_test(size=(80, 24)) as pilot:
        await visit(pilot, "2", "ctrl+n", *"team-b", "space", *["backspace"] * 6, *"team-c", "space", "enter")
        assert app.attachment.namespaces == Namespaces(("team-b", "team-c"))
        assert "namespaces team-b, team-c" in looking.text(app)
        rows = app.screen.query_one(ResourceTable).source
        spaces = {rows.key(at).split("/")[-2] for at in range(len(rows))}
        assert spaces == {"team-b", "team-c"}
        await visit(pilot, "ctrl+n", *"team-c", "space", "enter")
        assert app.attachment.namespaces == Namespaces(("team-b",)), "the mark was taken away"
        await visit(pilot, "ctrl+n", *"all names", "space", "enter")
        assert not app.attachment.namespaces


async def test_where_namespaces_may_not_be_listed_the_known_ones_are_offered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Those of the kubeconfig, of the configuration, and the ones typed before."""

    async def of_contexts(_api: ApiServer) -> tuple[str, ...]:
        return ("team-of-kubeconfig",)

    monkeypatch.setattr(ApiServer, "context_namespaces", of_contexts)
    app = ScriptedApp(Bare(Phase.DENIED))
    app.options = replace(app.options, settings=Settings(namespaces=Namespaces(("team-configured",))))
    async with app.run_test(size=(120, 40)) as pilot:
        await visit(pilot, "ctrl+n")
        assert "team-of-kubeconfig" in looking.text(app) and "team-configured" in looking.text(app)
        await visit(pilot, *"team-x,team-y", "enter")
        assert app.attachment.options.namespaces == Namespaces(("team-x", "team-y"))
        await visit(pilot, "ctrl+n")
        drawn = looking.text(app)
        assert "team-x" in drawn and "team-y" in drawn and "team-of-kubeconfig" in drawn
        await visit(pilot, *"Not_A_Name", "enter")
        assert app.attachment.options.namespaces == Namespaces(("team-x", "team-y"))


async def test_another_context_starts_read_only_and_with_nothing_of_the_old_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app = ScriptedApp(Estate(), write=True)

    async def contexts(_api: ApiServer) -> tuple[str, ...]:
        return ("prod-eu", "lab")

    monkeypatch.setattr(ApiServer, "contexts", contexts)
    app._start = lambda: None  # type: ignore[method-assign]
    async with app.run_test(size=(120, 40)) as pilot:
        await visit(pilot, "2", "ctrl+x")
        assert "prod-eu" in looking.text(app) and "lab" in looking.text(app)
        await visit(pilot, *"lab", "enter")
        assert app.attachment.options.context == "lab"
        assert not app.attachment.options.write and app.attachment.is_read_only
        drawn = looking.text(app)
        assert "team-a" not in drawn and "prod-eu" not in drawn, drawn
        assert looking.header_pieces(app)[0] == "lab" and "K kill" not in looking.footer(app)


# ---- leaving


@pytest.mark.parametrize(
    ("estate", "keys", "last"),
    [
        (None, (), "q"),
        (Bare(Phase.LISTING), ("2",), "q"),
        (Estate(), ("2", "enter"), "q"),
        (Estate(), ("2", "slash", "x"), "ctrl+c"),
        (Estate(), ("2", "question_mark"), "ctrl+c"),
        (Estate(), ("2", "colon", "l"), "ctrl+c"),
        (Estate(), ("2", "K"), "ctrl+c"),
        (Estate(), ("2", "N"), "ctrl+c"),
        (Estate(), ("5", "S"), "ctrl+c"),
        (Estate(), ("2", "w"), "q"),
    ],
    ids=["connecting", "listing", "page", "filter", "help", "palette", "confirm", "form", "scale", "why"],
)
async def test_it_leaves_within_a_second(estate: Estate | None, keys: tuple[str, ...], last: str) -> None:
    app = ScriptedApp(estate, write=True)
    if estate is None:
        app.attachment.link = Link.CONNECTING
        app.attachment.run = partial(asyncio.sleep, 3_600)  # type: ignore[method-assign]
        app._start()
    async with app.run_test(size=(80, 24)) as pilot:
        if keys:
            await visit(pilot, *keys)
        before = time.process_time()
        await pilot.press(last)
        assert app._exit
    # processor time of this process alone: a slow neighbour does not count
    assert time.process_time() - before < QUIT_SECONDS


@pytest.mark.parametrize("keys", [("2", "question_mark"), ("2", "K")], ids=["help", "confirm"])
async def test_q_closes_a_dialog_and_then_leaves(keys: tuple[str, ...]) -> None:
    app = ScriptedApp(Estate(), write=True)
    async with app.run_test(size=(80, 24)) as pilot:
        await visit(pilot, *keys)
        await visit(pilot, "q")
        assert isinstance(app.screen, Place) and not app._exit
        await pilot.press("q")
        assert app._exit


# ---- quiet


class Counting(ScriptedApp):
    """Counts what would be written to a terminal."""

    drawn = 0

    def _display(self, screen: Any, renderable: Any) -> None:
        if renderable is not None and getattr(renderable, "spans", True):
            self.drawn += 1
        super()._display(screen, renderable)


async def test_a_quiet_store_paints_nothing() -> None:
    app = Counting(Estate())
    clock = app.clock
    assert isinstance(clock, ManualClock)
    async with app.run_test(size=(120, 40)) as pilot:
        for key in "1234567":
            # the detail of the first pod shows the one event that is younger than two minutes
            await visit(pilot, key, *(("down",) * 3 if key == "7" else ()))
            clock.advance(1.2)  # away from the edge of a second, and the detail follows the cursor
            app.screen._tick()  # type: ignore[attr-defined]
            await settle(pilot)
            assert key != "7" or "─ team-a/llm-7b-sft-worker-0 ─" in looking.text(app)
            # whole ages of seconds grow only while they are below two minutes: the estate has one such event
            if key == "6":
                continue
            before = app.drawn
            for _ in range(5):
                clock.advance(1.0)
                app.screen._tick()  # type: ignore[attr-defined]
                await settle(pilot)
            assert app.drawn == before, PLACES[key]
        # and the same way of counting sees a change
        before = app.drawn
        clock.advance(3_600)
        app.screen._tick()  # type: ignore[attr-defined]
        await settle(pilot)
        assert app.drawn > before
