"""The places as tabs, each with the number of things on it that need attention."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from weakref import WeakKeyDictionary

from cockpit_widgets.types import Tab, Tone

from cockpit.gangs import registry
from cockpit.model.job import JobState
from cockpit.model.job_reader import JobReader
from cockpit.model.listing import Complete, Gap, listing
from cockpit.model.namespaces import EVERY, Namespaces
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader
from cockpit.pools.index import pools_of
from cockpit.triage.troubles import Trouble
from cockpit.views import queues
from cockpit.views.attention import SINCE_LEFT
from cockpit.views.fleet import fleet

UNKNOWN_NOTE = "?"


class PlaceCounts(NamedTuple):
    """What needs attention, by place; None where the lists that it is counted from are not complete.

    `now`: problems that are open and not acknowledged; `jobs`: pending ones; `nodes`: GPU nodes that are not
    ready or have lost GPUs; `queues`: those that take no jobs; `pools`: nodes that pools asked for and that
    are not ready yet.
    """

    now: int | None = None
    jobs: int | None = None
    nodes: int | None = None
    queues: int | None = None
    pools: int | None = None


@dataclass(frozen=True, slots=True)
class CountMark:
    """How a count is written: `3◔` or `+2`. `means` stands in the help."""

    key: str
    name: str
    short: str
    form: str = ""
    tone: Tone = ""
    means: str = ""


PLACE_MARKS = (
    CountMark("1", "Now", "Now", "{}", "bad", "open, ?: unknown"),
    CountMark("2", "Jobs", "Jobs", "{}◔", "warn", "pending"),
    CountMark("3", "Nodes", "Nodes", "{}▲", "bad", "not ready or GPUs lost"),
    CountMark("4", "Queues", "Queues", "{}‖", "warn", "take no jobs"),
    CountMark("5", "Pools", "Pools", "+{}", "info", "nodes to come"),
    CountMark("6", "Events", "Ev"),
    CountMark("7", "Pods", "Pods"),
    CountMark("8", "Fleet", "Fleet"),
)
PLACE_MARKS_BY_NAME = {mark.name.lower(): mark for mark in PLACE_MARKS}


def tab_key(place: str) -> str:
    """The key of the tab of a place, "" for a page that is none."""
    mark = PLACE_MARKS_BY_NAME.get(place)
    return "" if mark is None else mark.key


def tabs(counts: PlaceCounts) -> tuple[Tab, ...]:
    """The tabs with these counts: nothing is written of none, `?` of what is unknown."""
    known = (*counts, *(0 for _ in range(len(PLACE_MARKS) - len(counts))))
    return tuple(_tab(mark, count) for mark, count in zip(PLACE_MARKS, known, strict=True))


def _tab(mark: CountMark, count: int | None) -> Tab:
    if count is None:
        return Tab(mark.key, mark.name, mark.short, UNKNOWN_NOTE, "dim")
    note = mark.form.format(f"{count:,}") if count else ""
    return Tab(mark.key, mark.name, mark.short, note, mark.tone)


def counts_of(clusters: Iterable[PlaceCounts]) -> PlaceCounts:
    """The counts of several clusters together: unknown where that of one is."""
    return PlaceCounts(
        *(
            None if None in each else sum(count for count in each if count is not None)
            for each in zip(*clusters, strict=True)
        )
    )


def place_counts(store: StoreReader, jobs: JobReader, namespaces: Namespaces = EVERY) -> PlaceCounts:
    """The counts now, of the namespaces shown, all but that of *Now* (`open_problems`)."""
    has_nodes, has_pods = _is_read(store, Kind.NODE), _is_read(store, Kind.POD)
    shown = frozenset(namespaces.names)
    return PlaceCounts(
        jobs=_pending(jobs, shown) if has_pods else None,
        nodes=fleet(store).nodes_in_trouble if has_nodes else None,
        queues=_closed_queues(store, shown) if store.statuses() else None,
        pools=_nodes_coming(store) if has_nodes else None,
    )


def open_problems(store: StoreReader, troubles: Sequence[Trouble] | None) -> int | None:
    """How many of the rows of *Now* are open; None before they are known, and where nodes or pods are not."""
    if troubles is None or not (_is_read(store, Kind.NODE) and _is_read(store, Kind.POD)):
        return None
    return sum(not row.is_quiet and row.key != SINCE_LEFT for row in troubles)


def _is_read(store: StoreReader, kind: str) -> bool:
    """Whether what may be seen of the kind is in the store, if only as it was a while ago."""
    found = listing(store, kind)
    is_whole = isinstance(found, Complete) or found.gap not in (Gap.DENIED, Gap.UNREAD)
    return store.status(kind) is not None and is_whole


def _pending(jobs: JobReader, shown: frozenset[str]) -> int:
    return sum(
        job.state == JobState.PENDING and (not shown or job.namespace in shown) for job in jobs.jobs.values()
    )


class _Memo(NamedTuple):
    """A count that was made of kinds as they stood at `revision`, with what else it depends on."""

    revision: int
    of: object
    number: int


_QUEUE_MEMOS: "WeakKeyDictionary[StoreReader, _Memo]" = WeakKeyDictionary()
_POOL_MEMOS: "WeakKeyDictionary[StoreReader, _Memo]" = WeakKeyDictionary()


def _closed_queues(store: StoreReader, shown: frozenset[str]) -> int | None:
    """Queues that take no jobs; None where those of an engine that is there may not be read."""
    tables = registry.queue_tables()
    known = {kind: store.status(kind) for kind in tables}
    if any(status is not None and not _is_read(store, kind) for kind, status in known.items()):
        return None
    revision, memo = store.revision_of(*tables), _QUEUE_MEMOS.get(store)
    if memo is None or (memo.revision, memo.of) != (revision, shown):
        rows = (row for row in queues.rows(store) if not shown or not row.namespace or row.namespace in shown)
        count = sum(row.is_closed for row in rows)
        memo = _QUEUE_MEMOS[store] = _Memo(revision, shown, count)
    return memo.number


def _nodes_coming(store: StoreReader) -> int:
    """Nodes on their way into pools, counted again where a node, a pool or a machine moved."""
    revision, memo = store.revision_of(Kind.NODE, Kind.POOL, Kind.MACHINE), _POOL_MEMOS.get(store)
    if memo is None or memo.revision != revision:
        count = sum(pool.nodes_joining for pool in pools_of(store))
        memo = _POOL_MEMOS[store] = _Memo(revision, None, count)
    return memo.number
