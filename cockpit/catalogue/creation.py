"""The pods do not exist."""

from cockpit.catalogue.cause import Cause
from cockpit.catalogue.row import CatalogueRow, Gate, Mender, on_create
from cockpit.model.finding import Permanence

_QUOTA = "https://kubernetes.io/docs/concepts/policy/resource-quotas/"
_SECURITY = "https://kubernetes.io/docs/concepts/security/pod-security-admission/"
_ADMISSION = "kubernetes plugin/pkg/admission"
_MPI = "mpi-operator pkg/controller/mpi_job_controller.go"
_JOB = "https://kubernetes.io/docs/concepts/workloads/controllers/job/"
_VOLCANO = "volcano pkg/scheduler/plugins"

ROWS = (
    CatalogueRow(
        cause=Cause.NAMESPACE_QUOTA_USED_UP,
        gate=Gate.CREATION,
        where="event FailedCreate, MPIJobFailed, JobCreationFailed; ResourceQuota.status",
        meaning="the namespace's quota is used up",
        remedy="Free or raise the quota, or ask for less.",
        mender=Mender.USER,
        permanence=Permanence.ACTS,
        source=_QUOTA,
        wordings=(
            on_create(
                r"exceeded quota: (?P<quota>[^,]+), requested: (?P<asked>.*?), used: (?P<used>.*?), "
                r"limited: (?P<limited>.*)",
                "quota {quota} is used up: asks {asked}, used {used} of {limited}",
            ),
            on_create(r"exceeded quota: (?P<quota>[^,\s]+)", "quota {quota} of the namespace is used up"),
        ),
    ),
    CatalogueRow(
        cause=Cause.LIMITS_NOT_STATED,
        gate=Gate.CREATION,
        where="event FailedCreate",
        meaning="the namespace's quota demands limits or requests that the pod does not state",
        remedy="Add the fields, or a LimitRange with defaults.",
        mender=Mender.USER,
        permanence=Permanence.NEVER,
        source=_QUOTA,
        wordings=(
            on_create(
                r"failed quota: (?P<quota>[^:]+): must specify (?P<fields>.+?)(?: for: (?P<container>.*))?$",
                "quota {quota} demands {fields}, which the pod does not state",
            ),
        ),
    ),
    CatalogueRow(
        cause=Cause.OUTSIDE_LIMIT_RANGE,
        gate=Gate.CREATION,
        where="event FailedCreate",
        meaning="a container is outside the namespace's LimitRange",
        remedy="Change the request, or the LimitRange.",
        mender=Mender.USER,
        permanence=Permanence.NEVER,
        source=_ADMISSION + "/limitranger",
        wordings=(
            on_create(
                r"(?P<side>maximum|minimum) (?P<resource>\S+) usage per (?P<whom>\w+) is (?P<bound>[^,\s]+)"
                r"(?:, but (?:limit|request) is (?P<asked>[^,\s.]+))?",
                "LimitRange: {side} {resource} of a {whom} is {bound}, it asks {asked}",
            ),
            on_create(
                r"(?P<resource>\S+) max limit to request ratio per (?P<whom>\w+) is (?P<bound>[^,\s]+)",
                "LimitRange: {resource} limit may be at most {bound} times the request",
            ),
        ),
    ),
    CatalogueRow(
        cause=Cause.REFUSED_BY_POD_SECURITY,
        gate=Gate.CREATION,
        where="event FailedCreate; label pod-security.kubernetes.io/enforce",
        meaning="Pod Security admission refuses the pod",
        remedy="Drop what it forbids, or have the namespace's label changed.",
        mender=Mender.USER,
        permanence=Permanence.NEVER,
        source=_SECURITY,
        wordings=(
            on_create(
                r'violates PodSecurity "(?P<level>[^":]+)[^"]*": (?P<what>.+)',
                "Pod Security level {level} forbids {what}",
            ),
        ),
    ),
    CatalogueRow(
        cause=Cause.REFUSED_BY_WEBHOOK,
        gate=Gate.CREATION,
        where="event FailedCreate, or the answer to the submit",
        meaning="an admission webhook denies the pod or does not answer",
        remedy="Start the webhook's Deployment again, or do what it asks for.",
        mender=Mender.ADMIN,
        permanence=Permanence.ACTS,
        source="kubernetes apiserver/pkg/admission/plugin/webhook",
        wordings=(
            on_create(
                r'failed calling webhook "(?P<webhook>[^"]+)".*?'
                r"(?P<why>connection refused|no endpoints available|context deadline exceeded|x509[^:]*|"
                r"service \S+ not found|[^:]+)\W*$",
                "admission webhook {webhook} does not answer: {why}",
            ),
            on_create(
                r'admission webhook "(?P<webhook>[^"]+)" denied the request(?:: (?P<why>.*))?',
                "admission webhook {webhook} denies it: {why}",
            ),
            on_create(
                r"ValidatingAdmissionPolicy '(?P<webhook>[^']+)'.*? denied request: (?P<why>.*)",
                "admission policy {webhook} denies it: {why}",
            ),
        ),
    ),
    CatalogueRow(
        cause=Cause.NAMED_OBJECT_MISSING,
        gate=Gate.CREATION,
        where="event FailedCreate",
        meaning="the ServiceAccount or PriorityClass that the pod names does not exist",
        remedy="Create it, or correct the name.",
        mender=Mender.USER,
        permanence=Permanence.ACTS,
        source=_ADMISSION + "/{serviceaccount,priority}",
        wordings=(
            on_create(
                r"error looking up service account (?P<namespace>[^/\s]+)/(?P<account>[^:\s]+)",
                "ServiceAccount {account} does not exist",
            ),
            on_create(
                r"no PriorityClass with name (?P<priority_class>\S+) was found",
                "PriorityClass {priority_class} does not exist",
            ),
        ),
    ),
    CatalogueRow(
        cause=Cause.SUSPENDED_BY_HAND,
        gate=Gate.CREATION,
        where="spec.suspend, spec.runPolicy.suspend",
        meaning="a person suspended the job",
        remedy="Resume it.",
        mender=Mender.USER,
        permanence=Permanence.ACTS,
        source=_JOB,
    ),
    CatalogueRow(
        cause=Cause.NOT_ADMITTED_YET,
        gate=Gate.CREATION,
        where="spec.suspend; label kueue.x-k8s.io/queue-name",
        meaning="the queue holds the job until it admits it",
        remedy="Look at its queue.",
        mender=Mender.USER,
        permanence=Permanence.PASSES,
        source="kueue pkg/controller/jobframework/reconciler.go",
        yields_to=(
            Gate.CREATION,
            Gate.QUEUE,
        ),
    ),
    CatalogueRow(
        cause=Cause.NOT_TAKEN_BY_QUEUE,
        gate=Gate.CREATION,
        where="job with a queue label and no Workload; events on it",
        meaning="the queue's engine has not taken the job",
        remedy="Enable the integration of the kind, or correct what the event names.",
        mender=Mender.ADMIN,
        permanence=Permanence.ACTS,
        source="kueue docs/tasks/troubleshooting/troubleshooting_jobs.md",
        wordings=(
            on_create(
                r'WorkloadPriorityClass\S* "?(?P<priority_class>[^"\s]+)"? not found',
                "WorkloadPriorityClass {priority_class} does not exist",
            ),
            on_create(r"ErrWorkloadCompose: (?P<why>.*)", "its Workload cannot be made: {why}"),
            on_create(r"JobNestingTooDeep", "it is nested too deep for its queue"),
        ),
    ),
    CatalogueRow(
        cause=Cause.PART_SUSPENDED,
        gate=Gate.CREATION,
        where="spec.suspend of the object that its controller made of it",
        meaning="what its controller made of it is suspended, and it is not",
        remedy="Set spec.suspend of that object to false; an engine that suspended it has to admit it.",
        mender=Mender.USER,
        permanence=Permanence.ACTS,
        source="https://github.com/kubernetes-sigs/kueue/issues/1844",
    ),
    CatalogueRow(
        cause=Cause.OPERATOR_DOWN,
        gate=Gate.CREATION,
        where="pods of the operator; object without a status",
        meaning="the operator that has to act on the object does not run",
        remedy="Mend the operator's pod.",
        mender=Mender.ADMIN,
        permanence=Permanence.ACTS,
        source="https://github.com/kubeflow/trainer/issues/1856",
    ),
    CatalogueRow(
        cause=Cause.NO_CONTROLLER,
        gate=Gate.CREATION,
        where="object without a status; spec.managedBy",
        meaning="no controller acts on the object",
        remedy="Install or start the operator of the kind.",
        mender=Mender.ADMIN,
        permanence=Permanence.ACTS,
        source="kubernetes KEP-4368",
    ),
    CatalogueRow(
        cause=Cause.REFUSED_BY_OPERATOR,
        gate=Gate.CREATION,
        where="event ValidationError on the MPIJob",
        meaning="the operator refuses the job as invalid",
        remedy="Correct the field and recreate the job.",
        mender=Mender.USER,
        permanence=Permanence.NEVER,
        source=_MPI,
        wordings=(
            on_create(
                r"ValidationError: .*?(?P<field>[\w.\[\]]+): "
                r"(?:Invalid value|Required value|Unsupported value|"
                r'Forbidden|Duplicate value)(?:: "[^"]*")?:? ?(?P<why>.*)',
                "invalid {field}: {why}",
            ),
            on_create(r"ValidationError: (?P<why>.*)", "the operator refuses it: {why}"),
        ),
    ),
    CatalogueRow(
        cause=Cause.NAME_TAKEN,
        gate=Gate.CREATION,
        where="event ErrResourceExists",
        meaning="an object of the name that the job needs belongs to another owner",
        remedy="Delete what was left behind, or rename the job.",
        mender=Mender.USER,
        permanence=Permanence.ACTS,
        source=_MPI,
        wordings=(
            on_create(
                r'Resource "(?P<object>[^"]+)".*already exists and is not managed by',
                "{object} exists already and is not this job's",
            ),
        ),
    ),
    CatalogueRow(
        cause=Cause.GROUP_NOT_LET_IN,
        gate=Gate.CREATION,
        where="Volcano PodGroup status.phase Pending; its events",
        meaning="Volcano has not let the group into its queue",
        remedy="Free the queue, raise its capability, or take another one.",
        mender=Mender.ADMIN,
        permanence=Permanence.PASSES,
        source=_VOLCANO + "/{proportion,capacity,overcommit}",
        wordings=(
            on_create(
                r"queue resource quota insufficient(?:: (?P<why>.*))?",
                "queue {queue} has too little left: {why}",
            ),
            on_create(
                r"resource quota insufficient, requested: (?P<why>.*)",
                "the quota of the namespace of queue {queue} is used up: asks {why}",
            ),
            on_create(
                r"resource in cluster is overused(?:: (?P<why>.*))?",
                "queue {queue} has not admitted it, the cluster is overused: {why}",
            ),
        ),
    ),
    CatalogueRow(
        cause=Cause.GROUP_QUEUE_CLOSED,
        gate=Gate.CREATION,
        where="Volcano Queue status.state, or the answer to the submit",
        meaning="the Volcano queue is closed or does not exist",
        remedy="Open the queue, or take another one.",
        mender=Mender.ADMIN,
        permanence=Permanence.ACTS,
        source="volcano pkg/webhooks/admission/jobs",
    ),
    CatalogueRow(
        cause=Cause.WAITS_FOR_DEPENDENCY,
        gate=Gate.CREATION,
        where="JobSet condition StartupPolicyInProgress; replicatedJobsStatus",
        meaning="it waits for the job that it depends on",
        remedy="Mend the job that it waits for.",
        mender=Mender.USER,
        permanence=Permanence.PASSES,
        source="jobset pkg/constants/constants.go",
    ),
    CatalogueRow(
        cause=Cause.LAUNCHER_NOT_MADE,
        gate=Gate.CREATION,
        where="MPIJob with workers and without launcher; spec.launcherCreationPolicy",
        meaning="the launcher is made once all workers are ready",
        remedy="Look at the worker that is not ready; a gang must not count the launcher.",
        mender=Mender.USER,
        permanence=Permanence.PASSES,
        source=_MPI,
        yields_to=(
            Gate.START,
            Gate.PROGRESS,
            Gate.PLACEMENT,
        ),
    ),
    CatalogueRow(
        cause=Cause.RUNTIME_MISSING,
        gate=Gate.CREATION,
        where="TrainJob condition Failed, reason TrainingRuntimeNotSupported; the answer to the submit",
        meaning="the training runtime does not exist or is not supported",
        remedy="Create the runtime, or correct runtimeRef.",
        mender=Mender.USER,
        permanence=Permanence.ACTS,
        source="trainer pkg/apis/trainer/v1alpha1/trainjob_types.go",
        wordings=(
            on_create(
                r"(?:Cluster)?TrainingRuntime\S* \"?(?P<runtime>[^\"\s]+)\"? not found",
                "training runtime {runtime} does not exist",
            ),
        ),
    ),
    CatalogueRow(
        cause=Cause.BETWEEN_ATTEMPTS,
        gate=Gate.CREATION,
        where="Job status.failed > 0, active 0",
        meaning="the job backs off between two attempts",
        remedy="Read the logs of the failed pod.",
        mender=Mender.USER,
        permanence=Permanence.PASSES,
        source=_JOB,
        yields_to=(
            Gate.START,
            Gate.PROGRESS,
            Cause.PREEMPTED,
        ),
    ),
    CatalogueRow(
        cause=Cause.NAMESPACE_GOING,
        gate=Gate.CREATION,
        where="event FailedCreate; Namespace status.phase",
        meaning="the namespace is being deleted",
        remedy="Take another namespace; look at the finalizers of this one.",
        mender=Mender.USER,
        permanence=Permanence.ACTS,
        source=_ADMISSION + "/namespace/lifecycle",
        wordings=(
            on_create(
                r"new content in namespace (?P<namespace>\S+) because it is being terminated",
                "namespace {namespace} is being deleted",
            ),
            on_create(r"because it is being terminated", "its namespace is being deleted"),
        ),
    ),
)
