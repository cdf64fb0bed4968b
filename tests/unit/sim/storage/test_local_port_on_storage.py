"""The port on the server's own storage: what an actor gets, and what it is told at once."""

from random import Random
from typing import Any

import pytest

from cockpit.clock import ManualClock
from cockpit.kube.resource import NAMESPACES, NODES, PODS
from cockpit.sim.port import ObjectChange, PatchType, PortError, Tree
from cockpit.sim.resources import CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS
from cockpit.sim.server.assembly import assemble
from cockpit.sim.server.listing import ExpiredPage
from cockpit.sim.server.local_port import LocalPort
from cockpit.sim.server.operations import Operations
from cockpit.sim.server.request import ListOptions, Request, WatchOptions
from tests.contract.shapes import configmap, crd, custom, node, pod


@pytest.fixture
def operations() -> Operations:
    return assemble(ManualClock(), Random(1), has_accounts=False).operations


@pytest.fixture
def port(operations: Operations) -> LocalPort:
    return LocalPort(operations)


async def refused(call: Any) -> PortError:
    with pytest.raises(PortError) as caught:
        await call
    return caught.value


async def test_a_follower_hears_of_a_write_before_it_returns(port: LocalPort) -> None:
    heard: list[ObjectChange] = []
    await port.create(PODS, pod("early"), "default")
    await port.follow(PODS, heard.append)
    assert [(one.type, one.tree["metadata"]["name"]) for one in heard] == [("ADDED", "early")]
    made = await port.create(PODS, pod("late"), "default")
    assert heard[-1].tree is made
    await port.patch(PODS, "default", "late", {"metadata": {"labels": {"a": "b"}}})
    await port.delete(PODS, "default", "late")
    assert [one.type for one in heard[1:]] == ["ADDED", "MODIFIED", "MODIFIED", "DELETED"]
    await port.close()
    await port.create(PODS, pod("unheard"), "default")
    assert heard[-1].tree["metadata"]["name"] == "late"


async def test_a_stored_tree_never_changes(port: LocalPort) -> None:
    made = await port.create(CONFIG_MAPS, configmap("c", a="1"), "default")
    version = made["metadata"]["resourceVersion"]
    await port.patch(CONFIG_MAPS, "default", "c", {"data": {"a": "2"}})
    assert (made["data"], made["metadata"]["resourceVersion"]) == ({"a": "1"}, version)


async def test_a_bound_pod_waits_for_its_kubelet(port: LocalPort) -> None:
    await port.create(PODS, pod("p"), "default")
    await port.bind("default", "p", "n")
    bound = await port.get(PODS, "default", "p")
    assert bound["spec"]["nodeName"] == "n"
    assert [one["type"] for one in bound["status"]["conditions"]] == ["PodScheduled"]
    again = await refused(port.bind("default", "p", "m"))
    assert again.is_conflict
    assert 'pod p is already assigned to node "n"' in again.message
    await port.delete(PODS, "default", "p")
    assert (await port.get(PODS, "default", "p"))["metadata"]["deletionGracePeriodSeconds"] == 30
    await port.delete(PODS, "default", "p", grace_seconds=0)
    assert (await refused(port.get(PODS, "default", "p"))).is_gone


async def test_a_new_node_is_tainted_and_a_namespace_waits_for_its_finalizer(port: LocalPort) -> None:
    made = await port.create(NODES, node("n"))
    taint = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
    assert made["spec"]["taints"] == [taint]
    await port.create(NAMESPACES, {"metadata": {"name": "x"}})
    await port.delete(NAMESPACES, "", "x")
    assert (await port.get(NAMESPACES, "", "x"))["status"]["phase"] == "Terminating"
    late = await refused(port.create(CONFIG_MAPS, configmap("c"), "x"))
    assert (late.status, late.causes[0]["reason"]) == (403, "NamespaceTerminating")
    await port.patch(NAMESPACES, "", "x", {"spec": {"finalizers": None}}, subresource="finalize")
    assert (await refused(port.get(NAMESPACES, "", "x"))).is_gone


async def test_custom_kinds_come_and_go_with_their_objects(port: LocalPort, operations: Operations) -> None:
    await port.create(CUSTOM_RESOURCE_DEFINITIONS, crd("gpupools", "GpuPool"))
    served = operations.kinds.by_kind("contract.cockpit.test/v1", "GpuPool")
    assert served is not None
    await port.create(served.resource, custom("GpuPool", "p", replicas=2), "default")
    await port.patch(served.resource, "default", "p", {"spec": {"replicas": 5}}, subresource="scale")
    tree: Tree = await port.get(served.resource, "default", "p")
    assert (tree["spec"]["replicas"], tree["metadata"]["generation"]) == (5, 2)
    wrong = port.patch(served.resource, "default", "p", {}, type=PatchType.STRATEGIC)
    assert (await refused(wrong)).status == 415
    heard: list[ObjectChange] = []
    await port.follow(served.resource, heard.append)
    await port.delete(CUSTOM_RESOURCE_DEFINITIONS, "", "gpupools.contract.cockpit.test")
    assert [one.type for one in heard] == ["ADDED", "DELETED"]
    assert (await refused(port.get(served.resource, "default", "p"))).status == 404
    assert operations.kinds.of(served.resource) is None


async def test_compacted_history_is_gone_for_lists_pages_and_watches(
    port: LocalPort, operations: Operations
) -> None:
    for name in "abcd":
        await port.create(CONFIG_MAPS, configmap(name), "default")
    request = Request(resource=CONFIG_MAPS, namespace="default")
    first = operations.list(request, ListOptions(limit=2))
    assert (len(first.items), first.remaining) == (2, 2)
    await port.delete(CONFIG_MAPS, "default", "c")
    second = operations.list(request, ListOptions(limit=2, continue_token=first.continue_token))
    assert [one.tree["metadata"]["name"] for one in second.items] == ["c", "d"], "as it was at the first page"
    operations.storage.compact()
    with pytest.raises(ExpiredPage) as caught:
        operations.list(request, ListOptions(limit=2, continue_token=first.continue_token))
    assert caught.value.status == 410
    rest = operations.list(request, ListOptions(continue_token=caught.value.continue_token))
    assert [one.tree["metadata"]["name"] for one in rest.items] == ["d"]
    old = WatchOptions(version=str(first.version))
    with pytest.raises(
        PortError, match=rf"too old resource version: {first.version} \({operations.storage.version}\)"
    ):
        operations.watch(request, old, lambda kind, stored: None)
    with pytest.raises(PortError, match="Too large resource version: 999, current"):
        operations.list(request, ListOptions(version="999"))


def test_a_commit_by_a_listener_is_told_after_its_cause(operations: Operations) -> None:
    request = Request(resource=CONFIG_MAPS, namespace="default")
    told: list[tuple[str, int]] = []

    def answer(commit: Any) -> None:
        name = commit.after.tree["metadata"]["name"]
        if name == "cause":
            operations.create(request, configmap("effect"))

    operations.storage.listen(CONFIG_MAPS, answer)
    operations.storage.listen(CONFIG_MAPS, lambda commit: told.append((commit.after.key, commit.version)))
    operations.create(request, configmap("cause"))
    assert [key for key, _ in told] == ["default/cause", "default/effect"]
    assert told[0][1] < told[1][1]
