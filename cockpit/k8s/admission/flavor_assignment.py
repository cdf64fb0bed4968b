"""Which flavor each pod set of a workload would take, and why not: the flavor assigner.

Resources are looked at in the order of their names (the original takes them as Go's map gives them). Not
modelled: topology-aware placement, partial admission, and the memory of which flavors were tried in an
earlier cycle. Source: kueue v0.15 to v0.19 pkg/scheduler/flavorassigner.
"""

from collections.abc import Callable, Mapping
from enum import IntEnum
from typing import NamedTuple

from cockpit.k8s.admission.admission_specs import (
    TRY_NEXT,
    FlavorSpec,
    PodSetRequests,
    QueueSpec,
    ResourceGroup,
    Tree,
    WorkloadInfo,
    text_of,
)
from cockpit.k8s.admission.quota_tree import Amounts, FlavorResource, QuotaNode, level_that_fits
from cockpit.k8s.node_affinity import required_terms_of
from cockpit.k8s.selectors import holds
from cockpit.k8s.tolerations import HARD, is_tolerated, taint_of, tolerations_of


class Mode(IntEnum):
    """How well a request fits, worst first; the middle ones need others to give way."""

    NO_FIT = 0
    NO_CANDIDATES = 1
    PREEMPT = 2
    RECLAIM = 3
    FIT = 4

    @property
    def word(self) -> str:
        """As events write it."""
        return {Mode.NO_FIT: "NoFit", Mode.FIT: "Fit"}.get(self, "Preempt")

    @property
    def needs_room(self) -> bool:
        """True when others would have to give way."""
        return self not in (Mode.NO_FIT, Mode.FIT)


class ChosenFlavor(NamedTuple):
    """The flavor of one resource."""

    flavor: str
    mode: Mode
    borrow: int


class FlavorAttempt(NamedTuple):
    """One flavor that was looked at."""

    flavor: str
    mode: Mode
    borrow: int
    reasons: tuple[str, ...]


class PodSetChoice(NamedTuple):
    """What one pod set would get. Without flavors it fits nowhere; without reasons it fits now."""

    name: str
    pods: int
    requests: Mapping[str, int]
    flavors: Mapping[str, ChosenFlavor]
    reasons: tuple[str, ...]
    attempts: tuple[FlavorAttempt, ...]

    @property
    def mode(self) -> Mode:
        """The worst of its resources."""
        if not self.reasons:
            return Mode.FIT
        return min((flavor.mode for flavor in self.flavors.values()), default=Mode.NO_FIT)


class FlavorAssignment(NamedTuple):
    """What a whole workload would get."""

    pod_sets: tuple[PodSetChoice, ...]
    usage: Mapping[FlavorResource, int]
    borrow: int

    @property
    def mode(self) -> Mode:
        """The worst of its pod sets; the middle ones are all PREEMPT."""
        worst = min((part.mode for part in self.pod_sets), default=Mode.NO_FIT)
        return Mode.PREEMPT if worst.needs_room else worst

    @property
    def message(self) -> str:
        """Why it does not fit now, in the words of its condition."""
        return "; ".join(
            f"couldn't assign flavors to pod set {part.name}: " + ", ".join(sorted(part.reasons))
            for part in self.pod_sets
            if part.reasons
        )

    @property
    def considered(self) -> str:
        """The flavors that were looked at, as the event QuotaReserved lists them; "" when all simply fit."""
        parts = []
        for part in self.pod_sets:
            texts = [
                _attempt_text(attempt)
                for attempt in part.attempts
                if attempt.mode is not Mode.FIT or attempt.borrow
            ]
            if texts:
                parts.append(f"{part.name}: {', '.join(texts)}")
        return " | ".join(parts)

    @property
    def short(self) -> frozenset[FlavorResource]:
        """What others would have to give back."""
        return frozenset(
            (one.flavor, resource)
            for part in self.pod_sets
            for resource, one in part.flavors.items()
            if one.mode.needs_room
        )


def _attempt_text(one: FlavorAttempt) -> str:
    borrow = f";borrow={one.borrow}" if one.borrow else ""
    reasons = f";{';'.join(one.reasons)}" if one.reasons else ""
    return f"{one.flavor}({one.mode.word}{borrow}{reasons})"


Oracle = Callable[[FlavorResource, int], tuple[Mode, int]]
"""Would preemption give room for so much: NO_CANDIDATES, PREEMPT or RECLAIM, and how far it then borrows."""


class Assigner:
    """Assigns flavors to one workload in one queue."""

    def __init__(
        self, spec: QueueSpec, node: QuotaNode, flavors: Mapping[str, FlavorSpec], oracle: Oracle
    ) -> None:
        self._spec = spec
        self._node = node
        self._flavors = flavors
        self._oracle = oracle

    def assign(self, workload: WorkloadInfo) -> FlavorAssignment:
        """Flavors for every pod set, up to the first that fits nowhere."""
        usage: Amounts = {}
        done: list[PodSetChoice] = []
        borrow = 0
        for part in workload.pod_sets:
            requests = dict(part.requests)
            if self._spec.group_of("pods") is not None:
                requests["pods"] = part.count
            choice = self._pod_set(part, requests, usage)
            done.append(choice)
            for resource, one in choice.flavors.items():
                borrow = max(borrow, one.borrow)
                key = (one.flavor, resource)
                usage[key] = usage.get(key, 0) + requests[resource]
            if requests and not choice.flavors:
                break
        return FlavorAssignment(tuple(done), usage, borrow)

    def _pod_set(self, part: PodSetRequests, requests: dict[str, int], usage: Amounts) -> PodSetChoice:
        chosen: dict[str, ChosenFlavor] = {}
        reasons: list[str] = []
        attempts: list[FlavorAttempt] = []
        for resource in sorted(requests):
            if resource in chosen:
                continue
            group = self._spec.group_of(resource)
            if group is None:
                chosen, reasons = {}, [f"resource {resource} unavailable in ClusterQueue"]
                break
            found, why = self._group(part, requests, group, usage, attempts)
            if not found:
                chosen, reasons = {}, why
                break
            chosen.update(found)
            reasons.extend(why)
        return PodSetChoice(part.name, part.count, requests, chosen, tuple(reasons), tuple(attempts))

    def _group(
        self,
        part: PodSetRequests,
        requests: dict[str, int],
        group: ResourceGroup,
        usage: Amounts,
        attempts: list[FlavorAttempt],
    ) -> tuple[dict[str, ChosenFlavor], list[str]]:
        """The best flavor of one group: its choice for each resource, and reasons unless it fits now."""
        wanted = {name: requests[name] for name in sorted(requests) if name in group.resources}
        known = (self._flavors[name] for name in group.flavors if name in self._flavors)
        keys = frozenset(key for flavor in known for key in flavor.labels)
        best: dict[str, ChosenFlavor] = {}
        best_mode, best_borrow = Mode.NO_FIT, 1 << 30
        reasons: list[str] = []
        for name in group.flavors:
            if (why := self._barred(name, part, keys)) is not None:
                reasons.append(why)
                attempts.append(FlavorAttempt(name, Mode.NO_FIT, 0, (why,)))
                continue
            found, mode, level, most_borrow, why_not = self._flavor(name, wanted, usage)
            reasons.extend(why_not)
            attempts.append(FlavorAttempt(name, mode, most_borrow, tuple(why_not)))
            if not self._try_next(mode, level):
                best, best_mode = found, mode
                break
            if self._preferred(mode, level, best_mode, best_borrow):
                best, best_mode, best_borrow = found, mode, level
        return best, [] if best_mode is Mode.FIT else reasons

    def _barred(self, name: str, part: PodSetRequests, keys: frozenset[str]) -> str | None:
        flavor = self._flavors.get(name)
        if flavor is None:
            return f"flavor {name} not found"
        taint = untolerated(flavor, part.pod_spec)
        if taint is not None:
            return f"untolerated taint {taint_text(taint)} in flavor {name}"
        if not affinity_matches(part.pod_spec, keys, flavor.labels):
            return f"flavor {name} doesn't match node affinity"
        return None

    def _flavor(
        self, name: str, wanted: Mapping[str, int], usage: Amounts
    ) -> tuple[dict[str, ChosenFlavor], Mode, int, int, list[str]]:
        """One flavor for all resources: choices, the worst mode, its level, the most borrowed, reasons."""
        mode, level, most = Mode.FIT, 0, 0
        chosen: dict[str, ChosenFlavor] = {}
        reasons: list[str] = []
        for resource, amount in wanted.items():
            one, borrow, why = self._amount((name, resource), usage.get((name, resource), 0), amount)
            if why:
                reasons.append(why)
            most = max(most, borrow)
            if self._preferred(mode, level, one, borrow):
                mode, level = one, borrow
            if mode is Mode.NO_FIT:
                break
            chosen[resource] = ChosenFlavor(name, one, borrow)
        return chosen, mode, level, most, reasons

    def _amount(self, key: FlavorResource, before: int, amount: int) -> tuple[Mode, int, str]:
        flavor, resource = key
        total, capacity = before + amount, self._node.capacity(key)
        if total > capacity:
            return (
                Mode.NO_FIT,
                0,
                f"insufficient quota for {resource} in flavor {flavor}, previously considered podsets "
                f"requests ({text_of(resource, before)}) + current podset request "
                f"({text_of(resource, amount)}) > maximum capacity ({text_of(resource, capacity)})",
            )
        borrow, may_reclaim = level_that_fits(self._node, key, total)
        free = max(0, self._node.free(key))
        if total <= free:
            return Mode.FIT, borrow, ""
        missing = text_of(resource, total - free)
        why = f"insufficient unused quota for {resource} in flavor {flavor}, {missing} more needed"
        if total <= self._node.nominal(key) or may_reclaim or self._spec.borrow_policy != "Never":
            mode, borrow = self._oracle(key, total)
            return mode, borrow, why
        return Mode.NO_FIT, borrow, why

    def _try_next(self, mode: Mode, level: int) -> bool:
        if mode in (Mode.NO_FIT, Mode.NO_CANDIDATES):
            return True
        if mode is not Mode.FIT and self._spec.when_can_preempt == TRY_NEXT:
            return True
        return level > 0 and self._spec.when_can_borrow == TRY_NEXT

    def _preferred(self, mode: Mode, level: int, other: Mode, other_level: int) -> bool:
        """True when the first is better than the second (Source: kueue isPreferred)."""
        if mode is Mode.NO_FIT:
            return False
        if other is Mode.NO_FIT:
            return True
        by_level = (level != other_level, level < other_level)
        by_mode = (mode != other, mode > other)
        first, second = by_mode, by_level
        if self._spec.preference == "BorrowingOverPreemption":
            first, second = by_level, by_mode
        return first[1] if first[0] else second[1]


# ---- matching


def untolerated(flavor: FlavorSpec, pod_spec: Tree) -> Tree | None:
    """The first taint of the flavor that keeps these pods away."""
    tolerations = tolerations_of([*(pod_spec.get("tolerations") or ()), *flavor.tolerations])
    for taint in flavor.taints:
        if taint.get("effect") in HARD and not is_tolerated(taint_of(taint), tolerations):
            return taint
    return None


def taint_text(taint: Tree) -> str:
    """A taint as Go prints core/v1 Taint: `{key value effect <nil>}`."""
    added = taint.get("timeAdded") or "<nil>"
    return f"{{{taint.get('key', '')} {taint.get('value', '')} {taint.get('effect', '')} {added}}}"


def affinity_matches(pod_spec: Tree, keys: frozenset[str], labels: Mapping[str, str]) -> bool:
    """True when the pods' node selector and required node affinity allow nodes with these labels."""
    for key, value in (pod_spec.get("nodeSelector") or {}).items():
        if key in keys and labels.get(key) != value:
            return False
    kept = []
    for term in required_terms_of(pod_spec) or ():
        wanted = [item for item in term.expressions if item.key in keys]
        if not wanted:  # terms are alternatives: one that says nothing here lets every flavor in
            return True
        kept.append(wanted)
    return not kept or any(all(holds(item, labels) for item in term) for term in kept)
