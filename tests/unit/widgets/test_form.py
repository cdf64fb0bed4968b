"""The form: moving, editing, validation in place, submitting, at 80x24 too."""

from typing import Any

import pytest
from cockpit_widgets.form import Form
from cockpit_widgets.form_fields import ChoiceField, SwitchField
from cockpit_widgets.form_row import FieldRow
from cockpit_widgets.form_words import FieldNote
from cockpit_widgets.types import FieldSpec
from textual import events
from textual.widgets import Input, TextArea

from tests.unit.widgets.builders import HOSTILE, SIZES, Host, assert_sound, texts_of

FIELDS = (
    FieldSpec("name", "Name", value="llm", help="lower-case letters, digits and dashes"),
    FieldSpec("workers", "Workers", "integer", "4", minimum=1, maximum=512, unit="pods"),
    FieldSpec("queue", "Queue", "choice", "gpu-lq", choices=("gpu-lq", "batch-lq", "big", "research")),
    FieldSpec("elastic", "Elastic", "switch", "false"),
    FieldSpec("command", "Command", "multiline", "python\ntrain.py"),
    FieldSpec("image", "Image", help="registry/name:tag"),
    FieldSpec("note", "Note", required=False),
)


class Hearing(Host):
    def on_form_changed(self, event: Form.Changed) -> None:
        self.hear(("changed", dict(event.values), dict(event.errors)))

    def on_form_submitted(self, event: Form.Submitted) -> None:
        self.hear(("submitted", dict(event.values)))


def focused(form: Form) -> str | None:
    row = next((row for row in form.query(FieldRow) if row.editor.has_focus), None)
    return None if row is None else row.spec.id


def notes(form: Form) -> dict[str, str]:
    return {row.spec.id: row.note.fault for row in form.query(FieldRow) if row.note.fault}


def editor(form: Form, field_id: str) -> Any:
    return next(row.editor for row in form.query(FieldRow) if row.spec.id == field_id)


async def test_the_start_values_are_the_values() -> None:
    form = Form(FIELDS)
    async with Host(form).run_test(size=(80, 24)):
        assert form.values == {
            "name": "llm",
            "workers": "4",
            "queue": "gpu-lq",
            "elastic": "false",
            "command": "python\ntrain.py",
            "image": "",
            "note": "",
        }
        assert form.errors == {"image": "Image is empty: give a value."}
        assert notes(form) == {}


async def test_tab_and_arrows_move_and_the_ends_hold() -> None:
    form = Form(FIELDS)
    async with Host(form).run_test(size=(80, 24)) as pilot:
        form.focus_first()
        walked = []
        for key in ["up", "tab", "shift+tab", "down", "down", "down", "down", "down", "down", "down", "down"]:
            await pilot.press(key)
            walked.append(focused(form))
        # two lines of command take one press more
        assert walked == [
            "name",
            "workers",
            "name",
            "workers",
            "queue",
            "elastic",
            "command",
            "command",
            "image",
            "note",
            "note",
        ]
        for wanted in ("image", "command", "command", "elastic", "queue"):
            await pilot.press("up")
            assert focused(form) == wanted


@pytest.mark.parametrize("size", SIZES)
async def test_the_focused_field_is_always_in_view(size: tuple[int, int]) -> None:
    fields = [FieldSpec(f"f{n}", f"Field {n}", help="help") for n in range(40)]
    form = Form(fields)
    async with Host(form).run_test(size=size) as pilot:
        form.focus_first()
        for number in range(40):
            await pilot.pause()
            # with the help under it
            row = next(row for row in form.query(FieldRow) if row.editor.has_focus)
            assert row.spec.id == f"f{number}"
            assert form.region.contains_region(row.region), number
            await pilot.press("down")


async def test_a_wrong_value_is_told_where_it_stands_while_one_types() -> None:
    form = Form(FIELDS)
    app = Hearing(form)
    async with app.run_test(size=(80, 24)) as pilot:
        editor(form, "workers").focus()
        await pilot.press("9", "9", "9")
        await pilot.pause()
        assert notes(form) == {"workers": 'Workers is "999": give a whole number from 1 to 512.'}
        note = form.query(FieldRow)[1].note
        assert texts_of(note)[0].strip() == '× Workers is "999": give a whole number from 1 to 512.'
        assert app.heard[-1][1]["workers"] == "999"
        assert set(app.heard[-1][2]) == {"workers", "image"}
        await pilot.press("backspace")
        await pilot.pause()
        assert notes(form) == {}


async def test_a_field_that_was_left_empty_says_so() -> None:
    form = Form(FIELDS)
    async with Host(form).run_test(size=(80, 24)) as pilot:
        editor(form, "image").focus()
        await pilot.pause()
        assert notes(form) == {}
        await pilot.press("tab")
        await pilot.pause()
        assert notes(form) == {"image": "Image is empty: give a value."}


async def test_enter_goes_to_the_first_wrong_field_and_submits_when_all_is_right() -> None:
    form = Form(FIELDS)
    app = Hearing(form)
    async with app.run_test(size=(80, 24)) as pilot:
        form.focus_first()
        await pilot.press("enter")
        await pilot.pause()
        assert focused(form) == "image"
        assert notes(form) == {"image": "Image is empty: give a value."}
        assert not any(said[0] == "submitted" for said in app.heard)
        await pilot.press("r", "slash", "i", "enter")
        await pilot.pause()
        assert app.heard[-1] == ("submitted", {**form.values, "image": "r/i"})


async def test_enter_is_a_new_line_in_several_lines_and_ctrl_s_submits() -> None:
    form = Form([FieldSpec("command", "Command", "multiline", "a")])
    app = Hearing(form)
    async with app.run_test(size=(80, 24)) as pilot:
        form.focus_first()
        await pilot.press("end", "enter", "b", "ctrl+s")
        await pilot.pause()
        assert app.heard[-1] == ("submitted", {"command": "a\nb"})


async def test_a_choice_by_arrows_by_typing_and_by_list() -> None:
    form = Form(FIELDS)
    app = Hearing(form)
    async with app.run_test(size=(80, 24)) as pilot:
        choice = editor(form, "queue")
        choice.focus()
        for keys, wanted in [
            (("right",), "batch-lq"),
            (("left", "left"), "research"),
            (("b",), "batch-lq"),
            (("i",), "big"),
            (("g",), "big"),
            (("backspace", "l"), "gpu-lq"),
            (("q",), "gpu-lq"),
            (("z",), "gpu-lq"),
            (("r",), "research"),
        ]:
            await pilot.press(*keys)
            assert form.values["queue"] == wanted, keys
        for keys, wanted in [
            (("tab", "shift+tab", "space", "home", "space", "down"), "batch-lq"),
            (("down", "enter"), "big"),
            (("q", "down", "escape"), "big"),
            (("g", "up"), "big"),
            (("up", "up", "enter"), "big"),
        ]:
            await pilot.press(*keys)
            assert form.values["queue"] == wanted, keys
        await pilot.press("down")
        assert app.focused is not choice, "the list was left by enter"
        assert app.heard[-1][1]["queue"] == "big"
        assert texts_of(choice)[0] == "◂ big ▸  3/4"


async def test_a_switch_turns() -> None:
    form = Form(FIELDS)
    async with Host(form).run_test(size=(80, 24)) as pilot:
        switch = editor(form, "elastic")
        switch.focus()
        for key, wanted in [
            ("space", "true"),
            ("left", "false"),
            ("y", "true"),
            ("y", "true"),
            ("n", "false"),
        ]:
            await pilot.press(key)
            assert form.values["elastic"] == wanted
        assert texts_of(switch)[0] == "[ ] no"


async def test_choices_and_errors_can_come_later() -> None:
    form = Form(FIELDS)
    async with Host(form).run_test(size=(80, 24)) as pilot:
        form.set_choices("queue", ("a", "b"))
        await pilot.pause()
        assert form.errors["queue"] == 'Queue is "gpu-lq", which is not available: choose one of a, b.'
        form.set_value("queue", "b")
        form.set_errors({"name": "Name is taken in team-a: give another one.", "unknown": "x"})
        await pilot.pause()
        assert notes(form) == {"name": "Name is taken in team-a: give another one."}
        editor(form, "name").focus()
        await pilot.press("x")
        await pilot.pause()
        assert "name" not in form.errors
        assert notes(form) == {}
        with pytest.raises(KeyError):
            form.set_value("unknown", "1")


async def test_a_long_help_goes_on_under_its_field_and_a_long_name_gives_way_to_its_unit() -> None:
    long_help = "directory of event files on a claim; served at port 6006 of the launcher"
    name = "A name of forty cells or somewhat more yet"
    two = (FieldSpec("a", name, unit="pods", help=long_help), FIELDS[5])
    form = Form(two)
    async with Host(form).run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        drawn = [line.rstrip() for row in form.query(FieldRow) for line in texts_of(row.label)]
        assert drawn[0] == "A name of forty c… (pods) *"
        note = [line for line in texts_of(form.query(FieldRow).first().note) if line.strip()]
        assert " ".join(line.strip() for line in note) == long_help
        row = form.query(FieldRow).first()
        under = row.editor.region.x - row.region.x + 1  # its text begins a cell inside
        assert {len(line) - len(line.lstrip()) for line in note} == {under}
    alone = Form(two[:1])
    async with Host(alone).run_test(size=(80, 24)):
        drawn = [line.rstrip() for row in alone.query(FieldRow) for line in texts_of(row.label)]
        assert drawn == ["A name of forty cells or somewhat more yet (pods) *"], "alone it has room"


@pytest.mark.parametrize("size", SIZES)
async def test_hostile_words_cannot_break_a_line(size: tuple[int, int]) -> None:
    fields = [
        FieldSpec(f"f{n}", text, "choice", HOSTILE[0], help=text, unit=text, choices=tuple(HOSTILE))
        for n, text in enumerate(HOSTILE)
    ]
    form = Form(fields)
    async with Host(form).run_test(size=size) as pilot:
        await pilot.press("tab", "enter")
        form.set_errors({"f0": HOSTILE[0]})
        await pilot.pause()
        for widget in [*form.query(ChoiceField), *form.query(FieldNote)]:
            assert_sound(widget)


async def test_a_pasted_control_character_is_not_drawn() -> None:
    bad = "a\x1b[2J\u202eb"
    form = Form(
        [FieldSpec("name", "Name", value=bad), FieldSpec("command", "Command", "multiline", f"{bad}\n\tc")]
    )
    async with Host(form).run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        name, command = form.query_one(Input), form.query_one(TextArea)
        for again in (False, True):
            assert name.render_line(0).text.startswith("a·[2J·b")
            assert command.render_line(0).text.startswith("a·[2J·b")
            assert command.render_line(1).text.startswith("    c")
            if not again:
                name.value = bad
                command.text = f"{bad}\n\tc"
                await pilot.pause()


async def test_a_text_is_completed_to_what_is_offered() -> None:
    form = Form((FieldSpec("data", "Data", required=False),))
    async with Host(form).run_test(size=(80, 24)) as pilot:
        await form.change_field(FieldSpec("data", "Data", choices=("corpus:/data",), required=False))
        await pilot.press(*"cor")
        await pilot.app.workers.wait_for_complete()
        await pilot.pause()
        await pilot.press("right")
        assert form.values["data"] == "corpus:/data"
        await pilot.press("backspace", *"x other:/o")
        assert form.values["data"] == "corpus:/datx other:/o", "anything else may be typed"


BURST = (
    *(("ctrl+u", "\x15"), ("ctrl+w", "\x17"), ("ctrl+k", "\x0b"), ("delete", None), ("backspace", "\x7f")),
    *(("ctrl+a", "\x01"), ("ctrl+e", "\x05"), ("home", None), ("end", None), ("left", None)),
)


def burst(form: Form, *keys: tuple[str, str | None]) -> None:
    """All at once, as a slow machine reads them: nothing is processed in between."""
    for key, character in keys:
        form.app.post_message(events.Key(key, character))


async def test_a_burst_of_editing_keys_in_a_choice_changes_no_field_behind_it() -> None:
    form = Form(
        [
            FieldSpec("queue", "Queue", kind="choice", choices=("a", "b", "c"), value="b"),
            FieldSpec("rdma", "RDMA", kind="switch", value="false"),
            FieldSpec("name", "Name", value="kept as it is"),
        ]
    )
    async with Host(form).run_test() as pilot:
        form.query_one(ChoiceField).focus()
        await pilot.pause()
        burst(form, *BURST, ("tab", "\t"), *BURST, ("tab", "\t"))
        await pilot.pause()
        await pilot.pause()
        values = form.values
        # ctrl+a first, ctrl+e last, home first, end last, left one before; the switch knows left alone
        assert values == {"queue": "b", "rdma": "true", "name": "kept as it is"}


async def test_keys_in_a_choice_act_in_their_order() -> None:
    choices = ("alpha", "beta", "delta", "gamma")
    form = Form([FieldSpec("queue", "Queue", kind="choice", choices=choices, value="beta")])
    async with Host(form).run_test() as pilot:
        form.query_one(ChoiceField).focus()
        await pilot.pause()
        burst(form, ("g", "g"), ("ctrl+u", "\x15"), ("d", "d"), ("left", None))
        await pilot.pause()
        assert form.values["queue"] == "beta"
        burst(form, ("end", None), ("right", None), ("right", None))
        await pilot.pause()
        assert form.values["queue"] == "beta"


async def test_a_switch_is_turned_in_the_order_of_its_keys() -> None:
    form = Form([FieldSpec("rdma", "RDMA", kind="switch", value="false")])
    async with Host(form).run_test() as pilot:
        form.query_one(SwitchField).focus()
        await pilot.pause()
        for key, expected in (("y", "true"), ("y", "true"), ("n", "false"), ("space", "true")):
            burst(form, (key, key))
            await pilot.pause()
            assert form.values["rdma"] == expected
