"""What the store answers: the one protocol through which everything that only looks sees the cluster."""

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple, Protocol

from cockpit.model.batch import StreamStatus
from cockpit.model.claim import OfferedDevice
from cockpit.model.event import Event
from cockpit.model.gang import PodGroup, Workload
from cockpit.model.gpu import Gpu
from cockpit.model.pod import Pod
from cockpit.model.record import Record


class Requests(NamedTuple):
    """What the pods bound to one node ask for together, in base units."""

    cpu_millicores: int = 0
    memory_bytes: int = 0
    gpus: int = 0
    pods: int = 0


class DutyMean(NamedTuple):
    """Mean duty (0..1) of a card under its present holder, from `since_seconds` to `seconds`, of which the
    last ten minutes count most."""

    since_seconds: float
    seconds: float
    ratio: float


class Slowdown(NamedTuple):
    """How often of late something harmful began to throttle a card, or to heat it beyond measure, first and
    last (epoch seconds); the bits of `cockpit.model.throttle` of the last time, and when that began; how long
    the longest time lasted."""

    times: int
    first_seconds: float
    last_seconds: float
    bits: int
    began_seconds: float
    longest_seconds: float = 0.0


class DeviceAllocation(NamedTuple):
    """A card or part of one that a node offers to claims; `pods` have it, each as (namespace, name)."""

    device: OfferedDevice
    pods: tuple[tuple[str, str], ...]


class StoreReader(Protocol):
    """The reading side of `cockpit.store.store.Store`. What it gives is live: copy before awaiting.

    Only `cockpit.attach` holds the store itself; everybody else is handed this and cannot change it.
    """

    # ---- any kind

    @property
    def revision(self) -> int:
        """Grows by one with every batch that changed something shown."""

    def revision_of(self, *kinds: str) -> int:
        """The revision by which one of the kinds moved last: a record, or the status of its stream."""

    def moved_since(self, kind: str, revision: int, /) -> Collection[str] | None:
        """Uids of the kind that were put or dropped after that revision; None: not all are remembered."""

    @property
    def room_revision(self) -> int:
        """Grows whenever a node moved, or what the pods on some node ask for."""

    @property
    def pods_room_revision(self) -> int:
        """Grows whenever what the pods on some node ask for moves."""

    def rooms_moved_since(self, revision: int, /) -> Collection[str] | None:
        """Names of nodes on which what pods ask for moved after that `pods_room_revision`; None: not all are
        remembered."""

    def records(self, kind: str, /) -> Mapping[str, Any]:
        """The table of a kind by uid (GPUs by uuid)."""

    def get(self, kind: str, uid: str, /) -> Any | None:
        """One record by its uid."""

    def by_key(self, kind: str, key: str, /) -> Any | None:
        """One record by `namespace/name`, or by `name` where the kind has no namespace."""

    def status(self, kind: str, /) -> StreamStatus | None:
        """How the kind's watch stands; the most troubled one of several."""

    def statuses(self) -> Mapping[str, StreamStatus]:
        """All watches, by kind, or by `kind/scope`."""

    def with_record(self, kind: str, record: Record, /) -> "StoreReader":
        """The same with that record in the place of the one with its uid."""

    # ---- pods

    def pods_on(self, node: str, /) -> tuple[Pod, ...]:
        """Pods bound to a node, finished ones too, by namespace and name."""

    def pods_of(self, owner_uid: str, /) -> tuple[Pod, ...]:
        """Pods whose controlling owner has that uid, by namespace and name."""

    def pods_under(self, owner_uid: str, /) -> list[Pod]:
        """The same, in no order."""

    def gpu_pods(self) -> Collection[Pod]:
        """Pods that ask for GPUs, finished ones too."""

    def restrictive_pods(self) -> Collection[Pod]:
        """Pods with host ports or required anti-affinity, finished ones too."""

    def requests_on(self, node: str, /) -> Requests:
        """What the unfinished pods bound to a node ask for together."""

    def named_requests_on(self, node: str, /) -> Mapping[str, int]:
        """The same for everything but cpu and memory, by the name of the resource."""

    # ---- GPUs

    def gpus_on(self, node: str, /) -> tuple[Gpu, ...]:
        """GPUs of a node, by index."""

    def gpus_of_pod(self, namespace: str, name: str, /) -> tuple[Gpu, ...]:
        """GPUs that telemetry gives to a pod, by index."""

    def leaving_pods(self) -> Collection[Pod]:
        """Pods that are being deleted; live."""

    def largest_node_gpus(self) -> int:
        """The most GPUs that any one node offers; 0 where no node shows one."""

    def idle_since(self, uuid: str, /) -> float | None:
        """Since when a card has been idle under its present holder; None while it works."""

    def duty_mean(self, uuid: str, /) -> DutyMean | None:
        """Mean duty of a card under its present pod; None for a free or unmeasured card."""

    def slowdown(self, uuid: str, /) -> Slowdown | None:
        """How a card was throttled over the last ten minutes; None where nothing harmful was seen."""

    def warm_since(self, uuid: str, /) -> float | None:
        """Since when a card has been as warm as cards get that are about to be slowed down."""

    # ---- dynamic resource allocation

    def devices_on(self, node: str, /) -> tuple[DeviceAllocation, ...]:
        """GPUs that a node offers to claims, and the pods that have each."""

    def pods_by_card(self, node: str, /) -> Mapping[str, tuple[tuple[str, str], ...]]:
        """(namespace, name) of the pods that have a card of the node by claim, by the card's uuid."""

    @property
    def has_claimable_gpus(self) -> bool:
        """True where any node offers GPUs to claims."""

    @property
    def uses_claims(self) -> bool:
        """True where a node offers GPUs to claims, or a pod has devices by claim."""

    # ---- what belongs to an object

    def events_of(self, uid: str, /) -> tuple[Event, ...]:
        """Events that regard the object, newest first."""

    def pod_groups_named(self, key: str, /) -> tuple[PodGroup, ...]:
        """PodGroups `namespace/name` of all engines, by uid."""

    def workloads_of(self, owner_uid: str, /) -> tuple[Workload, ...]:
        """Workloads that stand for a job object, oldest first."""
