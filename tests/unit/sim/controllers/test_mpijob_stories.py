"""MPIJobs as mpi-operator runs them: the texts are those that the real one printed."""

from typing import Any

from cockpit.kube.resource import MPIJOBS, PODS, SERVICES
from cockpit.sim.actors.controllers.job.jobs import Jobs
from cockpit.sim.actors.controllers.mpijob.mpijobs import MpiJobs
from cockpit.sim.actors.controllers.mpijob.pod_group import pod_group
from cockpit.sim.actors.controllers.mpijob.spec import read_spec
from cockpit.sim.port import Tree
from cockpit.sim.resources import POD_GROUPS
from tests.unit.sim.controllers.stage import FOR_EVER, Stage, conditions


def mpijob(workers: int = 2, *, suspend: bool = False, run_policy: Tree | None = None, **spec: Any) -> Tree:
    def replicas(count: int, **resources: str) -> Tree:
        container = {"name": "main", "image": "hvd:1", "resources": {"limits": resources}}
        return {"replicas": count, "template": {"spec": {"containers": [container]}}}

    return {
        "apiVersion": "kubeflow.org/v2beta1",
        "kind": "MPIJob",
        "metadata": {"name": "allreduce", "namespace": "team-a"},
        "spec": {
            "slotsPerWorker": 8,
            "runPolicy": {"suspend": suspend, **(run_policy or {})},
            "mpiReplicaSpecs": {
                "Launcher": replicas(1, cpu="1", memory="1Gi"),
                "Worker": replicas(workers, **{"cpu": "10", "memory": "40Gi", "nvidia.com/gpu": "8"}),
            },
            **spec,
        },
    }


async def staged(fate: Any = lambda _: FOR_EVER) -> Stage:
    return await Stage([Jobs(), MpiJobs()], fate).start()


async def test_a_first_failed_launcher_leaves_the_job_running() -> None:
    stage = await staged()
    await stage.create(MPIJOBS, mpijob())
    await stage.engine.advance(5)
    (launcher,) = [p for p in await stage.pods() if "launcher" in p["metadata"]["name"]]
    await stage.patch(
        PODS, launcher["metadata"]["name"], {"status": {"phase": "Failed"}}, subresource="status"
    )
    await stage.engine.advance(3)
    held = await stage.get(MPIJOBS, "allreduce")
    assert conditions(held)[-1] == "Running True MPIJobRunning | MPIJob team-a/allreduce is running."
    assert held["status"]["replicaStatuses"]["Launcher"] == {"failed": 1}


async def test_a_name_that_belongs_to_another() -> None:
    stage = await staged()
    await stage.create(
        SERVICES,
        {"metadata": {"name": "allreduce", "namespace": "team-a"}, "spec": {"ports": [{"port": 80}]}},
    )
    await stage.create(MPIJOBS, mpijob())
    await stage.engine.advance(1)
    assert await stage.pods() == []
    told = [line for line in await stage.events("allreduce") if line.startswith("Warning")]
    assert told == [
        'Warning ErrResourceExists Resource "allreduce" of Kind "Service" already exists and is not managed '
        "by MPIJob [mpi-job-controller]"
    ]


async def test_with_a_gang_scheduler_every_job_has_a_pod_group_while_it_runs() -> None:
    stage = await Stage([Jobs(), MpiJobs("gang-scheduler")]).start()
    await stage.create(MPIJOBS, mpijob(run_policy={"schedulingPolicy": {"minAvailable": 2}}))
    await stage.engine.advance(5)
    group = await stage.get(POD_GROUPS, "allreduce")
    assert group["spec"]["minMember"] == 2
    assert group["spec"]["minResources"]["nvidia.com/gpu"] == "8"
    for pod in await stage.pods():
        assert pod["spec"]["schedulerName"] == "gang-scheduler"
        assert pod["metadata"]["labels"]["scheduling.x-k8s.io/pod-group"] == "allreduce"
    await stage.patch(MPIJOBS, "allreduce", {"spec": {"runPolicy": {"suspend": True}}})
    await stage.engine.advance(5)
    assert await stage.names(POD_GROUPS) == []


def test_a_pod_group_asks_for_all_of_them() -> None:
    job = mpijob(workers=2)
    job["metadata"]["uid"] = "u"
    group = pod_group(job, read_spec(job))["spec"]
    assert group == {
        "minMember": 3,
        "scheduleTimeoutSeconds": 0,
        "minResources": {"cpu": "21", "memory": "81Gi", "nvidia.com/gpu": "16"},
    }
