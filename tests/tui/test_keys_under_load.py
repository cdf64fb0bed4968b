"""How soon a key is answered, in a terminal, while an API server drips or floods."""

import asyncio
import json
import os
import random
import sys
import threading
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path

import pytest
from aiohttp import web

from cockpit.kube.decode.wire import PROTOBUF
from cockpit.kube.proto import core_pb2
from tests.bench import screen
from tests.bench.contest import DOWN, KEY_SECONDS
from tests.bench.terminal import Terminal
from tests.reliability.figures import Tell, whole
from tests.unit.kube.builders import (
    FakeServer,
    fill,
    kubeconfig,
    listing,
    meta,
    owner,
    pod,
    protobuf_event,
    refuse,
    reply,
    serving,
)
from tests.unit.kube.pod_history import begun
from tests.unit.kube.test_discovery import aggregated, entry, group
from tests.unit.kube.test_feed import CORE_PATHS, END

ROOT = Path(__file__).resolve().parents[2]
APP = """
import json, sys
from cockpit import app as cockpit_app
from cockpit.attach import AttachOptions
from cockpit.model.record import Kind

class Told(cockpit_app.CockpitApp):
    def run(self, *args, **more):
        code = super().run(*args, **more)
        rows = self.attachment.store.records(Kind.POD)
        with open(sys.argv[2], "w") as state:
            json.dump({uid: pod.resource_version for uid, pod in rows.items()}, state)
        return code

cockpit_app.CockpitApp = Told
cockpit_app.run(cockpit_app.AppOptions(AttachOptions(kubeconfig=sys.argv[1]), first_place="pods"))
"""
NAME, JOB, VERSION, NODE = b"worker-000000", b"train-000000", b"1000000000", b"node-a"
PODS_OF_A_JOB = 50
COMERS = 500
"""So many pods that come in the flood are there at a time."""
FIRST_VERSION = int(VERSION)
PATIENCE_SECONDS = 120.0
TICK_SECONDS = 0.05
PODS_PATH, NODES_PATH = "/api/v1/pods", "/api/v1/nodes"


def pod_name(number: int) -> str:
    """A name that `tests.bench.screen` knows as a pod's."""
    return f"resnet-train-0001-worker-{number:06d}"


class Flood:
    """A server of pods in a thread of its own: lists them whole, then sends what it is told to."""

    def __init__(self, pods: int) -> None:
        self.versions = {number: FIRST_VERSION + number for number in range(pods)}
        self.sent = 0
        self.seconds = 0.0
        """How long sending took: a reader that is slow holds it up."""
        self.server = FakeServer()
        self.loop: asyncio.AbstractEventLoop | None = None
        self.deleted = 0
        self._pods = pods
        self._comers: deque[int] = deque()
        self._version = FIRST_VERSION + pods
        self._rng = random.Random(13)
        self._templates = {type_: self._template(type_) for type_ in ("ADDED", "MODIFIED", "DELETED")}
        self._watch: web.StreamResponse | None = None

    @staticmethod
    def _template(type_: str) -> bytes:
        job = owner("MPIJob", JOB.decode(), "kubeflow.org/v2beta1")
        tree = pod(metadata=meta(pod_name(0), version=VERSION.decode(), ownerReferences=[job]))
        tree["spec"] |= {"nodeName": NODE.decode()}
        tree["status"] |= {
            "conditions": [{"type": "Ready", "status": "True"}, {"type": "PodScheduled", "status": "True"}],
            "containerStatuses": [{"name": "main", "ready": True, "state": {"running": {}}}],
        }
        return protobuf_event(type_, fill(core_pb2.Pod(), tree))

    def _event(self, type_: str, number: int) -> bytes:
        line = self._templates[type_].replace(NAME, b"worker-%06d" % number)
        line = line.replace(JOB, b"train-%06d" % (number // PODS_OF_A_JOB))
        return line.replace(VERSION, b"%d" % self.versions[number]).replace(
            NODE, b"node-" + b"abcd"[number % 4 :][:1]
        )

    def _mark(self) -> bytes:
        mark = core_pb2.Pod()
        mark.metadata.resource_version = str(self._version)
        mark.metadata.annotations["k8s.io/initial-events-end"] = "true"
        return protobuf_event("BOOKMARK", mark)

    async def list_pods(self, request: web.Request) -> web.StreamResponse:
        """The stream that is fed; other readers are told that there are none, or that they come too late."""
        if "watch" not in request.query:
            return await reply(listing())(request)
        if "sendInitialEvents" not in request.query:
            return await refuse(410, "Expired", "too old resource version")(request)
        answer = web.StreamResponse(headers={"Content-Type": f"{PROTOBUF};stream=watch"})
        await answer.prepare(request)
        await answer.write(b"".join(self._event("ADDED", number) for number in self.versions) + self._mark())
        self._watch = answer
        await self.server.over.wait()
        return answer

    def _tick(self, events: int, deletes: int) -> bytes:
        """So many events: changes of pods that stay, and pods that come, of which the oldest go again."""
        lines: list[bytes] = []
        for _ in range(deletes):
            self._comers.append(number := self._pods + self.deleted + len(self._comers))
            lines.append(self._moved("ADDED", number))
            if len(self._comers) > COMERS:
                lines.append(self._moved("DELETED", gone := self._comers.popleft()))
                del self.versions[gone]
                self.deleted += 1
        numbers = self._rng.choices(range(self._pods), k=max(events - len(lines), 0))
        lines += [self._moved("MODIFIED", number) for number in numbers]
        self.sent += len(lines)
        return b"".join(lines)

    def _moved(self, type_: str, number: int) -> bytes:
        self._version += 1
        self.versions[number] = self._version
        return self._event(type_, number)

    async def _flood(self, a_second: int, seconds: float, deletes: int) -> None:
        assert self._watch is not None
        now = asyncio.get_running_loop().time
        began, ticks = now(), round(seconds / TICK_SECONDS)
        for tick in range(ticks):
            await self._watch.write(self._tick(round(a_second * TICK_SECONDS), -(-deletes // ticks)))
            await asyncio.sleep(max(0.0, began + (tick + 1) * TICK_SECONDS - now()))
        self.seconds = now() - began

    @property
    def has_listed(self) -> bool:
        """Whether all pods were sent."""
        return self._watch is not None

    def storm(self, a_second: int, seconds: float, deletes: int) -> "Future[None]":
        """So many events a second, with so many deletes in all; from any thread."""
        assert self.loop is not None
        return asyncio.run_coroutine_threadsafe(self._flood(a_second, seconds, deletes), self.loop)

    def clearance(self, count: int) -> "Future[None]":
        """Deletes of so many of the last pods; from any thread."""

        async def clear() -> None:
            assert self._watch is not None
            for number in list(self.versions)[-count:]:
                await self._watch.write(self._moved("DELETED", number))
                del self.versions[number]

        assert self.loop is not None
        return asyncio.run_coroutine_threadsafe(clear(), self.loop)

    def state(self) -> dict[str, str]:
        """uid -> version of what is there."""
        return {f"uid-{pod_name(number)}": str(version) for number, version in self.versions.items()}


async def dripping(request: web.Request) -> web.StreamResponse:
    """A byte a second, for as long as it is read."""
    answer = await begun(request)
    for byte in END * 100:
        await answer.write(bytes([byte]))
        await asyncio.sleep(1.0)
    return answer


@contextmanager
def flooding(pods: int, *, drips: bool = False, made_by: type[Flood] = Flood) -> Iterator[Flood]:
    """The server, while the block runs; `drips`: nodes come a byte a second."""
    made, up, over = made_by(pods), threading.Event(), asyncio.Event()

    async def serve() -> None:
        made.loop = asyncio.get_running_loop()

        async def whole_list(request: web.Request) -> web.StreamResponse:
            answer = await begun(request)
            await answer.write(END)
            await made.server.over.wait()
            return answer

        for path in CORE_PATHS:
            made.server.on(path, whole_list)
        made.server.on(PODS_PATH, made.list_pods)
        if drips:
            made.server.on(NODES_PATH, dripping)
        made.server.on("/api", reply(aggregated(group("", v1=[entry("pods", "Pod")]))))
        made.server.on("/apis", reply(aggregated()))
        async with serving(made.server):
            up.set()
            await over.wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    assert up.wait(PATIENCE_SECONDS)
    try:
        yield made
    finally:
        assert made.loop is not None
        made.loop.call_soon_threadsafe(over.set)
        thread.join(PATIENCE_SECONDS)


@contextmanager
def opened(flood: Flood, folder: Path) -> Iterator[tuple[Terminal, Path]]:
    """The app on its page of pods, all of them listed; and where it writes which it knew when it was left."""
    config, state = kubeconfig(folder, flood.server.url), folder / "state"
    argv = [sys.executable, "-c", APP, config, str(state)]
    environment = {**os.environ, "HOME": str(folder), "XDG_STATE_HOME": str(folder), "LANG": "C.UTF-8"}
    terminal = Terminal(argv, environment, ROOT)
    seen = bytearray()

    def has_rows(chunk: bytes) -> bool:  # a row may come in two chunks, and its cells one by one
        seen.extend(chunk)
        return b"team-a" in seen

    try:
        assert terminal.read_until(PATIENCE_SECONDS, has_rows)
        while not flood.has_listed:
            terminal.read_until(terminal.seconds + 0.5)
        comes_to_rest(terminal)
        yield terminal, state
    finally:
        if not terminal.has_ended:
            terminal.close()


def comes_to_rest(terminal: Terminal) -> None:
    """Until the app needs no more memory from second to second: all is listed."""
    before = 0
    while (now := resident_bytes(terminal.pid)) > before * 1.01:
        before = now
        terminal.read_until(terminal.seconds + 2.0)


def types_down(terminal: Terminal, seconds: float) -> None:
    """Presses *down* ten times a second."""
    end, due = terminal.seconds + seconds, terminal.seconds
    while terminal.seconds < end and not terminal.has_ended:
        terminal.press("down", DOWN)
        due += KEY_SECONDS
        terminal.read_until(due)


def key_milliseconds(terminal: Terminal, pods: int) -> tuple[float, int]:
    """p99 of the keys that were answered, and how many were not."""
    sights, last = screen.replay(terminal.recording)
    ranks = {f"team-a/{pod_name(number)}": number for number in range(pods)}
    keys = [key for key in terminal.recording.keys if key[1] == "down"]
    times = screen.key_times(sights, keys, ranks, 40, keys[-1][0])
    assert times.p99_seconds is not None, "\n".join(last)
    return times.p99_seconds * 1000.0, times.lost


@pytest.mark.waits
@pytest.mark.row(9, "seconds of drips", least=20, unit="cases")
@pytest.mark.row(9, "p99 key", most=33, unit="ms")
@pytest.mark.row(9, "keys without an answer", most=0)
def test_keys_are_answered_while_a_list_drips(tmp_path: Path, figure: Tell) -> None:
    seconds = whole(20, 1)
    with flooding(400, drips=True) as flood, opened(flood, tmp_path) as (terminal, _):
        types_down(terminal, seconds)
        terminal.read_until(terminal.seconds + 2.0)
        p99, lost = key_milliseconds(terminal, 400)
    figure("seconds of drips", seconds)
    figure("p99 key", p99)
    figure("keys without an answer", lost)


@pytest.mark.waits
@pytest.mark.row(13, "seconds of the flood", least=60, unit="cases")
@pytest.mark.row(13, "events", least=20_000, unit="/s")
@pytest.mark.row(13, "deletes", least=100_000, unit="cases")
@pytest.mark.row(13, "p99 key", most=33, unit="ms")
@pytest.mark.row(13, "keys without an answer", most=0)
@pytest.mark.row(13, "rows unlike the server's", most=0)
def test_keys_are_answered_in_a_flood(tmp_path: Path, figure: Tell) -> None:
    pods, deletes, seconds = 2_000, whole(101_000, 2_000), whole(60, 2)
    with flooding(pods) as flood, opened(flood, tmp_path) as (terminal, state):
        types_down(terminal, 2.0)
        terminal.recording.keys.clear()
        storm = flood.storm(20_200, seconds, deletes)
        types_down(terminal, seconds)
        known = known_at_last(terminal, state, storm)
        figure("seconds of the flood", seconds)
        figure("events", flood.sent / flood.seconds)
        figure("deletes", flood.deleted)
        p99, lost = key_milliseconds(terminal, pods)
        figure("p99 key", p99)
        figure("keys without an answer", lost)
        figure("rows unlike the server's", len(known.items() ^ flood.state().items()))


@pytest.mark.waits
@pytest.mark.row(13, "pods of which nearly all go", least=102_000, unit="cases")
@pytest.mark.row(13, "memory afterwards, times that before", most=1.2)
@pytest.mark.row(13, "rows unlike the server's", most=0)
def test_a_flood_needs_little_memory(tmp_path: Path, figure: Tell) -> None:
    """Changes of every pod, then nearly all are deleted."""
    pods, seconds = whole(102_000, 3_000), whole(20, 1)
    with flooding(pods) as flood, opened(flood, tmp_path) as (terminal, state):
        before = resident_bytes(terminal.pid)
        most = most_bytes(terminal, flood.storm(20_200, seconds, 0))
        clearance = flood.clearance(pods - 2_000)
        most = max(most, most_bytes(terminal, clearance))
        rows = known_at_last(terminal, state, clearance)
        figure("pods of which nearly all go", pods)
        figure("memory afterwards, times that before", most / before)
        figure("rows unlike the server's", len(rows.items() ^ flood.state().items()))


def most_bytes(terminal: Terminal, sending: "Future[None]") -> int:
    """The most memory that the app had until all was sent, and read."""
    most = 0
    while not sending.done():
        terminal.read_until(terminal.seconds + 0.5)
        most = max(most, resident_bytes(terminal.pid))
    return most


def known_at_last(terminal: Terminal, state: Path, sending: "Future[None]") -> dict[str, str]:
    """uid -> version of the pods that the app knew when it was left, some seconds after all was sent."""
    while not sending.done():
        terminal.read_until(terminal.seconds + 0.5)
    sending.result()
    terminal.read_until(terminal.seconds + 3.0)
    terminal.press("q", b"q")
    terminal.read_until(terminal.seconds + PATIENCE_SECONDS)
    known: dict[str, str] = json.loads(state.read_text())
    return known


def resident_bytes(pid: int) -> int:
    """Of a process, now."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:")) * 1024
