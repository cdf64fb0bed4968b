"""Every place and page can be read in the light theme."""

import pytest
from textual.strip import Strip

from cockpit.app import CockpitApp
from tests.screenshots.scenes import LIGHT, Scene, lead
from tests.unit.widgets.builders import contrast

LEAST_CONTRAST = 4.5
"""WCAG 2.2, 1.4.3."""


def in_front(app: CockpitApp) -> list[Strip]:
    """What the screen draws; of a dialog without what it dims behind it."""
    strips = app.screen._compositor.render_strips()
    for box in app.screen.query(".dialog--box"):
        ground = box.region
        return [strip.crop(ground.x, ground.right) for strip in strips[ground.y : ground.bottom]]
    return strips


@pytest.mark.parametrize("scene", LIGHT, ids=lambda scene: scene.name)
async def test_every_text_of_a_page_can_be_read_in_the_light_theme(scene: Scene) -> None:
    app = scene.app(scene.estate(), write=scene.write)
    app.attachment.link, app.attachment.sentence = scene.link, scene.sentence
    async with app.run_test(size=scene.size) as pilot:
        await lead(app, pilot, scene)
        assert app.theme == "light"
        faint = {
            (segment.text.strip(), round(contrast(segment.style), 2))
            for strip in in_front(app)
            for segment in strip
            if segment.style is not None
            and segment.style.color is not None
            and segment.style.bgcolor is not None
            and any(char.isalnum() for char in segment.text)
            and contrast(segment.style) < LEAST_CONTRAST
        }
    assert not faint


def test_the_light_scenes_are_all_places_and_pages() -> None:
    assert len(LIGHT) == 17
