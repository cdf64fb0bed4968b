"""`cockpit tour`: every step by its keys on the embedded cluster, ways beside it, and the ways out."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cockpit.app import AppOptions, CockpitApp
from cockpit.attach import AttachOptions
from tests.tui.embedded import embedded
from tests.tui.on_the_bed import ROOT, Headless
from tests.tui.pseudo_terminal import PseudoTerminal
from tests.tui.tour_way import LEAVES, SECONDS, Way

pytestmark = pytest.mark.waits


@pytest.fixture
def kubeconfig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with embedded(tmp_path_factory.mktemp("tour"), "default", 30) as found:
        yield found


def toured(kubeconfig: Path, state: Path) -> CockpitApp:
    chosen = AttachOptions(kubeconfig=str(kubeconfig), write=True)
    return CockpitApp(AppOptions(chosen, state_folder=state, has_tour=True))


@pytest.mark.parametrize("size", [(80, 24), (200, 60)], ids=lambda size: f"{size[0]}x{size[1]}")
async def test_every_step_by_the_keys_on_its_card(
    size: tuple[int, int], kubeconfig: Path, tmp_path: Path
) -> None:
    app = toured(kubeconfig, tmp_path)
    async with app.run_test(size=size) as pilot:
        screen = Headless(app, pilot)
        way = Way(screen)
        await way.submit(f"tour{size[0]}")
        await way.start()
        await way.kill()
        await screen.press("ctrl+t", "2")
        await screen.until_text("▎2 Jobs", without=("Tour · ",))


async def test_a_closed_form_and_another_model_are_met_with_help(kubeconfig: Path, tmp_path: Path) -> None:
    app = toured(kubeconfig, tmp_path)
    async with app.run_test(size=(100, 30)) as pilot:
        screen = Headless(app, pilot)
        await screen.until_text("Tour · The jobs ", "live · rw", seconds=SECONDS)
        await screen.press("N", *"mine", "escape")
        await screen.until_text("The form is closed and its draft is kept: N opens it again.")
        await screen.press("N", "tab", *"train:1")
        await screen.until_text("Tour · Its GPU model ", "mine · train:1")
        await screen.press("pagedown", "tab", "tab", "tab", "T", "pagedown", "pageup")
        await screen.press("tab", "tab", "tab", "n")
        await screen.until_text("ctrl+f, type GPU model, enter, then T")
        await screen.press("ctrl+t")
        await screen.until_text("New job", without=("Tour · ",))


def test_in_a_terminal_nothing_is_left_of_it(tmp_path: Path) -> None:
    folders = {name: str(tmp_path / name) for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "HOME", "TMPDIR")}
    for folder in folders.values():
        Path(folder).mkdir()
    with PseudoTerminal(["-m", "cockpit", "tour"], (80, 24), folders) as terminal:
        terminal.shows("Tour · The jobs", LEAVES, "live · rw")
        terminal.press("2")
        terminal.shows("Tour · A new job", "▎2 Jobs")
        terminal.press("N")
        terminal.shows("Tour · Its name and image", "New job")
        terminal.press(*"mine", "escape")
        terminal.shows("draft is kept")
        terminal.press("q")
        assert terminal.ends() == 0
    assert [path for path in tmp_path.rglob("*") if not path.is_dir()] == []


def tour(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-m", "cockpit", "tour", *arguments]
    told = {**os.environ, **environment}
    return subprocess.run(
        words, cwd=ROOT, env=told, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )


def test_without_a_terminal_one_sentence_says_so() -> None:
    done = tour()
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "cockpit: the tour needs a terminal; without one, cockpit demo prints the overview\n"
    )


def test_its_help_says_what_it_is() -> None:
    done = tour("--help")
    assert done.returncode == 0 and "three minutes in the demo" in done.stdout
    refused = tour("--speed", "2")
    assert refused.returncode == 2 and len(refused.stderr.splitlines()) == 1
