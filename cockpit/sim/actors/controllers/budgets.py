"""PodDisruptionBudgets: what may go (component `controllermanager`, pkg/controller/disruption)."""

from collections.abc import Iterable
from typing import Any

from cockpit.k8s.selectors import selector_of, selects
from cockpit.kube.resource import JOBS, PODS
from cockpit.sim.actors.controllers.controller import Controller
from cockpit.sim.actors.controllers.replica_sets import replicas_of
from cockpit.sim.actors.controllers.templates import scaled
from cockpit.sim.actors.controllers.trees import (
    controller_of,
    is_condition,
    is_deleting,
    is_ready,
    key_of,
    phase_of,
)
from cockpit.sim.engine import Key
from cockpit.sim.port import ChangeType, ObjectChange, Tree
from cockpit.sim.resources import BUDGETS, DEPLOYMENTS, REPLICA_SETS, STATEFUL_SETS
from cockpit.sim.times import rfc3339, seconds_of

_DELETION_SECONDS = 120.0
_UNMANAGED = (
    "Pods selected by this PodDisruptionBudget (selector: {selector}) were found to be unmanaged. As a "
    "result, the status of the PDB cannot be calculated correctly, which may result in undefined behavior. "
    'To account for these pods please set ".spec.minAvailable" field of the PDB to an integer value.'
)
_Pods = dict[tuple[str, str], Tree]


class Budgets(Controller):
    """Keeps the status of each budget; evictions count it down between two rounds.

    Unlike the real one, which keeps only one of several budgets for one pod up to date (and tells so as
    MultiplePodDisruptionBudgets), all are kept.
    """

    name = "controllermanager"
    watches = (BUDGETS, REPLICA_SETS, DEPLOYMENTS, STATEFUL_SETS, PODS)

    def __init__(self) -> None:
        super().__init__()
        self._pods: dict[tuple[str, str], _Pods] = {}
        """Budget -> the pods that it selects."""
        self._by_namespace: dict[str, dict[tuple[str, str], None]] = {}

    def wake(self, change: ObjectChange, before: Tree | None) -> Iterable[Key]:
        key = key_of(change.tree)
        if change.resource == PODS:
            for budget in self._by_namespace.get(key[0], {}):
                if self._put(budget, change):
                    yield budget
        elif change.resource == BUDGETS:
            if change.type is ChangeType.DELETED:
                self._pods.pop(key, None)
                self._by_namespace.get(key[0], {}).pop(key, None)
                return
            self._by_namespace.setdefault(key[0], {})[key] = None
            if before is None or before["spec"].get("selector") != change.tree["spec"].get("selector"):
                self._pods.pop(key, None)
            yield key
        elif before is None or replicas_of(before) != replicas_of(change.tree):
            yield from self._by_namespace.get(key[0], {})

    def _put(self, budget: tuple[str, str], change: ObjectChange) -> bool:
        """Apply a pod's change to what a budget selects; True when that matters to it."""
        held = self._pods.get(budget)
        if held is None:
            return True
        tree, key = self.engine.cache(BUDGETS).get(*budget), key_of(change.tree)
        was = held.pop(key, None)
        if tree is not None and change.type is not ChangeType.DELETED and _selects(tree, change.tree):
            held[key] = change.tree
            return was is None or _matters(was) != _matters(change.tree)
        return was is not None

    async def reconcile(self, key: Key) -> None:
        budget = self.engine.cache(BUDGETS).get(*key)
        if budget is None:
            return
        where = key_of(budget)
        if where not in self._pods:
            self._pods[where] = {key_of(pod): pod for pod in self.engine.cache(PODS) if _selects(budget, pod)}
        pods = list(self._pods[where].values())
        if not pods:
            await self.normal(budget, "NoPods", "No matching pods found")
        try:
            expected, desired = await self._expected(budget, pods)
        except ValueError as error:
            message = f"Failed to calculate the number of expected pods: {error}"
            await self.warning(budget, "CalculateExpectedPodCountFailed", message)
            await self._fail_safe(budget, str(error))
            return
        disrupted = await self._disrupted(budget, pods)
        healthy = sum(
            is_ready(pod) and not is_deleting(pod) and pod["metadata"]["name"] not in disrupted
            for pod in pods
        )
        allowed = max(0, healthy - desired) if expected > 0 else 0
        await self._write(budget, allowed, disrupted, healthy=healthy, desired=desired, expected=expected)

    async def _expected(self, budget: Tree, pods: list[Tree]) -> tuple[int, int]:
        """(expected pods, desired healthy ones). Raises ValueError where a pod's controller has no scale."""
        spec = budget["spec"]
        minimum, maximum = spec.get("minAvailable"), spec.get("maxUnavailable")
        if maximum is None and isinstance(minimum, int):
            return (len(pods), minimum)
        expected = await self._scales(budget, pods)
        if maximum is not None:
            return (expected, max(0, expected - scaled(maximum, expected, rounds_up=True)))
        return (expected, scaled(minimum, expected, rounds_up=True) if minimum is not None else 0)

    async def _scales(self, budget: Tree, pods: list[Tree]) -> int:
        scales: dict[str, int] = {}
        is_unmanaged = False
        for pod in pods:
            owner = controller_of(pod)
            if owner is None:
                is_unmanaged = True
                continue
            if owner["uid"] in scales:
                continue
            scales |= self._scale_of(pod, owner)
        if is_unmanaged:
            message = _UNMANAGED.format(selector=budget["spec"].get("selector"))
            await self.warning(budget, "UnmanagedPods", message)
        return sum(scales.values())

    def _scale_of(self, pod: Tree, owner: Tree) -> dict[str, int]:
        """What the pod's ReplicaSet or StatefulSet wants, or the Deployment above it."""
        namespace = pod["metadata"]["namespace"]
        if owner["kind"] == "ReplicaSet":
            tree = self.engine.cache(REPLICA_SETS).get(namespace, owner["name"])
            above = controller_of(tree) if tree is not None else None
            if tree is not None and above is not None and above["kind"] == "Deployment":
                deployment = self.engine.cache(DEPLOYMENTS).get(namespace, above["name"])
                if deployment is not None:
                    return {owner["uid"]: 0, above["uid"]: replicas_of(deployment)}
            if tree is not None:
                return {owner["uid"]: replicas_of(tree)}
        if owner["kind"] == "StatefulSet":
            tree = self.engine.cache(STATEFUL_SETS).get(namespace, owner["name"])
            if tree is not None:
                return {owner["uid"]: replicas_of(tree)}
        label = {"Job": JOBS.label, "DaemonSet": "daemonsets.apps", "MPIJob": "mpijobs.kubeflow.org"}
        if owner["kind"] in label:
            raise ValueError(f"{label[owner['kind']]} does not implement the scale subresource")
        raise ValueError(f'found no controllers for pod "{pod["metadata"]["name"]}"')

    async def _disrupted(self, budget: Tree, pods: list[Tree]) -> dict[str, str]:
        """Pods that were evicted and are still there, for two minutes at most."""
        held: dict[str, str] = budget.get("status", {}).get("disruptedPods") or {}
        now = self.engine.now()
        left: dict[str, str] = {}
        for pod in pods:
            name = pod["metadata"]["name"]
            if name not in held or is_deleting(pod):
                continue
            wait = seconds_of(held[name]) + _DELETION_SECONDS - now
            if wait < 0:
                namespace = budget["metadata"]["namespace"]
                message = f"Pod was expected by PDB {namespace}/{namespace} to be deleted but it wasn't"
                await self.warning(pod, "NotDeleted", message)
                continue
            left[name] = held[name]
            self.engine.after(wait + 0.001, self, key_of(budget))
        return left

    async def _write(
        self,
        budget: Tree,
        allowed: int,
        disrupted: dict[str, str],
        *,
        healthy: int,
        desired: int,
        expected: int,
    ) -> None:
        generation = budget["metadata"].get("generation", 0)
        status: Tree = {
            "currentHealthy": healthy,
            "desiredHealthy": desired,
            "disruptionsAllowed": allowed,
            "expectedPods": expected,
            "observedGeneration": generation,
        }
        if disrupted:
            status["disruptedPods"] = disrupted
        reason = "SufficientPods" if allowed else "InsufficientPods"
        status["conditions"] = self._conditions(budget, bool(allowed), reason, "", generation)
        await self.write_status(BUDGETS, budget, status)

    async def _fail_safe(self, budget: Tree, message: str) -> None:
        """What cannot be counted allows nothing."""
        status: dict[str, Any] = {**(budget.get("status") or {}), "disruptionsAllowed": 0}
        for name in ("currentHealthy", "desiredHealthy", "expectedPods"):
            status.setdefault(name, 0)
        generation = status.get("observedGeneration", 0)
        status["conditions"] = self._conditions(budget, False, "SyncFailed", message, generation)
        await self.write_status(BUDGETS, budget, status)

    def _conditions(
        self, budget: Tree, is_allowed: bool, reason: str, message: str, generation: int
    ) -> list[Tree]:
        fresh = {
            "type": "DisruptionAllowed",
            "status": str(is_allowed),
            "reason": reason,
            "message": message,
            "lastTransitionTime": rfc3339(self.engine.now()),
            **({"observedGeneration": generation} if generation else {}),
        }
        found: list[Tree] = []
        for held in budget.get("status", {}).get("conditions") or ():
            if held["type"] != fresh["type"]:
                found.append(held)
            elif held["status"] == fresh["status"]:
                fresh["lastTransitionTime"] = held["lastTransitionTime"]
        return [*found, fresh]


def _selects(budget: Tree, pod: Tree) -> bool:
    metadata = pod["metadata"]
    return metadata["namespace"] == budget["metadata"]["namespace"] and selects(
        selector_of(budget["spec"].get("selector")), metadata.get("labels") or {}
    )


def _matters(pod: Tree) -> object:
    return (is_ready(pod), is_deleting(pod), phase_of(pod), is_condition(pod, "DisruptionTarget"))
