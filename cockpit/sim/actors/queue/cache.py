"""What the queue controller knows: queues and their quota, who waits in which line, who holds what.

It is fed with every change, in order, and marks the trees of queues (`stirred`) in which a decision may
come out differently than last time; nothing else is looked at again.
"""

from collections.abc import Callable, Iterable, Mapping

from cockpit.k8s.admission.admission_specs import (
    FlavorSpec,
    QueueSpec,
    QuotaReservation,
    WorkloadInfo,
    flavor_spec,
    queue_spec,
    quotas_of,
)
from cockpit.k8s.admission.quota_tree import FlavorResource, Forest, Quota, queues_below
from cockpit.k8s.selectors import selects
from cockpit.sim.actors.queue.conditions import has_quota, is_active, is_finished
from cockpit.sim.actors.queue.pending_queue import PendingQueue
from cockpit.sim.actors.queue.reading import (
    Key,
    info_of,
    is_due,
    is_same_wish,
    is_waiting,
    key_of,
    reservation_of,
)
from cockpit.sim.port import Tree


class QueueCache:
    """The state of one queue controller; `now` gives the cluster's time."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self.specs: dict[str, QueueSpec] = {}
        self.flavors: dict[str, FlavorSpec] = {}
        self.lines: dict[str, PendingQueue] = {}
        self.stirred: dict[str, None] = {}
        self._cohorts: dict[str, tuple[str, Mapping[FlavorResource, Quota]]] = {}
        self._locals: dict[Key, tuple[str, str]] = {}
        self._namespaces: dict[str, Mapping[str, str]] = {}
        self._workloads: dict[Key, Tree] = {}
        self._serials: dict[Key, int] = {}
        self._count = 0
        self._of_local: dict[Key, dict[Key, None]] = {}
        self._waiting_of: dict[Key, set[Key]] = {}
        self._reservations: dict[str, dict[Key, QuotaReservation]] = {}
        self._reserved_in: dict[Key, str] = {}
        self._waits_in: dict[Key, str] = {}
        self._forest: Forest | None = None

    # What is asked of it.

    @property
    def forest(self) -> Forest:
        """Quota and use of all queues."""
        if self._forest is None:
            queues = {name: (spec.cohort, spec.quotas) for name, spec in self.specs.items()}
            self._forest = Forest.grown(queues, self._cohorts)
            for queue, held in self._reservations.items():
                node = self._forest.queues.get(queue)
                if node is not None:
                    for one in held.values():
                        for key, amount in one.usage.items():
                            node.add(key, amount)
        return self._forest

    def held(self, queue: str) -> Iterable[QuotaReservation]:
        """The workloads with quota in a ClusterQueue."""
        return self._reservations.get(queue, {}).values()

    def workload(self, key: Key) -> Tree | None:
        """The latest of a Workload."""
        return self._workloads.get(key)

    def local_queue(self, key: Key) -> tuple[str, str] | None:
        """(ClusterQueue, stopPolicy) of a LocalQueue."""
        return self._locals.get(key)

    def cluster_queue_of(self, workload: Tree) -> str:
        """The ClusterQueue behind the workload's LocalQueue; "" where that is missing or stopped."""
        namespace, _ = key_of(workload)
        found = self._locals.get((namespace, (workload.get("spec") or {}).get("queueName") or ""))
        return found[0] if found is not None and found[1] == "None" else ""

    def local_queues_of(self, queue: str) -> list[Key]:
        """The LocalQueues that point at a ClusterQueue."""
        return [key for key, (target, _) in self._locals.items() if target == queue]

    def workloads_of(self, local: Key) -> list[Key]:
        """The Workloads of a LocalQueue, in the order in which they came."""
        return list(self._of_local.get(local, {}))

    def missing_flavors(self, queue: str) -> list[str]:
        """Flavors that the queue names and that are not there."""
        spec = self.specs[queue]
        return [name for group in spec.groups for name in group.flavors if name not in self.flavors]

    def is_open(self, queue: str) -> bool:
        """True when the ClusterQueue admits."""
        spec = self.specs.get(queue)
        return spec is not None and spec.stop_policy == "None" and not self.missing_flavors(queue)

    def may_enter(self, info: WorkloadInfo) -> bool:
        """True when the ClusterQueue takes workloads of this namespace."""
        spec = self.specs.get(info.queue)
        labels = self._namespaces.get(info.key[0])
        return spec is not None and labels is not None and selects(spec.selector, labels)

    def heads(self, roots: Iterable[str]) -> list[WorkloadInfo]:
        """The next of every open line below these roots (names from `stirred`)."""
        found: list[WorkloadInfo] = []
        for root in roots:
            node = self.forest.cohorts.get(root[1:]) if root[0] == "/" else self.forest.queues.get(root)
            for queue in [] if node is None else queues_below(node):
                head = self.lines[queue.name].head() if self.is_open(queue.name) else None
                if head is not None:
                    found.append(head)
        return found

    def waiting_in(self, local: Key) -> int:
        """How many wait in a LocalQueue; a stopped one lists nobody."""
        found = self._locals.get(local)
        if found is None or found[1] != "None":
            return 0
        return len(self._waiting_of.get(local, ()))

    # What it is told.

    def put_workload(self, tree: Tree) -> None:
        """A Workload as it is now."""
        key = key_of(tree)
        before = self._workloads.get(key)
        if before is None:
            self._count += 1
            self._serials[key] = self._count
        elif (old := self._local_of(before)) != self._local_of(tree):
            self._of_local.get(old, {}).pop(key, None)
            self._waiting_of.get(old, set()).discard(key)
        self._workloads[key] = tree
        local = self._local_of(tree)
        self._of_local.setdefault(local, {})[key] = None
        waiting = self._waiting_of.setdefault(local, set())
        if is_waiting(tree):
            waiting.add(key)
        else:
            waiting.discard(key)
        self._place(tree, before)

    def drop_workload(self, key: Key) -> None:
        """A Workload that is gone."""
        tree = self._workloads.pop(key, None)
        if tree is not None:
            self._of_local.get(self._local_of(tree), {}).pop(key, None)
            self._waiting_of.get(self._local_of(tree), set()).discard(key)
            self._leave_line(key)
            self._let_go(key)
            del self._serials[key]

    def put_queue(self, tree: Tree) -> bool:
        """A ClusterQueue as it is now; answers whether its wishes changed."""
        spec = queue_spec(tree)
        before = self.specs.get(spec.name)
        if spec == before:
            return False
        self.specs[spec.name] = spec
        self._forest = None
        line = self.lines.get(spec.name)
        if line is None:
            self.lines[spec.name] = PendingQueue(spec.strategy)
            self._replace_all(spec.name)
        else:
            line.strategy = spec.strategy
        if before is not None and before.cohort != spec.cohort and before.cohort:
            self.stir("/" + before.cohort)
        self.stir_queue(spec.name)
        return True

    def drop_queue(self, name: str) -> None:
        """A ClusterQueue that is gone."""
        spec = self.specs.pop(name, None)
        if spec is None:
            return
        self._forest = None
        del self.lines[name]
        if spec.cohort:
            self.stir("/" + spec.cohort)
        for key in [key for key, queue in self._waits_in.items() if queue == name]:
            del self._waits_in[key]

    def put_flavor(self, tree: Tree | None, name: str) -> list[str]:
        """A ResourceFlavor as it is now, None when it is gone; answers the queues that name it."""
        if tree is None:
            self.flavors.pop(name, None)
        else:
            self.flavors[name] = flavor_spec(tree)
        users = [
            spec.name for spec in self.specs.values() if any(name in group.flavors for group in spec.groups)
        ]
        for queue in users:
            self.stir_queue(queue)
        return users

    def put_cohort(self, tree: Tree | None, name: str) -> None:
        """A Cohort as it is now, None when it is gone."""
        if tree is None:
            self._cohorts.pop(name, None)
        else:
            spec = tree.get("spec") or {}
            wishes = (
                spec.get("parentName") or spec.get("parent") or "",
                quotas_of(spec.get("resourceGroups") or ()),
            )
            if self._cohorts.get(name) == wishes:
                return
            self._cohorts[name] = wishes
        self._forest = None
        for queue in self.specs.values():
            if queue.cohort:
                self.stir_queue(queue.name)

    def put_local_queue(self, tree: Tree | None, key: Key) -> bool:
        """A LocalQueue as it is now, None when it is gone; answers whether something changed."""
        before = self._locals.get(key)
        if tree is None:
            self._locals.pop(key, None)
        else:
            spec = tree.get("spec") or {}
            self._locals[key] = (spec.get("clusterQueue") or "", spec.get("stopPolicy") or "None")
        if self._locals.get(key) == before:
            return False
        for workload in self.workloads_of(key):
            self._place(self._workloads[workload], None)
        return True

    def put_namespace(self, name: str, labels: Mapping[str, str] | None) -> None:
        """Labels of a namespace, None when it is gone."""
        if labels is None:
            self._namespaces.pop(name, None)
        elif self._namespaces.get(name) != labels:
            self._namespaces[name] = labels
            for queue in self.specs:
                self.stir_queue(queue)

    def line_up(self, key: Key) -> None:
        """Look anew at one whose back-off is over."""
        tree = self._workloads.get(key)
        if tree is not None:
            self._place(tree, None)

    def stir_queue(self, queue: str) -> None:
        """Something changed for this queue and all that share quota with it."""
        node = self.forest.queues.get(queue)
        if node is None:
            return
        root = node.root
        for below in queues_below(root):
            self.lines[below.name].release(self._may_try_again)
        self.stir(queue if root.is_queue else "/" + root.name)

    def stir(self, root: str) -> None:
        """Look again at the heads below one root: "/COHORT", or the name of a queue that stands alone."""
        self.stirred[root] = None

    def root_of(self, queue: str) -> str:
        """The name of the tree that a queue belongs to."""
        root = self.forest.queues[queue].root
        return queue if root.is_queue else "/" + root.name

    # How it keeps it.

    def _local_of(self, tree: Tree) -> Key:
        return (key_of(tree)[0], (tree.get("spec") or {}).get("queueName") or "")

    def _place(self, tree: Tree, before: Tree | None) -> None:
        key = key_of(tree)
        if not is_waiting(tree):
            self._leave_line(key)
        if is_active(tree) and has_quota(tree) and not is_finished(tree):
            self._hold(tree)
            return
        self._let_go(key)
        if not is_waiting(tree):
            return
        queue = self.cluster_queue_of(tree)
        if queue not in self.lines:
            self._leave_line(key)
            return
        if self._waits_in.get(key, queue) != queue:
            self._leave_line(key)
        self._waits_in[key] = queue
        self._line_up(tree, queue, before)

    def _line_up(self, tree: Tree, queue: str, before: Tree | None) -> None:
        line, info = self.lines[queue], info_of(tree, queue, self._serials[key_of(tree)])
        if info.key in line and before is not None and is_same_wish(before, tree):
            line.replace(info)
            return
        ready = is_due(tree, self._now()) or (info.key in line and not line.is_parked(info.key))
        line.put(info, ready=ready)
        if ready:
            self.stir(self.root_of(queue))

    def _may_try_again(self, info: WorkloadInfo) -> bool:
        return self.may_enter(info) and is_due(self._workloads[info.key], self._now())

    def _leave_line(self, key: Key) -> None:
        queue = self._waits_in.pop(key, None)
        if queue is not None and queue in self.lines:
            line = self.lines[queue]
            line.drop(key)
            self.stir(self.root_of(queue))

    def _hold(self, tree: Tree) -> None:
        key, reservation = key_of(tree), reservation_of(tree)
        queue = reservation.queue
        before = self._reservations.get(queue, {}).get(key)
        if before == reservation:
            return
        has_shrunk = before is not None and before.usage != reservation.usage
        self._let_go(key, quietly=not has_shrunk)
        self._reserved_in[key] = queue
        self._reservations.setdefault(queue, {})[key] = reservation
        self._count_use(reservation, 1)

    def _let_go(self, key: Key, *, quietly: bool = False) -> None:
        queue = self._reserved_in.pop(key, None)
        if queue is None:
            return
        reservation = self._reservations[queue].pop(key)
        self._count_use(reservation, -1)
        if not quietly:
            self.stir_queue(queue)

    def _count_use(self, reservation: QuotaReservation, sign: int) -> None:
        if self._forest is None:
            return
        node = self._forest.queues.get(reservation.queue)
        if node is not None:
            for key, amount in reservation.usage.items():
                if sign > 0:
                    node.add(key, amount)
                else:
                    node.remove(key, amount)

    def _replace_all(self, queue: str) -> None:
        for local in self.local_queues_of(queue):
            for key in self.workloads_of(local):
                self._place(self._workloads[key], None)
