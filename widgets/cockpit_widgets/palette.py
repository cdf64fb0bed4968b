"""Tones become colours of the theme: the component classes, their rules, and a cache of resolved styles."""

from rich.style import Style
from textual.dom import DOMNode
from textual.widget import Widget

from cockpit_widgets.types import Tone

TONE_CLASSES: frozenset[str] = frozenset(
    {
        "tone--dim",
        "tone--good",
        "tone--warn",
        "tone--bad",
        "tone--accent",
        "tone--strong",
        "tone--info",
    }
)
"""Component classes that every widget with tones lists among its own."""

TONE_RULES = """
    & > .tone--dim { color: $text-muted; }
    & > .tone--good { color: $text-success; }
    & > .tone--warn { color: $text-warning; }
    & > .tone--bad { color: $text-error; text-style: bold; }
    & > .tone--accent { color: $text-accent; }
    & > .tone--strong { text-style: bold; }
    & > .tone--info { color: $text-primary; }
    &:ansi > .tone--dim { color: ansi_default; text-style: dim; }
"""
"""Rules for `TONE_CLASSES`, to stand inside the widget's own block of DEFAULT_CSS."""


class Palette:
    """Rich styles of one widget by component classes, resolved once until `clear`.

    Textual drops its own cache with every refresh; a table that repaints one line should not pay for that. It
    also makes a node and matches all rules for each component class of each widget whenever styles are
    updated: two thirds of all that it matched was for classes that nothing was drawn with. Here a class is
    one of the widget's own from the first time that it is asked for.
    """

    def __init__(self, widget: Widget) -> None:
        self._widget = widget
        self._styles: dict[tuple[str, ...], Style] = {}
        self._declared = widget._get_component_classes()
        self._used: frozenset[str] = frozenset()
        # asked for by Textual's Stylesheet with each update of the widget's styles, and by no other code
        vars(widget)["_get_component_classes"] = lambda: self._used

    def clear(self) -> None:
        """Forget all: the style sheet, the theme or the focus changed."""
        self._styles.clear()

    def style(self, *classes: str) -> Style:
        """The style of the widget with `classes` laid over it in order; unknown classes raise KeyError."""
        found = self._styles.get(classes)
        if found is None:
            found = self._styles[classes] = self._resolve(classes)
        return found

    def tone(self, tone: Tone, *ground: str) -> Style:
        """The style of `tone` on the ground made by the component classes `ground`."""
        if not tone:
            return self.style(*ground)
        return self.style(*ground, f"tone--{tone}")

    def _resolve(self, classes: tuple[str, ...]) -> Style:
        for name in classes:
            if name not in self._used:
                self._use(name)
        style = self._widget.get_visual_style(*classes).rich_style
        # get_visual_style leaves out reverse, which is how a cursor shows on a terminal without colours.
        if any(self._widget.get_component_styles(name).text_style.reverse for name in classes):
            style += Style(reverse=True)
        return style

    def _use(self, name: str) -> None:
        """Match the rules of one more class, as Textual does for all. Raises KeyError for an unknown one."""
        if name not in self._declared:
            raise KeyError(f"no {name!r} among the component classes of {type(self._widget).__name__}")
        part = DOMNode(classes=name)
        part._attach(self._widget)
        self._widget.app.stylesheet.apply(part)
        self._widget._component_styles[name] = part.styles
        self._used |= {name}
