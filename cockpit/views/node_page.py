"""The page of one node: its facts as pairs, its devices as a table."""

from collections.abc import Sequence

from cockpit_widgets.types import Pair, Tone

from cockpit.fit.scheduling_context import Budget
from cockpit.model.batch import Phase, StreamStatus
from cockpit.model.listing import listing
from cockpit.model.node import Node
from cockpit.model.pod import Pod
from cockpit.model.quantity import Absent
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader
from cockpit.pools import registry
from cockpit.pools.drain_mark import mark_of, progress
from cockpit.pools.keepers import keeper_words
from cockpit.pools.truth import is_use_known
from cockpit.triage.node_walk import stage_at
from cockpit.views import cards, devices, doubts, gpus, physical
from cockpit.views import format as fmt
from cockpit.views.claims import claims_trouble, may_have_gpus
from cockpit.views.lazy_table import LazyTable
from cockpit.views.node_cards import cards_of, is_dead
from cockpit.views.states import node_cell, telemetry_trouble, why_empty
from cockpit.views.view_state import ViewState

_PRESSURES = ("MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable")
MOST_TAINTS = 4
MOST_HOLDS = 3


def devices_table(
    node: Node | None,
    store: StoreReader,
    state: ViewState,
    now_seconds: float,
    trend_of: devices.TrendOf = devices.no_trend,
) -> LazyTable[gpus.GpuRow]:
    """Each GPU of the node: readings, last Xid, who holds it and how sure we are; keyed by uuid."""
    return devices.table(devices.rows(node, store, trend_of) if node is not None else [], state, now_seconds)


def said(node: Node | None, store: StoreReader, key: str) -> str:
    """What is to be said of the device under the cursor, in one line."""
    found = devices.rows(node, store) if node is not None else []
    return next((devices.sentence(row) for row in found if row.card.uuid == key), "")


def holder_of(node: Node | None, store: StoreReader, key: str) -> Pod | None:
    """The pod that holds the device with that key, None if free or unknown."""
    if node is None:
        return None
    for card in store.gpus_on(node.name):
        if card.uuid == key and card.pod_name:
            found = store.by_key(Kind.POD, f"{card.pod_namespace}/{card.pod_name}")
            return found if isinstance(found, Pod) else None
    return None


def gone(name: str, status: StreamStatus | None) -> tuple[Pair, ...]:
    """What stands there when the node is not (or not yet) known; `status` is that of the nodes' stream."""
    if status is not None and status.phase is Phase.LIVE:
        return (Pair("node", name, "strong"), Pair("state", "not in the cluster", "warn"))
    return (Pair("node", name, "strong"), Pair("state", f"not known: {why_empty('nodes', status)}", "warn"))


def facts(
    node: Node,
    store: StoreReader,
    now_seconds: float,
    drained_here: str | None = None,
    budgets: Sequence[Budget] | None = None,
) -> tuple[Pair, ...]:
    """Names and values: where the node stands, what it is, what its GPUs do together.

    `drained_here` is how far the drain of it has come that this session does, None where it does none.
    """
    state = node_cell(stage_at(node, store, now_seconds))
    pairs = [Pair("node", node.name, "strong"), Pair("state", state.text, state.tone)]
    pairs += _drain(node, store, drained_here)
    pairs += _troubles(node, now_seconds)
    pairs += removal_pairs(node, store, now_seconds, budgets)
    pairs.append(Pair("pool", _pool(node)))
    pairs.append(Pair("machine", " · ".join(part for part in (node.instance_type, node.zone) if part) or "?"))
    pairs += _devices(node, store)
    if node.taints:
        shown = [f"{one.key}{f'={one.value}' if one.value else ''}:{one.effect}" for one in node.taints]
        more = f" and {len(shown) - MOST_TAINTS} more" if len(shown) > MOST_TAINTS else ""
        pairs.append(Pair("taints", ", ".join(shown[:MOST_TAINTS]) + more))
    pairs.append(Pair("age", fmt.since(node.created_seconds, now_seconds)))
    software = " · ".join(part for part in (node.kubelet_version, node.internal_ip) if part)
    if software:
        pairs.append(Pair("kubelet", software, "dim"))
    return tuple(pairs)


def _drain(node: Node, store: StoreReader, drained_here: str | None) -> list[Pair]:
    mark = mark_of(node)
    if mark is None:
        return []
    words = progress(node, mark, store)
    begun = f" · begun {mark.begun}" if mark.begun else ""
    if words == "drained":
        return [Pair("drain", f"drained{begun}")]
    how = drained_here or "no cockpit of this host does it: D goes on or stops it"
    return [Pair("drain", f"{words}{begun} · {how}", "warn")]


def removal_pairs(
    node: Node, store: StoreReader, now_seconds: float, budgets: Sequence[Budget] | None = None
) -> list[Pair]:
    """How far an autoscaler is with taking it away and when it goes where that is known; what holds it, or
    may do so."""
    found = registry.removal(node, store, now_seconds, budgets)
    held = _held(node, store, now_seconds, budgets)
    if found is None:
        return held
    words = [found.stage]
    if found.since_seconds is not None:
        words.append(f"for {fmt.age(now_seconds - found.since_seconds)}")
    if found.left_seconds is not None and not held:
        words.append(f"{fmt.age(found.left_seconds)} left" if found.left_seconds else "due now")
    return [Pair("removal", ", ".join(words), "warn"), *held]


def _held(node: Node, store: StoreReader, now_seconds: float, budgets: Sequence[Budget] | None) -> list[Pair]:
    """`... does not take it away: budget team-a/llm lets no pod go, ...`: a line for each keeper."""
    found = tuple(registry.keepers_of(node, store, now_seconds, budgets))
    lines = [f"{owner} does not take it away: {keeper_words(one)}" for owner, one in found if one.is_sure]
    if not lines:
        lines = [f"whether {owner} may take it away is {keeper_words(one)}" for owner, one in found]
    lines = [line[0].upper() + line[1:] for line in lines]
    if len(lines) > MOST_HOLDS:
        lines[MOST_HOLDS - 1 :] = [f"and {len(lines) - MOST_HOLDS + 1} more like these"]
    return [Pair("" if at else "kept", one, "info") for at, one in enumerate(lines)]


def _pool(node: Node) -> str:
    if not node.pool:
        return "none: no label names a pool"
    return f"{node.pool} (label {node.pool_label})" if node.pool_label else node.pool


def _troubles(node: Node, now_seconds: float) -> list[Pair]:
    found = []
    for condition in node.conditions:
        is_trouble = condition.status != "True" if condition.type == "Ready" else condition.status == "True"
        if not is_trouble or (
            condition.type != "Ready" and condition.type not in _PRESSURES and not condition.message
        ):
            continue
        age = fmt.since(condition.changed_seconds, now_seconds)
        tone: Tone = "bad" if condition.type == "Ready" else "warn"
        found.append(
            Pair(
                condition.type, f"{condition.status} for {age}: {condition.message or condition.reason}", tone
            )
        )
    return found


def _devices(node: Node, store: StoreReader) -> list[Pair]:
    known = cards_of(node, store)
    if not node.has_gpus and not known:
        if may_have_gpus(node, store):
            return [Pair("GPUs", f"not known: {claims_trouble(store)}", "warn")]
        return [Pair("GPUs", "none")]
    allocated = sum(pod.gpus_allocated for pod in store.pods_on(node.name))
    shown = node.gpus_expected if node.gpu_capacity is None else node.gpu_capacity
    is_split = physical.is_split(node, known)
    model = cards.short_model(node.gpu_model)
    words = [f"{fmt.count(physical.cards_promised(node, known) if is_split else shown)} {model}".strip()]
    allocated_words = allocated if is_use_known(store) else "?"
    if node.gpu_allocatable is None:
        words.append("not advertised yet")
    elif is_dead(node):
        words.append(f"none usable: the node is not ready, {allocated_words} allocated")
    elif is_split:
        words.append("cut into MIG instances" if node.has_mig else f"each shared by {node.gpu_replicas}")
        words.append(f"{node.gpu_allocatable} shares allocatable, {allocated_words} allocated")
    else:
        words.append(f"{node.gpu_allocatable} allocatable, {allocated_words} allocated")
    if node.gpus_by_claim is not None:
        words.append("by claim (DRA)")
    missing = (shown or 0) - (0 if is_dead(node) else node.gpu_allocatable or 0)
    pairs = [Pair("GPUs", " · ".join(words), "warn" if missing > 0 else "")]
    if node.gpus_by_claim is not None and not listing(store, Kind.DEVICE_CLAIM).has_all:
        pairs.append(Pair("claims", claims_trouble(store), "warn"))
    whole = physical.whole_cards(known)
    duty = fmt.duty_cell(cards.fold(whole, cards.duty, cards.mean), is_allocated=allocated > 0)
    hottest = fmt.temperature_cell(cards.fold(known, cards.temperature, max))
    power = fmt.power_cell(cards.power_sum(known))
    if trouble := telemetry_trouble(store.status(Kind.GPU)):
        pairs.append(Pair("telemetry", trouble, "warn"))
    if doubtful := doubts.summary(known):
        pairs.append(Pair("doubtful", doubtful, "warn"))
    pairs.append(Pair("now", f"duty {duty.text} · hottest {hottest.text} · power {power.text}"))
    pairs.append(_health(node, store))
    return pairs


def _health(node: Node, store: StoreReader) -> Pair:
    """The worst known values, and values that are not collected: silence is not health."""
    found = [gpus.GpuRow(card, detail=devices.detail_of(card, store)) for card in cards_of(node, store)]
    lost = sum(row.is_lost for row in gpus.rows_of(node, store))
    health = cards.health_cell([row.card for row in found], lost)
    text, tone = health.text, health.tone
    memory = [devices.ecc_cell(row.detail) for row in found]
    for worse in ("bad", "warn"):
        bad = [(row, cell) for row, cell in zip(found, memory, strict=True) if cell.tone == worse]
        if bad and tone != "bad":
            row, cell = bad[0]
            text, tone = f"{cell.text} on GPU {gpus.index_text(row)}", cell.tone
    missing = [
        what
        for what, is_missing in (
            ("ECC", all(row.detail is None or isinstance(row.detail.ecc_double, Absent) for row in found)),
            ("throttle", all(devices.bits_of(row) is None for row in found)),
        )
        if is_missing
    ]
    return Pair("health", text + (f" · not collected: {', '.join(missing)}" if missing else ""), tone)
