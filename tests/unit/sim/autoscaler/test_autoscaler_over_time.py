"""The autoscaler on a cluster: patience, back-off, limits, what it tells, and its status ConfigMap."""

from itertools import pairwise
from typing import Any

import pytest
import yaml

from cockpit.kube.resource import JOBS, MACHINE_DEPLOYMENTS, NODES, PODS
from cockpit.sim.actors.autoscaler.actor import Autoscaler
from cockpit.sim.actors.autoscaler.settings import AutoscalerSettings
from cockpit.sim.actors.common.machine_template import MACHINES
from cockpit.sim.resources import CONFIG_MAPS
from cockpit.sim.scenarios.loading import parse
from cockpit.sim.server.local_port import LocalPort
from tests.unit.sim.scenarios.play import Play, phase

ESTATE = """
name: estate
title: One pool that scales by itself
namespaces: [{name: team}]
pools:
  - {name: a100, nodes: 1, gpus: 8, product: NVIDIA-A100-SXM4-80GB, owner: machines, min: 1, max: 4,
     stages: {launch: 10s, join: 5s, ready: 5s, gpus: 20s}}
autoscaler: {scan: 10s, unneeded: 3m, after-add: 60s}
steps:
  - {at: 60s, submit: {name: wide, namespace: team, workers: 3, gpus: 8, seconds: 4m}}
"""
ID = "MachineDeployment/pools/a100"
STATUS = ("kube-system", "cluster-autoscaler-status")


async def begun(text: str = ESTATE, **settings: Any) -> Play:
    """The estate; `settings` are the autoscaler's, in place of the scenario's."""
    play = Play(parse(text, "estate"))
    if settings:
        (autoscaler,) = [one for one in play.cluster.engine.actors if isinstance(one, Autoscaler)]
        fields = {name: getattr(autoscaler.settings, name) for name in AutoscalerSettings.__struct_fields__}
        autoscaler.settings = AutoscalerSettings(**{**fields, **settings})
    await play.begin()
    return play


async def target(play: Play) -> int:
    return int((await play.get(MACHINE_DEPLOYMENTS, "pools", "a100"))["spec"]["replicas"])


async def status(play: Play) -> dict[str, Any]:
    """The status ConfigMap, read as the YAML that it is."""
    tree = await play.get(CONFIG_MAPS, *STATUS)
    found: dict[str, Any] = yaml.safe_load(tree["data"]["status"])
    return found


async def test_pods_grow_the_group_once_and_nodes_that_are_coming_count() -> None:
    play = await begun()
    await play.to(75)
    assert await target(play) == 3
    word = (await status(play))["nodeGroups"][0]
    assert word["name"] == ID and word["scaleUp"]["status"] == "InProgress"
    assert word["health"]["cloudProviderTarget"] == 3 and word["health"]["maxSize"] == 4
    assert word["health"]["nodeCounts"]["unregistered"] == 2
    await play.to(100)
    assert await target(play) == 3, "what was asked for is waited for"
    await play.to(200)
    pods = await play.list(PODS, "team")
    assert [phase(pod) for pod in pods] == ["Running"] * 3
    told = {one.tree["message"] for one in play.events("TriggeredScaleUp")}
    assert told == {f"pod triggered scale-up: [{{{ID} 1->3 (max: 4)}}]"}
    groups = [one.tree["message"] for one in play.events("ScaledUpGroup")]
    assert groups == [
        f"Scale-up: setting group {ID} size to 3 instead of 1 (max: 4)",
        f"Scale-up: group {ID} size set to 3 instead of 1 (max: 4)",
    ]
    assert (await status(play))["clusterWide"]["scaleUp"]["status"] == "NoActivity"


async def test_unneeded_nodes_go_after_their_time_and_no_sooner() -> None:
    play = await begun()
    await play.to(600)
    over = play.first(PODS, "wide", lambda pod: phase(pod) == "Succeeded")
    gone = [at for at, count in play.counts(NODES) if at > over and count < 3]
    assert gone and over + 180 <= gone[0] <= over + 215
    assert await target(play) == 1 and len(await play.list(NODES)) == 1
    taints = [
        {one["key"] for one in seen.tree["spec"].get("taints") or ()}
        for seen in play.of_kind(NODES)
        if seen.at > over
    ]
    assert any("ToBeDeletedByClusterAutoscaler" in keys for keys in taints)
    said = [one.tree["message"] for one in play.events("ScaleDownEmpty")]
    assert sum(text.startswith("Scale-down: removing empty node") for text in said) == 2
    mid = await begun()
    await mid.to(play.first(JOBS, "wide", lambda job: bool(job.get("status", {}).get("completionTime"))) + 60)
    word = (await status(mid))["nodeGroups"][0]["scaleDown"]
    assert word["status"] == "CandidatesPresent" and word["candidates"] == 3


async def test_a_node_that_is_needed_again_begins_its_time_anew() -> None:
    again = (
        ESTATE + "  - {at: 480s, submit: {name: back, namespace: team, workers: 3, gpus: 8, seconds: 30s}}\n"
    )
    play = await begun(again)
    await play.to(60 + 240 + 180 + 60)
    assert len(await play.list(NODES)) == 3, "three minutes from the second job's end, not the first's"
    await play.to(900)
    assert len(await play.list(NODES)) == 1


async def test_a_provider_that_refuses_is_left_alone_for_a_while_longer_each_time() -> None:
    failing = ESTATE.replace("gpus: 20s}", "gpus: 20s}, launch-fails: no capacity")
    play = await begun(failing.replace("nodes: 1", "nodes: 0").replace("min: 1", "min: 0"))
    await play.to(120)
    assert await target(play) == 0, "the target is lowered again"
    assert {phase(one) for one in await play.list(MACHINES, "pools")} <= {"Deleting"}
    word = (await status(play))["nodeGroups"][0]["scaleUp"]
    assert word["status"] == "Backoff" and word["backoffInfo"]["errorMessage"] == "no capacity"
    failed = play.events("ScaleUpFailed")
    assert failed[0].tree["message"] == (
        f"Failed adding 3 nodes to group {ID} due to OTHER; source errors: no capacity"
    )
    told = {one.tree["message"] for one in play.events("NotTriggerScaleUp")}
    assert told == {"pod didn't trigger scale-up: 1 in backoff after failed scale-up"}
    await play.to(2400)
    times = sorted({one.at for one in play.events("ScaleUpFailed")})
    waits = [after - before for before, after in pairwise(times)]
    assert waits[0] >= 300 and waits[1] >= 600 and waits[1] > 1.5 * waits[0]


async def test_nodes_that_do_not_register_time_out() -> None:
    slow = (
        ESTATE.replace("launch: 10s", "launch: 1h")
        .replace("nodes: 1", "nodes: 0")
        .replace("min: 1", "min: 0")
    )
    play = await begun(slow)
    await play.to(60 + 880)
    assert await target(play) == 3
    await play.to(60 + 930)
    assert await target(play) == 0
    (first, *_) = play.events("ScaleUpTimedOut")
    assert first.tree["message"] == f"Nodes added to group {ID} failed to register within 15m0s"
    assert first.tree["type"] == "Warning"


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (("gpus: 8, seconds", "gpus: 16, seconds"), "1 Insufficient nvidia.com/gpu"),
        (("workers: 3", "workers: 9"), "1 max node group size reached"),
        (("gpus: 8, seconds", "gpus: 8, cpu: '500', seconds"), "1 Insufficient cpu"),
    ],
)
async def test_why_nothing_would_help_is_told_once_in_five_minutes(
    change: tuple[str, str], text: str
) -> None:
    play = await begun(ESTATE.replace(*change))
    await play.to(60 + 240)
    mine = [one for one in play.events("NotTriggerScaleUp") if one.tree["message"].endswith(text)]
    assert mine, {one.tree["message"] for one in play.events("NotTriggerScaleUp")}
    pods = [one.tree["involvedObject"]["uid"] for one in mine]
    assert len(pods) == len(set(pods)), "an equal event not again within five minutes"


async def test_the_limit_of_the_whole_cluster_holds() -> None:
    play = await begun(max_nodes_total=2)
    await play.to(200)
    assert await target(play) == 2
    told = {one.tree["message"] for one in play.events("NotTriggerScaleUp")}
    assert told == {"pod didn't trigger scale-up: 1 max total nodes in cluster reached"}


async def test_the_minimum_stays_and_a_node_that_says_so_is_kept() -> None:
    play = await begun()
    await play.to(200)
    kept = max(node["metadata"]["name"] for node in await play.list(NODES))
    said = {"metadata": {"annotations": {"cluster-autoscaler.kubernetes.io/scale-down-disabled": "true"}}}
    await LocalPort(play.cluster.operations).patch(NODES, "", kept, said)
    await play.to(900)
    assert [node["metadata"]["name"] for node in await play.list(NODES)] == [kept]
    assert await target(play) == 1
