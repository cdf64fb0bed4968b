"""What the steps of the queue controller share: the port, the cache, its settings and its event writers."""

from collections.abc import Callable
from random import Random

import msgspec

from cockpit.clock import Clock
from cockpit.kube.resource import WORKLOADS, Resource
from cockpit.sim.actors.common.recorder import Recorder
from cockpit.sim.actors.queue.cache import QueueCache
from cockpit.sim.actors.queue.conditions import Edit
from cockpit.sim.actors.queue.reading import key_of
from cockpit.sim.engine import Cache
from cockpit.sim.port import Port, Tree

ADMISSION = "kueue-admission"
WORKLOAD_CONTROLLER = "kueue-workload-controller"


class KueueSettings(msgspec.Struct, frozen=True):
    """Kueue's configuration, as far as it is modelled. `pods_ready_seconds` None: waitForPodsReady is off."""

    pods_ready_seconds: float | None = None
    recovery_seconds: float | None = None
    requeue_limit: int | None = None
    backoff_base_seconds: float = 60.0
    backoff_most_seconds: float = 3600.0


class QueueContext:
    """What one queue controller works with."""

    def __init__(
        self,
        port: Port,
        clock: Clock,
        random: Random,
        *,
        queue_cache: QueueCache,
        settings: KueueSettings,
        cache: Callable[[Resource], Cache],
    ) -> None:
        self.port = port
        self.queue_cache = queue_cache
        self.settings = settings
        self.cache = cache
        self._clock = clock
        self._random = random
        self._recorders: dict[str, Recorder] = {}

    def now(self) -> float:
        """Seconds since the Unix epoch."""
        return self._clock.now()

    async def event(self, component: str, tree: Tree, type_: str, reason: str, message: str) -> None:
        """Tell `message` about an object, as `component` does."""
        recorder = self._recorders.get(component)
        if recorder is None:
            recorder = Recorder(self.port, self._clock, self._random, component)
            self._recorders[component] = recorder
        await recorder.event(tree, type_, reason, message)

    def edit(self, workload: Tree) -> Edit:
        """A status in the making."""
        return Edit(workload, self.now())

    async def write(self, workload: Tree, edit: Edit) -> Tree:
        """Write a status, unless nothing changed. The cache knows it at once. Raises PortError (409 when
        the Workload is another by now)."""
        if not edit.changed:
            return workload
        namespace, name = key_of(workload)
        patch = {
            "metadata": {"resourceVersion": workload["metadata"]["resourceVersion"]},
            "status": edit.patch,
        }
        after = await self.port.patch(WORKLOADS, namespace, name, patch, subresource="status")
        self.queue_cache.put_workload(after)
        return after

    async def evict(
        self, component: str, workload: Tree, edit: Edit, *, reason: str, message: str, cause: str = ""
    ) -> Tree:
        """Mark a Workload as to be taken off, with the event of that."""
        had_admission = bool((workload.get("status") or {}).get("admission"))
        edit.evict(reason, message, cause)
        after = await self.write(workload, edit)
        if had_admission:
            word = f"EvictedDueTo{reason}"
            if reason == "Deactivated" and cause:
                word += f"DueTo{cause}"
            await self.event(component, after, "Normal", word, message)
        return after
