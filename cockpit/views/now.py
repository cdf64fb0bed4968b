"""The header of every place and the panels of *Now*: the fleet, pools and queues."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from cockpit_widgets.glyphs import spark
from cockpit_widgets.text import width_of
from cockpit_widgets.types import Cell, Column, StatusSegment

from cockpit.model.acts_as import ActsAs
from cockpit.model.batch import Phase, StreamStatus
from cockpit.model.namespaces import Namespaces
from cockpit.model.pool import Pool
from cockpit.model.quantity import Absent
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader
from cockpit.model.trend_reader import TrendReader
from cockpit.model.trust import Trust
from cockpit.triage.namespace_notes import is_confined, namespace_notes
from cockpit.views import format as fmt
from cockpit.views import queues
from cockpit.views.fleet import Fleet, fleet
from cockpit.views.lazy_table import Field, ListRows, View
from cockpit.views.pools import allocated_ratio, size_text
from cockpit.views.states import stream_tone
from cockpit.views.view_state import ViewState

Segments = tuple[StatusSegment, ...]

_SHOWN_STREAMS = (Kind.NODE, Kind.POD, Kind.GPU, Kind.ALERT)
"""Streams whose trouble is told in the header of every place."""


UNTRUSTED = {Trust.UNVERIFIED: "TLS unverified", Trust.PLAIN: "no TLS"}
"""The header's mark while the server's identity is not verified."""
QUIET_SECONDS = 90.0
"""Bookmarks come about once a minute: a longer silence is worth a word."""


class LinkState(Protocol):
    """How the attachment to a cluster stands."""

    @property
    def is_connected(self) -> bool: ...
    @property
    def link(self) -> Any: ...  # an enum whose value is a word
    @property
    def sentence(self) -> str: ...
    @property
    def api_seconds(self) -> float | None: ...
    @property
    def unanswered_since_seconds(self) -> float | None: ...
    @property
    def faults(self) -> Mapping[str, str]: ...


class HeaderSource(LinkState, Protocol):
    """What the header reads of the attachment to a cluster."""

    @property
    def store(self) -> StoreReader: ...
    @property
    def context(self) -> str: ...
    @property
    def trust(self) -> Trust | None:
        """Whether the server's certificate is checked; None while there is no session."""

    @property
    def acts_as(self) -> ActsAs | None:
        """Whom the kubeconfig's user acts as; None: as itself."""

    @property
    def is_read_only(self) -> bool: ...


def header(
    attached: HeaderSource, now_seconds: float, state: ViewState | None = None, heading: Segments = ()
) -> tuple[Segments, Segments]:
    """The header line as (left, right): context, the screen's `heading`, nodes, what the GPUs do; API, age of
    the data, read-only. In front of it a mark while the server's identity is not verified."""
    # without a name and a sentence the kubeconfig is being read
    context = attached.context or ("no context" if attached.sentence else "")
    acts_as = attached.acts_as
    identity = () if acts_as is None else (StatusSegment(f"as {acts_as.user}", "warn", 1),)
    name = (StatusSegment(context, "strong", 1),) if context else ()
    left = [*name, *identity, *heading]
    if attached.trust is not None and attached.trust is not Trust.VERIFIED:
        left.insert(0, StatusSegment(f"▲ {UNTRUSTED[attached.trust]}", "bad", 1))
    if not attached.is_connected:
        left.append(StatusSegment(attached.link.value, "warn", 1))
        if attached.sentence:
            # whole or not at all: the place below has room for it
            left.append(StatusSegment(attached.sentence, "bad", 2))
    else:
        is_page = any(item.priority == 1 for item in heading)  # what it is about goes before the fleet
        told = fleet_segments(fleet(attached.store))
        left.extend(item._replace(priority=item.priority + is_page) for item in told)
    if state is not None:
        left += _namespace_segments(attached.store, state.namespaces)
    right: list[StatusSegment] = []
    if attached.faults:
        more = f" and {len(attached.faults) - 1} more" if len(attached.faults) > 1 else ""
        right.append(StatusSegment(f"internal error in {next(iter(attached.faults))}{more}", "bad", 1))
    if attached.api_seconds is not None:
        right.append(StatusSegment(f"api {attached.api_seconds * 1000:.0f} ms", "dim", 5))
    silent_since = attached.unanswered_since_seconds
    if attached.is_connected and silent_since is not None:
        words = f"stale: no answer for {fmt.age(now_seconds - silent_since)}"
        right.append(StatusSegment(words, "bad", 1))
    else:
        right.append(data_segment(attached.store, now_seconds))
    right.append(StatusSegment("ro", "info", 1) if attached.is_read_only else StatusSegment("rw", "warn", 1))
    return tuple(left), tuple(right)


def _namespace_segments(store: StoreReader, shown: Namespaces) -> Iterator[StatusSegment]:
    """Which namespaces are shown where it is not all of them, and what is amiss with them."""
    if shown:
        only = "only " if is_confined(store) else ""
        yield StatusSegment(f"{only}{shown.words}", "info", 1)
    if notes := namespace_notes(store, shown):
        yield StatusSegment(notes[0], "warn", 2)


def fleet_segments(found: Fleet) -> Segments:
    """`312 nodes · 2,101/2,496 GPUs busy · 203 low duty · 164 free · 28 lost · duty 71%`.

    GPUs are cards; MIG instances and replicas are told beside them as shares. Allocated cards whose
    duty is unknown are shown as such, never as idle or busy.
    """
    if not found.nodes:
        return ()
    segments = [StatusSegment(f"{found.nodes:,} {'node' if found.nodes == 1 else 'nodes'}", "", 4)]
    if not found.gpus and not found.joining:
        return (*segments, StatusSegment("no GPUs", "warn", 1))
    gpus = "GPU" if found.gpus == 1 else "GPUs"
    if found.unseen:
        segments.append(StatusSegment(f"{found.gpus:,} {gpus}", "strong", 1))
        segments.append(StatusSegment(f"{found.allocated:,} seen allocated", "", 3))
    elif found.allocated_unknown and not found.busy and not found.idle_allocated:
        segments.append(StatusSegment(f"{found.allocated:,}/{found.gpus:,} {gpus} allocated", "strong", 1))
    else:
        segments.append(StatusSegment(f"{found.busy:,}/{found.gpus:,} {gpus} busy", "strong", 1))
        if found.allocated_unknown:
            segments.append(StatusSegment(f"{found.allocated_unknown:,} allocated, duty n/c", "dim", 3))
        segments.append(
            # not "idle": that is a job which has done nothing for an hour, or an unused node
            StatusSegment(f"{found.idle_allocated:,} low duty", "warn" if found.idle_allocated else "dim", 3)
        )
    segments.append(StatusSegment("free unknown" if found.unseen else f"{found.free:,} free", "", 2))
    if found.lost:
        segments.append(StatusSegment(f"{found.lost:,} lost", "bad", 1))
    if found.shares:
        segments.append(
            StatusSegment(f"{found.shares_allocated:,}/{found.shares:,} shares allocated", "dim", 4)
        )
    if found.implausible:
        segments.append(StatusSegment(f"{found.implausible:,} implausible", "bad", 3))
    if found.contradicted:
        segments.append(StatusSegment(f"{found.contradicted:,} contradictory", "warn", 3))
    if found.joining:
        segments.append(StatusSegment(f"{found.joining:,} joining", "info", 3))
    if isinstance(found.duty, Absent):
        segments.append(StatusSegment(f"duty {fmt.absent_cell(found.duty).text}", "dim", 4))
    else:
        segments.append(StatusSegment(f"duty {fmt.percent(found.duty)}", "", 4))
    return tuple(segments)


def data_segment(store: StoreReader, now_seconds: float) -> StatusSegment:
    """How old the data is, or which stream is in trouble."""
    heard: list[float] = []
    polled: StreamStatus | None = None
    for kind in _SHOWN_STREAMS:
        status = store.status(kind)
        if status is None:
            continue
        if status.phase in (Phase.LISTING, Phase.CONNECTING):
            return StatusSegment(f"{kind} {status.phase.value} {status.objects:,}", "info", 1)
        if status.phase is Phase.POLLED:
            polled = polled or status
            continue
        if status.phase not in (Phase.LIVE, Phase.ABSENT):
            words = f"{kind} {status.phase.value}{_last_heard(status, now_seconds)}"
            return StatusSegment(words, stream_tone(status.phase), 1)
        if status.heard_seconds is not None and kind not in (Kind.GPU, Kind.ALERT):
            heard.append(status.heard_seconds)
    if polled is not None:
        age = "" if polled.heard_seconds is None else f", {fmt.age(now_seconds - polled.heard_seconds)} old"
        return StatusSegment(f"{polled.kind} polled{age}", "warn", 1)
    if not heard:
        return StatusSegment("no data yet", "dim", 2)
    # a quiet stream is not an old one: the server says something at least once a minute (bookmarks), and
    # until then nothing is repainted just because a second went by
    age_seconds = now_seconds - max(heard)
    if age_seconds <= QUIET_SECONDS:
        return StatusSegment("live", "dim", 2)
    return StatusSegment(f"data {fmt.age(age_seconds)} old", "warn", 1)


def _last_heard(status: StreamStatus, now_seconds: float) -> str:
    """How old what is shown of a broken stream is; a denied one shows nothing."""
    if status.heard_seconds is None or status.phase is Phase.DENIED:
        return ""
    return f", last update {fmt.age(now_seconds - status.heard_seconds)} ago"


# ---- the fleet in a line

_TREND_CELLS = 16


def fleet_sums(found: Fleet, trends: TrendReader, width: int) -> str:
    """`duty ▅▆▆▇ 76% · power ▂▃▅▆ 39.5kW · memory 5.3Ti/6.3Ti` in at most `width` cells.

    Where room is short the lines of blocks shrink first, then whole numbers are left out from the end. What
    is not measured is left out.
    """
    words: list[str] = []
    for cells in (_TREND_CELLS, _TREND_CELLS // 2, 0):
        words = _sums(found, trends, cells)
        if width_of(" · ".join(words)) <= width:
            break
    while words and width_of(" · ".join(words)) > width:
        words.pop()
    return " · ".join(words)


def _sums(found: Fleet, trends: TrendReader, cells: int) -> list[str]:
    words = []
    if not isinstance(found.duty, Absent):
        words.append(f"duty {_trend(trends.fleet('duty'), 1.0, cells)}{fmt.percent(found.duty)}")
    if found.watts is not None:
        watts = trends.fleet("watts")
        most = max((item for item in watts if item is not None), default=0.0)
        words.append(f"power {_trend(watts, most, cells)}{fmt.watts(found.watts)}")
    if found.memory_used_bytes is not None and found.memory_total_bytes is not None:
        words.append(f"memory {fmt.memory_cell(found.memory_used_bytes, found.memory_total_bytes).text}")
    return words


def _trend(values: tuple[float | None, ...], high: float, cells: int) -> str:
    """A line of at most `cells` blocks and a blank; nothing before there are two samples."""
    known = sum(value is not None for value in values)
    return f"{spark(values, min(cells, len(values)), 0.0, high)} " if known > 1 and cells else ""


# ---- panels: a line a pool, a line a queue


def _pool_words(pool: Pool) -> str:
    words = []
    if 0 < pool.cards < pool.gpus_total:
        words.append(f"{pool.gpus_total:,} shares")
    if pool.nodes_joining:
        words.append(f"+{pool.nodes_joining} joining")
    if pool.idle_nodes and pool.is_use_known:
        noun = "" if words else f" node{'s' * (pool.idle_nodes != 1)}"  # the column has room for one
        words.append(f"{pool.idle_nodes} idle{noun}")
    return " · ".join(words)


def _pool_place(pool: Pool) -> float:
    """Pools that grow first, then those with GPUs."""
    has_gpus = pool.gpus_total or any(kind.gpu_model for kind in pool.kinds)
    return -1.0 if pool.nodes_joining else 0.0 if has_gpus else 1.0


_POOL_PANEL: tuple[Field[Pool], ...] = (
    Field(Column("name", "Pool", 10, grow=1, most=40), lambda r, _: Cell(r.name, "strong")),
    Field(Column("now", "Nodes", 9, "right"), lambda r, _: Cell(size_text(r))),
    Field(
        Column("gpus", "GPUs", 6, "right"),
        lambda r, _: Cell(fmt.count(r.cards or r.gpus_total)) if r.gpus_total else Cell("none", "dim"),
    ),
    Field(
        Column("share", "Alloc", 5, "right"),
        lambda r, _: (
            fmt.NOTHING if (allocated := allocated_ratio(r)) is None else Cell(fmt.percent(allocated))
        ),
    ),
    Field(Column("words", "", 20, grow=2, priority=2), lambda r, _: Cell(_pool_words(r), "info")),
)

_QUEUE_PANEL: tuple[Field[queues.QueueRow], ...] = (
    Field(Column("name", "Queue", 12, grow=2, most=40), lambda r, _: Cell(r.name, "strong")),
    Field(
        Column("pending", "Pending", 7, "right"),
        lambda r, _: (
            fmt.UNKNOWN if r.pending is None else Cell(str(r.pending), "warn" if r.pending else "dim")
        ),
    ),
    Field(Column("running", "Running", 7, "right"), lambda r, _: fmt.count_cell(r.admitted)),
    Field(
        Column("quota", "GPU quota", 9, "right"),
        lambda r, _: Cell(queues.quota_total(r)) if r.has_devices else Cell("no GPUs", "dim"),
    ),
)

POOL_PANEL: View[Pool] = View(
    fields=_POOL_PANEL,
    key=lambda pool: pool.owner_uid or pool.name,
    name=lambda pool: pool.name,
    order=lambda pool, _: _pool_place(pool),
)
QUEUE_PANEL: View[queues.QueueRow] = View(
    fields=_QUEUE_PANEL,
    key=lambda row: row.key,
    name=lambda row: row.name,
    namespace=lambda row: row.namespace,
    order=lambda row, _: -float(row.pending or 0),
)


def pool_lines(pools: Sequence[Pool], trends: TrendReader | None = None) -> ListRows[Pool]:
    """A short line a pool, growing ones first, then those with GPUs; with `trends` also how
    busy they were lately."""
    if trends is None:
        return ListRows(POOL_PANEL, pools)

    def duty(pool: Pool, _: float) -> Cell:
        values = trends.pool(pool.name)
        if not values or values[-1] is None:
            return fmt.NOTHING
        return Cell(f"{_trend(values[-8:], 1.0, 8)}{fmt.percent(values[-1])}", "info")

    field: Field[Pool] = Field(Column("duty", "Duty", 13, "right", priority=2), duty)
    fields = (*_POOL_PANEL[:-1], field, _POOL_PANEL[-1])
    return ListRows(replace(POOL_PANEL, fields=fields), pools)


def queue_lines(store: StoreReader) -> ListRows[queues.QueueRow]:
    """A short line a queue, those with most waiting first."""
    return ListRows(QUEUE_PANEL, queues.rows(store))
