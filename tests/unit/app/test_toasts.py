"""Which remarks are on the screen at a time."""

from typing import Any

from cockpit.screens.toasts import MOST_TOASTS, SHOWN_SECONDS, Toasts


class Screen:
    """What is shown, by a clock that is set."""

    def __init__(self) -> None:
        self.now = 0.0
        self.shown: dict[str, float] = {}
        self.times_shown = 0
        self.toasts = Toasts(self._show, self.shown.clear, lambda: self.now)

    def _show(self, message: str, *, timeout: float, **_options: Any) -> None:
        self.times_shown += 1
        self.shown[message] = self.now + timeout

    def add(self, message: str, severity: str = "information") -> None:
        self.toasts.add(message, {"severity": severity})


def test_a_remark_is_shown_once_while_it_is_there() -> None:
    screen = Screen()
    for _ in range(10):
        screen.add("k does nothing on this page")
    assert screen.times_shown == 1
    screen.now = SHOWN_SECONDS["information"] + 1.0
    screen.add("k does nothing on this page")
    assert screen.times_shown == 2


def test_plain_remarks_give_way_to_the_newest() -> None:
    screen = Screen()
    for number in range(10 * MOST_TOASTS):
        screen.add(f"remark {number}")
        assert len(screen.shown) <= MOST_TOASTS
        assert f"remark {number}" in screen.shown


def test_errors_stay_for_their_time() -> None:
    screen = Screen()
    screen.add("the server refused it", "error")
    for number in range(50):
        screen.now = number / 10
        screen.add(f"remark {number}")
    assert screen.shown["the server refused it"] == SHOWN_SECONDS["error"]


def test_the_same_words_of_another_severity_are_shown() -> None:
    screen = Screen()
    screen.add("it is gone")
    screen.add("it is gone", "error")
    assert screen.times_shown == 2
