"""The scheduler as an actor: what it watches, how changes reach the queue, and what becomes of a verdict.

Only pods whose `spec.schedulerName` is this one's are placed; every placed pod counts. A claim that waits for
its first consumer is marked with the node (or its volume with the claim) and the pod bound at once: nothing
waits for a volume controller.
"""

from collections.abc import Iterable, Iterator
from random import Random

from cockpit.kube.resource import NAMESPACES, NODES, PODS, Resource
from cockpit.sim.actors.scheduler import hints
from cockpit.sim.actors.scheduler.cycle import Cycle, Done
from cockpit.sim.actors.scheduler.device_claims import PodDevices
from cockpit.sim.actors.scheduler.event_handlers import DEFAULT_NAME, EventHandlers
from cockpit.sim.actors.scheduler.filters import SchedulingAttempt
from cockpit.sim.actors.scheduler.gangs import (
    NOT_FOUND,
    OPTIMISTIC,
    UNRESERVED,
    GangRules,
    PermittedPod,
    group_of,
)
from cockpit.sim.actors.scheduler.native_gangs import (
    REFUSING,
    WAITS_FOR_OTHERS,
    GroupKey,
    native_group_of,
    told,
)
from cockpit.sim.actors.scheduler.podinfo import PodInfo
from cockpit.sim.actors.scheduler.preemption import preempt
from cockpit.sim.actors.scheduler.queue import Waiting
from cockpit.sim.actors.scheduler.status_writer import FINISH_SECONDS, StatusWriter
from cockpit.sim.actors.scheduler.verdict import SchedulingResult
from cockpit.sim.actors.scheduler.volumes import PodVolumes
from cockpit.sim.engine import Actor, Key
from cockpit.sim.port import ObjectChange, PortError, Tree
from cockpit.sim.resources import (
    BUDGETS,
    DEVICE_CLASSES,
    NATIVE_POD_GROUPS,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    POD_GROUPS,
    RESOURCE_CLAIMS,
    STORAGE_CLASSES,
)

_WATCHES = (
    NODES,
    PODS,
    NAMESPACES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    STORAGE_CLASSES,
    BUDGETS,
    RESOURCE_CLAIMS,
    DEVICE_CLASSES,
)
_CYCLE: Key = ("cycle",)
_SERIES: Key = ("series",)
_GANG = frozenset({hints.GANG_PLUGIN})


class Scheduler(Actor):
    """Places pods. With `gangs` it is the scheduler of scheduler-plugins, else kube-scheduler.

    The PodGroup resource must be served when an engine with such a scheduler starts.
    """

    def __init__(
        self,
        random: Random,
        name: str = DEFAULT_NAME,
        gangs: GangRules | None = None,
        *,
        is_native: bool = False,
    ) -> None:
        """`random` breaks ties and chooses where preemption begins to look.

        `is_native` switches the gates of kube-scheduler's own gangs on; their PodGroups must be served then.
        """
        super().__init__()
        self.name = name
        self.watches: tuple[Resource, ...] = _WATCHES
        if gangs is not None:
            self.watches = (*self.watches, POD_GROUPS)
        if is_native:
            self.watches = (*self.watches, NATIVE_POD_GROUPS)
        self.intake = EventHandlers(name, gangs, is_native=is_native)
        self.cache = self.intake.cache
        self.queue = self.intake.queue
        self.gangs = self.intake.gangs
        self.native = self.intake.native
        self.cycle = Cycle(self.cache, random, always_post_filters=gangs is not None)
        self._writer: StatusWriter | None = None

    @property
    def writer(self) -> StatusWriter:
        """Writes to the cluster; made with the engine."""
        if self._writer is None:
            self._writer = StatusWriter(self.engine.port, self.engine.clock, self.name)
        return self._writer

    # --- what changes --------------------------------------------------------------------------------

    def wake(self, change: ObjectChange, before: Tree | None) -> Iterable[Key]:
        """Take a change into the cache and the queue at once; one key asks for the next cycle."""
        self.intake.take(change, before, self.engine.now())
        return self._keys()

    def _keys(self) -> Iterator[Key]:
        if self.queue.has_active:
            yield _CYCLE
        else:
            self._set_timer()

    def _set_timer(self) -> None:
        now = self.engine.now()
        dues = [self.queue.next_due(now), self.gangs.next_deadline() if self.gangs else None]
        due = min((each for each in dues if each is not None), default=None)
        if due is not None:
            self.engine.after(due - now, self, _CYCLE)

    # --- what is done --------------------------------------------------------------------------------

    async def reconcile(self, key: Key) -> None:
        """Try one pod; ask for the next."""
        if key == _SERIES:
            await self.writer.finish()
        else:
            now = self.engine.now()
            self.queue.flush(now)
            if self.gangs is not None:
                for held in self.gangs.expired(now):
                    await self._lose_patience(held)
            entry = self.queue.pop(now)
            if entry is not None:
                await self._try(entry, now)
        if self.writer.has_series:
            self.engine.after(FINISH_SECONDS, self, _SERIES)
        if self.queue.has_active:
            self.engine.soon(self, _CYCLE)
        else:
            self._set_timer()

    async def _try(self, entry: Waiting, now: float) -> None:
        pod = entry.pod
        if pod.is_leaving:
            text = f"skip schedule deleting pod: {pod.namespace}/{pod.name}"
            await self.writer.event(pod, "Warning", "FailedScheduling", "Scheduling", text)
            self.queue.drop(pod.uid)
            return
        if self.native is not None and (key := native_group_of(pod)) in self.native.groups:
            assert key is not None
            await self._try_together(entry, key, now)
            return
        if self.gangs is None or group_of(pod) is None:
            verdict = self.cycle.decide(pod)
        else:
            refusal = self.gangs.refusal(pod, now)
            verdict = self.cycle.decide(pod, self._gang_post_filter, refusal)
        if not verdict.node:
            await self._refuse(entry, verdict)
            await self._reject_after(pod, verdict)
        elif self.gangs is None:
            await self._bind(entry, verdict.node)
        else:
            await self._permit(entry, verdict.node, now)

    async def _refuse(self, entry: Waiting, verdict: SchedulingResult, reason: str = "Unschedulable") -> None:
        pod = entry.pod
        self.queue.refuse(entry, verdict.plugins, self.engine.now())
        if verdict.nominated == "":
            self.cache.nominate(pod, "")
        await self.writer.event(pod, "Warning", "FailedScheduling", "Scheduling", verdict.message)
        await self.writer.condition(pod, reason, verdict.message, verdict.nominated)
        if not verdict.nominated:
            return
        for other in list(self.cache.nominated.get(verdict.nominated, {}).values()):
            if other.priority < pod.priority:
                self.cache.nominate(other, "")
                await self.writer.clear_nomination(other)
        for uid in verdict.victims:
            victim = self.cache.pods.get(uid)
            if victim is not None:
                await self.writer.end(victim, pod, verdict.nominated)

    async def _bind(self, entry: Waiting, node: str, *, is_assumed: bool = False) -> None:
        pod = entry.pod
        needs = PodVolumes(self.cache, pod)
        if not is_assumed:
            self.cache.put_pod(pod.on(node))
        try:
            await self._claim_volumes(needs, node)
            await self._reserve_devices(pod)
            await self.engine.port.bind(pod.namespace, pod.name, node, uid=pod.uid)
        except PortError as error:
            self.cache.drop_pod(pod.uid)
            if error.is_gone:
                self.queue.drop(pod.uid)
                return
            text = f'running Bind plugin "DefaultBinder": {error.message}'
            await self._refuse(entry, SchedulingResult(message=text, nominated=""), "SchedulerError")
            return
        self.cache.nominate(pod, "")
        self.queue.drop(pod.uid)
        text = f"Successfully assigned {pod.namespace}/{pod.name} to {node}"
        await self.writer.event(pod, "Normal", "Scheduled", "Binding", text)

    async def _claim_volumes(self, needs: PodVolumes, node: str) -> None:
        """Tell the volume controllers which node, or which volume, the pod's unbound claims get."""
        chosen = self.cache.nodes.get(node)
        if not needs.unbound or chosen is None:
            return
        for resource, namespace, name, patch in needs.bindings(chosen):
            await self.engine.port.patch(resource, namespace, name, patch)

    async def _reserve_devices(self, pod: PodInfo) -> None:
        for name, patch in PodDevices(self.cache, pod).reservations():
            await self.engine.port.patch(RESOURCE_CLAIMS, pod.namespace, name, patch, subresource="status")

    # --- kube-scheduler's own groups -----------------------------------------------------------------

    async def _try_together(self, entry: Waiting, key: GroupKey, now: float) -> None:
        """Every member that waits: all with a place are bound, or none is."""
        assert self.native is not None
        uids = [pod.uid for pod in self.intake.native_members(key) if not pod.is_leaving]
        placed: list[tuple[Waiting, str]] = []
        refused: list[tuple[Waiting, SchedulingResult]] = []
        for each in [entry, *self.queue.collect(uids, now)]:
            verdict = self.cycle.decide(each.pod, self._without_victims)
            if verdict.node:
                self.cache.put_pod(each.pod.on(verdict.node))
                placed.append((each, verdict.node))
            else:
                refused.append((each, verdict))
        is_whole = self.native.is_enough(key, len(placed))
        for each, node in placed:
            if is_whole:
                await self._bind(each, node, is_assumed=True)
            else:
                self.cache.drop_pod(each.pod.uid)
        if not is_whole:
            refused += [
                (each, SchedulingResult(message=WAITS_FOR_OTHERS, plugins=REFUSING)) for each, _ in placed
            ]
        for each, verdict in refused:
            await self._refuse(each, verdict)
        if placed or not is_whole:
            group = self.native.groups.get(key)
            status = None if group is None else told(group, is_scheduled=is_whole, now=now)
            if status is not None:
                await self.writer.group(NATIVE_POD_GROUPS, key, status)

    def _without_victims(self, attempt: SchedulingAttempt) -> Done:
        said, nominated, _ = preempt(attempt, self.cycle.random)
        return said, None if nominated else "", ()

    # --- groups --------------------------------------------------------------------------------------

    def _gang_post_filter(self, attempt: SchedulingAttempt) -> Done:
        said, nominated, victims = preempt(attempt, self.cycle.random)
        if nominated or self.gangs is None:
            return said, nominated, victims
        text = self.gangs.gives_up(attempt.pod, self.engine.now())
        return (said if text is None else f"{said}, {text}"), nominated, victims

    async def _reject_after(self, pod: PodInfo, verdict: SchedulingResult) -> None:
        """Members that waited lose their room when the group gave up."""
        key = group_of(pod)
        if self.gangs is not None and key is not None and "gets rejected due to" in verdict.message:
            for held in self.gangs.take(key):
                await self._release(held, OPTIMISTIC)

    async def _permit(self, entry: Waiting, node: str, now: float) -> None:
        assert self.gangs is not None
        pod = entry.pod
        key = group_of(pod)
        if key is not None and key not in self.gangs.groups:
            text = f"0/1 nodes are available: 1 {NOT_FOUND}."
            await self._refuse(entry, SchedulingResult(message=text, plugins=_GANG))
        elif key is None or self.gangs.may_bind(pod):
            waiting = self.gangs.take(key) if key is not None else []
            self.cache.put_pod(pod.on(node))
            for held in waiting:
                await self._bind(held.entry, held.node, is_assumed=True)
            await self._bind(entry, node, is_assumed=True)
        else:
            self.cache.put_pod(pod.on(node))
            self.gangs.hold(entry, node, now)
            self.queue.activate(uid for uid, e in self.queue.entries.items() if group_of(e.pod) == key)

    async def _lose_patience(self, held: PermittedPod) -> None:
        assert self.gangs is not None
        if not self.gangs.forget(held.entry.pod):
            return
        waited = _duration(held.patience_seconds)
        await self._release(held, f"rejected due to timeout after waiting {waited} at plugin Coscheduling")
        key = group_of(held.entry.pod)
        if key is not None:
            for other in self.gangs.take(key):
                await self._release(other, UNRESERVED)

    async def _release(self, held: PermittedPod, reason: str) -> None:
        """Give up the room of one that waited, and say why; its room may serve others."""
        pod = self.cache.drop_pod(held.entry.pod.uid)
        text = f"0/1 nodes are available: 1 {reason}."
        await self._refuse(held.entry, SchedulingResult(message=text, plugins=_GANG, nominated=""))
        if pod is not None:
            self.queue.move(hints.pod_gone(pod), self.engine.now(), pod.uid)


def _duration(seconds: float) -> str:
    """`20s`, `1m0s`, as Go writes a duration."""
    if seconds < 60:
        return f"{seconds:g}s"
    return f"{int(seconds // 60)}m{seconds % 60:g}s"
