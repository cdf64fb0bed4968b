"""The pictures in screenshots/ are what the screens draw today."""

import asyncio
from pathlib import Path

import pytest

from tests.screenshots.scenes import SCENES, Scene, draw

FOLDER = Path(__file__).resolve().parents[2] / "screenshots"


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
def test_the_picture_is_current(scene: Scene) -> None:
    path = FOLDER / f"{scene.name}.svg"
    assert path.exists(), f"screenshots/{path.name} is missing: run make screenshots"
    same = path.read_text(encoding="utf-8") == asyncio.run(draw(scene))
    assert same, f"screenshots/{path.name} is stale: run make screenshots, look at it, commit it"


def test_no_picture_without_a_scene() -> None:
    assert {path.stem for path in FOLDER.glob("*.svg")} == {scene.name for scene in SCENES}
