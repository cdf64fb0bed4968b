"""Which remarks are on the screen at a time."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

MOST_TOASTS = 4
"""Each is a widget with two tasks. Keys without an effect, pressed quickly, showed 60 of them."""

SHOWN_SECONDS = {"information": 8.0, "warning": 15.0, "error": 20.0}
"""Severity -> how long a remark is shown."""


class Toast(NamedTuple):
    """A remark; it goes at `until`, in seconds of the same clock as `Toasts`."""

    message: str
    until: float
    options: Mapping[str, Any]

    @property
    def is_weighty(self) -> bool:
        """Whether it may not give way to others."""
        return bool(self.options.get("severity", "information") != "information")


class Toasts:
    """Keeps a remark once while it is shown, and of plain remarks the newest alone where there are many.

    `show` adds one to the screen, `clear` takes all away, `seconds` is a monotonic clock.
    """

    def __init__(
        self, show: Callable[..., None], clear: Callable[[], None], seconds: Callable[[], float]
    ) -> None:
        self._show = show
        self._clear = clear
        self._seconds = seconds
        self._shown: list[Toast] = []

    def add(self, message: str, options: Mapping[str, Any]) -> None:
        """Show a remark for as long as its severity asks, unless the same is shown."""
        now = self._seconds()
        self._shown = [toast for toast in self._shown if toast.until > now]
        if any((toast.message, toast.options) == (message, options) for toast in self._shown):
            return
        if len(self._shown) >= MOST_TOASTS:
            self._clear()
            self._shown = [toast for toast in self._shown if toast.is_weighty]
            for toast in self._shown:
                self._show(toast.message, timeout=toast.until - now, **toast.options)
        seconds = SHOWN_SECONDS[options.get("severity", "information")]
        self._shown.append(Toast(message, now + seconds, options))
        self._show(message, timeout=seconds, **options)
