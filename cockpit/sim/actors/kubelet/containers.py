"""One container's way from its image to its end, and back again after a crash.

Sources: Kubernetes 1.36 pkg/kubelet/images/image_manager.go (EnsureImageExists), pkg/kubelet/kuberuntime/
{kuberuntime_container.go (startContainer), kuberuntime_manager.go (doBackOff)}; both back-offs go from 10 s
to 300 s and are forgotten after twice their longest.
"""

import hashlib
from random import Random

from cockpit.sim.actors.kubelet.behaviour import FOREVER, Habits
from cockpit.sim.actors.kubelet.devices import DeviceTable
from cockpit.sim.actors.kubelet.images import Pull
from cockpit.sim.actors.kubelet.probes import begin_probes, step_probes
from cockpit.sim.actors.kubelet.runs import INIT, SIDECAR, ContainerRun, PodHost, PodRun, Stage
from cockpit.sim.actors.kubelet.runtime import Exit, Start, StartFailed
from cockpit.sim.actors.kubelet.settings import ConfigMissing, DownwardContext, environment
from cockpit.sim.actors.kubelet.texts import crash_back_off, go_duration, pod_word, pull_failure
from cockpit.sim.port import Port, Tree
from cockpit.sim.times import rfc3339

FIRST_BACK_OFF_SECONDS = 10.0
LAST_BACK_OFF_SECONDS = 300.0
NORMAL, WARNING = "Normal", "Warning"


class ContainerSteps:
    """Moves containers on; what it remembers is in the runs alone."""

    def __init__(self, port: Port, habits: Habits, devices: DeviceTable, seed: int, host: str) -> None:
        self._port = port
        self._habits = habits
        self._devices = devices
        self._seed = seed
        self._host = host

    def random(self, run: PodRun, what: str) -> Random:
        """The randomness of one decision about one pod: the same in whatever order pods are looked at."""
        return Random(f"{self._seed}/{run.uid}/{what}")

    def between(self, run: PodRun, what: str, span: tuple[float, float]) -> float:
        """One draw between two bounds."""
        return self.random(run, what).uniform(*span)

    async def begin(self, run: PodRun, one: ContainerRun, place: PodHost, now: float) -> None:
        """Its turn has come (again): see to the image."""
        image = str(one.spec.get("image", ""))
        error = one.behaviour.image_error
        policy = one.spec.get("imagePullPolicy") or (
            "Always" if image.endswith(":latest") else "IfNotPresent"
        )
        present = place.runtime.has_images or place.node.images.has(image, now)
        if error == "invalid":
            message = f'Failed to apply default image tag "{image}": couldn\'t parse image name "{image}"'
            run.tell(WARNING, "InspectFailed", f"{message}: invalid reference format", one.field_path)
            self._hold(one, "InvalidImageName", f"{message}: invalid reference format", FOREVER)
            return
        if error == "never" or (policy == "Never" and not present):
            text = f'Container image "{image}" is not present with pull policy of Never'
            run.tell(WARNING, "ErrImageNeverPull", text, one.field_path)
            run.tell(WARNING, "Failed", "Error: ErrImageNeverPull", one.field_path)
            self._hold(one, "ErrImageNeverPull", text, now + self._habits.sync_seconds)
            one.stage = Stage.PULL_BACK_OFF
            return
        if present and not error and (policy != "Always" or place.runtime.has_images):
            text = f'Container image "{image}" already present on machine and can be accessed by the pod'
            run.tell(NORMAL, "Pulled", text, one.field_path)
            self._create(run, one, now)
            return
        run.tell(NORMAL, "Pulling", f'Pulling image "{image}"', one.field_path)
        one.stage = Stage.PULLING
        draw = self.random(run, f"pull/{one.name}/{one.restarts}/{one.pull_failures}")
        if error:
            one.pull = None
            one.pull_error = pull_failure(image, error)
            one.until = place.node.images.refuse(now, draw)
        else:
            one.pull = place.node.images.pull(image, one.behaviour, now, draw)
            one.until = one.pull.ready_at

    async def step(self, run: PodRun, one: ContainerRun, place: PodHost, now: float) -> bool:
        """One step, when one is due; False when there is nothing to do now."""
        if one.stage is Stage.RUNNING:
            return self._watch(run, one, now)
        if one.until > now:
            return False
        match one.stage:
            case Stage.PULLING:
                self._pulled(run, one, one.pull, now)
            case Stage.PULL_FAILED:
                self._back_off_pull(run, one, now)
            case Stage.PULL_BACK_OFF | Stage.BACK_OFF:
                await self.begin(run, one, place, now)
            case Stage.CREATING | Stage.CONFIG_ERROR:
                await self._start(run, one, place, now)
            case _:
                return False
        return True

    def _hold(self, one: ContainerRun, reason: str, message: str, until: float) -> None:
        one.reason, one.message, one.until = reason, message, until

    def _pulled(self, run: PodRun, one: ContainerRun, pull: Pull | None, now: float) -> None:
        image = str(one.spec.get("image", ""))
        if pull is not None:
            text = (
                f'Successfully pulled image "{image}" in {go_duration(pull.pull_seconds)} '
                f"({go_duration(pull.waited_seconds)} including waiting). "
                f"Image size: {pull.size_bytes} bytes."
            )
            run.tell(NORMAL, "Pulled", text, one.field_path)
            one.pull_back_off_seconds = 0.0
            self._create(run, one, now)
            return
        one.pull_failures += 1
        doubled = one.pull_back_off_seconds * 2 or FIRST_BACK_OFF_SECONDS
        one.pull_back_off_seconds = min(LAST_BACK_OFF_SECONDS, doubled)
        run.tell(WARNING, "Failed", f'Failed to pull image "{image}": {one.pull_error}', one.field_path)
        run.tell(WARNING, "Failed", "Error: ErrImagePull", one.field_path)
        one.stage = Stage.PULL_FAILED
        wait = self.between(run, f"sync/{one.name}/{one.pull_failures}", (0.8, 2.0))
        self._hold(one, "ErrImagePull", one.pull_error, now + wait)

    def _back_off_pull(self, run: PodRun, one: ContainerRun, now: float) -> None:
        text = f'Back-off pulling image "{one.spec.get("image", "")}"'
        run.tell(NORMAL, "BackOff", text, one.field_path)
        run.tell(WARNING, "Failed", "Error: ImagePullBackOff", one.field_path)
        one.stage = Stage.PULL_BACK_OFF
        until = now + one.pull_back_off_seconds
        self._hold(one, "ImagePullBackOff", f"{text}: ErrImagePull: {one.pull_error}", until)

    def _create(self, run: PodRun, one: ContainerRun, now: float) -> None:
        one.has_image = True
        one.stage = Stage.CREATING
        one.until = now + self.between(run, f"create/{one.name}/{one.restarts}", self._habits.create_seconds)

    async def _start(self, run: PodRun, one: ContainerRun, place: PodHost, now: float) -> None:
        capacity = (place.node.tree.get("status") or {}).get("allocatable") or {}
        try:
            given = await environment(
                self._port, run.pod, one.spec, DownwardContext(run.address, self._host, capacity)
            )
        except ConfigMissing as missing:
            if one.reason != "CreateContainerConfigError" or one.message != str(missing):
                run.tell(WARNING, "Failed", f"Error: {missing}", one.field_path)
            one.stage = Stage.CONFIG_ERROR
            self._hold(one, "CreateContainerConfigError", str(missing), now + self._habits.sync_seconds)
            return
        attempt = one.restarts + (1 if one.terminated or one.last else 0)
        text = f"{self._seed}/{run.uid}/{one.name}/{attempt}"
        container_id = f"{place.runtime.name}://{hashlib.sha256(text.encode()).hexdigest()}"
        devices: dict[str, tuple[str, ...]] = {
            holder.resource: holder.device_ids
            for holder in self._devices.held_by(run.node, run.uid, one.name)
        }
        run.tell(NORMAL, "Created", "Container created", one.field_path)
        if one.terminated is not None:
            one.last, one.terminated = one.terminated, None
        one.restarts, one.container_id, one.started_at = attempt, container_id, now
        one.reason = one.message = one.kill_message = ""
        one.is_stopping = False
        start = Start(run.pod, one.spec, attempt, container_id, given, devices, one.behaviour, run.address)
        try:
            one.running = await place.runtime.start(start, now, place.wake)
        except StartFailed as failure:
            run.tell(WARNING, "Failed", f"Error: {failure}", one.field_path)
            self._ended(run, one, Exit(128, now, "StartError", str(failure)), now)
            return
        one.logs = [*one.logs[-1:], one.running.log]
        run.tell(NORMAL, "Started", "Container started", one.field_path)
        one.stage, one.until = Stage.RUNNING, FOREVER
        begin_probes(one, now)

    def _watch(self, run: PodRun, one: ContainerRun, now: float) -> bool:
        if one.running is None:
            return False
        end = one.running.ended(now)
        if end is None:
            return step_probes(run, one, now)
        self._ended(run, one, end, now)
        return True

    def _ended(self, run: PodRun, one: ContainerRun, end: Exit, now: float) -> None:
        """Write the end down and decide what follows."""
        state: Tree = {
            "exitCode": end.code,
            "reason": end.word,
            "startedAt": rfc3339(one.started_at),
            "finishedAt": rfc3339(end.at),
            "containerID": one.container_id,
        }
        if end.message:
            state["message"] = end.message
        one.terminated = state
        ran_seconds = end.at - one.started_at
        one.running, one.probes = None, []
        one.is_started = False
        one.is_ready = one.kind == INIT and end.code == 0
        if not _restarts(run, one, end.code):
            one.stage, one.until = Stage.DONE, FOREVER
            return
        self._back_off(run, one, end, ran_seconds, now)

    def _back_off(self, run: PodRun, one: ContainerRun, end: Exit, ran_seconds: float, now: float) -> None:
        if ran_seconds > 2 * LAST_BACK_OFF_SECONDS:
            one.back_off_seconds = 0.0
        wait = one.back_off_seconds
        one.back_off_seconds = min(LAST_BACK_OFF_SECONDS, wait * 2 or FIRST_BACK_OFF_SECONDS)
        one.stage = Stage.BACK_OFF
        if not wait:
            one.until = now + self.between(run, f"again/{one.name}/{one.restarts}", (0.2, 1.0))
            return
        one.last, one.terminated = one.terminated, None
        text = f"Back-off restarting failed container {one.name} in pod {pod_word(run.pod)}"
        run.tell(WARNING, "BackOff", text, one.field_path)
        self._hold(one, "CrashLoopBackOff", crash_back_off(wait, one.name, run.pod), end.at + wait)


def _restarts(run: PodRun, one: ContainerRun, code: int) -> bool:
    """Does the pod's (or sidecar's) restart policy start it again?"""
    if run.ending is not None:
        return False
    if one.kind == SIDECAR:
        return not one.is_stopping or bool(one.kill_message)
    policy = run.restart_policy
    if one.kind == INIT:
        return code != 0 and policy != "Never"
    return policy == "Always" or (policy == "OnFailure" and code != 0)
