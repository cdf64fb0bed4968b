"""Roots: the object that verdicts share, and the one row of *Now* that tells all of a root."""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import structs

from cockpit.catalogue.root_facts import HOLDERS, ROOTS, RootFact, RootPlace
from cockpit.gangs import registry
from cockpit.gangs.sentence import SENTENCE_LIMIT, counted, one_line
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
    return registry.engine_of_queue(queue).queue_state(queue).takes_jobs


def one_each(found: Iterable[Finding], store: StoreReader, jobs: JobReader) -> list[Finding]:
    """One row for each root, with how many jobs wait or broke because of it."""
    by_root: dict[Root, list[Finding]] = {}
    for row in found:
        by_root.setdefault(_root(row, store, jobs), []).append(row)
    told_in = {row.subject: root for root, some in by_root.items() for row in some if row.subject != root[0]}
    for root in [root for root in by_root if root[0] in told_in]:
        # what stands behind a job shares what that one waits for
        if (further := told_in[root[0]]) in by_root:
            by_root[further] += by_root.pop(root)
    return [_told(root, some) for root, some in by_root.items()]


def _root(row: Finding, store: StoreReader, jobs: JobReader) -> Root:
    root = row.root
    if root is None:
        return row.subject, ""
    if root.kind == "pod":
        pod: Pod | None = store.by_key(Kind.POD, root.key)
        owner = None if pod is None else jobs.job_of_pod(pod)
        if owner is not None:
            return Subject("job", owner.namespace, owner.name), ""
    return root, row.cause if root.kind in HOLDERS else ""


def _told(root: Root, some: Sequence[Finding]) -> Finding:
    """The trouble of the root itself goes before what comes of it; of several jobs the oldest stands for all,
    for the row is not to jump from one to another."""
    itself = [row for row in some if row.subject == root[0]]
    first = min(itself or some, key=lambda row: (row.since_seconds or 0.0, row.key))
    others = [row for row in some if row is not first]
    if not itself:  # what several share is not mended at one of them
        first = structs.replace(first, remedies=tuple(one for one in first.remedies if not one.is_write))
    if not others:
        return first
    count = sum(1 for row in others if row.subject.kind == "job")
    tail = _tail(root[0].kind, count, is_itself=bool(itself))
    ages = [row.since_seconds for row in some if row.since_seconds is not None]
    return structs.replace(
        first,
        sentence=one_line(first.sentence, SENTENCE_LIMIT - len(tail)) + tail,
        is_bad=any(row.is_bad for row in some),
        gpus=max(first.gpus, sum(row.gpus for row in others)) if itself else sum(row.gpus for row in some),
        since_seconds=first.since_seconds if itself else min(ages, default=None),
        others=count,
    )


def _tail(kind: str, count: int, *, is_itself: bool) -> str:
    if not count:
        return ""
    if kind == "node" and is_itself:
        return f"; {counted(count, 'job')} on it"
    return f"; {counted(count, 'job waits', 'jobs wait')} for it" if is_itself else f"; {count} more"
