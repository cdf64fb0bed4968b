"""A cluster of 100,000 pods in 10,000 namespaces, and a log that pours: in a terminal, with keys between."""

import asyncio
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from cockpit.kube.proto import core_pb2
from tests.bench import screen
from tests.bench.contest import DOWN
from tests.bench.terminal import Terminal
from tests.reliability.figures import Tell, whole
from tests.tui.test_keys_under_load import (
    NODE,
    PATIENCE_SECONDS,
    ROOT,
    VERSION,
    Flood,
    comes_to_rest,
    flooding,
    pod_name,
    resident_bytes,
    types_down,
)
from tests.unit.kube.builders import fill, gpu_container, kubeconfig, meta, owner, pod, protobuf_event

APP = """
import json, sys, time
from textual import events
from cockpit import app as cockpit_app
from cockpit.attach import AttachOptions
from cockpit.model.record import Kind

waits = []

class Told(cockpit_app.CockpitApp):
    async def on_event(self, event):
        await super().on_event(event)
        if isinstance(event, events.Key) and event.key == "down":
            self.call_after_refresh(lambda: waits.append(time.monotonic() - event.time))

    def run(self, *args, **more):
        code = super().run(*args, **more)
        store = self.attachment.store
        told = {"waits": waits, "pods": {}}
        for pod in store.records(Kind.POD).values():
            told["pods"][pod.key] = pod.total_containers
        with open(sys.argv[2], "w") as state:
            json.dump(told, state)
        return code

cockpit_app.CockpitApp = Told
cockpit_app.run(cockpit_app.AppOptions(AttachOptions(kubeconfig=sys.argv[1]), first_place="pods"))
"""
NAMESPACE = b"team-aaaa"
OWNER = b"job-000000"
CONTAINERS = 200


def namespace_of(number: int, namespaces: int) -> str:
    """One of that many names of the same length."""
    letters, left = "", number % namespaces
    for _ in range(4):
        left, digit = divmod(left, 26)
        letters += chr(ord("a") + digit)
    return f"team-{letters}"


class Spread(Flood):
    """Pods spread over namespaces, a job in each; the last one has 200 containers."""

    namespaces = 1

    @staticmethod
    def _template(type_: str) -> bytes:
        tree = pod(metadata=meta(pod_name(0), namespace=NAMESPACE.decode(), version=VERSION.decode()))
        tree["spec"] |= {"nodeName": NODE.decode()}
        tree["metadata"]["ownerReferences"] = [owner("PyTorchJob", OWNER.decode())]
        return protobuf_event(type_, fill(core_pb2.Pod(), tree))

    def _event(self, type_: str, number: int) -> bytes:
        if number < len(self.versions) - 1:
            return (
                super()
                ._event(type_, number)
                .replace(OWNER, b"job-%06d" % (number % self.namespaces))
                .replace(NAMESPACE, namespace_of(number, self.namespaces).encode())
            )
        about = meta(pod_name(number), namespace=namespace_of(number, self.namespaces), version="5")
        containers = [gpu_container(name=f"c{at}") for at in range(CONTAINERS)]
        tree = pod(metadata=about, spec={"nodeName": NODE.decode(), "containers": containers})
        tree["status"]["containerStatuses"] = [{"name": f"c{at}", "ready": True} for at in range(CONTAINERS)]
        return protobuf_event(type_, fill(core_pb2.Pod(), tree))

    def keys(self) -> set[str]:
        """`namespace/name` of every pod."""
        return {f"{namespace_of(number, self.namespaces)}/{pod_name(number)}" for number in self.versions}


@contextmanager
def opened(flood: Flood, folder: Path) -> Iterator[tuple[Terminal, Path]]:
    """The app on its page of pods at rest, and where it writes what it knew when it was left."""
    folder.mkdir(exist_ok=True)
    state = folder / "state"
    argv = [sys.executable, "-c", APP, kubeconfig(folder, flood.server.url), str(state)]
    environment = {**os.environ, "HOME": str(folder), "XDG_STATE_HOME": str(folder), "LANG": "C.UTF-8"}
    terminal = Terminal(argv, environment, ROOT)
    try:
        # A row may come in parts: first cut to a narrow column, then what is wider.
        assert terminal.read_until(PATIENCE_SECONDS, lambda chunk: b"team-a" in chunk)
        flood.first_seconds = terminal.seconds  # type: ignore[attr-defined]
        while not flood.has_listed:
            terminal.read_until(terminal.seconds + 0.5)
        comes_to_rest(terminal)
        yield terminal, state
    finally:
        if not terminal.has_ended:
            terminal.close()


def leave(terminal: Terminal, state: Path, *keys: bytes) -> dict[str, Any]:
    """What the app wrote as it was left by these keys."""
    for key in keys:
        terminal.press("leave", key)
        terminal.read_until(terminal.seconds + 0.5)
    terminal.read_until(terminal.seconds + PATIENCE_SECONDS)
    told: dict[str, Any] = json.loads(state.read_text())
    return told


def p99_milliseconds(waits: list[float]) -> float:
    found = screen.percentile(waits, 0.99)
    assert found is not None
    return found * 1000.0


def walked(pods: int, namespaces: int, folder: Path) -> tuple[float, float, int, dict[str, Any], set[str]]:
    """Seconds to the first page, p99 of a key in ms, memory in bytes, and what was known against what is."""
    with flooding(pods, made_by=Spread) as flood:
        assert isinstance(flood, Spread)
        flood.namespaces = namespaces
        with opened(flood, folder) as (terminal, state):
            types_down(terminal, whole(20, 1))
            memory = resident_bytes(terminal.pid)
            told = leave(terminal, state, b"q")
            first: float = flood.first_seconds  # type: ignore[attr-defined]
            return first, p99_milliseconds(told["waits"]), memory, told, flood.keys()


@pytest.mark.waits
@pytest.mark.row(40, "pods", least=100_000, unit="cases")
@pytest.mark.row(40, "namespaces", least=10_000, unit="cases")
@pytest.mark.row(40, "pods missing or too many", most=0)
@pytest.mark.row(40, "containers known of a pod with 200", least=200, most=200)
@pytest.mark.row(40, "first page, times that of half as many pods", most=1.3, unit="times")
@pytest.mark.row(40, "p99 key, times that of half as many pods", most=1.3, unit="times")
@pytest.mark.row(40, "memory, times that of half as many pods", most=2.6, unit="times")
def test_a_large_cluster_is_as_quick_as_half_of_it(tmp_path: Path, figure: Tell) -> None:
    pods, namespaces = whole(100_000, 1_000), whole(10_000, 100)
    half_first, half_p99, half_memory, _, _ = walked(pods // 2, namespaces // 2, tmp_path / "half")
    first, p99, memory, told, wanted = walked(pods, namespaces, tmp_path / "whole")
    known = told["pods"]
    figure("pods", len(known))
    figure("namespaces", len({key.partition("/")[0] for key in known}))
    figure("pods missing or too many", len(known.keys() ^ wanted))
    figure("containers known of a pod with 200", max(known.values()))
    figure("first page, times that of half as many pods", first / half_first)
    figure("p99 key, times that of half as many pods", p99 / half_p99)
    figure("memory, times that of half as many pods", memory / half_memory)


# ---- a log

LINES_AT_ONCE = 10_000
STAMP = "2026-11-01T10:00:00.{:09d}Z"


class Pour:
    """A log: one very long line, binary, then 200,000 lines a second; counts what it sent."""

    def __init__(self, long_bytes: int, seconds: int) -> None:
        self._long_bytes = long_bytes
        self._rounds = seconds * 200_000 // LINES_AT_ONCE
        self.sent = 0
        self.is_over = asyncio.Event()

    async def answer(self, request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse(headers={"Content-Type": "text/plain"})
        await answer.prepare(request)
        if request.query.get("follow") != "true" or self.sent:
            return answer
        now = asyncio.get_running_loop().time
        stamp = STAMP.format(1).encode()
        await answer.write(stamp + b" ")
        for _ in range(self._long_bytes >> 20):
            await answer.write(b"x" * (1 << 20))
        await answer.write(b"\n" + (stamp + b" " + bytes(range(256)).replace(b"\n", b"") + b"\n") * 20_000)
        block = b"".join(
            b"%s step %d loss 2.31 9881 images/s\n" % (STAMP.format(at).encode(), at)
            for at in range(LINES_AT_ONCE)
        )
        began = now()
        for number in range(self._rounds):
            await answer.write(block)
            self.sent += LINES_AT_ONCE
            await asyncio.sleep(max(0.0, began + (number + 1) * LINES_AT_ONCE / 200_000 - now()))
        self.is_over.set()
        await asyncio.Event().wait()
        return answer


@pytest.mark.waits
@pytest.mark.row(45, "bytes of one line", least=100 << 20, unit="cases")
@pytest.mark.row(45, "lines, 200,000 a second at most", least=2_000_000, unit="cases")
@pytest.mark.row(45, "memory gained", most=60, unit="MB")
@pytest.mark.row(45, "p99 key", most=33, unit="ms")
def test_a_log_that_pours_is_bounded_and_keys_go_on(tmp_path: Path, figure: Tell) -> None:
    long_bytes, seconds = whole(100 << 20, 2 << 20), whole(10, 1)
    pour = Pour(long_bytes, seconds)
    with flooding(1) as flood:
        flood.server.on(f"/api/v1/namespaces/team-a/pods/{pod_name(0)}/log", pour.answer)
        with opened(flood, tmp_path) as (terminal, state):
            before = resident_bytes(terminal.pid)
            terminal.press("logs", b"l")
            assert terminal.read_until(PATIENCE_SECONDS, lambda chunk: b"following" in chunk)
            most = 0
            while not pour.is_over.is_set():
                terminal.press("down", DOWN)
                terminal.read_until(terminal.seconds + 0.1)
                most = max(most, resident_bytes(terminal.pid))
                assert terminal.seconds < 10 * PATIENCE_SECONDS
            told = leave(terminal, state, b"\x1b", b"q")
    figure("bytes of one line", long_bytes)
    figure("lines, 200,000 a second at most", pour.sent)
    figure("memory gained", (most - before) / 1e6)
    figure("p99 key", p99_milliseconds(told["waits"]))
