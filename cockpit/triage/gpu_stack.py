"""Why a node offers no GPU, as the pods of the GPU stack on it tell: which of them fails, which wait for it.

Sources: gpu-operator assets/state-*/ (names of DaemonSets; init containers `driver-validation` and
`toolkit-validation` wait for the part below), k8s-device-plugin, ROCm k8s-device-plugin, GKE's
nvidia-driver-installer.
"""

import enum
from collections.abc import Iterable
from typing import NamedTuple

from cockpit.k8s.waiting_reasons import Severity, waiting_reason
from cockpit.model.node import Node
from cockpit.model.pod import Pod
from cockpit.model.store_reader import StoreReader


class StackPart(enum.IntEnum):
    """In the order in which each needs the one before."""

    DRIVER = 1
    TOOLKIT = 2
    PLUGIN = 3
    VALIDATOR = 4


_NAMES = (
    ("driver-daemonset", StackPart.DRIVER),
    ("driver-installer", StackPart.DRIVER),
    ("gpu-driver", StackPart.DRIVER),
    ("container-toolkit", StackPart.TOOLKIT),
    ("device-plugin", StackPart.PLUGIN),
    ("operator-validator", StackPart.VALIDATOR),
    ("cuda-validator", StackPart.VALIDATOR),
)
_WORDS = {
    StackPart.DRIVER: "driver",
    StackPart.TOOLKIT: "container toolkit",
    StackPart.PLUGIN: "device plugin",
    StackPart.VALIDATOR: "validator",
}
_SUFFIX = "-daemonset"


class StackTrouble(NamedTuple):
    """The lowest part of the stack that is not up: `pod` fails (`words` says how) or waits; `waiting` are
    the pods that wait for it. `fails`: it does not get up by itself."""

    pod: Pod
    words: str
    fails: bool
    waiting: tuple[Pod, ...] = ()

    @property
    def name(self) -> str:
        """What a person calls the failing part: its DaemonSet without the words that all have."""
        return (self.pod.owner_name or self.pod.name).partition(_SUFFIX)[0]

    @property
    def waiting_words(self) -> str:
        """`device plugin`, "" where none waits."""
        parts = sorted({part for pod in self.waiting if (part := part_of(pod)) is not None})
        return " and ".join(_WORDS[one] for one in parts[:2])


def part_of(pod: Pod) -> StackPart | None:
    """Which part of the GPU stack the pod is, None for any other pod."""
    return next((part for word, part in _NAMES if word in pod.name), None)


def stack_trouble(node: Node, store: StoreReader) -> StackTrouble | None:
    """What of the stack on the node is not up, None where all of it is, or none of it runs as pods."""
    down = [
        (part, pod)
        for pod in store.pods_on(node.name)
        if (part := part_of(pod)) is not None and not pod.is_ready and not pod.is_finished
    ]
    if not down:
        return None
    down.sort(key=lambda pair: (not _fails(pair[1]), pair[0], pair[1].name))
    part, pod = down[0]
    waiting = _above(part, pod, down)
    return StackTrouble(pod, _words(pod), _fails(pod), waiting)


def _above(part: StackPart, pod: Pod, down: Iterable[tuple[StackPart, Pod]]) -> tuple[Pod, ...]:
    return tuple(other for above, other in down if other is not pod and above > part and not _fails(other))


def _fails(pod: Pod) -> bool:
    """Whether it does not get up by itself: a container of it ended badly, or its state says so."""
    is_stuck = bool(pod.waiting_reason) and waiting_reason(pod.waiting_reason).severity is Severity.STUCK
    return is_stuck or bool(pod.exit_code)


def _words(pod: Pod) -> str:
    """`driver-validation crashes`, `ImagePullBackOff`, `waits in driver-validation`."""
    if not _fails(pod):
        return f"waits in {pod.init_container}" if pod.init_container else "is not ready"
    what = "crashes" if pod.exit_code or not pod.waiting_reason else pod.waiting_reason
    return f"{pod.init_container} {what}" if pod.init_container else what
