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
from tests.tui.estate import Estate
from tests.tui.pseudo_terminal import PseudoTerminal
from tests.tui.start_estates import OneNamespace, Plain, Unmeasured


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


STARTS: dict[str, tuple[type[Estate], dict[str, tuple[str, ...]]]] = {
    "no GPUs": (
        Plain,
        {
            "1": ("None of 4 nodes offers GPUs (looked for nvidia.com/gpu", "run cockpit doctor"),
            "8": ("offers GPUs (looked for nvidia.com/gpu", "see cockpit doctor"),
        },
    ),
    "no CRDs": (
        Plain,
        {
            "2": ("There are no jobs. Type :write and press N to submit one.",),
            "4": ("No queues: none of Kueue, Volcano, KAI is installed.", "Jobs start as soon as"),
            "5": ("There are no pools. A pool is known by a label of its nodes (karpenter.sh/nodepool",),
        },
    ),
    "no Prometheus": (Unmeasured, {"1": ("set --prometheus-url",)}),
    "one namespace": (
        OneNamespace,
        {
            "1": ("You cannot list nodes", "ask for that right"),
            "2": ("There are no jobs in namespace team-a.", "ctrl+n shows other namespaces"),
            "3": ("You cannot list nodes", "ask for that right"),
            "7": ("There are no pods in namespace team-a.", "Ctrl+n shows other namespaces"),
        },
    ),
}


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("size", [(80, 24), (160, 45)], ids=str)
async def test_every_place_says_what_was_looked_for_and_what_to_do_next(
    start: str, size: tuple[int, int]
) -> None:
    estate, places = STARTS[start]
    app = ScriptedApp(estate(), write=False)
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        for key, sentences in places.items():
            await pilot.press(key)
            await settle(pilot)
            for sentence in sentences:
                assert sentence in looking.flat(app), f"{key}\n{looking.text(app)}"


def test_errors_that_go_to_a_file_leave_the_screens_on_the_terminal(tmp_path: Path) -> None:
    errors = tmp_path / "errors"
    start = f"import os; os.dup2(os.open({str(errors)!r}, os.O_CREAT | os.O_WRONLY), 2)"
    go = f"{start}; from cockpit.cli import main; raise SystemExit(main([]))"
    environment = {"KUBECONFIG": str(tmp_path / "none"), "HOME": str(tmp_path)}
    with PseudoTerminal(["-c", go], (80, 24), environment) as terminal:
        terminal.shows("There is no kubeconfig at", "run cockpit demo")
        terminal.press("q")
        assert terminal.ends() == 0
    assert errors.read_text() == ""
