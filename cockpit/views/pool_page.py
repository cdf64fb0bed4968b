"""The page of one pool, above its nodes: what it is, its growth under way, who waits, what it may lose."""

from collections.abc import Sequence
from typing import NamedTuple

from cockpit_widgets.text import cut, width_of, wrap
from cockpit_widgets.types import Cell, Line, Pair

from cockpit.gangs.sentence import counted
from cockpit.model.job_reader import JobReader
from cockpit.model.lease import LeaseRead
from cockpit.model.pod import Pod
from cockpit.model.pool import Pool, StandingRead
from cockpit.model.price import Prices
from cockpit.model.remembered import Growth, PoolSample, Reclaim
from cockpit.model.scaler import Scaler
from cockpit.pools.chain import ScalerChain
from cockpit.pools.demand import PoolDemand
from cockpit.pools.idle import IdleNode
from cockpit.pools.ladder import Ladder
from cockpit.pools.owner import OwnerWords, PoolFailure
from cockpit.pools.price import node_hourly, pool_hourly, types_unpriced
from cockpit.pools.stage import dark_nodes, nodes_coming
from cockpit.pools.usual import usual_wait
from cockpit.views import format as fmt
from cockpit.views.ladder import clock, ladder_lines, machine_lines
from cockpit.views.pool_curves import curve_lines
from cockpit.views.pools import machine_words, models_words, spot_text

MOST_NEXT = 4
MOST_IDLE = 4
_DOT = " · "
LATELY_SECONDS = 7 * 86_400.0
"""So far back what was reclaimed is told."""
TALL_HEIGHT, MIDDLE_HEIGHT = 45, 30


class SpotNotice(NamedTuple):
    """A node that the cloud takes back, and what that breaks: jobs with the GPUs that they hold there."""

    node: str
    sentence: str
    jobs: tuple[tuple[str, int], ...] = ()


class PoolPage(NamedTuple):
    """All that the page shows. `owner` decides the size, "" where nothing here does; `is_through_object`: the
    object of the pool is another's, and carries what that one decides. `demand` None: not every pod is seen;
    `scalers_trouble` says why the autoscalers of pods could not be read; `no_log` why the log of the owner
    cannot be shown, "" where the key shows it, None where that was not read. `held` tells who changes it,
    `idle` which nodes are unused, None where that is not known."""

    pool: Pool
    now_seconds: float
    owner: str = ""
    is_through_object: bool = False
    gpus_each: int | None = None
    prices: Prices = Prices()
    ladder: Ladder | None = None
    failures: tuple[PoolFailure, ...] = ()
    demand: PoolDemand | None = PoolDemand()
    next_jobs: tuple[tuple[str, int], ...] = ()
    words: tuple[OwnerWords, ...] = ()
    no_log: str | None = None
    chains: tuple[ScalerChain, ...] = ()
    scalers_trouble: str = ""
    notices: tuple[SpotNotice, ...] = ()
    growths: tuple[Growth, ...] = ()
    samples: tuple[PoolSample, ...] = ()
    reclaims: tuple[Reclaim, ...] = ()
    held: LeaseRead = LeaseRead()
    idle: tuple[IdleNode, ...] | None = ()
    standing: StandingRead = StandingRead()
    owner_lines: tuple[str, ...] = ()


def sample_of(pool: Pool, demand: PoolDemand | None, now_seconds: float) -> PoolSample:
    """How the pool stands now."""
    allocated = pool.gpus_allocated if pool.is_use_known else None
    wanted = None if demand is None or allocated is None else allocated + demand.gpus
    return PoolSample(pool.key, now_seconds, pool.nodes_now, pool.gpus_total, wanted, allocated)


def jobs_next(demand: PoolDemand | None, jobs: JobReader) -> tuple[tuple[str, int], ...]:
    """Who waits for the pool, with the GPUs of those that wait: first by priority, then by age."""
    if demand is None:
        return ()
    asked: dict[str, int] = {}
    for pod in sorted(
        (*demand.only, *demand.shared),
        key=lambda one: (-(one.priority or 0), one.created_seconds or 0.0, one.key),
    ):
        job = jobs.job_of_pod(pod)
        name = job.key.split("/", 1)[-1] if job is not None else _owner(pod)
        asked[name] = asked.get(name, 0) + pod.gpus
    return tuple(asked.items())


def _owner(pod: Pod) -> str:
    """What a person calls a pod that is part of no job; a ReplicaSet has its Deployment's name and a word."""
    if not pod.owner_name:
        return pod.key
    name = pod.owner_name.rpartition("-")[0] if pod.owner_kind == "ReplicaSet" else pod.owner_name
    return f"{pod.namespace}/{name}"


# ---- the head


def head(page: PoolPage) -> str:
    """`owner Group h100 · 8x H100-80GB · 40→42, maximum 42 · $32 a node and hour`."""
    pool = page.pool
    model = models_words(pool)
    is_one = page.gpus_each and len(pool.kinds) <= 1
    each = f"{page.gpus_each} x {model or 'GPU'}" if is_one else model
    object_ = f"{pool.owner_kind} {pool.owner_key}".strip()
    between = ", through " if page.is_through_object else " "
    owner = between.join(part for part in (page.owner, object_) if part)
    parts = [
        f"owner {owner}" if owner else "known from labels only",
        _DOT.join(part for part in (machine_words(pool), each) if part),
        _size(pool),
        _ready(pool, page.now_seconds),
        spot_text(pool),
        _cost(page),
    ]
    return _DOT.join(part for part in parts if part)


def _size(pool: Pool) -> str:
    moves = pool.target is not None and pool.target != pool.nodes_now
    size = f"{pool.nodes_now}→{pool.target}" if moves else counted(pool.nodes_now, "node")
    bounds = [
        f"{name} {bound}"
        for name, bound in (("minimum", pool.minimum), ("maximum", pool.maximum))
        if bound is not None and (name == "maximum" or bound)
    ]
    return ", ".join((size, *bounds))


def _ready(pool: Pool, now_seconds: float) -> str:
    words = []
    if pool.nodes_ready < pool.nodes_now:
        words.append(f"{pool.nodes_ready} ready")
    joining, never = nodes_coming(pool, now_seconds), dark_nodes(pool, now_seconds)
    dark = pool.nodes_unadvertised - never
    if joining:
        which = "" if dark == joining else f"{dark} of them "
        words.append(f"{joining} joining" + (f" ({which}without GPUs yet)" if dark else ""))
    if never:
        words.append(f"GPUs of {counted(never, 'node')} never came")
    return ", ".join(words)


def _cost(page: PoolPage) -> str:
    """Nothing where no price is written down."""
    if not page.prices.machines:
        return ""
    each, all_ = node_hourly(page.pool, page.prices), pool_hourly(page.pool, page.prices)
    if all_ is None:
        return f"cost unknown: prices.machines does not name {types_unpriced(page.pool, page.prices)}"
    if each is None:
        return f"{page.prices.money(all_)} an hour the pool"
    whole = f", {page.prices.money(all_)} the pool" if page.pool.nodes_now else ""
    return f"{page.prices.money(each)} a node and hour{whole}"


# ---- the facts below the ladder


def facts(page: PoolPage) -> tuple[Pair, ...]:
    """What may be lost, who changes the pool, who waits and what idles, the chain behind that, what the owner
    said, what is to be expected."""
    pairs = [
        Pair("interruption", f"{item.node}: {item.sentence}{_breaks(item)}", "bad") for item in page.notices
    ]
    pairs += [*_change(page), _waiting(page), *_asked(page), *_idle(page), *_chains(page)]
    pairs += [Pair("" if at else "bounds", line) for at, line in enumerate(page.owner_lines)]
    pairs += [_said(page, at, one) for at, one in enumerate(page.words)]
    if page.no_log is not None:
        pairs.append(Pair("its log", page.no_log or "key l", "dim" if page.no_log else ""))
    if (given := given_back(page)) is not None:
        pairs.append(given)
    if page.pool.nodes_now == 0 or (page.ladder is None and page.growths):
        pairs.append(expected_wait(page))
    return tuple(pairs)


def given_back(page: PoolPage) -> Pair | None:
    """`2 nodes and 1 job in 7 days, newest 3h ago · 31 GPU-hours had idled, about $310`; None for nothing."""
    found = [item for item in page.reclaims if page.now_seconds - item.at_seconds <= LATELY_SECONDS]
    if not found:
        return None
    nodes = sum(item.what.startswith("node ") for item in found)
    counts = [counted(nodes, "node")] * bool(nodes)
    counts += [counted(len(found) - nodes, "job")] * (len(found) > nodes)
    newest = fmt.age(page.now_seconds - max(item.at_seconds for item in found))
    hours = [item.gpu_hours for item in found if item.gpu_hours is not None]
    words = f"{' and '.join(counts)} in 7 days, newest {newest} ago"
    if not hours:
        return Pair("interruption", f"{words}{_DOT}how long they had idled is not known")
    at_least = "at least " if len(hours) < len(found) else ""
    words += f"{_DOT}{at_least}{sum(hours):,.0f} GPU-hours had idled"
    each = node_hourly(page.pool, page.prices)
    if each is not None and page.gpus_each:
        words += f", about {page.prices.money(sum(hours) * each / page.gpus_each)}"
    return Pair("reclaimed", words)


def _waiting(page: PoolPage) -> Pair:
    demand = page.demand
    if demand is None:
        return Pair("demand", "not known: not every pod is seen", "warn")
    pods = len(demand.only) + len(demand.shared)
    if not pods:
        return Pair("demand", "no pod waits for it")
    also = sum(item.gpus for item in demand.shared)
    words = [f"{counted(demand.gpus, 'GPU')} that only it can serve"] if demand.gpus else []
    words += [f"{counted(also, 'GPU')} that other pools could serve too"] if also else []
    names = [f"{name} ({gpus})" for name, gpus in page.next_jobs[:MOST_NEXT]]
    more = len(page.next_jobs) - len(names)
    if more > 0:
        names.append(f"{more} more")
    return Pair("demand", f"{', '.join(words)}; would start next: {', '.join(names)}", "warn")


def _change(page: PoolPage) -> list[Pair]:
    """Who changes the pool now, or asked for the growth that is told; that it is not known, or is read just
    now, only where something is on its way."""
    held, lease = page.held, page.held.lease
    names_it = lease is not None and lease.asked(page.pool.target) is not None
    if lease is not None and lease.is_in_force(page.now_seconds) and (names_it or not held.is_old):
        was, to = lease.from_nodes, lease.to_nodes
        word = "changing" if was is None or to is None else "growing" if to > was else "shrinking"
        if any(not item.is_part for item in page.standing.found):
            word = "asking for nodes of"
        who = "you are" if held.is_ours else f"{lease.holder} is"
        change = f" {lease.change}" if lease.change else ""
        since = "" if lease.acquired_seconds is None else f" since {clock(lease.acquired_seconds)}"
        return [Pair("change", f"{who} {word} it{change}{since}", "info")]
    ladder, told = page.ladder, None
    moves = page.pool.target not in (None, page.pool.nodes_now) or (ladder is not None and not ladder.is_over)
    if ladder is not None and ladder.asked is not None:
        told = f"{ladder.asked.by or 'a user of this host'} asked for it at {clock(ladder.asked.at_seconds)}"
        if lease is not None and lease.asked(page.pool.target) == ladder.asked:
            told += f" ({lease.change})"
    elif held.is_old:
        told = "who asked for it is being read" if moves else None
    elif ladder is not None and not ladder.is_over and not held.trouble:
        told = "asked for by no cockpit: its owner grows it, or a person set its size"
    if told is not None:
        return [Pair("change", told, "dim")]
    if held.trouble and moves and not held.is_old:
        return [Pair("change", f"by whom is not known: {held.trouble}", "dim")]
    return []


def _idle(page: PoolPage) -> list[Pair]:
    """Unused nodes, the longest idle first, and GPUs that no pod has."""
    free = page.pool.gpus_idle
    if page.idle is None:
        return [Pair("idle", "not known: not every pod is seen", "dim")]
    if not page.idle and not free:
        return []
    words = [counted(len(page.idle), "node")] if page.idle else []
    named = sorted(
        page.idle, key=lambda one: (one.since_seconds is None, one.since_seconds or 0.0, one.node.name)
    )
    told = ", ".join(f"{item.node.name}{_since(item, page.now_seconds)}" for item in named[:MOST_IDLE])
    more = f" and {len(named) - MOST_IDLE} more" if len(named) > MOST_IDLE else ""
    nodes = f"{words[0]} ({told}{more}); " if words else ""
    return [Pair("idle", f"{nodes}{counted(free, 'GPU')} free")]


def _since(one: IdleNode, now_seconds: float) -> str:
    if one.why_kept:
        return " kept"
    return "" if one.since_seconds is None else f" for {fmt.since(one.since_seconds, now_seconds)}"


def _asked(page: PoolPage) -> list[Pair]:
    """What of ours asks for it: `2 nodes by ann@bastion, until 15:02 (job default/ask-h100-1f2e3d4c)`."""
    if page.standing.trouble and not page.standing.found:
        return [Pair("asked for", f"not known: {page.standing.trouble}", "dim")]
    told: list[Pair] = []
    for item in page.standing.found:
        if item.is_part:
            continue
        nodes = "nodes" if item.nodes is None else counted(item.nodes, "node")
        words = f"{nodes} by {item.by}" if item.by else nodes
        if item.until_seconds is not None:
            words += f", until {_moment(item.until_seconds, page.now_seconds)}"
        object_ = ", ".join(filter(None, (item.target, item.state)))
        told.append(Pair("" if told else "asked for", f"{words} ({object_}); S withdraws it"))
    return told


def _moment(seconds: float, now_seconds: float) -> str:
    """`15:02`, in UTC; with the days to it where that is not clear."""
    days = int(seconds // 86_400 - now_seconds // 86_400)
    return clock(seconds)[:5] + (f" in {counted(days, 'day')}" if days > 0 else "")


def _chains(page: PoolPage) -> list[Pair]:
    if page.scalers_trouble:
        return [Pair("HPA", page.scalers_trouble, "dim")]
    return [
        Pair(
            "HPA",
            f"{scaler_words(hpa.scaler)} → {_wait(hpa)} ({counted(hpa.gpus, 'GPU')}) → pool {page.pool.name}",
        )
        for hpa in page.chains
    ]


def _wait(chain: ScalerChain) -> str:
    return "1 pod waits" if chain.waiting == 1 else f"{chain.waiting} pods wait"


def scaler_words(scaler: Scaler) -> str:
    """`team/web cpu 82% (target 50%): 3 → 6 pods of 1 to 10`."""
    metrics = ", ".join(
        f"{metric.name} {metric.now or 'not measured'} (target {metric.target or '?'})"
        for metric in scaler.metrics
    )
    size = f"{fmt.count(scaler.current)} → {fmt.count(scaler.desired)} pods of {scaler.minimum}"
    size += f" to {fmt.count(scaler.maximum)}"
    limited = f"; {scaler.limited}" if scaler.limited else ""
    return f"{scaler.namespace}/{scaler.name} {metrics}: {size}{limited}"


def _breaks(notice: SpotNotice) -> str:
    if not notice.jobs:
        return "; no job runs on it"
    return "; breaks " + ", ".join(f"{name} ({counted(gpus, 'GPU')} here)" for name, gpus in notice.jobs)


def _said(page: PoolPage, at: int, words: OwnerWords) -> Pair:
    age = "" if words.at_seconds is None else f", {fmt.since(words.at_seconds, page.now_seconds)} ago"
    source = f" ({words.source}{age})" if words.source or age else ""
    return Pair("" if at else "autoscaler says", f"{words.text}{source}", "dim" if at else "")


def expected_wait(page: PoolPage) -> Pair:
    """How long a job would wait for a machine that is not there."""
    found = usual_wait(page.growths, page.pool.key, page.pool.machine)
    if found is None:
        why = "this host has seen no machine of it or of its type come"
        return Pair("new machine", f"expected wait unknown: {why}", "dim")
    of = "this pool" if found.is_of_pool else f"machines {page.pool.machine}"
    growths = "growth" if found.growths == 1 else "growths"
    return Pair(
        "new machine", f"expected wait {fmt.age(found.seconds)}, from {found.growths} {growths} of {of}"
    )


# ---- all of it


def page_lines(page: PoolPage, width: int, height: int) -> list[Line]:
    """The lines above the facts, on a terminal of this height."""
    is_short = height < MIDDLE_HEIGHT
    lines: list[Line] = [(Cell(line),) for line in _joined(head(page).split(_DOT), width)]
    if page.ladder is not None:
        unasked = "…" if page.held.is_old else "?"
        lines += ladder_lines(page.ladder, width, page.now_seconds, unasked)
        most = 3 if is_short else 6 if height < TALL_HEIGHT else 16
        lines += machine_lines(page.ladder, width, most, page.now_seconds)
    lines += failure_lines(page.failures, width, page.now_seconds)
    now = sample_of(page.pool, page.demand, page.now_seconds)
    return lines + curve_lines(page.samples, now, width, 0 if is_short else 5 if height < TALL_HEIGHT else 9)


def _joined(parts: Sequence[str], width: int) -> list[str]:
    """The parts with a dot between them, broken only there where they do not fit."""
    lines = [parts[0]]
    for part in parts[1:]:
        if width_of(lines[-1]) + len(_DOT) + width_of(part) <= width:
            lines[-1] += _DOT + part
        else:
            lines.append(part)
    return [cut(line, width) for line in lines]


def failure_lines(failures: Sequence[PoolFailure], width: int, now_seconds: float) -> list[Line]:
    """`✗ quota, 4m: sentence` and its remedy below."""
    lines: list[Line] = []
    for item in failures[:2]:
        age = "" if item.since_seconds is None else f", {fmt.since(item.since_seconds, now_seconds)}"
        lines += [(Cell(line, "bad"),) for line in wrap(f"✗ {item.kind.value}{age}: {item.sentence}", width)]
        lines += [(Cell(f"  → {line}"),) for line in wrap(item.remedy, width - 4)]
    return lines
