"""What a plan is made on: the tables, the connection for what they do not hold, and the moment."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from cockpit.actions.address import Lookup, object_path
from cockpit.actions.read import read_tree
from cockpit.actions.refusals import recreated
from cockpit.actions.store_overlay import record_of
from cockpit.gangs import registry
from cockpit.kube.decode.decoders import WORKLOAD
from cockpit.model.gang import Workload
from cockpit.model.job import Job
from cockpit.model.plan import Plan
from cockpit.model.pod import Pod
from cockpit.model.pool import Pool
from cockpit.model.record import Kind
from cockpit.model.session import Session
from cockpit.model.store_reader import StoreReader
from cockpit.model.trace import PodLines
from cockpit.pools.forecast import PoolExperience


class OutsidePools(Protocol):
    """Reads pools whose state is outside the cluster (`cockpit.attach_outside`)."""

    async def read(self, pool: Pool, *, is_fresh: bool = ...) -> bool:
        """Have it read into the tables; False where its state is in the cluster. `is_fresh` False: what is
        young will do."""


@dataclass(frozen=True, slots=True)
class PoolTerms:
    """What plans about pools need besides: where Leases are, who takes them (user@host, "" for whoever sits
    here), the cluster's time when the person asked (the same for what is shown and for what is sent) and when
    this plan is made, who reads pools outside the cluster, what machines cost and how long they took, how
    many nodes may go at once unasked; how long jobs idle and are warned before they are reclaimed."""

    lease_namespace: str = "default"
    at_seconds: float = 0.0
    holder: str = ""
    outside: OutsidePools | None = None
    known: Callable[[], PoolExperience] = PoolExperience
    made_seconds: float | None = None  # None: as it was asked
    shrink_at_once: int | None = None  # None: a tenth of the pool
    reclaim_idle_for_seconds: float | None = None
    reclaim_grace_seconds: float | None = None

    @property
    def lease_seconds(self) -> float:
        """What a Lease is dated with and judged by: a preview may be read for longer than it lasts."""
        return self.at_seconds if self.made_seconds is None else self.made_seconds


class Make(Protocol):
    """Makes the plan of one verb from what is known by now; with `reads` its object is read for it."""

    async def __call__(self, *, reads: bool = False) -> Plan: ...


@dataclass(frozen=True, slots=True)
class Planning:
    """One attachment as far as plans need it. `session` reads; nothing is written through it here."""

    store: StoreReader
    session: Session
    lookup: Lookup
    context: str
    jobs: Mapping[str, Job] = field(default_factory=dict)  # by key, those that are there
    reads: bool = False  # what is watched is read, too: the tables were too old for a write
    template_folders: tuple[Path, ...] = ()  # besides the built-in templates
    server_version: tuple[int, int] | None = None  # major and minor; None where the server did not say
    at_seconds: float = 0.0  # when the person asked: the same for what is shown and for what is sent
    pools: PoolTerms = PoolTerms()
    watched_since: Mapping[str, float] = field(default_factory=dict)  # nodes seen as they are since then
    lines: Callable[[Sequence[Pod]], Awaitable[PodLines | None]] | None = None
    """What pods did over the last hours, as `cockpit.actions.idle_reads` asks."""

    @property
    def taken(self) -> frozenset[str]:
        """Names that no new job may take."""
        return frozenset(one.name for one in self.jobs.values())

    @property
    def at(self) -> str:
        """That moment as Kubernetes writes it."""
        return datetime.fromtimestamp(self.at_seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class FreshPlanning(Protocol):
    """What plans are made on as it is by now. Raises NoConnection while there is no cluster."""

    def __call__(self, *, reads: bool = False) -> Planning: ...


async def tree_of(planning: Planning, job: Job) -> dict[str, Any]:
    """The job's object as the server has it now. Raises Refused when it is another one meanwhile."""
    path = object_path(job.api_version, job.kind, job.namespace, job.name, lookup=planning.lookup)
    target = f"{job.kind.lower()} {job.namespace}/{job.name}"
    tree = await read_tree(planning.session, path, target)
    if job.uid and tree["metadata"].get("uid") != job.uid:
        raise recreated(target)
    tree.setdefault("apiVersion", job.api_version)
    tree.setdefault("kind", job.kind)
    return tree


async def workload_tree(planning: Planning, job: Job) -> dict[str, Any] | None:
    """The Workload behind the job, None where there is none."""
    found = planning.store.get(Kind.WORKLOAD, job.workload_uid) if job.workload_uid else None
    if not isinstance(found, Workload):
        return None
    return await read_tree(planning.session, workload_path(planning, found), f"workload {found.key}")


def workload_path(planning: Planning, workload: Workload) -> str:
    """Where the Workload lives below the API server."""
    kind = registry.admits_of(workload).workload_kind
    return object_path(*kind, workload.namespace, workload.name, lookup=planning.lookup)


async def with_workload(planning: Planning, job: Job) -> StoreReader:
    """The tables, with the job's Workload as it is now where they were too old."""
    found = planning.store.get(Kind.WORKLOAD, job.workload_uid)
    tree = await workload_tree(planning, job) if planning.reads else None
    if tree is None or not isinstance(found, Workload):
        return planning.store
    record = record_of(WORKLOAD, tree, found.uid, f"workload {found.key}")
    return planning.store.with_record(Kind.WORKLOAD, record)


def pod_group(planning: Planning, job: Job) -> str:
    """The group that is touched to have a job tried again, "" where that is not how, or no pod tells it."""
    if registry.engine_named(job.engine).retries is None:
        return ""
    pods = (planning.store.get(Kind.POD, uid) for uid in job.pod_uids)
    return next((name for one in pods if isinstance(one, Pod) and (name := registry.group_of_pod(one))), "")
