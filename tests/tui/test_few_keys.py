"""How many keys a real job takes: 4 x 8 GPUs with queue, claim, environment and git, without a preset."""

from typing import Any

import pytest
from cockpit_widgets import ConfirmDialog
from textual.pilot import Pilot

from tests.tui import looking
from tests.tui.deck import settle
from tests.tui.estate import Estate
from tests.tui.offering import OfferingApp
from tests.tui.test_form_choices import opened

MOST_KEYS = 90
KEYS: tuple[tuple[str, ...], ...] = (
    tuple("llama"),
    ("tab", *"hub/train:1.4"),
    ("tab", "tab", *"LR=0.1"),
    # the queue of the namespace stands there by itself
    ("pagedown", "pagedown", "4", "tab", "8"),
    ("pagedown", "c", "right"),
    ("tab", *"https://git.corp/llm"),
    ("ctrl+s",),
)


@pytest.mark.parametrize("size", [(80, 24), (160, 45)], ids=lambda size: f"{size[0]}x{size[1]}")
async def test_a_job_of_4_x_8_takes_at_most_90_keys(size: tuple[int, int]) -> None:
    app = OfferingApp(Estate(), write=True)
    async with app.run_test(size=size) as pilot:
        form = await opened(pilot, app)
        pressed = 2  # the place and the form
        for keys in KEYS:
            pressed += await _press(pilot, keys)
        assert {name: form.values[name] for name in ("workers", "gpus", "queue", "data", "git")} == {
            "workers": "4",
            "gpus": "8",
            "queue": "gpu-lq",
            "data": "corpus:/data",
            "git": "https://git.corp/llm",
        }
        assert form.values["environment"] == "LR=0.1"
        assert isinstance(app.screen, ConfirmDialog) and "mpijob team-a/llama" in looking.flat(app)
        pressed += await _press(pilot, ("y",))
        (remark,) = (note.message for note in app._notifications)
        assert remark.startswith("no state folder"), "yes was taken; nothing is sent that is not audited"
        assert pressed <= MOST_KEYS


async def _press(pilot: Pilot[Any], keys: tuple[str, ...]) -> int:
    await pilot.press(*keys)
    await settle(pilot)
    return len(keys)
