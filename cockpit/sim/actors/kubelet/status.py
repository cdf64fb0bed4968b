"""The status of a pod, as a kubelet writes it: pure functions of what it remembers.

Sources: Kubernetes 1.36 pkg/kubelet/status/generate.go (conditions), pkg/kubelet/kubelet_pods.go (getPhase,
convertToAPIContainerStatuses).
"""

from cockpit.sim.actors.kubelet.devices import DeviceTable
from cockpit.sim.actors.kubelet.images import image_digest
from cockpit.sim.actors.kubelet.runs import INIT, MAIN, SIDECAR, ContainerRun, Ending, PodRun, Stage
from cockpit.sim.actors.kubelet.texts import full_image
from cockpit.sim.port import Tree
from cockpit.sim.times import rfc3339

OWNED = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady")

Condition = tuple[str, str, str]
"""(status, reason, message)"""

_TRUE: Condition = ("True", "", "")


def phase(run: PodRun) -> str:
    """Pending, Running, Succeeded or Failed."""
    if run.is_rejected or (run.is_final and run.ending not in (None, Ending.DELETED)):
        return "Failed"
    if any(one.is_over and one.exit_code != 0 for one in run.of_kind(INIT)):
        return "Failed"
    if any(not _is_initialized(one) for one in run.of_kind(INIT, SIDECAR)) and not _any_started(run):
        return "Failed" if run.is_final else "Pending"
    mains = run.of_kind(MAIN)
    stopped = [one for one in mains if one.terminated is not None or (one.last and not _is_up(one))]
    if any(_is_up(one) for one in mains):
        waiting = [one for one in mains if not _is_up(one) and one not in stopped]
        return "Pending" if waiting else "Running"
    if len(stopped) < len(mains):
        return "Pending"
    if run.is_final:
        return "Succeeded" if all(one.exit_code == 0 for one in mains) else "Failed"
    return "Running"


def conditions(run: PodRun, now_phase: str) -> dict[str, Condition]:
    """The four conditions that a kubelet owns."""
    ready = _containers_ready(run, now_phase)
    sandbox = _TRUE if run.address and not run.is_final else ("False", "", "")
    return {
        "PodReadyToStartContainers": sandbox,
        "Initialized": _initialized(run, now_phase),
        "Ready": _gated(run, ready),
        "ContainersReady": ready,
    }


def status(run: PodRun, devices: DeviceTable, host: str, now: float, foreign: list[Tree]) -> Tree:
    """The whole status; `foreign` are conditions that others own and that stay as they are."""
    generation = run.pod["metadata"].get("generation")
    seen: Tree = {"observedGeneration": generation} if generation is not None else {}
    if run.is_rejected:
        return {
            **seen,
            "phase": "Failed",
            "reason": run.reason,
            "message": f"Pod was rejected: {run.message}",
            "startTime": rfc3339(run.start_time),
            "conditions": foreign,
        }
    word = phase(run)
    tree: Tree = {**seen, "phase": word}
    if run.reason:
        tree["reason"], tree["message"] = run.reason, run.message
    tree["conditions"] = _condition_trees(run, conditions(run, word), now, foreign, seen)
    tree["hostIP"] = host
    tree["hostIPs"] = [{"ip": host}]
    if run.address:
        tree["podIP"] = run.address
        tree["podIPs"] = [{"ip": run.address}]
    tree["startTime"] = rfc3339(run.start_time)
    tree["qosClass"] = (run.pod.get("status") or {}).get("qosClass") or qos_class(run.pod)
    has_init = bool(run.of_kind(INIT, SIDECAR))
    first = [_container(run, one, devices, "PodInitializing") for one in run.of_kind(INIT, SIDECAR)]
    if first:
        tree["initContainerStatuses"] = first
    waiting = "PodInitializing" if has_init else "ContainerCreating"
    tree["containerStatuses"] = [_container(run, one, devices, waiting) for one in run.of_kind(MAIN)]
    return tree


def qos_class(pod: Tree) -> str:
    """Guaranteed, Burstable or BestEffort from CPU and memory of all containers."""
    requested: list[dict[str, str]] = []
    limited: list[dict[str, str]] = []
    for one in (*pod["spec"].get("initContainers", ()), *pod["spec"].get("containers", ())):
        resources = one.get("resources") or {}
        wanted = ("cpu", "memory")
        limited.append(
            {key: value for key, value in (resources.get("limits") or {}).items() if key in wanted}
        )
        requests = {key: value for key, value in (resources.get("requests") or {}).items() if key in wanted}
        requested.append({**limited[-1], **requests})
    if not any(requested):
        return "BestEffort"
    full = all(
        len(limit) == 2 and limit == request for limit, request in zip(limited, requested, strict=True)
    )
    return "Guaranteed" if full else "Burstable"


def _is_up(one: ContainerRun) -> bool:
    return one.stage is Stage.RUNNING


def _is_initialized(one: ContainerRun) -> bool:
    if one.kind == SIDECAR:
        return one.is_started
    return one.is_over and one.exit_code == 0


def _any_started(run: PodRun) -> bool:
    return any(one.terminated or one.last or _is_up(one) for one in run.of_kind(MAIN))


def _names(found: list[ContainerRun]) -> str:
    return f"[{' '.join(one.name for one in found)}]"


def _containers_ready(run: PodRun, now_phase: str) -> Condition:
    if now_phase == "Failed":
        return ("False", "PodFailed", "")
    if now_phase == "Succeeded":
        return ("False", "PodCompleted", "")
    unready = [one for one in run.of_kind(SIDECAR, MAIN) if not one.is_ready]
    if unready:
        return ("False", "ContainersNotReady", f"containers with unready status: {_names(unready)}")
    return _TRUE


def _initialized(run: PodRun, now_phase: str) -> Condition:
    if now_phase == "Succeeded":
        return ("True", "PodCompleted", "")
    incomplete = [one for one in run.of_kind(INIT, SIDECAR) if not _is_initialized(one)]
    if incomplete and not _any_started(run):
        return (
            "False",
            "ContainersNotInitialized",
            f"containers with incomplete status: {_names(incomplete)}",
        )
    return _TRUE


def _gated(run: PodRun, ready: Condition) -> Condition:
    """Ready: as ContainersReady, and every readiness gate True."""
    if ready[0] != "True":
        return ready
    known = {one["type"]: one.get("status") for one in (run.pod.get("status") or {}).get("conditions", ())}
    missing = []
    for gate in run.pod["spec"].get("readinessGates", ()):
        kind = gate["conditionType"]
        if kind not in known:
            missing.append(f'corresponding condition of pod readiness gate "{kind}" does not exist.')
        elif known[kind] != "True":
            missing.append(f'the status of pod readiness gate "{kind}" is not "True", but {known[kind]}')
    return ("False", "ReadinessGatesNotReady", ", ".join(missing)) if missing else ready


def _condition_trees(
    run: PodRun, found: dict[str, Condition], now: float, foreign: list[Tree], seen: Tree
) -> list[Tree]:
    trees: list[Tree] = []
    for kind, (state, reason, message) in found.items():
        held = run.conditions.get(kind)
        since = held[3] if held is not None and held[0] == state else now
        run.conditions[kind] = (state, reason, message, since)
        tree: Tree = {"type": kind, **seen, "status": state, "lastProbeTime": None}
        tree["lastTransitionTime"] = rfc3339(since)
        if reason:
            tree["reason"] = reason
        if message:
            tree["message"] = message
        trees.append(tree)
    return [*trees, *(one for one in foreign if one["type"] not in found)]


def _container(run: PodRun, one: ContainerRun, devices: DeviceTable, waiting: str) -> Tree:
    image = str(one.spec.get("image", ""))
    tree: Tree = {
        "name": one.name,
        "state": _state(one, waiting),
        "lastState": {"terminated": one.last} if one.last else {},
        "ready": one.is_ready,
        "restartCount": one.restarts,
        "image": full_image(image) if one.container_id else image,
        "imageID": image_digest(full_image(image)) if one.container_id else "",
        "started": one.is_started and _is_up(one),
    }
    if one.container_id:
        tree["containerID"] = one.container_id
        resources = one.spec.get("resources") or {}
        if resources.get("requests"):
            tree["allocatedResources"] = resources["requests"]
        if resources:
            tree["resources"] = resources
    ill = _health(run, one, devices)
    if ill:
        tree["allocatedResourcesStatus"] = ill
    return tree


def _state(one: ContainerRun, waiting: str) -> Tree:
    if _is_up(one):
        return {"running": {"startedAt": rfc3339(one.started_at)}}
    if one.terminated is not None:
        return {"terminated": one.terminated}
    state: Tree = {"reason": one.reason or waiting}
    if one.message:
        state["message"] = one.message
    return {"waiting": state}


def _health(run: PodRun, one: ContainerRun, devices: DeviceTable) -> list[Tree]:
    """Devices of the container, once one of the node's devices was reported ill."""
    found: list[Tree] = []
    for holder in devices.held_by(run.node, run.uid, one.name):
        ill = [device for device in holder.device_ids if not devices.is_healthy(run.node, device)]
        if ill:
            resources = [
                {"resourceID": device, "health": "Unhealthy" if device in ill else "Healthy"}
                for device in holder.device_ids
            ]
            found.append({"name": holder.resource, "resources": resources})
    return found
