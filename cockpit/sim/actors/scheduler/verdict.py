"""Verdicts on one pod and the sentence that kube-scheduler makes of them.

Source of the wording: kubernetes 1.36 pkg/scheduler/framework (FitError) and the constants of its plugins.
"""

from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import NamedTuple


class Code(IntEnum):
    """How final a refusal is: preemption is tried only on nodes that are UNSCHEDULABLE."""

    UNSCHEDULABLE = 2
    UNRESOLVABLE = 3


class Status(NamedTuple):
    """Why one node (or, from a PreFilter, every node) refuses the pod. None stands for "it fits"."""

    code: Code
    plugin: str
    reasons: tuple[str, ...]


def unresolvable(plugin: str, *reasons: str) -> Status:
    """A refusal that no preemption can cure."""
    return Status(Code.UNRESOLVABLE, plugin, reasons)


def unschedulable(plugin: str, *reasons: str) -> Status:
    """A refusal that may go away when other pods do."""
    return Status(Code.UNSCHEDULABLE, plugin, reasons)


NO_NODES = "no nodes available to schedule pods"
NO_CLAIMS = "no new claims to deallocate"
NOT_HELPFUL = "Preemption is not helpful for scheduling"
NO_VICTIMS = unresolvable("DefaultPreemption", "No preemption victims found for incoming pod")
NEVER_PREEMPTS = "not eligible due to preemptionPolicy=Never."
VICTIM_LEAVES = "not eligible due to a terminating pod on the nominated node."


class SchedulingResult(NamedTuple):
    """What became of one pod: a node, or the sentence why there is none.

    `nominated` is the node on which victims are leaving for this pod: "" takes an older nomination back, None
    leaves it as it is; `plugins` are those that
    refused it, which decides what wakes it; `victims` are keys of pods (uid) to be ended.
    """

    node: str = ""
    message: str = ""
    plugins: frozenset[str] = frozenset()
    nominated: str | None = None
    victims: tuple[str, ...] = ()


def histogram(counts: Mapping[Status, int], absent: int = 0, absent_reason: str = "") -> str:
    """` 1 Insufficient cpu, 2 Too many pods.`: reasons with the number of nodes, sorted as text; or ""."""
    reasons: dict[str, int] = {}
    for status, count in counts.items():
        for reason in status.reasons:
            reasons[reason] = reasons.get(reason, 0) + count
    if absent > 0 and absent_reason:
        reasons[absent_reason] = reasons.get(absent_reason, 0) + absent
    lines = sorted(f"{count} {reason}" for reason, count in reasons.items())
    return f" {', '.join(lines)}." if lines else ""


def none_of(nodes: int, parts: str, after: str = "") -> str:
    """`0/5 nodes are available:` with what follows: the parts, then what PostFilter said."""
    return f"0/{nodes} nodes are available:{parts}{f' {after}' if after else ''}"


def plugins_of(statuses: Iterable[Status]) -> frozenset[str]:
    """The plugins behind statuses."""
    return frozenset(status.plugin for status in statuses)
