"""On a node, and not running. Texts: kubelet 1.33 to 1.37, container runtimes, volume plugins."""

from cockpit.catalogue.cause import Cause
from cockpit.catalogue.row import Gate, Mender, in_log, of_kubelet, row
from cockpit.model.finding import Permanence

_IMAGES = "kubernetes pkg/kubelet/images/types.go"
_SYNC = "kubernetes pkg/kubelet/container/sync_result.go"
_LIFECYCLE = "https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/"
_USER, _ADMIN, _INFRA = Mender.USER, Mender.ADMIN, Mender.INFRA


_PULL = r"^(?:ErrImagePull|ImagePullBackOff|Failed|ErrImageNeverPull|InvalidImageName|RegistryUnavailable)"

ROWS = (
    row(
        Cause.IMAGE_NOT_PULLED,
        Gate.START,
        "the image cannot be pulled",
        "Check name, tag, pull secret, registry and architecture.",
        _USER,
        Permanence.NEVER,
        _IMAGES,
        "containerStatuses[].state.waiting; event Failed",
        of_kubelet(
            rf"{_PULL}: .*(?P<why>unauthorized|authentication required|denied|forbidden|no basic auth)",
            "image {image}: the registry says unauthorized: check the pull secret",
        ),
        of_kubelet(
            rf"{_PULL}: .*no matching manifest", "image {image} is not made for the node's architecture"
        ),
        of_kubelet(
            rf"{_PULL}: .*(?:toomanyrequests|rate limit|429)",
            "registry {registry} limits pulls of {image}",
        ),
        of_kubelet(rf"{_PULL}: .*x509", "registry {registry} has no trusted certificate: image {image}"),
        of_kubelet(rf"{_PULL}: .*(?P<why>no space left)", "image {image}: no space left on the node's disk"),
        of_kubelet(
            rf"{_PULL}: .*(?P<why>i/o timeout|connection refused|no such host|deadline exceeded)",
            "registry {registry} does not answer: {why}: image {image}",
        ),
        of_kubelet(
            rf"{_PULL}: .*(?:not found|manifest unknown|does not exist)",
            "image {image} not found in the registry",
        ),
        of_kubelet(r"^ErrImageNeverPull", "image {image} is not on the node and may not be pulled"),
        of_kubelet(r"^InvalidImageName", "image name {image} is not valid"),
        of_kubelet(r"^RegistryUnavailable", "registry {registry} does not answer: image {image}"),
        of_kubelet(r"^SignatureValidationFailed", "image {image}: its signature is not valid"),
        of_kubelet(r"^ImageInspectError", "image {image} cannot be inspected on the node"),
        of_kubelet(r"^(?:ErrImagePull|ImagePullBackOff)", "image {image} cannot be pulled"),
    ),
    row(
        Cause.STARTING,
        Gate.START,
        "the image is being pulled",
        "Wait; large images take minutes, and can be pulled ahead.",
        _USER,
        Permanence.PASSES,
        _LIFECYCLE,
        "event Pulling without Pulled",
        yields_to=(
            Gate.START,
            Gate.PROGRESS,
        ),
    ),
    row(
        Cause.CONFIG_MISSING,
        Gate.START,
        "a ConfigMap, Secret or key that the container names does not exist",
        "Create it, or correct the name.",
        _USER,
        Permanence.ACTS,
        _SYNC,
        "waiting CreateContainerConfigError",
        of_kubelet(
            r"^CreateContainerConfigError: .*?(?P<kind>configmap|secret) \"(?P<object>[^\"]+)\" not found",
            "{kind} {object} does not exist",
        ),
        of_kubelet(
            r"^CreateContainerConfigError: .*?couldn't find key (?P<key>\S+) "
            r"in (?P<kind>\w+) (?P<object>\S+)",
            "key {key} is not in {kind} {object}",
        ),
        of_kubelet(
            r"^CreateContainerConfigError: .*?(?:runAsNonRoot|non-root)",
            "its image runs as root and runAsNonRoot forbids it",
        ),
        of_kubelet(
            r"^CreateContainerConfigError(?:: (?P<why>.*))?", "container configuration is wrong: {why}"
        ),
    ),
    row(
        Cause.CANNOT_START,
        Gate.START,
        "the container runtime cannot start the container",
        "Check command, mounts and devices; for a driver error the node.",
        _USER,
        Permanence.NEVER,
        _SYNC,
        "waiting CreateContainerError, RunContainerError; terminated StartError",
        of_kubelet(
            r"nvidia-container-cli: .*?(?P<why>driver not loaded|driver error[^:]*|unknown device|"
            r"initialization error)",
            "GPU driver on node {node}: {why}",
        ),
        of_kubelet(
            r'(?:exec: "(?P<command>[^"]+)"|exec (?P<path>/\S+)|"(?P<program>[^"]+)"): '
            r"(?:[^:]*: )?(?:executable file not found|(?:stat [^:]+: )?no such file or directory)",
            "command {command}{path}{program} is not in the image",
        ),
        of_kubelet(r'exec: "(?P<command>[^"]+)": permission denied', "command {command} may not be executed"),
        of_kubelet(r"exec format error", "its program is not made for the node's architecture"),
        of_kubelet(
            r"\bport (?P<port>[0-9]+) of this machine is in use by "
            r"(?P<holder>pod [^ ,]+|process [0-9]+ \([^)]*\)|a process of another user)",
            "port {port} is in use by {holder}",
        ),
        of_kubelet(
            r"^(?:CreateContainerError|RunContainerError|StartError|ContainerCannotRun)(?:: (?P<why>.*))?",
            "the container cannot start: {why}",
        ),
    ),
    row(
        Cause.NO_SANDBOX,
        Gate.START,
        "the pod's sandbox or network cannot be made",
        "Restart the CNI or toolkit pod of the node.",
        _INFRA,
        Permanence.PASSES,
        "https://github.com/NVIDIA/gpu-operator/issues/413",
        "event FailedCreatePodSandBox",
        of_kubelet(
            r'^FailedCreatePodSandBox: .*no runtime for "(?P<runtime>[^"]+)" is configured',
            "runtime {runtime} is not configured on node {node}: toolkit missing",
        ),
        of_kubelet(
            r'^FailedCreatePodSandBox: .*plugin type="(?P<plugin>[^"]+)"(?:.*failed[^:]*: (?P<why>.*))?',
            "network plugin {plugin} fails on node {node}: {why}",
        ),
        of_kubelet(
            r"^FailedCreatePodSandBox: (?P<why>.*)", "its sandbox cannot be made on node {node}: {why}"
        ),
    ),
    row(
        Cause.VOLUME_NOT_MOUNTED,
        Gate.START,
        "a volume cannot be attached or mounted",
        "Unmount it elsewhere, or mend its server; create what the mount names.",
        _INFRA,
        Permanence.PASSES,
        "https://github.com/kubernetes/kubernetes/pull/56288",
        "event FailedMount, FailedAttachVolume",
        of_kubelet(
            r'^FailedAttachVolume: .*Multi-Attach error for volume "(?P<volume>[^"]+)"',
            "volume {volume} is still attached to another node",
        ),
        of_kubelet(
            r"^FailedMount: .*?(?P<kind>configmap|secret) \"(?P<object>[^\"]+)\" not found",
            "{kind} {object}, which it mounts, does not exist",
        ),
        of_kubelet(
            r"^FailedMount: .*volume \"(?P<volume>[^\"]+)\"[^:]*: .*?(?P<why>timed out|access denied[^:]*|"
            r"permission denied|connection refused|no such host|stale file handle|no such file or directory)",
            "volume {volume} cannot be mounted: {why}",
        ),
        of_kubelet(
            r"^FailedMount: .*unmounted volumes=\[(?P<volume>[^\]]+)\].*(?P<why>timed out)",
            "volume {volume} cannot be mounted: {why}",
        ),
        of_kubelet(r"^(?:FailedMount|FailedAttachVolume): (?P<why>.*)", "a volume cannot be mounted: {why}"),
    ),
    row(
        Cause.DEVICES_NOT_PREPARED,
        Gate.START,
        "the claimed devices cannot be prepared",
        "Restart the kubelet plugin of the DRA driver.",
        _INFRA,
        Permanence.PASSES,
        "https://kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation/",
        "event FailedPrepareDynamicResources",
        of_kubelet(
            r"^FailedPrepareDynamicResources: .*?(?:DRA driver|plugin name|driver) "
            r"\"?(?P<driver>[\w.-]+\.[\w.-]+)\"?",
            "DRA driver {driver} is not registered on node {node}",
        ),
        of_kubelet(
            r"^FailedPrepareDynamicResources: (?P<why>.*)",
            "its devices cannot be prepared on node {node}: {why}",
        ),
    ),
    row(
        Cause.NODE_NOT_READY,
        Gate.START,
        "the node is not ready",
        "Check the kubelet and the machine; pods leave it once the kubelet answers or the node is deleted.",
        _INFRA,
        Permanence.ACTS,
        "kubernetes core/v1/well_known_taints.go",
        "Node condition Ready",
    ),
    row(
        Cause.GPU_STACK_DOWN,
        Gate.START,
        "the driver or device plugin of the node is down",
        "Read the driver pod's log, or reboot the node.",
        _INFRA,
        Permanence.ACTS,
        "gpu-operator controllers/state_manager.go",
        "Node capacity, labels nvidia.com/gpu.present and gpu.count",
    ),
    row(
        Cause.GPUS_UNHEALTHY,
        Gate.START,
        "GPUs of the node are unhealthy",
        "Cordon the node; reset or replace the GPU.",
        _INFRA,
        Permanence.ACTS,
        "https://docs.nvidia.com/deploy/xid-errors",
        "Node allocatable below capacity; XID; allocatedResourcesStatus",
    ),
    row(
        Cause.DEVICES_UNAVAILABLE,
        Gate.START,
        "the kubelet found too few healthy devices at start",
        "The pod is final: recreate it; look at the node's device plugin.",
        _INFRA,
        Permanence.ACTS,
        "https://github.com/kubernetes/kubernetes/issues/130145",
        "Pod status.reason UnexpectedAdmissionError",
        of_kubelet(
            r"requested number of devices unavailable for (?P<resource>\S+?)\.? Requested: (?P<asked>\d+), "
            r"Available: (?P<free>\d+)",
            "node {node} had {free} of the {asked} GPUs given to it: the pod is final",
        ),
        of_kubelet(
            r"^UnexpectedAdmissionError: .*no healthy devices present",
            "node {node} has no healthy device: the pod is final",
        ),
        of_kubelet(r"^UnexpectedAdmissionError: (?P<why>.*)", "node {node} refused it: {why}"),
    ),
    row(
        Cause.REFUSED_BY_KUBELET,
        Gate.START,
        "the kubelet refused the pod",
        "The pod is final: recreate it; for TopologyAffinityError ask for fewer devices.",
        _USER,
        Permanence.NEVER,
        "kubernetes pkg/kubelet/lifecycle/predicate.go",
        "Pod status.reason OutOf..., NodeAffinity, TopologyAffinityError, NodeShutdown",
        of_kubelet(
            r"^TopologyAffinityError", "no NUMA affinity on node {node} for what it asks: the pod is final"
        ),
        of_kubelet(r"^OutOf(?P<resource>\S+?):", "node {node} was out of {resource}: the pod is final"),
        of_kubelet(r"^NodeAffinity", "its node affinity no longer matches node {node}: the pod is final"),
        of_kubelet(r"^NodePorts", "its host port is taken on node {node}: the pod is final"),
        of_kubelet(r"^(?:NodeShutdown|Terminated|Shutdown)\b", "node {node} shut down: the pod is final"),
    ),
    row(
        Cause.INIT_CONTAINER,
        Gate.START,
        "an init container has not finished",
        "Read the init container's log.",
        _USER,
        Permanence.PASSES,
        _LIFECYCLE,
        "waiting PodInitializing; initContainerStatuses",
        yields_to=(
            Gate.START,
            Gate.PROGRESS,
        ),
    ),
    row(
        Cause.CRASHES,
        Gate.START,
        "the container crashes again and again",
        "Read the log of its last run.",
        _USER,
        Permanence.ACTS,
        _LIFECYCLE,
        "waiting CrashLoopBackOff; lastState.terminated",
        in_log(
            r"(?:CUDA out of memory|CUDA error: out of memory|OutOfMemoryError: CUDA)",
            "GPU memory is used up",
        ),
        yields_to=(
            Gate.PROGRESS,
            Cause.CANNOT_START,
            Cause.PREEMPTED,
            Cause.EVICTED_BY_KUBELET,
            Cause.REFUSED_BY_KUBELET,
            Cause.DEVICES_UNAVAILABLE,
        ),
    ),
    row(
        Cause.EVICTED_BY_KUBELET,
        Gate.START,
        "the kubelet evicted the pod",
        "Raise the request of what ran out; delete the worker or the job.",
        _USER,
        Permanence.NEVER,
        "https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/",
        "Pod status.reason Evicted",
        of_kubelet(
            r"^Evicted: .*low on resource: (?P<resource>[\w-]+)",
            "evicted from node {node}: low on {resource}",
        ),
        of_kubelet(
            r"^Evicted: .*(?P<resource>ephemeral local storage|emptyDir)[^.]*(?:exceeds|limit)",
            "evicted from node {node}: it used more {resource} than it may",
        ),
        of_kubelet(r"^Evicted: (?P<why>.*)", "evicted from node {node}: {why}"),
    ),
    row(
        Cause.STUCK_TERMINATING,
        Gate.START,
        "the pod is stuck terminating",
        "Remove what keeps it: a finalizer, a dead node, a process that hangs on the GPU.",
        _INFRA,
        Permanence.ACTS,
        _LIFECYCLE,
        "Pod metadata.deletionTimestamp, finalizers",
    ),
    row(
        Cause.NOT_READY,
        Gate.START,
        "it runs, but its readiness probe fails",
        "Check what the probe asks for: a worker's sshd, a server's port.",
        _USER,
        Permanence.PASSES,
        "https://kubernetes.io/docs/tasks/configure-pod-container/configure-liveness-readiness-startup-probes/",
        "Pod condition Ready; event Unhealthy",
        of_kubelet(
            r"^Unhealthy: Readiness probe failed: .*?:(?P<port>\d{2,5})\b.*?"
            r"(?P<why>connection refused|timeout|i/o timeout|deadline exceeded|statuscode: \d+)?$",
            "readiness probe of port {port} fails: {why}",
        ),
        of_kubelet(
            r"^Unhealthy: Readiness probe (?:failed|errored)[^:]*: (?P<why>.*)",
            "readiness probe fails: {why}",
        ),
        yields_to=(
            Gate.START,
            Gate.PROGRESS,
        ),
    ),
    row(
        Cause.LOST_WITH_NODE,
        Gate.START,
        "a node that it was placed on failed",
        "Wait for the queue to replace the node.",
        _INFRA,
        Permanence.PASSES,
        "kueue apis/kueue/v1beta2/workload_types.go",
        "Workload condition Evicted NodeFailures; status.unhealthyNodes",
    ),
    row(
        Cause.NODE_PRESSURE,
        Gate.START,
        "the node is short of disk, memory or process ids",
        "Clean up images and logs on the node.",
        _INFRA,
        Permanence.ACTS,
        "https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/",
        "Node conditions DiskPressure, MemoryPressure, PIDPressure",
    ),
)
