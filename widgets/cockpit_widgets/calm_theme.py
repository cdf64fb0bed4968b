"""A calm dark theme in which every tone has its own colour.

In Textual's default dark theme accent and warning are the same orange, so that a key of the footer looks like
a warning. An app takes this one by `register_theme(CALM_DARK)` and `theme = CALM_DARK.name`.
"""

from textual.theme import Theme

CALM_DARK = Theme(
    name="calm-dark",
    dark=True,
    background="#12151a",
    surface="#191d24",
    panel="#1f252e",
    foreground="#d4d9e0",
    primary="#5b93d8",
    secondary="#7f8ea3",
    accent="#bd9fe8",
    success="#76b884",
    warning="#e3b25f",
    error="#e0666f",
    variables={
        "block-cursor-text-style": "bold",
        "scrollbar": "#39424f",
        "scrollbar-hover": "#4a5566",
        "scrollbar-active": "#5b93d8",
        "scrollbar-background": "#12151a",
        "scrollbar-background-hover": "#12151a",
        "scrollbar-background-active": "#12151a",
        "border-blurred": "#2a313c",
    },
)
