"""Calm themes in which every tone has its own colour, and is readable: at least 4.5 to 1 on each ground.

In Textual's default dark theme accent and warning are the same orange, so that a key of the footer looks like
a warning. An app takes these by `register_theme` of each and `theme = DARK.name`.
"""

from collections.abc import Mapping
from typing import Final

from textual.theme import Theme


def _calm(
    name: str,
    *,
    grounds: tuple[str, str, str],
    foreground: str,
    muted: str,
    primary: str,
    accent: str,
    success: str,
    warning: str,
    error: str,
    tint: str,
    rule: str,
    is_dark: bool = True,
) -> Theme:
    """`grounds` are those of the screen, of a line and of a raised part, `tint` colours that of the cursor;
    tones are drawn in their own colour, not tinted as Textual does."""
    background, surface, panel = grounds
    tones = {"primary": primary, "accent": accent, "success": success, "warning": warning, "error": error}
    scrollbars = {f"scrollbar-background{state}": background for state in ("", "-hover", "-active")}
    return Theme(
        name=name,
        dark=is_dark,
        background=background,
        surface=surface,
        panel=panel,
        foreground=foreground,
        secondary=muted,
        primary=tint,
        accent=accent,
        success=success,
        warning=warning,
        error=error,
        variables={
            **{f"text-{tone}": colour for tone, colour in tones.items()},
            **scrollbars,
            "text-muted": muted,
            "text-disabled": muted,
            "block-cursor-text-style": "bold",
            "scrollbar": rule,
            "scrollbar-hover": muted,
            "scrollbar-active": primary,
            "border-blurred": rule,
        },
    )


DARK: Final = _calm(
    "dark",
    grounds=("#12151a", "#191d24", "#1f252e"),
    foreground="#d4d9e0",
    muted="#9aa3b0",
    primary="#8ab4f0",
    accent="#cdb4f2",
    success="#8fd0a0",
    warning="#f0c987",
    error="#f2949b",
    tint="#4a80c8",
    rule="#39424f",
)
LIGHT: Final = _calm(
    "light",
    grounds=("#fbfbf9", "#f0f1ee", "#e6e8e4"),
    foreground="#22262c",
    muted="#555d68",
    primary="#1c5aa8",
    accent="#6a3fb5",
    success="#1d6b35",
    warning="#7d5200",
    error="#b3242f",
    tint="#8fb4e3",
    rule="#c2c7c9",
    is_dark=False,
)
COLOUR_BLIND: Final = _calm(
    "colour-blind",
    grounds=("#101418", "#181d23", "#1f262e"),
    foreground="#d9dde2",
    muted="#9ba4ae",
    primary="#9db8d8",
    accent="#e0dcb8",
    success="#6fb7f5",
    warning="#f2c14e",
    error="#ff9a3d",
    tint="#4f7fb0",
    rule="#3a4350",
)
"""Blue for sound, yellow for warning, orange for trouble, none by red or green (Okabe and Ito)."""
MONO: Final = _calm(
    "mono",
    grounds=("#101010", "#1a1a1a", "#222222"),
    foreground="#dddddd",
    muted="#9e9e9e",
    primary="#c8c8c8",
    accent="#ffffff",
    success="#d0d0d0",
    warning="#c4c4c4",
    error="#ffffff",
    tint="#6a6a6a",
    rule="#454545",
)
CALM: Final[Mapping[str, Theme]] = {theme.name: theme for theme in (DARK, LIGHT, COLOUR_BLIND, MONO)}
"""By their name."""
