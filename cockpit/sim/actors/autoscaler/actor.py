"""The loop: every scan looks at everything, decides once, and acts; the words are cluster-autoscaler's.

Sources of texts: kubernetes-sigs/cluster-autoscaler pkg/processors/status/eventing_scale_up_processor.go,
pkg/core/scaleup/orchestrator/executor.go, pkg/clusterstate/clusterstate.go,
pkg/core/scaledown/actuation/actuator.go and delete_in_batch.go.
"""

from collections.abc import Iterable, Mapping, Sequence

from cockpit.kube.resource import MACHINE_DEPLOYMENTS, NAMESPACES, NODES, PODS, Resource
from cockpit.sim.actors.autoscaler.groups import NodeGroup, groups_of, is_ready
from cockpit.sim.actors.autoscaler.room import NodeRoom
from cockpit.sim.actors.autoscaler.scale_down import UnneededNode, candidates, has_ended
from cockpit.sim.actors.autoscaler.scale_up import GroupGrowth, plan, waiting
from cockpit.sim.actors.autoscaler.settings import AutoscalerSettings
from cockpit.sim.actors.autoscaler.status_text import (
    NAME,
    NAMESPACE,
    UPDATED_ANNOTATION,
    scale_up_word,
    status_text,
    updated,
)
from cockpit.sim.actors.common.drain import owner_kind
from cockpit.sim.actors.common.machine_template import DELETE_ANNOTATION, MACHINES
from cockpit.sim.actors.common.recorder import NORMAL, WARNING, Recorder
from cockpit.sim.engine import Actor, Key
from cockpit.sim.port import ChangeType, ObjectChange, PortError, Tree
from cockpit.sim.resources import CONFIG_MAPS

SCAN: Key = ("scan",)
GOING_TAINT = "ToBeDeletedByClusterAutoscaler"
_FIRST_SCAN_SECONDS = 1.0
_REPEAT_SECONDS = 300.0


class _Backoff:
    """A group that failed: until when, why, and how long next time."""

    __slots__ = ("reason", "seconds", "until_seconds")

    def __init__(self, until_seconds: float, reason: str, seconds: float) -> None:
        self.until_seconds = until_seconds
        self.reason = reason
        self.seconds = seconds


class Autoscaler(Actor):
    """Grows groups for pods that wait, and takes away nodes that nobody needs."""

    name = "cluster-autoscaler"
    watches: tuple[Resource, ...] = (MACHINE_DEPLOYMENTS, MACHINES, NODES, PODS, NAMESPACES)

    def __init__(self, settings: AutoscalerSettings | None = None) -> None:
        super().__init__()
        self.settings = settings or AutoscalerSettings()
        self._waiting: dict[tuple[str, str], None] = {}
        self._pods_on: dict[str, dict[tuple[str, str], None]] = {}
        self._unneeded: dict[str, float] = {}
        self._grown: dict[str, float] = {}
        self._backoffs: dict[str, _Backoff] = {}
        self._last_add = float("-inf")
        self._told: dict[tuple[str, str, str], float] = {}
        self._since: dict[str, float] = {}
        self._words: dict[str, str] = {}
        self._has_config_map = False
        self._recorder: Recorder | None = None

    def wake(self, change: ObjectChange, before: Tree | None) -> Iterable[Key]:
        """Nothing wakes a scan but its period; pods are noted where they stand."""
        if change.resource == PODS:
            metadata = change.tree["metadata"]
            key = (metadata.get("namespace", ""), metadata["name"])
            node = (change.tree.get("spec") or {}).get("nodeName", "")
            is_gone = change.type is ChangeType.DELETED
            if not node and not is_gone:
                self._waiting[key] = None
            else:
                self._waiting.pop(key, None)
            if node:
                own = self._pods_on.setdefault(node, {})
                if is_gone:
                    own.pop(key, None)
                else:
                    own[key] = None
        return ()

    async def start(self) -> None:
        """Begin scanning."""
        engine = self.engine
        self._recorder = Recorder(engine.port, engine.clock, engine.random, self.name)
        engine.after(_FIRST_SCAN_SECONDS, self, SCAN)

    async def reconcile(self, key: Key) -> None:
        """One scan; the next is planned first, so that a refusal ends no more than this one."""
        self.engine.after(self.settings.scan_seconds, self, SCAN)
        groups = groups_of(
            self.engine.cache(MACHINE_DEPLOYMENTS), self.engine.cache(NODES), self.engine.cache(MACHINES)
        )
        await self._ensure_config_map()
        await self._look_at_failures(groups)
        grew = await self._scale_up(groups)
        found = self._note_unneeded(groups, grew)
        gone = await self._scale_down(groups, found)
        await self._publish(groups, [one for one in found if one.node not in gone])

    # ---- failures

    async def _look_at_failures(self, groups: Sequence[NodeGroup]) -> None:
        now = self.engine.now()
        for id_, held in list(self._backoffs.items()):
            if held.until_seconds + 3 * 3600 < now:
                del self._backoffs[id_]
        for group in groups:
            if group.failures:
                await self._fail(group, group.failures[0], has_timed_out=False)
            elif group.target <= len(group.ready):
                self._grown.pop(group.id, None)
            elif now - self._grown.get(group.id, now) > self.settings.provision_seconds:
                await self._fail(group, "timeout", has_timed_out=True)

    async def _fail(self, group: NodeGroup, reason: str, *, has_timed_out: bool) -> None:
        """Lower the target again, and leave the group alone for a while."""
        now = self.engine.now()
        missing = group.target - len(group.nodes)
        if missing <= 0:
            return
        minutes = int(self.settings.provision_seconds // 60)
        if has_timed_out:
            text = f"Nodes added to group {group.id} failed to register within {minutes}m0s"
            await self._on_config_map(WARNING, "ScaleUpTimedOut", text)
        else:
            text = f"Failed adding {missing} nodes to group {group.id} due to OTHER; source errors: {reason}"
            await self._on_config_map(WARNING, "ScaleUpFailed", text)
        held = self._backoffs.get(group.id)
        seconds = self.settings.backoff_seconds
        if held is not None:
            seconds = min(self.settings.longest_backoff_seconds, held.seconds * 2)
        self._backoffs[group.id] = _Backoff(now + seconds, reason, seconds)
        self._grown.pop(group.id, None)
        await self._resize(group, len(group.nodes))

    def _backing_off(self) -> dict[str, str]:
        now = self.engine.now()
        return {id_: held.reason for id_, held in self._backoffs.items() if held.until_seconds > now}

    # ---- up

    async def _scale_up(self, groups: Sequence[NodeGroup]) -> bool:
        cache = self.engine.cache(PODS)
        pods = waiting([tree for key in self._waiting if (tree := cache.get(*key)) is not None])
        if not pods:
            return False
        decided = plan(
            groups,
            pods,
            self._daemons(),
            backing_off=self._backing_off(),
            nodes_total=len(self.engine.cache(NODES))
            + sum(max(0, one.target - len(one.nodes)) for one in groups),
            max_nodes_total=self.settings.max_nodes_total,
            standing=self._standing(groups),
        )
        for pod, why in decided.unhelped:
            text = f"pod didn't trigger scale-up: {why}" if why else "pod didn't trigger scale-up:"
            await self._tell(pod, "NotTriggerScaleUp", text)
        if decided.growth is None:
            return False
        await self._grow(decided.growth)
        return True

    def _standing(self, groups: Sequence[NodeGroup]) -> list[NodeRoom]:
        """What is free on nodes that take pods now; those of a group count when all their devices show."""
        ready = {node["metadata"]["name"] for group in groups for node in group.ready}
        upcoming = {node["metadata"]["name"] for group in groups for node in group.nodes} - ready
        pods_on = self._pods_by_node()
        return [
            NodeRoom(node, [pod for pod in pods_on.get(name, ()) if not has_ended(pod)])
            for node in self.engine.cache(NODES)
            if (name := node["metadata"]["name"]) not in upcoming
            and is_ready(node)
            and not (node.get("spec") or {}).get("unschedulable")
        ]

    def _daemons(self) -> list[Tree]:
        """One pod of each DaemonSet: what stands on every fresh node."""
        cache = self.engine.cache(PODS)
        found: dict[tuple[str, str], Tree] = {}
        for keys in self._pods_on.values():
            for key in keys:
                pod = cache.get(*key)
                if pod is not None and owner_kind(pod) == "DaemonSet":
                    owner = pod["metadata"]["ownerReferences"][0]["name"]
                    found.setdefault((key[0], owner), pod)
        return [found[key] for key in sorted(found)]

    async def _grow(self, growth: GroupGrowth) -> None:
        group, to = growth.group, growth.to
        text = f"setting group {group.id} size to {to} instead of {group.target} (max: {group.maximum})"
        await self._on_config_map(NORMAL, "ScaledUpGroup", f"Scale-up: {text}")
        try:
            await self._resize(group, to)
        except PortError as error:
            said = f"Scale-up failed for group {group.id}: {error.message}"
            await self._on_config_map(WARNING, "FailedToScaleUpGroup", said)
            raise
        now = self.engine.now()
        self._grown[group.id] = self._last_add = now
        text = f"group {group.id} size set to {to} instead of {group.target} (max: {group.maximum})"
        await self._on_config_map(NORMAL, "ScaledUpGroup", f"Scale-up: {text}")
        for pod in growth.pods:
            change = f"{group.id} {group.target}->{to} (max: {group.maximum})"
            await self._tell(pod, "TriggeredScaleUp", f"pod triggered scale-up: [{{{change}}}]")

    async def _resize(self, group: NodeGroup, to: int) -> None:
        await self.engine.port.patch(
            MACHINE_DEPLOYMENTS, group.namespace, group.name, {"spec": {"replicas": to}}, subresource="scale"
        )

    # ---- down

    def _pods_by_node(self) -> dict[str, list[Tree]]:
        cache = self.engine.cache(PODS)
        found: dict[str, list[Tree]] = {}
        for node, keys in self._pods_on.items():
            trees = (cache.get(*key) for key in sorted(keys))
            found[node] = [tree for tree in trees if tree is not None]
        return found

    def _note_unneeded(self, groups: Sequence[NodeGroup], grew: bool) -> list[UnneededNode]:
        nodes = list(self.engine.cache(NODES))
        found = [] if grew else candidates(groups, self._pods_by_node(), nodes, self.settings)
        now = self.engine.now()
        self._unneeded = {one.node: self._unneeded.get(one.node, now) for one in found}
        return found

    async def _scale_down(self, groups: Sequence[NodeGroup], found: Sequence[UnneededNode]) -> set[str]:
        """Take away what has been unneeded long enough: empty nodes together, others one at a time."""
        now, settings = self.engine.now(), self.settings
        if now - self._last_add < settings.delay_after_add_seconds:
            return set()
        due = [one for one in found if now - self._unneeded[one.node] >= settings.unneeded_seconds]
        empty = [one for one in due if not one.moving][: settings.most_empty_at_once]
        chosen = empty or [one for one in due if one.moving][:1]
        by_id = {group.id: group for group in groups}
        spare = {group.id: group.target - group.minimum for group in groups}
        gone: set[str] = set()
        for one in chosen:
            if spare[one.group] <= 0:
                continue
            spare[one.group] -= 1
            gone.add(one.node)
            lowered = by_id[one.group].target - sum(1 for name in gone if self._is_of(name, by_id[one.group]))
            await self._take_away(one, by_id[one.group], lowered)
            self._unneeded.pop(one.node, None)
        return gone

    @staticmethod
    def _is_of(node: str, group: NodeGroup) -> bool:
        return any(tree["metadata"]["name"] == node for tree in group.nodes)

    async def _take_away(self, one: UnneededNode, group: NodeGroup, target: int) -> None:
        node = self.engine.cache(NODES).get("", one.node)
        if node is None:
            return
        if one.moving:
            pods = ",".join(pod["metadata"]["name"] for pod in one.moving)
            text = (
                f"Scale-down: removing node {one.node}, utilization: {one.utilization_ratio:.3f},"
                f" pods to reschedule: {pods}"
            )
            await self._on_config_map(NORMAL, "ScaleDown", text)
        else:
            await self._on_config_map(
                NORMAL, "ScaleDownEmpty", f'Scale-down: removing empty node "{one.node}"'
            )
        taints = [*((node.get("spec") or {}).get("taints") or ())]
        taints.append({"key": GOING_TAINT, "value": str(int(self.engine.now())), "effect": "NoSchedule"})
        patch = {"spec": {"taints": taints, "unschedulable": True}}
        await self.engine.port.patch(NODES, "", one.node, patch)
        recorder = self._speaking()
        await recorder.event(node, NORMAL, "ScaleDown", "marked the node as toBeDeleted/unschedulable")
        for pod in one.moving:
            await recorder.event(pod, NORMAL, "ScaleDown", "deleting pod for node scale down")
        await self.engine.port.patch(
            MACHINES, group.namespace, one.node, {"metadata": {"annotations": {DELETE_ANNOTATION: "yes"}}}
        )
        await self._resize(group, target)
        await recorder.event(node, NORMAL, "ScaleDown", "nodes removed by cluster autoscaler")
        how = f"node {one.node} removed with drain" if one.moving else f"empty node {one.node} removed"
        reason = "ScaleDown" if one.moving else "ScaleDownEmpty"
        await self._on_config_map(NORMAL, reason, f"Scale-down: {how}")

    # ---- telling

    def _speaking(self) -> Recorder:
        assert self._recorder is not None, "an actor speaks after start()"
        return self._recorder

    async def _tell(self, pod: Tree, reason: str, text: str) -> None:
        """An event on a pod; an equal one not again within five minutes, as there."""
        key = (pod["metadata"].get("uid", ""), reason, text)
        now = self.engine.now()
        if now - self._told.get(key, float("-inf")) < _REPEAT_SECONDS:
            return
        self._told = {old: at for old, at in self._told.items() if now - at < _REPEAT_SECONDS}
        self._told[key] = now
        await self._speaking().event(pod, NORMAL, reason, text)

    async def _on_config_map(self, kind: str, reason: str, text: str) -> None:
        regarding: Tree = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"namespace": NAMESPACE, "name": NAME},
        }
        await self._speaking().event(regarding, kind, reason, text)

    async def _ensure_config_map(self) -> None:
        if self._has_config_map:
            return
        if self.engine.cache(NAMESPACES).get("", NAMESPACE) is None:
            await self._create(NAMESPACES, {"metadata": {"name": NAMESPACE}}, "")
        await self._create(CONFIG_MAPS, {"metadata": {"name": NAME}, "data": {"status": ""}}, NAMESPACE)
        self._has_config_map = True

    async def _create(self, resource: Resource, tree: Tree, namespace: str) -> None:
        try:
            whole = {"apiVersion": resource.api_version, "kind": resource.kind, **tree}
            await self.engine.port.create(resource, whole, namespace)
        except PortError as error:
            if not error.is_conflict:
                raise

    async def _publish(self, groups: Sequence[NodeGroup], found: Sequence[UnneededNode]) -> None:
        now = self.engine.now()
        backing_off = self._backing_off()
        counts: dict[str, int] = {}
        for one in found:
            counts[one.group] = counts.get(one.group, 0) + 1
        self._note_transitions(groups, backing_off, counts)
        nodes = list(self.engine.cache(NODES))
        ready = sum(len(group.ready) for group in groups)
        of_groups = sum(len(group.nodes) for group in groups)
        text = status_text(
            groups,
            all_nodes=len(nodes),
            ready_nodes=len(nodes) - (of_groups - ready),
            now_seconds=now,
            backing_off=backing_off,
            candidates=counts,
            since=self._since,
        )
        patch = {
            "metadata": {"annotations": {UPDATED_ANNOTATION: updated(now)}},
            "data": {"status": text},
        }
        await self.engine.port.patch(CONFIG_MAPS, NAMESPACE, NAME, patch)

    def _note_transitions(
        self, groups: Sequence[NodeGroup], backing_off: Mapping[str, str], counts: Mapping[str, int]
    ) -> None:
        words = {f"{group.id}/scaleUp": scale_up_word(group, backing_off) for group in groups}
        words |= {f"{group.id}/scaleDown": str(bool(counts.get(group.id))) for group in groups}
        words |= {f"{group.id}/health": "Healthy" for group in groups}
        words["/health"] = "Healthy"
        words["/scaleUp"] = str(any(scale_up_word(one, backing_off) == "InProgress" for one in groups))
        words["/scaleDown"] = str(bool(counts))
        for part, word in words.items():
            if self._words.get(part) != word:
                self._since[part] = self.engine.now()
        self._words = words
