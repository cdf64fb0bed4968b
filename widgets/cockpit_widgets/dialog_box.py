"""The framed ground that every dialog stands on."""

from textual.containers import Vertical

from cockpit_widgets.text import cut_middle, plain

BOX_CSS = """
    align: center middle;
    background: $background 60%;
    & > .dialog--box {
        width: 78;
        max-width: 96%;
        height: auto;
        max-height: 100%;
        padding: 1 2 0 2;
        background: $surface;
        border: round $primary;
        border-title-color: $foreground;
        border-title-style: bold;
    }
    & > .dialog--box.-danger { border: round $error; border-title-color: $text-error; }
    & .dialog--box FlowText, & .dialog--box KeyFooter, & .dialog--box ResourceTable { background: $surface; }
    & .dialog--box KeyFooter { margin: 1 0 0 0; padding: 0; }
    &:ansi > .dialog--box { background: ansi_default; }
"""
_FRAME_LINES = 5
"""Lines of a dialog beside its text: frame, the line inside its top, the keys with a line above them."""


def body_lines(screen_lines: int, others: int = 0) -> int:
    """Lines that the text of a dialog may take, so that frame, keys and `others` stay on the screen."""
    return max(1, screen_lines - _FRAME_LINES - others)


class DialogBox(Vertical):
    """The framed ground of a dialog; its title is text, never markup."""

    def __init__(self, title: str, *, danger: bool = False) -> None:
        super().__init__(classes="dialog--box")
        self.set_title(title, danger=danger)

    def set_title(self, title: str, *, danger: bool = False) -> None:
        """Another title; the frame of what destroys is red."""
        self._title = title
        self._show_title()
        self.set_class(danger, "-danger")

    def on_resize(self) -> None:
        self._show_title()

    def _show_title(self) -> None:
        """The names in titles differ at their end: what has no room is cut in its middle."""
        width = self.size.width
        shown = cut_middle(self._title, width) if width else plain(self._title)
        self.border_title = shown.replace("[", r"\[")
