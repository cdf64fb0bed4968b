"""What cluster-autoscaler says in events on its status ConfigMap, as values.

Sources: kubernetes-sigs/cluster-autoscaler pkg/clusterstate/clusterstate.go, pkg/core/scaleup/orchestrator
executor.go, pkg/processors/status/eventing_scale_up_processor.go, pkg/core/scaledown/actuation.
"""

import re
from typing import NamedTuple

from cockpit.model.event import Event
from cockpit.pools.failure_classes import Classed, classed
from cockpit.pools.owner import FailureClass, GroupRefusal

_GROUP = r"(?P<group>\S+)"
_PATTERNS = {
    "ScaledUpGroup": rf"^Scale-up: (?:setting )?group {_GROUP} size (?:to|set to) (?P<to>\d+)"
    r" instead of (?P<now>\d+)",
    "FailedToScaleUpGroup": rf"^Scale-up failed for group {_GROUP}: (?P<why>.*)$",
    "ScaleUpTimedOut": rf"^Nodes added to group {_GROUP} failed to register within (?P<why>[\dhms]+)",
    "ScaleUpFailed": rf"^Failed adding (?P<count>\d+) nodes? to group {_GROUP} due to (?P<code>[^;]+)"
    r"(?:; source errors: (?P<why>.*))?$",
    "MaxNodesTotalReached": r"^Max total nodes in cluster reached: (?P<why>\d+)",
    "ClusterUnhealthy": r"^Cluster is unhealthy",
    "ScaleDownEmpty": r"^Scale-down: (?:removing )?empty node \"?(?P<node>[^\s\"]+)\"?(?: removed)?$",
    "ScaleDown": r"^Scale-down: (?:removing )?node (?P<node>[^\s,]+)"
    r"(?: removed with drain|, utilization: .*?, pods to reschedule: (?P<why>.*))$",
    "ScaleDownFailed": r"^(?P<why>failed to .*)$",
}
_READ = {reason: re.compile(pattern, re.DOTALL) for reason, pattern in _PATTERNS.items()}
_OF_NODES = ("ScaleDownEmpty", "ScaleDown", "ScaleDownFailed")
GREW = "ScaledUpGroup"
FAILURES = tuple(reason for reason in _PATTERNS if reason not in (GREW, *_OF_NODES))
"""Those of a scale-up."""
KEPT = tuple(_PATTERNS)


_COMBINED = "(combined from similar events): "
"""Put before a message by what writes many alike (client-go tools/record/events_cache.go)."""
_REFUSED = "pod didn't trigger scale-up: "
_PART = re.compile(r"(\d+) (.+?)(?=, \d+ |$)", re.DOTALL)
_OF_ALL = ("max total nodes in cluster reached", "max cluster limit reached")
_FULL = ("max node group size reached", *_OF_ALL)
_WAITS = ("in backoff after failed scale-up", "not ready for scale-up")
"""Sources: kubernetes-sigs/cluster-autoscaler pkg/core/scaleup/orchestrator/skippedreasons.go."""


def refusals_of(event: Event) -> tuple[GroupRefusal, ...]:
    """The counts of a NotTriggerScaleUp: they are of groups, never of nodes; () for any other event."""
    if event.reason != "NotTriggerScaleUp":
        return ()
    _, _, told = event.message.partition(_REFUSED)
    return tuple(
        GroupRefusal(int(count), reason, *(reason.startswith(some) for some in (_FULL, _WAITS, _OF_ALL)))
        for count, reason in _PART.findall(told)
    )


class Said(NamedTuple):
    """One event as values. `group` "" where it concerns the whole cluster; sizes None where it has none."""

    reason: str
    group: str = ""
    code: str = ""
    why: str = ""
    to_nodes: int | None = None
    from_nodes: int | None = None
    node: str = ""  # that it takes away, or could not


def said_by(event: Event) -> Said | None:
    """What an event of the autoscaler says; None for one that is not known."""
    pattern = _READ.get(event.reason)
    message = event.message.removeprefix(_COMBINED)
    found = pattern.match(message) if pattern is not None else None
    if found is None:
        return None
    parts = found.groupdict()
    to_nodes, from_nodes = (int(parts[key]) if parts.get(key) else None for key in ("to", "now"))
    return Said(
        event.reason,
        (parts.get("group") or "").rstrip(",;:"),
        (parts.get("code") or "").strip(),
        (parts.get("why") or "").strip(),
        to_nodes,
        from_nodes,
        parts.get("node") or (event.object_name if event.object_kind == "Node" else ""),
    )


def meaning(said: Said) -> Classed:
    """Class, sentence and remedy of a failure."""
    if said.reason == "ScaleUpTimedOut":
        return Classed(
            FailureClass.JOIN,
            f"machines were made and no node joined within {said.why}",
            "read their boot log: network, role, image and join token of the nodes",
        )
    if said.reason == "MaxNodesTotalReached":
        return Classed(
            FailureClass.LIMIT,
            f"the cluster is at the {said.why} nodes that the cluster autoscaler allows",
            "raise --max-nodes-total of the cluster autoscaler",
        )
    if said.reason == "ClusterUnhealthy":
        return Classed(
            FailureClass.OTHER,
            "the cluster autoscaler calls the cluster unhealthy and adds no node",
            "mend the nodes that are not ready",
        )
    return classed(said.code, said.why)
