"""The row of a pod, as `kubectl get pods` shows it."""

from typing import Any

from cockpit.sim.port import Tree
from cockpit.sim.server.http.tables.columns import AGE, NAME, NONE, Printer, TableColumn, age, part, since

_COLUMNS = (
    *(NAME, TableColumn("Ready"), TableColumn("Status"), TableColumn("Restarts"), AGE),
    *(TableColumn(name, priority=1) for name in ("IP", "Node", "Nominated Node", "Readiness Gates")),
)


class _Counts:
    """What is counted over containers: restarts, the last one's time, and how many are ready."""

    def __init__(self) -> None:
        self.restarts = 0
        self.last = ""
        self.ready = 0

    def add(self, status: Tree) -> None:
        self.restarts += status.get("restartCount") or 0
        ended = part(status, "lastState", "terminated").get("finishedAt") or ""
        self.last = max(self.last, ended)

    def text(self, now_seconds: float) -> str:
        if self.restarts and self.last:
            return f"{self.restarts} ({since(self.last, now_seconds)} ago)"
        return str(self.restarts)


def _ended(terminated: Tree, prefix: str = "") -> str:
    if terminated.get("reason"):
        return f"{prefix}{terminated['reason']}"
    if terminated.get("signal"):
        return f"{prefix}Signal:{terminated['signal']}"
    return f"{prefix}ExitCode:{terminated.get('exitCode', 0)}"


def _has(tree: Tree, kind: str, status: str = "True") -> bool:
    conditions = part(tree, "status").get("conditions") or ()
    return any(one.get("type") == kind and one.get("status") == status for one in conditions)


def _initial(tree: Tree, reason: str, counts: _Counts, stays: _Counts) -> tuple[str, bool]:
    """Reason and whether init containers still stand in the way; counts what they did."""
    spec = part(tree, "spec")
    inits = spec.get("initContainers") or ()
    sidecars = {one["name"] for one in inits if one.get("restartPolicy") == "Always"}
    for number, status in enumerate(part(tree, "status").get("initContainerStatuses") or ()):
        is_sidecar = status["name"] in sidecars
        counts.add(status)
        if is_sidecar:
            stays.add(status)
        state = status.get("state") or {}
        terminated, waiting = state.get("terminated"), state.get("waiting") or {}
        if terminated and terminated.get("exitCode", 0) == 0:
            continue
        if is_sidecar and status.get("started"):
            counts.ready += bool(status.get("ready"))
            continue
        if terminated:
            return _ended(terminated, "Init:"), True
        if waiting.get("reason") and waiting["reason"] != "PodInitializing":
            return f"Init:{waiting['reason']}", True
        return f"Init:{number}/{len(inits)}", True
    return reason, False


def _running(tree: Tree, reason: str, counts: _Counts) -> str:
    has_running = False
    for status in reversed(part(tree, "status").get("containerStatuses") or ()):
        counts.add(status)
        state = status.get("state") or {}
        terminated, waiting = state.get("terminated"), state.get("waiting") or {}
        if waiting.get("reason"):
            reason = waiting["reason"]
        elif terminated is not None:
            reason = _ended(terminated)
        elif status.get("ready") and state.get("running") is not None:
            has_running = True
            counts.ready += 1
    if reason == "Completed" and has_running:
        return "Running" if _has(tree, "Ready") else "NotReady"
    return reason


def status_text(tree: Tree, counts: _Counts | None = None) -> tuple[str, _Counts]:
    """The word in the column Status, and what was counted on the way (printers.go `printPod`)."""
    counts, stays = counts or _Counts(), _Counts()
    status = part(tree, "status")
    reason = status.get("reason") or status.get("phase") or ""
    for one in status.get("conditions") or ():
        if one.get("type") == "PodScheduled" and one.get("reason") == "SchedulingGated":
            reason = "SchedulingGated"
    reason, initializing = _initial(tree, reason, counts, stays)
    if not initializing or _has(tree, "Initialized"):
        stays.ready = counts.ready
        counts = stays
        reason = _running(tree, reason, counts)
    if part(tree, "metadata").get("deletionTimestamp"):
        if status.get("reason") == "NodeLost":
            reason = "Unknown"
        elif status.get("phase") not in ("Succeeded", "Failed"):
            reason = "Terminating"
    return reason, counts


def _gates(tree: Tree) -> str:
    gates = part(tree, "spec").get("readinessGates") or ()
    if not gates:
        return NONE
    held = sum(_has(tree, one["conditionType"]) for one in gates)
    return f"{held}/{len(gates)}"


def _cells(tree: Tree, now_seconds: float) -> list[Any]:
    spec, status = part(tree, "spec"), part(tree, "status")
    reason, counts = status_text(tree)
    sidecars = [one for one in spec.get("initContainers") or () if one.get("restartPolicy") == "Always"]
    total = len(spec.get("containers") or ()) + len(sidecars)
    addresses = status.get("podIPs") or ()
    address = addresses[0].get("ip") if addresses else status.get("podIP")
    return [
        tree["metadata"]["name"],
        f"{counts.ready}/{total}",
        reason,
        counts.text(now_seconds),
        age(tree, now_seconds),
        address or NONE,
        spec.get("nodeName") or NONE,
        status.get("nominatedNodeName") or NONE,
        _gates(tree),
    ]


def _conditions(tree: Tree) -> list[Tree]:
    """Marks rows of pods that have ended, so that a client can leave them out."""
    ended = {
        "Succeeded": "The pod has completed successfully.",
        "Failed": "The pod failed.",
    }
    phase = part(tree, "status").get("phase")
    if phase not in ended:
        return []
    return [{"type": "Completed", "status": "True", "reason": phase, "message": ended[phase]}]


PODS = Printer(_COLUMNS, _cells, _conditions)
