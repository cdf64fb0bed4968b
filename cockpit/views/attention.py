"""What needs a human as a table: open, acknowledged and recently resolved problems."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from cockpit_widgets.text import width_of
from cockpit_widgets.types import Cell, Column, Tone

from cockpit.gangs.sentence import counted
from cockpit.model.finding import Finding, Subject
from cockpit.model.remembered import Acknowledgement
from cockpit.triage.alerts import counted_sentence, is_alert
from cockpit.triage.attention import rank
from cockpit.triage.remedies import KeyRemedy, remedy_text
from cockpit.triage.since_left import Happened, summary
from cockpit.triage.troubles import Trouble
from cockpit.views import format as fmt
from cockpit.views.clusters import ClusterRow, over_clusters
from cockpit.views.lazy_table import Field, LazyTable, View
from cockpit.views.view_state import Measure, ViewState

BRIEF_SECONDS = 600.0
"""Below this an age that nobody but this host knows is told in words, too."""


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


SINCE_LEFT = "since-left:"
"""The key of the row that tells what happened since the last session."""


def since_left_row(happened: tuple[Happened, ...], left_seconds: float) -> Trouble:
    """What happened since the last session, in a line."""
    found = Finding(
        subject=Subject("session", "", "since you left"),
        sentence=summary(happened),
        since_seconds=left_seconds,
        finding=SINCE_LEFT.rstrip(":"),
        remedies=(KeyRemedy("list", "enter", "open"), KeyRemedy("dismiss", "a", "acknowledge")),
    )
    return Trouble(found=found, first_seconds=left_seconds, last_seconds=left_seconds)


def sentence(row: Trouble, now_seconds: float) -> str:
    """What is wrong, and since when it is resolved or who knows of it."""
    told = counted_sentence(row.found)
    if row.is_resolved:
        minutes = int(now_seconds - _since(row)) // 60
        return f"resolved {f'{minutes} min ago' if minutes else 'just now'}: {told}"
    if row.acknowledged is not None:
        return f"{known_words(row.acknowledged, now_seconds)} · {told}"
    if row.times > 1:
        told = f"{told} · {row.times} times in {fmt.age(now_seconds - row.since_seconds)}"
    seen_seconds = now_seconds - row.first_seconds
    return (
        told if row.is_since_told or seen_seconds >= BRIEF_SECONDS else f"{told} · {_seen_for(seen_seconds)}"
    )


def _since(row: Trouble) -> float:
    is_over = row.is_resolved and row.gone_seconds is not None
    return row.gone_seconds if is_over and row.gone_seconds is not None else row.since_seconds


def problem_signs() -> dict[str, str]:
    """What the glyphs of what needs a human mean."""
    return {
        "▲": "broken, or stops a job",
        "●": "wastes or waits",
        "○": "acknowledged",
        "✓": "resolved",
        "›": "happened while you were away",
    }


def _mark(row: Trouble) -> Cell:
    if row.is_resolved:
        return Cell("✓", "good")
    if row.acknowledged is not None:
        return Cell("○", "dim")
    if row.key == SINCE_LEFT:
        return Cell("›", "info")
    return Cell("▲", "bad") if row.found.is_bad else Cell("●", "warn")


def remedies(row: Trouble, *, is_read_only: bool = False) -> str:
    """What helps; read-only what changes nothing."""
    helps = () if row.is_resolved else row.found.remedies
    return remedy_text(remedy for remedy in helps if not (is_read_only and remedy.is_write))


def _tone(row: Trouble) -> Tone:
    return "dim" if row.is_quiet else ""


def known_words(known: Acknowledgement, now_seconds: float) -> str:
    """`ada, 1h20m more: vendor comes`."""
    left = None if known.until_seconds is None else known.until_seconds - now_seconds
    until = "until it changes" if left is None else f"{fmt.age(left)} more"
    note = f": {known.note}" if known.note else ""
    return f"{known.who or 'acknowledged'}, {until}{note}"


def _age(row: Trouble, now_seconds: float) -> Cell:
    if not row.is_resolved and not row.is_since_told:
        return Cell(at_least(now_seconds - row.since_seconds), "dim")
    cell = fmt.age_cell(_since(row), now_seconds)
    return Cell(cell.text, _tone(row) or cell.tone)


_FIELDS: tuple[Field[Trouble], ...] = (
    Field(Column("mark", "!", 1, sortable=False), lambda r, _: _mark(r)),
    Field(
        Column("age", "Age", 5, "right"),
        _age,
        lambda r, now: now - _since(r),
        Measure.SECONDS,
    ),
    Field(
        Column("subject", "Needs a human", 20, grow=2, most=36, keeps_end=True),
        lambda r, _: Cell(r.found.title, _tone(r) or "strong"),
        lambda r, _: r.found.title,
    ),
    Field(
        Column("sentence", "Why", 30, grow=8, most=100, folds=True),
        lambda r, now: Cell(sentence(r, now), _tone(r)),
        sentence,
    ),
    Field(
        Column("remedy", "Do", 17, priority=2),
        lambda r, _: Cell(remedies(r), _tone(r) or "accent"),
        lambda r, _: remedies(r),
    ),
)


_FIELDS_READ_ONLY: tuple[Field[Trouble], ...] = (
    *_FIELDS[:-1],
    Field(
        _FIELDS[-1].column,
        lambda r, _: Cell(remedies(r, is_read_only=True), _tone(r) or "accent"),
        lambda r, _: remedies(r, is_read_only=True),
    ),
)

ATTENTION_VIEW: View[Trouble] = View(fields=_FIELDS, key=lambda row: row.key)
READ_ONLY_VIEW: View[Trouble] = View(fields=_FIELDS_READ_ONLY, key=lambda row: row.key)


def attention_table(
    rows: Sequence[Trouble],
    state: ViewState,
    now_seconds: float,
    *,
    is_read_only: bool = False,
    is_titled: bool = False,
) -> LazyTable[Trouble]:
    """What needs a human, in the order in which triage ranks it; read-only, without keys that change. Where
    the table `is_titled`, that tells the counts (`attention_figure`), else the titles of the columns do."""
    view = READ_ONLY_VIEW if is_read_only else ATTENTION_VIEW
    fields = _named(view.fields, rows, now_seconds, is_titled=is_titled)
    return replace(view, fields=fields).table(rows, state, now_seconds)


def attention_of_clusters(
    rows: Sequence[tuple[str, Trouble]],
    state: ViewState,
    now_seconds: float,
    *,
    read_only: Collection[str] = (),
    is_titled: bool = False,
) -> LazyTable[ClusterRow[Trouble]]:
    """The same of several clusters, each row with its cluster; `read_only` are those whose rows tell
    no key that changes. The rows stand as they come: see `ranked`."""
    troubles = [row for _, row in rows]
    named = _named(ATTENTION_VIEW.fields, troubles, now_seconds, is_titled=is_titled)
    view = over_clusters(replace(ATTENTION_VIEW, fields=named), {cluster for cluster, _ in rows})
    found = [
        ClusterRow(cluster, row, READ_ONLY_VIEW if cluster in read_only else ATTENTION_VIEW)
        for cluster, row in rows
    ]
    return view.table(found, state, now_seconds)


def ranked(rows: Iterable[tuple[str, Trouble]], now_seconds: float) -> list[tuple[str, Trouble]]:
    """Rows of several clusters as one list: what is open by its rank, then what is acknowledged, then what is
    resolved, the latest first. Equal rows stand by their cluster."""

    def place(each: tuple[str, Trouble]) -> tuple[object, ...]:
        cluster, row = each
        if row.key == SINCE_LEFT:
            return 0, cluster
        if row.is_resolved:
            return 3, -(row.gone_seconds or 0.0), cluster
        return 1 if row.acknowledged is None else 2, *rank(row.found, now_seconds), cluster

    return sorted(rows, key=place)


class _Counts(NamedTuple):
    """What is open: causes, the objects that they are about, rows of alerts, GPU-hours that were lost."""

    causes: int
    objects: int
    alerts: int
    gpu_hours: float


def _counts(rows: Sequence[Trouble], now_seconds: float) -> _Counts:
    open_ = [row for row in rows if not row.is_quiet and row.key != SINCE_LEFT]
    hours = sum(row.found.gpus * max(0.0, now_seconds - row.since_seconds) for row in open_) / 3_600.0
    own = [row for row in open_ if not is_alert(row.found)]
    return _Counts(len(own), sum(1 + row.found.others for row in own), len(open_) - len(own), hours)


def attention_figure(rows: Sequence[Trouble], now_seconds: float) -> str:
    """`4 causes · 36 objects · 2 alerts · 111 GPU-hours lost`, "" where nothing is open."""
    found = _counts(rows, now_seconds)
    if not (found.causes or found.alerts):
        return ""
    words = [counted(found.causes, "cause")] if found.causes else []
    if found.objects > found.causes:
        words.append(f"{found.objects:,} objects")
    if found.alerts:
        words.append(counted(found.alerts, "alert"))
    return " · ".join((*words, f"{found.gpu_hours:,.0f} GPU-hours lost"))


def _named(
    fields: tuple[Field[Trouble], ...], rows: Sequence[Trouble], now_seconds: float, *, is_titled: bool
) -> tuple[Field[Trouble], ...]:
    """The columns with their titles; without a title above the table how many there are stands in them."""
    found = _counts(rows, now_seconds)
    titles = {"subject": "Subject"} if is_titled else {}
    if (count := found.causes + found.alerts) and not is_titled:
        titles = {
            "subject": f"Needs a human {count}",
            "sentence": f"Why · GPU-hours lost: {found.gpu_hours:,.0f}",
        }
    if not titles or not rows:
        return fields
    longest = max(len(titles["subject"]), *(width_of(row.found.title) for row in rows))

    def titled(field: Field[Trouble]) -> Field[Trouble]:
        column = field.column
        if column.id == "subject":  # what it does not need is the sentence's
            column = replace(column, most=max(column.width, min(column.most, longest)))
        return replace(field, column=replace(column, title=titles.get(column.id, column.title)))

    return tuple(map(titled, fields))
