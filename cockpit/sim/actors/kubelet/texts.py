"""Sentences of the kubelet and durations as Go prints them; the wording is that of Kubernetes 1.36.

Sources: pkg/kubelet/{images/image_manager.go, kuberuntime/kuberuntime_manager.go, lifecycle/predicate.go,
cm/admission/errors.go, active_deadline.go, kubelet_pods.go}.
"""

from cockpit.sim.port import Tree

DEADLINE = "Pod was active on the node longer than the specified deadline"
LOST_CONTAINER = "The container could not be located when the pod was terminated"
UNKNOWN_RESTART = (
    "The container could not be located when the pod was deleted.  The container used to be Running"
)


def go_duration(seconds: float) -> str:
    """`350ms`, `1.204s`, `10s`, `2m40s`, `1h0m0s`: a Go duration cut to milliseconds."""
    millis = int(seconds * 1000 + 1e-6)
    if millis < 1000:
        return f"{millis}ms" if millis else "0s"
    hours, rest = divmod(millis, 3_600_000)
    minutes, rest = divmod(rest, 60_000)
    text = f"{rest / 1000:.3f}".rstrip("0").rstrip(".") + "s"
    if hours:
        return f"{hours}h{minutes}m{text}"
    return f"{minutes}m{text}" if minutes else text


def pod_word(pod: Tree) -> str:
    """`name_namespace(uid)`, as the kubelet formats a pod."""
    metadata = pod["metadata"]
    return f"{metadata['name']}_{metadata.get('namespace', '')}({metadata.get('uid', '')})"


def full_image(image: str) -> str:
    """`docker.io/library/busybox:latest` for `busybox`: the name as containerd resolves it."""
    head, slash, _ = image.partition("/")
    if not slash:
        image = f"docker.io/library/{image}"
    elif "." not in head and ":" not in head and head != "localhost":
        image = f"docker.io/{image}"
    last = image.rsplit("/", 1)[-1]
    return image if ":" in last or "@" in last else f"{image}:latest"


def pull_failure(image: str, error: str) -> str:
    """What containerd says when an image cannot be had, by kind of error (`behaviour.ImageError`)."""
    name = full_image(image)
    host = name.split("/", 1)[0]
    path = name[len(host) + 1 :].rsplit(":", 1)
    tag = path[1] if len(path) > 1 else "latest"
    manifest = f"https://{host}/v2/{path[0]}/manifests/{tag}"
    unpack = f'failed to pull and unpack image "{name}": failed to resolve reference "{name}": '
    match error:
        case "unauthorized":
            return (
                f"rpc error: code = Unknown desc = {unpack}failed to authorize: failed to fetch oauth token: "
                f"unexpected status from GET request to https://{host}/token: 401 Unauthorized"
            )
        case "rate-limit":
            return (
                f"rpc error: code = Unknown desc = {unpack}unexpected status from HEAD request to "
                f"{manifest}: 429 Too Many Requests\ntoomanyrequests: You have reached your pull rate limit."
            )
        case "unavailable":
            return (
                f'rpc error: code = Unavailable desc = {unpack}failed to do request: Head "{manifest}": '
                "dial tcp: i/o timeout"
            )
        case _:
            return f"rpc error: code = NotFound desc = {unpack}{name}: not found"


def crash_back_off(seconds: float, container: str, pod: Tree) -> str:
    """The message of a container that waits in CrashLoopBackOff."""
    return f"back-off {go_duration(seconds)} restarting failed container={container} pod={pod_word(pod)}"


def not_enough(resource: str, requested: int, used: int, capacity: int) -> str:
    """Why the kubelet's own check refuses a pod (`OutOf<resource>`)."""
    return (
        f"Node didn't have enough resource: {resource}, requested: {requested}, used: {used}, "
        f"capacity: {capacity}"
    )


def no_devices(resource: str, requested: int, available: int) -> str:
    """Why the device manager refuses a pod (`UnexpectedAdmissionError`)."""
    return (
        f"Allocate failed due to requested number of devices unavailable for {resource}. "
        f"Requested: {requested}, Available: {available}, which is unexpected"
    )


def no_healthy_devices(resource: str) -> str:
    """Why the device manager refuses a pod when no device of the resource is healthy."""
    return (
        f"Allocate failed due to no healthy devices present; cannot allocate unhealthy devices {resource}, "
        "which is unexpected"
    )
