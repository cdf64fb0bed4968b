"""The port over HTTP: what an actor sees through it is what the server has, however the line behaves."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from random import Random

import pytest

from cockpit.clock import SystemClock
from cockpit.kube.resource import NAMESPACES, NODES, PODS
from cockpit.kube.session import ApiSession, SessionOptions, open_session
from cockpit.sim.port import ChangeType, ObjectChange, PatchType, PortError, Tree
from cockpit.sim.resources import CONFIG_MAPS
from cockpit.sim.server.run import Embedded, serving
from tests.adapters.faults.proxy import FaultProxy
from tests.adapters.kube_port import PAGE_OBJECTS, KubePort
from tests.contract.server import write_kubeconfig

PATIENCE_SECONDS = 20.0


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Embedded]:
    async with serving(tmp_path / "server", SystemClock(), Random(1), has_accounts=False) as embedded:
        yield embedded


@pytest.fixture
async def proxy(server: Embedded) -> AsyncIterator[FaultProxy]:
    async with FaultProxy(server.url, server.ca_file) as one:
        yield one


@pytest.fixture
async def session(server: Embedded, proxy: FaultProxy, tmp_path: Path) -> AsyncIterator[ApiSession]:
    path = tmp_path / "kubeconfig"
    write_kubeconfig(path, proxy.url, {"token": server.tokens["admin"]})
    options = SessionOptions(kubeconfig=str(path), context="one", read_only=False)
    opened = await open_session(options, SystemClock())
    yield opened
    await opened.close()


@pytest.fixture
async def port(session: ApiSession) -> AsyncIterator[KubePort]:
    one = KubePort(session, SystemClock(), Random(1))
    yield one
    await one.close()


class Seen:
    """What a sink would make of the changes: names and their labels."""

    def __init__(self) -> None:
        self.trees: dict[str, Tree] = {}
        self.types: list[tuple[ChangeType, str]] = []
        self._moved = asyncio.Event()

    def __call__(self, change: ObjectChange) -> None:
        name = change.tree["metadata"]["name"]
        self.types.append((change.type, name))
        if change.type is ChangeType.DELETED:
            del self.trees[name]
        else:
            assert (change.type is ChangeType.ADDED) == (name not in self.trees)
            assert change.tree["kind"] == change.resource.kind
            self.trees[name] = change.tree
        self._moved.set()

    async def until(self, *names: str) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while set(self.trees) != set(names):
                self._moved.clear()
                await self._moved.wait()


def config(name: str, **data: str) -> Tree:
    return {"metadata": {"name": name, "namespace": "team-a"}, "data": data}


async def test_objects_are_made_read_patched_and_deleted(port: KubePort) -> None:
    made = await port.create(CONFIG_MAPS, config("a", x="1"))
    assert made["metadata"]["uid"]
    patched = await port.patch(CONFIG_MAPS, "team-a", "a", {"data": {"y": "2"}})
    assert patched["data"] == {"x": "1", "y": "2"}
    operations = [{"op": "remove", "path": "/data/x"}]
    await port.patch(CONFIG_MAPS, "team-a", "a", operations, type=PatchType.JSON)
    assert (await port.get(CONFIG_MAPS, "team-a", "a"))["data"] == {"y": "2"}
    with pytest.raises(PortError) as caught:
        await port.delete(CONFIG_MAPS, "team-a", "a", uid="other")
    assert caught.value.is_conflict
    await port.delete(CONFIG_MAPS, "team-a", "a", uid=made["metadata"]["uid"])
    with pytest.raises(PortError) as caught:
        await port.get(CONFIG_MAPS, "team-a", "a")
    assert caught.value.is_gone
    assert caught.value.reason == "NotFound"


async def test_a_pod_is_bound_and_evicted(port: KubePort) -> None:
    await port.create(NODES, {"metadata": {"name": "n0"}})
    pod: Tree = {
        "metadata": {"name": "p", "namespace": "team-a"},
        "spec": {"containers": [{"name": "main", "image": "x"}]},
    }
    await port.create(PODS, pod)
    await port.bind("team-a", "p", "n0")
    assert (await port.get(PODS, "team-a", "p"))["spec"]["nodeName"] == "n0"
    assert [one["metadata"]["name"] for one in await port.list(PODS, fields="spec.nodeName=n0")] == ["p"]
    await port.evict("team-a", "p", grace_seconds=0)
    with pytest.raises(PortError):
        await port.get(PODS, "team-a", "p")


async def test_more_than_a_page_is_listed_whole(port: KubePort, server: Embedded) -> None:
    local = server.port()
    for number in range(PAGE_OBJECTS + 7):
        await local.create(CONFIG_MAPS, config(f"c{number:04}"))
    assert len(await port.list(CONFIG_MAPS, "team-a")) == PAGE_OBJECTS + 7


async def test_what_is_followed_survives_cuts_and_compaction(
    port: KubePort, server: Embedded, proxy: FaultProxy
) -> None:
    local = server.port()
    seen = Seen()
    before = [tree["metadata"]["name"] for tree in await local.list(NAMESPACES)]
    await port.follow(NAMESPACES, seen)
    assert sorted(seen.trees) == sorted(before)
    await local.create(NAMESPACES, {"metadata": {"name": "one"}})
    await seen.until(*before, "one")
    proxy.cut_all()
    await local.create(NAMESPACES, {"metadata": {"name": "two"}})
    await seen.until(*before, "one", "two")
    proxy.cut_all()
    await local.patch(NAMESPACES, "", "one", {"spec": {"finalizers": None}}, subresource="finalize")
    await local.delete(NAMESPACES, "", "one")
    server.operations.storage.compact()
    await local.create(NAMESPACES, {"metadata": {"name": "three"}})
    await seen.until(*before, "two", "three", *(["one"] if await _is_there(local, "one") else []))
    names = [name for _, name in seen.types]
    assert names.count("three") == 1


async def _is_there(port: object, name: str) -> bool:
    from cockpit.sim.server.local_port import LocalPort

    assert isinstance(port, LocalPort)
    return name in [tree["metadata"]["name"] for tree in await port.list(NAMESPACES)]
