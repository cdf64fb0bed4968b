"""The process runtime: the container's command runs here, as a process group of its own.

It gets its environment (nothing of ours but PATH), its folder (`folders.py`), its log (`logfile.py`) and the
GPUs it was given by name (`NVIDIA_VISIBLE_DEVICES`, `CUDA_VISIBLE_DEVICES`). An image is at most a table of
paths (`local_images.py`): a container needs a `command`. There is no network namespace: a pod has an address
of loopback of its own, and who binds to all addresses takes a port of this machine (`hosts.py`). There are no
cgroups: limits are not enforced. Its children die with it, and with us (`launcher.py`).
"""

import asyncio
import contextlib
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from cockpit.sim.actors.kubelet.behaviour import FOREVER
from cockpit.sim.actors.kubelet.checks import run_probe
from cockpit.sim.actors.kubelet.children import Child
from cockpit.sim.actors.kubelet.folders import PodFolder, mapped, paths_in, remove_claim
from cockpit.sim.actors.kubelet.hosts import Hosts, holder_of
from cockpit.sim.actors.kubelet.local_images import LocalImage, LocalImages
from cockpit.sim.actors.kubelet.logfile import LineCutter, LogFile
from cockpit.sim.actors.kubelet.ports import ProcessLine, announced_by, dial_process
from cockpit.sim.actors.kubelet.proc import is_below, used_below
from cockpit.sim.actors.kubelet.runtime import (
    STDERR,
    STDOUT,
    ExecSession,
    Exit,
    ProbeResult,
    RunningContainer,
    Start,
    StartFailed,
    Wake,
)
from cockpit.sim.actors.kubelet.sessions import PipeSession, TerminalSession
from cockpit.sim.actors.kubelet.settings import expand
from cockpit.sim.port import Tree

_DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_IMAGES, _HOSTS = ".images", ".hosts"
"""Beside the folders of pods, whose names begin with a letter or a digit."""
Now = Callable[[], float]


class ProcessRunning:
    """One command of one container."""

    def __init__(
        self,
        child: Child,
        log: LogFile,
        room: "ContainerRoot",
        now: Now,
        wake: Wake,
        *,
        started_at: float,
    ) -> None:
        self._child = child
        self._log = log
        self._room = room
        self._now = now
        self._started_at = started_at
        self._wake = wake
        self._exit: Exit | None = None
        self._kill_at = FOREVER
        self._is_asked = False
        self._asked_probes: dict[str, asyncio.Task[ProbeResult]] = {}
        self._task = asyncio.create_task(self._watch())

    @property
    def log(self) -> LogFile:
        """What it writes."""
        return self._log

    @property
    def room(self) -> "ContainerRoot":
        """Where it runs."""
        return self._room

    @property
    def pid(self) -> int:
        """The command's process id."""
        return self._child.pid

    @property
    def launcher_pid(self) -> int:
        """The process above the command and all that it starts."""
        return self._child.process.pid

    def ended(self, now: float) -> Exit | None:
        """Its end; SIGKILL is sent here when the grace is over."""
        if self._exit is None and self._kill_at <= now:
            self._kill_at = FOREVER
            self._child.signal("KILL")
        return self._exit

    def due(self) -> float | None:
        """When its grace is over."""
        return None if self._kill_at == FOREVER else self._kill_at

    def stop(self, now: float, grace_seconds: float) -> None:
        """SIGTERM to the command; SIGKILL to all of it after the grace."""
        if not self._is_asked and grace_seconds > 0:
            self._child.signal("TERM")
        self._is_asked = True
        if grace_seconds <= 0:
            self._child.signal("KILL")
        else:
            self._kill_at = min(self._kill_at, now + grace_seconds)

    def probe(self, kind: str, probe: Tree, now: float) -> ProbeResult | None:
        """Really run the probe; None until its answer is there."""
        task = self._asked_probes.get(kind)
        if task is None:
            task = asyncio.create_task(run_probe(probe, self._room.container, self._room.run))
            task.add_done_callback(lambda _: self._wake())
            self._asked_probes[kind] = task
        if not task.done():
            return None
        del self._asked_probes[kind]
        return task.result()

    def probe_changes_at(self, kind: str, now: float) -> float:
        """Nobody knows."""
        return now

    def usage(self, now: float) -> tuple[float, int]:
        """Cores (the mean since the start) and memory of all that the command has started, from /proc."""
        used = used_below(self.launcher_pid)
        return used.cpu_seconds / max(1e-3, now - self._started_at), used.memory_bytes

    def write(self, data: bytes) -> None:
        """Input of an attach; only a container with `stdin: true` has one."""
        if self._child.process.stdin is not None:
            with contextlib.suppress(ConnectionError, RuntimeError):
                self._child.process.stdin.write(data)

    async def end(self) -> None:
        """Kill everything and wait for it."""
        asked = list(self._asked_probes.values())
        for task in asked:
            task.cancel()
        await asyncio.gather(self._child.end(), *asked, return_exceptions=True)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(1.0):
                await asyncio.shield(self._task)

    async def _watch(self) -> None:
        process = self._child.process
        pumps = [
            asyncio.create_task(self._pump(process.stdout, STDOUT)),
            asyncio.create_task(self._pump(process.stderr, STDERR)),
        ]
        code = await self._child.wait()
        await asyncio.wait(pumps, timeout=1.0)
        for pump in pumps:
            pump.cancel()
        self._log.close()
        await self._room.close()
        self._exit = Exit(code, self._now())
        self._wake()

    async def _pump(self, reader: asyncio.StreamReader | None, stream: str) -> None:
        cutter = LineCutter()
        while reader is not None:
            data = await reader.read(65536)
            pieces = cutter.feed(data) if data else cutter.end()
            for text, is_partial in pieces:
                self._log.write(self._now(), stream, self._room.as_inside(text), is_partial=is_partial)
            if not data:
                return
            await asyncio.sleep(0)


class ContainerRoot:
    """What every command of one container shares: its environment and its root."""

    def __init__(
        self, start: Start, folder: PodFolder, path: str, image: LocalImage, own: Mapping[str, str]
    ) -> None:
        """`own` are variables that no container may set otherwise."""
        self.container = start.container
        self.pod_name = f"{start.pod['metadata'].get('namespace', '')}/{start.pod['metadata']['name']}"
        root = folder.root(start.container, image.paths)
        self.root = root
        self._outside = re.compile(
            re.escape(os.fsencode(folder.path.parent)) + rb"/[^/\s]+/[^/\s]+/root(?=/)"
        )
        self._paths = paths_in(root, start.container, image.paths)
        environment = {
            "PATH": os.pathsep.join((*map(os.fspath, image.path), path)),
            "HOME": os.fspath(root),
            "LANG": "C.UTF-8",
            "HOSTNAME": str(start.pod["spec"].get("hostname") or start.pod["metadata"]["name"]),
            **image.environment,
        }
        environment |= {name: self._mapped(value) for name, value in start.environment.items()}
        ids = ",".join(one for held in start.devices.values() for one in held)
        environment["NVIDIA_VISIBLE_DEVICES"] = ids or "void"
        environment["CUDA_VISIBLE_DEVICES"] = ids
        self.environment = environment | {"COCKPIT_ROOT": os.fspath(root), **own}
        self._sessions: list[PipeSession | TerminalSession] = []
        self._is_closed = False
        directory = str(start.container.get("workingDir") or "")
        self.directory = Path(self._mapped(directory)) if directory else root
        if not self.directory.is_relative_to(folder.path):
            self.directory = root.joinpath(*[part for part in directory.split("/") if part not in ("", "..")])
        self.directory.mkdir(parents=True, exist_ok=True)

    def as_inside(self, line: bytes) -> bytes:
        """A line of output with paths as they are in containers: without the root of this pod or another."""
        return self._outside.sub(b"", line)

    def _mapped(self, text: str) -> str:
        return mapped(text, self._paths)

    def command(self) -> list[str]:
        """Command and arguments, expanded and with paths mapped. Raises StartFailed without a command."""
        words = [*self.container.get("command", ()), *self.container.get("args", ())]
        if not self.container.get("command"):
            raise StartFailed("failed to generate container spec: no command specified")
        return [self._mapped(expand(str(one), self.environment)) for one in words]

    async def launch(
        self, command: list[str], *, has_stdin: bool = False, terminal: int | None = None
    ) -> Child:
        """Start a command here. Raises StartFailed."""
        return await Child.launch(
            command,
            directory=self.directory,
            environment=self.environment,
            has_stdin=has_stdin,
            terminal=terminal,
        )

    async def run(self, command: list[str], seconds: float) -> tuple[int, bytes]:
        """Run a command to its end: exit code and output. Raises StartFailed, TimeoutError."""
        child = await self.launch([self._mapped(one) for one in command])
        session = PipeSession(child)
        output = b""
        try:
            async with asyncio.timeout(seconds):
                while (piece := await session.read()) is not None:
                    output = (output + piece[1])[:10240]
                return await session.wait(), output
        finally:
            await session.end()

    async def open(self, command: list[str], *, is_tty: bool, has_stdin: bool) -> ExecSession:
        """Start a command that somebody speaks with. Raises StartFailed."""
        words = [self._mapped(one) for one in command]
        session: PipeSession | TerminalSession
        if not is_tty:
            session = PipeSession(await self.launch(words, has_stdin=has_stdin))
        else:
            master, slave = os.openpty()
            self.environment.setdefault("TERM", "xterm-256color")
            try:
                child = await self.launch(words, terminal=slave)
            except StartFailed:
                os.close(master)
                raise
            finally:
                os.close(slave)
            session = TerminalSession(child, master)
        if self._is_closed:
            await session.end()
            raise StartFailed(f'container "{self.container["name"]}" has ended')
        self._sessions = [one for one in self._sessions if not one.is_over]
        self._sessions.append(session)
        return session

    async def close(self) -> None:
        """The container has ended: so do the commands that were started in it."""
        self._is_closed = True
        await asyncio.gather(*(session.end() for session in self._sessions))
        self._sessions.clear()


class ProcessRuntime:
    """Runs commands below `base`, a folder that is this program's own."""

    name = "process"
    has_images = True

    def __init__(self, base: Path, now: Now, *, path: str = "", images: LocalImages | None = None) -> None:
        """`now` is the cluster's clock; `path` the PATH of containers, by default ours."""
        self._base = base
        self._now = now
        self._path = path or os.environ.get("PATH", _DEFAULT_PATH)
        self._images = images or LocalImages(base / _IMAGES, os.environ)
        self._hosts = Hosts(base / _HOSTS)
        self._running: dict[str, list[ProcessRunning]] = {}

    async def prepare(
        self, pod: Tree, volumes: Mapping[str, Mapping[str, bytes]], claims: Mapping[str, str]
    ) -> None:
        """Make the pod's folder and its host name."""
        PodFolder(self._base, pod).make(volumes, claims)
        self._hosts.add(pod)

    async def follow(self, pod: Tree, volumes: Mapping[str, Mapping[str, bytes]]) -> None:
        """Files of its volumes have changed."""
        PodFolder(self._base, pod).follow(volumes)

    async def forget_claim(self, uid: str) -> None:
        """A claim is gone, and what it held."""
        remove_claim(self._base, uid)

    async def start(self, start: Start, now: float, wake: Wake) -> ProcessRunning:
        """Start a container's command. Raises StartFailed."""
        image = self._images.get(str(start.container.get("image", "")))
        if image.missing:
            raise StartFailed(image.missing)
        self._refuse_taken_ports(start)
        folder = PodFolder(self._base, start.pod)
        own = {
            "COCKPIT_HOSTS": os.fspath(self._hosts.folder),
            "COCKPIT_HOST": self._hosts.add(start.pod),
            "COCKPIT_ADDRESS": start.pod_address,
        }
        room = ContainerRoot(start, folder, self._path, image, own)
        logs = room.root.parent
        for old in logs.glob(f"{start.attempt - 2}.log*"):
            old.unlink(missing_ok=True)  # only the log of the run before can be asked for
        log = LogFile(logs / f"{start.attempt}.log")
        try:
            child = await room.launch(room.command(), has_stdin=bool(start.container.get("stdin")))
        except StartFailed:
            log.close()
            raise
        running = ProcessRunning(child, log, room, self._now, wake, started_at=now)
        uid = start.pod["metadata"]["uid"]
        self._running[uid] = [one for one in self._running.get(uid, ()) if one.ended(now) is None]
        self._running[uid].append(running)
        return running

    def _refuse_taken_ports(self, start: Start) -> None:
        for port in announced_by(start.container):
            holder = holder_of(port, start.pod_address)
            if holder is not None:
                raise StartFailed(
                    f"failed to create containerd task: port {port} of this machine is in use by "
                    f"{self._who(holder.pid, holder.name)}"
                )

    def _who(self, pid: int, name: str) -> str:
        if not pid:
            return "a process of another user"
        for running in self._running.values():
            for one in running:
                if one.launcher_pid and is_below(pid, one.launcher_pid):
                    return f"pod {one.room.pod_name}, process {pid} ({name})"
        return f"process {pid} ({name})"

    async def open(
        self, running: RunningContainer, command: list[str], *, is_tty: bool, has_stdin: bool
    ) -> ExecSession:
        """Start a command in the folder and the environment of a container. Raises StartFailed."""
        if not isinstance(running, ProcessRunning):
            raise StartFailed("the container is of another runtime")
        return await running.room.open(command, is_tty=is_tty, has_stdin=has_stdin)

    async def dial(
        self, pod: Tree, running: Sequence[tuple[str, RunningContainer]], port: int, now: float
    ) -> ProcessLine:
        """Connect to a port that the pod announces, on this machine. Raises DialFailed."""
        return await dial_process(pod, port, self._hosts.address(pod))

    async def clear(self, pod: Tree) -> None:
        """End everything of the pod and remove its folder."""
        await self._end(self._running.pop(pod["metadata"]["uid"], []))
        PodFolder(self._base, pod).remove()
        self._hosts.remove(pod)

    async def close(self) -> None:
        """End everything."""
        left = [one for running in self._running.values() for one in running]
        self._running.clear()
        await self._end(left)

    async def _end(self, left: list[ProcessRunning]) -> None:
        await asyncio.gather(*(one.end() for one in left), *(one.room.close() for one in left))

    def pod_address(self, pod: Tree) -> str:
        """An address of this machine's loopback, the pod's own where there are several."""
        return self._hosts.address(pod)
