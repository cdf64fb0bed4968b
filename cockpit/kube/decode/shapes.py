"""JSON shapes of built-in kinds: only the fields that records are made of, everything else is passed over.

Attribute names equal those of the trimmed .proto files, so that one function reads both wires.
"""

import msgspec


class Shape(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A part of a JSON object; missing fields read as empty, as in protobuf."""


class OwnerReference(Shape, frozen=True, gc=False):
    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False


class ObjectMeta(Shape, frozen=True, gc=False):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    annotations: dict[str, str] = msgspec.field(default_factory=dict)
    owner_references: tuple[OwnerReference, ...] = ()


class AnyObject(Shape, frozen=True, gc=False):
    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = ObjectMeta()


Quantities = dict[str, str | int | float]
"""The API server writes text; custom resources keep what a person typed."""


class ResourceRequirements(Shape, frozen=True, gc=False):
    limits: Quantities = msgspec.field(default_factory=dict)
    requests: Quantities = msgspec.field(default_factory=dict)


NO_RESOURCES = ResourceRequirements()


class ContainerPort(Shape, frozen=True, gc=False):
    host_port: int = 0
    protocol: str = ""
    host_ip: str = msgspec.field(default="", name="hostIP")


class Container(Shape, frozen=True, gc=False):
    name: str = ""
    image: str = ""
    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    ports: tuple[ContainerPort, ...] = ()
    resources: ResourceRequirements = NO_RESOURCES
    restart_policy: str = ""


class PodSchedulingGate(Shape, frozen=True, gc=False):
    name: str = ""


class PodSchedulingGroup(Shape, frozen=True, gc=False):
    pod_group_name: str = ""


class LabelSelectorRequirement(Shape, frozen=True, gc=False):
    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class LabelSelector(Shape, frozen=True, gc=False):
    match_labels: dict[str, str] = msgspec.field(default_factory=dict)
    match_expressions: tuple[LabelSelectorRequirement, ...] = ()


class PodAffinityTerm(Shape, frozen=True, gc=False):
    topology_key: str = ""
    namespaces: tuple[str, ...] = ()
    label_selector: LabelSelector | None = None
    namespace_selector: LabelSelector | None = None


class PodAntiAffinity(Shape, frozen=True, gc=False):
    required_during_scheduling_ignored_during_execution: tuple[PodAffinityTerm, ...] = ()


class Affinity(Shape, frozen=True, gc=False):
    pod_anti_affinity: PodAntiAffinity | None = None


class ClaimSource(Shape, frozen=True, gc=False):
    claim_name: str = ""


class Volume(Shape, frozen=True, gc=False):
    """On this wire a volume's source lies beside its name, on the other in a message of its own."""

    persistent_volume_claim: ClaimSource | None = None

    @property
    def volume_source(self) -> "Volume":
        return self


class PodSpec(Shape, frozen=True, gc=False):
    containers: tuple[Container, ...] = ()
    volumes: tuple[Volume, ...] = ()
    node_name: str = ""
    host_network: bool = False
    affinity: Affinity | None = None
    scheduler_name: str = ""
    init_containers: tuple[Container, ...] = ()
    priority_class_name: str = ""
    priority: int | None = None
    overhead: Quantities = msgspec.field(default_factory=dict)
    scheduling_gates: tuple[PodSchedulingGate, ...] = ()
    resources: ResourceRequirements = NO_RESOURCES
    scheduling_group: PodSchedulingGroup = PodSchedulingGroup()


class ContainerStateWaiting(Shape, frozen=True, gc=False):
    reason: str = ""
    message: str = ""


class ContainerStateTerminated(Shape, frozen=True, gc=False):
    exit_code: int = 0
    reason: str = ""
    message: str = ""
    started_at: str | None = None
    finished_at: str | None = None


class ContainerState(Shape, frozen=True, gc=False):
    waiting: ContainerStateWaiting | None = None
    terminated: ContainerStateTerminated | None = None


class ContainerStatus(Shape, frozen=True, gc=False):
    name: str = ""
    state: ContainerState = ContainerState()
    last_state: ContainerState = ContainerState()
    ready: bool = False
    restart_count: int = 0


class PodCondition(Shape, frozen=True, gc=False):
    type: str = ""
    status: str = ""
    last_transition_time: str | None = None
    reason: str = ""
    message: str = ""


class PodStatus(Shape, frozen=True, gc=False):
    phase: str = ""
    conditions: tuple[PodCondition, ...] = ()
    message: str = ""
    reason: str = ""
    pod_ip: str = msgspec.field(default="", name="podIP")
    start_time: str | None = None
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()


class Pod(Shape, frozen=True, gc=False):
    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


class PodTemplateSpec(Shape, frozen=True, gc=False):
    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()


class Taint(Shape, frozen=True, gc=False):
    key: str = ""
    value: str = ""
    effect: str = ""


class NodeSpec(Shape, frozen=True, gc=False):
    provider_id: str = msgspec.field(default="", name="providerID")
    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()


class NodeAddress(Shape, frozen=True, gc=False):
    type: str = ""
    address: str = ""


class NodeSystemInfo(Shape, frozen=True, gc=False):
    kubelet_version: str = ""


class NodeStatus(Shape, frozen=True, gc=False):
    capacity: Quantities = msgspec.field(default_factory=dict)
    allocatable: Quantities = msgspec.field(default_factory=dict)
    conditions: tuple[PodCondition, ...] = ()
    addresses: tuple[NodeAddress, ...] = ()
    node_info: NodeSystemInfo = NodeSystemInfo()


class Node(Shape, frozen=True, gc=False):
    metadata: ObjectMeta = ObjectMeta()
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


class ObjectReference(Shape, frozen=True, gc=False):
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""


class EventSource(Shape, frozen=True, gc=False):
    component: str = ""


class EventSeries(Shape, frozen=True, gc=False):
    count: int = 0
    last_observed_time: str | None = None


class Event(Shape, frozen=True, gc=False):
    metadata: ObjectMeta = ObjectMeta()
    involved_object: ObjectReference = ObjectReference()
    reason: str = ""
    message: str = ""
    source: EventSource = EventSource()
    first_timestamp: str | None = None
    last_timestamp: str | None = None
    count: int = 0
    type: str = ""
    event_time: str | None = None
    series: EventSeries = EventSeries()
    reporting_component: str = ""


class JobSpec(Shape, frozen=True, gc=False):
    parallelism: int | None = None
    completions: int | None = None
    template: PodTemplateSpec = PodTemplateSpec()
    suspend: bool = False


class JobStatus(Shape, frozen=True, gc=False):
    conditions: tuple[PodCondition, ...] = ()
    start_time: str | None = None
    completion_time: str | None = None
    active: int = 0
    succeeded: int = 0
    failed: int = 0


class Job(Shape, frozen=True, gc=False):
    metadata: ObjectMeta = ObjectMeta()
    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()
