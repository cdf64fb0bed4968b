"""The keys that can be pressed here, on one line: whole entries only, the most useful first."""

from collections.abc import Sequence
from typing import ClassVar

from rich.segment import Segment
from textual import events
from textual.screen import Screen

from cockpit_widgets.glyphs import BARRED_GLYPH
from cockpit_widgets.one_line import ONE_LINE_CSS, OneLine
from cockpit_widgets.palette import TONE_CLASSES
from cockpit_widgets.text import plain, width_of
from cockpit_widgets.types import KeyHint

_GAP_CELLS = 2


def _width(hint: KeyHint) -> int:
    return width_of(hint.display or hint.key) + 1 + width_of(hint.label)


def fitting_hints(hints: Sequence[KeyHint], width: int) -> list[KeyHint]:
    """The hints that fit `width` cells whole, by priority; one that is too long lets shorter ones in."""
    kept: list[KeyHint] = []
    room = width
    for hint in sorted(hints, key=lambda hint: hint.priority):
        needed = _width(hint) + (_GAP_CELLS if kept else 0)
        if needed <= room:
            kept.append(hint)
            room -= needed
    return kept


class KeyFooter(OneLine):
    """`key label` pairs of the active bindings of the screen, or of the hints it was given.

    `order` names bindings by id, action or key, the most useful first; bindings it does not name come after,
    in the order in which the focused widget, the screen and the app declare them. A binding that cannot be
    used now (its `check_action` says None) is dim and has a cross for the blank: `K×kill`.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {"key-footer--key", "key-footer--off", *TONE_CLASSES}
    DEFAULT_CSS = (
        "KeyFooter {"
        + ONE_LINE_CSS
        + """
        background: $panel;
        padding: 0 1;
        & > .key-footer--key { color: $text-accent; text-style: bold; }
        & > .key-footer--off { color: $text-disabled; }
        &:ansi > .key-footer--off { color: ansi_default; text-style: dim; }
    }
    """
    )

    def __init__(
        self,
        hints: Sequence[KeyHint] | None = None,
        *,
        order: Sequence[str] = (),
        name: str | None = None,
        id: str | None = None,  # noqa: A002 - the word of every Textual widget
        classes: str | None = None,
    ) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self._given: tuple[KeyHint, ...] | None = None if hints is None else tuple(hints)
        self._order = tuple(order)
        self._hints: tuple[KeyHint, ...] = self._given or ()

    @property
    def hints(self) -> tuple[KeyHint, ...]:
        """All hints, also those without room."""
        return self._hints

    def set_hints(self, hints: Sequence[KeyHint] | None) -> None:
        """Show these hints; None goes back to the active bindings of the screen."""
        self._given = None if hints is None else tuple(hints)
        self._reread()

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, self._on_bindings)
        self.call_after_refresh(self._reread)

    def _on_bindings(self, screen: Screen[object]) -> None:
        if self.is_attached and screen is self.screen:
            self._reread()

    def _reread(self) -> None:
        if not self.is_attached:
            return
        hints = self._given if self._given is not None else self._active()
        if hints != self._hints:
            self._hints = hints
            self.refresh()

    def _active(self) -> tuple[KeyHint, ...]:
        hints: dict[str, KeyHint] = {}
        for _, binding, enabled, _ in self.screen.active_bindings.values():
            if not binding.show or not binding.description or binding.action in hints:
                continue
            hints[binding.action] = KeyHint(
                key=binding.key,
                label=binding.description,
                priority=self._rank(binding.id, binding.action, binding.key),
                enabled=enabled,
                barred=not enabled,
                display=self.app.get_key_display(binding),
            )
        return tuple(hints.values())

    def _rank(self, *names: str | None) -> int:
        ranks = [self._order.index(name) for name in names if name is not None and name in self._order]
        return min(ranks, default=len(self._order))

    def segments(self, width: int) -> list[Segment]:
        base = self.palette.style()
        out: list[Segment] = []
        for hint in fitting_hints(self._hints, width):
            if out:
                out.append(Segment(" " * _GAP_CELLS, base))
            off = "key-footer--off"
            out.append(
                Segment(
                    plain(hint.display or hint.key),
                    self.palette.style("key-footer--key" if hint.enabled else off),
                )
            )
            label = self.palette.tone("dim") if hint.enabled else self.palette.style(off)
            out.append(Segment(f"{BARRED_GLYPH if hint.barred else ' '}{plain(hint.label)}", label))
        return out

    def on_click(self, event: events.Click) -> None:
        at = event.get_content_offset(self)
        if at is None:
            return
        x = 0
        for hint in fitting_hints(self._hints, self.size.width):
            if x <= at.x < x + _width(hint):
                if hint.enabled or hint.barred:
                    self.app.simulate_key(hint.key)
                return
            x += _width(hint) + _GAP_CELLS
