"""Two faults of Textual 8.2 that end a long session, mended for all widgets of this process.

It remembers backgrounds for each widget that asked, so that the last thousand drawn widgets keep every line
that they drew after their page is closed: 20 MB that a session grows by before it is flat (measured).

A timer that fires once is given up where its time is over before it begins, as on a busy machine; with a
time below zero, as of a notice that ended while it was put up, its task turns in circles and freezes the app.
"""

from functools import lru_cache

from textual._styles_cache import StylesCache
from textual.color import Color
from textual.style import Style
from textual.timer import Timer

_run = Timer._run


def mend_textual() -> None:
    """Call before the first widget is made; again, it does nothing."""
    StylesCache.get_inner_outer = staticmethod(backgrounds)  # type: ignore[assignment, method-assign]
    Timer._run = _surely_run  # type: ignore[assignment, method-assign]


@lru_cache(1024)
def backgrounds(base: Color, background: Color) -> tuple[Style, Style]:
    """Inside a widget, and around it."""
    return Style(background=base + background), Style(background=base)


async def _surely_run(timer: Timer) -> None:
    """As it is, but the only round of a timer is not skipped for being late."""
    timer._skip = timer._skip and timer._repeat != 0
    await _run(timer)
