"""Preemption as DefaultPreemption does it: which node, which victims, and what to say when it helps nowhere.

Source: kubernetes 1.36 pkg/scheduler/framework/preemption and plugins/defaultpreemption. Budgets are kept
where another choice exists; at least 100 candidates (or a tenth of the nodes) are tried from a random start.
"""

from random import Random
from typing import NamedTuple

from cockpit.k8s.selectors import LabelSelector, selector_of
from cockpit.sim.actors.scheduler.cache import SchedulerCache
from cockpit.sim.actors.scheduler.filters import SchedulingAttempt
from cockpit.sim.actors.scheduler.nodeinfo import NodeInfo
from cockpit.sim.actors.scheduler.podinfo import PodInfo
from cockpit.sim.actors.scheduler.verdict import (
    NEVER_PREEMPTS,
    NO_VICTIMS,
    NOT_HELPFUL,
    VICTIM_LEAVES,
    Code,
    Status,
    histogram,
    none_of,
)

_LEAST_CANDIDATES = 100
_PRIORITY_OFFSET = 2**31


class PreemptionCandidate(NamedTuple):
    """A node that would do once `victims` (most important first) are gone."""

    node: str
    victims: list[PodInfo]
    violations: int


def preempt(attempt: SchedulingAttempt, random: Random) -> tuple[str, str | None, tuple[str, ...]]:
    """What DefaultPreemption says ("" on success), the node to be emptied, and the victims' uids."""
    pod, cache = attempt.pod, attempt.cache
    if reason := _not_eligible(attempt):
        return f"preemption: {reason}", None, ()
    potential = [name for name, status in attempt.failed.items() if status.code is Code.UNSCHEDULABLE]
    refused: dict[Status, int] = {}
    candidates: list[PreemptionCandidate] = []
    if potential:
        wanted = min(len(potential), max(_LEAST_CANDIDATES, len(potential) // 10))
        start = random.randrange(len(potential))
        harmless = 0
        for name in potential[start:] + potential[:start]:
            found = _select_victims(attempt, cache.nodes[name])
            if isinstance(found, PreemptionCandidate):
                candidates.append(found)
                harmless += not found.violations
                if harmless and len(candidates) >= wanted:
                    break
            else:
                refused[found] = refused.get(found, 0) + 1
    if not candidates:
        cache.nominate(pod, "")
        absent = len(cache.nodes) - sum(refused.values())
        return f"preemption: {none_of(len(cache.nodes), histogram(refused, absent, NOT_HELPFUL))}", "", ()
    chosen = min(candidates, key=_cost)
    doomed = tuple(p.uid for p in chosen.victims)
    cache.nominate(pod, chosen.node)
    return "", chosen.node, doomed


def _not_eligible(attempt: SchedulingAttempt) -> str:
    pod = attempt.pod
    if pod.never_preempts:
        return NEVER_PREEMPTS
    node = attempt.cache.nodes.get(pod.nominated)
    if node is None:
        return ""
    status = attempt.failed.get(pod.nominated)
    if status is not None and status.code is Code.UNRESOLVABLE:
        return ""
    leaving = (p for p in node.pods.values() if p.priority < pod.priority and _leaves_for_other(p))
    return VICTIM_LEAVES if any(leaving) else ""


def _leaves_for_other(pod: PodInfo) -> bool:
    if not pod.is_leaving:
        return False
    conditions = (pod.tree.get("status") or {}).get("conditions") or ()
    return any(
        c.get("type") == "DisruptionTarget"
        and c.get("status") == "True"
        and c.get("reason") == "PreemptionByScheduler"
        for c in conditions
    )


def _select_victims(attempt: SchedulingAttempt, node: NodeInfo) -> PreemptionCandidate | Status:
    """The fewest least important pods whose end makes room on `node`, or why that does not help."""
    pod = attempt.pod
    if not node.has_below(pod.priority):
        return NO_VICTIMS
    trial, around = node.copy(), attempt.around.copy()
    lower = [other for other in node.pods.values() if other.priority < pod.priority]
    for other in lower:
        trial.remove(other.uid)
        around.count(other, node, -1)
    if status := attempt.look_with_nominated(trial, around):
        return status
    lower.sort(key=lambda other: (-other.priority, other.started))
    guarded, free = _by_budget(lower, attempt.cache)
    victims: list[PodInfo] = []
    violations = 0
    for index, other in enumerate([*guarded, *free]):
        trial.add(other)
        around.count(other, node, 1)
        if attempt.look_with_nominated(trial, around):
            trial.remove(other.uid)
            around.count(other, node, -1)
            victims.append(other)
            violations += index < len(guarded)
    victims.sort(key=lambda other: (-other.priority, other.started))
    return PreemptionCandidate(node.name, victims, violations)


def _by_budget(pods: list[PodInfo], cache: SchedulerCache) -> tuple[list[PodInfo], list[PodInfo]]:
    """Pods whose end would break a disruption budget, and the others."""
    budgets = list(cache.budgets.values())
    left = [(budget.get("status") or {}).get("disruptionsAllowed", 0) for budget in budgets]
    selectors = [LabelSelector(selector_of((budget.get("spec") or {}).get("selector"))) for budget in budgets]
    guarded: list[PodInfo] = []
    free: list[PodInfo] = []
    for pod in pods:
        is_guarded = False
        for index, budget in enumerate(budgets):
            if budget["metadata"].get("namespace") != pod.namespace or not pod.labels:
                continue
            selector = selectors[index]
            if selector.is_empty or not selector.matches(pod.labels):
                continue
            if pod.name in ((budget.get("status") or {}).get("disruptedPods") or {}):
                continue
            left[index] -= 1
            is_guarded = is_guarded or left[index] < 0
        (guarded if is_guarded else free).append(pod)
    return guarded, free


def _cost(candidate: PreemptionCandidate) -> tuple[int, int, int, int, float]:
    """Fewest broken budgets, lowest top priority, lowest sum, fewest victims, the youngest oldest victim."""
    victims = candidate.victims
    top = victims[0].priority
    earliest = min(pod.started for pod in victims if pod.priority == top)
    return (
        candidate.violations,
        top,
        sum(pod.priority + _PRIORITY_OFFSET for pod in victims),
        len(victims),
        -earliest,
    )
