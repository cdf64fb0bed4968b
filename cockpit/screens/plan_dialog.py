"""The dialog of a plan: it stands at once, and the server's verdict comes into it."""

import asyncio
from collections.abc import Awaitable
from typing import Any

from cockpit_widgets import ConfirmDialog
from cockpit_widgets.types import Cell, Tone
from textual.app import App

from cockpit.actions.execute.bulk_plan import TRY_ALL_SECONDS
from cockpit.actions.execute.dry_run import TRY_SECONDS
from cockpit.actions.execute.replan import NOTHING_DONE, reads_the_same
from cockpit.actions.execute.run_verb import Tried, What, verdict_words
from cockpit.actions.kubectl import MOST_KUBECTL, kubectl_lines
from cockpit.model.plan import Outcome, Plan
from cockpit.screens.app_protocol import cockpit_of

_MARKS: dict[str, tuple[str, Tone]] = {
    "done": ("✓", "good"),
    "unchanged": ("✓", "good"),
    "refused": ("×", "bad"),
}
_UNKNOWN: tuple[str, Tone] = ("▲", "warn")  # no dry run was made


class PlanDialog:
    """Asks by a dialog; a plan that has become another one is shown again."""

    asks_again = True

    def __init__(self, app: App[Any], *, is_many: bool = False) -> None:
        self.has_asked = False
        self._app = app
        self._context = cockpit_of(app).context
        self._seconds = TRY_ALL_SECONDS if is_many else TRY_SECONDS

    async def ask(
        self, face: Plan, changes: tuple[str, ...], trial: Awaitable[Tried[What]]
    ) -> Tried[What] | None:
        """Yes counts once the verdict has come; where it is a refusal there is none."""
        first = _first((NOTHING_DONE, *changes)) if changes else []
        dialog = ConfirmDialog(
            face.title,
            [*first, *face.told],
            warnings=face.warnings,
            command=face.shell,
            equivalents=kubectl_lines(face, self._context)[:MOST_KUBECTL],
            danger=face.is_destructive,
            confirm_label=face.verb,
            typed=face.typed,
            checking=f"… asking the server for a dry run ({self._seconds:g} s at most)",
        )
        self.has_asked = True
        came = asyncio.ensure_future(_fill(dialog, face, trial, self._context))
        try:
            is_yes = await self._app.push_screen_wait(dialog) is True
        finally:
            came.cancel()
        if came.done() and not came.cancelled():
            tried = await came
            return tried if is_yes else None
        return None


async def _fill(
    dialog: ConfirmDialog, face: Plan, trial: Awaitable[Tried[What]], context: str
) -> Tried[What]:
    """Put the verdict into the dialog, and the plan as it is by then where it reads differently."""
    try:
        tried = await trial
    except Exception:
        dialog.settle(Cell("× the dry run failed with an internal error", "bad"), may_confirm=False)
        raise
    now = tried.face
    is_same = reads_the_same(face, now)
    if not is_same:
        dialog.put(
            now.title,
            [*_first(tried.news), *now.told],
            warnings=now.warnings,
            command=now.shell,
            equivalents=kubectl_lines(now, context)[:MOST_KUBECTL],
            danger=now.is_destructive,
            typed=now.typed,
        )
    is_known = tried.verdict.state == "done"
    dialog.settle(verdict_cell(tried.verdict), may_confirm=tried.may_go_on, keeps_yes=is_same and is_known)
    return tried


def verdict_cell(verdict: Outcome) -> Cell:
    """What the server said to the dry run, with its glyph."""
    mark, _ = _MARKS.get(verdict.state, _UNKNOWN)
    return Cell(f"{mark} server: {verdict_words(verdict)}", verdict_tone(verdict))


def verdict_tone(verdict: Outcome) -> Tone:
    """How good the news of a dry run is."""
    return _MARKS.get(verdict.state, _UNKNOWN)[1]


def _first(news: tuple[str, ...]) -> list[Cell]:
    return [*(Cell(f"▲ {line}", "warn") for line in news), Cell("")] if news else []
