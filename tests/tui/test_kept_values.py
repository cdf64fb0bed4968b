"""Values outlive a form: drafts, presets, the last ones, own templates; secrets do not."""

from pathlib import Path
from typing import Any

import pytest
from cockpit_widgets import ChoiceDialog, Form
from textual.pilot import Pilot

from cockpit.errors import BadInput
from cockpit.jobs.template import load_library, read_template, with_defaults
from cockpit.local_state.kept_forms import KeptForms
from cockpit.screens.submit import SubmitScreen
from tests.tui.deck import settle
from tests.tui.estate import Estate
from tests.tui.offering import OfferingApp

EACH_SIZE = pytest.mark.parametrize("size", [(80, 24), (160, 45)], ids=lambda size: f"{size[0]}x{size[1]}")


async def press(pilot: Pilot[Any], *keys: str) -> None:
    await pilot.press(*keys)
    await settle(pilot)


def fields(app: OfferingApp) -> Form:
    assert isinstance(app.screen, SubmitScreen)
    return app.screen.query_one("#fields", Form)


@EACH_SIZE
async def test_a_draft_comes_back_with_the_next_form_and_f4_starts_empty(size: tuple[int, int]) -> None:
    app = OfferingApp(Estate(), write=True, place="jobs")
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        await press(pilot, "N", *"llm", "tab", *"r/t:1", "escape")
        assert getattr(app.screen, "place", "") == "jobs"
        await press(pilot, "N")
        assert (fields(app).values["name"], fields(app).values["image"]) == ("llm", "r/t:1")
        await press(pilot, "f4", *"start", "enter")
        assert (fields(app).values["name"], fields(app).values["image"]) == ("", "")
        await press(pilot, "escape", "N")
        assert fields(app).values["name"] == ""


async def test_a_draft_that_cannot_be_written_is_not_called_kept(tmp_path: Path) -> None:
    """The file's folder is a file; a file that was broken before is mentioned at the start."""
    (tmp_path / "folder").write_text("")
    (tmp_path / "forms.json").write_text("{")
    app = OfferingApp(Estate(), write=True, place="jobs")
    app.kept_forms = KeptForms(tmp_path / "forms.json")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        assert any("saved values" in toast.message for toast in app._notifications)
        app.kept_forms = KeptForms(tmp_path / "folder" / "forms.json")
        await press(pilot, "N", *"llm", "escape")
        last = [toast for toast in app._notifications if "draft" in toast.message][-1]
        assert "cannot be created" in last.message and last.severity == "warning"
        app.kept_forms = KeptForms(tmp_path / "forms.json")
        await press(pilot, "N", *"llm", "escape")
        assert app.kept_forms.note == ""


@EACH_SIZE
async def test_a_preset_is_kept_by_a_name_and_loaded(size: tuple[int, int]) -> None:
    app = OfferingApp(Estate(), write=True, place="jobs")
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        await press(pilot, "N", *"llm", "pagedown", "pagedown", *"4", "tab", *"8")
        await press(pilot, "f4", *"big one", "enter")
        await press(pilot, "f4", *"start", "enter")
        assert fields(app).values["workers"] == "2"
        await press(pilot, "f4")
        assert isinstance(app.screen, ChoiceDialog)
        await press(pilot, *"big", "enter")
        values = fields(app).values
        assert (values["name"], values["workers"], values["gpus"]) == ("llm", "4", "8")


def test_values_stay_between_starts_without_secrets(tmp_path: Path) -> None:
    path = tmp_path / "forms.json"
    kept = KeptForms(path)
    kept.keep_draft("job", {"name": "a", "environment": "WANDB_API_KEY=0123456789abcdef"})
    kept.keep_last("mpijob", {"name": "b"})
    kept.keep_preset("mpijob", "big", {"workers": "4"})
    assert "0123456789abcdef" not in path.read_text() and path.stat().st_mode & 0o777 == 0o600
    again = KeptForms(path)
    assert again.latest_draft is not None and again.latest_draft[0] == "job"
    assert again.of("mpijob").last == {"name": "b"} and again.of("mpijob").presets == {
        "big": {"workers": "4"}
    }


@pytest.mark.parametrize("text", ["{", "[]", '{"a": {"presents": 1}}'])
def test_a_file_that_cannot_be_read_is_left_out(tmp_path: Path, text: str) -> None:
    path = tmp_path / "forms.json"
    path.write_text(text)
    kept = KeptForms(path)
    assert kept.latest_draft is None and "cannot be read" in kept.note


@pytest.mark.parametrize("name", sorted(load_library().templates))
def test_a_template_with_other_defaults_keeps_all_else(name: str) -> None:
    source = load_library().templates[name].source
    text = Path(source).read_text(encoding="utf-8")
    before = read_template(text, source)
    others = {"gpus": "8", "image": "r.example/t:1", "command": "run 'a b' \"c\""}
    wanted = {key: value for key, value in others.items() if before.parameter(key) is not None}
    assert len(wanted) >= 2, "a cluster that stays has no command"
    made = with_defaults(text, source, "ours", wanted)
    after = read_template(made, source)
    assert after.name == "ours" and after.manifest == before.manifest
    changed = {one.name: one.default for one in after.parameters if before.parameter(one.name) != one}
    assert changed == wanted


def test_a_default_that_its_parameter_refuses_is_refused() -> None:
    source = load_library().templates["job"].source
    with pytest.raises(BadInput, match="99 is too large"):
        with_defaults(Path(source).read_text(encoding="utf-8"), source, "ours", {"gpus": "99"})
