"""A terminal that takes nothing (a stopped tmux, a dead link): the app goes on, is left, and catches up."""

import os
import time
from collections.abc import Callable, Iterator

import pytest

from tests.tui.pseudo_terminal import PseudoTerminal

APP = """
from cockpit_widgets.frugal_app import FrugalApp
from textual.binding import Binding
from textual.widgets import Static

class Counter(FrugalApp):
    CSS = "Static { width: 100%; height: 1; }"
    BINDINGS = [Binding("n", "next"), Binding("f", "fill"), Binding("q", "quit")]
    number = 0
    def compose(self):
        yield Static("number 0 stands", id="number")
    def action_next(self):
        self.number += 1
        self.query_one("#number", Static).update(f"number {self.number} stands")
        if self.number >= 60:
            open(PATH, "w").close()
    def action_fill(self):
        self._driver.write("\\x1b[5;1Hfiller" * 20_000)

Counter().run()
"""
KEYS = 60
LONG_SECONDS = 60.0


@pytest.fixture
def terminal(tmp_path: os.PathLike[str]) -> Iterator[PseudoTerminal]:
    """An app that has been sent more than a terminal that is not read takes, and has seen all keys since."""
    seen = os.path.join(tmp_path, "seen")
    with PseudoTerminal(["-c", APP.replace("PATH", repr(seen))], (40, 10), {}) as made:
        made.shows("number 0 stands")
        made.press("f", *"n" * KEYS)
        wait(lambda: os.path.exists(seen), "every key was looked at")
        yield made


def wait(is_so: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + LONG_SECONDS
    while not is_so():
        assert time.monotonic() < end, what
        time.sleep(0.01)


def test_it_is_left_and_the_terminal_gets_what_restores_it(terminal: PseudoTerminal) -> None:
    terminal.press("q")
    wait(
        lambda: os.waitid(os.P_PID, terminal.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None,
        "it ends although nothing is read",
    )
    before = len(terminal.sent)
    while terminal.take(0.3):
        pass
    rest = terminal.sent[before:]
    assert rest.rfind(b"\x1b[?1049l") > rest.rfind(b"filler"), rest[-200:]
    assert rest.count(b"filler") < 20_000
    assert terminal.ends() == 0


def test_it_catches_up_once_it_is_read(terminal: PseudoTerminal) -> None:
    terminal.shows(f"number {KEYS} stands")
    assert b"number 30 stands" not in terminal.sent, "frames between were left out"
    terminal.press("q")
    assert terminal.ends() == 0
