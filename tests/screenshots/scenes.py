"""Each screen as a scripted scene: keys pressed on the scripted estate, then a picture."""

import asyncio
from dataclasses import dataclass

from tests.tui.deck import ScriptedApp, settle
from tests.tui.estate import Estate


@dataclass(frozen=True)
class Scene:
    """One picture: its file name, the keys that lead to it, the size in terminal cells."""

    name: str
    keys: tuple[str, ...]
    size: tuple[int, int] = (140, 40)
    write: bool = False


SCENES = (
    Scene("now", ("1",)),
    Scene("now-80x24", ("1",), (80, 24)),
    Scene("now-200x60", ("1",), (200, 60)),
    Scene("jobs", ("2",)),
    Scene("jobs-80x24", ("2",), (80, 24)),
    Scene("job", ("2", "g", "down", "down", "down", "down", "down", "enter")),
    Scene("nodes", ("3",)),
    Scene("node", ("3", "enter")),
    Scene("queues", ("4",)),
    Scene("queue", ("4", "enter")),
    Scene("pools", ("5",)),
    Scene("pool", ("5", "down", "enter")),
    Scene("events", ("6",)),
    Scene("pods", ("7",)),
    Scene("why", ("2", "down", "w")),
    Scene("help", ("2", "question_mark")),
    Scene("palette", ("2", "colon")),
    Scene("filter", ("2", "slash", *"state:queued")),
    Scene("submit", ("2", "N"), write=True),
    Scene("submit-80x24", ("2", "N"), (80, 24), write=True),
    Scene("kill", ("2", "down", "down", "K"), write=True),
    Scene("scale", ("5", "S"), write=True),
)


async def draw(scene: Scene) -> str:
    """The scene as SVG text; the same text every time."""
    app = ScriptedApp(Estate(), write=scene.write)
    async with app.run_test(size=scene.size) as pilot:
        await settle(pilot)
        for key in scene.keys:
            await pilot.press(key)
            await settle(pilot)
        svg = app.export_screenshot(title=f"gpu-cockpit · {scene.name}")
    # some renderers drop leading blanks without this, and columns would seem to be misaligned
    return svg.replace("<text ", '<text xml:space="preserve" ')


def draw_all(scenes: tuple[Scene, ...] = SCENES) -> dict[str, str]:
    """Every scene by file name."""
    return {f"{scene.name}.svg": asyncio.run(draw(scene)) for scene in scenes}
