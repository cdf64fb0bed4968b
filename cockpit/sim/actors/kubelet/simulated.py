"""The simulated runtime: containers are a start, an end and what annotations say; nothing is run."""

from collections.abc import AsyncIterator, Mapping, Sequence
from random import Random

from cockpit.k8s.quantity import parse_quantity
from cockpit.sim.actors.kubelet.behaviour import FOREVER, Habits, ProbeStory
from cockpit.sim.actors.kubelet.ports import SimulatedLine, dial_simulated
from cockpit.sim.actors.kubelet.runtime import (
    STDOUT,
    ContainerLogLine,
    ExecSession,
    Exit,
    ProbeResult,
    RunningContainer,
    Start,
    StartFailed,
    Wake,
)
from cockpit.sim.actors.kubelet.shell import ShellSession
from cockpit.sim.actors.kubelet.training import Alarm, SimulatedLog
from cockpit.sim.port import Tree

_IDLE_MEMORY_BYTES = 64 << 20


class SimulatedRunning:
    """One simulated container."""

    def __init__(self, start: Start, now: float, habits: Habits, seed: int, alarm: Alarm) -> None:
        self._start = start
        self._at = now
        self._habits = habits
        self._random = Random(f"{seed}/{start.container_id}")
        behaviour = start.behaviour
        restarts_always = (start.pod["spec"].get("restartPolicy") or "Always") == "Always"
        if start.container.get("restartPolicy") == "Always":
            restarts_always = True
        lasts = behaviour.lasts(self._random, habits, restarts_always=restarts_always)
        self._stop_seconds = (
            behaviour.stop_seconds
            if behaviour.stop_seconds is not None
            else self._random.uniform(*habits.stop_seconds)
        )
        self._asked_at: float | None = None
        self._exit: Exit | None = None
        if lasts != FOREVER:
            self._exit = Exit(behaviour.exit_code or 0, now + lasts)
        oom = behaviour.oom_after_seconds
        if oom is not None and (self._exit is None or now + oom < self._exit.at):
            self._exit = Exit(137, now + oom, "OOMKilled")
        gpus = sum(len(ids) for ids in start.devices.values())
        kind = behaviour.log or ("service" if restarts_always and not gpus else "training")
        self._log = SimulatedLog(
            kind,
            start.container_id,
            job=_job_of(start.pod) or start.container_id,
            gpus=gpus,
            started_at=now,
            step_seconds=behaviour.step_seconds,
            alarm=alarm,
        )
        self._log.ends(self._exit)

    @property
    def log(self) -> SimulatedLog:
        """What it prints."""
        return self._log

    def ended(self, now: float) -> Exit | None:
        """Its end, once it has come."""
        return self._exit if self._exit is not None and self._exit.at <= now else None

    def due(self) -> float | None:
        """When it ends, as far as is known."""
        return None if self._exit is None else self._exit.at

    def stop(self, now: float, grace_seconds: float) -> None:
        """It takes `cockpit.dev/stop-seconds` to follow SIGTERM (143); after the grace it is killed (137)."""
        if self._asked_at is None:
            self._asked_at = now
        leaves_at = self._asked_at + self._stop_seconds
        killed_at = now + grace_seconds
        end = Exit(143, leaves_at) if leaves_at <= killed_at else Exit(137, killed_at)
        if self._exit is None or end.at < self._exit.at:
            self._exit = end
            self._log.ends(end)

    def probe(self, kind: str, probe: Tree, now: float) -> ProbeResult:
        """The outcome that the pod's annotation tells, well where it tells nothing."""
        story = self._story(kind)
        age = now - self._at
        if story.ok_after_seconds <= age < story.fail_after_seconds:
            return ProbeResult(is_success=True)
        return ProbeResult(is_success=False, text=_refusal(probe, self._start.pod_address))

    def probe_changes_at(self, kind: str, now: float) -> float:
        """When the story's next part begins."""
        story = self._story(kind)
        later = (self._at + story.ok_after_seconds, self._at + story.fail_after_seconds)
        return min((at for at in later if at > now), default=FOREVER)

    @property
    def started(self) -> Start:
        """What it was started with."""
        return self._start

    def write(self, data: bytes) -> None:
        """Nobody reads it."""

    def usage(self, now: float) -> tuple[float, int]:
        """CPU cores and memory bytes: said, or a part of what was asked for; rising before an OOM."""
        behaviour = self._start.behaviour
        resources = self._start.container.get("resources") or {}
        asked = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}
        share = 0.55 + 0.35 * Random(self._start.container_id).random()
        cores = behaviour.cpu_cores
        if cores is None:
            cores = parse_quantity(str(asked.get("cpu", "0.05"))) * share
        memory = behaviour.memory_bytes
        if memory is None:
            memory = int(parse_quantity(str(asked.get("memory", _IDLE_MEMORY_BYTES))) * share)
        if self._exit is not None and self._exit.reason == "OOMKilled":
            limit = int(parse_quantity(str((resources.get("limits") or {}).get("memory", 2 * memory))))
            part = min(1.0, (now - self._at) / max(1e-9, self._exit.at - self._at))
            memory = int(memory + (limit - memory) * part)
        return cores, memory

    def _story(self, kind: str) -> ProbeStory:
        return self._start.behaviour.probes.get(kind) or ProbeStory()


_JOB_LABELS = ("training.kubeflow.org/job-name", "jobset.sigs.k8s.io/jobset-name")
"""Labels by which members of one job know each other, whatever owns them."""


def _job_of(pod: Tree) -> str:
    """What the members of a job have in common: its name by a label, else their owner; "" for nothing."""
    metadata = pod["metadata"]
    labels = metadata.get("labels") or {}
    for key in _JOB_LABELS:
        if key in labels:
            return f"{metadata.get('namespace', '')}/{labels[key]}"
    owners = metadata.get("ownerReferences") or ()
    return str(owners[0]["uid"]) if owners else ""


def _refusal(probe: Tree, address: str) -> str:
    """What a failed probe of this kind says."""
    if "httpGet" in probe:
        return "HTTP probe failed with statuscode: 503"
    if "tcpSocket" in probe:
        return f"dial tcp {address}:{probe['tcpSocket'].get('port')}: connect: connection refused"
    if "grpc" in probe:
        return f'service unhealthy (responded with "NOT_SERVING") at {address}'
    return "simulated: the command would have failed"


_SECONDS = 1.5
_NO_CARDS = 6
"""Exit code of nvidia-smi where no device was found."""


def lists_cards(start: Start) -> bool:
    """True for a command that asks nvidia-smi, where no annotation tells how long the container lasts."""
    words = (*(start.container.get("command") or ()), *(start.container.get("args") or ()))
    return start.behaviour.duration_seconds is None and any("nvidia-smi" in str(one) for one in words)


class _Said:
    """A few lines, all at one moment."""

    def __init__(self, texts: Sequence[str], at: float, alarm: Alarm) -> None:
        self._lines = [ContainerLogLine(at, STDOUT, text.encode()) for text in texts]
        self._at = at
        self._alarm = alarm

    def lines(self, *, since: float, tail: int | None, now: float) -> Sequence[ContainerLogLine]:
        """Lines written from `since` until `now`, only the last `tail` of them when that is given."""
        told = [one for one in self._lines if since <= one.at <= now]
        return told if tail is None else told[max(0, len(told) - tail) :]

    async def follow(self, after: float) -> AsyncIterator[ContainerLogLine]:
        """Lines written later than `after`."""
        if after < self._at:
            await self._alarm(self._at)
            for one in self._lines:
                yield one


class CardList(SimulatedRunning):
    """The container: says `GPU 0: simulated (UUID: ...)` for each card that it was given."""

    def __init__(self, start: Start, now: float, habits: Habits, seed: int, alarm: Alarm) -> None:
        super().__init__(start, now, habits, seed, alarm)
        ids = [one for devices in start.devices.values() for one in devices]
        lines = [f"GPU {index}: simulated (UUID: {one})" for index, one in enumerate(ids)]
        self._said = _Said(lines or ["No devices were found"], now + _SECONDS / 2, alarm)
        self._exit = Exit(0 if ids else _NO_CARDS, now + _SECONDS)

    @property
    def log(self) -> _Said:  # type: ignore[override]
        """What it prints."""
        return self._said


class SimulatedRuntime:
    """Starts simulated containers."""

    name = "simulated"
    has_images = False

    def __init__(self, habits: Habits, seed: int, alarm: Alarm) -> None:
        self._habits = habits
        self._seed = seed
        self._alarm = alarm

    async def prepare(
        self, pod: Tree, volumes: Mapping[str, Mapping[str, bytes]], claims: Mapping[str, str]
    ) -> None:
        """Nothing to make."""

    async def start(self, start: Start, now: float, wake: Wake) -> SimulatedRunning:
        """Start a container."""
        made = CardList if lists_cards(start) else SimulatedRunning
        return made(start, now, self._habits, self._seed, self._alarm)

    async def open(
        self, running: RunningContainer, command: list[str], *, is_tty: bool, has_stdin: bool
    ) -> ExecSession:
        """A small shell that says that it is simulated. Raises StartFailed."""
        if not isinstance(running, SimulatedRunning):
            raise StartFailed("the container is of another runtime")
        return ShellSession(running.started, command, is_tty=is_tty, has_stdin=has_stdin)

    async def dial(
        self, pod: Tree, running: Sequence[tuple[str, RunningContainer]], port: int, now: float
    ) -> SimulatedLine:
        """A page that says that it is simulated, where a container announces the port. Raises DialFailed."""
        return dial_simulated(pod, running, port, now)

    async def clear(self, pod: Tree) -> None:
        """Nothing to remove."""

    async def close(self) -> None:
        """Nothing to end."""

    async def follow(self, pod: Tree, volumes: Mapping[str, Mapping[str, bytes]]) -> None:
        """Nobody reads them."""

    async def forget_claim(self, uid: str) -> None:
        """It held nothing."""

    def pod_address(self, pod: Tree) -> str:
        """The kubelet chooses."""
        return ""
