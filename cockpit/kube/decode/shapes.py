"""JSON shapes of built-in kinds: only the fields that records are made of, everything else is passed over.

Attribute names equal those of the trimmed .proto files, so that one function reads both wires.
"""

import msgspec


class WireShape(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A part of a JSON object; missing fields read as empty, as in protobuf."""


class OwnerReference(WireShape, frozen=True, gc=False):
    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False


class ObjectMeta(WireShape, frozen=True, gc=False):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    annotations: dict[str, str] = msgspec.field(default_factory=dict)
    owner_references: tuple[OwnerReference, ...] = ()
    finalizers: tuple[str, ...] = ()


class AnyObject(WireShape, frozen=True, gc=False):
    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = ObjectMeta()


Quantities = dict[str, str | int | float]
"""The API server writes text; custom resources keep what a person typed."""


class ResourceRequirements(WireShape, frozen=True, gc=False):
    limits: Quantities = msgspec.field(default_factory=dict)
    requests: Quantities = msgspec.field(default_factory=dict)


NO_RESOURCES = ResourceRequirements()


class ContainerPort(WireShape, frozen=True, gc=False):
    host_port: int = 0
    protocol: str = ""
    host_ip: str = msgspec.field(default="", name="hostIP")


class Container(WireShape, frozen=True, gc=False):
    name: str = ""
    image: str = ""
    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    ports: tuple[ContainerPort, ...] = ()
    resources: ResourceRequirements = NO_RESOURCES
    restart_policy: str = ""


class PodSchedulingGate(WireShape, frozen=True, gc=False):
    name: str = ""


class PodSchedulingGroup(WireShape, frozen=True, gc=False):
    pod_group_name: str = ""


class LabelSelectorRequirement(WireShape, frozen=True, gc=False):
    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class WireLabelSelector(WireShape, frozen=True, gc=False):
    match_labels: dict[str, str] = msgspec.field(default_factory=dict)
    match_expressions: tuple[LabelSelectorRequirement, ...] = ()


class PodAffinityTerm(WireShape, frozen=True, gc=False):
    topology_key: str = ""
    namespaces: tuple[str, ...] = ()
    label_selector: WireLabelSelector | None = None
    namespace_selector: WireLabelSelector | None = None


class NodeSelectorTerm(WireShape, frozen=True, gc=False):
    match_expressions: tuple[LabelSelectorRequirement, ...] = ()
    match_fields: tuple[LabelSelectorRequirement, ...] = ()


class NodeSelector(WireShape, frozen=True, gc=False):
    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()


class NodeAffinity(WireShape, frozen=True, gc=False):
    required_during_scheduling_ignored_during_execution: NodeSelector | None = None


class PodAffinity(WireShape, frozen=True, gc=False):
    required_during_scheduling_ignored_during_execution: tuple[PodAffinityTerm, ...] = ()


class PodAntiAffinity(WireShape, frozen=True, gc=False):
    required_during_scheduling_ignored_during_execution: tuple[PodAffinityTerm, ...] = ()


class Affinity(WireShape, frozen=True, gc=False):
    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAntiAffinity | None = None


class ClaimSource(WireShape, frozen=True, gc=False):
    claim_name: str = ""


class ConfigMapSource(WireShape, frozen=True, gc=False):
    """On this wire the name lies in the source itself, on the other in a separate reference."""

    name: str = ""
    optional: bool = False

    @property
    def local_object_reference(self) -> "ConfigMapSource":
        return self


class EmptyDirSource(WireShape, frozen=True, gc=False):
    medium: str = ""


class HostPathSource(WireShape, frozen=True, gc=False):
    type: str = ""


class WireVolume(WireShape, frozen=True, gc=False):
    """On this wire a volume's source lies beside its name, on the other in a separate message."""

    host_path: HostPathSource | None = None
    empty_dir: EmptyDirSource | None = None
    persistent_volume_claim: ClaimSource | None = None
    config_map: ConfigMapSource | None = None

    @property
    def volume_source(self) -> "WireVolume":
        return self


class PodResourceClaim(WireShape, frozen=True, gc=False):
    name: str = ""
    resource_claim_name: str = ""
    resource_claim_template_name: str = ""


class WireToleration(WireShape, frozen=True, gc=False):
    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""


class WireSpread(WireShape, frozen=True, gc=False):
    max_skew: int = 0
    topology_key: str = ""
    when_unsatisfiable: str = ""


class PodSpec(WireShape, frozen=True, gc=False):
    containers: tuple[Container, ...] = ()
    volumes: tuple[WireVolume, ...] = ()
    node_selector: dict[str, str] = msgspec.field(default_factory=dict)
    tolerations: tuple[WireToleration, ...] = ()
    preemption_policy: str = ""
    topology_spread_constraints: tuple[WireSpread, ...] = ()
    node_name: str = ""
    affinity: Affinity | None = None
    scheduler_name: str = ""
    init_containers: tuple[Container, ...] = ()
    priority_class_name: str = ""
    priority: int | None = None
    overhead: Quantities = msgspec.field(default_factory=dict)
    scheduling_gates: tuple[PodSchedulingGate, ...] = ()
    resource_claims: tuple[PodResourceClaim, ...] = ()
    resources: ResourceRequirements = NO_RESOURCES
    scheduling_group: PodSchedulingGroup = PodSchedulingGroup()


class ContainerStateWaiting(WireShape, frozen=True, gc=False):
    reason: str = ""
    message: str = ""


class ContainerStateTerminated(WireShape, frozen=True, gc=False):
    exit_code: int = 0
    reason: str = ""
    message: str = ""
    started_at: str | None = None
    finished_at: str | None = None


class ContainerState(WireShape, frozen=True, gc=False):
    waiting: ContainerStateWaiting | None = None
    terminated: ContainerStateTerminated | None = None


class ContainerStatus(WireShape, frozen=True, gc=False):
    name: str = ""
    state: ContainerState = ContainerState()
    last_state: ContainerState = ContainerState()
    ready: bool = False
    restart_count: int = 0


class PodCondition(WireShape, frozen=True, gc=False):
    type: str = ""
    status: str = ""
    last_transition_time: str | None = None
    reason: str = ""
    message: str = ""


class PodStatus(WireShape, frozen=True, gc=False):
    phase: str = ""
    conditions: tuple[PodCondition, ...] = ()
    message: str = ""
    reason: str = ""
    pod_ip: str = msgspec.field(default="", name="podIP")
    start_time: str | None = None
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    nominated_node_name: str = ""


class WirePod(WireShape, frozen=True, gc=False):
    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


class PodTemplateSpec(WireShape, frozen=True, gc=False):
    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()


class WireTaint(WireShape, frozen=True, gc=False):
    key: str = ""
    value: str = ""
    effect: str = ""


class NodeSpec(WireShape, frozen=True, gc=False):
    provider_id: str = msgspec.field(default="", name="providerID")
    unschedulable: bool = False
    taints: tuple[WireTaint, ...] = ()


class NodeAddress(WireShape, frozen=True, gc=False):
    type: str = ""
    address: str = ""


class NodeSystemInfo(WireShape, frozen=True, gc=False):
    kubelet_version: str = ""


class NodeStatus(WireShape, frozen=True, gc=False):
    capacity: Quantities = msgspec.field(default_factory=dict)
    allocatable: Quantities = msgspec.field(default_factory=dict)
    conditions: tuple[PodCondition, ...] = ()
    addresses: tuple[NodeAddress, ...] = ()
    node_info: NodeSystemInfo = NodeSystemInfo()


class WireNode(WireShape, frozen=True, gc=False):
    metadata: ObjectMeta = ObjectMeta()
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


class ObjectReference(WireShape, frozen=True, gc=False):
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""


class EventSource(WireShape, frozen=True, gc=False):
    component: str = ""


class EventSeries(WireShape, frozen=True, gc=False):
    count: int = 0
    last_observed_time: str | None = None


class WireEvent(WireShape, frozen=True, gc=False):
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


class JobSpec(WireShape, frozen=True, gc=False):
    parallelism: int | None = None
    completions: int | None = None
    template: PodTemplateSpec = PodTemplateSpec()
    suspend: bool = False


class JobStatus(WireShape, frozen=True, gc=False):
    conditions: tuple[PodCondition, ...] = ()
    start_time: str | None = None
    completion_time: str | None = None
    active: int = 0
    succeeded: int = 0
    failed: int = 0


class WireJob(WireShape, frozen=True, gc=False):
    metadata: ObjectMeta = ObjectMeta()
    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()
