"""The events table: repeats folded into one line, newest first, what concerns GPUs, jobs and nodes."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from cockpit_widgets.types import Cell, Column

from cockpit.model.event import Event
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader
from cockpit.views import format as fmt
from cockpit.views.lazy_table import Field, LazyTable, Memory, View
from cockpit.views.order import Value
from cockpit.views.view_state import Measure, ViewState

EVERYTHING = "all"
"""The word of a filter that shows the events of every object."""

_OF_NO_CONCERN = frozenset(
    {
        "ConfigMap",
        "CronJob",
        "DaemonSet",
        "Deployment",
        "Endpoints",
        "EndpointSlice",
        "HorizontalPodAutoscaler",
        "Ingress",
        "Lease",
        "Namespace",
        "NetworkPolicy",
        "ReplicaSet",
        "ReplicationController",
        "Secret",
        "Service",
        "ServiceAccount",
    }
)


@dataclass(frozen=True, slots=True)
class EventRow:
    """Events that say the same of the same object: the newest stands for all, `count` is of all."""

    event: Event
    count: int
    first_seconds: float | None

    @property
    def object_text(self) -> str:
        """`Pod team-a/llm-worker-0`."""
        one = self.event
        place = f"{one.object_namespace}/{one.object_name}" if one.object_namespace else one.object_name
        return f"{one.object_kind} {place}".strip()


def is_concern(event: Event, store: StoreReader) -> bool:
    """True for events of nodes, jobs, queues, pools, and of pods that train or ask for GPUs."""
    if event.object_kind == "Pod":
        pod: Pod | None = store.get(Kind.POD, event.object_uid)
        if pod is None:
            return event.type == "Warning"
        return bool(pod.gpus or pod.job_label or pod.gang or pod.queue)
    return event.object_kind not in _OF_NO_CONCERN


def folded(events: Iterable[Event]) -> list[EventRow]:
    """One row for all events of one object with the same type, reason and message; newest first."""
    rows: dict[tuple[str, str, str, str], EventRow] = {}
    for event in events:
        key = (
            event.object_uid or f"{event.object_kind}/{event.object_namespace}/{event.object_name}",
            event.type,
            event.reason,
            event.message,
        )
        had = rows.get(key)
        if had is None:
            rows[key] = EventRow(event, event.count, event.first_seconds)
            continue
        firsts = [at for at in (had.first_seconds, event.first_seconds) if at is not None]
        newest = (
            event
            if (event.last_seconds or 0.0, event.uid) > (had.event.last_seconds or 0.0, had.event.uid)
            else had.event
        )
        rows[key] = replace(
            had, event=newest, count=had.count + event.count, first_seconds=min(firsts, default=None)
        )
    return sorted(rows.values(), key=lambda row: (-(row.event.last_seconds or 0.0), row.event.uid))


def _type(row: EventRow, now_seconds: float) -> Cell:
    if row.event.type == "Warning":
        return Cell("▲ warning", "warn")
    return Cell("· normal" if row.event.type == "Normal" else f"? {row.event.type}".strip(), "dim")


def _seen_ago(row: EventRow, now_seconds: float) -> Value:
    return None if row.event.last_seconds is None else now_seconds - row.event.last_seconds


_FIELDS: tuple[Field[EventRow], ...] = (
    Field(Column("type", "Type", 9), _type),
    Field(
        Column("age", "Age", 5, "right"),
        lambda r, now: fmt.age_cell(r.event.last_seconds, now),
        _seen_ago,
        Measure.SECONDS,
    ),
    Field(
        Column("count", "Count", 5, "right", priority=2),
        lambda r, _: Cell(fmt.count(r.count)),
        lambda r, _: r.count,
        Measure.COUNT,
    ),
    Field(
        Column("object", "Object", 28, grow=3, most=48, keeps_end=True, folds=True),
        lambda r, _: Cell(r.object_text, "strong"),
        lambda r, _: r.object_text,
    ),
    Field(
        Column("reason", "Reason", 16, priority=2, most=30, grow=1),
        lambda r, _: Cell(r.event.reason, "warn" if r.event.type == "Warning" else ""),
        lambda r, _: r.event.reason,
    ),
    Field(
        Column("message", "Message", 24, grow=8, wish=70, folds=True),
        lambda r, _: Cell(r.event.message),
        lambda r, _: r.event.message,
    ),
    Field(
        Column("component", "From", 14, priority=5),
        lambda r, _: Cell(r.event.component, "dim"),
        lambda r, _: r.event.component,
    ),
)

_HIDDEN: tuple[Field[EventRow], ...] = (
    Field(
        Column("kind", "Kind", 10), lambda r, _: Cell(r.event.object_kind), lambda r, _: r.event.object_kind
    ),
    Field(
        Column("namespace", "Namespace", 12),
        lambda r, _: Cell(r.event.object_namespace),
        lambda r, _: r.event.object_namespace,
    ),
)

VIEW: View[EventRow] = View(
    fields=_FIELDS,
    hidden=_HIDDEN,
    key=lambda row: row.event.uid,
    namespace=lambda row: row.event.object_namespace,
    haystack=lambda r: (
        f"{r.event.type} {r.object_text} {r.event.reason} {r.event.message} {r.event.component}"
    ),
    token=lambda row: row.event,
)


def table(
    store: StoreReader,
    state: ViewState,
    now_seconds: float,
    memory: Memory | None = None,
    *,
    events: Iterable[Event] | None = None,
) -> LazyTable[EventRow]:
    """Events as rows keyed by the newest event's uid, newest first. `events` narrows them to one object's.

    The word `all` in the filter shows the events of every kind of object.
    """
    words = state.filter.split()
    if events is not None:
        chosen: Iterable[Event] = events
    elif EVERYTHING in words:
        chosen = store.records(Kind.EVENT).values()
        state = replace(state, filter=" ".join(word for word in words if word != EVERYTHING))
    else:
        chosen = [record for record in store.records(Kind.EVENT).values() if is_concern(record, store)]
    return VIEW.table(folded(chosen), state, now_seconds, memory)
