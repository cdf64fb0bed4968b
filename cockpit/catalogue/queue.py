"""The queue or the gang holds it. Texts of engines are read in their packages of `cockpit.gangs`;
here stand those that schedulers write into pods."""

from cockpit.catalogue.cause import Cause
from cockpit.catalogue.row import CatalogueRow, Gate, Mender, of_pod, on_nodes, row
from cockpit.model.finding import Permanence

_KUEUE = "kueue apis/kueue/v1beta2/workload_types.go"
_VOLCANO = "volcano pkg/scheduler/plugins/gang/gang.go"
_CO = "scheduler-plugins pkg/coscheduling"
_NATIVE = "kubernetes KEP-4671"


def _kueue(  # noqa: PLR0917 - the columns of a table
    cause: Cause,
    meaning: str,
    remedy: str,
    mender: Mender,
    permanence: Permanence,
    where: str,
    is_story: bool = False,
) -> CatalogueRow:
    return row(cause, Gate.QUEUE, meaning, remedy, mender, permanence, _KUEUE, where, is_story=is_story)


_QUOTA = "Workload QuotaReserved=False"

ROWS = (
    _kueue(
        Cause.QUOTA_IN_USE,
        "the queue's quota is in use",
        "Wait, raise the priority, or ask for less.",
        Mender.USER,
        Permanence.PASSES,
        _QUOTA,
    ),
    _kueue(
        Cause.QUOTA_NOT_RELEASED,
        "an evicted workload still holds its quota and has no pod",
        "Set spec.active of that Workload to false and then to true, or delete it.",
        Mender.ADMIN,
        Permanence.ACTS,
        "Workload Evicted=True beside QuotaReserved=True, and no pod of its job",
    ),
    _kueue(
        Cause.ABOVE_QUOTA,
        "the queue can never give so much",
        "Ask for less, or have the quota raised.",
        Mender.USER,
        Permanence.NEVER,
        _QUOTA,
    ),
    _kueue(
        Cause.NO_FLAVOR_FITS,
        "no flavor of the queue suits the pods",
        "Add the toleration or label, or the resource to the ClusterQueue.",
        Mender.USER,
        Permanence.NEVER,
        _QUOTA,
    ),
    _kueue(
        Cause.QUEUE_UNUSABLE,
        "the queue does not exist or is not usable",
        "Correct the queue's name; an admin mends the ClusterQueue.",
        Mender.USER,
        Permanence.ACTS,
        "Workload QuotaReserved=False; LocalQueue and ClusterQueue Active=False",
    ),
    _kueue(
        Cause.QUEUE_STOPPED,
        "the queue is stopped",
        "Resume the queue.",
        Mender.ADMIN,
        Permanence.ACTS,
        "spec.stopPolicy of the queue",
    ),
    _kueue(
        Cause.SWITCHED_OFF,
        "the workload is switched off",
        "Mend the cause, then switch it on again.",
        Mender.USER,
        Permanence.ACTS,
        "Workload spec.active; condition Evicted",
    ),
    _kueue(
        Cause.ADMISSION_CHECK,
        "an admission check has not passed",
        "Look at the check, and at what it waits for.",
        Mender.ADMIN,
        Permanence.PASSES,
        "Workload status.admissionChecks",
    ),
    _kueue(
        Cause.OTHERS_NOT_READY,
        "another workload has to become ready first",
        "Mend or kill the workload whose pods are not ready.",
        Mender.USER,
        Permanence.PASSES,
        "Workload QuotaReserved=False WaitingForPodsReady",
        is_story=True,
    ),
    _kueue(
        Cause.TOPOLOGY_FULL,
        "the topology has no place for it",
        "Prefer the topology instead of requiring it, or ask for smaller pods.",
        Mender.USER,
        Permanence.PASSES,
        "Workload QuotaReserved=False TopologyPlacementFailed",
    ),
    _kueue(
        Cause.QUOTA_VICTIMS_ENDING,
        "victims of its preemption are still ending",
        "Wait for them; look for finalizers.",
        Mender.USER,
        Permanence.PASSES,
        "Workload QuotaReserved=False",
    ),
    _kueue(
        Cause.ADMISSION_GATED,
        "a controller gates its admission",
        "The controller that the annotation names has to let it go.",
        Mender.ADMIN,
        Permanence.ACTS,
        "annotation kueue.x-k8s.io/admission-gated-by",
    ),
    _kueue(
        Cause.BACKS_OFF,
        "it backs off after an eviction",
        "Wait until it is queued again.",
        Mender.USER,
        Permanence.PASSES,
        "Workload status.requeueState.requeueAt",
    ),
    _kueue(
        Cause.EVICTED_IN_A_LOOP,
        "it is evicted again and again because its pods do not become ready in time",
        "Mend why its pods did not become ready.",
        Mender.USER,
        Permanence.ACTS,
        "Workload condition Evicted PodsReadyTimeout; requeueState.count",
    ),
    _kueue(
        Cause.BEHIND_THE_HEAD,
        "it stands behind the head of its queue",
        "Mend or move the head; BestEffortFIFO lets others pass.",
        Mender.ADMIN,
        Permanence.PASSES,
        "position in the queue; ClusterQueue queueingStrategy",
        is_story=True,
    ),
    CatalogueRow(
        cause=Cause.GANG_FINDS_NO_ROOM,
        gate=Gate.QUEUE,
        where="Volcano PodGroup condition Unschedulable, NotEnoughResources",
        meaning="the gang finds too little room",
        remedy="Wait, ask for less, or see what its pods miss.",
        mender=Mender.USER,
        permanence=Permanence.PASSES,
        source=_VOLCANO,
        wordings=(
            of_pod(
                r"\d+/(?P<all>\d+) tasks in gang unschedulable.*Pending: [^;]{0,200}?(?P<some>[1-9]\d*) "
                r"Unschedulable",
                "{some} of {all} pods of its group find no node",
            ),
            of_pod(
                r"\d+/(?P<all>\d+) tasks in gang unschedulable.*Pending: (?P<some>[1-9]\d*) Undetermined",
                "{some} of {all} pods of its group not looked at yet",
            ),
            of_pod(
                r"(?P<some>\d+)/(?P<all>[1-9]\d*) tasks in gang unschedulable",
                "{some} of {all} pods of its group find no node",
            ),
            of_pod(r"can possibly be assigned", "waits for the rest of its group", is_consequence=True),
        ),
        yields_to=(
            Gate.PLACEMENT,
            Gate.CREATION,
        ),
    ),
    CatalogueRow(
        cause=Cause.GANG_MEMBERS_MISSING,
        gate=Gate.QUEUE,
        where="the pod's message; PodGroup NotEnoughTasks",
        meaning="members of the gang do not exist",
        remedy="Find out why they were not made, or lower the group's minimum.",
        mender=Mender.USER,
        permanence=Permanence.ACTS,
        source=f"{_VOLCANO}; {_CO}; {_NATIVE}",
        wordings=(
            of_pod(
                r"cannot find enough sibling pods, current pods number: (?P<some>\d+), "
                r"minMember of group: (?P<all>\d+)",
                "its group has {some} of {all} pods",
            ),
            of_pod(
                r"Not enough valid tasks.*valid: (?P<some>\d+), min: (?P<all>\d+)",
                "its group has {some} of {all} pods",
            ),
            of_pod(r"\d+/0 tasks in gang unschedulable", "its group has no pods yet"),
            of_pod(
                r"waiting for minCount pods", "its group does not have all its pods yet", is_consequence=True
            ),
        ),
        yields_to=(Gate.CREATION,),
    ),
    CatalogueRow(
        cause=Cause.GANG_REFUSED,
        gate=Gate.QUEUE,
        where="the pod's message",
        meaning="the gang is refused because of one member",
        remedy="See what that member misses.",
        mender=Mender.USER,
        permanence=Permanence.PASSES,
        source=_CO,
        wordings=(
            on_nodes(r"optimistic rejection", "waits for its group", "wait for its group"),
            of_pod(
                r"due to Pod (?P<pod>\S+) is unschedulable",
                "its group waits for {pod}, which finds no node",
                is_consequence=True,
            ),
            of_pod(
                r"optimistic rejection|pod group is unschedulable",
                "its group cannot be placed as a whole",
                is_consequence=True,
            ),
        ),
        yields_to=(
            Gate.PLACEMENT,
            Gate.CREATION,
            Gate.QUEUE,
        ),
    ),
    CatalogueRow(
        cause=Cause.GANG_TIMED_OUT,
        gate=Gate.QUEUE,
        where="the pod's message",
        meaning="the gang was not complete within its schedule timeout",
        remedy="Raise scheduleTimeoutSeconds; find the last member.",
        mender=Mender.USER,
        permanence=Permanence.PASSES,
        source=_CO,
        wordings=(of_pod(r"rejection in Unreserve", "its group timed out before it was complete"),),
    ),
    CatalogueRow(
        cause=Cause.GANG_BACKS_OFF,
        gate=Gate.QUEUE,
        where="the pod's message",
        meaning="the gang backs off, one of its pods is gated, or it asks for more than is free",
        remedy="Wait, remove the gate, or correct minResources.",
        mender=Mender.USER,
        permanence=Permanence.PASSES,
        source=_CO,
        wordings=(
            of_pod(
                r"gated pods in the same PodGroup", "another pod of its group is gated", is_consequence=True
            ),
            of_pod(
                r"podGroup (?P<group>\S+) failed recently",
                "its group {group} failed and waits to be tried again",
                is_consequence=True,
            ),
            of_pod(
                r"resource gap: map\[(?P<resource>[^:\]]+):\{\{(?P<number>\d+) ",
                "its group asks for {number} {resource} more than is free",
            ),
            of_pod(r"resource gap:", "its group asks for more than is free"),
        ),
        yields_to=(
            Gate.PLACEMENT,
            Gate.CREATION,
        ),
    ),
    CatalogueRow(
        cause=Cause.GANG_MISSING,
        gate=Gate.QUEUE,
        where="the pod's message",
        meaning="the pod group does not exist",
        remedy="Create the group before its pods, or correct the label.",
        mender=Mender.USER,
        permanence=Permanence.ACTS,
        source=f"{_CO}; {_NATIVE}",
        wordings=(
            of_pod(
                r'waiting for pod\'s pod group "(?P<group>[^"]+)" to appear',
                "its pod group {group} does not exist yet",
            ),
            of_pod(r"PodGroup not found", "its pod group does not exist"),
        ),
    ),
    CatalogueRow(
        cause=Cause.ELASTIC_QUOTA_USED_UP,
        gate=Gate.QUEUE,
        where="the pod's message; ElasticQuota spec.max, status.used",
        meaning="the elastic quota is used up",
        remedy="Free quota, or have it raised.",
        mender=Mender.USER,
        permanence=Permanence.PASSES,
        source="scheduler-plugins pkg/capacityscheduling",
        wordings=(
            of_pod(r"ElasticQuota (?P<quota>\S+) is more than Max", "elastic quota {quota} is used up"),
            of_pod(r"total ElasticQuota used is more than min", "the elastic quotas are used up"),
        ),
    ),
    CatalogueRow(
        cause=Cause.GANG_NOT_PLACED,
        gate=Gate.QUEUE,
        where="PodGroup condition PodGroupInitiallyScheduled=False",
        meaning="the gang cannot be placed as a whole",
        remedy="See what the pods that are left miss.",
        mender=Mender.USER,
        permanence=Permanence.PASSES,
        source=_NATIVE,
        wordings=(
            of_pod(
                r"minCount \((?P<all>\d+)\) cannot be satisfied: (?P<some>\d+) scheduled, "
                r"(?P<left>\d+) remaining",
                "its group needs {all} pods placed: {some} are, {left} find no node",
            ),
            of_pod(
                r"waiting for preemption to complete", "waits for preempted pods to end", is_consequence=True
            ),
        ),
        yields_to=(Gate.PLACEMENT,),
    ),
    CatalogueRow(
        cause=Cause.SEVERAL_SCHEDULERS,
        gate=Gate.QUEUE,
        where="spec.schedulingGroup, spec.schedulerName of the members",
        meaning="members name several schedulers, or the cluster drops their group",
        remedy="Give all members one schedulerName; enable the feature gate.",
        mender=Mender.USER,
        permanence=Permanence.NEVER,
        source=_NATIVE,
        wordings=(
            of_pod(
                r"should have the same \.?spec\.schedulerName", "pods of its group name several schedulers"
            ),
        ),
    ),
    CatalogueRow(
        cause=Cause.QUEUE_OVER_LIMIT,
        gate=Gate.QUEUE,
        where="KAI PodGroup schedulingConditions",
        meaning="the KAI queue is over its quota or limit",
        remedy="Have the queue's quota raised, or take a preemptible priority class.",
        mender=Mender.ADMIN,
        permanence=Permanence.PASSES,
        source="KAI-Scheduler pkg/apis/scheduling/v2alpha2/podgroup_types.go",
        wordings=(
            of_pod(r"NonPreemptibleOverQuota", "its KAI queue is over its quota and the job not preemptible"),
            of_pod(r"OverLimit", "its KAI queue is at its limit"),
            of_pod(r"QueueDoesNotExist", "its KAI queue does not exist"),
        ),
    ),
    CatalogueRow(
        cause=Cause.HALF_PLACED,
        gate=Gate.QUEUE,
        where="computed: two jobs, each with some pods bound and some pending for the same resource",
        meaning="two half-placed gangs starve each other",
        remedy="Suspend or kill the younger; put both behind an engine.",
        mender=Mender.USER,
        permanence=Permanence.ACTS,
        source="https://github.com/kubeflow/mpi-operator/issues/574",
        is_story=True,
    ),
    CatalogueRow(
        cause=Cause.PREEMPTED,
        gate=Gate.QUEUE,
        where="pod condition DisruptionTarget; Workload conditions Evicted, Preempted",
        meaning="a job of higher priority took its place",
        remedy="Wait for its turn; raise its priority.",
        mender=Mender.USER,
        permanence=Permanence.PASSES,
        source="kubernetes core/v1/types.go; " + _KUEUE,
        wordings=(
            of_pod(
                r"Preempted by (?:an? |the )?(?:pod ?group |pod )?(?P<preemptor>\S+) on node (?P<node>\S+)",
                "preempted by {preemptor} on node {node}",
            ),
        ),
    ),
    _kueue(
        Cause.DECLARED_FINISHED,
        "its Workload is declared finished, so the job stays suspended for ever",
        "Recreate the job without what Kueue wrote into it: cockpit job recreate.",
        Mender.USER,
        Permanence.NEVER,
        "Workload Finished=True beside a job that has not ended",
    ),
)
