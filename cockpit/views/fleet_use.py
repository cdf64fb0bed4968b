"""What `cockpit fleet` prints: nodes needed, the largest gang of each kind of card, idle and lost GPUs."""

from collections.abc import Mapping
from typing import NamedTuple

from cockpit.gangs.sentence import counted
from cockpit.model.job_reader import JobReader
from cockpit.model.node import Node
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader
from cockpit.triage.fleet import FleetUse, ModelFleet, fleet_use
from cockpit.triage.packing import Packing
from cockpit.views.fleet import share

_MOST_NODES = 8
_MOST_JOBS = 3


class LostGpus(NamedTuple):
    """Cards of one node that nothing can be put on."""

    node: str
    gpus: int
    is_ready: bool


class FleetPage(NamedTuple):
    """Everything as numbers."""

    use: FleetUse
    lost: tuple[LostGpus, ...]


Table = tuple[tuple[str, ...], list[tuple[str, ...]]]


def fleet_page(store: StoreReader, jobs: JobReader, now_seconds: float) -> FleetPage:
    """The whole cluster; nodes belong to no namespace."""
    return FleetPage(fleet_use(store, jobs, now_seconds), lost_gpus(store))


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
    if not use.nodes:
        return ["no node that is ready offers GPUs"]
    if not use.is_use_known:
        return [f"{use.nodes} GPU nodes; what they need is not known: not every pod may be read"]
    spare = use.nodes - use.needed
    load = f"{_needed(use.needed, use.at_least)} would hold the load"
    lines = [f"{counted(use.nodes, 'GPU node')}, {load}: {spare} to spare"]
    if use.idle is None:
        lines.append("idle GPUs are not known: no telemetry")
    elif use.idle:
        gpus = sum(one.gpus for one in use.idle)
        hours = f"{use.idle_gpu_hours or 0.0:.1f} GPU-hours so far"
        lines.append(f"{counted(gpus, 'allocated GPU')} idle: {hours}")
    else:
        lines.append("no allocated GPU has been idle for 10 min")
    lost = sum(one.gpus for one in page.lost)
    where = counted(len(page.lost), "node")
    lines.append(f"{counted(lost, 'GPU')} lost on {where}" if lost else "no GPU is lost")
    return lines


def _needed(nodes: int, at_least: int) -> str:
    return str(nodes) if nodes == at_least else f"{at_least} to {nodes}"


def model_table(use: FleetUse) -> Table:
    """A line for each kind of card."""
    titles = ("card", "nodes", "needed", "with waiting", "GPUs", "free", "largest gang now", "fragmented")
    return titles, [_model_row(one) for one in use.models]


def _model_row(one: ModelFleet) -> tuple[str, ...]:
    name = one.model or "unknown"
    if one.resource not in ("", "nvidia.com/gpu"):
        name = f"{name} ({one.resource})"
    waiting = "-" if one.with_waiting is None else _packing(one.with_waiting)
    gangs = ", ".join(f"{members} x {size}" for size, members in one.gangs) or "none"
    allocated = f"{one.allocated}/{one.gpus}"
    fragmented = f"{one.scattered} of {one.free}" if one.free else "-"
    return (name, str(one.nodes), _packing(one.packing), waiting, allocated, str(one.free), gangs, fragmented)


def _packing(one: Packing) -> str:
    if one.unplaced:
        return f"more: {one.unplaced} pods without room"
    return _needed(one.nodes, one.at_least)


def idle_table(use: FleetUse) -> Table:
    """A line for each owner of idle GPUs."""
    rows: list[tuple[str, ...]] = []
    for one in use.idle or ():
        more = len(one.jobs) - _MOST_JOBS
        jobs = ", ".join(one.jobs[:_MOST_JOBS]) + (f" and {more} more" if more > 0 else "")
        rows.append((one.owner, one.namespace, str(one.gpus), f"{one.gpu_hours:.1f}", jobs))
    return ("owner", "namespace", "GPUs idle", "GPU-hours", "jobs"), rows


def lost_table(page: FleetPage) -> Table:
    """A line for each node with lost cards."""
    rows: list[tuple[str, ...]] = [
        (one.node, str(one.gpus), "not allocatable" if one.is_ready else "node not ready")
        for one in page.lost[:_MOST_NODES]
    ]
    more = len(page.lost) - _MOST_NODES
    if more > 0:
        rows.append((f"and {more} more nodes", str(sum(one.gpus for one in page.lost[_MOST_NODES:])), ""))
    return ("node", "GPUs lost", "why"), rows
