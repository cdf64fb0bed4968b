"""The scheduler on the embedded server: who is placed, when, and what is told."""

import pytest

from cockpit.kube.resource import NODES, PODS
from cockpit.sim.port import PortError
from cockpit.sim.resources import BUDGETS
from tests.unit.sim.scheduler.estate import SPACE, gpu_node, pod, started

NO_ROOM = (
    "0/1 nodes are available: 1 Insufficient nvidia.com/gpu. no new claims to deallocate, preemption: "
    "0/1 nodes are available: 1 No preemption victims found for incoming pod."
)


@pytest.mark.parametrize(
    ("eager", "expected"),
    [(0, [0.0, 1.0, 3.0, 7.0, 15.0]), (32, [0.5 * number for number in range(40)])],
    ids=["a crowd", "a few"],
)
async def test_back_off_doubles_between_tries_that_fail_unless_few_wait(
    eager: int, expected: list[float]
) -> None:
    estate = await started()
    estate.schedulers[0].queue.eager = eager
    await estate.put(gpu_node("g1"), pod("holder"))
    await estate.advance()
    await estate.put(pod("waits", gpus=2))
    scheduler = estate.schedulers[0]
    tries: list[float] = []
    decide = scheduler.cycle.decide

    def noted(*arguments: object, **named: object) -> object:
        tries.append(round(estate.clock.now() - begun, 2))
        return decide(*arguments, **named)  # type: ignore[arg-type]

    begun = estate.clock.now()
    scheduler.cycle.decide = noted  # type: ignore[method-assign, assignment]
    for second in range(40):
        # A node with room for the pod in principle, full in fact: every one wakes it.
        await estate.put(gpu_node(f"n{second}", 2))
        await estate.put(pod(f"fills{second}", gpus=2, nodeName=f"n{second}"))
        await estate.advance(0.5)
    assert tries == expected


async def test_a_pod_of_another_scheduler_is_left_alone_but_counts_once_placed() -> None:
    estate = await started()
    await estate.put(gpu_node("g1"), pod("theirs", schedulerName="volcano"))
    await estate.advance(30)
    assert await estate.node_of("theirs") == ""
    assert await estate.condition("theirs") == {}
    await estate.port.bind(SPACE, "theirs", "g1")
    await estate.put(pod("ours"))
    await estate.advance()
    assert await estate.said("ours") == NO_ROOM


async def test_the_most_important_pod_goes_first() -> None:
    estate = await started()
    for name, priority in (("low", ""), ("mid", "high"), ("top", "higher")):
        await estate.put(pod(name, priority=priority))
    await estate.advance()
    assert await estate.said("top") == "no nodes available to schedule pods"
    await estate.put(gpu_node("g1"))
    await estate.advance(11)
    assert await estate.nodes_of("low", "mid", "top") == ["", "", "g1"]


async def test_preemption_ends_the_least_important_and_takes_their_room() -> None:
    estate = await started()
    await estate.put(gpu_node("g1"), pod("victim"))
    await estate.advance()
    await estate.put(pod("boss", priority="high"))
    await estate.advance()
    boss = await estate.get("boss")
    assert boss["status"]["nominatedNodeName"] == "g1"
    assert await estate.said("boss") == "0/1 nodes are available: 1 Insufficient nvidia.com/gpu."
    target = await estate.condition("victim", "DisruptionTarget")
    assert target["reason"] == "PreemptionByScheduler"
    assert target["message"] == "default-scheduler: preempting to accommodate a higher priority pod"
    assert "deletionTimestamp" in (await estate.get("victim"))["metadata"]
    told = (await estate.events("victim"))[-1]
    assert told["reason"] == "Preempted"
    assert told["message"] == f"Preempted by pod {boss['metadata']['uid']} on node g1"
    await estate.put(pod("sneaks"))
    await estate.end("victim")
    await estate.advance(2)
    assert await estate.nodes_of("boss", "sneaks") == ["g1", ""]


async def test_preemption_spares_the_pods_of_a_budget_where_it_can() -> None:
    estate = await started()
    await estate.put(gpu_node("g1"), gpu_node("g2"))
    await estate.put(pod("kept-0", nodeName="g1"), pod("other", nodeName="g2"))
    budget = {"minAvailable": 1, "selector": {"matchLabels": {"app": "kept"}}}
    meta = {"name": "keep", "namespace": SPACE}
    tree = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": meta, "spec": budget}
    await estate.port.create(BUDGETS, tree, SPACE)
    await estate.put(pod("boss", priority="high"))
    await estate.advance()
    assert (await estate.get("boss"))["status"]["nominatedNodeName"] == "g2"
    assert "deletionTimestamp" not in (await estate.get("kept-0"))["metadata"]


async def test_a_finished_pod_gives_its_room_back() -> None:
    estate = await started()
    await estate.put(gpu_node("g1"), pod("first"), pod("second"))
    await estate.advance()
    placed = "first" if await estate.node_of("first") else "second"
    other = {"first": "second", "second": "first"}[placed]
    await estate.advance(5)
    await estate.port.patch(PODS, SPACE, placed, {"status": {"phase": "Succeeded"}}, subresource="status")
    await estate.advance()
    assert await estate.node_of(other) == "g1"


async def test_repeated_failures_are_one_event_with_a_series() -> None:
    estate = await started()
    await estate.put(pod("waits"))
    await estate.advance(60)
    (event,) = await estate.events("waits")
    assert event["message"] == "no nodes available to schedule pods"
    assert event["series"]["count"] == 2
    await estate.put(gpu_node("g1"))
    await estate.advance(800)
    assert await estate.node_of("waits") == "g1"
    failed, scheduled = await estate.events("waits")
    assert scheduled["reason"] == "Scheduled"
    assert failed["series"]["count"] > 2


async def test_what_waits_long_is_looked_at_again_after_five_minutes() -> None:
    estate = await started()
    await estate.put(gpu_node("g1"), pod("holder"))
    await estate.advance()
    await estate.put(pod("waits"))
    await estate.advance(1)
    scheduler = estate.schedulers[0]
    entry = next(iter(scheduler.queue.entries.values()))
    first = entry.tried
    await estate.advance(290)
    assert entry.tried == first
    await estate.advance(60)
    assert 300 < entry.tried - first <= 340


async def test_a_binding_that_is_refused_is_told_as_an_error_and_tried_again() -> None:
    estate = await started()
    await estate.put(gpu_node("g1"))
    scheduler = estate.schedulers[0]
    bind = estate.engine.port.bind
    refusals = [1]

    async def refused_once(namespace: str, pod: str, node: str, *, uid: str = "") -> None:
        if refusals:
            refusals.pop()
            raise PortError(500, "InternalError", "etcdserver: request timed out")
        await bind(namespace, pod, node, uid=uid)

    estate.engine.port.bind = refused_once  # type: ignore[method-assign]
    await estate.put(pod("train"))
    await estate.advance()
    condition = await estate.condition("train")
    assert condition["reason"] == "SchedulerError"
    assert condition["message"] == 'running Bind plugin "DefaultBinder": etcdserver: request timed out'
    assert not scheduler.cache.pods
    await estate.advance(2)
    assert await estate.node_of("train") == "g1"


async def test_changes_that_count_for_nothing_do_not_touch_the_world() -> None:
    estate = await started()
    await estate.put(gpu_node("g1"), pod("train"))
    await estate.advance()
    cache = estate.schedulers[0].cache
    version = cache.version
    ready = {"conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]}
    await estate.port.patch(NODES, "", "g1", {"status": ready}, subresource="status")
    await estate.port.patch(PODS, SPACE, "train", {"status": {"phase": "Running"}}, subresource="status")
    await estate.advance()
    assert cache.version == version
    assert cache.nodes["g1"].requested["nvidia.com/gpu"] == 1
