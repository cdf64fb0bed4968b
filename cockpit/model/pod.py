"""Pods, flat: one record of strings and numbers each, because there are 50,000 of them."""

from cockpit.model.gpu_share import GpuShare
from cockpit.model.record import Labels, Record
from cockpit.model.scheduling import NO_TRAITS, Traits

POOL_MARK = "gpu-cockpit/pool"
"""The label of the cockpit's capacity requests for a pool, and of their pods: placeholders without work."""
DEFAULT_SCHEDULERS = ("", "default-scheduler")
"""What schedulerName says of pods that the cluster's own scheduler places."""


class Pod(Record, frozen=True, gc=False, kw_only=True):
    """One pod, only what the cockpit reasons about.

    `gpus` is the whole number of devices the scheduler charges (sum over containers, or the largest init
    container when that is more). Times are epoch seconds. `exit_code` is of the first container that
    failed, else of the first that ended.

    Of `gpus` the store adds `gpus_claimed`, those by ResourceClaims. `gpus_shared` are claimed ones that are
    charged to another pod of the same claim. `has_unknown_gpus` says that claims of it are not known.
    """

    phase: str = ""  # Pending, Running, Succeeded, Failed, Unknown
    node: str = ""
    gpus: int = 0
    gpu_resource: str = ""
    gpus_claimed: int = 0
    gpus_shared: int = 0
    has_unknown_gpus: bool = False
    cpu_millicores: int = 0
    memory_bytes: int = 0
    owner_api_version: str = ""  # the controlling owner
    owner_kind: str = ""
    owner_name: str = ""
    owner_uid: str = ""
    job_label: str = ""  # name of the training job that labels tell (MPIJob, PyTorchJob, batch Job, JobSet)
    role: str = ""  # launcher, worker, master, ...; "" unknown
    group: int | None = None  # which of several equal groups of its role it is in; None where there is one
    rank: int | None = None  # replica or completion index, within its group
    gang: str = ""  # name of the pod group, of any engine
    gang_by: str = ""  # the label, annotation or field of the spec that names it
    gang_size: int = 0  # how many pods that group has, where the pod itself says so; 0 else
    gpu_share: GpuShare | None = None  # asked for by annotation: no device that the scheduler charges
    queue: str = ""  # kueue.x-k8s.io/queue-name on the pod
    scheduler: str = ""
    priority: int | None = None
    priority_class: str = ""
    init_container: str = ""  # the first that has not ended well yet, of a pod that has not begun; "" else
    image: str = ""  # of the container that asks for GPUs, else of the first
    containers: str = ""  # names, joined by a comma
    ready_containers: int = 0
    total_containers: int = 0
    restarts: int = 0
    started_seconds: float | None = None
    finished_seconds: float | None = None
    crashed_seconds: float | None = None  # when a container of it ended last, of a pod that goes on
    is_ready: bool = False
    scheduled: str = ""  # status of PodScheduled
    scheduled_reason: str = ""
    scheduled_message: str = ""
    is_gated: bool = False  # has scheduling gates
    nominated_node: str = ""  # where victims of its preemption are ending
    disruption_reason: str = ""  # of DisruptionTarget while it is True, e.g. PreemptionByScheduler
    disruption_message: str = ""
    finalizers: tuple[str, ...] = ()  # of a pod that is being deleted; () else
    status_reason: str = ""  # status.reason, e.g. Evicted, UnexpectedAdmissionError
    status_message: str = ""
    waiting_reason: str = ""  # first waiting container, e.g. ImagePullBackOff
    waiting_message: str = ""
    terminated_reason: str = ""  # e.g. OOMKilled, Error
    terminated_message: str = ""  # only of a container that could not be started; a program's own words else
    exit_code: int | None = None
    pod_ip: str = ""
    stay_notes: Labels = ()  # annotations by which it bids an autoscaler leave its node, as they are written
    traits: Traits = NO_TRAITS  # what other pods' placement depends on; shared by pods that are alike

    @property
    def is_finished(self) -> bool:
        """True when the pod holds nothing any more."""
        return self.phase in ("Succeeded", "Failed")

    @property
    def gpus_allocated(self) -> int:
        """Devices taken from a node: bound and not finished."""
        return 0 if not self.node or self.is_finished else self.gpus

    @property
    def is_placeholder(self) -> bool:
        """True for a placeholder pod of the cockpit, which only requests a node: other pods preempt it."""
        return any(key == POOL_MARK for key, _ in self.traits.labels)

    @property
    def asks_for_gpus(self) -> bool:
        """True for a pod that asks for GPUs or a share of one, or may do so by a claim not known here."""
        return bool(self.gpus or self.gpus_shared or self.has_unknown_gpus or self.gpu_share)
