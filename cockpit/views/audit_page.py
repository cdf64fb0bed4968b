"""What was done from this host, newest first: who, what, to what, how it ended, and what takes it back."""

from collections.abc import Sequence
from typing import Final

from cockpit_widgets.types import Cell, Column

from cockpit.model.audit_action import AuditAction
from cockpit.views import format as fmt
from cockpit.views.lazy_table import Field, LazyTable, Memory, View
from cockpit.views.view_state import Measure, ViewState

_STATES: Final = {
    "done": Cell("✓ done", "good"),
    "unchanged": Cell("· unchanged", "dim"),
    "refused": Cell("▲ refused", "warn"),
    "failed": Cell("× failed", "bad"),
    "unknown": Cell("? unknown", "warn"),
    "": Cell("◔ no outcome", "warn"),
}

_FIELDS: tuple[Field[AuditAction], ...] = (
    Field(
        Column("age", "Age", 5, "right"),
        lambda action, now: fmt.age_cell(action.at_seconds, now),
        lambda action, now: now - action.at_seconds,
        Measure.SECONDS,
    ),
    Field(
        Column("state", "State", 12),
        lambda action, _: _STATES.get(action.state, Cell(action.state)),
        lambda action, _: action.state,
    ),
    Field(
        Column("verb", "Verb", 10),
        lambda action, _: Cell(action.verb, "strong"),
        lambda action, _: action.verb,
    ),
    Field(
        Column("target", "Object", 24, grow=3, most=60, keeps_end=True),
        lambda action, _: Cell(action.target),
        lambda action, _: action.target,
    ),
    Field(
        Column("who", "Who", 10, priority=2, grow=1, most=30),
        lambda action, _: Cell(action.who),
        lambda action, _: action.who,
    ),
    Field(
        Column("context", "Context", 10, priority=4, grow=1, most=30, keeps_end=True),
        lambda action, _: Cell(action.context),
        lambda action, _: action.context,
    ),
    Field(
        Column("sentence", "Result", 20, priority=3, grow=6, wish=40, folds=True),
        lambda action, _: Cell(action.sentence),
        lambda action, _: action.sentence,
    ),
    Field(
        Column("undo", "Undo", 6, priority=2),
        lambda action, _: Cell("V undo", "accent") if action.undo else Cell(""),
        lambda action, _: "yes" if action.undo else "no",
    ),
)
_VIEW: Final = View(
    fields=_FIELDS,
    key=lambda action: action.audit_id,
    order=lambda action, _: -action.at_seconds,
    haystack=lambda action: " ".join((action.verb, action.target, action.who, action.shell, action.state)),
)


def table(
    actions: Sequence[AuditAction], state: ViewState, now_seconds: float, memory: Memory | None = None
) -> LazyTable[AuditAction]:
    """The actions, newest first until a person sorts."""
    return _VIEW.table(actions, state, now_seconds, memory)


def action_lines(action: AuditAction, when: str) -> list[str]:
    """The page of one action; `when` is its moment in words."""
    facts = (
        ("when", when),
        ("who", action.who),
        ("context", f"{action.context} ({action.server})" if action.server else action.context),
        ("verb", action.verb),
        ("object", action.target),
        ("state", _STATES.get(action.state, Cell(action.state)).text),
        ("result", action.sentence),
        ("others", action.foretold),
        ("command", action.shell),
        ("undo", action.undo),
        ("audit id", action.audit_id),
    )
    return [f"{name:<10}{text}" for name, text in facts if text]
