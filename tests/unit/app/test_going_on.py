"""The screens go on when one widget, timer or worker fails: a report, a remark, and every key still works."""

from pathlib import Path

import pytest
from textual.widget import Widget
from textual.widgets import Static

from cockpit.app import AppOptions, CockpitApp
from cockpit.attach import AttachOptions
from cockpit.clock import ManualClock
from cockpit.screens.now import NowScreen


class OddError(Exception):
    """Nobody expects this."""


class Undrawable(Static):
    """A widget that cannot be drawn."""

    def render(self) -> str:
        raise OddError("hunter2")


class OddKeys(Static, can_focus=True):
    """Fails at every key."""

    keys = 0

    def on_key(self) -> None:
        self.keys += 1
        raise OddError("hunter2")


def app(folder: Path) -> CockpitApp:
    options = AppOptions(AttachOptions(), attach=False, state_folder=folder, goes_on=True)
    return CockpitApp(options, clock=ManualClock())


def report_of(folder: Path) -> str:
    (report,) = (folder / "crashes").iterdir()
    text = report.read_text()
    assert "OddError" in text and "hunter2" not in text
    return f"report at {report}"


def remarks(made: CockpitApp) -> list[str]:
    return [one.message for one in made._notifications]


async def fail() -> None:
    raise OddError("hunter2")


async def goes_on(made: CockpitApp, folder: Path, where: str) -> None:
    """What was told, and that keys still lead from place to place."""
    assert made.fault is None and made.is_running
    (remark,) = remarks(made)
    assert remark == f"internal error in {where} (OddError): {report_of(folder)}."
    assert made.attachment.faults == {"screens": remark.removesuffix(".")}


async def test_a_worker(tmp_path: Path) -> None:
    made = app(tmp_path)
    async with made.run_test() as pilot:
        made.spawn(fail, "odd")
        await pilot.pause()
        await goes_on(made, tmp_path, "the screens")
        await pilot.press("2")
        assert made.screen.query("ResourceTable")


async def test_a_timer_and_a_later_call(tmp_path: Path) -> None:
    made = app(tmp_path)
    async with made.run_test() as pilot:
        made.call_later(fail)
        made.set_timer(0.001, fail)
        made.screen.call_after_refresh(fail)
        await pilot.pause(0.05)
        assert made.fault is None and made.is_running
        assert all("internal error in " in one for one in remarks(made))
        await pilot.press("2")
        assert made.screen.query("ResourceTable")


async def test_a_key_of_a_screen_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = app(tmp_path)

    def odd(_screen: NowScreen) -> None:
        raise OddError("hunter2")

    monkeypatch.setattr(NowScreen, "action_help", odd)
    async with made.run_test() as pilot:
        await pilot.press("question_mark")
        await pilot.press("question_mark")
        assert made.fault is None and made.is_running
        assert len(remarks(made)) == 1, "told once"
        await pilot.press("2")
        assert made.screen.query("ResourceTable")


async def test_a_widget_whose_handler_fails_hears_the_next_key(tmp_path: Path) -> None:
    made = app(tmp_path)
    async with made.run_test() as pilot:
        odd = OddKeys()
        await made.screen.mount(odd)
        odd.focus()
        await pilot.press("x", "x")
        await goes_on(made, tmp_path, "OddKeys")
        assert odd.keys == 2
        await pilot.press("2")
        assert made.screen.query("ResourceTable")


async def test_what_a_screen_makes_of_the_store_does_not_end_whoever_moved_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = app(tmp_path)

    def odd(_screen: NowScreen) -> None:
        raise OddError("hunter2")

    async with made.run_test() as pilot:
        await pilot.pause()
        monkeypatch.setattr(NowScreen, "project", odd)
        made._signal.at_once()
        await pilot.pause()
        await goes_on(made, tmp_path, "the screens")
        monkeypatch.undo()
        await pilot.press("2")
        assert made.screen.query("ResourceTable")


async def test_a_widget_that_cannot_be_drawn_says_so_in_its_place(tmp_path: Path) -> None:
    made = app(tmp_path)
    async with made.run_test(size=(100, 30)) as pilot:
        odd: Widget = Undrawable(id="odd")
        odd.styles.height = 3
        await made.screen.mount(odd, before=0)
        await pilot.pause()
        assert made.fault is None and made.is_running
        drawn = "".join(strip.text for strip in odd.render_lines(odd.size.region))
        assert drawn.startswith("internal error in Undrawable (OddError): report at ")
        await pilot.press("2")
        assert made.screen.query("ResourceTable")


async def test_before_the_first_screen_it_ends_with_the_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = app(tmp_path)

    def odd(_app: CockpitApp) -> None:
        raise OddError("hunter2")

    monkeypatch.setattr(CockpitApp, "on_mount", odd)
    with pytest.raises(OddError):
        async with made.run_test():
            pass
    assert isinstance(made.fault, OddError)
