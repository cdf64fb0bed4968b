"""How a heatmap looks: a component class for each level, and their rules."""

from cockpit_widgets.glyphs import TOP_LEVEL

LEVEL_CLASSES = {
    -1: "heatmap--free",
    -2: "heatmap--lost",
    -3: "heatmap--uncollected",
    -4: "heatmap--stale",
    -5: "heatmap--implausible",
    **{level: f"heatmap--level-{level}" for level in range(TOP_LEVEL + 1)},
}
"""Component class by level; levels beyond either end take the one at that end."""

_RULES = """
    WIDGET {
        height: 1fr;
        overflow-x: hidden;
        overflow-y: auto;
        scrollbar-size-vertical: 1;
        background: $background;
        color: $foreground;
        & > .heatmap--name { color: $text-primary; }
        & > .heatmap--caption { color: $text-muted; }
        & > .heatmap--cursor { background: $foreground 40%; text-style: bold; }
        & > .heatmap--free { color: $text-muted; }
        & > .heatmap--lost { color: $text-error; text-style: bold; }
        & > .heatmap--uncollected { color: $text-muted; }
        & > .heatmap--stale { color: $text-warning 70%; }
        & > .heatmap--implausible { color: $text-error; }
        & > .heatmap--level-0 { color: $text-muted; }
        & > .heatmap--level-1 { color: $primary 55%; }
        & > .heatmap--level-2 { color: $primary 65%; }
        & > .heatmap--level-3 { color: $primary 75%; }
        & > .heatmap--level-4 { color: $primary 85%; }
        & > .heatmap--level-5 { color: $primary; }
        & > .heatmap--level-6 { color: $success 80%; }
        & > .heatmap--level-7 { color: $success; }
        & > .heatmap--level-8 { color: $success-lighten-1; }
        &.-alarm > .heatmap--level-5 { color: $warning 75%; }
        &.-alarm > .heatmap--level-6 { color: $warning; }
        &.-alarm > .heatmap--level-7 { color: $error-lighten-1; }
        &.-alarm > .heatmap--level-8 { color: $error-lighten-2; text-style: bold; }
        &:ansi > .heatmap--cursor { background: ansi_default; text-style: reverse; }
        &:ansi > .heatmap--free { color: ansi_default; text-style: dim; }
        &:ansi > .heatmap--level-0 { color: ansi_default; text-style: dim; }
        &:ansi > .heatmap--level-1, &:ansi > .heatmap--level-2 { color: $primary; }
        &:ansi > .heatmap--level-3, &:ansi > .heatmap--level-4 { color: $primary; }
        &:ansi > .heatmap--level-6 { color: $success; }
        &:ansi.-alarm > .heatmap--level-5 { color: $warning; }
    }
    """
"""Two ramps: calm, where much is good, and `-alarm`, where much is bad."""


def heat_css(widget: str) -> str:
    """The rules for a widget of that name."""
    return _RULES.replace("WIDGET", widget)


HEAT_CSS = heat_css("Heatmap")
