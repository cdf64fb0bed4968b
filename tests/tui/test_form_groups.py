"""The sections of the form of a new job: one open, the others told in a line; fields found by name."""

from typing import Any

import pytest
from cockpit_widgets import ChoiceDialog, Form
from cockpit_widgets.form_groups import FieldGroup
from textual.pilot import Pilot

from cockpit.screens.submit import SubmitScreen
from tests.tui import looking
from tests.tui.deck import settle
from tests.tui.estate import Estate
from tests.tui.offering import OfferingApp
from tests.tui.test_form_choices import opened

SIZES = ((80, 24), (160, 45))
EACH_SIZE = pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")


def open_sections(form: Form) -> list[str]:
    return [group.title for group in form.query(FieldGroup) if group.is_open]


async def press(pilot: Pilot[Any], *keys: str) -> None:
    await pilot.press(*keys)
    await settle(pilot)


@EACH_SIZE
async def test_the_section_with_the_focus_is_open_and_the_others_are_told_in_a_line(
    size: tuple[int, int],
) -> None:
    app = OfferingApp(Estate(), write=True, place="jobs")
    async with app.run_test(size=size) as pilot:
        form = await opened(pilot, app)
        assert open_sections(form) == ["What"]
        text = looking.text(app)
        assert "2 of 2 required left" in text
        assert "▸ Where     team-a · gpu-lq" in text
        assert "2 x 1 GPU = 2" in text and "settings at their defaults" in text
        await press(pilot, *"llm", "pagedown", "pagedown", "4", "tab", "8")
        assert open_sections(form) == ["How many"]
        assert (form.values["workers"], form.values["gpus"]) == ("4", "8")
        text = looking.text(app)
        assert "▸ What      llm · python /app/train.py" in text and "1 of 2 required left" in text
        await press(pilot, "pageup", "pageup")
        assert open_sections(form) == ["What"] and "4 x 8 GPUs = 32" in looking.text(app)


@EACH_SIZE
async def test_tab_from_the_last_field_of_a_section_opens_the_next(size: tuple[int, int]) -> None:
    app = OfferingApp(Estate(), write=True, place="jobs")
    async with app.run_test(size=size) as pilot:
        form = await opened(pilot, app)
        await press(pilot, "tab", "tab", "tab")
        assert form.focused_field is not None and form.focused_field.id == "environment"
        await press(pilot, "tab")
        assert form.focused_field.id == "namespace" and open_sections(form) == ["Where"]
        await press(pilot, "shift+tab")
        assert form.focused_field.id == "environment" and open_sections(form) == ["What"]


@EACH_SIZE
@pytest.mark.parametrize(
    ("typed", "field"),
    [("queue", "queue"), ("workers", "workers"), ("dev/shm", "shared-memory"), ("kept", "keep-seconds")],
)
async def test_a_field_is_found_by_name_label_or_help(size: tuple[int, int], typed: str, field: str) -> None:
    app = OfferingApp(Estate(), write=True, place="jobs")
    async with app.run_test(size=size) as pilot:
        form = await opened(pilot, app)
        await press(pilot, "ctrl+f")
        assert isinstance(app.screen, ChoiceDialog)
        await press(pilot, *typed, "enter")
        assert isinstance(app.screen, SubmitScreen)
        assert form.focused_field is not None and form.focused_field.id == field


async def test_a_slash_jumps_where_no_text_is_typed() -> None:
    app = OfferingApp(Estate(), write=True, place="jobs")
    async with app.run_test(size=(80, 24)) as pilot:
        form = await opened(pilot, app)
        await press(pilot, "slash")
        assert isinstance(app.screen, SubmitScreen) and form.values["name"] == "/"
        await press(pilot, "pagedown", "slash", *"suspended", "enter")
        assert form.focused_field is not None and form.focused_field.id == "suspended"
        await press(pilot, "slash", *"image", "enter")
        assert form.focused_field.id == "image"


@EACH_SIZE
async def test_a_wrong_field_is_told_at_itself_and_at_its_folded_section(size: tuple[int, int]) -> None:
    app = OfferingApp(Estate(), write=True, place="jobs")
    async with app.run_test(size=size) as pilot:
        await opened(pilot, app)
        await press(pilot, *"Bad_Name", "pagedown", "pagedown", *"99999", "ctrl+s")
        text = " ".join(looking.text(app).split())
        assert "× 2 to correct" not in text, "its section is open, the sentences stand there"
        assert "use lower-case letters" in text and "a value is required" in text
        assert "× 1 to correct" in text
        form = app.screen.query_one("#fields", Form)
        assert form.focused_field is not None and form.focused_field.id == "name"


async def test_f1_tells_the_help_of_the_field_whole() -> None:
    app = OfferingApp(Estate(), write=True, place="jobs")
    async with app.run_test(size=(80, 24)) as pilot:
        form = await opened(pilot, app)
        form.focus_field("topology")
        await press(pilot, "f1")
        text = " ".join(looking.text(app).split())
        assert "This field" in text and "ctrl+s" in text
