"""The form while its fields become others, or are filled in, under somebody's fingers."""

import asyncio

import pytest
from cockpit_widgets.form import Form
from cockpit_widgets.form_fields import ChoiceField
from cockpit_widgets.form_row import FieldRow
from cockpit_widgets.form_words import FieldNote
from cockpit_widgets.types import FieldSpec
from textual import events

from tests.unit.widgets.builders import Host, texts_of
from tests.unit.widgets.test_form import editor, focused


async def test_a_field_becomes_another_kind_and_keeps_value_and_focus() -> None:
    form = Form((FieldSpec("a", "A"), FieldSpec("queue", "Queue", help="typed", required=False)))
    async with Host(form).run_test(size=(80, 24)) as pilot:
        await pilot.press("tab", *"main")
        offered = FieldSpec(
            "queue", "Queue", "choice", choices=("", "main", "side"), help="2 there", required=False
        )
        await form.change_field(offered)
        await pilot.pause()
        assert (focused(form), form.values["queue"]) == ("queue", "main")
        await pilot.press("right")
        assert form.values["queue"] == "side"
        assert isinstance(editor(form, "queue"), ChoiceField)
        await form.change_field(FieldSpec("queue", "Queue", help="denied: type the name", required=False))
        await pilot.press("end", "2")
        assert (focused(form), form.values["queue"]) == ("queue", "side2")
        assert any("denied: type the name" in line for one in form.query(FieldNote) for line in texts_of(one))
        with pytest.raises(KeyError):
            await form.change_field(FieldSpec("nobody", "Nobody"))


async def test_a_tab_while_a_field_becomes_another_goes_on_to_the_next() -> None:
    """The choices of a field come when the cluster has told them: in the middle of somebody's typing."""
    form = Form(tuple(FieldSpec(one, one.title(), required=False) for one in ("space", "queue", "pods")))
    async with Host(form).run_test(size=(80, 24)) as pilot:
        offered = FieldSpec("queue", "Queue", "choice", choices=("", "main"), required=False)
        change = asyncio.create_task(form.change_field(offered))
        for _ in range(100):  # turns of the loop, until both stand in the row
            if len(form.query(FieldRow)[1].query("ChoiceField, TextField")) == 2:
                break
            await asyncio.sleep(0)
        assert not change.done()
        form.screen.focus_next()
        assert form.screen.focused is editor(form, "queue")
        editor(form, "queue").put("main")
        form.screen.focus_next()
        await change
        await pilot.pause()
        assert focused(form) == "pods"
        assert form.values["queue"] == "main"


@pytest.mark.parametrize("turns", range(12))
async def test_what_is_typed_while_a_field_becomes_a_choice_is_found(turns: int) -> None:
    """Whenever the choices come: the key behind goes to the next field, never to the same one again."""
    form = Form(tuple(FieldSpec(one, one.title(), required=False) for one in ("queue", "pods")))
    async with Host(form).run_test(size=(80, 24)) as pilot:
        choices = ("", "main", "side")
        offered = FieldSpec("queue", "Queue", "choice", choices=choices, required=False)
        change = asyncio.create_task(form.change_field(offered))
        for key in (*"main", "tab", "4"):
            for _ in range(turns):
                await asyncio.sleep(0)
            pilot.app.post_message(events.Key(key, key if len(key) == 1 else None))
        await change
        await pilot.pause()
        await pilot.pause()
        assert dict(form.values) == {"queue": "main", "pods": "4"}


@pytest.mark.parametrize(("typed", "wanted"), [("side", "side"), ("", "main")])
async def test_what_is_typed_takes_the_place_of_what_was_put_under_the_fingers(
    typed: str, wanted: str
) -> None:
    form = Form(tuple(FieldSpec(one, one.title(), required=False) for one in ("queue", "pods")))
    async with Host(form).run_test(size=(80, 24)) as pilot:
        form.focus_first()
        form.set_value("queue", "main")
        form.set_value("pods", "4")
        await pilot.press(*typed, "tab", "2")
        assert dict(form.values) == {"queue": wanted, "pods": "42"}


async def test_what_is_typed_into_a_choice_says_beneath_it_which_values_are_left() -> None:
    values = ("gpu-lq", "gpu-low", "spot", "batch")
    form = Form(
        (FieldSpec("q", "Queue", "choice", "gpu-lq", "its help", choices=values), FieldSpec("b", "B"))
    )
    async with Host(form).run_test(size=(80, 24)) as pilot:
        note = form.query(FieldRow).first().note
        for keys, told in (
            ("g", "2 of 4 match: gpu-lq, gpu-low"),
            ("pu-lo", "1 of 4 match: gpu-low"),
            ("x", "no match for 'gpu-lox' among 4 values: space lists them"),
        ):
            await pilot.press(*keys)
            await pilot.pause()
            assert told in str(note._help)
        await pilot.press("backspace")
        await pilot.pause()
        assert note._help == "its help" and form.values["q"] == "gpu-low"
