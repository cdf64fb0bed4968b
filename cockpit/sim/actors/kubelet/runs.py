"""What a kubelet remembers of the pods it runs."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from cockpit.sim.actors.kubelet.behaviour import FOREVER, Behaviour
from cockpit.sim.actors.kubelet.images import ImageStore, Pull
from cockpit.sim.actors.kubelet.runtime import Log, RunningContainer, Runtime, Wake
from cockpit.sim.port import Tree

ContainerKind = str
INIT, SIDECAR, MAIN = "init", "sidecar", "main"


class Stage(StrEnum):
    """Where a container is on its way."""

    IDLE = "idle"
    PULLING = "pulling"
    PULL_FAILED = "pull failed"
    PULL_BACK_OFF = "pull back-off"
    CREATING = "creating"
    CONFIG_ERROR = "config error"
    RUNNING = "running"
    BACK_OFF = "back-off"
    DONE = "done"


@dataclass(slots=True)
class ProbeRun:
    """One probe of one running container."""

    kind: str
    spec: Tree
    next_at: float
    successes: int = 0
    failures: int = 0
    is_ok: bool = False
    is_pending: bool = False


@dataclass(slots=True)
class ContainerRun:
    """One container. `until` is when its stage ends on its own."""

    spec: Tree
    kind: ContainerKind
    behaviour: Behaviour
    stage: Stage = Stage.IDLE
    until: float = FOREVER
    reason: str = ""
    message: str = ""
    pull: Pull | None = None
    pull_back_off_seconds: float = 0.0
    pull_failures: int = 0
    pull_error: str = ""
    has_image: bool = False
    back_off_seconds: float = 0.0
    running: RunningContainer | None = None
    started_at: float = 0.0
    container_id: str = ""
    terminated: Tree | None = None
    last: Tree | None = None
    logs: list[Log] = field(default_factory=list)
    restarts: int = 0
    is_started: bool = False
    is_ready: bool = False
    probes: list[ProbeRun] = field(default_factory=list)
    kill_message: str = ""
    is_stopping: bool = False

    @property
    def name(self) -> str:
        """Its name in the pod."""
        return str(self.spec["name"])

    @property
    def is_over(self) -> bool:
        """True when it will never run again on its own account."""
        return self.stage is Stage.DONE

    @property
    def exit_code(self) -> int | None:
        """Of its last end, None when it has not ended yet."""
        state = self.terminated or self.last
        return None if state is None else int(state["exitCode"])

    @property
    def field_path(self) -> str:
        """How events name it."""
        section = "containers" if self.kind == MAIN else "initContainers"
        return f"spec.{section}{{{self.name}}}"


class Ending(StrEnum):
    """Why a whole pod ends before its containers do on their own."""

    DELETED = "Deleted"
    DEADLINE = "DeadlineExceeded"


@dataclass(slots=True)
class PodRun:
    """One pod on one node."""

    pod: Tree
    node: str
    containers: list[ContainerRun]
    is_local: bool = False
    start_time: float = 0.0
    address: str = ""
    requests: dict[str, int] = field(default_factory=dict)
    is_admitted: bool = False
    is_prepared: bool = False
    sandbox_at: float = FOREVER
    mount_retry_at: float = 0.0
    mount_retry_seconds: float = 0.5
    ending: Ending | None = None
    grace_ends_at: float = FOREVER
    reason: str = ""
    message: str = ""
    is_final: bool = False
    is_rejected: bool = False
    is_known_final: bool = False
    written: Tree | None = None
    conditions: dict[str, tuple[str, str, str, float]] = field(default_factory=dict)
    told: list[tuple[str, str, str, str]] = field(default_factory=list)

    @property
    def uid(self) -> str:
        """The pod's uid."""
        return str(self.pod["metadata"]["uid"])

    @property
    def namespace(self) -> str:
        """The pod's namespace."""
        return str(self.pod["metadata"].get("namespace", ""))

    @property
    def name(self) -> str:
        """The pod's name."""
        return str(self.pod["metadata"]["name"])

    @property
    def restart_policy(self) -> str:
        """Always, OnFailure or Never."""
        return str(self.pod["spec"].get("restartPolicy") or "Always")

    @property
    def grace_seconds(self) -> float:
        """How long its containers get after SIGTERM, from the deletion or the spec."""
        metadata = self.pod["metadata"]
        for value in (metadata.get("deletionGracePeriodSeconds"), self._spec_grace()):
            if value is not None:
                return float(value)
        return 30.0

    def _spec_grace(self) -> Any:
        return self.pod["spec"].get("terminationGracePeriodSeconds")

    def of_kind(self, *kinds: ContainerKind) -> list[ContainerRun]:
        """Its containers of some kinds, in their order."""
        return [one for one in self.containers if one.kind in kinds]

    def container(self, name: str) -> ContainerRun | None:
        """One container by name."""
        return next((one for one in self.containers if one.name == name), None)

    def tell(self, kind: str, reason: str, message: str, field_path: str = "") -> None:
        """Put an event down; the actor writes it."""
        self.told.append((kind, reason, message, field_path))


@dataclass(slots=True)
class NodeRun:
    """One node and what its kubelet knows besides its pods."""

    tree: Tree
    runtime: str
    images: ImageStore
    is_out: bool = False
    is_out_by_annotation: bool = False
    pods: dict[str, PodRun] = field(default_factory=dict)
    written: Tree | None = None
    written_at: float = -1e18
    conditions: dict[str, tuple[str, float]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The node's name."""
        return str(self.tree["metadata"]["name"])


@dataclass(slots=True, frozen=True)
class PodHost:
    """Where a pod runs: its node, what runs its containers, and how that wakes the kubelet."""

    node: NodeRun
    runtime: Runtime
    wake: Wake
