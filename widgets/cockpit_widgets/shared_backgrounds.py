"""The backgrounds of widgets that Textual remembers, by their colours alone.

Textual (8.2) remembers them for each widget that asked, so that the last thousand drawn widgets keep every
line that they drew after their page is closed: 20 MB that a session grows by before it is flat (measured).
"""

from functools import lru_cache

from textual._styles_cache import StylesCache
from textual.color import Color
from textual.style import Style


@lru_cache(1024)
def backgrounds(base: Color, background: Color) -> tuple[Style, Style]:
    """Inside a widget, and around it."""
    return Style(background=base + background), Style(background=base)


def share_backgrounds() -> None:
    """Let all widgets of this process remember them together; call before the first is drawn."""
    StylesCache.get_inner_outer = staticmethod(backgrounds)  # type: ignore[assignment, method-assign]
