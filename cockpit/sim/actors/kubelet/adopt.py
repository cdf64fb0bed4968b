"""Pods that were started before this kubelet: after a restart, or on a cluster that somebody prepared.

In the simulated runtime they run on from their `startedAt`; processes have died with the program that ran
them, so there a running container has ended (137), as after a reboot.
"""

from typing import Any

from cockpit.sim.actors.kubelet.behaviour import FOREVER
from cockpit.sim.actors.kubelet.devices import DevicesUnavailable, DeviceTable
from cockpit.sim.actors.kubelet.probes import begin_probes
from cockpit.sim.actors.kubelet.runs import INIT, SIDECAR, ContainerRun, NodeRun, PodRun, Stage
from cockpit.sim.actors.kubelet.runtime import Runtime, Start
from cockpit.sim.actors.kubelet.texts import UNKNOWN_RESTART
from cockpit.sim.port import Tree
from cockpit.sim.times import rfc3339, seconds_of


async def adopt(run: PodRun, node: NodeRun, runtime: Runtime, devices: DeviceTable, now: float) -> None:
    """Fill `run` from the status that the API has."""
    known = run.pod["status"]
    run.is_admitted = True
    run.start_time = seconds_of(known["startTime"])
    run.address = "" if runtime.name == "process" else known.get("podIP", "")
    if run.address:
        run.is_prepared, run.sandbox_at = True, run.start_time
    for one in run.pod["spec"].get("containers", ()):
        _claim(run, one, devices)
    for one in known.get("conditions", ()):
        since = seconds_of(one["lastTransitionTime"]) if one.get("lastTransitionTime") else now
        run.conditions[one["type"]] = (
            one["status"],
            one.get("reason", ""),
            one.get("message", ""),
            since,
        )
    listed = [*known.get("initContainerStatuses", ()), *known.get("containerStatuses", ())]
    told: dict[str, Tree] = {one["name"]: one for one in listed}
    for container in run.containers:
        state = told.get(container.name)
        if state is not None:
            await _container(run, container, state, runtime, now)
        if container.container_id:
            node.images.put(str(container.spec.get("image", "")), now)


def _claim(run: PodRun, container: Tree, devices: DeviceTable) -> None:
    resources = container.get("resources") or {}
    asked: dict[str, Any] = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}
    for key in sorted(asked):
        if key in devices.resources(run.node):
            try:
                devices.allot(run.node, run.pod, container["name"], key, int(asked[key]))
            except DevicesUnavailable:
                continue


async def _container(run: PodRun, one: ContainerRun, told: Tree, runtime: Runtime, now: float) -> None:
    state = told.get("state") or {}
    one.restarts = int(told.get("restartCount") or 0)
    one.last = (told.get("lastState") or {}).get("terminated")
    one.container_id = told.get("containerID", "")
    if "terminated" in state:
        one.terminated = state["terminated"]
        one.stage, one.until = Stage.DONE, FOREVER
        one.is_ready = one.kind == INIT and one.terminated.get("exitCode") == 0
        return
    if "running" not in state:
        return
    one.started_at = seconds_of(state["running"]["startedAt"])
    if runtime.name == "process":
        lost: Tree = {
            "exitCode": 137,
            "reason": "ContainerStatusUnknown",
            "message": UNKNOWN_RESTART,
            "startedAt": rfc3339(one.started_at),
            "finishedAt": rfc3339(now),
            "containerID": one.container_id,
        }
        if run.restart_policy == "Never" and one.kind != SIDECAR:
            one.terminated = lost
            one.stage, one.until = Stage.DONE, FOREVER
        else:
            one.last = lost
        return
    start = Start(run.pod, one.spec, one.restarts, one.container_id, {}, {}, one.behaviour, run.address)
    one.running = await runtime.start(start, one.started_at, lambda: None)
    one.logs = [one.running.log]
    one.stage, one.until = Stage.RUNNING, FOREVER
    begin_probes(one, now)
    if told.get("ready"):
        one.is_started = one.is_ready = True
