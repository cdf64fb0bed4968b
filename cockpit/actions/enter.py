"""Enter: run a command in a container of a pod, a shell where none is named; audited like a change."""

import secrets
import shlex
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol, cast

import msgspec

from cockpit.actions.execute.execute_plan import READ_ONLY, AuditLog
from cockpit.actions.pod_audit import intent
from cockpit.clock import Clock
from cockpit.errors import BadInput, CockpitError, Refused
from cockpit.kube.exec import Command, open_exec
from cockpit.kube.session import ApiSession as KubeSession
from cockpit.model.pod import Pod
from cockpit.model.session import Connection

SHELL = ("sh", "-c", "command -v bash >/dev/null 2>&1 && exec bash || exec sh")
"""bash where the image has it, else sh: one attempt, whatever the image."""


class Entrance(msgspec.Struct, frozen=True, kw_only=True):
    """What is run, and where."""

    namespace: str
    pod: str
    uid: str
    container: str
    words: tuple[str, ...]
    is_tty: bool
    has_stdin: bool = True

    @property
    def target(self) -> str:
        """As audit lines and headings name it."""
        return f"pod {self.namespace}/{self.pod}"

    def line(self, context: str = "") -> str:
        """`kubectl exec -it -n team-a llm-worker-0 -c main -- sh`: what would do the same."""
        found = ["kubectl", *(["--context", context] if context else []), "exec"]
        found += ["-it" if self.is_tty else "-i", "-n", self.namespace, self.pod]
        return shlex.join([*found, *(["-c", self.container] if self.container else []), "--", *self.words])


def containers_of(pod: Pod) -> tuple[str, ...]:
    """Names of the containers that one may enter."""
    return tuple(name for name in pod.containers.split(",") if name)


def plan_entrance(
    pod: Pod, *, container: str = "", words: tuple[str, ...] = (), is_tty: bool = True
) -> Entrance:
    """Where to enter. Raises BadInput where nothing runs, or a container is unknown or has to be named."""
    where = f"pod {pod.namespace}/{pod.name}"
    if pod.is_finished:
        raise BadInput(f"{where} has ended ({pod.phase}): there is no shell to open; its logs are kept")
    if not pod.node:
        raise BadInput(f"{where} is not scheduled yet: there is no shell to open")
    names = containers_of(pod)
    if container and container not in names:
        raise BadInput(f"{where} has no container {container!r}; it has {', '.join(names)}")
    if not container and len(names) > 1:
        raise BadInput(f"{where} has several containers: choose one of {', '.join(names)}")
    return Entrance(
        namespace=pod.namespace,
        pod=pod.name,
        uid=pod.uid,
        container=container or (names[0] if names else ""),
        words=words or SHELL,
        is_tty=is_tty,
    )


class Running(Protocol):
    """A command that runs, and its streams (cockpit.kube.exec.Exec)."""

    @property
    def exit_code(self) -> int | None: ...
    async def read(self) -> tuple[str, bytes] | None: ...
    async def write(self, data: bytes) -> None: ...
    async def close_input(self) -> None: ...
    async def resize(self, columns: int, rows: int) -> None: ...


Join = Callable[[Running], Awaitable[None]]
"""Carries the streams until the command has ended."""
Open = Callable[[Connection, Entrance], AbstractAsyncContextManager[Running]]


def _kube_open(session: Connection, entrance: Entrance) -> AbstractAsyncContextManager[Running]:
    command = Command(
        namespace=entrance.namespace,
        pod=entrance.pod,
        container=entrance.container,
        words=entrance.words,
        is_tty=entrance.is_tty,
        has_stdin=entrance.has_stdin,
    )
    # every session of the program is one of cockpit.kube
    return open_exec(cast("KubeSession", session), command)


async def enter(
    entrance: Entrance,
    session: Connection,
    audit: AuditLog,
    clock: Clock,
    join: Join,
    *,
    opened: Open = _kube_open,
    new_id: Callable[[], str] = lambda: secrets.token_hex(6),
) -> int:
    """Run it and give its streams to `join` once it stands; answers its exit code.

    Raises CockpitError with one sentence: read-only, no audit line, refused, broken off.
    """
    if session.read_only:
        raise Refused(READ_ONLY)
    entry = intent(entrance, session, clock, new_id(), verb="enter", subresource="exec")
    audit.append(entry)
    state, sentence = "failed", "interrupted"
    try:
        async with opened(session, entrance) as running:
            await join(running)
            code = running.exit_code or 0
        state, sentence = "done", f"ended with exit code {code}"
    except CockpitError as error:
        state = "refused" if isinstance(error, Refused) else "failed"
        sentence = error.sentence
        raise
    finally:
        audit.append(
            msgspec.structs.replace(
                entry, step="outcome", at_seconds=clock.now(), state=state, sentence=sentence
            )
        )
    return code
