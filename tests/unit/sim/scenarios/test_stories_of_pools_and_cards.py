"""What the shipped scenarios promise, read from the API alone: nodes that come, cards that are shared."""

from collections import Counter

import aiohttp
import pytest

from cockpit.kube.resource import MACHINE_DEPLOYMENTS, NODES, PODS, WORKLOADS
from cockpit.sim.actors.common.machine_template import MACHINES
from cockpit.sim.port import ChangeType
from cockpit.sim.resources import CONFIG_MAPS
from cockpit.telemetry.cards.round import gpus
from cockpit.telemetry.sample import parse_exposition
from tests.unit.sim.scenarios.play import (
    Play,
    condition,
    gpus_of,
    is_true,
    node_of,
    phase,
    small_fleet,
)

ZONE = "topology.kubernetes.io/zone"


async def test_two_nodes_the_third_job_waits_until_a_node_has_come() -> None:
    play = await Play.of("two-nodes")
    await play.to(30)
    assert set((await play.phases("team-a", "cifar-1")).values()) == {"Running"}
    assert set((await play.phases("team-a", "cifar-2")).values()) == {"Running"}
    third = await play.pod_of("team-a", "cifar-3")
    assert phase(third) == "Pending" and not node_of(third)
    assert condition(third, "PodScheduled")["reason"] == "Unschedulable"
    said = condition(third, "PodScheduled")["message"]
    assert said.startswith("0/2 nodes are available: 2 Insufficient nvidia.com/gpu.")
    (event,) = play.events("FailedScheduling", "cifar-3")
    assert event.tree["message"] == said

    await play.to(75)
    joined = await play.get(NODES, "", "nc6-2")
    assert is_true(joined, "Ready") and gpus_of(joined) == 0
    assert phase(await play.pod_of("team-a", "cifar-3")) == "Pending"

    await play.to(180)
    assert gpus_of(await play.get(NODES, "", "nc6-2")) == 1
    third = await play.pod_of("team-a", "cifar-3")
    assert (phase(third), node_of(third)) == ("Running", "nc6-2")


async def test_late_gpus_a_ready_node_is_not_enough() -> None:
    play = await Play.of("late-gpus")
    await play.to(12 * 60)
    late = await play.get(NODES, "", "t4-late")
    assert is_true(late, "Ready") and gpus_of(late) == 0
    assert phase(await play.pod_of("vision", "patient")) == "Pending"
    await play.to(15 * 60)
    shown = play.first(NODES, "t4-late", lambda node: gpus_of(node) == 1)
    assert shown == 30 + 12 * 60
    patient = await play.pod_of("vision", "patient")
    assert (phase(patient), node_of(patient)) == ("Running", "t4-late")
    assert shown <= play.first(PODS, "patient", lambda pod: node_of(pod) == "t4-late") < shown + 15


async def test_pool_wave_grows_by_one_then_by_forty_and_goes_back() -> None:
    play = await Play.of("pool-wave")
    await play.to(7 * 60)
    assert len(await play.list(NODES)) == 2
    (grown,) = play.events("TriggeredScaleUp")
    assert grown.name.startswith("second")
    assert grown.tree["message"] == "pod triggered scale-up: [{MachineDeployment/pools/a100 1->2 (max: 42)}]"
    assert grown.at < play.first(PODS, "second", lambda pod: bool(node_of(pod)))

    await play.to(14 * 60)
    wave = play.events("TriggeredScaleUp", "wave")
    assert len(wave) == 40
    assert {one.tree["message"] for one in wave} == {
        "pod triggered scale-up: [{MachineDeployment/pools/a100 2->42 (max: 42)}]"
    }
    pods = await play.list(PODS, "research", labels="job-name=wave")
    assert [phase(pod) for pod in pods] == ["Running"] * 40
    assert len({node_of(pod) for pod in pods}) == 40
    assert not play.events("NotTriggerScaleUp"), "the maximum is just enough"

    await play.to(40 * 60)
    counts = [count for _, count in play.counts(NODES)]
    assert max(counts) == 42
    assert len(await play.list(NODES)) == 1
    deployment = await play.get(MACHINE_DEPLOYMENTS, "pools", "a100")
    assert (deployment["spec"]["replicas"], deployment["status"]["phase"]) == (1, "Running")


async def test_pool_wave_nodes_leave_cordoned_tainted_drained() -> None:
    play = await Play.of("pool-wave")
    await play.to(40 * 60)
    ended = [one.name for one in play.of_kind(NODES) if one.type is ChangeType.DELETED]
    assert len(ended) == 41
    for name in ended:
        states = [one for one in play.of_kind(NODES, name) if one.name == name]
        last = states[-2].tree["spec"]
        assert last["unschedulable"] is True
        assert "ToBeDeletedByClusterAutoscaler" in {one["key"] for one in last["taints"]}
        assert play.first(MACHINES, name, lambda machine: phase(machine) == "Deleting") <= play.gone(
            NODES, name
        )
        assert play.gone(NODES, name) <= play.gone(MACHINES, name)
    moved = [one for one in play.of_kind(PODS, "board") if one.type is ChangeType.DELETED]
    drained = {node_of(one.tree) for one in moved}
    assert drained and drained <= set(ended)
    for one in moved:
        assert one.at <= play.gone(NODES, node_of(one.tree)), "drained first"
    assert play.events("ScaleDown", next(iter(drained)))
    assert set((await play.phases("research", "board")).values()) == {"Running"}


async def test_machines_of_a_pool_are_dealt_to_its_zones() -> None:
    play = await Play.of("pool-wave")
    await play.to(14 * 60)
    zones = [node["metadata"]["labels"][ZONE] for node in await play.list(NODES)]
    assert sorted(zones) == ["zone-a"] * 21 + ["zone-b"] * 21


async def test_gang_on_two_nothing_is_bound_and_nothing_held_until_all_fit() -> None:
    play = await Play.of("gang-on-two")
    await play.to(120)
    ring = [pod for pod in await play.list(PODS, "team-a") if pod["metadata"]["name"].startswith("ring")]
    assert [(phase(pod), node_of(pod)) for pod in ring] == [("Pending", "")] * 3
    on_node = [pod for pod in await play.list(PODS, "team-a") if node_of(pod) == "v100-0"]
    assert len(on_node) == 1, "two of three GPUs stay free"

    await play.to(480)
    bound = {
        one.name: one.at
        for one in reversed(list(play.of_kind(PODS, "ring")))
        if node_of(one.tree)
    }  # fmt: skip
    assert len(bound) == 3 and len(set(bound.values())) == 1, "all in one moment"
    over = play.first(PODS, "single", lambda pod: phase(pod) == "Succeeded")
    assert over <= min(bound.values())
    assert set((await play.phases("team-a", "ring")).values()) == {"Running"}


async def test_old_and_new_who_is_urgent_pushes_aside_and_the_other_comes_back() -> None:
    play = await Play.of("old-and-new")
    await play.to(50)
    assert set((await play.phases("research", "sweep")).values()) == {"Running"}
    homework = await play.list(PODS, "students")
    assert [phase(pod) for pod in homework] == ["Running"] * 4
    assert {node_of(pod).partition("-")[0] for pod in homework} == {"k80"}

    await play.to(120)
    (hotfix,) = await play.list(PODS, "prod")
    assert phase(hotfix) == "Running" and node_of(hotfix).startswith("h100")
    pushed = [one for one in await play.list(WORKLOADS, "research") if is_true(one, "Evicted")]
    assert len(pushed) == 1
    (workload,) = pushed
    assert condition(workload, "Evicted")["reason"] == "Preempted"
    assert is_true(workload, "Preempted")
    assert condition(workload, "Preempted")["reason"] == "InClusterQueue"
    assert not is_true(workload, "Admitted")
    assert "insufficient unused quota" in condition(workload, "QuotaReserved")["message"]
    assert len(await play.phases("research", "sweep")) == 1

    await play.to(240)
    again = await play.get(WORKLOADS, "research", workload["metadata"]["name"])
    assert is_true(again, "Admitted") and not is_true(again, "Evicted")
    assert set((await play.phases("research", "sweep")).values()) == {"Running"}
    assert len(await play.phases("research", "sweep")) == 2
    assert [phase(pod) for pod in await play.list(PODS, "students")] == ["Running"] * 4


async def test_shared_and_mig_what_is_offered_taken_and_exported() -> None:
    play = await Play.of("shared-and-mig")
    await play.to(240)
    shared = await play.get(NODES, "", "shared-0")
    assert gpus_of(shared) == 8, "two cards, four shares each"
    assert shared["metadata"]["labels"]["nvidia.com/gpu.sharing-strategy"] == "time-slicing"
    mig = await play.get(NODES, "", "mig-0")
    assert {key: mig["status"]["allocatable"][f"nvidia.com/mig-{key}"] for key in ("1g.5gb", "3g.20gb")} == {
        "1g.5gb": "4", "3g.20gb": "2",
    }  # fmt: skip
    phases = [phase(pod) for pod in await play.list(PODS, "notebooks")]
    assert sorted(phases) == ["Pending"] + ["Running"] * 6
    ninth = await play.pod_of("notebooks", "ninth")
    assert "1 Insufficient nvidia.com/gpu" in condition(ninth, "PodScheduled")["message"]
    assert {phase(pod) for pod in await play.list(PODS, "inference")} == {"Running"}


@pytest.mark.parametrize(
    ("node", "source", "profiles", "holders"),
    [
        ("shared-0", "dcgm B", {"": 2}, {"notebook"}),
        ("mig-0", "dcgm C", {"1g.5gb": 4, "2g.10gb": 2, "3g.20gb": 2}, {"small", "medium", ""}),
        ("whole-0", "dcgm A", {"": 2}, {"whole"}),
    ],
)
async def test_shared_and_mig_the_exporters_tell_of_it(
    node: str, source: str, profiles: dict[str, int], holders: set[str]
) -> None:
    play = await Play.of("shared-and-mig")
    await play.to(240)
    exporters = play.cluster.exporters
    await exporters.start()
    try:
        async with (
            aiohttp.ClientSession() as http,
            http.get(f"http://127.0.0.1:{exporters.port}/nodes/{node}/metrics") as answer,
        ):
            page = await answer.text()
    finally:
        await exporters.stop()
    cards = gpus(parse_exposition(page, play.cluster.clock.now()))
    assert Counter(card.mig_profile for card in cards) == profiles
    assert {card.source for card in cards} == {source}
    assert {card.pod_name.partition("-")[0] for card in cards} == holders
    assert all(isinstance(card.temperature_celsius, float | int) for card in cards)


async def test_bursty_day_nodes_follow_the_hours() -> None:
    play = await Play.of("bursty-day")
    await play.to(3600)
    counts = play.counts(NODES)

    def now(at: float) -> int:
        return [count for when, count in counts if when <= at][-1]

    night, noon = now(400), now(2000)
    assert noon >= night + 4
    assert now(3600) <= noon - 4, "the evening gives back what the morning took"
    assert max(count for _, count in counts) <= 14, "four old nodes and at most ten of the pool"
    queued = [one.at for one in play.of_kind(WORKLOADS) if one.type is ChangeType.ADDED]
    assert sum(1200 <= at < 2400 for at in queued) > 4 * sum(at >= 3000 for at in queued)
    status = (await play.get(CONFIG_MAPS, "kube-system", "cluster-autoscaler-status"))["data"]["status"]
    assert "autoscalerStatus: Running" in status


async def test_fleet_comes_up_and_then_changes_as_often_as_it_says() -> None:
    """At a fiftieth of its size; the whole one is the bench's."""
    play = Play(small_fleet(changes_per_second=100))
    await play.begin()
    await play.to(120)
    pods = [one for name in ("research", "prod", "platform") for one in await play.list(PODS, name)]
    assert len(pods) == 50 + 80 + 80
    assert {phase(one) for one in pods} == {"Running"}
    assert len(await play.list(NODES)) == 50
    before = len(play.seen)
    await play.to(130)
    changed = [one for one in play.seen[before:] if one.resource == PODS]
    assert 990 <= len(changed) <= 1010
    assert {one.type for one in changed} == {ChangeType.MODIFIED}
    assert len({one.name for one in changed}) > 150, "all over the fleet"
