"""Quota as a tree: ClusterQueues below Cohorts, with what each may borrow and what it lends.

A queue's quota above its lending limit is visible to the queue alone; all else is counted in its cohort.
Amounts are in base units (cpu in millicores). Source: kueue pkg/cache/scheduler/resource_node.go.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

FlavorResource = tuple[str, str]
"""Name of a ResourceFlavor and of a resource."""

Amounts = dict[FlavorResource, int]


@dataclass(frozen=True, slots=True)
class Quota:
    """What one queue or cohort holds of one resource in one flavor; None: no limit."""

    nominal: int
    borrowing_limit: int | None = None
    lending_limit: int | None = None


class QuotaNode:
    """A ClusterQueue or a Cohort: its quotas, what its subtree holds, and what is used."""

    __slots__ = ("cohorts", "is_queue", "name", "parent", "queues", "quotas", "subtree", "usage")

    def __init__(self, name: str, quotas: Mapping[FlavorResource, Quota], *, is_queue: bool) -> None:
        self.name = name
        self.quotas = dict(quotas)
        self.is_queue = is_queue
        self.parent: QuotaNode | None = None
        self.cohorts: list[QuotaNode] = []
        self.queues: list[QuotaNode] = []
        self.subtree: Amounts = {key: quota.nominal for key, quota in quotas.items()}
        self.usage: Amounts = {}

    def ancestors(self) -> Iterator["QuotaNode"]:
        """Its cohort, that cohort's cohort, up to the root."""
        node = self.parent
        while node is not None:
            yield node
            node = node.parent

    @property
    def root(self) -> "QuotaNode":
        """The topmost cohort, or the queue itself."""
        node = self
        while node.parent is not None:
            node = node.parent
        return node

    @property
    def path(self) -> str:
        """`/cohort/queue`, as preemption messages name it."""
        names = [self.name, *(node.name for node in self.ancestors())]
        return "/" + "/".join(reversed(names))

    def nominal(self, key: FlavorResource) -> int:
        """Its own quota."""
        quota = self.quotas.get(key)
        return 0 if quota is None else quota.nominal

    def held_back(self, key: FlavorResource) -> int:
        """The part of its quota that a lending limit keeps out of its cohort."""
        quota = self.quotas.get(key)
        if quota is None or quota.lending_limit is None:
            return 0
        return max(0, self.subtree.get(key, 0) - quota.lending_limit)

    def local_free(self, key: FlavorResource) -> int:
        """What of the held-back part is unused."""
        return max(0, self.held_back(key) - self.usage.get(key, 0))

    def free(self, key: FlavorResource) -> int:
        """What it could take now, borrowing included; negative when more is used than there is."""
        used, subtree = self.usage.get(key, 0), self.subtree.get(key, 0)
        if self.parent is None:
            return subtree - used
        from_parent, kept = self.parent.free(key), self.held_back(key)
        quota = self.quotas.get(key)
        if quota is not None and quota.borrowing_limit is not None:
            most = (subtree - kept) - max(0, used - kept) + quota.borrowing_limit
            from_parent = min(most, from_parent)
        return max(0, kept - used) + from_parent

    def capacity(self, key: FlavorResource) -> int:
        """What it could take if nothing were used."""
        if self.parent is None:
            return self.subtree.get(key, 0)
        most = self.held_back(key) + self.parent.capacity(key)
        quota = self.quotas.get(key)
        if quota is not None and quota.borrowing_limit is not None:
            most = min(most, self.subtree.get(key, 0) + quota.borrowing_limit)
        return most

    def exceeds(self, key: FlavorResource, more: int = 0) -> bool:
        """True when use (with `more`) is above its own and its subtree's quota: it borrows."""
        return self.usage.get(key, 0) + more > self.subtree.get(key, 0)

    def exceeds_any(self, keys: Iterable[FlavorResource]) -> bool:
        """True when it borrows one of `keys`."""
        return any(self.exceeds(key) for key in keys)

    def add(self, key: FlavorResource, amount: int) -> None:
        """Count `amount` as used; what the held-back part cannot carry counts in the cohort too."""
        over = amount - self.local_free(key)
        self.usage[key] = self.usage.get(key, 0) + amount
        if self.parent is not None and over > 0:
            self.parent.add(key, over)

    def remove(self, key: FlavorResource, amount: int) -> None:
        """Take back what `add` counted."""
        in_parent = self.usage.get(key, 0) - self.held_back(key)
        self.usage[key] = self.usage.get(key, 0) - amount
        if self.parent is not None and in_parent > 0:
            self.parent.remove(key, min(amount, in_parent))

    def height(self) -> int:
        """Levels below a cohort: 1 with queues only, 0 without children."""
        low = min(len(self.cohorts) + len(self.queues), 1)
        return max([low, *(cohort.height() + 1 for cohort in self.cohorts)])


def level_that_fits(queue: QuotaNode, key: FlavorResource, amount: int) -> tuple[int, bool]:
    """Height of the lowest subtree with room for `amount` by quota (0: the queue itself), and whether
    something lies above it, so that what others borrowed from it can be reclaimed."""
    if queue.parent is None or not queue.exceeds(key, amount):
        return 0, queue.parent is not None
    rest = amount - queue.local_free(key)
    top = queue.parent
    for node in queue.ancestors():
        if not node.exceeds(key, rest):
            return node.height(), node.parent is not None
        rest -= node.local_free(key)
        top = node
    return top.height(), False


class Forest:
    """All queues and cohorts of a cluster; rebuilt when one of their specs changes."""

    def __init__(self) -> None:
        self.queues: dict[str, QuotaNode] = {}
        self.cohorts: dict[str, QuotaNode] = {}
        self.looped: frozenset[str] = frozenset()

    @classmethod
    def grown(
        cls,
        queues: Mapping[str, tuple[str, Mapping[FlavorResource, Quota]]],
        cohorts: Mapping[str, tuple[str, Mapping[FlavorResource, Quota]]],
    ) -> "Forest":
        """From (parent, quotas) by name. A cohort that is only named is there without quota of its own;
        cohorts that go round in a circle have no parent (`looped` names them)."""
        forest = cls()
        for name, (_, quotas) in cohorts.items():
            forest.cohorts[name] = QuotaNode(name, quotas, is_queue=False)
        for name, (parent, quotas) in queues.items():
            node = forest.queues[name] = QuotaNode(name, quotas, is_queue=True)
            if parent:
                node.parent = forest._cohort(parent)
                node.parent.queues.append(node)
        for parent, _ in cohorts.values():
            if parent:
                forest._cohort(parent)
        forest.looped = frozenset(name for name in cohorts if _goes_round(name, cohorts))
        for name, (parent, _) in cohorts.items():
            if parent and name not in forest.looped:
                node = forest.cohorts[name]
                node.parent = forest.cohorts[parent]
                node.parent.cohorts.append(node)
        for node in forest.cohorts.values():
            if node.parent is None:
                _gather(node)
        return forest

    def _cohort(self, name: str) -> QuotaNode:
        node = self.cohorts.get(name)
        if node is None:
            node = self.cohorts[name] = QuotaNode(name, {}, is_queue=False)
        return node

    def saved(self) -> list[tuple[QuotaNode, Amounts]]:
        """All usage as it is now, for `restore` after a try."""
        return [(node, dict(node.usage)) for group in (self.queues, self.cohorts) for node in group.values()]

    @staticmethod
    def restore(saved: list[tuple[QuotaNode, Amounts]]) -> None:
        """Usage as it was."""
        for node, usage in saved:
            node.usage = usage


def queues_below(root: QuotaNode) -> Iterator[QuotaNode]:
    """Every queue of a tree, a lone queue itself included."""
    if root.is_queue:
        yield root
        return
    yield from root.queues
    for cohort in root.cohorts:
        yield from queues_below(cohort)


def _goes_round(name: str, cohorts: Mapping[str, tuple[str, Mapping[FlavorResource, Quota]]]) -> bool:
    seen = {name}
    parent = cohorts[name][0]
    while parent and parent in cohorts:
        if parent in seen:
            return True
        seen.add(parent)
        parent = cohorts[parent][0]
    return False


def _gather(cohort: QuotaNode) -> None:
    for child in cohort.cohorts:
        _gather(child)
    for child in (*cohort.cohorts, *cohort.queues):
        for key, amount in child.subtree.items():
            lent = amount - child.held_back(key)
            cohort.subtree[key] = cohort.subtree.get(key, 0) + lent
