"""Roots: the object that verdicts share, and the one row of *Now* that tells all of a root."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from msgspec import structs

from cockpit.catalogue.root_facts import HOLDERS, ROOTS, RootFact, RootPlace
from cockpit.gangs import registry
from cockpit.model.finding import Finding, Funnel, Subject
from cockpit.model.gang import ClusterQueue, LocalQueue
from cockpit.model.job_reader import JobReader
from cockpit.model.node import Node
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader

Root = tuple[Subject, str]
"""An object, and the cause where its kind may have several troubles at a time."""


def with_root(verdict: Finding, store: StoreReader, queue: str = "") -> Finding:
    """The verdict with the object that it rests on, as the catalogue names it. `queue` is that of its job."""
    if verdict.root is not None:
        return verdict
    facts = dict(verdict.facts)
    for column in ROOTS.get(verdict.cause, ()):
        if column.place is RootPlace.POOL and not _is_narrowed(verdict.funnel):
            continue  # the best node is of some pool, and any other would do as well
        root = _object(column, facts, verdict.subject.namespace, store, queue)
        if root is not None:
            return verdict if root == verdict.subject else structs.replace(verdict, root=root)
    return verdict


def _is_narrowed(funnel: Funnel | None) -> bool:
    """Whether its selector leaves a part of the nodes alone; so taken where no funnel tells."""
    step = None if funnel is None else next((one for one in funnel.steps if one.filter == "selector"), None)
    return funnel is None or step is None or step.nodes < funnel.nodes


def _object(
    column: RootFact, facts: Mapping[str, str], namespace: str, store: StoreReader, queue: str
) -> Subject | None:
    name, place = facts.get(column.fact, ""), column.place
    if place is RootPlace.QUEUE:
        return _queue(namespace, queue or name, store) if queue or name else None
    if not column.fact:
        return Subject(column.kind, "", namespace)
    if not name:
        return None
    if place is RootPlace.POOL:
        nodes: list[Node | None] = [store.by_key(Kind.NODE, one) for one in name.split(", ")]
        return pool_of(node for node in nodes if node is not None)
    if place is RootPlace.KEY:
        space, _, name = name.rpartition("/")
        return Subject(column.kind, space, name)
    kind = facts.get("kind", "configmap") if column.kind == "{kind}" else column.kind
    return Subject(kind, namespace if place is RootPlace.NAMESPACE else "", name)


def pool_of(nodes: Iterable[Node]) -> Subject | None:
    """The pool that labels tell of these nodes; None where they tell none, or several."""
    pools = {node.pool for node in nodes}
    return Subject("pool", "", *pools) if len(pools) == 1 and "" not in pools else None


def _queue(namespace: str, name: str, store: StoreReader) -> Subject:
    """The ClusterQueue where it is the one that takes nothing."""
    local: LocalQueue | None = store.by_key(Kind.LOCAL_QUEUE, f"{namespace}/{name}")
    if local is None:
        is_wide = store.by_key(Kind.CLUSTER_QUEUE, name) is not None
        return Subject("queue", "" if is_wide else namespace, name)
    behind: ClusterQueue | None = store.by_key(Kind.CLUSTER_QUEUE, local.cluster_queue)
    if behind is not None and _takes_jobs(behind) and not _takes_jobs(local):
        return Subject("queue", namespace, name)
    return Subject("queue", "", local.cluster_queue)


def _takes_jobs(queue: LocalQueue | ClusterQueue) -> bool:
    return registry.queue_state(queue).takes_jobs


class Membership(NamedTuple):
    """Of a row what its root's group has to know of it."""

    root: Root
    since_seconds: float | None
    gpus: int
    is_bad: bool


def membership(row: Finding, store: StoreReader, jobs: JobReader) -> Membership:
    """The row in the group of its root; a pod is told as its job."""
    root = row.root
    if root is None:
        where: Root = (row.subject, "")
    elif (owner := job_of_root(root, store, jobs)) is not None:
        where = (owner, "")
    else:
        where = (root, row.cause if root.kind in HOLDERS else "")
    return Membership(where, row.since_seconds, row.gpus, row.is_bad)


def job_of_root(root: Subject, store: StoreReader, jobs: JobReader) -> Subject | None:
    """The job of a root that is a pod; None where it is none, or part of no row."""
    pod: Pod | None = store.by_key(Kind.POD, root.key) if root.kind == "pod" else None
    owner = None if pod is None else jobs.job_of_pod(pod)
    return None if owner is None else Subject("job", owner.namespace, owner.name)
