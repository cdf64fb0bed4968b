"""What a kubelet needs from a container runtime. Two exist: `simulated` and `process`."""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Protocol

import msgspec

from cockpit.sim.actors.kubelet.behaviour import Behaviour
from cockpit.sim.port import Tree

STDOUT = "stdout"
STDERR = "stderr"


class Exit(msgspec.Struct, frozen=True):
    """How a container ended, and when (epoch seconds)."""

    code: int
    at: float
    reason: str = ""
    message: str = ""

    @property
    def word(self) -> str:
        """The reason of the terminated state: `Completed`, `Error`, or what the runtime said."""
        return self.reason or ("Error" if self.code else "Completed")


Piece = tuple[str, bytes]
"""(stream, data)"""


class ExecSession(Protocol):
    """What an exec speaks with: one command in a container, with its streams."""

    async def read(self) -> Piece | None:
        """The next output, None when there will be no more."""

    def write(self, data: bytes) -> None:
        """Input."""

    async def drain(self) -> None:
        """Wait until more input may be given."""

    def close_input(self) -> None:
        """No more input."""

    def resize(self, width: int, height: int) -> None:
        """The terminal has another size (columns, rows)."""

    async def wait(self) -> int:
        """The exit code."""

    async def end(self) -> None:
        """Whoever listened is gone: end the command."""


class StartFailed(Exception):
    """The runtime could not start the command (exit code 128, reason StartError)."""


class ContainerLogLine(msgspec.Struct, frozen=True):
    """One line of a container: when (epoch seconds), of which stream, its bytes without the line feed."""

    at: float
    stream: str
    text: bytes
    is_partial: bool = False


class Log(Protocol):
    """What a container wrote. Lines are made or read when somebody asks."""

    def lines(self, *, since: float, tail: int | None, now: float) -> Iterable[ContainerLogLine]:
        """Lines written from `since` until `now`, only the last `tail` of them when that is given."""

    def follow(self, after: float) -> AsyncIterator[ContainerLogLine]:
        """Lines written later than `after`, as they come, until the container has ended."""


class ProbeResult(msgspec.Struct, frozen=True):
    """What one run of a probe came to; `text` is what the kubelet says of a failure."""

    is_success: bool
    text: str = ""


class RunningContainer(Protocol):
    """One container that was started. Ends with `ended`, which stays the same from then on."""

    @property
    def log(self) -> Log: ...

    def ended(self, now: float) -> Exit | None:
        """How it ended, or None while it runs."""

    def due(self) -> float | None:
        """When to look again: known in the simulated runtime only."""

    def stop(self, now: float, grace_seconds: float) -> None:
        """SIGTERM now, SIGKILL after the grace. Asked again with a shorter grace, the shorter one holds."""

    def probe(self, kind: str, probe: Tree, now: float) -> ProbeResult | None:
        """Run a probe (`liveness`, `readiness`, `startup`) once; None: asked, `wake` says when to look."""

    def probe_changes_at(self, kind: str, now: float) -> float:
        """When the outcome of a probe may next be another one; `now` where nobody knows."""

    def write(self, data: bytes) -> None:
        """Input of an attach."""

    def usage(self, now: float) -> tuple[float, int]:
        """CPU cores and memory bytes in use."""


class Start(msgspec.Struct, frozen=True):
    """All that is needed to start one container."""

    pod: Tree
    container: Tree
    attempt: int
    container_id: str
    environment: Mapping[str, str]
    devices: Mapping[str, Sequence[str]]
    behaviour: Behaviour
    pod_address: str


class PortConnection(Protocol):
    """One connection to a port."""

    async def read(self) -> bytes:
        """The next bytes, b"" when the other side has said all."""

    async def write(self, data: bytes) -> None:
        """Give it bytes. Raises ConnectionError where nobody is there any more."""

    def close(self) -> None:
        """Hang up."""


class Runtime(Protocol):
    """Starts containers."""

    name: str
    has_images: bool
    """True when every image counts as present (the process runtime has no images)."""

    async def prepare(
        self, pod: Tree, volumes: Mapping[str, Mapping[str, bytes]], claims: Mapping[str, str]
    ) -> None:
        """Make what the pod's containers share; `volumes` are the files of configMap and secret volumes,
        `claims` the uids of PersistentVolumeClaims, by the volume's name."""

    async def follow(self, pod: Tree, volumes: Mapping[str, Mapping[str, bytes]]) -> None:
        """The files of its volumes have changed."""

    async def forget_claim(self, uid: str) -> None:
        """A PersistentVolumeClaim is gone: so is what it held."""

    async def start(self, start: Start, now: float, wake: "Wake") -> RunningContainer:
        """Start a container. Raises StartFailed."""

    async def open(
        self, running: RunningContainer, command: list[str], *, is_tty: bool, has_stdin: bool
    ) -> ExecSession:
        """Start a command in a running container (`exec`). Raises StartFailed."""

    async def dial(
        self, pod: Tree, running: "Sequence[tuple[str, RunningContainer]]", port: int, now: float
    ) -> PortConnection:
        """Connect to a port of a pod whose containers (by name) run. Raises ports.DialFailed."""

    async def clear(self, pod: Tree) -> None:
        """The pod is gone: end and remove everything of it at once."""

    async def close(self) -> None:
        """End everything."""

    def pod_address(self, pod: Tree) -> str:
        """The address of a pod where the runtime gives one, "" where the kubelet chooses."""


class Wake(Protocol):
    """Called by a runtime when something happened to a container that nobody could know in advance."""

    def __call__(self) -> None: ...
