"""Why an owner that takes nodes away on its own leaves one where it is: facts, and the words for them.

What is asked of pods is shared by owners: who of them is protected by a budget that allows no eviction.
"""

import enum
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from cockpit.fit.scheduling_context import Budget
from cockpit.gangs.sentence import counted
from cockpit.k8s.selectors import selects
from cockpit.model.pod import Pod

Budgets = Mapping[str, Sequence[Budget]] | None
"""Disruption budgets of pods by namespace; None: they were not read, or may not be."""
_MOST_NAMED = 3


class KeeperKind(enum.Enum):
    """What it is that holds the node."""

    NODE_NOTE = "annotation of the node"
    POD_NOTE = "annotation of a pod"
    BUDGET = "disruption budget"
    BUDGETS = "several disruption budgets"  # over one pod: the server then evicts it for nobody
    BUDGETS_UNREAD = "disruption budgets not read"
    FIXED_SIZE = "fixed size"
    IN_USE = "in use"  # and only empty nodes are taken
    POOL_BUDGET = "budget of the pool"
    NO_CONTROLLER = "a pod without a controller"
    LOCAL_FILES = "files of a pod on its node"
    SYSTEM_POD = "a pod of kube-system without a budget"
    MINIMUM = "minimum"
    ROLLOUT = "rollout"  # of the object that makes its machines
    OTHER = "its owner says so"


class Keeper(NamedTuple):
    """`name` is of the annotation, the budget or the pool; `pod` its namespace and name; `pods` how many;
    `left_seconds` None: until somebody ends it."""

    kind: KeeperKind
    name: str = ""
    pod: str = ""
    pods: int = 0
    left_seconds: float | None = None
    said: str = ""  # by the owner itself

    @property
    def is_sure(self) -> bool:
        """False where it is only not known that nothing holds it."""
        return self.kind is not KeeperKind.BUDGETS_UNREAD


def keeper_words(one: Keeper) -> str:
    """What holds the node, as the second half of a sentence."""
    left = "" if one.left_seconds is None else f" for {_span(one.left_seconds)} more"
    return {
        KeeperKind.NODE_NOTE: f"annotation {one.name} on the node",
        KeeperKind.POD_NOTE: f"annotation {one.name} on pod {one.pod}{left}",
        KeeperKind.BUDGET: f"budget {one.name} lets no pod go, {one.pod} is one of its pods",
        KeeperKind.BUDGETS: f"pod {one.pod} is in several budgets ({one.name}), so it cannot be evicted",
        KeeperKind.BUDGETS_UNREAD: "not known: the disruption budgets of its pods are not read",
        KeeperKind.FIXED_SIZE: f"{one.name} has a set number of nodes, and only a lower one takes nodes away",
        KeeperKind.IN_USE: f"{one.name} gives up empty nodes only, and {counted(one.pods, 'pod')} "
        f"{'is' if one.pods == 1 else 'are'} on it",
        KeeperKind.POOL_BUDGET: f"the disruption budget of {one.name} lets no node go now",
        KeeperKind.NO_CONTROLLER: f"pod {one.pod} has no controller to recreate it",
        KeeperKind.LOCAL_FILES: f"pod {one.pod} keeps files on the node (emptyDir or hostPath)",
        KeeperKind.SYSTEM_POD: f"pod {one.pod} is of kube-system and has no disruption budget",
        KeeperKind.ROLLOUT: f"{one.name} is being rolled out, and no node of it is taken before that ends",
        KeeperKind.MINIMUM: f"group {one.name} is at its minimum",
        KeeperKind.OTHER: one.said,
    }[one.kind]


def held_lines(held: Mapping[str, Sequence[tuple[str, Keeper]]]) -> Iterator[str]:
    """For the page of a pool: which of its nodes are held, by name, with what their owners say."""
    sure = {name: one for name, found in held.items() if (one := next(_sure(found), None)) is not None}
    if sure:
        named = [f"{name} ({owner}: {keeper_words(one)})" for name, (owner, one) in sure.items()]
        more = f"; and {len(sure) - _MOST_NAMED} more" if len(sure) > _MOST_NAMED else ""
        yield f"not taken away: {'; '.join(named[:_MOST_NAMED])}{more}"
    unread = sum(bool(found) and name not in sure for name, found in held.items())
    if unread:
        yield f"disruption budgets are not read: whether one holds {counted(unread, 'node')} is not known"


def _sure(found: Iterable[tuple[str, Keeper]]) -> Iterator[tuple[str, Keeper]]:
    return (pair for pair in found if pair[1].is_sure)


def _span(seconds: float) -> str:
    minutes = math.ceil(seconds / 60.0)
    return f"{minutes} min" if minutes < 120 else f"{seconds / 3600.0:.3g} h"


def by_namespace(budgets: Iterable[Budget] | None) -> Budgets:
    """The same, found quickly."""
    if budgets is None:
        return None
    found: dict[str, list[Budget]] = defaultdict(list)
    for one in budgets:
        found[one.namespace].append(one)
    return found


def budgets_over(pod: Pod, budgets: Mapping[str, Sequence[Budget]]) -> list[Budget]:
    """Those that the pod is under."""
    labels = dict(pod.traits.labels)
    return [one for one in budgets.get(pod.namespace, ()) if selects(one.selector, labels)]


def keeping_budget(pod: Pod, budgets: Mapping[str, Sequence[Budget]]) -> Keeper | None:
    """Why the server would not let the pod be evicted now; None where it would."""
    over = budgets_over(pod, budgets)
    if len(over) > 1:
        names = ", ".join(sorted(f"{one.namespace}/{one.name}" for one in over))
        return Keeper(KeeperKind.BUDGETS, names, pod.key)
    for one in over:
        if one.allowed <= 0 and not (one.takes_unready and not pod.is_ready):
            return Keeper(KeeperKind.BUDGET, f"{one.namespace}/{one.name}", pod.key)
    return None
