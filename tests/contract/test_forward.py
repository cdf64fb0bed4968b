"""A port of a pod, as the cockpit reaches it: through the server to a node's kubelet and back."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from cockpit.actions.forward import Passage
from cockpit.errors import NoConnection, Refused
from cockpit.kube.forward import open_tunnel
from cockpit.kube.session import ApiSession
from cockpit.listener import LOOPBACK, Listener
from tests.bed.api import Api
from tests.contract.asking import in_space
from tests.contract.conftest import Connect
from tests.contract.kubelet import Kubelet, serving
from tests.contract.shapes import pod
from tests.reliability.figures import Tell

SECONDS = 60
FEATURES = {"declaredFeatures": ["ExtendWebSocketsToKubelet"]}


@pytest.fixture(params=[FEATURES, {}], ids=["passes websockets on", "of an older release"])
async def node(
    request: pytest.FixtureRequest, space: str, admin: Api, own_certificate: tuple[Path, Path]
) -> AsyncIterator[Kubelet]:
    """A node of the case's name, and the pod `p` on it; both kinds are handed the same WebSocket."""
    async with serving(Kubelet(), own_certificate) as made:
        tree = made.node(space)
        tree["status"] |= request.param
        await asyncio.to_thread(admin.create, "/api/v1/nodes", tree)
        await asyncio.to_thread(admin.create, in_space(space, "pods"), pod("p", node=space))
        yield made
        await asyncio.to_thread(admin.delete, in_space(space, "pods", "p"), {"gracePeriodSeconds": 0})
        await asyncio.to_thread(admin.delete, f"/api/v1/nodes/{space}")


async def test_bytes_go_both_ways_and_the_end_is_told(space: str, node: Kubelet, session: ApiSession) -> None:
    async with asyncio.timeout(SECONDS), open_tunnel(session, space, "p", 6006) as tunnel:
        await tunnel.begun()
        await tunnel.write(b"hello")
        assert await tunnel.read() == b"HELLO"
        await tunnel.write(b"bye")
        assert await tunnel.read() is None
    assert node.asked == [(f"/portForward/{space}/p", {"port": "6006"})]


async def test_long_bytes_of_every_value_arrive_whole(space: str, node: Kubelet, session: ApiSession) -> None:
    data = bytes(range(256)) * 4_000
    async with asyncio.timeout(SECONDS), open_tunnel(session, space, "p", 6006) as tunnel:
        sending = asyncio.create_task(tunnel.write(data))
        said = b""
        while len(said) < len(data) and (piece := await tunnel.read()) is not None:
            said += piece
        await sending
        assert said == data.upper()


async def test_a_port_where_nobody_listens_is_the_nodes_sentence(
    space: str, node: Kubelet, session: ApiSession
) -> None:
    async with asyncio.timeout(SECONDS), open_tunnel(session, space, "p", 9) as tunnel:
        with pytest.raises(Refused, match=f"port 9 of {space}/p: error forwarding port 9") as caught:
            while await tunnel.read() is not None:
                pass
    assert "\x1b" not in caught.value.sentence


async def test_a_port_of_this_machine_carries_many_connections_at_once(
    space: str, node: Kubelet, session: ApiSession
) -> None:
    passage = Passage(namespace=space, pod="p", uid="u", port=6006)
    listener = Listener(lambda: open_tunnel(session, passage.namespace, passage.pod, passage.port))
    port = await listener.start()

    async def talk(number: int) -> None:
        reader, writer = await asyncio.open_connection(LOOPBACK, port)
        words = f"connection {number} ".encode() * 2_000
        writer.write(words)
        assert await reader.readexactly(len(words)) == words.upper()
        writer.close()

    try:
        async with asyncio.timeout(SECONDS):
            await asyncio.gather(*(talk(number) for number in range(12)))
    finally:
        await listener.stop()
    assert (listener.open_count, listener.trouble) == (0, "")
    assert len(node.asked) == 12


@pytest.mark.row(47, "requests to the node in read-only mode", most=0)
async def test_read_only_sends_nothing(space: str, node: Kubelet, connect: Connect, figure: Tell) -> None:
    session = await connect("admin")
    with pytest.raises(Refused, match="Read-only: portforward on pods"):
        async with open_tunnel(session, space, "p", 6006):
            pass
    figure("requests to the node in read-only mode", len(node.asked))


@pytest.mark.parametrize("who", ["viewer", "engineer", "nobody"])
async def test_who_may_not_is_told_in_the_servers_words(
    space: str, node: Kubelet, connect: Connect, who: str
) -> None:
    session = await connect(who, write=True)
    with pytest.raises(Refused, match=r'cannot (get|create) resource "pods/portforward" in API group ""'):
        async with open_tunnel(session, space, "p", 6006):
            pass
    assert node.asked == []


async def test_a_pod_that_is_not_there(space: str, session: ApiSession) -> None:
    with pytest.raises(Refused, match='pods "p" not found'):
        async with open_tunnel(session, space, "p", 6006):
            pass


async def test_a_pod_without_a_node(space: str, admin: Api, session: ApiSession) -> None:
    await asyncio.to_thread(admin.create, in_space(space, "pods"), pod("p"))
    with pytest.raises(Refused, match="pod p does not have a host assigned"):
        async with open_tunnel(session, space, "p", 6006):
            pass


async def test_closing_the_session_ends_the_connection(
    space: str, node: Kubelet, session: ApiSession
) -> None:
    async with asyncio.timeout(SECONDS), open_tunnel(session, space, "p", 6006) as tunnel:
        await tunnel.begun()
        reading = asyncio.create_task(tunnel.read())
        await asyncio.sleep(0)
        await session.close()
        with pytest.raises(NoConnection):
            await reading
