"""The last lines of a log, as fast as they come."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import ClassVar

from rich.segment import Segment
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.strip import Strip

from cockpit_widgets.line_scroll import LineScroll
from cockpit_widgets.palette import TONE_CLASSES, TONE_RULES, Palette
from cockpit_widgets.text import fit, window, wrap
from cockpit_widgets.types import Tone, ToneLine, tone_of

MOST_LINES = 50_000
MOST_CHARACTERS = 32 << 20
_SLACK_LINES = 4_096
_TAB = " " * 4
_WIDEST_CELLS = 4_096


_HANG_CELLS = 2


def broken_lines(lines: Iterable[str], width: int) -> tuple[ToneLine, ...]:
    """Sentences for a view of `width` cells: each broken at its blanks, what is not its first line deeper."""
    return tuple(
        ToneLine(part, tone_of(line)) for line in lines for part in wrap(line, max(1, width), _HANG_CELLS)
    )


class LogView(LineScroll, can_focus=True):
    """A ring of at most 50,000 lines and 32 million characters.

    Follows the end until one scrolls up; `end` or `f` follows again. While it follows there is no scroll bar:
    it would be redundant, and be redrawn and sent again with every line.
    Left and right move along long lines. A search marks every hit; `n` and `p` go from hit to hit.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {"log-view--hit", "log-view--placeholder", *TONE_CLASSES}
    DEFAULT_CSS = (
        """
    LogView {
        height: 1fr;
        overflow-x: hidden;
        overflow-y: auto;
        scrollbar-gutter: stable;
        scrollbar-size-vertical: 1;
        background: $background;
        color: $foreground;
        &.-following { scrollbar-visibility: hidden; }
        & > .log-view--hit { background: $warning 40%; text-style: bold; }
        & > .log-view--placeholder { color: $text-muted; }
        &:ansi > .log-view--hit { background: ansi_default; text-style: reverse; }
    """
        + TONE_RULES
        + "}"
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "go(-1)", "Up", show=False),
        Binding("down,j", "go(1)", "Down", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("pagedown", "page(1)", "Page down", show=False),
        Binding("home,g", "first", "First line", show=False),
        Binding("end,f", "follow", "Follow the end", show=False),
        Binding("left", "along(-1)", "Scroll left", show=False),
        Binding("right", "along(1)", "Scroll right", show=False),
        Binding("n", "hit(1)", "Next match", show=False),
        Binding("p", "hit(-1)", "Previous match", show=False),
    ]

    @dataclass
    class FollowChanged(Message):
        """The view began or ceased to follow the end."""

        log: "LogView"
        following: bool

        @property
        def control(self) -> "LogView":
            return self.log

    def __init__(
        self,
        *,
        most_lines: int = MOST_LINES,
        most_characters: int = MOST_CHARACTERS,
        follow: bool = True,
        tone_of: Callable[[str], Tone] | None = None,
        placeholder: str = "",
        name: str | None = None,
        id: str | None = None,  # noqa: A002 - the word of every Textual widget
        classes: str | None = None,
    ) -> None:
        """`follow` False begins at the top, for a page of text.

        A ToneLine is drawn in its own tone. `tone_of` gives that of any other line, for text from elsewhere
        that is known by its words alone.
        """
        super().__init__(name=name, id=id, classes=classes)
        if not 1 <= most_lines <= MOST_LINES:
            raise ValueError(f"most_lines is {most_lines}: give 1 to {MOST_LINES}")
        self._most = most_lines
        self._most_characters = most_characters
        self._characters = 0
        self._tone_of = tone_of
        self._placeholder = placeholder
        self._palette = Palette(self)
        self._lines: list[str] = []
        self._first = 0
        self._dropped = 0
        self._widest = 0
        self._left = 0
        self._following = self._follows_at_first = follow
        self._pattern: re.Pattern[str] | None = None
        self.set_class(follow, "-following")

    def __len__(self) -> int:
        """Lines that are kept."""
        return len(self._lines) - self._first

    def __bool__(self) -> bool:
        return True  # an empty view is still a widget

    @property
    def dropped(self) -> int:
        """Lines that had to leave at the top."""
        return self._dropped

    @property
    def following(self) -> bool:
        """Whether the view stays at the end."""
        return self._following

    def line(self, number: int) -> str:
        """Kept line `number`, as it came. Raises IndexError outside 0 to len - 1."""
        if not 0 <= number < len(self):
            raise IndexError(number)
        return self._lines[self._first + number]

    def text(self) -> str:
        """All kept lines, for saving."""
        return "\n".join(self._lines[self._first :])

    def append(self, lines: Iterable[str]) -> None:
        """Add lines at the end; the oldest leave when the ring is full."""
        before = len(self)
        fresh = list(lines)
        if not fresh:
            return
        self._lines.extend(fresh)
        self._characters += sum(map(len, fresh))
        over = self._surplus()
        if over > 0:
            self._lines[self._first : self._first + over] = [""] * over
            self._first += over
            self._dropped += over
            if self._first > _SLACK_LINES:
                del self._lines[: self._first]
                self._first = 0
        self._widest = max(self._widest, min(_WIDEST_CELLS, max(map(len, fresh))))
        self._show_growth(before, max(0, over))

    def _surplus(self) -> int:
        """How many lines have to leave at the top; the newest always stays."""
        over = max(0, len(self) - self._most)
        left = self._characters - sum(map(len, self._lines[self._first : self._first + over]))
        while left > self._most_characters and over < len(self) - 1:
            left -= len(self._lines[self._first + over])
            over += 1
        self._characters = left
        return over

    def clear(self) -> None:
        """Forget every line."""
        self._lines.clear()
        self._characters = 0
        self._first = self._dropped = self._widest = self._left = 0
        self.resize_lines(0)
        self.refresh()

    def replace(self, lines: Iterable[str]) -> None:
        """Other lines in place of all; a page of text stays where it was scrolled to."""
        fresh = list(lines)
        shown = self._lines[self._first :]
        if fresh == shown and [*map(tone_of, fresh)] == [*map(tone_of, shown)]:
            return
        top = self.scroll_offset.y
        self.clear()
        self._following = self._follows_at_first
        self.set_class(self._following, "-following")
        self.append(fresh)
        if not self._following and self.is_attached:
            self.jump(min(top, self._last_top))
            self.refresh()

    def set_placeholder(self, text: str) -> None:
        """The sentence shown when there is no line."""
        self._placeholder = text
        if not len(self):
            self.refresh()

    def set_search(self, pattern: str | re.Pattern[str] | None) -> None:
        """Mark every hit of plain words, in any case, or of a compiled pattern; None marks none."""
        if isinstance(pattern, str):
            pattern = re.compile(re.escape(pattern), re.IGNORECASE) if pattern else None
        self._pattern = pattern
        self.refresh()

    # Keys

    def action_go(self, lines: int) -> None:
        self._scroll_top(self.scroll_offset.y + lines)

    def action_page(self, pages: int) -> None:
        self.action_go(pages * max(1, self._height - 1))

    def action_first(self) -> None:
        self._scroll_top(0)

    def action_follow(self) -> None:
        self._set_following(True)
        self.jump(self._last_top)

    def action_along(self, steps: int) -> None:
        self._left = max(0, min(self._left + steps * 16, max(0, self._widest - 16)))
        self.refresh()

    def action_hit(self, step: int) -> bool:
        """Bring the next hit below the first line on the screen, or the previous one above it, to the top.

        Beside a view that is at its end the last hit that is shown is the previous one. False without a hit.
        """
        if self._pattern is None:
            return False
        at = self.scroll_offset.y + step
        if self._following and step < 0:
            at = len(self) - 1
        while 0 <= at < len(self):
            if self._pattern.search(self.line(at)):
                self._set_following(False)
                self.jump(at)
                return True
            at += step
        return False

    # Drawing

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._palette.clear()

    def render_line(self, y: int) -> Strip:
        width = self.line_width
        base = self._palette.style()
        number = self.scroll_offset.y + y
        if not len(self) and self._placeholder:
            said = wrap(self._placeholder, width)[y : y + 1]
            style = self._palette.style("log-view--placeholder") if said else base
            return Strip([Segment(fit("".join(said), width), style)], width)
        if number >= len(self):
            return Strip.blank(width, base)
        # three characters a cell at most; a line of a megabyte is not walked through for each paint
        line = self.line(number)
        raw = line[: 3 * (self._left + width)]
        text = raw.replace("\t", _TAB)
        shown = window(text, self._left, width)
        by_words = None if isinstance(line, ToneLine) else self._tone_of
        style = self._palette.tone(tone_of(line) if by_words is None else by_words(raw))
        if self._pattern is None:
            return Strip([Segment(shown, style)], width)
        return Strip(self._marked(shown, self._pattern), width)

    def _marked(self, shown: str, pattern: re.Pattern[str]) -> list[Segment]:
        base, hit = self._palette.style(), self._palette.style("log-view--hit")
        out: list[Segment] = []
        at = 0
        for found in pattern.finditer(shown.rstrip()):
            if found.end() == found.start():
                continue
            if found.start() > at:
                out.append(Segment(shown[at : found.start()], base))
            out.append(Segment(shown[found.start() : found.end()], hit))
            at = found.end()
        if at < len(shown):
            out.append(Segment(shown[at:], base))
        return out

    # Changes

    @property
    def _height(self) -> int:
        return max(1, self.scrollable_content_region.height)

    @property
    def _last_top(self) -> int:
        return max(0, len(self) - self._height)

    def _show_growth(self, before: int, over: int) -> None:
        self.resize_lines(len(self))
        if not self.is_attached:
            return
        if self._following:
            if self.scroll_offset.y != self._last_top:
                self.jump(self._last_top)
            else:
                self.refresh(self.size.region)
        elif over:
            # The same lines stay on the screen while older ones leave above them.
            self.jump(self.scroll_offset.y - over)
            self.refresh(self.size.region)
        elif before < self.scroll_offset.y + self._height:
            self.refresh(self.size.region)

    def _scroll_top(self, top: int) -> None:
        top = max(0, min(top, self._last_top))
        self._set_following(top >= self._last_top)
        self.jump(top)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        if new_value < old_value and round(new_value) < self._last_top:
            self._set_following(False)

    def on_resize(self) -> None:
        self.measure_lines()
        if self._following:
            self.jump(self._last_top)

    def _set_following(self, following: bool) -> None:
        if following != self._following:
            self._following = following
            self.set_class(following and self._follows_at_first, "-following")
            self.post_message(self.FollowChanged(self, following))
