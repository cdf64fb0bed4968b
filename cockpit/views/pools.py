"""The pools table: how many machines, who may resize them, what is allocated and what is idle."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from cockpit_widgets.glyphs import spark
from cockpit_widgets.types import Cell, Column, Tone

from cockpit.model.pool import Pool
from cockpit.model.price import Prices
from cockpit.model.trend_reader import TrendReader
from cockpit.pools.demand import NO_DEMAND, PoolDemand
from cockpit.pools.price import pool_hourly
from cockpit.pools.stage import dark_nodes, nodes_coming
from cockpit.views import cards
from cockpit.views import format as fmt
from cockpit.views.lazy_table import Field, LazyTable, ListRows, Memory, View
from cockpit.views.order import Value
from cockpit.views.view_state import Measure, ViewState


def size_text(pool: Pool) -> str:
    """`40/40 max`, `3→5`, `3`: machines now, and where they are to go."""
    if pool.target is not None and pool.target != pool.nodes_now:
        return f"{pool.nodes_now}→{pool.target}"
    if pool.maximum is not None:
        full = " max" if pool.nodes_now >= pool.maximum else ""
        return f"{pool.nodes_now}/{pool.maximum}{full}"
    return str(pool.nodes_now)


def allocated_ratio(pool: Pool) -> float | None:
    """Share of the pool's GPUs that pods hold; None without GPUs, or where not every pod is seen."""
    return pool.gpus_allocated / pool.gpus_total if pool.gpus_total and pool.is_use_known else None


def _size(pool: Pool, now_seconds: float) -> Cell:
    moving = pool.target is not None and pool.target != pool.nodes_now
    full = pool.maximum is not None and pool.nodes_now >= pool.maximum
    return Cell(size_text(pool), "info" if moving else "warn" if full else "")


def _owner(pool: Pool, now_seconds: float) -> Cell:
    if not pool.owner_kind:
        return Cell("autoscaler's status" if pool.owner_uid else "labels only", "dim")
    return Cell(f"{pool.owner_kind} {pool.owner_key}", "dim" if pool.why_not else "")


def _bound(number: int | None) -> Cell:
    # an owner without a bound is a fact, not a gap in what we know
    return fmt.NOTHING if number is None else Cell(str(number))


def _joining(pool: Pool, now_seconds: float) -> Cell:
    coming = nodes_coming(pool, now_seconds)
    return Cell(str(coming), "info") if coming else Cell("0", "dim")


def _allocated(pool: Pool, now_seconds: float) -> Cell:
    if not pool.gpus_total:
        return Cell("none", "dim")
    return Cell(f"{pool.gpus_allocated if pool.is_use_known else '?'}/{pool.gpus_total}")


def _share(pool: Pool, now_seconds: float) -> Cell:
    ratio = allocated_ratio(pool)
    return fmt.NOTHING if ratio is None else Cell(fmt.percent(ratio))


def _idle(pool: Pool, now_seconds: float) -> Cell:
    if not pool.is_use_known:
        return fmt.UNKNOWN
    return Cell(str(pool.idle_nodes), "warn") if pool.idle_nodes else Cell("0", "dim")


def _unadvertised(pool: Pool, now_seconds: float) -> Cell:
    tone: Tone = "bad" if dark_nodes(pool, now_seconds) else "warn"
    return Cell(str(pool.nodes_unadvertised), tone) if pool.nodes_unadvertised else Cell("0", "dim")


def _idle_gpus(pool: Pool, now_seconds: float) -> Cell:
    if not pool.is_use_known:
        return fmt.UNKNOWN
    return Cell(str(pool.gpus_idle)) if pool.gpus_idle else Cell("0", "dim")


_KINDS_TOLD = 2


def machine_words(pool: Pool) -> str:
    """`p5.48xlarge`; of two types `2 x g5.12xlarge, 1 x p5.48xlarge`, of more their number."""
    counts = _types(pool)
    if len(counts) < 2:
        return pool.machine
    if len(counts) > _KINDS_TOLD:
        return f"{len(counts)} types"
    return ", ".join(f"{count} x {name}" for name, count in counts.items())


def models_words(pool: Pool) -> str:
    """`H100-80GB-HBM3`; of two models `A10G, H100`, of more their number."""
    models = list(dict.fromkeys(cards.short_model(model) for model in _models(pool)))
    return f"{len(models)} models" if len(models) > _KINDS_TOLD else ", ".join(models)


def _types(pool: Pool) -> dict[str, int]:
    """Nodes by machine type, the most first; those whose type is unknown are left out."""
    counts = Counter[str]()
    for kind in pool.kinds:
        if kind.machine:
            counts[kind.machine] += kind.nodes
    return dict(counts.most_common())


def _models(pool: Pool) -> list[str]:
    told = (pool.gpu_model, *(kind.gpu_model for kind in pool.kinds))
    return list(dict.fromkeys(model for model in told if model))


def spot_text(pool: Pool) -> str:
    """`spot`, `3 of 8 spot`, "" where the cloud may reclaim none."""
    if not pool.nodes_spot:
        return ""
    return "spot" if pool.nodes_spot == pool.nodes_now else f"{pool.nodes_spot} of {pool.nodes_now} spot"


def _urgency(pool: Pool) -> int:
    """Place in the own order: with nodes that are not ready or show no GPUs, changing its size, well, without
    GPUs."""
    if not (pool.gpus_total or _models(pool)):
        return 3
    missing = max(pool.nodes_unadvertised, pool.nodes_now - pool.nodes_ready)
    if missing > pool.nodes_joining:
        return 0
    return 1 if pool.nodes_joining or pool.target not in (None, pool.nodes_now) else 2


_FIELDS: tuple[Field[Pool], ...] = (
    Field(
        Column("name", "Pool", 14, grow=2, most=50), lambda r, _: Cell(r.name, "strong"), lambda r, _: r.name
    ),
    Field(
        Column("owner", "Owner", 18, priority=3, grow=3, most=50, wish=28),
        _owner,
        lambda r, _: f"{r.owner_kind} {r.owner_key}".strip(),
    ),
    Field(
        Column("machine", "Machine", 12, priority=4, grow=1, most=30),
        lambda r, _: Cell(machine_words(r)),
        lambda r, _: machine_words(r),
    ),
    Field(
        Column("model", "GPU model", 14, priority=3, grow=1, most=30),
        lambda r, _: Cell(models_words(r)),
        lambda r, _: models_words(r),
    ),
    Field(Column("now", "Nodes", 9, "right"), _size, lambda r, _: r.nodes_now, Measure.COUNT),
    Field(
        Column("target", "Target", 6, "right", priority=5),
        lambda r, _: _bound(r.target),
        lambda r, _: r.target,
        Measure.COUNT,
    ),
    Field(
        Column("min", "Min", 4, "right", priority=4),
        lambda r, _: _bound(r.minimum),
        lambda r, _: r.minimum,
        Measure.COUNT,
    ),
    Field(
        Column("max", "Max", 4, "right", priority=4),
        lambda r, _: _bound(r.maximum),
        lambda r, _: r.maximum,
        Measure.COUNT,
    ),
    Field(
        Column("ready", "Ready", 6, "right", priority=2),
        lambda r, _: Cell(fmt.of(r.nodes_ready, r.nodes_now), "" if r.nodes_ready >= r.nodes_now else "warn"),
        lambda r, _: r.nodes_ready,
        Measure.COUNT,
    ),
    Field(
        Column("joining", "Joining", 7, "right", priority=2),
        _joining,
        nodes_coming,
        Measure.COUNT,
    ),
    Field(
        Column("dark", "No GPUs", 7, "right", priority=4),
        _unadvertised,
        lambda r, _: r.nodes_unadvertised,
        Measure.COUNT,
    ),
    Field(Column("gpus", "Allocated", 9, "right"), _allocated, lambda r, _: r.gpus_allocated, Measure.COUNT),
    Field(
        Column("share", "Share", 5, "right", priority=5),
        _share,
        lambda r, _: allocated_ratio(r),
        Measure.RATIO,
    ),
    Field(Column("idle", "Idle", 4, "right"), _idle, lambda r, _: r.idle_nodes, Measure.COUNT),
    Field(
        Column("idle_gpus", "Idle GPUs", 9, "right", priority=4),
        _idle_gpus,
        lambda r, _: r.gpus_idle if r.is_use_known else None,
        Measure.COUNT,
    ),
    Field(
        Column("spot", "Spot", 4, "right", priority=4),
        lambda r, _: Cell(str(r.nodes_spot)) if r.nodes_spot else Cell("0", "dim"),
        lambda r, _: r.nodes_spot,
        Measure.COUNT,
    ),
    Field(
        Column("resize", "Resize", 16, priority=5, grow=2),
        lambda r, _: Cell(r.why_not, "dim") if r.why_not else Cell("S"),
        lambda r, _: r.why_not or "yes",
    ),
)


class PoolsBeside(NamedTuple):
    """What a row shows that is not of the pool itself. `demand` is by name, None where not every
    pod is seen."""

    trends: TrendReader | None = None
    demand: Mapping[str, PoolDemand] | None = {}
    prices: Prices = Prices()


_TREND_CELLS = 4


def _wanted_field(demand: Mapping[str, PoolDemand] | None) -> Field[Pool]:
    """GPUs of pods that wait and that no other pool could take."""

    def gpus(pool: Pool, _: float) -> Value:
        return None if demand is None else demand.get(pool.name, NO_DEMAND).gpus

    def cell(pool: Pool, _: float) -> Cell:
        found = gpus(pool, 0.0)
        if found is None:
            return fmt.UNKNOWN
        return Cell(f"+{found}", "warn") if found else Cell("0", "dim")

    return Field(Column("wanted", "Demand", 7, "right", priority=2), cell, gpus, Measure.COUNT)


def _cost_field(prices: Prices) -> Field[Pool]:
    """Money an hour for the machines that are there."""

    def cell(pool: Pool, _: float) -> Cell:
        cost = pool_hourly(pool, prices)
        return fmt.UNKNOWN if cost is None else Cell(prices.money(cost))

    return Field(
        Column("cost", "An hour", 8, "right", priority=3),
        cell,
        lambda pool, _: pool_hourly(pool, prices),
        Measure.COUNT,
    )


def _duty_field(trends: TrendReader) -> Field[Pool]:
    """How busy the allocated cards are, and before it how they were."""

    def duty(pool: Pool, _: float) -> Cell:
        values = trends.pool(pool.name)
        if not values or values[-1] is None:
            return fmt.NOTHING
        return Cell(f"{_line(values[-_TREND_CELLS:], _TREND_CELLS)}{fmt.percent(values[-1])}", "info")

    def now(pool: Pool, _: float) -> Value:
        values = trends.pool(pool.name)
        return values[-1] if values else None

    return Field(Column("duty", "Duty", 9, "right", priority=2), duty, now, Measure.RATIO)


def _line(values: Sequence[float | None], width: int) -> str:
    """A line of blocks and a blank; nothing before there are two samples."""
    known = sum(value is not None for value in values)
    return f"{spark(values, min(width, len(values)), 0.0, 1.0)} " if known > 1 else ""


def last_hour(pool: Pool, trends: TrendReader) -> str:
    """`its GPUs ▂▃▅▆▇ 76%`: duty of the allocated cards over the last hour, as far as known; else ""."""
    values = trends.pool(pool.name)
    if not values or values[-1] is None:
        return ""
    return f"its GPUs {_line(values, 24)}{fmt.percent(values[-1])}"


VIEW: View[Pool] = View(
    fields=_FIELDS,
    key=lambda pool: pool.owner_uid or pool.name,
    name=lambda pool: pool.name,
    rank=_urgency,
    haystack=lambda r: " ".join(
        (r.name, r.owner_kind, r.owner_key, r.machine, r.why_not, *_types(r), *_models(r))
    ),
)


def table(
    pools: Iterable[Pool],
    state: ViewState,
    now_seconds: float,
    memory: Memory | None = None,
    beside: PoolsBeside | None = None,
) -> LazyTable[Pool]:
    """Pools keyed by the owner's uid (the name where no object owns the pool), those in trouble first; with
    `beside` also who waits for them, how busy their allocated GPUs were lately, and what they cost."""
    return listed(pools, beside).table(state, now_seconds, memory)


def listed(pools: Iterable[Pool], beside: PoolsBeside | None = None) -> ListRows[Pool]:
    """The same before filter and order."""
    if beside is None:
        return ListRows(VIEW, pools)
    at = next(place for place, field in enumerate(_FIELDS) if field.column.id == "idle")
    duty = () if beside.trends is None else (_duty_field(beside.trends),)
    fields = (*_FIELDS[:at], _wanted_field(beside.demand), *duty, *_FIELDS[at:-1])
    cost = (_cost_field(beside.prices),) if beside.prices.machines else ()
    fields = (*fields, *cost, _FIELDS[-1])
    return ListRows(replace(VIEW, fields=fields), pools)
