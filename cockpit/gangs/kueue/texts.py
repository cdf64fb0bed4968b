"""Kueue's sentences as data. Patterns are tolerant: wording moves between releases.

Sources: kueue pkg/scheduler/flavorassigner/flavorassigner.go, pkg/scheduler/scheduler.go,
pkg/cache/scheduler/tas_flavor_snapshot.go, pkg/controller/core/workload_controller.go,
apis/kueue/v1beta2/workload_types.go; the forms of v0.15 and v0.19 were seen on the real controller.
"""

import re
from functools import cache
from typing import NamedTuple

from cockpit.catalogue.cause import Cause
from cockpit.model.finding import Permanence


class KueueText(NamedTuple):
    """`words` may use the pattern's named groups, and {namespace}, {queue}, {cluster_queue}, {selector} and
    {level} of the workload. `permanence` None: that of the cause."""

    id: str
    regex: str
    words: str
    permanence: Permanence | None = None

    def found(self, message: str) -> re.Match[str] | None:
        """Where a message says it. Compiled at first use: the first frame waits for this file."""
        return _compiled(self.regex).search(message)


@cache
def _compiled(regex: str) -> re.Pattern[str]:
    return re.compile(regex, re.IGNORECASE | re.DOTALL)


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

SAYS_NOTHING = re.compile(
    r"Bypassed scheduling evaluation|pending evaluation in the scheduling queue", re.IGNORECASE
)
"""Said of what Kueue did not look at: another like it stands for it, or it is not at the head."""
PASSED_OVER = re.compile(r"Bypassed scheduling evaluation", re.IGNORECASE)
REJECTED = (
    re.compile(
        r"AdmissionCheck in Rejected state: \"(?P<check>[^\"]+)\"(?: \((?P<message>.*)\))?", re.IGNORECASE
    ),
    re.compile(r"Admission check\(s\): (?P<check>.+?),? were rejected(?P<message>)", re.IGNORECASE),
)
LOST_WORDS = "put back: node {node} was lost and its topology had no other"
LOST_NODES = re.compile(
    r"no replacement (?:found )?for (?:an? |the )?(?:unhealthy|failed) nodes?(?:\(s\))?:? (?P<node>[^\s,;]+)",
    re.IGNORECASE,
)
GATED = "held until {holder} takes back its admission-gated-by"


def is_about_pods_ready(reason: str, message: str) -> bool:
    """Whether it waits until the pods of an admitted job are ready (waitForPodsReady with blockAdmission)."""
    return reason == "WaitingForPodsReady" or "to be in PodsReady" in message


QUEUED_TEXTS: tuple[KueueText, ...] = (
    KueueText(
        Cause.QUEUE_UNUSABLE,
        r"LocalQueue (?P<queue>\S+) doesn't exist",
        "queue {queue} does not exist in namespace {namespace}",
    ),
    KueueText(
        Cause.QUEUE_UNUSABLE,
        r"ClusterQueue (?P<cluster_queue>\S+) (?:doesn't exist|not found)",
        "ClusterQueue {cluster_queue} does not exist",
    ),
    KueueText(
        Cause.QUEUE_STOPPED,
        r"LocalQueue (?P<queue>\S+) is (?:inactive|stopped)",
        "queue {queue} is stopped",
    ),
    KueueText(
        Cause.QUEUE_STOPPED,
        r"ClusterQueue (?P<cluster_queue>\S+) is stopped",
        "ClusterQueue {cluster_queue} is stopped",
    ),
    KueueText(
        Cause.QUEUE_UNUSABLE,
        r"ClusterQueue (?P<cluster_queue>\S+) is inactive",
        "ClusterQueue {cluster_queue} is not active",
    ),
    KueueText(
        Cause.QUEUE_UNUSABLE,
        r"namespace doesn't match ClusterQueue selector",
        "ClusterQueue {cluster_queue} takes no jobs from namespace {namespace}",
    ),
    KueueText(
        Cause.TOPOLOGY_FULL,
        r'topology "(?P<topology>[^"]+)" allows to fit only (?P<fits>\d+) out of (?P<pods>\d+) (?:pod|slice)'
        r"(?:[^;]*; excluded: (?P<excluded>[^;]+))?",
        "topology {topology} has room for {fits} of {pods} pods in one place",
    ),
    KueueText(
        Cause.TOPOLOGY_FULL,
        r'topology "(?P<topology>[^"]+)" doesn\'t allow to fit any of (?P<pods>\d+) (?:pod|slice)'
        r"(?:[^;]*; excluded: (?P<excluded>[^;]+))?",
        "topology {topology} has room for none of {pods} pods",
    ),
    KueueText(
        Cause.NO_FLAVOR_FITS,
        r"untolerated taint \{(?P<taint>[^\s}:]+)(?: (?P<value>(?!No|Prefer)[^\s}]+))?[^}]*\} in flavor"
        r" (?P<flavor>[^\s,]+)",
        "flavor {flavor} has taint {taint} that the pods do not tolerate",
    ),
    KueueText(
        Cause.NO_FLAVOR_FITS,
        r"flavor (?P<flavor>\S+) doesn't match node affinity",
        "node selector {selector} rules out flavor {flavor}",
    ),
    KueueText(
        Cause.NO_FLAVOR_FITS,
        r"flavor (?P<flavor>\S+) not found",
        "ResourceFlavor {flavor} does not exist",
    ),
    KueueText(
        Cause.NO_FLAVOR_FITS,
        r"resource (?P<resource>\S+) unavailable in ClusterQueue",
        "ClusterQueue {cluster_queue} offers no {resource}",
    ),
    KueueText(
        Cause.NO_FLAVOR_FITS,
        r"pod set (?P<pod_set>[^\s:;]+): no (?:TAS )?flavor assigned",
        "pod set {pod_set} asks for nothing that queue {cluster_queue} covers: give it a CPU request",
    ),
    KueueText(
        Cause.TOPOLOGY_FULL,
        r'flavor "?(?P<flavor>[^\s"]+)"? does not contain the requested level',
        "the topology of flavor {flavor} has no level {level}",
        Permanence.NEVER,
    ),
    KueueText(
        Cause.TOPOLOGY_FULL,
        r"no requested topology level: (?P<level>\S+)",
        "its topology has no level {level}",
        Permanence.NEVER,
    ),
    KueueText(
        Cause.TOPOLOGY_FULL,
        r'flavor "?(?P<flavor>[^\s"]+)"? does not support TopologyAwareScheduling',
        "it asks for a topology, and flavor {flavor} has none",
        Permanence.NEVER,
    ),
    KueueText(
        Cause.TOPOLOGY_FULL,
        r"cannot find replacement assignment for unhealthy node: (?P<node>[^\s,;]+)",
        "node {node} is lost, and its topology has no other place for the pods",
    ),
    KueueText(
        Cause.QUOTA_VICTIMS_ENDING,
        r"Pending the preemption of 1 workload",
        "waits for 1 preempted job to end",
    ),
    KueueText(
        Cause.QUOTA_VICTIMS_ENDING,
        r"Pending the preemption of (?P<count>\d+) workload",
        "waits for {count} preempted jobs to end",
    ),
    KueueText(
        Cause.QUOTA_IN_USE,
        r"no longer fits after processing another workload",
        "another job took the quota: waits for its next turn",
    ),
    KueueText(
        Cause.OTHERS_NOT_READY,
        r"waiting for all admitted workloads to be in PodsReady",
        "waits until the pods of another admitted job are ready",
    ),
    KueueText(Cause.PREEMPTED, r"Preempted to accommodate a workload", "waits for Kueue to look at it again"),
    KueueText(Cause.SWITCHED_OFF, r"workload is deactivated", "suspended: its workload is deactivated"),
    KueueText(
        Cause.EVICTED_IN_A_LOOP,
        r"exceeded the PodsReady timeout",
        "its pods were not ready in time: it was put back",
    ),
    KueueText(Cause.ADMISSION_GATED, r"admission is gated by: *(?P<holder>[^\s].*)", GATED),
    KueueText(
        Cause.ADMISSION_GATED, r"admission.?gated", "held by an admission gate: its controller has to lift it"
    ),
    KueueText(
        Cause.ADMISSION_CHECK, r"has failed admission checks", "an admission check took its place back"
    ),
    KueueText(Cause.BACKS_OFF, r"backoff", "waits out a back-off before the next attempt"),
)

REASON_WORDS: dict[str, tuple[str, str]] = {
    # reason of QuotaReserved=False -> row of the catalogue, and words where the message says nothing known
    "WaitingForQuota": (Cause.QUOTA_IN_USE, "waits for free quota in {cluster_queue}"),
    "ExceedsMaxQuota": (Cause.ABOVE_QUOTA, "asks more than {cluster_queue} can ever give"),
    "NoMatchingFlavor": (Cause.NO_FLAVOR_FITS, "no flavor of {cluster_queue} matches its pods"),
    "Misconfigured": (Cause.QUEUE_UNUSABLE, "queue {queue} is missing or not usable"),
    "Suspended": (Cause.QUEUE_STOPPED, "queue {queue} is stopped"),
    "AdmissionGated": (
        Cause.ADMISSION_GATED,
        "held by an admission gate: its controller has to lift it",
    ),
    "WaitingForPodsReady": (
        Cause.OTHERS_NOT_READY,
        "waits until the pods of another admitted job are ready",
    ),
    "TopologyPlacementFailed": (Cause.TOPOLOGY_FULL, "no place in the topology is large enough now"),
    "WaitingForPreemptedWorkloads": (Cause.QUOTA_VICTIMS_ENDING, "waits for preempted jobs to end"),
    "PendingEvaluation": (
        Cause.NOT_ADMITTED_YET,
        "waits for Kueue to look at it in queue {cluster_queue}",
    ),
    "OnHold": ("", "put on hold by Kueue"),
    "Deactivated": (Cause.SWITCHED_OFF, "suspended: its workload is deactivated"),
}

FINISHED_WORDS: dict[str, str] = {
    "FailedToStart": "Kueue could not start it and declared its Workload finished",
    "OwnerNotFound": "its Workload is finished with the job that had its name before",
    "OutOfSync": "its prebuilt Workload does not match it and is declared finished",
}
"""By the reason of the condition Finished of a Workload whose job has not ended
(pkg/controller/jobframework)."""
FINISHED_BEFORE = "Kueue has declared its Workload finished"

EVICTED_WORDS: dict[str, tuple[str, str]] = {
    # reason of Evicted=True -> row of the catalogue and words
    "PodsReadyTimeout": (Cause.EVICTED_IN_A_LOOP, "its pods were not ready in time: it was put back"),
    "AdmissionCheck": (Cause.ADMISSION_CHECK, "an admission check took its place back"),
    "ClusterQueueStopped": (Cause.QUEUE_STOPPED, "its ClusterQueue was stopped and drained"),
    "LocalQueueStopped": (Cause.QUEUE_STOPPED, "its queue was stopped and drained"),
    "NodeFailures": (Cause.LOST_WITH_NODE, "put back after node failures"),
    "FlavorMigration": ("", "moves to another flavor"),
}

_RETRIED_OUT = (
    Cause.EVICTED_IN_A_LOOP,
    "deactivated after too many retries: its pods were never ready in time",
)
_RAN_OUT = (Cause.SWITCHED_OFF, "deactivated: it ran longer than it was allowed to")
DEACTIVATED_WORDS: dict[str, tuple[str, str]] = {
    "DeactivatedDueToRequeuingLimitExceeded": _RETRIED_OUT,
    "RequeuingLimitExceeded": _RETRIED_OUT,
    "DeactivatedDueToMaximumExecutionTimeExceeded": _RAN_OUT,
    "MaximumExecutionTimeExceeded": _RAN_OUT,
}
DEACTIVATED_BY_PERSON = "suspended: its workload is deactivated (spec.active is false)"

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
