"""Forward: a port of a pod on this machine's loopback; audited like a shell, for it reaches as far."""

import asyncio
import itertools
import secrets
import shlex
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, NamedTuple, Protocol, cast

import msgspec

from cockpit.actions.enter import containers_of
from cockpit.actions.execute.execute_plan import READ_ONLY, AuditLog
from cockpit.actions.pod_audit import intent
from cockpit.actions.read import read_tree
from cockpit.clock import Clock
from cockpit.errors import BadInput, CockpitError, Refused
from cockpit.kube.forward import open_tunnel
from cockpit.kube.session import ApiSession as KubeSession
from cockpit.listener import LOOPBACK, Listener, Peer
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.model.session import Connection, Reader
from cockpit.model.store_reader import StoreReader
from cockpit.sanitise import SHORT, clean

BOARD = "tensorboard"
"""Name of the container and of the port in the templates, and of the program."""
BOARD_PORT = 6006
"""Where TensorBoard listens when nobody says."""
_FIRST_ROLES = ("launcher", "master", "chief", "driver")
MOST_LOOKED_AT = 4
"""So many pods are read when none has a container of that name."""
_PROBE_SECONDS = 1.0
MOST_PORT = (1 << 16) - 1
_MOST_DIGITS = 9


class Passage(msgspec.Struct, frozen=True, kw_only=True):
    """Which port of which pod, and where it is to be had; `local_port` 0 lets the system choose."""

    namespace: str
    pod: str
    uid: str
    port: int
    local_port: int = 0

    @property
    def target(self) -> str:
        """As audit lines and headings name it."""
        return f"port {self.port} of pod {self.namespace}/{self.pod}"

    def line(self, context: str = "") -> str:
        """`kubectl port-forward -n team-a pod/llm-launcher 6006:6006`: what would do the same."""
        where = ["--context", context] if context else []
        words = ["kubectl", *where, "port-forward", "--address", LOOPBACK, "-n", self.namespace]
        return shlex.join([*words, f"pod/{self.pod}", f"{self.local_port or ''}:{self.port}"])


class DeclaredPort(NamedTuple):
    """A TCP port that a container of a pod declares; `name` "" where it has none."""

    number: int
    name: str
    container: str

    @property
    def words(self) -> str:
        """`metrics of container main`."""
        return f"{self.name} of container {self.container}" if self.name else f"of container {self.container}"


class Tunnel(Peer, Protocol):
    """One connection to the port (cockpit.kube.forward.PodTunnel)."""

    async def begun(self) -> None: ...


Open = Callable[[Connection, Passage], AbstractAsyncContextManager[Tunnel]]
Stay = Callable[[Listener], Awaitable[str]]
"""Called once the port is open; it ends when the person has had enough, with the reason in words."""


def plan_passage(pod: Pod, port: int, local_port: int = 0) -> Passage:
    """Raises BadInput where the pod has ended or has no node, or a port is none."""
    where = f"pod {pod.namespace}/{pod.name}"
    if pod.is_finished:
        raise BadInput(f"{where} has ended ({pod.phase}): there is no port to forward")
    if not pod.node:
        raise BadInput(f"{where} is not scheduled yet: there is no port to forward")
    if not 1 <= port <= MOST_PORT:
        raise BadInput(f"invalid port {port}: use 1 to {MOST_PORT}")
    if not 0 <= local_port <= MOST_PORT:
        raise BadInput(f"invalid local port {local_port}: use 0 (any) to {MOST_PORT}")
    return Passage(namespace=pod.namespace, pod=pod.name, uid=pod.uid, port=port, local_port=local_port)


def parse_ports(text: str) -> tuple[int, int]:
    """(port of this machine, port of the pod) of `8080`, `9090:8080` or `:8080`; 0 is any free port here.

    Raises BadInput for anything else.
    """
    local, colon, remote = text.strip().rpartition(":")
    words = (local or "0", remote) if colon else (remote, remote)
    if not all(word.isascii() and word.isdecimal() and len(word) <= _MOST_DIGITS for word in words):
        raise BadInput(f"invalid port {text.strip()!r}: use PORT, LOCAL:PORT or :PORT, such as 9090:8080")
    here, there = map(int, words)
    if not 1 <= there <= MOST_PORT:
        raise BadInput(f"invalid port {there}: use 1 to {MOST_PORT}")
    if here > MOST_PORT:
        raise BadInput(f"invalid local port {here}: use 0 (any) to {MOST_PORT}")
    return here, there


def why_over(passage: Passage, store: StoreReader) -> str:
    """Why the pod has no port any more, "" while it has."""
    pod = store.get(Kind.POD, passage.uid)
    if not isinstance(pod, Pod):
        return f"ended: pod {passage.pod} is gone"
    return f"ended: pod {passage.pod} has ended ({pod.phase})" if pod.is_finished else ""


async def read_ports(session: Reader, pod: Pod) -> tuple[DeclaredPort, ...]:
    """The TCP ports that the pod's containers declare, each number once. Raises Refused, NoConnection."""
    path = f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}"
    return declared_ports(await read_tree(session, path, f"pod {pod.namespace}/{pod.name}"))


def declared_ports(tree: Mapping[str, Any]) -> tuple[DeclaredPort, ...]:
    """The TCP ports in a pod's tree, sidecars' after those of the containers."""
    found: dict[int, DeclaredPort] = {}
    for container in _containers(tree):
        for port in container.get("ports") or ():
            number = port.get("containerPort") if isinstance(port, dict) else None
            if isinstance(number, int) and 1 <= number <= MOST_PORT and port.get("protocol", "TCP") == "TCP":
                name, of = (clean(str(it.get("name") or ""), SHORT) for it in (port, container))
                found.setdefault(number, DeclaredPort(number, name, of))
    return tuple(found.values())


def _containers(tree: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    spec = tree.get("spec") or {}
    # a sidecar is an init container that always runs
    sections = (spec.get("containers") or (), spec.get("initContainers") or ())
    return [item for section in sections for item in section if isinstance(item, dict)]


def board_candidates(members: Iterable[Pod]) -> list[Pod]:
    """Members that may serve TensorBoard, the likeliest first: who has a container of that name, else who
    leads the others, else the first ranks. Only those that run; empty where none does."""
    running = [pod for pod in members if pod.phase == "Running"]
    named = [pod for pod in running if BOARD in containers_of(pod)]
    if named:
        return named
    leading = [pod for pod in running if pod.role in _FIRST_ROLES]
    others = [pod for pod in running if pod.role not in _FIRST_ROLES]
    return [*leading, *others][:MOST_LOOKED_AT]


def board_port(tree: Mapping[str, Any]) -> int | None:
    """The port of TensorBoard in a pod's tree: a port of that name, what `--port` of its command says, the
    usual one where the command is tensorboard or the port is announced; None where nothing tells of it."""
    containers = _containers(tree)
    announced = [port for one in containers for port in one.get("ports") or () if isinstance(port, dict)]
    for port in announced:
        number = port.get("containerPort")
        if port.get("name") == BOARD and isinstance(number, int):
            return number
    for one in containers:
        words = [str(word) for word in (*(one.get("command") or ()), *(one.get("args") or ()))]
        if one.get("name") == BOARD or any(BOARD in word for word in words):
            return next(_ports_said(words), BOARD_PORT)
    return BOARD_PORT if any(port.get("containerPort") == BOARD_PORT for port in announced) else None


def _ports_said(words: Sequence[str]) -> Iterator[int]:
    parts = [part for word in words for part in word.replace("=", " ").split()]
    for flag, value in itertools.pairwise(parts):
        if flag == "--port" and value.isascii() and value.isdecimal() and 1 <= int(value) <= MOST_PORT:
            yield int(value)


async def find_board(session: Reader, job: str, members: Iterable[Pod], local_port: int = 0) -> Passage:
    """Where the job's TensorBoard is. Raises BadInput where no member tells of one, Refused, NoConnection."""
    candidates = board_candidates(members)
    if not candidates:
        raise BadInput(f"no member of {job} is running: there is no TensorBoard to open")
    for pod in candidates:
        path = f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}"
        port = board_port(await read_tree(session, path, f"pod {pod.namespace}/{pod.name}"))
        if port is not None:
            return plan_passage(pod, port, local_port)
    raise BadInput(
        f"no member of {job} serves TensorBoard: submit with tensorboard=/its/logs, "
        f"or give a port (cockpit job {BOARD} ... --port {BOARD_PORT})"
    )


def _kube_open(session: Connection, passage: Passage) -> AbstractAsyncContextManager[Tunnel]:
    # every session of the program is one of cockpit.kube
    return open_tunnel(cast("KubeSession", session), passage.namespace, passage.pod, passage.port)


async def hold_open(
    passage: Passage,
    session: Connection,
    audit: AuditLog,
    clock: Clock,
    stay: Stay,
    *,
    changed: Callable[[], None] = lambda: None,
    opened: Open = _kube_open,
    new_id: Callable[[], str] = lambda: secrets.token_hex(6),
) -> str:
    """Try the port once, then listen on loopback until `stay` ends; answers why it ended.

    Raises CockpitError with one sentence: read-only, no audit line, refused, nobody listens there, the local
    port is taken.
    """
    if session.read_only:
        raise Refused(READ_ONLY)
    entry = intent(passage, session, clock, new_id(), verb="forward", subresource="portforward")
    audit.append(entry)
    listener = Listener(lambda: opened(session, passage), changed)
    state, sentence = "failed", "interrupted"
    try:
        await _probe(session, passage, opened)
        await listener.start(passage.local_port)
        why = await stay(listener)
        state, sentence = "done", f"{why}; {_counted(listener.served_count + listener.open_count)}"
    except CockpitError as error:
        state = "refused" if isinstance(error, Refused) else "failed"
        sentence = error.sentence
        raise
    except asyncio.CancelledError:
        state, sentence = (
            "done",
            f"closed; {_counted(listener.served_count + listener.open_count)}",
        )
        raise
    finally:
        audit.append(
            msgspec.structs.replace(
                entry, step="outcome", at_seconds=clock.now(), state=state, sentence=sentence
            )
        )
        await listener.stop()
    return why


def _counted(connections: int) -> str:
    return "1 connection" if connections == 1 else f"{connections} connections"


async def _probe(session: Connection, passage: Passage, opened: Open) -> None:
    """One connection that says nothing: rights, pod and port are refused before an address is shown.

    A node tells at once that nobody listens, and nothing when somebody does: a second of silence is good.
    """
    async with opened(session, passage) as tunnel:
        await tunnel.begun()
        try:
            async with asyncio.timeout(_PROBE_SECONDS):
                await tunnel.read()
        except TimeoutError:
            pass
