"""The status ConfigMap in the YAML form that cluster-autoscaler writes since 1.30.

Source: kubernetes-sigs/cluster-autoscaler pkg/clusterstate/api/types.go.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from cockpit.sim.actors.autoscaler.groups import NodeGroup
from cockpit.sim.times import rfc3339

NAMESPACE, NAME = "kube-system", "cluster-autoscaler-status"
UPDATED_ANNOTATION = "cluster-autoscaler.kubernetes.io/last-updated"


def updated(now_seconds: float) -> str:
    """Go's time layout `2006-01-02 15:04:05.999999999 -0700 MST`."""
    text = datetime.fromtimestamp(now_seconds, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")
    return f"{text.rstrip('0').rstrip('.')} +0000 UTC"


def status_text(
    groups: Sequence[NodeGroup],
    *,
    all_nodes: int,
    ready_nodes: int,
    now_seconds: float,
    backing_off: Mapping[str, str],
    candidates: Mapping[str, int],
    since: Mapping[str, float],
) -> str:
    """`data.status`. `candidates` counts unneeded nodes by group id; `since` holds transition times by
    `group id/part`, "" standing for the whole cluster."""
    import yaml

    growing = [group for group in groups if group.target > len(group.ready) and group.id not in backing_off]
    tree: dict[str, Any] = {
        "time": updated(now_seconds),
        "autoscalerStatus": "Running",
        "clusterWide": {
            "health": {
                "status": "Healthy",
                "nodeCounts": {"registered": _registered(all_nodes, ready_nodes)},
                **_times("/health", now_seconds, since),
            },
            "scaleUp": {
                "status": "InProgress" if growing else "NoActivity",
                **_times("/scaleUp", now_seconds, since),
            },
            "scaleDown": {
                "status": "CandidatesPresent" if sum(candidates.values()) else "NoCandidates",
                **({"candidates": sum(candidates.values())} if sum(candidates.values()) else {}),
                **_times("/scaleDown", now_seconds, since),
            },
        },
        "nodeGroups": [_group(one, now_seconds, backing_off, candidates, since) for one in groups],
    }
    # Written every ten seconds of the cluster: by libyaml where it is, a third of the time.
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    text: str = yaml.dump(tree, Dumper=dumper, sort_keys=False)
    return text


def _registered(total: int, ready: int) -> dict[str, Any]:
    return {
        "total": total,
        "ready": ready,
        "notStarted": total - ready,
        "beingDeleted": 0,
        "unready": {"total": 0, "resourceUnready": 0},
    }


def _times(part: str, now_seconds: float, since: Mapping[str, float]) -> dict[str, str]:
    return {
        "lastProbeTime": rfc3339(now_seconds),
        "lastTransitionTime": rfc3339(since.get(part, now_seconds)),
    }


def _group(
    group: NodeGroup,
    now_seconds: float,
    backing_off: Mapping[str, str],
    candidates: Mapping[str, int],
    since: Mapping[str, float],
) -> dict[str, Any]:
    up: dict[str, Any] = {"status": scale_up_word(group, backing_off)}
    if group.id in backing_off:
        up["backoffInfo"] = {"errorCode": "OTHER", "errorMessage": backing_off[group.id]}
    count = candidates.get(group.id, 0)
    return {
        "name": group.id,
        "health": {
            "status": "Healthy",
            "nodeCounts": {
                "registered": _registered(len(group.nodes), len(group.ready)),
                "longUnregistered": 0,
                "unregistered": max(0, group.target - len(group.nodes)),
            },
            "cloudProviderTarget": group.target,
            "minSize": group.minimum,
            "maxSize": group.maximum,
            **_times(f"{group.id}/health", now_seconds, since),
        },
        "scaleUp": {**up, **_times(f"{group.id}/scaleUp", now_seconds, since)},
        "scaleDown": {
            "status": "CandidatesPresent" if count else "NoCandidates",
            **({"candidates": count} if count else {}),
            **_times(f"{group.id}/scaleDown", now_seconds, since),
        },
    }


def scale_up_word(group: NodeGroup, backing_off: Mapping[str, str]) -> str:
    """`Backoff`, `InProgress` or `NoActivity`."""
    if group.id in backing_off:
        return "Backoff"
    return "InProgress" if group.target > len(group.ready) else "NoActivity"
