"""One pod's way: admission, volumes, sandbox, containers in order, its end.

Sources: Kubernetes 1.36 pkg/kubelet/{kubelet.go, kubelet_pods.go, pod_workers.go, status/status_manager.go}.
"""

from collections import deque

from cockpit.sim.actors.kubelet.admission import admit, requests_of
from cockpit.sim.actors.kubelet.behaviour import FOREVER, Habits, behaviour_of
from cockpit.sim.actors.kubelet.containers import NORMAL, WARNING, ContainerSteps
from cockpit.sim.actors.kubelet.devices import DeviceTable
from cockpit.sim.actors.kubelet.probes import probes_due
from cockpit.sim.actors.kubelet.runs import (
    INIT,
    MAIN,
    SIDECAR,
    ContainerRun,
    Ending,
    PodHost,
    PodRun,
    Stage,
)
from cockpit.sim.actors.kubelet.settings import MountFailed, claim_uids, volume_files
from cockpit.sim.actors.kubelet.texts import DEADLINE, LOST_CONTAINER
from cockpit.sim.port import Port, Tree

_LAST_MOUNT_RETRY_SECONDS = 122.0


class Addresses:
    """Pod addresses out of 10.64.0.0/12, the longest unused one first."""

    def __init__(self) -> None:
        self._next = 1
        self._free: deque[str] = deque()
        self._taken: dict[str, None] = {}

    def take(self) -> str:
        """An address that no living pod has. Raises IndexError when a million pods have one each."""
        while True:
            address = self._another()
            if address not in self._taken:
                self._taken[address] = None
                return address

    def keep(self, address: str) -> None:
        """A pod has this address already."""
        self._taken[address] = None

    def give(self, address: str) -> None:
        """The pod with this address is gone."""
        if address in self._taken:
            del self._taken[address]
            self._free.append(address)

    def _another(self) -> str:
        while self._next < (1 << 20):
            number = (10 << 24) + (64 << 16) + self._next
            self._next += 1
            if number & 255 not in (0, 255):
                return ".".join(str(number >> shift & 255) for shift in (24, 16, 8, 0))
        return self._free.popleft()


def new_run(pod: Tree, node: str, now: float) -> PodRun:
    """What a kubelet begins to remember of a pod it sees for the first time.

    Raises BadInput where an annotation of the pod cannot be read.
    """
    containers: list[ContainerRun] = []
    for one in pod["spec"].get("initContainers", ()):
        kind = SIDECAR if one.get("restartPolicy") == "Always" else INIT
        containers.append(ContainerRun(one, kind, behaviour_of(pod, one["name"])))
    mains = pod["spec"].get("containers", ())
    containers.extend(ContainerRun(one, MAIN, behaviour_of(pod, one["name"])) for one in mains)
    return PodRun(pod, node, containers, start_time=now, requests=requests_of(pod))


class PodSteps:
    """Moves pods on; what it remembers is in the runs, and which addresses are taken."""

    def __init__(
        self, port: Port, habits: Habits, devices: DeviceTable, steps: ContainerSteps, host: str
    ) -> None:
        self._port = port
        self._habits = habits
        self._devices = devices
        self._steps = steps
        self._host = host
        self.addresses = Addresses()

    async def step(self, run: PodRun, place: PodHost, now: float) -> None:
        """Do all that is due for the pod at this instant."""
        if run.is_final or run.is_rejected:
            return
        if not run.is_admitted:
            rejection = admit(run, place.node, self._devices)
            if rejection is not None:
                run.is_rejected = True
                run.reason, run.message = rejection.reason, rejection.message
                run.tell(WARNING, rejection.reason, rejection.message)
                return
            run.is_admitted = True
        if run.pod["metadata"].get("deletionTimestamp"):
            self.end(run, Ending.DELETED, now)
        elif run.ending is None and deadline(run) <= now:
            run.reason, run.message = "DeadlineExceeded", DEADLINE
            run.tell(NORMAL, "DeadlineExceeded", DEADLINE)
            self.end(run, Ending.DEADLINE, now)
        if run.ending is None and await self._is_ready_to_start(run, place, now):
            await self._containers(run, place, now)
        if run.ending is not None:
            await self._ending(run, place, now)

    def end(self, run: PodRun, ending: Ending, now: float) -> None:
        """Begin (or hasten) the end of the whole pod."""
        grace = run.grace_seconds
        ends_at = now + grace
        if run.ending is None:
            run.ending = ending
        elif ends_at >= run.grace_ends_at:
            return
        run.grace_ends_at = min(run.grace_ends_at, ends_at)
        for one in run.containers:
            if one.is_stopping and one.running is not None:
                one.running.stop(now, max(0.0, run.grace_ends_at - now))

    async def _is_ready_to_start(self, run: PodRun, place: PodHost, now: float) -> bool:
        if not run.is_prepared:
            if run.mount_retry_at > now:
                return False
            try:
                files = await volume_files(self._port, run.pod, host=self._host)
                claims = await claim_uids(self._port, run.pod)
            except MountFailed as failure:
                run.tell(WARNING, "FailedMount", str(failure))
                run.mount_retry_at = now + run.mount_retry_seconds
                run.mount_retry_seconds = min(_LAST_MOUNT_RETRY_SECONDS, run.mount_retry_seconds * 2)
                return False
            await place.runtime.prepare(run.pod, files, claims)
            run.is_prepared = True
            run.sandbox_at = now + self._steps.between(run, "sandbox", self._habits.sandbox_seconds)
        if run.sandbox_at > now:
            return False
        if not run.address:
            on_host = run.pod["spec"].get("hostNetwork")
            own = place.runtime.pod_address(run.pod)
            run.address = self._host if on_host else own or self.addresses.take()
        return True

    async def _containers(self, run: PodRun, place: PodHost, now: float) -> None:
        for one in self._in_turn(run):
            if one.stage is Stage.IDLE:
                await self._steps.begin(run, one, place, now)
            while await self._steps.step(run, one, place, now):
                pass
            if one.kind == INIT and not (one.is_over and one.exit_code == 0):
                break
            if one.kind == SIDECAR and not one.is_started:
                break
        if any(one.is_over and one.exit_code != 0 for one in run.of_kind(INIT)) or all(
            one.is_over for one in run.of_kind(MAIN)
        ):
            self._stop(run, run.of_kind(SIDECAR), now)
            run.is_final = all(one.stage in (Stage.DONE, Stage.IDLE) for one in run.containers)

    def _in_turn(self, run: PodRun) -> list[ContainerRun]:
        """Init containers and sidecars in their order, then the others; all that may move."""
        if any(one.is_over and one.exit_code != 0 for one in run.of_kind(INIT)):
            return run.of_kind(SIDECAR)
        return [one for one in run.containers if not (one.kind == INIT and one.is_over)]

    def _stop(self, run: PodRun, containers: list[ContainerRun], now: float) -> None:
        """SIGTERM to those that run; the others will not start any more."""
        grace = max(0.0, run.grace_ends_at - now) if run.ending is not None else run.grace_seconds
        for one in containers:
            if one.stage is Stage.RUNNING and one.running is not None:
                if not one.is_stopping:
                    run.tell(NORMAL, "Killing", f"Stopping container {one.name}", one.field_path)
                    one.is_stopping = True
                    one.running.stop(now, grace)
                one.kill_message = ""
            elif one.stage is not Stage.DONE:
                self._drop(run, one)

    def _drop(self, run: PodRun, one: ContainerRun) -> None:
        """A container that does not run and never will."""
        is_initialized = all(first.is_over for first in run.of_kind(INIT))
        if one.terminated is None and one.last is not None:
            one.terminated = one.last
        elif one.terminated is None and is_initialized:
            one.terminated = {
                "exitCode": 137,
                "reason": "ContainerStatusUnknown",
                "message": LOST_CONTAINER,
                "startedAt": None,
                "finishedAt": None,
            }
        one.stage, one.until = Stage.DONE, FOREVER
        one.is_ready = False

    async def _ending(self, run: PodRun, place: PodHost, now: float) -> None:
        first = run.of_kind(INIT, MAIN)
        for group in (first, run.of_kind(SIDECAR)):
            self._stop(run, group, now)
            for one in group:
                while one.stage is Stage.RUNNING and await self._steps.step(run, one, place, now):
                    pass
            if any(one.stage is Stage.RUNNING for one in group):
                return
        run.is_final = True


def deadline(run: PodRun) -> float:
    """When `activeDeadlineSeconds` ends."""
    seconds = run.pod["spec"].get("activeDeadlineSeconds")
    return FOREVER if seconds is None else run.start_time + float(seconds)


def due(run: PodRun) -> float:
    """When to look at the pod again, if nobody says anything."""
    if run.is_final or run.is_rejected:
        return FOREVER
    times = [deadline(run)] if run.ending is None else []
    if run.ending is None and not run.address:
        times.append(run.sandbox_at if run.is_prepared else run.mount_retry_at)
    for one in run.containers:
        if one.stage is Stage.RUNNING and one.running is not None:
            ends = one.running.due()
            times.extend((FOREVER if ends is None else ends, probes_due(one)))
        elif one.stage not in (Stage.IDLE, Stage.DONE):
            times.append(one.until)
    return min(times, default=FOREVER)
