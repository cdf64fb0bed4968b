"""Why a container waits: the kubelet's reasons, in plain words, how bad each is, and what helps.

Source: Kubernetes 1.36 pkg/kubelet/images/types.go, pkg/kubelet/container/sync_result.go,
pkg/kubelet/kuberuntime/kuberuntime_container.go, cri-api pkg/errors/errors.go.
"""

import enum
from typing import NamedTuple


class Severity(enum.Enum):
    """What waiting for a reason comes to."""

    PROGRESS = "progress"  # a start takes its course
    RETRIED = "retried"  # may pass by itself
    STUCK = "stuck"  # passes only after an action


class WaitingReason(NamedTuple):
    """`words` go on about a pod ("worker-0: cannot pull its image"), `remedy` is a separate sentence."""

    words: str
    severity: Severity
    remedy: str = ""


CRASHING = "CrashLoopBackOff"
START_FAILED = frozenset(("StartError", "ContainerCannotRun"))
"""Reasons of a container that ended before its program began; the message tells why."""

_PULL = WaitingReason(
    "cannot pull its image", Severity.STUCK, "Check the image's name and tag, and the pull secret."
)
_REASONS = {
    "ErrImagePull": _PULL,
    "ImagePullBackOff": _PULL,
    "ImageInspectError": WaitingReason(
        "cannot inspect its image", Severity.RETRIED, "Check the container runtime of the node."
    ),
    "InvalidImageName": WaitingReason("image name is not valid", Severity.STUCK, "Correct the image's name."),
    "ErrImageNeverPull": WaitingReason(
        "image is not on the node and may not be pulled",
        Severity.STUCK,
        "Load the image on the node, or change imagePullPolicy.",
    ),
    "RegistryUnavailable": WaitingReason(
        "image registry does not answer", Severity.RETRIED, "Check the image registry."
    ),
    "SignatureValidationFailed": WaitingReason(
        "image signature is not valid", Severity.STUCK, "Sign the image, or change the node's policy."
    ),
    "CreateContainerConfigError": WaitingReason(
        "container configuration is wrong",
        Severity.STUCK,
        "Check the ConfigMaps, Secrets and environment that it names.",
    ),
    "CreateContainerError": WaitingReason(
        "container cannot be created", Severity.STUCK, "Check its mounts and devices."
    ),
    "RunContainerError": WaitingReason(
        "container cannot start", Severity.STUCK, "Check its command, mounts and devices."
    ),
    CRASHING: WaitingReason("crashed", Severity.STUCK, "Read the logs of its last run."),
    "ContainerCreating": WaitingReason("container is being created", Severity.PROGRESS),
    "PodInitializing": WaitingReason("init containers are running", Severity.PROGRESS),
}


def waiting_reason(reason: str) -> WaitingReason:
    """What is known of a kubelet's reason; one that is not known stands for itself, and may pass."""
    return _REASONS.get(reason) or WaitingReason(reason, Severity.RETRIED)
