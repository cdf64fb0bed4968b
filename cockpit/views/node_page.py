"""The page of one node: its facts as pairs, its devices as a table."""

from cockpit_widgets.types import Pair, Tone

from cockpit.model.batch import Phase, StreamStatus
from cockpit.model.node import Node
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.pools.stage import node_stage
from cockpit.views import cards, gpus
from cockpit.views import format as fmt
from cockpit.views.fleet import sees_all_pods
from cockpit.views.lazy_table import LazyTable
from cockpit.views.source import StoreReader
from cockpit.views.states import node_cell, telemetry_trouble, why_empty
from cockpit.views.view_state import ViewState

_PRESSURES = ("MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable")
MOST_TAINTS = 4


def devices_table(
    node: Node | None, store: StoreReader, state: ViewState, now_seconds: float
) -> LazyTable[gpus.GpuRow]:
    """Each GPU of the node: readings, last Xid, who holds it and how sure we are; keyed by uuid."""
    devices = gpus.rows_of(node, store) if node is not None else []
    return gpus.devices_table(devices, state, now_seconds)


def holder_of(node: Node | None, store: StoreReader, key: str) -> Pod | None:
    """The pod that holds the device with that key, None where nobody does or nobody tells."""
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


def facts(node: Node, store: StoreReader, now_seconds: float) -> tuple[Pair, ...]:
    """Names and values: where the node stands, what it is, what its GPUs do together."""
    state = node_cell(node_stage(node, store))
    pairs = [Pair("node", node.name, "strong"), Pair("state", state.text, state.tone)]
    pairs += _troubles(node, now_seconds)
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


def _pool(node: Node) -> str:
    if not node.pool:
        return "none: no label names a pool"
    return f"{node.pool} (label {node.pool_label})" if node.pool_label else node.pool


def _troubles(node: Node, now_seconds: float) -> list[Pair]:
    found = []
    for one in node.conditions:
        is_trouble = one.status != "True" if one.type == "Ready" else one.status == "True"
        if not is_trouble or (one.type != "Ready" and one.type not in _PRESSURES and not one.message):
            continue
        age = fmt.since(one.changed_seconds, now_seconds)
        tone: Tone = "bad" if one.type == "Ready" else "warn"
        found.append(Pair(one.type, f"{one.status} for {age}: {one.message or one.reason}", tone))
    return found


def _devices(node: Node, store: StoreReader) -> list[Pair]:
    known = store.gpus_on(node.name)
    if not node.has_gpus and not known:
        return [Pair("GPUs", "none")]
    held = sum(pod.holds_gpus for pod in store.pods_on(node.name))
    shown = node.gpus_expected if node.gpu_capacity is None else node.gpu_capacity
    model = cards.short_model(node.gpu_model)
    words = [f"{fmt.count(shown)} {model}".strip()]
    if node.gpu_allocatable is None:
        words.append("not advertised yet")
    else:
        words.append(f"{node.gpu_allocatable} allocatable, {held if sees_all_pods(store) else '?'} held")
    if node.gpu_replicas > 1:
        words.append(f"each shared by {node.gpu_replicas}")
    missing = (shown or 0) - (node.gpu_allocatable or 0)
    pairs = [Pair("GPUs", " · ".join(words), "warn" if missing > 0 else "")]
    duty = fmt.duty_cell(cards.fold(known, cards.duty, cards.mean), is_held=held > 0)
    hottest = fmt.temperature_cell(cards.fold(known, cards.temperature, max))
    power = fmt.power_cell(cards.power_sum(known))
    health = cards.health_cell(known)
    if trouble := telemetry_trouble(store.status(Kind.GPU)):
        pairs.append(Pair("telemetry", trouble, "warn"))
    pairs.append(Pair("now", f"duty {duty.text} · hottest {hottest.text} · power {power.text}"))
    pairs.append(Pair("health", f"{health.text} (from last Xid; ECC is not read)", health.tone))
    return pairs
