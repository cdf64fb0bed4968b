"""Machines of a pool: stages, failures, drains, who goes first, and nodes that vanish behind its back."""

import pytest

from cockpit.kube.resource import MACHINE_DEPLOYMENTS, NODES, PODS
from cockpit.sim.actors.common.drain import to_evict
from cockpit.sim.actors.common.machine_template import (
    DELETE_ANNOTATION,
    MACHINES,
    Timing,
    place_of,
    timing_of,
)
from cockpit.sim.port import PortError, Tree
from cockpit.sim.resources import BUDGETS
from cockpit.sim.scenarios.loading import parse
from cockpit.sim.server.local_port import LocalPort
from tests.unit.sim.scenarios.play import Play, gpus_of, is_true, node_of, phase

ESTATE = """
name: estate
title: One pool of machines
namespaces: [{name: team}]
pools:
  - {name: a100, nodes: 2, gpus: 8, product: NVIDIA-A100-SXM4-80GB, owner: machines,
     zones: [zone-a, zone-b], rack-size: 3, stages: {launch: 20s, join: 10s, ready: 5s, gpus: 30s}}
"""


class Pool:
    """The estate and its one pool."""

    def __init__(self, play: Play) -> None:
        self.play = play
        self.port = LocalPort(play.cluster.operations)

    @classmethod
    async def begun(cls, text: str = ESTATE) -> "Pool":
        play = Play(parse(text, "estate"))
        await play.begin()
        return cls(play)

    async def machines(self) -> list[Tree]:
        return list(await self.play.list(MACHINES, "pools"))

    async def names(self) -> set[str]:
        return {one["metadata"]["name"] for one in await self.machines()}

    async def scale(self, to: int) -> None:
        await self.port.patch(
            MACHINE_DEPLOYMENTS, "pools", "a100", {"spec": {"replicas": to}}, subresource="scale"
        )

    async def deployment(self) -> Tree:
        return await self.play.get(MACHINE_DEPLOYMENTS, "pools", "a100")

    async def run_pod(self, name: str, node: str, **metadata: object) -> None:
        tree: Tree = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": "team", **metadata},
            "spec": {"nodeName": node, "containers": [{"name": "main", "image": "registry.example/x:1"}]},
        }
        await self.port.create(PODS, tree, "team")


async def test_a_machine_takes_its_stages_in_their_time() -> None:
    pool = await Pool.begun()
    await pool.play.to(10)
    assert [phase(one) for one in await pool.machines()] == ["Provisioning"] * 2
    assert not await pool.play.list(NODES)
    await pool.play.to(25)
    assert [phase(one) for one in await pool.machines()] == ["Provisioned"] * 2
    await pool.play.to(32)
    machines = await pool.machines()
    assert [phase(one) for one in machines] == ["Running"] * 2
    assert [one["status"]["nodeRef"]["name"] for one in machines] == [
        one["metadata"]["name"] for one in machines
    ]
    nodes = await pool.play.list(NODES)
    assert len(nodes) == 2 and not any(is_true(node, "Ready") for node in nodes)
    await pool.play.to(50)
    nodes = await pool.play.list(NODES)
    assert all(is_true(node, "Ready") for node in nodes) and {gpus_of(node) for node in nodes} == {0}
    assert (await pool.deployment())["status"]["phase"] == "Running"
    await pool.play.to(70)
    assert {gpus_of(node) for node in await pool.play.list(NODES)} == {8}
    status = (await pool.deployment())["status"]
    assert (status["replicas"], status["readyReplicas"], status["unavailableReplicas"]) == (2, 2, 0)


async def test_a_provider_that_refuses_leaves_failed_machines_that_say_so() -> None:
    sentence = "quota GPUS_ALL_REGIONS exceeded"
    pool = await Pool.begun(ESTATE.replace("rack-size: 3", f"rack-size: 3, launch-fails: {sentence}"))
    await pool.play.to(120)
    machines = await pool.machines()
    assert [phase(one) for one in machines] == ["Failed"] * 2
    assert {one["status"]["failureMessage"] for one in machines} == {sentence}
    assert {one["status"]["failureReason"] for one in machines} == {"CreateError"}
    assert not await pool.play.list(NODES)
    # What has failed is not tried again, only replaced.
    unset = {"metadata": {"annotations": {"cockpit.dev/launch-fails": None}}}
    await pool.port.patch(MACHINE_DEPLOYMENTS, "pools", "a100", unset)
    await pool.play.to(240)
    assert [phase(one) for one in await pool.machines()] == ["Failed"] * 2
    for machine in machines:
        await pool.port.delete(MACHINES, "pools", machine["metadata"]["name"])
    await pool.play.to(360)
    assert [phase(one) for one in await pool.machines()] == ["Running"] * 2


async def test_machines_are_dealt_to_zones_and_racks() -> None:
    pool = await Pool.begun()
    await pool.scale(5)
    await pool.play.to(100)
    labels = [node["metadata"]["labels"] for node in await pool.play.list(NODES)]
    zones = sorted(one["topology.kubernetes.io/zone"] for one in labels)
    assert zones == ["zone-a"] * 3 + ["zone-b"] * 2
    racks = sorted(one["cockpit.dev/rack"] for one in labels)
    assert racks == ["a100-rack-0"] * 3 + ["a100-rack-1"] * 2


async def test_the_chosen_machine_goes_first_then_the_youngest() -> None:
    pool = await Pool.begun()
    await pool.play.to(100)
    first = await pool.names()
    await pool.scale(3)
    await pool.play.to(200)
    (young,) = await pool.names() - first
    chosen = min(first)
    said = {"metadata": {"annotations": {DELETE_ANNOTATION: "yes"}}}
    await pool.port.patch(MACHINES, "pools", chosen, said)
    await pool.scale(2)
    await pool.play.to(220)
    assert await pool.names() == (first | {young}) - {chosen}
    await pool.scale(1)
    await pool.play.to(240)
    assert await pool.names() == first - {chosen}
    assert {node["metadata"]["name"] for node in await pool.play.list(NODES)} == await pool.names()


async def test_a_drain_waits_for_a_budget() -> None:
    pool = await Pool.begun()
    await pool.play.to(100)
    keep, go = sorted(await pool.names())
    labels = {"app": "guarded"}
    await pool.run_pod("guarded", go, labels=labels)
    await pool.run_pod("plain", go)
    budget: Tree = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "guard", "namespace": "team"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": labels}},
    }
    await pool.port.create(BUDGETS, budget, "team")
    await pool.play.to(120)
    said = {"metadata": {"annotations": {DELETE_ANNOTATION: "yes"}}}
    await pool.port.patch(MACHINES, "pools", go, said)
    await pool.scale(1)
    await pool.play.to(200)
    left = {pod["metadata"]["name"] for pod in await pool.play.list(PODS, "team")}
    assert left == {"guarded"}, "what may go has gone, what is guarded stays"
    node = await pool.play.get(NODES, "", go)
    assert node["spec"]["unschedulable"] is True
    assert phase(await pool.play.get(MACHINES, "pools", go)) == "Deleting"

    await pool.port.delete(BUDGETS, "team", "guard")
    await pool.play.to(260)
    assert await pool.names() == {keep}
    with pytest.raises(PortError):
        await pool.play.get(NODES, "", go)
    assert not await pool.play.list(PODS, "team")


async def test_a_node_that_somebody_deleted_does_not_come_back_by_itself() -> None:
    pool = await Pool.begun()
    await pool.play.to(100)
    one, other = sorted(await pool.names())
    await pool.port.delete(NODES, "", one)
    await pool.play.to(200)
    assert [node["metadata"]["name"] for node in await pool.play.list(NODES)] == [other]
    status = (await pool.deployment())["status"]
    assert (status["readyReplicas"], status["phase"]) == (1, "ScalingUp")
    await pool.port.delete(MACHINES, "pools", one)
    await pool.play.to(320)
    names = await pool.names()
    assert len(names) == 2 and one not in names
    assert {node["metadata"]["name"] for node in await pool.play.list(NODES)} == names


async def test_a_deployment_that_is_deleted_takes_its_machines_along() -> None:
    pool = await Pool.begun()
    await pool.play.to(100)
    await pool.port.delete(MACHINE_DEPLOYMENTS, "pools", "a100", propagation="Background")
    await pool.play.to(160)
    assert not await pool.machines() and not await pool.play.list(NODES)


def test_stages_that_cannot_be_read_count_as_not_said() -> None:
    said = {
        "cockpit.dev/launch-seconds": "5",
        "cockpit.dev/join-seconds": "soon",
        "cockpit.dev/ready-seconds": "-1",
    }
    found = timing_of({"metadata": {"annotations": said}})
    assert found == Timing(launch_seconds=5)


def test_without_zones_and_racks_there_is_no_place() -> None:
    assert place_of({"metadata": {"name": "a"}}, []) == ("", "")
    said = {"cockpit.dev/rack-size": "none", "cockpit.dev/zones": ","}
    assert place_of({"metadata": {"name": "a", "annotations": said}}, []) == ("", "")


def test_a_drain_leaves_daemons_mirrors_and_what_has_ended() -> None:
    def pod(name: str, **more: object) -> Tree:
        return {"metadata": {"name": name, "namespace": "n", **more}, "status": {"phase": "Running"}}

    daemon = pod("daemon", ownerReferences=[{"kind": "DaemonSet", "controller": True}])
    mirror = pod("mirror", annotations={"kubernetes.io/config.mirror": "x"})
    ended = {**pod("ended"), "status": {"phase": "Succeeded"}}
    assert [one["metadata"]["name"] for one in to_evict([pod("b"), daemon, mirror, ended, pod("a")])] == [
        "a",
        "b",
    ]


async def test_what_is_bound_to_nodes_of_the_pool_is_seen_by_the_drain() -> None:
    pool = await Pool.begun()
    await pool.play.to(100)
    exporters = await pool.play.list(PODS, "gpu-operator")
    assert {node_of(one) for one in exporters} == await pool.names()
    await pool.scale(0)
    await pool.play.to(160)
    assert not await pool.play.list(NODES), "daemons hold nothing up"
