"""The port on the server's own storage: what an actor gets, and what it is told at once."""

from random import Random
from typing import Any

import pytest

from cockpit.clock import ManualClock
from cockpit.kube.resource import EVENTS, JOBS, NAMESPACES, NODES, PODS
from cockpit.sim.port import ObjectChange, PatchType, PortError, Tree
from cockpit.sim.resources import BUDGETS, CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS, DEPLOYMENTS, NEW_EVENTS
from cockpit.sim.server.assembly import NAMESPACES_AT_START, assemble
from cockpit.sim.server.listing import ExpiredPage
from cockpit.sim.server.local_port import LocalPort
from cockpit.sim.server.operations import Operations
from cockpit.sim.server.request import ListOptions, Request, WatchOptions
from tests.contract.shapes import budget, configmap, crd, custom, deployment, event, job, node, pod


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


async def test_same_seed_same_history_byte_for_byte() -> None:
    def history() -> tuple[LocalPort, list[bytes]]:
        made = assemble(ManualClock(), Random(7), has_accounts=False).operations
        told: list[bytes] = []
        made.storage.listen(PODS, lambda commit: told.append(commit.after.json))
        return LocalPort(made), told

    told = []
    for _ in range(2):
        port, lines = history()
        tree = pod("")
        tree["metadata"] = {"generateName": "train-"}
        name = (await port.create(PODS, tree, "default"))["metadata"]["name"]
        await port.bind("default", name, "n")
        await port.delete(PODS, "default", name)
        told.append(lines)
    assert told[0] == told[1]
    assert len(told[0]) == 3


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


async def test_preconditions_of_a_patch_and_of_a_delete(port: LocalPort) -> None:
    made = await port.create(CONFIG_MAPS, configmap("c", a="1"), "default")
    stale = {"metadata": {"resourceVersion": "1"}, "data": {"a": "2"}}
    assert (await refused(port.patch(CONFIG_MAPS, "default", "c", stale))).message == (
        'Operation cannot be fulfilled on configmaps "c": the object has been modified; '
        "please apply your changes to the latest version and try again"
    )
    wrong = await refused(port.delete(CONFIG_MAPS, "default", "c", uid="another"))
    assert (wrong.status, "UID in the precondition" in wrong.message) == (409, True)
    await port.delete(
        CONFIG_MAPS,
        "default",
        "c",
        uid=made["metadata"]["uid"],
        version=made["metadata"]["resourceVersion"],
    )


async def test_a_budget_allows_one_and_then_none(port: LocalPort) -> None:
    for name in ("a", "b"):
        await port.create(PODS, pod(name, labels={"app": "x"}), "default")
        await port.patch(PODS, "default", name, {"status": {"phase": "Running"}}, subresource="status")
    await port.create(BUDGETS, budget("keep", 1, {"app": "x"}), "default")
    ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    for name in ("a", "b"):
        await port.patch(PODS, "default", name, {"status": ready}, subresource="status")
    early = await refused(port.evict("default", "a"))
    assert (early.status, "still being processed" in early.causes[0]["message"]) == (429, True)
    counted = {"observedGeneration": 1, "disruptionsAllowed": 1, "currentHealthy": 2, "desiredHealthy": 1}
    await port.patch(BUDGETS, "default", "keep", {"status": counted}, subresource="status")
    await port.evict("default", "a")
    blocked = await refused(port.evict("default", "b"))
    assert (blocked.status, blocked.causes[0]["reason"]) == (429, "DisruptionBudget")
    assert [one["metadata"]["name"] for one in await port.list(PODS, "default")] == ["b"]


async def test_events_of_both_groups_are_one_store(port: LocalPort) -> None:
    about = await port.create(PODS, pod("p"), "default")
    await port.create(EVENTS, event("e", "default", about, reason="Because", message="it is"), "default")
    shown = await port.get(NEW_EVENTS, "default", "e")
    assert (shown["apiVersion"], shown["note"]) == ("events.k8s.io/v1", "it is")
    assert shown["regarding"]["uid"] == about["metadata"]["uid"]
    heard: list[ObjectChange] = []
    await port.follow(NEW_EVENTS, heard.append)
    await port.patch(EVENTS, "default", "e", {"count": 2})
    assert [one.tree["deprecatedCount"] for one in heard] == [1, 2]


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


async def test_generation_counts_spec_and_scale_not_status(port: LocalPort) -> None:
    await port.create(DEPLOYMENTS, deployment("d", 1), "default")
    await port.patch(DEPLOYMENTS, "default", "d", {"status": {"replicas": 1}}, subresource="status")
    await port.patch(DEPLOYMENTS, "default", "d", {"spec": {"replicas": 3}}, subresource="scale")
    tree = await port.get(DEPLOYMENTS, "default", "d")
    assert (tree["metadata"]["generation"], tree["spec"]["replicas"]) == (2, 3)
    assert tree["status"] == {"replicas": 1}


async def test_a_job_keeps_its_template_and_orphans_by_default(
    port: LocalPort, operations: Operations
) -> None:
    made = await port.create(JOBS, job("j"), "default")
    assert made["spec"]["selector"]["matchLabels"] == {
        "batch.kubernetes.io/controller-uid": made["metadata"]["uid"]
    }
    await port.patch(JOBS, "default", "j", {"spec": {"suspend": False}})
    await port.patch(
        JOBS, "default", "j", {"status": {"startTime": "2026-01-01T00:00:00Z"}}, subresource="status"
    )
    change = {"spec": {"template": {"spec": {"nodeSelector": {"a": "b"}}}}}
    fixed = await refused(port.patch(JOBS, "default", "j", change))
    assert fixed.causes[0]["field"] == "spec.template"
    request = Request(resource=JOBS, namespace="default", name="j")
    outcome = operations.delete(request)
    assert "child pods are preserved by default" in outcome.warnings[0]
    assert outcome.tree["metadata"]["finalizers"] == ["orphan"]


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


def test_a_streaming_list_ends_with_its_bookmark(operations: Operations) -> None:
    request = Request(resource=NAMESPACES)
    told: list[tuple[str, Tree]] = []
    options = WatchOptions(initial_events=True, bookmarks=True, version_match="NotOlderThan")
    operations.watch(request, options, lambda kind, stored: told.append((kind, stored.tree)))
    assert [kind for kind, _ in told] == [*["ADDED"] * len(NAMESPACES_AT_START), "BOOKMARK"]
    assert told[-1][1]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert told[-1][1]["metadata"]["resourceVersion"] == str(operations.storage.version)


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
