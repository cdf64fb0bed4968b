"""The form of a kind of one's own: its pods are counted or unknown; that it is not served is told first."""

import dataclasses
from pathlib import Path

import pytest
from textual.pilot import Pilot

from cockpit.kube.discovery import Served, ServedResource
from cockpit.kube.resource import Resource
from cockpit.local_state.config import Settings
from cockpit.screens.submit import SubmitScreen
from tests.tui import looking
from tests.tui.deck import settle
from tests.tui.estate import Estate
from tests.tui.offering import EVERYTHING, OfferingApp
from tests.unit.cli.test_own_kinds import ODD, RAY, RAYCLUSTERS, TRAININGS

SIZES = ((80, 24), (200, 60))


def app_with(folder: Path, *served: Resource) -> OfferingApp:
    """The cockpit with both templates, before a cluster that serves these kinds besides its own."""
    for name, text in (("ray", RAY), ("odd", ODD)):
        (folder / f"{name}.yaml").write_text(text)
    app = OfferingApp(Estate(), write=True)
    settings = Settings(template_folders=(folder,))
    app.options = dataclasses.replace(app.options, settings=settings)
    app.attachment.served = Served(tuple(ServedResource(one, ("list",)) for one in (*EVERYTHING, *served)))
    return app


async def form_of(pilot: Pilot[int], app: OfferingApp, template: str) -> str:
    """The screen with the template's form, its name given; the preview in sight."""
    await settle(pilot)
    app.push_screen(SubmitScreen(template, {"name": "mine", "namespace": "team-a"}))
    await settle(pilot)
    screen = app.screen
    assert isinstance(screen, SubmitScreen)
    if screen.is_narrow:
        screen.action_preview()
        await settle(pilot)
    return looking.text(app)


@pytest.mark.parametrize("size", SIZES)
async def test_a_kind_that_is_not_served_is_told_before_anything_is_previewed(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    app = app_with(tmp_path)
    async with app.run_test(size=size) as pilot:
        seen = await form_of(pilot, app, "ray")
        assert "not ready to submit" in seen
        words = " ".join(seen.split())
        assert "this cluster does not serve RayCluster" in words and "install KubeRay" in words
        assert "GPUs in total" not in seen
        await pilot.press("ctrl+s")
        await settle(pilot)
        assert [one for one in app.asked if not one.startswith("GET")] == []


@pytest.mark.parametrize("size", SIZES)
async def test_pods_of_any_kind_are_counted_or_unknown(tmp_path: Path, size: tuple[int, int]) -> None:
    app = app_with(tmp_path, RAYCLUSTERS, TRAININGS)
    async with app.run_test(size=size) as pilot:
        assert "2 GPUs in total" in await form_of(pilot, app, "ray")
        app.pop_screen()
        seen = await form_of(pilot, app, "odd")
        assert "GPUs in total unknown" in seen and "cannot tell whether it fits now" in seen
        assert "0 GPUs" not in seen
