"""The form while its fields become others, or are filled in, under somebody's fingers."""

import asyncio

import pytest
from cockpit_widgets.choice_list import ChoiceList
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


async def test_a_choice_lists_its_values_and_narrows_them_to_what_is_typed() -> None:
    values = ("gpu-lq", "gpu-low", "spot", "batch")
    form = Form(
        (FieldSpec("q", "Queue", "choice", "gpu-lq", "its help", choices=values), FieldSpec("b", "B"))
    )
    async with Host(form).run_test(size=(80, 24)) as pilot:
        row = form.query(FieldRow).first()
        form.focus_first()
        for keys, listed in (
            ((), ["› gpu-lq", "  gpu-low", "  spot", "  batch"]),
            (("g",), ["› gpu-lq", "  gpu-low"]),
            (("down",), ["  gpu-lq", "› gpu-low"]),
            (tuple("pu-lo"), ["› gpu-low"]),
            (("x",), ["› gpu-low"]),
            (("backspace",), ["  gpu-lq", "› gpu-low", "  spot", "  batch"]),
        ):
            await pilot.press(*keys)
            await pilot.pause()
            lines = ["".join(cell.text for cell in line).rstrip() for line in row.values.flow(40)]
            assert row.values.display and lines[:-1] == listed, keys
            assert (lines[-1] == "  no match for 'gpu-lox'") == (keys == ("x",))
        await pilot.press("tab")
        await pilot.pause()
        assert not row.values.display and form.values["q"] == "gpu-low"


async def test_a_long_list_is_shown_around_its_value_and_a_click_takes_one() -> None:
    values = tuple(f"node-{number:02}" for number in range(40))
    form = Form((FieldSpec("n", "Node", "choice", "node-20", choices=values), FieldSpec("b", "B")))
    async with Host(form).run_test(size=(80, 24)) as pilot:
        row = form.query(FieldRow).first()
        form.focus_first()
        await pilot.pause()
        lines = ["".join(cell.text for cell in line).strip() for line in row.values.flow(60)]
        assert lines[3] == "› node-20" and lines[-1].startswith("34 more")
        assert await pilot.click(ChoiceList, offset=(4, 5))
        await pilot.pause()
        assert form.values["n"] == "node-22"
