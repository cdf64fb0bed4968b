"""The right half of a form: verdict, what fits, the command line, the manifest."""

import textwrap
from collections.abc import Sequence
from typing import Any

from cockpit_widgets.types import Tone

from cockpit.model.plan import Plan
from cockpit.yaml_text import yaml_text


def preview_lines(plan: Plan | None, problem: str, verdict: str, fit: Sequence[str], width: int) -> list[str]:
    """Lines of the preview, words broken at `width` cells; the manifest last, because it is the longest."""
    if plan is None:
        return _folded(["not ready to be sent", "", problem], width)
    lines = [f"server: {verdict or 'asking for a dry run ...'}", *fit, ""]
    lines += [f"  {line}" for line in plan.lines]
    lines += [f"! {line}" for line in plan.warnings]
    lines += ["", "$ " + plan.shell, ""]
    return _folded(lines, width) + manifest_lines(plan.calls[0].body)


def preview_tone(line: str) -> Tone:
    """Tone of a shown line: what the server refused, what warns, and the command apart from the rest."""
    if line.startswith("server: refused"):
        return "bad"
    if line.startswith("server: the"):
        return "good"
    if line.startswith("! "):
        return "warn"
    return "info" if line.startswith("$ ") else ""


def _folded(lines: list[str], width: int) -> list[str]:
    """Each line broken at blanks; what comes after the first stands deeper."""
    return [
        part
        for line in lines
        for part in textwrap.wrap(line, max(20, width), subsequent_indent="    ", break_on_hyphens=False)
        or [""]
    ]


def manifest_lines(tree: Any) -> list[str]:
    """The tree as YAML, in the order it was written."""
    return yaml_text(tree, 100).splitlines()
