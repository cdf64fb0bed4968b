"""What happened since the last session, as a table."""

from collections.abc import Sequence

from cockpit_widgets.types import Cell, Column

from cockpit.triage import since_left
from cockpit.triage.since_left import Happened
from cockpit.views import format as fmt
from cockpit.views.lazy_table import Field, LazyTable, View
from cockpit.views.view_state import Measure, ViewState

_LOOKS = {
    since_left.FAILED: Cell("▲ failed", "bad"),
    since_left.GONE: Cell("▲ node gone", "bad"),
    since_left.RESOLVED: Cell("✓ resolved", "good"),
    since_left.NEW: Cell("+ node new", "info"),
    since_left.STARTED: Cell("› started", "info"),
    since_left.ENDED: Cell("✓ ended", "good"),
}

_FIELDS: tuple[Field[Happened], ...] = (
    Field(Column("what", "What", 12), lambda r, _: _LOOKS[r.what], lambda r, _: r.what),
    Field(
        Column("age", "Age", 5, "right"),
        lambda r, now: fmt.age_cell(r.at_seconds, now),
        lambda r, now: None if r.at_seconds is None else now - r.at_seconds,
        Measure.SECONDS,
    ),
    Field(
        Column("subject", "Of", 24, grow=2, most=48, keeps_end=True),
        lambda r, _: Cell(r.subject, "strong"),
        lambda r, _: r.subject,
    ),
    Field(Column("words", "", 20, grow=8, most=100, sortable=False, folds=True), lambda r, _: Cell(r.words)),
)


def key_of_row(one: Happened) -> str:
    return f"{one.what}:{one.subject_key}"


SINCE_LEFT_VIEW: View[Happened] = View(fields=_FIELDS, key=key_of_row)


def table(found: Sequence[Happened], state: ViewState, now_seconds: float) -> LazyTable[Happened]:
    """What happened, what wants to be known first on top."""
    return SINCE_LEFT_VIEW.table(found, state, now_seconds)
