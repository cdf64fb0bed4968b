"""Commands that really run: each below a launcher that ends all of it, whatever happens to this program."""

import asyncio
import contextlib
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from cockpit.sim.actors.kubelet.runtime import StartFailed

_LAUNCHER = Path(__file__).with_name("launcher.py")
_START_SECONDS = 20.0
_END_SECONDS = 1.0
KILLED_CODE = 137


class Child:
    """One command. With `terminal` (the slave side of a pty) its three streams are that; else pipes."""

    def __init__(self, process: asyncio.subprocess.Process, control: int, status: "_Status") -> None:
        self.process = process
        self._control: int | None = control
        self._status = status
        self.pid = 0

    @classmethod
    async def launch(
        cls,
        command: Sequence[str],
        *,
        directory: Path,
        environment: Mapping[str, str],
        has_stdin: bool = False,
        terminal: int | None = None,
    ) -> "Child":
        """Start `command` in its own session and process group. Raises StartFailed with runc's sentence."""
        control_read, control_write = os.pipe()
        status_read, status_write = os.pipe()
        pipe = asyncio.subprocess.PIPE
        stdin = pipe if has_stdin else asyncio.subprocess.DEVNULL
        kind = "pipe" if terminal is None else "tty"
        status = await _Status.of(status_read)
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                *("-I", "-S", os.fspath(_LAUNCHER), str(control_read), str(status_write), kind),
                os.fspath(directory),
                *command,
                env=dict(environment),
                pass_fds=(control_read, status_write),
                start_new_session=True,
                stdin=stdin if terminal is None else terminal,
                stdout=pipe if terminal is None else terminal,
                stderr=pipe if terminal is None else terminal,
            )
        except BaseException as error:
            os.close(control_write)
            status.transport.close()
            if isinstance(error, OSError | ValueError):
                raise StartFailed(f"failed to create containerd task: {error}") from None
            raise
        finally:
            os.close(control_read)
            os.close(status_write)
        child = cls(process, control_write, status)
        try:
            word, rest = await child._first_word()
        except BaseException:  # whoever waited for it has been cancelled
            await child.end()
            raise
        if word != "started":
            await child.end()
            raise StartFailed(_refusal(command[0], rest.strip()))
        child.pid = int(rest)
        return child

    async def _first_word(self) -> tuple[str, str]:
        try:
            async with asyncio.timeout(_START_SECONDS):
                line = await self._status.reader.readline()
        except TimeoutError:
            return "error", "0 the launcher did not answer"
        word, _, rest = line.decode("utf-8", "replace").partition(" ")
        return word, rest

    def signal(self, word: str) -> None:
        """`TERM` or `INT` to the command itself, `KILL` to all that it has started."""
        if self._control is not None:
            with contextlib.suppress(OSError):
                os.write(self._control, word.encode() + b"\n")

    def let_go(self) -> None:
        """Close the control: the launcher kills everything and ends."""
        if self._control is not None:
            os.close(self._control)
            self._control = None

    async def wait(self) -> int:
        """The command's exit code (128 + signal for a signal), when all of it has ended."""
        line = await self._status.reader.readline()
        await self.process.wait()
        self.let_go()
        self._status.transport.close()
        word, _, rest = line.decode("utf-8", "replace").partition(" ")
        if word == "exit":
            return int(rest)
        with contextlib.suppress(OSError):  # the launcher itself was killed
            os.killpg(self.pid, 9)
        return KILLED_CODE

    async def end(self) -> None:
        """Kill everything and wait until it is gone, a second at most."""
        self.let_go()
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_END_SECONDS):
                    await self.process.wait()
            await asyncio.sleep(0)
        finally:  # whoever waited may have been cancelled
            if self.process.returncode is None:
                self._leave()
            self._status.transport.close()

    def _leave(self) -> None:
        """Close our ends of the pipes of a launcher that is slow to end: it does so alone, and asyncio would
        close them when the loop is gone."""
        transport: asyncio.SubprocessTransport = self.process._transport  # type: ignore[attr-defined]
        for number in range(3):
            pipe = transport.get_pipe_transport(number)
            if pipe is not None:
                pipe.close()


class _Status:
    """Our end of the launcher's status pipe."""

    __slots__ = ("reader", "transport")

    def __init__(self, reader: asyncio.StreamReader, transport: asyncio.ReadTransport) -> None:
        self.reader = reader
        self.transport = transport

    @classmethod
    async def of(cls, descriptor: int) -> "_Status":
        """Read from a descriptor; it is closed with the transport."""
        reader = asyncio.StreamReader()
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(descriptor, "rb", buffering=0)
        )
        return cls(reader, transport)


def _refusal(command: str, error: str) -> str:
    number, _, text = error.partition(" ")
    reason = f'exec: "{command}": {text.lower()}'
    if number == "2":
        where = "stat" if "/" in command else "exec"
        tail = "no such file or directory" if where == "stat" else "executable file not found in $PATH"
        reason = f'exec: "{command}": {"stat " + command + ": " if where == "stat" else ""}{tail}'
    return (
        "failed to create containerd task: failed to create shim task: OCI runtime create failed: "
        f"runc create failed: unable to start container process: error during container init: {reason}"
    )
