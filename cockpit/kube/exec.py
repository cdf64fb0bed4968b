"""Commands in a container: one WebSocket, a byte of channel before each piece.

Source: Kubernetes 1.36 k8s.io/apimachinery/pkg/util/remotecommand/constants.go (v4 and v5.channel.k8s.io; v5
can close standard input alone). Servers before 1.29 know v4 only.
"""

import contextlib
import json
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

import msgspec

from cockpit.errors import NoConnection, Refused
from cockpit.kube.resource import PODS
from cockpit.sanitise import clean

if TYPE_CHECKING:
    from cockpit.kube.session import ApiSession
    from cockpit.kube.sockets import Socket

PROTOCOLS = ("v5.channel.k8s.io", "v4.channel.k8s.io")
STDOUT, STDERR = "stdout", "stderr"
_STDIN_CHANNEL, _STDOUT_CHANNEL, _STDERR_CHANNEL, _ERROR_CHANNEL, _RESIZE_CHANNEL = range(5)
_CLOSE_CHANNEL = 255
_STREAMS = {_STDOUT_CHANNEL: STDOUT, _STDERR_CHANNEL: STDERR}
_PIECE_BYTES = 32 << 10


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """What is to run, and where; `container` "" means the pod's only or default one."""

    namespace: str
    pod: str
    words: tuple[str, ...]
    container: str = ""
    is_tty: bool = False
    has_stdin: bool = False

    def query(self) -> list[tuple[str, str]]:
        """The parameters of the exec subresource; a terminal has no separate stream for errors."""
        found = [("container", self.container)] if self.container else []
        found += [("command", word) for word in self.words]
        found += [("stdin", "true")] if self.has_stdin else []
        found += [("stdout", "true"), ("tty" if self.is_tty else "stderr", "true")]
        return found


class Exec:
    """A command that runs, and its streams."""

    def __init__(self, socket: "Socket") -> None:
        self._socket = socket
        self._exit_code: int | None = None

    @property
    def exit_code(self) -> int | None:
        """The command's exit code once `read` gave None; None before."""
        return self._exit_code

    async def read(self) -> tuple[str, bytes] | None:
        """The next output, with its stream; None when the command has ended.

        Raises Refused with the node's sentence where the command could not be started, NoConnection where
        the connection broke.
        """
        while self._exit_code is None:
            message = await self._socket.receive()
            if message is None:
                raise NoConnection("The connection ended without the command's exit code.")
            channel, data = message[:1], message[1:]
            if not channel or not data:
                continue
            if channel[0] == _ERROR_CHANNEL:
                self._exit_code = exit_code(data)
            elif channel[0] in _STREAMS:
                return _STREAMS[channel[0]], data
        return None

    async def write(self, data: bytes) -> None:
        """Give it input. Raises NoConnection."""
        for at in range(0, len(data), _PIECE_BYTES):
            await self._socket.send(bytes((_STDIN_CHANNEL,)) + data[at : at + _PIECE_BYTES])

    async def close_input(self) -> None:
        """No more input; older servers (v4) cannot be told. Raises NoConnection."""
        if self._socket.protocol == PROTOCOLS[0]:
            await self._socket.send(bytes((_CLOSE_CHANNEL, _STDIN_CHANNEL)))

    async def resize(self, columns: int, rows: int) -> None:
        """The terminal has another size. Raises NoConnection."""
        size = json.dumps({"Width": columns, "Height": rows}).encode()
        await self._socket.send(bytes((_RESIZE_CHANNEL,)) + size)


@asynccontextmanager
async def open_exec(session: "ApiSession", command: Command) -> AsyncGenerator[Exec, None]:
    """Run a command in a container; it ends with the block.

    Raises Refused with the guard's or the server's sentence (read-only, no right, no such container, not
    running), NoConnection where no answer comes.
    """
    if not command.words:
        raise Refused("There is no command to run; name one.")
    where = f"{command.namespace}/{command.pod}"
    path = PODS.path(command.namespace, command.pod, "exec")
    async with AsyncExitStack() as stack:
        try:
            socket = await stack.enter_async_context(
                session.socket(path, query=command.query(), protocols=PROTOCOLS)
            )
        except Refused as error:
            raise Refused(f"No command runs in {where}: {error.sentence}", error.said) from None
        if socket.protocol not in PROTOCOLS:
            raise Refused(f"No command runs in {where}: the server speaks none of {', '.join(PROTOCOLS)}.")
        yield Exec(socket)


def exit_code(status: bytes) -> int:
    """The exit code that a Status tells. Raises Refused where the command never ran, with the sentence."""
    tree: object = None
    with contextlib.suppress(ValueError, RecursionError):
        tree = json.loads(status)
    if not isinstance(tree, dict):
        raise Refused(f"The command failed: {clean(status.decode('utf-8', 'replace'), 400)}")
    if tree.get("status") == "Success":
        return 0
    if tree.get("reason") == "NonZeroExitCode":
        for cause in (tree.get("details") or {}).get("causes") or ():
            if cause.get("reason") == "ExitCode" and str(cause.get("message")).isdecimal():
                return int(cause["message"])
    raise Refused(
        f"The command could not be run: {clean(str(tree.get('message') or 'no reason given'), 400)}"
    )
