"""Groups of pods: bound together or not at all, in the words and with the habits of Coscheduling."""

import asyncio

from hypothesis import given, settings
from hypothesis import strategies as st

from cockpit.kube.resource import PODS
from cockpit.sim.actors.scheduler.gangs import GangRules
from cockpit.sim.resources import POD_GROUPS
from tests.unit.sim.scheduler.estate import SPACE, Estate, gpu_node, pod, pod_group, started

RULES = GangRules(permit_seconds=20, backoff_seconds=5)


def rank(number: int, group: str = "pg4", gpus: int = 1) -> dict[str, object]:
    """One member."""
    return pod(f"rank-{number}", gpus=gpus, group=group, schedulerName="gang-scheduler")


async def ranks(estate: Estate, count: int) -> list[str]:
    return await estate.nodes_of(*(f"rank-{n}" for n in range(count)))


async def blocked() -> Estate:
    """Room for three of four."""
    estate = await started(gangs=RULES)
    await estate.put(*(gpu_node(f"g{n}") for n in range(3)), pod_group("pg4", 4))
    await estate.put(*(rank(n) for n in range(4)))
    await estate.advance(0)
    return estate


async def test_a_group_with_room_is_bound_at_one_instant() -> None:
    estate = await started(gangs=RULES)
    await estate.put(*(gpu_node(f"g{n}") for n in range(4)), pod_group("pg4", 4))
    for number in range(3):
        await estate.put(rank(number))
        await estate.advance(1)
        assert await ranks(estate, number + 1) == [""] * (number + 1)
    await estate.put(rank(3))
    await estate.advance(0)
    assert sorted(await ranks(estate, 4)) == ["g0", "g1", "g2", "g3"]


async def test_room_alone_wakes_no_blocked_group_a_touch_of_the_group_does() -> None:
    estate = await blocked()
    await estate.advance(20)
    await estate.put(gpu_node("g3"))
    await estate.advance(60)
    assert await ranks(estate, 4) == [""] * 4
    await estate.port.patch(POD_GROUPS, SPACE, "pg4", {"metadata": {"annotations": {"x": "1"}}})
    await estate.advance(1)
    assert sorted(await ranks(estate, 4)) == ["g0", "g1", "g2", "g3"]


async def test_room_is_found_by_the_flush_after_five_minutes_at_the_latest() -> None:
    estate = await blocked()
    await estate.advance(20)
    await estate.put(gpu_node("g3"))
    await estate.advance(360)
    assert "" not in await ranks(estate, 4)


async def test_a_member_that_waits_too_long_gives_its_room_back() -> None:
    estate = await started(gangs=RULES)
    await estate.put(gpu_node("g0", 8), gpu_node("g1", 1), pod_group("pg4", 2))
    await estate.put(rank(0))
    await estate.put(
        pod("rank-1", group="pg4", schedulerName="gang-scheduler", schedulingGates=[{"name": "a/b"}])
    )
    await estate.advance(0)
    assert await ranks(estate, 2) == ["", ""]
    assert len(estate.schedulers[1].cache.pods) == 1
    await estate.advance(21)
    first = (await estate.events("rank-0"))[0]["message"]
    assert (
        first
        == "0/1 nodes are available: 1 rejected due to timeout after waiting 20s at plugin Coscheduling."
    )


async def test_a_label_without_its_group_is_refused() -> None:
    estate = await started(gangs=RULES)
    await estate.put(gpu_node("g0", 8), rank(0, group="nowhere"))
    await estate.advance(0)
    assert await estate.said("rank-0") == "0/1 nodes are available: 1 PodGroup not found."
    await estate.put(pod_group("nowhere", 1))
    await estate.advance(2)
    assert await estate.node_of("rank-0") == "g0"


@settings(max_examples=25, deadline=None)
@given(
    cards=st.lists(st.integers(0, 4), min_size=1, max_size=5),
    members=st.lists(st.integers(1, 3), min_size=1, max_size=6),
    minimum=st.integers(1, 6),
    gaps=st.lists(st.sampled_from([0.0, 1.0, 7.0]), min_size=6, max_size=6),
)
def test_at_every_instant_a_group_has_none_or_at_least_its_minimum(
    cards: list[int], members: list[int], minimum: int, gaps: list[float]
) -> None:
    async def play() -> None:
        estate = await started(gangs=RULES)
        await estate.put(*(gpu_node(f"g{n}", count) for n, count in enumerate(cards)))
        await estate.put(pod_group("pg4", minimum))
        for number, gpus in enumerate(members):
            await estate.put(rank(number, gpus=gpus))
            await estate.advance(gaps[number])
            bound = sum(1 for node in await ranks(estate, number + 1) if node)
            assert bound == 0 or bound >= minimum
        await estate.put(gpu_node("late", 18))
        await estate.advance(700)
        bound = sum(1 for node in await ranks(estate, len(members)) if node)
        assert bound == (len(members) if len(members) >= minimum else 0)

    asyncio.run(play())


async def test_the_status_of_a_group_follows_its_pods() -> None:
    estate = await started(gangs=RULES)
    await estate.put(*(gpu_node(f"g{n}") for n in range(2)), pod_group("pg4", 2))

    async def phase() -> tuple[str, int]:
        status = (await estate.port.get(POD_GROUPS, SPACE, "pg4")).get("status") or {}
        return status.get("phase", ""), status.get("running", 0)

    async def tell(number: int, word: str) -> None:
        status = {"status": {"phase": word}}
        await estate.port.patch(PODS, SPACE, f"rank-{number}", status, subresource="status")
        await estate.advance(0)

    await estate.put(rank(0))
    await estate.advance(0)
    assert await phase() == ("Pending", 0)
    await estate.put(rank(1))
    await estate.advance(0)
    assert await phase() == ("Scheduling", 0)
    for number in range(2):
        await tell(number, "Running")
    assert await phase() == ("Running", 2)
    await estate.end("rank-0")
    await estate.advance(0)
    assert await phase() == ("Pending", 1)
    await estate.put(rank(0))
    await estate.advance(0)
    for number in range(2):
        await tell(number, "Succeeded")
    assert (await phase())[0] == "Finished"
