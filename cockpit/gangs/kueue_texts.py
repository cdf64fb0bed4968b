"""Kueue's sentences as data. Patterns are tolerant: wording moves between releases.

Sources: kueue pkg/scheduler/flavorassigner/flavorassigner.go, pkg/scheduler/scheduler.go,
pkg/cache/scheduler/tas_flavor_snapshot.go, apis/kueue/v1beta2/workload_types.go; the forms of v0.15 were
seen on the real controller.
"""

import re
from typing import NamedTuple


class KueueText(NamedTuple):
    """`words` may use the pattern's named groups, and {namespace}, {queue} and {cluster_queue} of the
    workload. `is_blocked` where waiting alone will never help."""

    id: str
    pattern: re.Pattern[str]
    words: str
    is_blocked: bool = False


def _text(id_: str, pattern: str, words: str, is_blocked: bool = False) -> KueueText:
    return KueueText(id_, re.compile(pattern, re.IGNORECASE | re.DOTALL), words, is_blocked)


UNUSED = re.compile(
    r"insufficient unused quota(?: in cohort)? for (?P<resource>\S+) in flavor (?P<flavor>[^\s,]+),"
    r"\s*(?P<missing>[\w.]+) more needed",
    re.IGNORECASE,
)
EXCEEDS = re.compile(
    r"insufficient quota for (?P<resource>\S+) in flavor (?P<flavor>[^\s,]+),"
    r"[^()]*\((?P<before>[\w.]+)\)[^()]*\((?P<asked>[\w.]+)\)[^()]*\((?P<most>[\w.]+)\)",
    re.IGNORECASE,
)
PREEMPTING = re.compile(r"Pending the preemption of (?P<count>\d+) workload", re.IGNORECASE)
PREEMPTED_BY = re.compile(r"JobUID: (?P<uid>[0-9a-fA-F-]+)")

QUEUED_TEXTS: tuple[KueueText, ...] = (
    _text(
        "B4",
        r"LocalQueue (?P<name>\S+) doesn't exist",
        "queue {name} does not exist in namespace {namespace}",
        True,
    ),
    _text("B4", r"ClusterQueue (?P<name>\S+) doesn't exist", "ClusterQueue {name} does not exist", True),
    _text("B5", r"LocalQueue (?P<name>\S+) is (?:inactive|stopped)", "queue {name} is stopped", True),
    _text("B5", r"ClusterQueue (?P<name>\S+) is stopped", "ClusterQueue {name} is stopped", True),
    _text("B4", r"ClusterQueue (?P<name>\S+) is inactive", "ClusterQueue {name} is not active", True),
    _text(
        "B4",
        r"namespace doesn't match ClusterQueue selector",
        "ClusterQueue {cluster_queue} takes no jobs from namespace {namespace}",
        True,
    ),
    _text(
        "B9",
        r'topology "(?P<name>[^"]+)" allows to fit only (?P<some>\d+) out of (?P<all>\d+) pod',
        "topology {name} has room for {some} of {all} pods in one place",
    ),
    _text(
        "B9",
        r'topology "(?P<name>[^"]+)" doesn\'t allow to fit any of (?P<all>\d+) pod',
        "topology {name} has room for none of {all} pods",
    ),
    _text(
        "B3",
        r"untolerated taint \{(?P<taint>[^\s}:]+)[^}]*\} in flavor (?P<flavor>[^\s,]+)",
        "flavor {flavor} has taint {taint} that the pods do not tolerate",
        True,
    ),
    _text(
        "B3",
        r"flavor (?P<flavor>\S+) doesn't match node affinity",
        "the job's node selector rules out flavor {flavor}",
        True,
    ),
    _text("B3", r"flavor (?P<flavor>\S+) not found", "ResourceFlavor {flavor} does not exist", True),
    _text(
        "B3",
        r"resource (?P<resource>\S+) unavailable in ClusterQueue",
        "ClusterQueue {cluster_queue} offers no {resource}",
        True,
    ),
    _text("B10", r"Pending the preemption of 1 workload", "waits for 1 preempted job to end"),
    _text(
        "B10", r"Pending the preemption of (?P<count>\d+) workload", "waits for {count} preempted jobs to end"
    ),
    _text(
        "B1",
        r"no longer fits after processing another workload",
        "another job took the quota: waits for its next turn",
    ),
    _text(
        "B8",
        r"waiting for all admitted workloads to be in PodsReady",
        "waits until the pods of another admitted job are ready",
    ),
    _text("B26", r"Preempted to accommodate a workload", "waits for Kueue to look at it again"),
    _text("B6", r"workload is deactivated", "held: its workload is switched off"),
    _text("B13", r"exceeded the PodsReady timeout", "its pods were not ready in time: it was put back"),
    _text("B11", r"admission.?gated", "held by an admission gate: its controller has to lift it"),
    _text("B12", r"backoff", "waits out a back-off before the next attempt"),
)

REASON_WORDS: dict[str, tuple[str, bool]] = {
    # reason of QuotaReserved=False -> words where the message says nothing known, and whether it is blocked
    "WaitingForQuota": ("waits for free quota in {cluster_queue}", False),
    "ExceedsMaxQuota": ("asks more than {cluster_queue} can ever give", True),
    "NoMatchingFlavor": ("no flavor of {cluster_queue} matches its pods", True),
    "Misconfigured": ("queue {queue} is missing or not usable", True),
    "Suspended": ("queue {queue} is stopped", True),
    "AdmissionGated": ("held by an admission gate: its controller has to lift it", False),
    "WaitingForPodsReady": ("waits until the pods of another admitted job are ready", False),
    "TopologyPlacementFailed": ("no place in the topology is large enough now", False),
    "WaitingForPreemptedWorkloads": ("waits for preempted jobs to end", False),
    "PendingEvaluation": ("waits for Kueue to look at it", False),
    "OnHold": ("held by Kueue", False),
    "Deactivated": ("held: its workload is switched off", False),
}

EVICTED_WORDS: dict[str, str] = {
    "PodsReadyTimeout": "its pods were not ready in time: it was put back",
    "AdmissionCheck": "an admission check took its place back",
    "ClusterQueueStopped": "its ClusterQueue was stopped and drained",
    "LocalQueueStopped": "its queue was stopped and drained",
    "NodeFailures": "put back after node failures",
    "FlavorMigration": "moves to another flavor",
}

HELD_WORDS: dict[str, str] = {
    "DeactivatedDueToRequeuingLimitExceeded": "held after too many tries: its pods were never ready in time",
    "RequeuingLimitExceeded": "held after too many tries: its pods were never ready in time",
    "DeactivatedDueToMaximumExecutionTimeExceeded": "held: it ran longer than it was allowed to",
    "MaximumExecutionTimeExceeded": "held: it ran longer than it was allowed to",
}
HELD_BY_PERSON = "held: its workload is switched off (spec.active false)"

INACTIVE_WORDS: dict[str, str] = {
    # reason of Active=False on a queue
    "Stopped": "stopped",
    "Terminating": "being deleted",
    "FlavorNotFound": "names a ResourceFlavor that does not exist",
    "AdmissionCheckNotFound": "names an admission check that does not exist",
    "AdmissionCheckInactive": "has an admission check that is not active",
    "TopologyNotFound": "names a topology that does not exist",
    "ClusterQueueIsInactive": "its ClusterQueue is not active",
    "ClusterQueueDoesNotExist": "its ClusterQueue does not exist",
}
