"""Ports of pods at the kubelets' endpoint: a simulated container's page, a real process, and refusals."""

import asyncio
import json
import sys
from pathlib import Path

import aiohttp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cockpit.sim.actors.kubelet.forwarding import ports_of
from tests.unit.sim.kubelet.small_cluster import SmallCluster
from tests.unit.sim.kubelet.test_kubelet_endpoint import pair, served, text_of
from tests.unit.sim.kubelet.test_process_runtime import live
from tests.waiting import until

__all__ = ["pair"]
V4 = ("v4.channel.k8s.io",)
SECONDS = 60
PORTS = {"ports": [{"name": "tensorboard", "containerPort": 6006}]}
_SERVER = (
    "import socket\n"
    "made = socket.create_server(('127.0.0.1', 0))\n"
    "print('port', made.getsockname()[1], flush=True)\n"
    "while True:\n"
    "    one, _ = made.accept()\n"
    "    while data := one.recv(65536):\n"
    "        one.sendall(data[::-1])\n"
    "    one.close()\n"
)


async def talk(session: aiohttp.ClientSession, port: int, *sent: bytes, until: int = -1) -> dict[int, bytes]:
    """What each channel said to these pieces, until the end or so many bytes of data."""
    said = {0: b"", 1: b""}
    async with (
        asyncio.timeout(SECONDS),
        session.ws_connect(f"/portForward/a/train?port={port}", protocols=V4) as socket,
    ):
        assert socket.protocol == V4[0]
        for piece in sent:
            await socket.send_bytes(b"\x00" + piece)
        async for message in socket:
            said[message.data[0]] += message.data[1:]
            if len(said[0]) == until:
                break
    return said


async def test_a_simulated_container_has_a_page(pair: tuple[Path, Path]) -> None:
    cluster = await SmallCluster().started()
    cluster.node()
    cluster.pod(gpus=1, duration="forever", image_size="1Mi", step_seconds="1", container=PORTS)
    await cluster.pass_(60)
    async with served(cluster, pair) as session:
        said = await talk(session, 6006, b"GET / HT", b"TP/1.1\r\nHost: x\r\n\r\n")
        number = (6006).to_bytes(2, "little")
        assert said[1] == number
        assert said[0].startswith(number + b"HTTP/1.1 200 OK\r\n")
        head, _, body = said[0].partition(b"\r\n\r\n")
        assert f"Content-Length: {len(body)}".encode() in head
        assert b"A simulated container" in body and b"epoch 1 step " in body
        said = await talk(session, 6006, b"GET /data/runs HTTP/1.1\r\n\r\n")
        assert b"HTTP/1.1 404 " in said[0]
        said = await talk(session, 6006, b"POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\nab")
        assert b"HTTP/1.1 405 " in said[0]
        said = await talk(session, 6006, b"HEAD / HTTP/1.1\r\n\r\n")
        assert b"HTTP/1.1 200 " in said[0] and said[0].endswith(b"\r\n\r\n")
        said = await talk(session, 6006, b"x" * 70_000)
        assert b"HTTP/1.1 431 " in said[0]


async def test_a_port_where_nobody_listens(pair: tuple[Path, Path]) -> None:
    cluster = await SmallCluster().started()
    cluster.node()
    cluster.pod(duration="20s", image_size="1Mi", container=PORTS)
    await cluster.pass_(15)
    async with served(cluster, pair) as session:
        said = await talk(session, 6007)
        assert said[1][2:].startswith(b"error forwarding port 6007 to pod train, uid : failed to connect")
        assert said[1].endswith(b"dial tcp4 127.0.0.1:6007: connect: connection refused")
        await cluster.pass_(60)  # the container has ended
        said = await talk(session, 6006)
        assert b"connection refused" in said[1]


async def test_requests_that_cannot_be(pair: tuple[Path, Path]) -> None:
    cluster = await SmallCluster().started()
    cluster.node()
    cluster.pod(duration="forever", image_size="1Mi")
    await cluster.pass_(30)
    async with served(cluster, pair) as session:
        assert "not SPDY" in await text_of(session, "/portForward/a/train?port=1", 400)
        for path, status in (
            ("/portForward/a/train", 400),
            ("/portForward/a/train?port=0", 400),
            ("/portForward/a/none?port=1", 404),
        ):
            with pytest.raises(aiohttp.WSServerHandshakeError) as caught:
                await session.ws_connect(path, protocols=V4)
            assert caught.value.status == status


async def test_a_real_process_answers_byte_for_byte(tmp_path: Path, pair: tuple[Path, Path]) -> None:
    async with live(tmp_path) as cluster, served(cluster, pair) as session:
        container = {"command": [sys.executable, "-c", _SERVER]}
        cluster.pod(container={**container, **PORTS})
        await until(lambda: "port " in _output(cluster))
        port = int(_output(cluster).split()[1])
        # Only what a pod announces is dialled: this machine has other things that listen.
        assert b"connection refused" in (await talk(session, port))[1]
        run = cluster.kubelets.run_of("a", "train")
        assert run is not None
        run.pod["spec"]["containers"][0]["ports"] = [{"containerPort": port}]
        data = bytes(range(256)) * 100
        said = await asyncio.gather(
            *(talk(session, port, bytes((number,)) + b"z", until=4) for number in range(8))
        )
        assert [one[0][2:] for one in said] == [b"z" + bytes((number,)) for number in range(8)]
        long = await talk(session, port, data, until=2 + len(data))
        assert sorted(long[0][2:]) == sorted(data)


def _output(cluster: object) -> str:
    run = cluster.kubelets.run_of("a", "train")  # type: ignore[attr-defined]
    return cluster.output() if run is not None and run.containers[0].logs else ""  # type: ignore[attr-defined]


@given(st.lists(st.integers(1, 65535), min_size=1, max_size=4))
def test_ports_are_read_as_they_are_written(ports: list[int]) -> None:
    assert ports_of([str(port) for port in ports]) == tuple(ports)
    assert ports_of([",".join(map(str, ports))]) == tuple(ports)


@given(st.text(max_size=8))
def test_any_word_is_ports_or_a_sentence(word: str) -> None:
    try:
        found = ports_of([word])
    except ValueError as error:
        assert "port" in str(error)
        json.dumps(str(error))
    else:
        assert all(1 <= port <= 65535 for port in found)
