"""What needs a human as a table: what is open, what somebody knows of, what was resolved lately."""

from collections.abc import Sequence
from dataclasses import replace

import msgspec
from cockpit_widgets.text import width_of
from cockpit_widgets.types import Cell, Column, Tone

from cockpit.model.remembered import Acknowledgement
from cockpit.triage.finding import KeyRemedy, remedy_text
from cockpit.triage.since_left import Happened, summary
from cockpit.triage.troubles import Trouble
from cockpit.views import format as fmt
from cockpit.views.lazy_table import Field, LazyTable, View
from cockpit.views.view_state import Measure, ViewState

BRIEF_SECONDS = 600.0
"""Below this an age that nobody but this host knows is told in words, too."""


class AttentionRow(msgspec.Struct, frozen=True, kw_only=True):
    """One line of *Now*. `is_least` says that the age is at least so much."""

    key: str
    mark: Cell
    since_seconds: float | None
    is_least: bool = False
    subject: str
    sentence: str
    remedies: tuple[KeyRemedy, ...] = ()
    is_quiet: bool = False  # nobody has to do anything now
    gpu_seconds: float = 0.0  # what it has cost so far
    objects: int = 1  # the root cause and what comes of it

    @property
    def tone(self) -> Tone:
        return "dim" if self.is_quiet else ""


def at_least(seconds: float) -> str:
    """An age that may be more, in at most five characters: ≥0s, ≥40s, ≥12m, ≥5h, ≥3d. Below a minute it ticks
    in steps of ten seconds: several such rows would send bytes every second."""
    whole = max(0, int(seconds))
    for unit, length, most in (("s", 1, 60), ("m", 60, 7_200), ("h", 3_600, 172_800)):
        if whole < most:
            return f"≥{whole // 10 * 10 if unit == 's' else whole // length}{unit}"
    return f"≥{min(999, whole // 86_400)}d"


def _seen_for(seconds: float) -> str:
    """`seen for 40s only`, in the same steps."""
    return "just seen" if seconds < 10 else f"seen for {fmt.sample_age(seconds)} only"


def row_of(one: Trouble, now_seconds: float) -> AttentionRow:
    """A trouble as a line."""
    found = one.found
    if one.is_resolved and one.gone_seconds is not None:
        minutes = int(now_seconds - one.gone_seconds) // 60
        when = f"{minutes} min ago" if minutes else "just now"
        return AttentionRow(
            key=one.key,
            mark=Cell("✓", "good"),
            since_seconds=one.gone_seconds,
            subject=found.subject,
            sentence=f"resolved {when}: {found.sentence}",
            is_quiet=True,
        )
    known = one.acknowledged
    sentence = found.sentence if known is None else f"{known_words(known, now_seconds)} · {found.sentence}"
    seen_seconds = now_seconds - one.first_seconds
    if not one.is_since_told and known is None and seen_seconds < BRIEF_SECONDS:
        sentence += f" · {_seen_for(seen_seconds)}"
    mark = Cell("▲", "bad") if found.is_bad else Cell("●", "warn")
    return AttentionRow(
        key=one.key,
        mark=mark if known is None else Cell("○", "dim"),
        since_seconds=one.since_seconds,
        is_least=not one.is_since_told,
        subject=found.subject,
        sentence=sentence,
        remedies=found.remedies,
        is_quiet=known is not None,
        gpu_seconds=found.gpus * max(0.0, now_seconds - one.since_seconds),
        objects=1 + found.jobs,
    )


SINCE_LEFT = "since-left"
"""The key of the row that tells what happened since the last session."""


def since_left_row(happened: tuple[Happened, ...], left_seconds: float) -> AttentionRow:
    """What happened since the last session, in a line."""
    return AttentionRow(
        key=SINCE_LEFT,
        mark=Cell("›", "info"),
        since_seconds=left_seconds,
        subject="since you left",
        sentence=summary(happened),
        remedies=(KeyRemedy("list", "enter", "open"), KeyRemedy("dismiss", "a", "acknowledge")),
    )


def known_words(known: Acknowledgement, now_seconds: float) -> str:
    """`ada, 1h20m more: vendor comes`."""
    left = None if known.until_seconds is None else known.until_seconds - now_seconds
    until = "until it changes" if left is None else f"{fmt.age(left)} more"
    note = f": {known.note}" if known.note else ""
    return f"{known.who or 'acknowledged'}, {until}{note}"


def _age(row: AttentionRow, now_seconds: float) -> Cell:
    if row.since_seconds is not None and row.is_least:
        return Cell(at_least(now_seconds - row.since_seconds), "dim")
    cell = fmt.age_cell(row.since_seconds, now_seconds)
    return Cell(cell.text, row.tone or cell.tone)


_FIELDS: tuple[Field[AttentionRow], ...] = (
    Field(Column("mark", "!", 1, sortable=False), lambda r, _: r.mark),
    Field(
        Column("age", "Age", 5, "right"),
        _age,
        lambda r, now: None if r.since_seconds is None else now - r.since_seconds,
        Measure.SECONDS,
    ),
    Field(
        Column("subject", "Needs a human", 20, grow=2, most=36, keeps_end=True),
        lambda r, _: Cell(r.subject, r.tone or "strong"),
        lambda r, _: r.subject,
    ),
    Field(
        Column("sentence", "Why", 30, grow=8, most=100),
        lambda r, _: Cell(r.sentence, r.tone),
        lambda r, _: r.sentence,
    ),
    Field(
        Column("remedy", "Do", 17, priority=2),
        lambda r, _: Cell(remedy_text(r.remedies), r.tone or "accent"),
        lambda r, _: remedy_text(r.remedies),
    ),
)


def _looking(row: AttentionRow) -> str:
    """The remedies that change nothing."""
    return remedy_text(one for one in row.remedies if not one.is_write)


_FIELDS_READ_ONLY: tuple[Field[AttentionRow], ...] = (
    *_FIELDS[:-1],
    Field(
        _FIELDS[-1].column,
        lambda r, _: Cell(_looking(r), r.tone or "accent"),
        lambda r, _: _looking(r),
    ),
)

ATTENTION_VIEW: View[AttentionRow] = View(fields=_FIELDS, key=lambda row: row.key)
READ_ONLY_VIEW: View[AttentionRow] = View(fields=_FIELDS_READ_ONLY, key=lambda row: row.key)


def attention_table(
    rows: Sequence[AttentionRow],
    state: ViewState,
    now_seconds: float,
    *,
    is_read_only: bool = False,
    is_wide: bool = False,
) -> LazyTable[AttentionRow]:
    """What needs a human, in the order in which triage ranks it; read-only, without keys that change. Where
    `is_wide`, titles have room for how many objects that concerns."""
    view = READ_ONLY_VIEW if is_read_only else ATTENTION_VIEW
    return replace(view, fields=_counted(view.fields, rows, is_wide=is_wide)).table(rows, state, now_seconds)


def _counted(
    fields: tuple[Field[AttentionRow], ...], rows: Sequence[AttentionRow], *, is_wide: bool
) -> tuple[Field[AttentionRow], ...]:
    """How many they are and what they have cost stands in the titles."""
    open_ = [one for one in rows if not one.is_quiet and one.key != SINCE_LEFT]
    if not open_:
        return fields
    objects, hours = sum(one.objects for one in open_), sum(one.gpu_seconds for one in open_) / 3_600.0
    of_objects = f" ({objects:,} objects)" if is_wide and objects > len(open_) else ""
    titles = {
        "subject": f"Needs a human {len(open_)}{of_objects}",
        "sentence": f"Why · GPU-hours lost: {hours:,.0f}",
    }

    longest = max(len(titles["subject"]), *(width_of(one.subject) for one in rows))

    def titled(field: Field[AttentionRow]) -> Field[AttentionRow]:
        column = field.column
        if column.id == "subject":  # what it does not need is the sentence's
            column = replace(column, most=max(column.width, min(column.most, longest)))
        return replace(field, column=replace(column, title=titles.get(column.id, column.title)))

    return tuple(map(titled, fields))
