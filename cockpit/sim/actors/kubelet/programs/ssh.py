"""`ssh` and `sshd` of local images: both ends of a Unix socket in place of a network, keys and accounts.

Run as `python -I -S ssh.py (ssh|sshd) ARGUMENTS`. `COCKPIT_HOSTS` is a folder with one folder for each pod
that has a host name, `NAMESPACE/SUBDOMAIN/HOST`; there an sshd listens on a socket that has its port's name.
So the names of pods mean something to `ssh` and to nobody else here. `COCKPIT_HOST` says who we are.

sshd runs each command as a child and process group of its own, with its own environment and folder: what the
client hands over of its own (paths below its root, variables that tell of its pod) is translated. SIGTERM at
sshd goes on to all of them; it ends when they have. Unlike OpenSSH's, a client that gets SIGTERM passes it on
and stays until the command has ended, and a command whose client has gone is asked to end, too: no rank of an
attempt that has failed works beside those of the next.
"""

import asyncio
import contextlib
import json
import os
import re
import signal
import socket
import struct
import sys
import time
from pathlib import Path
from shlex import quote
from typing import Any

FRAME = struct.Struct(">cI")
OUT, ERR, CODE = b"1", b"2", b"x"
FAILED = 255
OWN = ("PATH", "HOSTNAME", "COCKPIT_HOST", "NVIDIA_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")
"""Variables that tell of the pod: a command that another pod sends keeps those of the pod it runs in."""
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_SSH_TAKES = "BbcDEeFIiJLlmOopQRSWw"
_SSHD_TAKES = "bCcEfghkopu"
"""Letters of options that have a value."""
_PORT = 22
_PATIENCE_SECONDS = 3.0
"""For a host whose sshd is about to listen: its pod runs already."""
_KILL_SECONDS = 30.0
_LAST_WORDS_SECONDS = 2.0
_MOST_BYTES = 4 << 20


def say(text: str) -> None:
    """A line on standard error."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def folder_of(host: str) -> Path | None:
    """Where a host listens; None for a name that no pod has."""
    own = os.environ.get("COCKPIT_HOST", "").split("/")
    hosts = os.environ.get("COCKPIT_HOSTS", "")
    labels = host.removesuffix(".").removesuffix(".cluster.local").removesuffix(".svc").split(".")
    if not hosts or len(own) != 3 or len(labels) > 3 or not all(map(_LABEL.fullmatch, labels)):
        return None
    name, subdomain, namespace = (*labels, *(own[1], own[0])[len(labels) - 1 :])
    folder = Path(hosts, namespace, subdomain, name)
    return folder if folder.is_dir() else None


def options_of(words: list[str], takes: str) -> tuple[dict[str, str], list[str]]:
    """Options (the last of each letter) and the other words; after the second of these all belong to it."""
    found: dict[str, str] = {}
    rest: list[str] = []
    words = list(words)
    while words and len(rest) < 2:
        word = words.pop(0)
        if not word.startswith("-") or word == "-":
            rest.append(word)
            continue
        for index, letter in enumerate(word[1:], 2):
            if letter in takes:
                found[letter] = word[index:] or (words.pop(0) if words else "")
                break
            found[letter] = ""
    return found, [*rest, *words]


# ---- the client


def client(words: list[str]) -> int:
    """`ssh [OPTIONS] HOST COMMAND...`: its exit code, or 255."""
    options, rest = options_of(words, _SSH_TAKES)
    if len(rest) < 2:
        say("ssh: HOST and COMMAND are needed: there are no sessions without a command here")
        return FAILED
    host, port = rest[0].rpartition("@")[2], options.get("p") or str(_PORT)
    if not port.isdigit():
        say(f"Bad port '{port}'")
        return FAILED
    line = _connected(host, port)
    if line is None:
        return FAILED
    request: dict[str, Any] = {
        "from": os.environ.get("HOSTNAME", ""),
        "command": " ".join(rest[1:]),
        "root": os.environ.get("COCKPIT_ROOT", ""),
        "own": {name: os.environ[name] for name in OWN if name in os.environ},
    }

    def pass_on(number: int, frame: object) -> None:
        with contextlib.suppress(OSError):
            line.shutdown(socket.SHUT_WR)

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, pass_on)
    with line:
        try:
            line.sendall(json.dumps(request).encode() + b"\n")
            code = _relay(line)
        except BrokenPipeError:
            return FAILED
    if code is None:
        say(f"Connection to {host} closed by remote host.")
        return FAILED
    return code


def _connected(host: str, port: str) -> socket.socket | None:
    folder = folder_of(host)
    if folder is None:
        say(f"ssh: Could not resolve hostname {host}: Name or service not known")
        return None
    until = time.monotonic() + _PATIENCE_SECONDS
    while True:
        line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            with _inside(folder):  # a socket's address has 107 bytes, a path may have more
                line.connect(port)
            return line
        except OSError:
            line.close()
            if time.monotonic() > until:
                say(f"ssh: connect to host {host} port {port}: Connection refused")
                return None
            time.sleep(0.05)


@contextlib.contextmanager
def _inside(folder: Path) -> Any:
    before = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.chdir(folder)
        yield
    finally:
        os.fchdir(before)
        os.close(before)


def _relay(line: socket.socket) -> int | None:
    """Write what the command writes; its exit code, None where the connection ends before it."""
    to = {OUT: sys.stdout.buffer, ERR: sys.stderr.buffer}
    while True:
        head = _exactly(line, FRAME.size)
        if len(head) < FRAME.size:
            return None
        kind, size = FRAME.unpack(head)
        data = _exactly(line, size)
        if kind == CODE:
            return int(data)
        to[kind].write(data)
        to[kind].flush()


def _exactly(line: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        try:
            more = line.recv(size - len(data))
        except ConnectionError:
            more = b""
        if not more:
            break
        data += more
    return data


# ---- the server


def translated(command: str, request: dict[str, Any], environment: dict[str, str]) -> str:
    """A client's command with this pod's root and own variables in place of the client's."""
    theirs, ours = str(request.get("root") or ""), environment.get("COCKPIT_ROOT", "")
    for name, value in dict(request.get("own") or {}).items():
        held = re.escape(f"{name}={quote(str(value))}")
        mine = f"{name}={quote(environment.get(name, ''))}"
        command = re.sub(rf"(?<!\S){held}(?!\S)", mine.replace("\\", r"\\"), command)
    return command.replace(theirs, ours) if theirs and ours else command


class RemoteCommand:
    """One command and whoever asked for it."""

    def __init__(self, process: asyncio.subprocess.Process, writer: asyncio.StreamWriter) -> None:
        self.process = process
        self._writer = writer
        self._is_heard = True

    def signal(self, number: int) -> None:
        """To all of its process group."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)

    async def pump(self, reader: asyncio.StreamReader | None, kind: bytes) -> None:
        """Hand its output on; to our own log where nobody listens any more."""
        while reader is not None and (data := await reader.read(65536)):
            await self.send(kind, data)

    async def send(self, kind: bytes, data: bytes) -> None:
        """One frame."""
        if self._is_heard:
            try:
                self._writer.write(FRAME.pack(kind, len(data)) + data)
                await self._writer.drain()
                return
            except ConnectionError:
                self._is_heard = False
        if kind in (OUT, ERR):
            sys.stderr.buffer.write(data)
            sys.stderr.flush()


class SshServer:
    """sshd of one pod."""

    def __init__(self) -> None:
        self._ranks: dict[RemoteCommand, None] = {}
        self._told = asyncio.Event()
        self._fewer = asyncio.Event()

    async def run(self, port: str) -> int:
        """Listen until SIGTERM, then until every command has ended."""
        folder = folder_of(os.environ.get("COCKPIT_HOST", "").rpartition("/")[2])
        if folder is None:
            say("sshd: this pod has no host name")
            return FAILED
        line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        with _inside(folder):
            try:
                _free(port)
                line.bind(port)
            except OSError as error:
                say(f"Bind to port {port} failed: {error.strerror}.\nCannot bind any address.")
                return FAILED
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, self._told.set)
        loop.add_signal_handler(signal.SIGHUP, lambda: None)
        server = await asyncio.start_unix_server(self._session, sock=line, limit=_MOST_BYTES)
        say(f"Server listening on {folder.name} port {port}.")
        await self._told.wait()
        say("Received signal 15; terminating.")
        (folder / port).unlink(missing_ok=True)
        for rank in self._ranks:
            rank.signal(signal.SIGTERM)
        while self._ranks:
            await self._fewer.wait()
            self._fewer.clear()
        server.close()
        return 0

    async def _session(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            request = json.loads(await reader.readline())
            command = translated(str(request["command"]), request, dict(os.environ))
        except (ValueError, KeyError, ConnectionError):
            writer.close()
            return
        # The shell waits for its command, which gets the signal: `:` is not handed down as SIG_IGN is.
        process = await asyncio.create_subprocess_exec(
            "/bin/sh",
            "-c",
            f"trap : TERM HUP INT; {command}",
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
            cwd=os.environ.get("COCKPIT_ROOT") or None,
        )
        rank = RemoteCommand(process, writer)
        self._ranks[rank] = None
        if self._told.is_set():
            rank.signal(signal.SIGTERM)
        gone = asyncio.create_task(self._when_gone(reader, rank))
        pumps = [
            asyncio.create_task(rank.pump(process.stdout, OUT)),
            asyncio.create_task(rank.pump(process.stderr, ERR)),
        ]
        try:
            code = await process.wait()
            await asyncio.wait(pumps, timeout=_LAST_WORDS_SECONDS)
            rank.signal(signal.SIGKILL)  # what it left behind
            await rank.send(CODE, str(code if code >= 0 else FAILED).encode())
        finally:
            for task in (gone, *pumps):
                task.cancel()
            del self._ranks[rank]
            self._fewer.set()
            writer.close()

    async def _when_gone(self, reader: asyncio.StreamReader, rank: RemoteCommand) -> None:
        """The client says no more, or is no more: so shall its command be."""
        with contextlib.suppress(ConnectionError):
            while await reader.read(4096):
                continue
        rank.signal(signal.SIGTERM)
        await asyncio.sleep(_KILL_SECONDS)
        rank.signal(signal.SIGKILL)


def _free(port: str) -> None:
    """Remove the socket of an sshd that was killed. Raises OSError where one listens."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(port)
        except OSError:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(port)


def main(words: list[str]) -> int:
    """`ssh` or `sshd`, by the first word."""
    program, *rest = words
    if program == "ssh":
        return client(rest)
    port = options_of(rest, _SSHD_TAKES)[0].get("p") or str(_PORT)
    if not port.isdigit():
        say(f"Bad port number '{port}'.")
        return FAILED
    return asyncio.run(SshServer().run(port))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
