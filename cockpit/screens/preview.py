"""The right half of a form: verdict, what fits, the command line, the manifest."""

from collections.abc import Sequence
from typing import Any

from cockpit_widgets.log_view import broken_lines
from cockpit_widgets.types import ToneLine

from cockpit.actions.execute.run_verb import verdict_words
from cockpit.mask import mask_tree
from cockpit.model.plan import Outcome, Plan
from cockpit.screens.plan_dialog import verdict_tone
from cockpit.yaml_text import yaml_text


def preview_lines(
    plan: Plan | None, problem: str, verdict: Outcome | None, fit: Sequence[str], width: int
) -> list[str]:
    """Lines of the preview, words broken at `width` cells; the manifest last, because it is the longest.

    `verdict` is what the server said to the dry run, None as long as it is asked.
    """
    if plan is None:
        return list(broken_lines(["not ready to submit", "", *problem.splitlines()], max(20, width)))
    said = "asking for a dry run ..." if verdict is None else verdict_words(verdict)
    lines: list[str] = [ToneLine(f"server: {said}", "" if verdict is None else verdict_tone(verdict))]
    lines += [*fit, "", *(f"  {line}" for line in plan.told)]
    lines += [ToneLine(f"! {line}", "warn") for line in plan.warnings]
    lines += ["", ToneLine("$ " + plan.shell, "info"), ""]
    return [*broken_lines(lines, max(20, width)), *manifest_lines(plan.calls[0].body)]


def manifest_lines(tree: Any) -> list[str]:
    """The tree as YAML, in the order it was written, its secrets hidden."""
    return yaml_text(mask_tree(tree), 100).splitlines()
