"""What an app sends to a real pseudo-terminal: changed cells, and everything where the screen is unknown."""

import os
import re
import signal
from collections.abc import Iterator

import pytest

from tests.tui.pseudo_terminal import PseudoTerminal

APP = """
from cockpit_widgets.frugal_app import FrugalApp
from textual.binding import Binding
from textual.widgets import Static

class Counter(FrugalApp):
    CSS = "Static { width: 100%; height: 1; }"
    BINDINGS = [Binding("n", "next"), Binding("a", "again"), Binding("s", "step_out"), Binding("q", "quit")]
    number = 0
    def compose(self):
        yield Static("top of the screen", id="top")
        yield Static("number 0 stands", id="number")
    def action_next(self):
        self.number += 1
        self.query_one("#number", Static).update(f"number {self.number} stands")
    def action_again(self):
        self.screen.refresh(layout=True)
        self.number += 1
        self.call_after_refresh(self.query_one("#number", Static).update, f"number {self.number} stands")
    def action_step_out(self):
        with self.suspend():
            print("\\x1b[2Jelsewhere", flush=True)
        self.refresh()

Counter().run()
"""
GARBAGE = b"\x1b[1;1Hgarbage from elsewhere\x1b[5;1Hand more"


@pytest.fixture
def terminal() -> Iterator[PseudoTerminal]:
    with PseudoTerminal(["-c", APP], (40, 10), {"COLORTERM": "truecolor"}) as one:
        one.shows("top of the screen", "number 0 stands")
        settle(one)
        yield one
        if one.exit_code is None:
            one.press("q")
            assert one.ends() == 0


def settle(terminal: PseudoTerminal) -> None:
    """Until it is silent: no more than an answer to a question may be on its way."""
    while terminal.is_readable(0.3):
        terminal.take(0)


def since(terminal: PseudoTerminal, before: int) -> bytes:
    return terminal.sent[before:]


@pytest.mark.parametrize("key", ["n", "a"], ids=["one widget", "all anew"])
def test_what_did_not_change_is_not_sent(terminal: PseudoTerminal, key: str) -> None:
    before = len(terminal.sent)
    terminal.press(key)
    terminal.shows("number 1 stands")
    assert len(since(terminal, before)) < 60
    assert b"screen" not in since(terminal, before) and b"stands" not in since(terminal, before)


def test_after_ctrl_l_everything_is_written(terminal: PseudoTerminal) -> None:
    terminal._stream.feed(GARBAGE)
    assert "garbage" in "\n".join(terminal.lines)
    terminal.press("\x0c")
    terminal.until(lambda seen: "garbage" not in seen and "and more" not in seen, "a clean screen")
    assert terminal.lines[0].rstrip() == "top of the screen"


@pytest.mark.parametrize("size", [(40, 10), (30, 8), (50, 12)], ids=["same", "smaller", "larger"])
def test_after_a_resize_everything_is_written(terminal: PseudoTerminal, size: tuple[int, int]) -> None:
    terminal.resize(*size)  # the emulated screen is empty from here on
    lines = terminal.shows("top of the screen", "number 0 stands")
    assert len(lines) == size[1]


def test_after_a_shell_everything_is_written(terminal: PseudoTerminal) -> None:
    terminal.press("s")
    # it may be wiped again before the emulated screen is looked at
    terminal.until(lambda _: b"elsewhere" in terminal.sent, "the other program")
    terminal.shows("top of the screen", "number 0 stands")


def test_after_the_background_everything_is_written(terminal: PseudoTerminal) -> None:
    os.kill(terminal.pid, signal.SIGTSTP)
    _, status = os.waitpid(terminal.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status)
    settle(terminal)
    terminal.screen.reset()
    os.kill(terminal.pid, signal.SIGCONT)
    terminal.shows("top of the screen", "number 0 stands")


def test_after_it_stood_still_one_reader_takes_the_keys(terminal: PseudoTerminal) -> None:
    """SIGSTOP, of which a program is told nothing: a laptop that sleeps, a debugger, a frozen container."""
    threads = len(os.listdir(f"/proc/{terminal.pid}/task"))
    for _ in range(3):
        os.kill(terminal.pid, signal.SIGSTOP)
        _, status = os.waitpid(terminal.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status)
        terminal.screen.reset()
        os.kill(terminal.pid, signal.SIGCONT)
        terminal.shows("top of the screen", "number 0 stands")
    assert len(os.listdir(f"/proc/{terminal.pid}/task")) == threads
    terminal.press("n")
    terminal.shows("number 1 stands")
    terminal.press("q")
    assert terminal.ends() == 0
    assert terminal.modes()["1049"] is False


def test_the_terminal_is_left_with_its_own_pen(terminal: PseudoTerminal) -> None:
    terminal.press("q")
    assert terminal.ends() == 0
    last = re.findall(rb"\x1b\[([0-9;]*)m", terminal.sent)[-1]
    assert last in (b"0", b"")
