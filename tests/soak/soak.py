"""One soak: fault, keys, quiet point, again; and what is left at its end."""

import asyncio
import random
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import linear_regression

import yaml

from tests.bed.api import Api
from tests.bench.idle import scenario
from tests.bench.returns import Link
from tests.contract.mirror import eventually, in_time
from tests.soak.drawn_faults import DrawnFault, drawn
from tests.soak.drawn_keys import moves
from tests.soak.ground import (
    Gate,
    Ground,
    Holdings,
    Screen,
    as_bytes,
    differences,
    since,
    state_hash,
)
from tests.soak.long_session import HOME
from tests.soak.moving import Moving
from tests.tui.embedded import embedded

SIZE = (160, 45)
WARM_SECONDS = 600
RETURN_SECONDS = 10.0
PATIENCE_SECONDS = 60.0
"""A machine that is busy makes a return late; what is not equal by then never will be."""
KEY_SECONDS = 0.1
ESCAPE_SECONDS = 0.2
"""A character sooner behind an escape is a key with Alt."""
LOOK_SECONDS = 0.1
STEP_SECONDS = 0.7
SETTLED_KEYS = 500
STANDING = frozenset({"live", "not served"})
"""Phases of a stream that has nothing to wait for."""
FIRST_STREAMS = frozenset({"nodes", "pods", "workloads", "clusterqueues", "gpus"})
"""Once these stand discovery is over, and telemetry has found its source."""


@dataclass(frozen=True)
class Quiet:
    """A quiet point: after which fault, how many keys were pressed by then, what the app held."""

    at_seconds: float
    fault: str
    keys: int
    return_seconds: float
    hash: str
    differing: Sequence[str]
    resident_mb: float
    tasks: int
    descriptors: int

    @property
    def line(self) -> str:
        verdict = f"equal {self.hash}" if not self.differing else f"UNEQUAL in {len(self.differing)}"
        late = "" if self.return_seconds <= RETURN_SECONDS else " LATE"
        return (
            f"{self.at_seconds:6.0f} s  {self.fault:34} {self.keys:5} keys  back in "
            f"{self.return_seconds:4.1f} s{late}  {self.resident_mb:5.1f} MB  {self.tasks:3} tasks  "
            f"{self.descriptors:3} descriptors  {verdict}"
        )


@dataclass
class Outcome:
    """What a soak found."""

    seed: int
    quiet: list[Quiet] = field(default_factory=list)
    crashes: list[str] = field(default_factory=list)
    lost_tasks: Counter[str] = field(default_factory=Counter)
    lost_descriptors: Counter[str] = field(default_factory=Counter)
    writes: list[str] = field(default_factory=list)
    exit_code: int | None = None
    end_seconds: float = 0.0

    @property
    def unequal(self) -> list[Quiet]:
        return [point for point in self.quiet if point.differing]

    @property
    def longest_return_seconds(self) -> float:
        return max((point.return_seconds for point in self.quiet), default=0.0)

    @property
    def growth_mb(self) -> float:
        """Resident memory at the end over that at the first quiet point behind the first keys."""
        settled = [point for point in self.quiet if point.keys >= SETTLED_KEYS] or self.quiet[:1]
        return settled[-1].resident_mb - settled[0].resident_mb if settled else 0.0

    @property
    def slope_mb_per_hour(self) -> float:
        """Of the line through all quiet points behind the first keys; 0 where there are fewer than three."""
        points = [(one.at_seconds / 3_600, one.resident_mb) for one in self.quiet if one.keys >= SETTLED_KEYS]
        if len(points) < 3:
            return 0.0
        hours, sizes = zip(*points, strict=True)
        return linear_regression(hours, sizes).slope

    @property
    def is_good(self) -> bool:
        """Whether nothing was lost, told wrongly or written."""
        lost = self.crashes or self.lost_tasks or self.lost_descriptors or self.writes
        return not self.unequal and not lost and self.exit_code == 0


@asynccontextmanager
async def grounded(kubeconfig: Path, folder: Path) -> AsyncIterator[Ground]:
    """The app in a terminal, behind a link and a proxy, before the cluster of the kubeconfig."""
    tree = yaml.safe_load(await asyncio.to_thread(kubeconfig.read_text))
    server = tree["clusters"][0]["cluster"]["server"]
    authority = folder / "authority.crt"
    authority.write_bytes(_decoded(tree["clusters"][0]["cluster"]["certificate-authority-data"]))
    token = tree["users"][0]["user"]["token"]
    api = Api(server, token, authority)
    async with Gate(server, authority, token="token-0", upstream_token=token) as gate:
        link = Link(int(gate.url.rsplit(":", 1)[1]))
        await link.open()
        token_file = folder / "token"
        token_file.write_text(gate.token)
        through = _kubeconfig(folder / "through", link.own_port, token_file)
        state, socket = folder / "state", folder / "socket"
        environment = {
            "COLORTERM": "truecolor",
            "XDG_STATE_HOME": str(folder),
            "XDG_CONFIG_HOME": str(folder),
            "PYTHONWARNINGS": "default::ResourceWarning",
        }
        with Screen(
            ["-m", "tests.soak.measured_app", str(socket), str(through), str(state)], SIZE, environment
        ) as screen:
            screen.read_on()
            try:
                yield Ground(gate, link, screen, api, socket, state, token_file)
            finally:
                screen.leave()
        await link.kill()


def _decoded(text: str) -> bytes:
    import base64

    return base64.b64decode(text)


def _kubeconfig(path: Path, port: int, token_file: Path) -> Path:
    names = ("soak", "soak-again")
    tree = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "soak", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
        "users": [{"name": "soak", "user": {"tokenFile": str(token_file)}}],
        "contexts": [{"name": name, "context": {"cluster": "soak", "user": "soak"}} for name in names],
        "current-context": names[0],
    }
    path.touch(mode=0o600)
    token_file.chmod(0o600)
    path.write_text(yaml.safe_dump(tree))
    return path


class Soak:
    """Drives one run. `tell` gets a line for each quiet point."""

    def __init__(self, ground: Ground, seed: int, every_seconds: float, tell: Callable[[str], None]) -> None:
        self.outcome = Outcome(seed)
        self._ground = ground
        self._every_seconds = every_seconds
        self._tell = tell
        self._rng = random.Random(seed)
        self._moves = moves(random.Random(seed + 1))
        self._moving = Moving(ground.api, random.Random(seed + 2))
        self._keys = 0
        self._began = time.monotonic()

    async def run(self, faults: Sequence[DrawnFault]) -> Outcome:
        """All faults one after the other, and the end."""
        moving = asyncio.create_task(self._moving.run())
        try:
            await self._first()
            first = await self._quiet_point("none yet")
            for fault in faults:
                if not await self._round(fault):
                    break
            if not self.outcome.crashes:
                await self._count_lost(first)
        finally:
            moving.cancel()
            (ended,) = await asyncio.gather(moving, return_exceptions=True)
        assert isinstance(ended, asyncio.CancelledError), f"the estate stands still: {ended!r}"
        await self._end()
        return self.outcome

    async def _first(self) -> None:
        """Until everything is watched."""
        await eventually(self._ground.socket.exists, "the app's own socket", seconds=PATIENCE_SECONDS)
        await in_time(self._is_whole, "every first list", seconds=PATIENCE_SECONDS)
        self._moving.go()

    async def _is_whole(self) -> bool:
        phases = (await self._ground.hear()).phases
        return phases.keys() >= FIRST_STREAMS and STANDING.issuperset(phases.values())

    # ---- a round

    async def _round(self, fault: DrawnFault) -> bool:
        """One fault, and keys until its time is over; False where the app has ended."""
        began = time.monotonic()
        keys = asyncio.create_task(self._press_on())
        try:
            self._moving.go()
            await fault.play(self._ground, self._moving, self._rng)
        finally:
            keys.cancel()
            await asyncio.gather(keys, return_exceptions=True)
        if await self._quiet_point(fault.name) is None:
            return False
        self._moving.go()
        while since(began) < self._every_seconds:
            await self._press()
        return True

    async def _press_on(self) -> None:
        while True:
            await self._press()

    async def _press(self) -> None:
        for key in next(self._moves):
            self._send(key)
            await asyncio.sleep(ESCAPE_SECONDS if key == "escape" else KEY_SECONDS)

    def _send(self, key: str) -> None:
        self._ground.screen.write(as_bytes(key))
        self._keys += 1

    async def _go_home(self) -> None:
        """Out of dialogs, lines and pages, to the first place."""
        for key in HOME:
            self._send(key)
            await asyncio.sleep(ESCAPE_SECONDS)

    async def _quiet_point(self, fault: str) -> Holdings | None:
        """Wait until the app has caught up, and compare; what it holds then, None where it has ended."""
        healed = time.monotonic()
        await self._moving.stand()
        await self._go_home()
        await self._moving.settle(self._ground.damaged)
        last, has_asked = list[str](), False
        while True:
            try:
                truth = await self._ground.truth()
                told = await self._ground.hear()
                differing = differences(told, truth)
                if differing:  # the cluster's own controllers may have changed something meanwhile
                    differing = differences(told, truth, await self._ground.truth())
            except (OSError, ValueError) as error:
                self.outcome.crashes.append(f"after {fault}: the app does not answer: {error!r}")
                return None
            differing += _waiting(told)
            took = since(healed)
            if not differing or took > PATIENCE_SECONDS:
                break
            if took > RETURN_SECONDS and not has_asked and "denied" in told.phases.values():
                has_asked = True
                self._send("ctrl+l")  # as a person who reads that something is denied
            last = differing
            await asyncio.sleep(LOOK_SECONDS)
        if reports := self._ground.reports()[len(self.outcome.crashes) :]:
            self.outcome.crashes += [f"after {fault}: {path.read_text()}" for path in reports]
        point = Quiet(
            since(self._began),
            fault,
            self._keys,
            took,
            state_hash(truth),
            differing,
            told.resident_kib / 1024,
            told.tasks.total(),
            told.descriptors.total(),
        )
        self.outcome.quiet.append(point)
        self._tell(point.line)
        for line in (differing or last[:3])[:20] if took > RETURN_SECONDS else ():
            self._tell(f"         seed {self.outcome.seed}, {fault}: {line}")
        return told

    # ---- the end

    async def _count_lost(self, first: Holdings | None) -> None:
        """What the app has at every look from now on, and had not at the first quiet point.

        What it is about to do now and then, a round of telemetry, is there at some looks only.
        """
        assert first is not None
        await self._go_home()
        outcome, deadline = self.outcome, time.monotonic() + PATIENCE_SECONDS
        told = await self._ground.hear()
        tasks, opened = told.tasks, told.descriptors
        while True:
            outcome.lost_tasks = tasks - first.tasks
            outcome.lost_descriptors = opened - first.descriptors
            if not (outcome.lost_tasks or outcome.lost_descriptors) or time.monotonic() > deadline:
                return
            await self._go_home()  # again: where the app stalls, an escape and the key behind it are one key
            await asyncio.sleep(STEP_SECONDS)
            told = await self._ground.hear()
            tasks, opened = tasks & told.tasks, opened & told.descriptors

    async def _end(self) -> None:
        """`q`, and how long it takes."""
        self.outcome.writes = self._ground.gate.writes
        began = time.monotonic()
        self._ground.screen.write(b"q")
        code = None
        with suppress(TimeoutError):
            code = await eventually(self._ended, "its end", seconds=PATIENCE_SECONDS)
        self.outcome.end_seconds = since(began)
        self.outcome.exit_code = None if code is None else code[0]

    def _ended(self) -> tuple[int] | None:
        code = self._ground.screen.ended()
        return None if code is None else (code,)


def _waiting(told: Holdings) -> Iterator[str]:
    """A line for each stream that does not stand, and for each task that is in trouble."""
    for name, phase in told.phases.items():
        if phase not in STANDING:
            yield f"stream of {name}: {phase} ({told.messages[name]})"
    for name, sentence in told.faults.items():
        yield f"task {name}: {sentence}"


def soak(seed: int, count: int, every_seconds: float, tell: Callable[[str], None], only: str = "") -> Outcome:
    """A whole run on a cluster of its own; `only`: faults with this in their name."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "idle.yaml").write_text(scenario(moves=True, pours=True))
        with embedded(folder / "cluster", folder / "idle.yaml", WARM_SECONDS) as kubeconfig:

            async def run() -> Outcome:
                async with grounded(kubeconfig, folder) as ground:
                    faults = [one for one in drawn(random.Random(seed), 10 * count) if only in one.name]
                    return await Soak(ground, seed, every_seconds, tell).run(faults[:count])

            return asyncio.run(run())
