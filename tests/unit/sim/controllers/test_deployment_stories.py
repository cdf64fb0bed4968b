"""Deployments: first rollout, update, scale, pause, a rollout that stands still; ReplicaSets below them."""

from typing import Any

from cockpit.kube.resource import PODS
from cockpit.sim.actors.controllers.deployment.deployments import Deployments
from cockpit.sim.actors.controllers.replica_sets import ReplicaSets
from cockpit.sim.port import Tree
from cockpit.sim.resources import DEPLOYMENTS, REPLICA_SETS
from tests.unit.sim.controllers.stage import Stage, conditions, counts, template

COUNTS = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas", "unavailableReplicas")


def deployment(replicas: int = 4, image: str = "web:1", **spec: Any) -> Tree:
    pods = template(app="web")
    pods["spec"] = {"containers": [{"name": "main", "image": image}]}
    return {
        "metadata": {"name": "web", "namespace": "team-a"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "web"}},
            "template": pods,
            **spec,
        },
    }


async def staged() -> Stage:
    return await Stage([Deployments(), ReplicaSets()]).start()


def change_image(image: str) -> Tree:
    return {"spec": {"template": {"spec": {"containers": [{"name": "main", "image": image}]}}}}


async def test_an_update_never_goes_below_what_must_be_available_nor_above_the_surge() -> None:
    stage = await staged()
    await stage.create(DEPLOYMENTS, deployment())
    await stage.engine.advance(10)
    await stage.patch(DEPLOYMENTS, "web", change_image("web:2"))
    seen: list[tuple[int, int]] = []
    for _ in range(40):
        await stage.engine.advance(0.5)
        pods = [pod for pod in await stage.pods() if not pod["metadata"].get("deletionTimestamp")]
        ready = [p for p in pods if {"type": "Ready", "status": "True"}.items() <= ready_of(p).items()]
        seen.append((len(pods), len(ready)))
    assert max(count for count, _ in seen) == 5
    assert min(ready for _, ready in seen) == 3
    held = await stage.get(DEPLOYMENTS, "web")
    assert counts(held, *COUNTS) == {
        "replicas": 4,
        "updatedReplicas": 4,
        "readyReplicas": 4,
        "availableReplicas": 4,
        "unavailableReplicas": None,
    }
    assert {pod["spec"]["containers"][0]["image"] for pod in await stage.pods()} == {"web:2"}
    assert held["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "2"
    assert sorted(rs["spec"]["replicas"] for rs in await stage.port.list(REPLICA_SETS)) == [0, 4]


def ready_of(pod: Tree) -> Tree:
    return next((c for c in pod.get("status", {}).get("conditions") or () if c["type"] == "Ready"), {})


async def test_a_rollback_takes_the_old_set_again_under_a_new_revision() -> None:
    stage = await staged()
    await stage.create(DEPLOYMENTS, deployment(2))
    await stage.engine.advance(10)
    (first,) = await stage.names(REPLICA_SETS)
    for image in ("web:2", "web:1"):
        await stage.patch(DEPLOYMENTS, "web", change_image(image))
        await stage.engine.advance(20)
    held = await stage.get(REPLICA_SETS, first)
    assert held["spec"]["replicas"] == 2
    assert held["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "3"
    assert held["metadata"]["annotations"]["deployment.kubernetes.io/revision-history"] == "1"


async def test_a_rollout_that_stands_still_times_out() -> None:
    stage = await staged()
    stage.puppet.binds = False
    await stage.create(DEPLOYMENTS, deployment(2, progressDeadlineSeconds=60))
    await stage.engine.advance(50)
    held = await stage.get(DEPLOYMENTS, "web")
    (name,) = await stage.names(REPLICA_SETS)
    unavailable = (
        "Available False MinimumReplicasUnavailable | Deployment does not have minimum availability."
    )
    progressing = f'Progressing True ReplicaSetUpdated | ReplicaSet "{name}" is progressing.'
    assert conditions(held) == [unavailable, progressing]
    await stage.engine.advance(20)
    assert conditions(await stage.get(DEPLOYMENTS, "web")) == [
        unavailable,
        f'Progressing False ProgressDeadlineExceeded | ReplicaSet "{name}" has timed out progressing.',
    ]


async def test_old_sets_go_beyond_the_limit() -> None:
    stage = await staged()
    await stage.create(DEPLOYMENTS, deployment(1, revisionHistoryLimit=1))
    for number in range(2, 5):
        await stage.engine.advance(15)
        await stage.patch(DEPLOYMENTS, "web", change_image(f"web:{number}"))
    await stage.engine.advance(30)
    assert len(await stage.names(REPLICA_SETS)) == 2


async def test_a_replica_set_replaces_what_was_deleted_and_removes_what_is_least_far() -> None:
    stage = await staged()
    await stage.create(DEPLOYMENTS, deployment(3))
    await stage.engine.advance(5)
    gone = (await stage.pods())[0]["metadata"]["name"]
    await stage.port.delete(PODS, "team-a", gone)
    await stage.engine.advance(5)
    names = await stage.names(PODS)
    assert len(names) == 3 and gone not in names
    stage.puppet.binds = False
    await stage.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 5}})
    await stage.engine.advance(5)
    await stage.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 3}})
    await stage.engine.advance(5)
    assert sorted(await stage.names(PODS)) == sorted(names)
