"""What `cockpit fleet` and its page tell: nodes needed, the largest gang of each kind of card, idle and lost
GPUs."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import Final, NamedTuple

from cockpit_widgets.glyphs import bar
from cockpit_widgets.text import fit
from cockpit_widgets.types import Cell, Column, Tone

from cockpit.gangs.sentence import counted
from cockpit.model.job_reader import JobReader
from cockpit.model.node import Node
from cockpit.model.record import Kind
from cockpit.model.right import cannot
from cockpit.model.store_reader import StoreReader
from cockpit.triage.fleet import FleetLoad, FleetUse, IdleGpus, ModelFleet, fleet_load, fleet_use
from cockpit.triage.idle_jobs import AT_REST_SECONDS, IdleJobs, TelemetryGap
from cockpit.triage.packing import Packing
from cockpit.views.cards import short_model
from cockpit.views.fleet import share
from cockpit.views.lazy_table import Field, LazyTable
from cockpit.views.next_steps import looked_for

_MOST_JOBS = 3
_BAR_CELLS: Final = 16
_GAP: Final = "    "


class LostGpus(NamedTuple):
    """Cards of one node that nothing can be put on."""

    node: str
    gpus: int
    is_ready: bool


class FleetPage(NamedTuple):
    """Everything as numbers."""

    use: FleetUse
    lost: tuple[LostGpus, ...]


class FleetSight(NamedTuple):
    """What was read of the store for it; `solved` needs the store no more."""

    load: FleetLoad
    lost: tuple[LostGpus, ...]

    def solved(self) -> FleetPage:
        """The fewest nodes besides; it may take a while."""
        return FleetPage(fleet_use(self.load), self.lost)


def fleet_sight(store: StoreReader, jobs: JobReader, known: IdleJobs, now_seconds: float) -> FleetSight:
    """The whole cluster; nodes belong to no namespace."""
    return FleetSight(fleet_load(store, jobs, known, now_seconds), lost_gpus(store))


def lost_gpus(store: StoreReader) -> tuple[LostGpus, ...]:
    """Nodes with lost cards, those that lack most first; lost as the header counts it."""
    nodes: Mapping[str, Node] = store.records(Kind.NODE)
    found = []
    for node in nodes.values():
        if node.has_gpus:
            lost = share(node, store.requests_on(node.name).gpus, store.gpus_on(node.name)).lost
            if lost:
                found.append(LostGpus(node.name, lost, node.ready == "True"))
    return tuple(sorted(found, key=lambda one: (-one.gpus, one.node)))


def head_lines(page: FleetPage) -> list[str]:
    """The answers in a sentence each."""
    use = page.use
    if not use.are_nodes_known:
        return [f"GPUs and nodes are not known: {cannot('list nodes')}", *_idle_lines(use)]
    if not use.nodes:
        return [f"no node that is ready offers GPUs (looked for {looked_for()}); see cockpit doctor"]
    if not use.is_use_known:
        return [f"{use.nodes} GPU nodes; what they need is not known: not every pod may be read"]
    spare = use.nodes - use.needed
    load = f"{_needed(use.needed, use.at_least)} needed for the current load"
    lines = [f"{counted(use.nodes, 'GPU node')}, {load}: {spare} to spare"]
    lines += _idle_lines(use)
    lost = sum(item.gpus for item in page.lost)
    where = counted(len(page.lost), "node")
    lines.append(f"{counted(lost, 'GPU')} lost on {where}" if lost else "no GPU is lost")
    return lines


def _idle_lines(use: FleetUse) -> Iterable[str]:
    if use.idle is None:
        gaps = " and ".join(gap for gap, _ in use.unmeasured) or TelemetryGap.NOT_COLLECTED
        yield f"idle GPUs are not known: GPU telemetry is {gaps}"
        return
    if use.idle:
        at_least = "at least " if any(item.is_at_least for item in use.idle) else ""
        hours = f"{at_least}{use.idle_gpu_hours or 0.0:.1f} GPU-hours so far"
        yield f"{counted(sum(one.gpus for one in use.idle), 'allocated GPU')} idle: {hours}"
    if use.unsure:
        gpus = counted(sum(item.gpus for item in use.unsure), "allocated GPU")
        missing = "; ".join(sorted({item.missing for item in use.unsure if item.missing}))
        yield f"{gpus} at 0% duty: whether idle is not known" + (f": {missing}" if missing else "")
    for gap, count in use.unmeasured:
        yield f"{counted(count, 'allocated GPU')} not measured: whether idle is not known: duty {gap}"
    if use.resting:
        gpus = counted(use.resting, "allocated GPU")
        yield f"{gpus} at 0% duty for less than {AT_REST_SECONDS / 60:.0f} min: whether idle is not known yet"
    if not (use.idle or use.unsure or use.unmeasured or use.resting):
        yield "no allocated GPU is idle"


def _needed(nodes: int, at_least: int) -> str:
    return str(nodes) if nodes == at_least else f"{at_least} to {nodes}"


# ---- kinds of cards


def card_name(one: ModelFleet) -> str:
    """Its model; of a part of a card also the resource that pods ask for."""
    name = short_model(one.model) or "unknown"
    return name if one.resource in ("", "nvidia.com/gpu") else f"{name} ({one.resource})"


def _packed(one: Packing) -> str:
    if one.unplaced:
        return f"no room for {counted(one.unplaced, 'pod')}"
    return _needed(one.nodes, one.at_least)


def _needed_cell(one: ModelFleet, _: float) -> Cell:
    if one.packing.unplaced:
        return Cell(_packed(one.packing), "warn")
    return Cell(f"{_packed(one.packing)} of {one.nodes}")


def _waiting_cell(one: ModelFleet, _: float) -> Cell:
    if one.with_waiting is None:
        return Cell("nothing waits", "dim")
    return Cell(_packed(one.with_waiting), "warn" if one.with_waiting.unplaced else "")


def _gang_cell(one: ModelFleet, _: float) -> Cell:
    gangs = ", ".join(f"{members} x {size}" for size, members in one.gangs)
    return Cell(gangs) if gangs else Cell("none", "warn")


def _fragmented_cell(one: ModelFleet, _: float) -> Cell:
    if not one.free:
        return Cell("none free", "dim")
    return Cell(f"{one.scattered} of {one.free}", "warn" if one.scattered else "")


_CARD: Final[Field[ModelFleet]] = Field(
    Column("card", "Card", 14, grow=1, most=40), lambda one, _: Cell(card_name(one), "strong")
)
_NEEDED: Final[Field[ModelFleet]] = Field(
    Column("needed", "Nodes needed", 12, "right", sortable=False), _needed_cell
)
_NEEDED_BAR: Final[Field[ModelFleet]] = Field(
    Column("packed", "Packed", _BAR_CELLS, priority=4, sortable=False),
    lambda one, _: Cell(bar(one.packing.nodes / one.nodes, _BAR_CELLS), "info"),
)
_REST: Final[tuple[Field[ModelFleet], ...]] = (
    Field(Column("waiting", "With waiting", 12, "right", priority=2, wish=20, sortable=False), _waiting_cell),
    Field(
        Column("gpus", "Allocated", 9, "right", sortable=False),
        lambda one, _: Cell(f"{one.allocated}/{one.gpus}"),
    ),
    Field(
        Column("free", "Free", 5, "right", sortable=False),
        lambda one, _: Cell(str(one.free), "" if one.free else "dim"),
    ),
    Field(Column("fragmented", "Fragmented", 10, "right", priority=3, sortable=False), _fragmented_cell),
    Field(Column("gang", "Members x GPUs that fit", 23, priority=2, grow=2, sortable=False), _gang_cell),
)
CARD_FIELDS: Final = (_CARD, _NEEDED, *_REST)
CARD_FIELDS_DRAWN: Final = (_CARD, _NEEDED, _NEEDED_BAR, *_REST)


def card_table(
    use: FleetUse, now_seconds: float, fields: Sequence[Field[ModelFleet]] = CARD_FIELDS
) -> LazyTable[ModelFleet]:
    """A line for each kind of card; none where not every pod may be read, for then it is unknown."""
    return LazyTable(fields, use.models if use.is_use_known else (), card_key, now_seconds)


def card_key(one: ModelFleet) -> str:
    return f"{one.resource} {one.model}"


def gaps_of_all(use: FleetUse, width: int) -> tuple[str, ...]:
    """The charts of every card, one below the other; nothing where what is free is not known."""
    lines: list[str] = []
    for item in use.models if use.is_use_known else ():
        lines += [*([""] if lines else []), *gap_lines(item, width, 2 + len(item.gaps) + len(item.gangs))]
    return tuple(lines)


def gap_lines(one: ModelFleet, width: int, height: int) -> tuple[str, ...]:
    """Two charts side by side in that room: nodes by what is free on them, and the members that fit now.

    With too little height the smallest gaps are left to the line that counts them.
    """
    cells = (width - len(_GAP)) // 2
    by_free = [(f"{free} free", nodes, counted(nodes, "node")) for free, nodes in one.gaps]
    if one.shut:
        by_free.append(("no new pods", one.shut, counted(one.shut, "node")))
    by_size = [(f"{size} GPU{'s' * (size > 1)} each", members, str(members)) for size, members in one.gangs]
    left = _bars(f"{card_name(one)}: nodes by free GPUs", by_free, cells, height)
    right = _bars("Schedulable now (members x GPUs)", by_size, cells, height)
    pairs = zip_longest(left, right, fillvalue="")
    return tuple(f"{fit(one, cells)}{_GAP}{other}".rstrip() for one, other in pairs)


def _bars(title: str, rows: Sequence[tuple[str, int, str]], width: int, height: int) -> list[str]:
    """A bar for each (name, number, words), all on one scale."""
    if not rows:
        return [title, "none"]
    shown = rows if len(rows) < height else rows[: max(1, height - 2)]
    names = max(len(name) for name, _, _ in shown)
    words = max(len(text) for _, _, text in shown)
    room = max(4, min(40, width - names - words - 4))
    most = max((number for _, number, _ in rows), default=0) or 1
    lines = [
        fit(f"{name:>{names}}  {bar(number / most, room)}  {text}", width).rstrip()
        for name, number, text in shown
    ]
    more = len(rows) - len(shown)
    return [fit(title, width).rstrip(), *lines, *([f"and {counted(more, 'row')} more"] if more else [])]


# ---- GPUs that do nothing


class Waste(NamedTuple):
    """GPUs that nothing runs on: idle ones of an owner, those that may be, or lost ones of a node."""

    key: str
    what: str  # idle, at 0% or lost
    gpus: int
    whose: str
    gpu_hours: float | None  # None: the duration is unknown
    words: str
    job: str = ""  # `namespace/name` of the first
    node: str = ""


def wastes(page: FleetPage) -> tuple[Waste, ...]:
    """Idle ones by their hours, those that may be, then the lost ones."""
    found = [_of_owner(item, "idle") for item in page.use.idle or ()]
    found += [_of_owner(item, "at 0%") for item in page.use.unsure or ()]
    return (*found, *map(_of_node, page.lost))


def _of_owner(one: IdleGpus, what: str) -> Waste:
    more = len(one.jobs) - _MOST_JOBS
    jobs = ", ".join(one.jobs[:_MOST_JOBS]) + (f" and {more} more" if more > 0 else "")
    whose = one.owner if one.owner == one.namespace else f"{one.owner} in {one.namespace}"
    key = f"{what} {one.namespace} {one.owner}"
    return Waste(key, what, one.gpus, whose, one.gpu_hours, jobs, job=one.jobs[0] if one.jobs else "")


def _of_node(one: LostGpus) -> Waste:
    words = "not allocatable" if one.is_ready else "node not ready"
    return Waste(f"lost {one.node}", "lost", one.gpus, f"node {one.node}", None, words, node=one.node)


def _hours_cell(one: Waste, _: float) -> Cell:
    return Cell("?", "dim") if one.gpu_hours is None else Cell(f"{one.gpu_hours:.1f}")


_TONES: Final[Mapping[str, Tone]] = {"idle": "warn", "lost": "bad"}
_WASTE: Final[tuple[Field[Waste], ...]] = (
    Field(
        Column("what", "GPUs", 9, sortable=False),
        lambda one, _: Cell(f"{one.gpus:>3} {one.what}", _TONES.get(one.what, "dim")),
    ),
    Field(Column("hours", "GPU-hours", 9, "right", sortable=False), _hours_cell),
    Field(
        Column("whose", "Whose", 16, grow=1, most=50, sortable=False),
        lambda one, _: Cell(one.whose, "strong"),
    ),
    Field(Column("words", "Why", 20, grow=3, sortable=False, folds=True), lambda one, _: Cell(one.words)),
)


def waste_table(page: FleetPage, now_seconds: float, *, is_drawn: bool = False) -> LazyTable[Waste]:
    """A line for each owner of idle GPUs and each node with lost ones; `is_drawn` with bars of the hours."""
    rows = wastes(page)
    fields = (*_WASTE[:2], _hours_bar(rows), *_WASTE[2:]) if is_drawn else _WASTE
    return LazyTable(fields, rows, lambda one: one.key, now_seconds)


def _hours_bar(rows: Iterable[Waste]) -> Field[Waste]:
    most = max((row.gpu_hours or 0.0 for row in rows), default=0.0) or 1.0

    def cell(one: Waste, _: float) -> Cell:
        return Cell("" if one.gpu_hours is None else bar(one.gpu_hours / most, _BAR_CELLS), "warn")

    return Field(Column("share", "", _BAR_CELLS, priority=3, sortable=False), cell)
