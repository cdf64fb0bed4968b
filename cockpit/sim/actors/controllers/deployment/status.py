"""A Deployment's status: counts of its ReplicaSets, and whether it gets on."""

from collections.abc import Sequence
from typing import Any

from cockpit.sim.actors.controllers.deployment.sizes import max_unavailable, total_replicas, total_status
from cockpit.sim.actors.controllers.replica_sets import replicas_of
from cockpit.sim.actors.controllers.trees import condition_of, without_empty
from cockpit.sim.port import Tree
from cockpit.sim.times import rfc3339, seconds_of

_COUNTS = ("replicas", "readyReplicas", "availableReplicas")
TIMED_OUT = "ProgressDeadlineExceeded"
_AVAILABLE = "NewReplicaSetAvailable"
_NO_DEADLINE = 2**31 - 1


def progress_deadline_seconds(deployment: Tree) -> float | None:
    """How long a rollout may stand still; None for ever."""
    seconds = deployment["spec"].get("progressDeadlineSeconds", 600)
    return None if seconds is None or seconds == _NO_DEADLINE else float(seconds)


def set_deployment_condition(
    conditions: list[Tree], type_: str, status: str, *, reason: str, message: str, now: float
) -> None:
    """Put a condition at the end of the list; one with the same status and reason stays as it is."""
    held = next((c for c in conditions if c["type"] == type_), None)
    if held is not None and held["status"] == status and held["reason"] == reason:
        return
    at = rfc3339(now)
    moved = held is None or held["status"] != status
    fresh = {
        "type": type_,
        "status": status,
        "lastUpdateTime": at,
        "lastTransitionTime": at if moved or held is None else held["lastTransitionTime"],
        "reason": reason,
        "message": message,
    }
    conditions[:] = [*(c for c in conditions if c["type"] != type_), fresh]


def status_of(
    deployment: Tree, new: Tree | None, old: Sequence[Tree], conditions: list[Tree], now: float
) -> Tree:
    """The status after this round; `conditions` is the caller's own list and is written on."""
    sets = [*old, *([new] if new is not None else [])]
    status: dict[str, Any] = {name: total_status(sets, name) for name in _COUNTS}
    status["updatedReplicas"] = total_status([new] if new is not None else [], "replicas")
    status["unavailableReplicas"] = max(0, total_replicas(sets) - status["availableReplicas"])
    status["terminatingReplicas"] = total_status(sets, "terminatingReplicas")
    status["observedGeneration"] = deployment["metadata"].get("generation", 0)
    status["collisionCount"] = deployment.get("status", {}).get("collisionCount", 0)
    is_enough = status["availableReplicas"] >= replicas_of(deployment) - max_unavailable(deployment)
    set_deployment_condition(
        conditions,
        "Available",
        str(is_enough),
        reason="MinimumReplicasAvailable" if is_enough else "MinimumReplicasUnavailable",
        message=f"Deployment {'has' if is_enough else 'does not have'} minimum availability.",
        now=now,
    )
    return {**without_empty(status, keep=("terminatingReplicas",)), "conditions": conditions}


def tell_progress(deployment: Tree, new: Tree | None, status: Tree, sets: Sequence[Tree], now: float) -> None:
    """Write Progressing and ReplicaFailure into `status` (pkg/controller/deployment/progress.go)."""
    conditions: list[Tree] = status["conditions"]
    deadline = progress_deadline_seconds(deployment)
    held = condition_of({"status": status}, "Progressing")
    if deadline is None:
        conditions[:] = [c for c in conditions if c["type"] != "Progressing"]
    elif not _was_complete(status, held):
        _set_progress(deployment, new, status, held, now)
    failures = [
        c
        for tree in ([new] if new is not None else []) + list(sets)
        for c in tree.get("status", {}).get("conditions") or ()
        if c["type"] == "ReplicaFailure"
    ]
    if failures:
        first = failures[0]
        set_deployment_condition(
            conditions,
            "ReplicaFailure",
            first["status"],
            reason=first["reason"],
            message=first["message"],
            now=now,
        )
    else:
        conditions[:] = [c for c in conditions if c["type"] != "ReplicaFailure"]


def is_complete(deployment: Tree, status: Tree) -> bool:
    """True when all pods are of the new template and available."""
    wanted = replicas_of(deployment)
    return all(
        status.get(name, 0) == wanted for name in ("updatedReplicas", "replicas", "availableReplicas")
    ) and status.get("observedGeneration", 0) >= deployment["metadata"].get("generation", 0)


def _was_complete(status: Tree, held: Tree | None) -> bool:
    return (
        held is not None
        and held["reason"] == _AVAILABLE
        and status.get("replicas", 0) == status.get("updatedReplicas", 0)
    )


def _set_progress(deployment: Tree, new: Tree | None, status: Tree, held: Tree | None, now: float) -> None:
    who = f'Deployment "{deployment["metadata"]["name"]}"'
    if new is not None:
        who = f'ReplicaSet "{new["metadata"]["name"]}"'
    conditions: list[Tree] = status["conditions"]
    if is_complete(deployment, status):
        set_deployment_condition(
            conditions,
            "Progressing",
            "True",
            reason=_AVAILABLE,
            message=f"{who} has successfully progressed.",
            now=now,
        )
    elif _has_progressed(deployment.get("status") or {}, status):
        at = rfc3339(now)
        since = held["lastTransitionTime"] if held is not None and held["status"] == "True" else at
        fresh = {
            "type": "Progressing",
            "status": "True",
            "lastUpdateTime": at,
            "lastTransitionTime": since,
            "reason": "ReplicaSetUpdated",
            "message": f"{who} is progressing.",
        }
        conditions[:] = [*(c for c in conditions if c["type"] != "Progressing"), fresh]
    elif held is not None and has_timed_out(deployment, held, now):
        set_deployment_condition(
            conditions,
            "Progressing",
            "False",
            reason=TIMED_OUT,
            message=f"{who} has timed out progressing.",
            now=now,
        )


def _has_progressed(before: Tree, after: Tree) -> bool:
    def old_pods(status: Tree) -> int:
        return int(status.get("replicas", 0) - status.get("updatedReplicas", 0))

    return old_pods(after) < old_pods(before) or any(
        after.get(name, 0) > before.get(name, 0)
        for name in ("updatedReplicas", "readyReplicas", "availableReplicas")
    )


def has_timed_out(deployment: Tree, held: Tree, now: float) -> bool:
    """True when the rollout has stood still for longer than its deadline."""
    deadline = progress_deadline_seconds(deployment)
    if deadline is None or held["reason"] == _AVAILABLE:
        return False
    return held["reason"] == TIMED_OUT or seconds_of(held["lastUpdateTime"]) + deadline < now
