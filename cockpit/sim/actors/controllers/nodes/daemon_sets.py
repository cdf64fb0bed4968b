"""The DaemonSet controller (component `daemonset-controller`; pkg/controller/daemon).

Not modelled: updates (pods of an earlier template stay, as with OnDelete), adoption of pods without an owner.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from cockpit.k8s import labels as well_known
from cockpit.k8s.node_affinity import REQUIRED, node_matches
from cockpit.k8s.tolerations import taint_of, tolerations_of, untolerated
from cockpit.kube.resource import NODES, PODS
from cockpit.sim.actors.controllers.children import Children
from cockpit.sim.actors.controllers.controller import Controller, pod_of_template
from cockpit.sim.actors.controllers.nodes.taints import taints_of
from cockpit.sim.actors.controllers.replica_sets import is_available
from cockpit.sim.actors.controllers.templates import template_hash
from cockpit.sim.actors.controllers.trees import (
    controller_reference,
    created_seconds,
    is_deleting,
    is_ready,
    key_of,
    phase_of,
    uid_of,
    without_empty,
)
from cockpit.sim.engine import Key
from cockpit.sim.port import ChangeType, ObjectChange, PortError, Tree
from cockpit.sim.resources import CONTROLLER_REVISIONS, DAEMON_SETS

HASH_LABEL = "controller-revision-hash"
_GENERATION_LABEL = "pod-template-generation"
_GENERATION_KEY = "deprecated.daemonset.template.generation"
_MOST_PER_ROUND = 250
_BATCH_SECONDS = 0.5
_FIRST_BACKOFF_SECONDS = 1.0
_LAST_BACKOFF_SECONDS = 900.0

_TOLERATIONS: tuple[Tree, ...] = (
    {"key": well_known.NOT_READY, "operator": "Exists", "effect": "NoExecute"},
    {"key": well_known.UNREACHABLE, "operator": "Exists", "effect": "NoExecute"},
    {"key": well_known.DISK_PRESSURE, "operator": "Exists", "effect": "NoSchedule"},
    {"key": well_known.MEMORY_PRESSURE, "operator": "Exists", "effect": "NoSchedule"},
    {"key": well_known.PID_PRESSURE, "operator": "Exists", "effect": "NoSchedule"},
    {"key": well_known.UNSCHEDULABLE, "operator": "Exists", "effect": "NoSchedule"},
)
_HOST_NETWORK: Tree = {
    "key": well_known.NETWORK_UNAVAILABLE,
    "operator": "Exists",
    "effect": "NoSchedule",
}


@dataclass(slots=True)
class _Round:
    """One look at a DaemonSet: its nodes, its pods by node, its template's hash.

    `runs` has for each node: does a new pod belong there, may one stay.
    """

    tree: Tree
    nodes: list[Tree]
    runs: dict[str, tuple[bool, bool]]
    pods: dict[str, list[Tree]]
    digest: str
    now: float

    @property
    def minimum_seconds(self) -> float:
        return float(self.tree["spec"].get("minReadySeconds", 0))


class DaemonSets(Controller):
    """One pod on every node that the DaemonSet's template may run on."""

    name = "daemonset-controller"
    watches = (DAEMON_SETS, NODES, PODS)

    def __init__(self) -> None:
        super().__init__()
        self._pods = Children(("DaemonSet",))
        self._failures: dict[tuple[str, str], tuple[float, float]] = {}
        """(uid of the set, node) -> (when a failed pod was last deleted, how long to wait then)."""
        self._revisions: dict[str, str] = {}

    def wake(self, change: ObjectChange, before: Tree | None) -> Iterable[Key]:
        if change.resource == DAEMON_SETS:
            yield key_of(change.tree)
            if change.type is ChangeType.DELETED:
                uid = uid_of(change.tree)
                self._failures = {key: held for key, held in self._failures.items() if key[0] != uid}
                self._revisions.pop(uid, None)
        elif change.resource == PODS:
            owner = self._pods.take(change)
            if owner is not None:
                # One look at all nodes for all pods that changed within a moment.
                self.engine.after(_BATCH_SECONDS, self, (change.tree["metadata"]["namespace"], owner["name"]))
        elif before is None or change.type is ChangeType.DELETED or _placing(before) != _placing(change.tree):
            for tree in self.engine.cache(DAEMON_SETS):
                yield key_of(tree)

    async def reconcile(self, key: Key) -> None:
        tree = self.engine.cache(DAEMON_SETS).get(*key)
        if tree is None:
            return
        if not any((tree["spec"].get("selector") or {}).values()):
            message = "This daemon set is selecting all pods. A non-empty selector is required."
            await self.warning(tree, "SelectingAll", message)
            return
        if is_deleting(tree):
            return
        digest = template_hash(tree["spec"]["template"])
        await self._ensure_revision(tree, digest)
        turn = self._look(tree, digest)
        if await self._place(turn):
            turn = self._look(tree, digest)
        status = _status_of(turn)
        await self.write_status(DAEMON_SETS, tree, status)
        if turn.minimum_seconds and status["numberReady"] != status.get("numberAvailable", 0):
            self.engine.after(turn.minimum_seconds, self, key)

    def _look(self, tree: Tree, digest: str) -> _Round:
        pods: dict[str, list[Tree]] = {}
        for pod in self._pods.of(tree):
            pods.setdefault(_node_of(pod), []).append(pod)
        nodes = sorted(self.engine.cache(NODES), key=lambda node: str(node["metadata"]["name"]))
        runs = {node["metadata"]["name"]: should_run_on(tree, node) for node in nodes}
        return _Round(tree, nodes, runs, pods, digest, self.engine.now())

    async def _ensure_revision(self, tree: Tree, digest: str) -> None:
        """The template of the present is kept as a ControllerRevision, as `kubectl rollout` expects it."""
        namespace, name = key_of(tree)
        if self._revisions.get(uid_of(tree)) == digest:
            return
        template = {**tree["spec"]["template"], "$patch": "replace"}
        generation = (tree["metadata"].get("annotations") or {}).get(_GENERATION_KEY, "1")
        labels = {**(tree["spec"]["template"].get("metadata", {}).get("labels") or {}), HASH_LABEL: digest}
        revision: Tree = {
            "apiVersion": "apps/v1",
            "kind": "ControllerRevision",
            "metadata": {
                "name": f"{name}-{digest}",
                "namespace": namespace,
                "labels": labels,
                "annotations": {_GENERATION_KEY: generation},
                "ownerReferences": [controller_reference(tree)],
            },
            "data": {"spec": {"template": template}},
            "revision": tree["metadata"].get("generation", 1),
        }
        try:
            await self.engine.port.create(CONTROLLER_REVISIONS, revision, namespace)
        except PortError as error:
            if error.reason != "AlreadyExists":
                raise
        self._revisions[uid_of(tree)] = digest

    async def _place(self, turn: _Round) -> bool:
        """Missing pods are made, surplus ones deleted; True when there were any."""
        missing: list[str] = []
        surplus: list[Tree] = []
        for node in turn.nodes:
            name = node["metadata"]["name"]
            should_run, may_stay = turn.runs[name]
            held = turn.pods.get(name, [])
            if should_run and not held:
                missing.append(name)
            elif may_stay:
                surplus += await self._surplus_on(turn, name, held)
            else:
                surplus += [pod for pod in held if not is_deleting(pod)]
        for pod in surplus[:_MOST_PER_ROUND]:
            await self.delete_pod(turn.tree, pod)
        for name in missing[:_MOST_PER_ROUND]:
            await self.create_pod(turn.tree, _daemon_pod(turn.tree, turn.digest, name), self._pods)
        if len(missing) > _MOST_PER_ROUND or len(surplus) > _MOST_PER_ROUND:
            self.engine.after(_BATCH_SECONDS, self, key_of(turn.tree))
        return bool(missing or surplus)

    async def _surplus_on(self, turn: _Round, node: str, pods: list[Tree]) -> list[Tree]:
        """Ended pods (failed ones ever more slowly) and all but the oldest of those that run."""
        running: list[Tree] = []
        surplus: list[Tree] = []
        for pod in pods:
            if is_deleting(pod):
                continue
            where = f"{'/'.join(key_of(pod))} on node {node}"
            if phase_of(pod) == "Failed":
                if not self._may_replace(turn, node):
                    continue
                message = f"Found failed daemon pod {where}, will try to kill it"
                await self.warning(turn.tree, "FailedDaemonPod", message)
                surplus.append(pod)
            elif phase_of(pod) == "Succeeded":
                message = f"Found succeeded daemon pod {where}, will try to delete it"
                await self.normal(turn.tree, "SucceededDaemonPod", message)
                surplus.append(pod)
            else:
                running.append(pod)
        running.sort(key=_oldest_first)
        return surplus + running[1:]

    def _may_replace(self, turn: _Round, node: str) -> bool:
        key = (uid_of(turn.tree), node)
        last, wait = self._failures.get(key, (turn.now - _LAST_BACKOFF_SECONDS, 0.0))
        left = last + wait - turn.now
        if left > 0:
            self.engine.after(left, self, key_of(turn.tree))
            return False
        grown = min(_LAST_BACKOFF_SECONDS, max(_FIRST_BACKOFF_SECONDS, wait * 2))
        self._failures[key] = (turn.now, grown)
        return True


def should_run_on(tree: Tree, node: Tree) -> tuple[bool, bool]:
    """(a new pod belongs on the node, a pod that is there may stay)."""
    spec = tree["spec"]["template"].get("spec") or {}
    metadata = node["metadata"]
    name = metadata["name"]
    if spec.get("nodeName", name) != name or not node_matches(spec, name, metadata.get("labels") or {}):
        return (False, False)
    tolerations = tolerations_of(_tolerations(spec))
    taints = [taint_of(one) for one in taints_of(node)]
    if untolerated(taints, tolerations):
        return (False, not untolerated(taints, tolerations, ("NoExecute",)))
    return (True, True)


def _tolerations(spec: Tree) -> list[Tree]:
    added = [*_TOLERATIONS, *([_HOST_NETWORK] if spec.get("hostNetwork") else [])]
    held = list(spec.get("tolerations") or ())
    return [*held, *(dict(toleration) for toleration in added if toleration not in held)]


def _daemon_pod(tree: Tree, digest: str, node: str) -> Tree:
    """A pod that only one node can take: by an affinity to the node's name, for the scheduler to bind."""
    pod = pod_of_template(tree, tree["spec"]["template"])
    generation = (tree["metadata"].get("annotations") or {}).get(_GENERATION_KEY, "1")
    pod["metadata"].setdefault("labels", {}).update({HASH_LABEL: digest, _GENERATION_LABEL: generation})
    spec = pod["spec"]
    spec["tolerations"] = _tolerations(spec)
    affinity = dict(spec.get("affinity") or {})
    node_affinity = dict(affinity.get("nodeAffinity") or {})
    only = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
    required = node_affinity.get(REQUIRED) or {}
    terms = [{**term, **only} for term in required.get("nodeSelectorTerms") or ()] or [only]
    node_affinity[REQUIRED] = {"nodeSelectorTerms": terms}
    spec["affinity"] = {**affinity, "nodeAffinity": node_affinity}
    return pod


def _node_of(pod: Tree) -> str:
    """The node a pod is on, or is meant for."""
    if pod["spec"].get("nodeName"):
        return str(pod["spec"]["nodeName"])
    affinity = ((pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}).get(REQUIRED) or {}
    for term in affinity.get("nodeSelectorTerms") or ():
        for field in term.get("matchFields") or ():
            if field["key"] == "metadata.name" and field["operator"] == "In" and field["values"]:
                return str(field["values"][0])
    return ""


def _oldest_first(pod: Tree) -> tuple[bool, float, str]:
    return (not pod["spec"].get("nodeName"), created_seconds(pod), pod["metadata"]["name"])


def _is_updated(turn: _Round, pod: Tree) -> bool:
    return (pod["metadata"].get("labels") or {}).get(HASH_LABEL) == turn.digest


def _status_of(turn: _Round) -> Tree:
    wanted = placed = misplaced = ready = updated = available = 0
    for node in turn.nodes:
        pods = sorted(turn.pods.get(node["metadata"]["name"], []), key=_oldest_first)
        if not turn.runs[node["metadata"]["name"]][0]:
            misplaced += bool(pods)
            continue
        wanted += 1
        if pods:
            placed += 1
            ready += is_ready(pods[0])
            available += is_available(pods[0], turn.minimum_seconds, turn.now)
            updated += _is_updated(turn, pods[0])
    always: Tree = {
        "currentNumberScheduled": placed,
        "numberMisscheduled": misplaced,
        "desiredNumberScheduled": wanted,
        "numberReady": ready,
    }
    others: Tree = {
        "observedGeneration": turn.tree["metadata"].get("generation", 0),
        "updatedNumberScheduled": updated,
        "numberAvailable": available,
        "numberUnavailable": wanted - available,
    }
    return {**always, **without_empty(others)}


def _placing(node: Tree) -> object:
    return (node["metadata"].get("labels"), taints_of(node))
