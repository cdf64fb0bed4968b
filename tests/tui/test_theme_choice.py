"""The theme: chosen in the palette, kept for the next start, the configured one until then."""

from pathlib import Path

import pytest

from cockpit.app import AppOptions, CockpitApp
from cockpit.attach import AttachOptions
from cockpit.local_state.config import Settings
from tests.tui.on_the_bed import Headless


def app_of(folder: Path, theme: str = "") -> CockpitApp:
    options = AttachOptions(kubeconfig=str(folder / "none"))
    return CockpitApp(AppOptions(options, settings=Settings(theme=theme), state_folder=folder))


@pytest.mark.parametrize(("configured", "first"), [("", "dark"), ("nord", "nord")])
async def test_what_was_chosen_in_the_palette_is_there_at_the_next_start(
    tmp_path: Path, configured: str, first: str
) -> None:
    app = app_of(tmp_path, configured)
    async with app.run_test(size=(100, 30)) as pilot:
        assert app.theme == first
        screen = Headless(app, pilot)
        await screen.press("colon", *"theme light")
        await screen.until_text("theme light")
        await screen.press("enter")
        await screen.until("light", lambda _lines: app.theme == "light" or None)
    app = app_of(tmp_path, configured)
    async with app.run_test(size=(100, 30)):
        assert app.theme == "light"


async def test_a_theme_that_is_gone_gives_way_to_the_configured_one(tmp_path: Path) -> None:
    (tmp_path / "choices.json").write_text('{"app":{"theme":"of-an-older-version"}}')
    app = app_of(tmp_path, "mono")
    async with app.run_test(size=(100, 30)):
        assert app.theme == "mono"
