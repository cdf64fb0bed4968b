"""A job's manifest by the palette: the editor has the terminal, then the plan of the change is asked."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from cockpit.app import AppOptions, CockpitApp
from cockpit.attach import AttachOptions
from tests.tui.embedded import embedded
from tests.tui.on_the_bed import Headless

pytestmark = pytest.mark.waits


@pytest.fixture(scope="module")
def kubeconfig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with embedded(tmp_path_factory.mktemp("embedded"), "two-nodes", 5) as made:
        yield made


@pytest.fixture
def given_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is a terminal to give."""
    monkeypatch.setattr("textual.drivers.headless_driver.HeadlessDriver.can_suspend", True)
    for name in ("suspend_application_mode", "resume_application_mode"):
        monkeypatch.setattr(f"textual.drivers.headless_driver.HeadlessDriver.{name}", lambda self: None)


async def until_told(app: CockpitApp, screen: Headless, wanted: str) -> None:
    def look(_lines: list[str]) -> list[str] | None:
        return [item.message for item in app._notifications if wanted in item.message] or None

    await screen.until(wanted, look)


async def begin(screen: Headless) -> None:
    await screen.until_text("team-a/cifar-1", "live")
    await screen.press("colon", *"edit")
    await screen.until_text("Edit the manifest")
    await screen.press("enter")


def app_of(kubeconfig: Path, tmp_path: Path) -> CockpitApp:
    options = AttachOptions(kubeconfig=str(kubeconfig), write=True)
    return CockpitApp(AppOptions(options, first_place="jobs", state_folder=tmp_path / "state"))


async def test_what_is_changed_is_planned_and_what_is_not_done_stays(
    kubeconfig: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given_away: None
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("EDITOR", "sed -i 's/^metadata:/metadata:\\n  annotations: {note.test: seen}/'")
    app = app_of(kubeconfig, tmp_path)
    async with app.run_test(size=(160, 45)) as pilot:
        screen = Headless(app, pilot)
        await begin(screen)
        await screen.until_text("metadata.annotations", "seen", "cockpit job edit")
        await screen.press("escape")
        await until_told(app, screen, "what you wrote is in ")
        assert len(list(tmp_path.glob("*.yaml"))) == 1  # noqa: ASYNC240
        await begin(screen)
        await screen.until_text("cockpit job edit")
        await screen.press("y")
        await until_told(app, screen, "Edited ")
    assert len(list(tmp_path.glob("*.yaml"))) == 1  # noqa: ASYNC240


async def test_without_an_editor_or_a_terminal_a_sentence_says_so(
    kubeconfig: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("KUBE_EDITOR", "VISUAL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("EDITOR", "")
    app = app_of(kubeconfig, tmp_path)
    async with app.run_test(size=(160, 45)) as pilot:
        screen = Headless(app, pilot)
        await begin(screen)
        await until_told(app, screen, "no editor is set: set EDITOR to yours, such as EDITOR=vi")
        monkeypatch.setenv("EDITOR", "vi")
        await begin(screen)
        await until_told(app, screen, "no terminal is available here; use cockpit job edit")
    assert not list(tmp_path.glob("*.yaml"))  # noqa: ASYNC240
