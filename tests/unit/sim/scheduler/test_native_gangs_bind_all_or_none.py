"""Groups of kube-scheduler 1.36 itself: whole or not at all, in the words of a real one with its gates on."""

import asyncio
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cockpit.kube.resource import PODS
from cockpit.sim.actors.scheduler.native_gangs import PROTECTION
from cockpit.sim.port import PortError, Tree
from cockpit.sim.resources import NATIVE_POD_GROUPS
from tests.unit.sim.scheduler.estate import SPACE, Estate, gpu_node, pod, started

NO_ROOM = (
    "0/2 nodes are available: 2 Insufficient nvidia.com/gpu. no new claims to deallocate, preemption: 0/2 "
    "nodes are available: 2 No preemption victims found for incoming pod."
)


def group(name: str = "g", **policy: Any) -> Tree:
    """A PodGroup with this policy."""
    return {
        "apiVersion": NATIVE_POD_GROUPS.api_version,
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": SPACE},
        "spec": {"schedulingPolicy": policy},
    }


def gang(least: int, name: str = "g") -> Tree:
    return group(name, gang={"minCount": least})


def member(number: int, name: str = "g", gpus: int = 1) -> Tree:
    return pod(f"{name}-{number}", gpus=gpus, schedulingGroup={"podGroupName": name})


async def estate_with(nodes: int, *trees: Tree) -> Estate:
    estate = await started(is_native=True)
    await estate.put(*(gpu_node(f"n{n}") for n in range(nodes)))
    for tree in trees:
        await make(estate, tree)
    await estate.advance(0)
    return estate


async def make(estate: Estate, tree: Tree) -> None:
    resource = PODS if tree["kind"] == "Pod" else NATIVE_POD_GROUPS
    await estate.port.create(resource, tree, SPACE)


async def places(estate: Estate, count: int) -> list[str]:
    return sorted(await estate.nodes_of(*(f"g-{n}" for n in range(count))))


async def told(estate: Estate) -> list[tuple[str, str, str]]:
    found = await estate.port.get(NATIVE_POD_GROUPS, SPACE, "g")
    conditions = (found.get("status") or {}).get("conditions") or []
    return [(one["status"], one["reason"], one["message"]) for one in conditions]


async def test_what_a_refused_group_would_have_taken_is_free_for_others() -> None:
    estate = await estate_with(2, gang(3), *(member(n) for n in range(3)))
    await make(estate, pod("single"))
    await estate.advance(2)
    assert await estate.node_of("single") in ("n0", "n1")


async def test_pods_beyond_the_minimum_go_one_by_one() -> None:
    estate = await estate_with(2, gang(2), *(member(n) for n in range(3)))
    found = await places(estate, 3)
    assert found == ["", "n0", "n1"]
    waits = (await estate.nodes_of("g-0", "g-1", "g-2")).index("")
    assert await estate.said(f"g-{waits}") == NO_ROOM
    assert await told(estate) == [("True", "Scheduled", "")]


async def test_that_it_was_scheduled_once_is_final() -> None:
    estate = await estate_with(2, gang(2), member(0), member(1))
    await estate.end("g-0")
    await estate.end("g-1")
    await make(estate, pod("single"))
    await estate.advance(1)
    for number in range(2):
        await make(estate, member(number))
    await estate.advance(1)
    assert await places(estate, 2) == ["", ""]
    assert await told(estate) == [("True", "Scheduled", "")]


async def test_a_policy_without_a_gang_holds_nobody_back() -> None:
    estate = await estate_with(2, group(basic={}), member(0))
    assert await places(estate, 1) != [""]


async def test_a_group_goes_when_its_last_pod_has_gone() -> None:
    estate = await estate_with(2, gang(2), member(0), member(1))
    found = await estate.port.get(NATIVE_POD_GROUPS, SPACE, "g")
    assert found["metadata"]["finalizers"] == [PROTECTION] and found["spec"]["disruptionMode"] == "Pod"
    await estate.port.delete(NATIVE_POD_GROUPS, SPACE, "g")
    await estate.advance(1)
    assert await estate.port.get(NATIVE_POD_GROUPS, SPACE, "g")
    await estate.end("g-0")
    await estate.advance(1)
    assert await estate.port.get(NATIVE_POD_GROUPS, SPACE, "g")
    await estate.end("g-1")
    await estate.advance(1)
    with pytest.raises(PortError, match="not found"):
        await estate.port.get(NATIVE_POD_GROUPS, SPACE, "g")


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), nodes=st.integers(0, 6))
def test_never_is_a_part_of_a_gang_bound(seed: int, nodes: int) -> None:
    """Gangs of any size, single pods and nodes that come and go: at every step all or none of a gang."""
    asyncio.run(_never_a_part(Random(seed), nodes))


async def _never_a_part(random: Random, nodes: int) -> None:
    estate = await estate_with(nodes)
    sizes = {f"g{n}": random.randint(1, 4) for n in range(3)}
    for name, size in sizes.items():
        await make(estate, gang(size, name))
        for number in range(size):
            await make(estate, member(number, name))
            await estate.advance(random.choice((0, 0.5)))
    for step in range(4):
        await make(estate, pod(f"single-{step}"))
        if random.random() < 0.5:
            await estate.put(gpu_node(f"late-{step}", random.randint(1, 3)))
        if step and random.random() < 0.5:
            await estate.end(f"single-{step - 1}")
        await estate.advance(random.choice((0, 2, 15)))
        for name, size in sizes.items():
            bound = [place for place in await estate.nodes_of(*(f"{name}-{n}" for n in range(size))) if place]
            assert len(bound) in (0, size), (name, bound)
