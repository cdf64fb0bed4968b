"""First starts: whatever is missing, what opens says so and what to do next. The session is the real one."""

import argparse
import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from cockpit.app import AppOptions, CockpitApp
from cockpit.attach import AttachOptions
from cockpit.commands import get, screens
from cockpit.model.batch import Phase
from tests.tui import looking
from tests.tui.bare import Bare
from tests.tui.deck import ScriptedApp, settle, until


def config(folder: Path, contexts: int, **more: object) -> Path:
    names = [f"ctx-{number:03}" for number in range(contexts)]
    tree = {
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "contexts": [{"name": name, "context": {"cluster": "c", "user": "u"}} for name in names],
    }
    path = folder / "config"
    path.write_text(json.dumps(tree | more))
    return path


def missing(folder: Path) -> Path:
    return folder / "none"


def dead(folder: Path) -> Path:
    return config(folder, 2, **{"current-context": "ctx-001"})


def broken(folder: Path) -> Path:
    path = folder / "config"
    path.write_text("contexts: [")
    return path


def undecided(folder: Path) -> Path:
    return config(folder, 300)


@pytest.mark.parametrize(
    ("made", "name", "sentences"),
    [
        (missing, "no context", ("There is no kubeconfig at", "run cockpit demo")),
        (broken, "no context", ("is not YAML",)),
        (dead, "ctx-001", ("127.0.0.1:1", "Retrying automatically")),
        (undecided, "no context", ("has no current-context", "and 292 more", "press ctrl+x")),
    ],
    ids=["no kubeconfig", "broken kubeconfig", "dead server", "300 contexts"],
)
@pytest.mark.parametrize("size", [(80, 24), (160, 45)], ids=str)
async def test_without_a_session_the_page_says_what_to_do(
    tmp_path: Path,
    size: tuple[int, int],
    made: Callable[[Path], Path],
    name: str,
    sentences: tuple[str, ...],
) -> None:
    app = CockpitApp(AppOptions(AttachOptions(kubeconfig=str(made(tmp_path)))))
    async with app.run_test(size=size) as pilot:
        async with asyncio.timeout(60):  # a dead server is tried several times before it is called that
            while not all(sentence in looking.flat(app) for sentence in sentences):
                await pilot.pause(0.05)
        assert looking.header_pieces(app)[0] == name
        assert ("To reconnect, press ctrl+x" in looking.flat(app)) is (made is undecided)


async def test_of_300_contexts_one_is_found_by_typing(tmp_path: Path) -> None:
    app = CockpitApp(AppOptions(AttachOptions(kubeconfig=str(undecided(tmp_path)))))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await pilot.press("ctrl+x")
        await until(app, pilot, lambda: "type to search" in looking.text(app))
        await pilot.press(*"247", "enter")
        await until(app, pilot, lambda: app.attachment.context == "ctx-247")


@pytest.mark.parametrize("key", ["1", "2", "3", "4", "5"])
async def test_without_rights_every_place_names_the_right_to_ask_for(key: str) -> None:
    sentence = "You cannot list {kind}: ask for that right, or choose a namespace."
    app = ScriptedApp(Bare(Phase.DENIED, sentence))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await pilot.press(key)
        await settle(pilot)
        assert "ask for that right" in looking.flat(app), looking.text(app)


def test_a_dumb_terminal_gets_the_overview_and_the_remedy(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen: list[argparse.Namespace] = []

    def overview(options: argparse.Namespace) -> int:
        seen.append(options)
        return 0

    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setattr(get, "run", overview)
    assert screens.run(argparse.Namespace(context=None)) == 0
    assert len(seen) == 1 and set(get.OVERVIEW) <= set(vars(seen[0]))
    assert "set its name, such as TERM=xterm-256color" in capsys.readouterr().err
