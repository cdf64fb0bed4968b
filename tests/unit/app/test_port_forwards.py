"""Ports that a session forwards: two at once, stopped, over with their pod, and closed where it leaves."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cockpit.actions.forward import Passage
from cockpit.errors import BadInput, CockpitError, Refused
from cockpit.listener import Listener
from cockpit.services.port_forwards import LEFT, STOPPED, PortForward, PortForwards


class Host:
    """The app and its API server in one; every port is had without a cluster."""

    def __init__(self, refusal: CockpitError | None = None) -> None:
        self.refusal = refusal
        self.over: set[int] = set()
        self.remarks: list[str] = []
        self.tasks: list[asyncio.Task[None]] = []
        self.moved = asyncio.Event()

    api = property(lambda self: self)

    def audit(self) -> Any:
        return None

    def spawn(self, work: Callable[[], Any], _name: str) -> None:
        self.tasks.append(asyncio.create_task(work()))

    def notify(self, message: str, **_options: Any) -> None:
        self.remarks.append(message)

    def looked_up(self) -> None:
        self.moved.set()

    def why_over(self, passage: Passage) -> str:
        return "ended: pod web is gone" if passage.port in self.over else ""

    async def hold_open(self, passage: Passage, _audit: Any, stay: Any, *, changed: Any) -> str:
        if self.refusal is not None:
            raise self.refusal
        listener = Listener(lambda: None, changed)  # type: ignore[arg-type, return-value]
        listener.port = passage.local_port or 40_000 + passage.port
        why: str = await stay(listener)
        return why


def passage(port: int, local_port: int = 0) -> Passage:
    return Passage(namespace="a", pod="web", uid="u", port=port, local_port=local_port)


async def opened(host: Host, forwards: PortForwards, *ports: int) -> tuple[PortForward, ...]:
    for port in ports:
        forwards.begin(passage(port), "prod job")
    async with asyncio.timeout(60):
        while len(forwards.open) < len(ports):
            host.moved.clear()
            await host.moved.wait()
    return forwards.open


async def test_two_at_once_are_stopped_one_by_one(tmp_path: Path) -> None:
    host = Host()
    forwards = PortForwards(host, tmp_path / "ports.json", look_seconds=0)  # type: ignore[arg-type]
    first, second = await opened(host, forwards, 80, 81)
    assert [first.address, second.address] == ["127.0.0.1:40080", "127.0.0.1:40081"]
    assert first.traffic == "0 open, 0 served"
    first.stop()
    first.stop()
    await host.tasks[0]
    assert forwards.open == (second,)
    host.over.add(81)
    await host.tasks[1]
    assert not forwards.open
    assert forwards.last_ports("prod job") == ((0, 81), (0, 80))
    to = "127.0.0.1:{} to port {} of pod a/web"
    assert host.remarks == [
        f"Forwarding {to.format(40080, 80)}",
        f"Forwarding {to.format(40081, 81)}",
        f"No longer forwarding {to.format(40080, 80)}: {STOPPED}",
        f"No longer forwarding {to.format(40081, 81)}: ended: pod web is gone",
    ]


async def test_all_are_closed_where_the_session_leaves() -> None:
    host = Host()
    forwards = PortForwards(host, None, look_seconds=0)  # type: ignore[arg-type]
    await opened(host, forwards, 80, 81)
    forwards.leave()
    await asyncio.gather(*host.tasks)
    assert not forwards.open and all(remark.endswith(LEFT) for remark in host.remarks[2:])


async def test_what_is_refused_is_a_remark_and_no_last_port() -> None:
    for refusal in (Refused("no right"), BadInput("127.0.0.1:80 cannot be bound: choose another port")):
        host = Host(refusal)
        forwards = PortForwards(host, None)  # type: ignore[arg-type]
        forwards.begin(passage(80), "prod job")
        await host.tasks[0]
        assert host.remarks == [f"Not forwarded: {refusal.sentence}"]
        assert forwards.last_ports("prod job") == ()
