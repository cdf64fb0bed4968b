"""What `cockpit pool show` prints for programs."""

from typing import Any, Literal

import msgspec

from cockpit.attach import Attachment
from cockpit.commands.document import ClusterDocument, Telemetry
from cockpit.commands.get import item, telemetry
from cockpit.commands.output import plain
from cockpit.model.pool import Pool
from cockpit.model.remembered import Reclaim
from cockpit.pools import registry
from cockpit.pools.idle import IdleNode
from cockpit.pools.index import pool_object
from cockpit.pools.ladder import Hang, Ladder, MachineLadder, Stamp
from cockpit.pools.owner import Capability, PoolFailure
from cockpit.pools.plan import nodes_named
from cockpit.pools.price import node_hourly, pool_hourly
from cockpit.pools.usual import usual_wait
from cockpit.triage.node_walk import stage_at
from cockpit.views.duty import Duty
from cockpit.views.pool_page import PoolPage


class OwnerItem(msgspec.Struct, kw_only=True):
    """Who sets the size, and what can be done from here."""

    name: str
    may_resize: Capability
    may_limit: Capability
    may_demand: Capability
    may_remove: Capability
    handle: str
    read_seconds: float | None


class JobGpus(msgspec.Struct, kw_only=True):
    """A job and its GPUs."""

    name: str
    gpus: int


class PageDemand(msgspec.Struct, kw_only=True):
    """Pods that wait for a node of the pool, and the jobs that its next nodes would start."""

    only_here_gpus: int
    only_here_pods: int
    shared_gpus: int
    shared_pods: int
    next: list[JobGpus]


class ChangeInFlight(msgspec.Struct, kw_only=True):
    """The Lease of a change; `holder` is null without one, or `trouble` says why that is unknown."""

    holder: str | None
    is_ours: bool
    from_nodes: int | None
    to_nodes: int | None
    since_seconds: float | None
    lapses_seconds: float | None
    trouble: str


class HangItem(msgspec.Struct, kw_only=True):
    """The step that is waited for."""

    step: str
    since_seconds: float | None
    lasted_seconds: float | None
    usually_seconds: float | None
    limit_seconds: float | None
    is_late: bool
    is_broken: bool


class StampItem(msgspec.Struct, kw_only=True):
    """A step of a growth, and when it was reached."""

    step: str
    is_reached: bool
    at_seconds: float | None


class CountedStamp(StampItem, kw_only=True):
    """The same of all machines together."""

    machines: int


class MachineItem(msgspec.Struct, kw_only=True):
    """A machine on its way."""

    name: str
    node: str
    failure: str
    stamps: list[StampItem]
    hangs_in: HangItem | None


class LadderItem(msgspec.Struct, kw_only=True):
    """A growth, step by step."""

    wanted: int
    asked_seconds: float | None
    asked_by: str | None
    is_over: bool
    stamps: list[CountedStamp]
    hangs_in: HangItem | None
    machines: list[MachineItem]


class IdleNodeItem(msgspec.Struct, kw_only=True):
    """A node without GPU work."""

    node: str
    gpus: int | None
    since_seconds: float | None
    vouched: str
    why_kept: str
    reclaimed_seconds: float | None


class ReclaimItem(msgspec.Struct, kw_only=True):
    """What was reclaimed."""

    what: str
    at_seconds: float
    gpu_hours: float | None


class WordsItem(msgspec.Struct, kw_only=True):
    """What the owner says."""

    text: str
    source: str
    at_seconds: float | None


class LogItem(msgspec.Struct, kw_only=True):
    """Why the owner's log cannot be read, "" where it can."""

    trouble: str


class NoticeItem(msgspec.Struct, kw_only=True):
    """A spot node that the cloud takes, and the jobs on it."""

    node: str
    sentence: str
    jobs: list[JobGpus]


class StageItem(msgspec.Struct, kw_only=True):
    """A node and its stage."""

    name: str
    stage: str


class _PoolPage(ClusterDocument, kw_only=True):
    kind: Literal["pool"]
    telemetry: Telemetry
    duty: Duty
    gpus_per_node: int | None
    owner: OwnerItem
    hourly_cost: float | None
    hourly_cost_per_node: float | None
    currency: str
    demand: PageDemand | None
    change: ChangeInFlight
    ladder: LadderItem | None
    failures: list[PoolFailure]
    idle: list[IdleNodeItem] | None
    reclaimed: list[ReclaimItem]
    owner_words: list[WordsItem]
    owner_log: LogItem
    scalers: list[dict[str, Any]]
    scalers_trouble: str
    spot_notices: list[NoticeItem]
    expected_wait_seconds: float | None
    nodes: list[StageItem]


_NULLABLE = ("idle_nodes", "gpus_allocated", "gpus_idle")
PoolDocument: type[Any] = msgspec.defstruct(
    "PoolDocument",
    [
        (field.name, field.type | None if field.name in _NULLABLE else field.type)
        for field in msgspec.structs.fields(Pool)
    ],
    bases=(_PoolPage,),
    namespace={"__doc__": "`cockpit pool show`: a pool with the facts of its page; null is unknown."},
    kw_only=True,
)


def pool_tree(page: PoolPage, attachment: Attachment) -> dict[str, Any]:
    """All of it, nothing shortened. Times are epoch seconds; null is unknown."""
    pool, store, session = page.pool, attachment.store, attachment.session
    nodes = nodes_named(store, pool)
    says = registry.ownership(pool_object(store, pool), nodes, store)
    wait = usual_wait(page.growths, pool.key, pool.machine)
    return {
        "kind": "pool",
        "context": session.context if session else "",
        "at_seconds": page.now_seconds,
        "telemetry": telemetry(attachment),
        **item(pool, attachment),
        "idle_nodes": len(page.idle) if page.idle is not None else None,
        "gpus_allocated": pool.gpus_allocated if pool.is_use_known else None,
        "gpus_idle": pool.gpus_idle if pool.is_use_known else None,
        "gpus_per_node": page.gpus_each,
        "owner": {
            "name": page.owner,
            "may_resize": plain(says.may_resize),
            "may_limit": plain(says.may_limit),
            "may_demand": plain(says.may_demand),
            "may_remove": plain(says.may_remove),
            "handle": says.handle,
            "read_seconds": says.read_seconds,
        },
        "hourly_cost": pool_hourly(pool, page.prices),
        "hourly_cost_per_node": node_hourly(pool, page.prices),
        "currency": page.prices.currency,
        "demand": _demand(page),
        "change": _change(page),
        "ladder": None if page.ladder is None else _ladder(page.ladder, page.now_seconds),
        "failures": [_failure(item) for item in page.failures],
        "idle": None if page.idle is None else [_idle(item) for item in page.idle],
        "reclaimed": [_reclaim(item) for item in page.reclaims],
        "owner_words": [word._asdict() for word in page.words],
        "owner_log": {"trouble": page.no_log or ""},
        "scalers": [
            {**plain(item.scaler), "waiting_pods": item.waiting, "waiting_gpus": item.gpus}
            for item in page.chains
        ],
        "scalers_trouble": page.scalers_trouble,
        "spot_notices": [
            {"node": item.node, "sentence": item.sentence, "jobs": [_gpus(*job) for job in item.jobs]}
            for item in page.notices
        ],
        "expected_wait_seconds": None if wait is None else wait.seconds,
        "nodes": [{"name": node.name, "stage": stage_at(node, store, page.now_seconds)} for node in nodes],
    }


def _gpus(name: str, gpus: int) -> dict[str, Any]:
    return {"name": name, "gpus": gpus}


def _demand(page: PoolPage) -> dict[str, Any] | None:
    found = page.demand
    if found is None:
        return None
    return {
        "only_here_gpus": found.gpus,
        "only_here_pods": len(found.only),
        "shared_gpus": sum(pod.gpus for pod in found.shared),
        "shared_pods": len(found.shared),
        "next": [_gpus(*job) for job in page.next_jobs],
    }


def _change(page: PoolPage) -> dict[str, Any]:
    """The change in flight; `holder` null where there is none, or `trouble` says why it is unknown."""
    held, lease = page.held, page.held.lease
    if lease is not None and not lease.is_in_force(page.now_seconds):
        lease = None
    return {
        "holder": lease.holder if lease is not None else None,
        "is_ours": held.is_ours and lease is not None,
        "from_nodes": lease.from_nodes if lease is not None else None,
        "to_nodes": lease.to_nodes if lease is not None else None,
        "since_seconds": lease.acquired_seconds if lease is not None else None,
        "lapses_seconds": lease.lapses_seconds() if lease is not None else None,
        "trouble": held.trouble,
    }


def _ladder(found: Ladder, now_seconds: float) -> dict[str, Any]:
    return {
        "wanted": found.wanted,
        "asked_seconds": found.asked_seconds,
        "asked_by": found.asked.by or None if found.asked is not None else None,
        "is_over": found.is_over,
        "stamps": [{**_stamp(item), "machines": found.done(item.step)} for item in found.stamps],
        "hangs_in": _hang(found.hang, now_seconds),
        "machines": [_machine(machine, now_seconds) for machine in found.machines],
    }


def _machine(one: MachineLadder, now_seconds: float) -> dict[str, Any]:
    return {
        "name": one.name,
        "node": one.node,
        "failure": one.failure,
        "stamps": [_stamp(each) for each in one.stamps],
        "hangs_in": _hang(one.hang, now_seconds),
    }


def _stamp(one: Stamp) -> dict[str, Any]:
    return {"step": str(one.step), "is_reached": one.is_reached, "at_seconds": one.at_seconds}


def _hang(one: Hang | None, now_seconds: float) -> dict[str, Any] | None:
    if one is None:
        return None
    return {
        "step": str(one.step),
        "since_seconds": one.since_seconds,
        "lasted_seconds": one.lasted(now_seconds),
        "usually_seconds": one.usually_seconds,
        "limit_seconds": one.limit_seconds,
        "is_late": one.is_late(now_seconds),
        "is_broken": one.is_broken(now_seconds),
    }


def _failure(one: PoolFailure) -> dict[str, Any]:
    return {**plain(one), "kind": one.kind.value}


def _reclaim(one: Reclaim) -> dict[str, Any]:
    return {"what": one.what, "at_seconds": one.at_seconds, "gpu_hours": one.gpu_hours}


def _idle(one: IdleNode) -> dict[str, Any]:
    return {
        "node": one.node.name,
        "gpus": one.node.gpu_allocatable,
        "since_seconds": one.since_seconds,
        "vouched": one.vouched,
        "why_kept": one.why_kept,
        "reclaimed_seconds": one.reclaimed_seconds,
    }
