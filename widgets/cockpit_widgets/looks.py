"""How a terminal cell looks, in the codes that a terminal is told, and how it gets from look to look."""

from dataclasses import dataclass
from functools import cached_property, lru_cache

from rich.color import Color, ColorSystem
from rich.style import Style

_ATTRIBUTES = (
    ("bold", "1"),
    ("dim", "2"),
    ("italic", "3"),
    ("underline", "4"),
    ("blink", "5"),
    ("blink2", "6"),
    ("reverse", "7"),
    ("conceal", "8"),
    ("strike", "9"),
    ("underline2", "21"),
    ("frame", "51"),
    ("encircle", "52"),
    ("overline", "53"),
)
_SEEN_ON_BLANKS = frozenset({"4", "5", "6", "7", "9", "21", "51", "52", "53"})
_CACHED_LOOKS = 4_096


@dataclass(frozen=True, eq=False)
class Look:
    """Attributes, foreground, background (SGR parameters, "" for the terminal's own) and a hyperlink.

    Made by `look` alone, so that equal looks are one object and are compared by identity.
    """

    attributes: tuple[str, ...]
    foreground: str
    background: str
    link: str

    @cached_property
    def is_plain_on_blanks(self) -> bool:
        """Whether of a blank in this look nothing is seen but its background."""
        return not self.link and _SEEN_ON_BLANKS.isdisjoint(self.attributes)

    @cached_property
    def ground(self) -> "Look":
        """The look of a blank: blanks that cannot be told apart have one look."""
        return look((), "", self.background, "") if self.is_plain_on_blanks else self

    def over(self, ground: "Look") -> "Look":
        """This look on another background: what draws a blank with the fewest codes."""
        return look(self.attributes, self.foreground, ground.background, "")


@lru_cache(None)
def look(attributes: tuple[str, ...], foreground: str, background: str, link: str) -> Look:
    """The one object of that look."""
    return Look(attributes, foreground, background, link)


@lru_cache(_CACHED_LOOKS)
def look_of(style: Style | None, system: ColorSystem) -> Look:
    """How text in this style looks on a terminal with these colours."""
    if style is None:
        return look((), "", "", "")
    attributes = tuple(code for name, code in _ATTRIBUTES if getattr(style, name))
    link = f"id={style.link_id};{style.link}" if style.link else ""
    return look(attributes, _codes(style.color, system, True), _codes(style.bgcolor, system, False), link)


def _codes(color: Color | None, system: ColorSystem, foreground: bool) -> str:
    if color is None or color.is_default:
        return ""
    return ";".join(color.downgrade(system).get_ansi_codes(foreground))


def change(before: Look | None, after: Look) -> str:
    """The codes that turn a pen of one look into one of another; None is an unknown pen."""
    if before is after:
        return ""
    if before is None or before.attributes != after.attributes:
        wanted = ("0", *after.attributes, after.foreground, after.background)
        codes = ";".join(code for code in wanted if code)
    else:
        changed = []
        if before.foreground != after.foreground:
            changed.append(after.foreground or "39")
        if before.background != after.background:
            changed.append(after.background or "49")
        codes = ";".join(changed)
    sequence = f"\x1b[{codes}m" if codes else ""
    if (before.link if before else "") != after.link:
        sequence += f"\x1b]8;{after.link or ';'}\x1b\\"
    return sequence
