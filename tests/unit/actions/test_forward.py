"""Where a job's TensorBoard is, and a port that is open between two audit lines."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cockpit.actions.execute.execute_plan import READ_ONLY
from cockpit.actions.forward import (
    BOARD_PORT,
    MOST_LOOKED_AT,
    Passage,
    board_candidates,
    board_port,
    declared_ports,
    find_board,
    hold_open,
    parse_ports,
    plan_passage,
    why_over,
)
from cockpit.clock import ManualClock
from cockpit.errors import BadInput, CockpitError, NoConnection, Refused
from cockpit.listener import LOOPBACK, Listener
from cockpit.model.pod import Pod
from tests.unit.actions.builders import Line, Lines
from tests.unit.actions.test_entrances import many

PASSAGE = Passage(namespace="team-a", pod="llm-launcher", uid="u1", port=6006)


class Tunnel:
    """Stands, then is silent; or is refused late, as by a node."""

    def __init__(self, late: CockpitError | None = None) -> None:
        self._late = late

    async def begun(self) -> None: ...
    async def write(self, data: bytes) -> None: ...
    async def read(self) -> bytes | None:
        if self._late is not None:
            raise self._late
        return None


class House:
    def __init__(self, refusal: CockpitError | None = None, late: CockpitError | None = None) -> None:
        self.refusal, self.late = refusal, late
        self.came: list[Passage] = []

    @asynccontextmanager
    async def __call__(self, _session: Any, passage: Passage) -> AsyncIterator[Tunnel]:
        if self.refusal is not None:
            raise self.refusal
        self.came.append(passage)
        yield Tunnel(self.late)


async def enough(_listener: Listener) -> str:
    return "enough"


async def go(house: House, lines: Lines, line: Any = None, stay: Any = enough) -> str:
    return await hold_open(
        PASSAGE,
        line or Line(),
        lines,
        ManualClock(),
        stay,
        opened=house,
        new_id=lambda: "id1",
    )


def pod(name: str, **more: Any) -> Pod:
    return Pod(
        **{
            "uid": name,
            "name": name,
            "namespace": "team-a",
            "phase": "Running",
            "node": "n1",
            "containers": "main",
            **more,
        }
    )


def test_the_line_that_would_do_the_same() -> None:
    chosen = msgspec.structs.replace(PASSAGE, local_port=16006)
    assert chosen.line("prod") == (
        "kubectl --context prod port-forward --address 127.0.0.1 -n team-a pod/llm-launcher 16006:6006"
    )
    assert PASSAGE.line().endswith("pod/llm-launcher :6006")


@pytest.mark.parametrize(
    ("who", "port", "local", "part"),
    [
        (many("main", phase="Succeeded"), 6006, 0, r"has ended \(Succeeded\)"),
        (many("main", phase="Pending", node=""), 6006, 0, "is not scheduled yet"),
        (many("main"), 0, 0, "invalid port 0: use 1 to 65535"),
        (many("main"), 65536, 0, "invalid port 65536"),
        (many("main"), 6006, -1, "invalid local port -1"),
        (many("main"), 6006, 70000, "invalid local port 70000"),
    ],
)
def test_what_cannot_be_reached(who: Pod, port: int, local: int, part: str) -> None:
    with pytest.raises(BadInput, match=part):
        plan_passage(who, port, local)


def test_who_may_serve_it() -> None:
    workers = [pod(f"w{n}", rank=n, role="worker") for n in range(9)]
    launcher = pod("l", role="launcher")
    assert board_candidates([*workers, launcher])[0] is launcher
    assert len(board_candidates(workers)) == MOST_LOOKED_AT
    named = pod("b", containers="side,tensorboard")
    assert board_candidates([launcher, *workers, named]) == [named]
    assert board_candidates([pod("x", phase="Pending"), pod("y", phase="Failed")]) == []


SIDECAR = {"name": "tensorboard", "ports": [{"name": "tensorboard", "containerPort": 7007}]}


@pytest.mark.parametrize(
    ("spec", "port"),
    [
        ({"containers": [{"name": "main"}], "initContainers": [SIDECAR]}, 7007),
        ({"containers": [{"name": "a", "ports": [{"name": "tensorboard", "containerPort": 9}]}]}, 9),
        ({"containers": [{"name": "a", "command": ["tensorboard", "--logdir", "/x"]}]}, BOARD_PORT),
        ({"containers": [{"name": "a", "command": ["tensorboard", "--port=7"]}]}, 7),
        ({"containers": [{"name": "a", "args": ["-c", "tensorboard --logdir x --port 8 & train"]}]}, 8),
        ({"containers": [{"name": "a", "args": ["tensorboard", "--port", "many"]}]}, BOARD_PORT),
        ({"containers": [{"name": "a", "ports": [{"containerPort": 6006}]}]}, BOARD_PORT),
        ({"containers": [{"name": "a", "ports": [{"containerPort": 22}], "command": ["train"]}]}, None),
        ({"containers": [{"name": "tensorboard", "image": "x"}]}, BOARD_PORT),
        ({}, None),
    ],
)
def test_which_port(spec: dict[str, Any], port: int | None) -> None:
    assert board_port({"spec": spec}) == port


@given(st.lists(st.text(max_size=12) | st.sampled_from(["tensorboard", "--port", "--port=1", "=", "70000"])))
def test_any_command_gives_a_port_or_none(words: list[str]) -> None:
    port = board_port({"spec": {"containers": [{"name": "a", "command": words}]}})
    assert port is None or 1 <= port <= 65535


def session(*trees: dict[str, Any]) -> Any:
    left = list(trees)
    asked: list[str] = []

    async def request(_method: str, path: str) -> Any:
        asked.append(path)
        return SimpleNamespace(status=200, json=lambda: {"metadata": {}, **left.pop(0)}, message=lambda: "")

    return SimpleNamespace(request=request, asked=asked)


async def test_the_first_member_that_tells_of_one() -> None:
    line = session({"spec": {}}, {"spec": {"containers": [SIDECAR]}})
    found = await find_board(line, "mpijob team-a/llm", [pod("w0", rank=0), pod("l", role="master")], 16006)
    assert (found.pod, found.port, found.local_port) == ("w0", 7007, 16006)
    assert line.asked == ["/api/v1/namespaces/team-a/pods/l", "/api/v1/namespaces/team-a/pods/w0"]


async def test_a_job_without_one_is_told_what_to_do() -> None:
    with pytest.raises(BadInput, match="no member of job a/b is running"):
        await find_board(session(), "job a/b", [pod("w", phase="Pending")])
    with pytest.raises(BadInput, match=r"serves TensorBoard: submit with tensorboard=.*--port 6006"):
        await find_board(session({"spec": {}}), "job a/b", [pod("w")])


async def test_it_stands_between_two_audit_lines() -> None:
    house, lines = House(), Lines()
    ports: list[int] = []

    async def stay(listener: Listener) -> str:
        ports.append(listener.port)
        reader, _ = await asyncio.open_connection(LOOPBACK, listener.port)
        async with asyncio.timeout(60):
            assert await reader.read() == b""
        return "closed by key"

    assert await go(house, lines, stay=stay) == "closed by key"
    before, after = lines.entries
    assert (before.verb, before.target, before.step, before.uid) == (
        "forward",
        "port 6006 of pod team-a/llm-launcher",
        "intent",
        "u1",
    )
    assert before.path == "/api/v1/namespaces/team-a/pods/llm-launcher/portforward"
    assert before.shell.startswith("kubectl --context prod port-forward")
    assert before.user == "ann"
    assert (after.step, after.state, after.sentence) == ("outcome", "done", "closed by key; 1 connection")
    assert len(house.came) == 2, "one to try, one that somebody made"
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection(LOOPBACK, ports[0])


async def test_read_only_asks_nobody() -> None:
    house, lines = House(), Lines()
    with pytest.raises(Refused, match=READ_ONLY):
        await go(house, lines, Line(read_only=True))
    assert (house.came, lines.entries) == ([], [])


async def test_without_an_audit_line_nothing_is_opened() -> None:
    house = House()
    with pytest.raises(BadInput, match="audit"):
        await go(house, Lines(full_at=0))
    assert house.came == []


@pytest.mark.parametrize(
    ("house", "state"),
    [
        (House(refusal=Refused("no right")), "refused"),
        (House(refusal=NoConnection("nobody there")), "failed"),
        (House(late=Refused("connection refused")), "refused"),
    ],
)
async def test_a_refusal_is_told_before_anything_listens(house: House, state: str) -> None:
    lines, stayed = Lines(), []

    async def stay(_listener: Listener) -> str:
        stayed.append(1)
        return ""

    with pytest.raises(CockpitError):
        await go(house, lines, stay=stay)
    assert (lines.entries[-1].state, stayed) == (state, [])


async def test_a_page_that_goes_is_audited_as_left() -> None:
    lines, begun = Lines(), asyncio.Event()

    async def stay(_listener: Listener) -> str:
        begun.set()
        await asyncio.Event().wait()
        return ""

    task = asyncio.create_task(go(House(), lines, stay=stay))
    async with asyncio.timeout(60):
        await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (lines.entries[-1].state, lines.entries[-1].sentence) == ("done", "closed; 0 connections")


@pytest.mark.parametrize(
    ("text", "ports"),
    [
        ("8080", (8080, 8080)),
        (" 9090:80 ", (9090, 80)),
        (":80", (0, 80)),
        ("0:80", (0, 80)),
    ],
)
def test_ports_are_read_as_kubectl_reads_them(text: str, ports: tuple[int, int]) -> None:
    assert parse_ports(text) == ports


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "invalid port ''"),
        ("web", "invalid port 'web': use PORT, LOCAL:PORT or :PORT"),
        ("1:2:3", "invalid port '1:2:3'"),
        ("80:", "invalid port '80:'"),
        ("-1", "invalid port '-1'"),
        ("\u0661", "invalid port"),
        ("9" * 5000, "invalid port"),
        ("0", "invalid port 0: use 1 to 65535"),
        ("70000", "invalid port 70000"),
        ("70000:80", "invalid local port 70000"),
    ],
)
def test_what_is_no_port_is_refused(text: str, part: str) -> None:
    with pytest.raises(BadInput, match=part):
        parse_ports(text)


def test_the_declared_ports_are_those_of_tcp_each_once() -> None:
    main = {
        "name": "main",
        "ports": [
            {"containerPort": 80, "name": "http"},
            {"containerPort": 53, "protocol": "UDP"},
            {"containerPort": 80},
            {"containerPort": "8080"},
            {"containerPort": 0},
            "odd",
        ],
    }
    found = declared_ports({"spec": {"containers": [main], "initContainers": [SIDECAR]}})
    assert [(port.number, port.words) for port in found] == [
        (80, "http of container main"),
        (7007, "tensorboard of container tensorboard"),
    ]
    assert declared_ports({}) == ()
    hostile = {"name": "a\x1b[2J", "ports": [{"containerPort": 1, "name": "x\x07"}]}
    assert "\x1b" not in declared_ports({"spec": {"containers": [hostile]}})[0].words


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (None, "ended: pod llm-launcher is gone"),
        (pod("llm-launcher", phase="Failed"), "ended: pod llm-launcher has ended (Failed)"),
        (pod("llm-launcher"), ""),
    ],
)
def test_a_port_is_over_with_its_pod(found: Pod | None, sentence: str) -> None:
    store: Any = SimpleNamespace(get=lambda _kind, uid: found if uid == "u1" else None)
    assert why_over(PASSAGE, store) == sentence
