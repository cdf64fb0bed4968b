"""The queue controller: a Kueue-shaped actor over ClusterQueues, LocalQueues, Workloads and queued jobs.

Facts are of kueue v0.15. Not modelled: admission checks, topology-aware placement (Topology objects are
stored only), fair sharing, partial admission, MultiKueue, elastic jobs, limit ranges, jobs of other kinds,
and plain pods and pod groups.
"""

from collections.abc import Iterable, Iterator, Sequence
from random import Random

from cockpit.kube.resource import CLUSTER_QUEUES, LOCAL_QUEUES, NAMESPACES, WORKLOADS, Resource
from cockpit.sim.actors.queue.admission import DEFAULT_QUEUE, QueueAdmission
from cockpit.sim.actors.queue.cache import QueueCache
from cockpit.sim.actors.queue.context import KueueSettings, QueueContext
from cockpit.sim.actors.queue.cycle import run_cycle
from cockpit.sim.actors.queue.job_steps import label, settle_job
from cockpit.sim.actors.queue.jobs import KINDS, JobKind
from cockpit.sim.actors.queue.queue_status import settle_cluster_queue, settle_local_queue
from cockpit.sim.actors.queue.reading import Key as ObjectKey
from cockpit.sim.actors.queue.reading import key_of
from cockpit.sim.actors.queue.spec import QUEUE_LABEL
from cockpit.sim.actors.queue.workload_steps import settle_workload
from cockpit.sim.engine import Actor, Key
from cockpit.sim.port import ChangeType, ObjectChange, Tree
from cockpit.sim.resources import COHORTS, PRIORITY_CLASSES, RESOURCE_FLAVORS, WORKLOAD_PRIORITY_CLASSES

_WORKLOAD, _JOB, _CLUSTER, _LOCAL = "workload", "job", "cluster queue", "local queue"
_CYCLE: Key = ("cycle",)


class QueueController(Actor):
    """Kueue's part in the embedded cluster.

    `queue_cache` is what it knows; `cockpit.sim.actors.queue.positions` reads places in line out of it.
    """

    name = "queue"

    def __init__(
        self, random: Random, settings: KueueSettings | None = None, *, kinds: Sequence[JobKind] = KINDS
    ) -> None:
        """`random` names events; `kinds` are the kinds of job whose resources the cluster serves."""
        super().__init__()
        self._random = random
        self._settings = settings or KueueSettings()
        self._kinds = {kind.resource: kind for kind in kinds}
        self.watches = (
            NAMESPACES,
            RESOURCE_FLAVORS,
            COHORTS,
            CLUSTER_QUEUES,
            LOCAL_QUEUES,
            WORKLOADS,
            PRIORITY_CLASSES,
            WORKLOAD_PRIORITY_CLASSES,
            *self._kinds,
        )
        self.queue_cache = QueueCache(lambda: self.engine.now())
        self._workload_of: dict[str, ObjectKey] = {}
        self._context: QueueContext | None = None

    @property
    def context(self) -> QueueContext:
        """What its steps share, once an engine runs it."""
        if self._context is None:
            engine = self.engine
            self._context = QueueContext(
                engine.port,
                engine.clock,
                self._random,
                queue_cache=self.queue_cache,
                settings=self._settings,
                cache=engine.cache,
            )
        return self._context

    def admission(self) -> QueueAdmission:
        """What the embedded server is to ask at every write, as it asks Kueue's webhooks."""
        return QueueAdmission(lambda space: self.queue_cache.local_queue((space, DEFAULT_QUEUE)) is not None)

    def wake(self, change: ObjectChange, before: Tree | None) -> Iterable[Key]:
        """Take the change into the cache; the cycle is the first to see it, then all that it concerns."""
        concerned = list(self._concerned(change, before))
        return [_CYCLE, *concerned] if self.queue_cache.stirred else concerned

    def _concerned(self, change: ObjectChange, before: Tree | None) -> Iterator[Key]:
        tree, resource = change.tree, change.resource
        gone = change.type is ChangeType.DELETED
        key = key_of(tree)
        if resource == WORKLOADS:
            yield from self._workload_changed(tree, before, gone)
        elif resource == CLUSTER_QUEUES:
            yield from self._cluster_queue_changed(tree, gone)
        elif resource == LOCAL_QUEUES:
            if self.queue_cache.put_local_queue(None if gone else tree, key):
                yield from self._all_of_local(key)
                yield (_CLUSTER, (tree.get("spec") or {}).get("clusterQueue") or "")
        elif resource == RESOURCE_FLAVORS:
            for queue in self.queue_cache.put_flavor(None if gone else tree, key[1]):
                yield from self._all_of_queue(queue)
        elif resource == COHORTS:
            self.queue_cache.put_cohort(None if gone else tree, key[1])
        elif resource == NAMESPACES:
            self.queue_cache.put_namespace(key[1], None if gone else tree["metadata"].get("labels") or {})
        elif resource in self._kinds:
            yield (_JOB, resource.plural, *key)
        else:  # a priority class: jobs may wait for it
            for kind in self._kinds:
                for job in self.engine.cache(kind):
                    if label(job, QUEUE_LABEL):
                        yield (_JOB, kind.plural, *key_of(job))

    def _workload_changed(self, tree: Tree, before: Tree | None, gone: bool) -> Iterator[Key]:
        key = key_of(tree)
        known = self.queue_cache.workload(key)
        if gone:
            self.queue_cache.drop_workload(key)
        elif known is None or _version(known) <= _version(tree) or not _same_object(known, tree):
            self.queue_cache.put_workload(tree)
        for one in (before, tree):
            if one is None:
                continue
            local = (key[0], (one.get("spec") or {}).get("queueName") or "")
            yield (_LOCAL, *local)
            found = self.queue_cache.local_queue(local)
            admitted = ((one.get("status") or {}).get("admission") or {}).get("clusterQueue")
            for queue in dict.fromkeys((admitted, None if found is None else found[0])):
                if queue:
                    yield (_CLUSTER, queue)
        for owner in tree["metadata"].get("ownerReferences") or ():
            kind = self._kind_of(owner)
            if kind is None:
                continue
            if gone:
                self._workload_of.pop(owner["uid"], None)
            else:
                self._workload_of[owner["uid"]] = key
            yield (_JOB, kind.plural, key[0], owner["name"])
        yield (_WORKLOAD, *key)

    def _cluster_queue_changed(self, tree: Tree, gone: bool) -> Iterator[Key]:
        name = tree["metadata"]["name"]
        if gone:
            self.queue_cache.drop_queue(name)
            yield from self._all_of_queue(name)
        elif self.queue_cache.put_queue(tree):
            yield from self._all_of_queue(name)
        else:
            yield (_CLUSTER, name)

    def _all_of_queue(self, queue: str) -> Iterator[Key]:
        yield (_CLUSTER, queue)
        for local in self.queue_cache.local_queues_of(queue):
            yield from self._all_of_local(local)

    def _all_of_local(self, local: ObjectKey) -> Iterator[Key]:
        yield (_LOCAL, *local)
        for workload in self.queue_cache.workloads_of(local):
            yield (_WORKLOAD, *workload)

    def _kind_of(self, owner: Tree) -> Resource | None:
        group = str(owner["apiVersion"]).partition("/")[0]
        return next((one for one in self._kinds if (one.kind, one.group) == (owner["kind"], group)), None)

    async def reconcile(self, key: Key) -> None:
        """One step for a workload, a job, a queue, or one cycle over the heads of the queues."""
        context = self.context
        if key == _CYCLE:
            if await run_cycle(context):
                self.engine.soon(self, _CYCLE)
            return
        what, *rest = key
        if what == _WORKLOAD:
            wait = await settle_workload(context, (rest[0], rest[1]))
            if wait is not None:
                self.engine.after(wait, self, key)
        elif what == _JOB:
            await self._settle_job(rest)
        elif what == _CLUSTER:
            await settle_cluster_queue(context, rest[0])
        else:
            await settle_local_queue(context, (rest[0], rest[1]))
        if self.queue_cache.stirred:
            self.engine.soon(self, _CYCLE)

    async def _settle_job(self, rest: Sequence[str]) -> None:
        plural, namespace, name = rest
        kind = next(one for one in self._kinds.values() if one.resource.plural == plural)
        job = self.engine.cache(kind.resource).get(namespace, name)
        if job is not None:
            workload = self._workload_of.get(job["metadata"].get("uid", ""))
            await settle_job(self.context, kind, (namespace, name), workload)
            return
        for uid, key in list(self._workload_of.items()):
            tree = self.queue_cache.workload(key)
            owners = [] if tree is None else tree["metadata"].get("ownerReferences") or []
            if key[0] == namespace and any(one["uid"] == uid and one["name"] == name for one in owners):
                await settle_job(self.context, kind, (namespace, name), key)


def _version(tree: Tree) -> int:
    text = str(tree["metadata"].get("resourceVersion") or "0")
    return int(text) if text.isdigit() else 0


def _same_object(one: Tree, other: Tree) -> bool:
    return bool(one["metadata"].get("uid") == other["metadata"].get("uid"))
