"""MPIJobs as mpi-operator runs them: the texts are those that the real one printed."""

from base64 import b64decode
from typing import Any

from cockpit.kube.resource import JOBS, MPIJOBS, PODS, SERVICES
from cockpit.sim.actors.controllers.job.jobs import Jobs
from cockpit.sim.actors.controllers.mpijob.mpijobs import MpiJobs
from cockpit.sim.actors.controllers.mpijob.pod_group import pod_group
from cockpit.sim.actors.controllers.mpijob.spec import read_spec
from cockpit.sim.port import Tree
from cockpit.sim.resources import CONFIG_MAPS, POD_GROUPS, SECRETS
from tests.unit.sim.controllers.stage import FOR_EVER, Fate, Stage, conditions

MESSAGE = "rank 2 exited with code 137"


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


def launcher_ends(how: str, seconds: float) -> Any:
    def fate(pod: Tree) -> Fate:
        role = pod["metadata"]["labels"]["training.kubeflow.org/job-role"]
        return (how, seconds) if role == "launcher" else FOR_EVER

    return fate


async def test_suspended_resumed_running_done() -> None:
    stage = await staged(launcher_ends("Succeeded", 30))
    await stage.create(MPIJOBS, mpijob(suspend=True))
    await stage.engine.advance(2)
    assert conditions(await stage.get(MPIJOBS, "allreduce")) == [
        "Created True MPIJobCreated | MPIJob team-a/allreduce is created.",
        "Suspended True MPIJobSuspended | MPIJob suspended",
        "Running False MPIJobSuspended | MPIJob team-a/allreduce is suspended.",
    ]
    assert await stage.pods() == []
    assert (await stage.get(JOBS, "allreduce-launcher"))["spec"]["suspend"] is True
    await stage.patch(MPIJOBS, "allreduce", {"spec": {"runPolicy": {"suspend": False}}})
    await stage.engine.advance(5)
    running = await stage.get(MPIJOBS, "allreduce")
    assert conditions(running) == [
        "Created True MPIJobCreated | MPIJob team-a/allreduce is created.",
        "Suspended False MPIJobResumed | MPIJob resumed",
        "Running True MPIJobRunning | MPIJob team-a/allreduce is running.",
    ]
    assert running["status"]["replicaStatuses"] == {"Launcher": {"active": 1}, "Worker": {"active": 2}}
    await stage.engine.advance(60)
    done = await stage.get(MPIJOBS, "allreduce")
    assert conditions(done)[2:] == [
        "Running False MPIJobRunning | MPIJob team-a/allreduce is running.",
        "Succeeded True MPIJobSucceeded | MPIJob team-a/allreduce successfully completed.",
    ]
    assert done["status"]["replicaStatuses"] == {"Launcher": {"succeeded": 1}, "Worker": {}}
    launcher = await stage.get(JOBS, "allreduce-launcher")
    assert done["status"]["completionTime"] == launcher["status"]["completionTime"]
    # cleanPodPolicy None: finished jobs keep their workers.
    assert len(await stage.pods()) == 3


async def test_its_parts() -> None:
    stage = await staged()
    made = await stage.create(MPIJOBS, mpijob())
    await stage.engine.advance(5)
    config = (await stage.get(CONFIG_MAPS, "allreduce-config"))["data"]
    assert config["hostfile"] == (
        "allreduce-worker-0.allreduce.team-a.svc slots=8\nallreduce-worker-1.allreduce.team-a.svc slots=8\n"
    )
    assert config["discover_hosts.sh"] == (
        "#!/bin/sh\necho allreduce-worker-0.allreduce.team-a.svc\n"
        "echo allreduce-worker-1.allreduce.team-a.svc\n"
    )
    service = await stage.get(SERVICES, "allreduce")
    assert service["spec"]["clusterIP"] == "None"
    assert service["spec"]["selector"] == {
        "training.kubeflow.org/operator-name": "mpi-operator",
        "training.kubeflow.org/job-name": "allreduce",
    }
    secret = await stage.get(SECRETS, "allreduce-ssh")
    assert secret["type"] == "kubernetes.io/ssh-auth"
    assert b64decode(secret["data"]["ssh-privatekey"]).startswith(b"-----BEGIN EC PRIVATE KEY-----")
    assert b64decode(secret["data"]["ssh-publickey"]).startswith(b"ecdsa-sha2-nistp521 ")
    worker = await stage.get(PODS, "allreduce-worker-1")
    assert worker["metadata"]["labels"] == {
        "training.kubeflow.org/operator-name": "mpi-operator",
        "training.kubeflow.org/job-name": "allreduce",
        "training.kubeflow.org/job-role": "worker",
        "training.kubeflow.org/replica-index": "1",
    }
    assert worker["spec"]["hostname"] == "allreduce-worker-1"
    assert worker["spec"]["subdomain"] == "allreduce"
    assert worker["spec"]["restartPolicy"] == "Never"
    assert worker["spec"]["containers"][0]["command"] == ["/usr/sbin/sshd", "-De"]
    assert worker["metadata"]["ownerReferences"][0]["uid"] == made["metadata"]["uid"]
    launcher = (await stage.get(JOBS, "allreduce-launcher"))["spec"]["template"]["spec"]
    env = {variable["name"]: variable.get("value", "") for variable in launcher["containers"][0]["env"]}
    assert env["OMPI_MCA_orte_set_default_slots"] == "8"
    assert env["NVIDIA_VISIBLE_DEVICES"] == ""
    assert launcher["restartPolicy"] == "OnFailure"
    assert {volume["name"] for volume in launcher["volumes"]} == {"ssh-auth", "mpi-job-config"}


async def test_failed_with_the_last_pods_own_words() -> None:
    stage = await staged()
    await stage.create(MPIJOBS, mpijob(run_policy={"backoffLimit": 0, "cleanPodPolicy": "Running"}))
    await stage.engine.advance(5)
    (launcher,) = [p for p in await stage.pods() if "launcher" in p["metadata"]["name"]]
    failed = {"phase": "Failed", "reason": "Error", "message": MESSAGE}
    await stage.patch(PODS, launcher["metadata"]["name"], {"status": failed}, subresource="status")
    await stage.engine.advance(5)
    done = await stage.get(MPIJOBS, "allreduce")
    assert conditions(done)[1:] == [
        "Running False MPIJobRunning | MPIJob team-a/allreduce is running.",
        f"Failed True BackoffLimitExceeded/Error | Job has reached the specified backoff limit: {MESSAGE}",
    ]
    assert done["status"]["replicaStatuses"] == {"Launcher": {"failed": 1}, "Worker": {}}
    assert done["status"]["completionTime"]
    assert [pod["metadata"]["name"] for pod in await stage.pods()] == [launcher["metadata"]["name"]]
    warnings = [line for line in await stage.events("allreduce") if line.startswith("Warning")]
    assert warnings == [
        f"Warning BackoffLimitExceeded/Error Job has reached the specified backoff limit: {MESSAGE} "
        "[mpi-job-controller]"
    ]


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


async def test_suspend_takes_the_workers_away_and_resume_makes_new_ones() -> None:
    stage = await staged()
    await stage.create(MPIJOBS, mpijob())
    await stage.engine.advance(5)
    before = {pod["metadata"]["uid"] for pod in await stage.pods()}
    await stage.patch(MPIJOBS, "allreduce", {"spec": {"runPolicy": {"suspend": True}}})
    await stage.engine.advance(5)
    assert await stage.pods() == []
    held = await stage.get(MPIJOBS, "allreduce")
    assert conditions(held)[1:] == [
        "Suspended True MPIJobSuspended | MPIJob suspended",
        "Running False MPIJobSuspended | MPIJob team-a/allreduce is suspended.",
    ]
    await stage.patch(MPIJOBS, "allreduce", {"spec": {"runPolicy": {"suspend": False}}})
    await stage.engine.advance(5)
    after = {pod["metadata"]["uid"] for pod in await stage.pods()}
    assert len(after) == 3 and not after & before


async def test_the_launcher_waits_for_its_workers() -> None:
    stage = await staged()
    stage.puppet.binds = False
    await stage.create(MPIJOBS, mpijob(launcherCreationPolicy="WaitForWorkersReady"))
    await stage.engine.advance(5)
    assert await stage.find(JOBS, "allreduce-launcher") is None
    stage.puppet.binds = True
    for pod in await stage.pods():
        stage.engine.soon(stage.puppet, ("team-a", pod["metadata"]["name"]))
    await stage.engine.advance(5)
    assert await stage.find(JOBS, "allreduce-launcher") is not None


async def test_elastic_fewer_and_more_workers() -> None:
    stage = await staged()
    await stage.create(MPIJOBS, mpijob(workers=4))
    await stage.engine.advance(5)
    for count in (2, 3):
        worker = {"mpiReplicaSpecs": {"Worker": {"replicas": count}}}
        await stage.patch(MPIJOBS, "allreduce", {"spec": worker})
        await stage.engine.advance(5)
        names = [n for n in await stage.names(PODS) if "worker" in n]
        assert names == [f"allreduce-worker-{index}" for index in range(count)]
        config = (await stage.get(CONFIG_MAPS, "allreduce-config"))["data"]
        assert config["hostfile"].count("\n") == count
        assert config["discover_hosts.sh"].count("echo") == count


async def test_an_evicted_worker_fails_the_job_and_the_others_stay() -> None:
    stage = await staged()
    await stage.create(MPIJOBS, mpijob(run_policy={"cleanPodPolicy": "All"}))
    await stage.engine.advance(5)
    evicted = {"status": {"phase": "Failed", "reason": "Evicted"}}
    await stage.patch(PODS, "allreduce-worker-0", evicted, subresource="status")
    await stage.engine.advance(5)
    held = await stage.get(MPIJOBS, "allreduce")
    assert conditions(held)[-1] == "Failed True MPIJobEvicted | 1/2 workers are evicted"
    assert "completionTime" not in held["status"]
    assert len(await stage.pods()) == 3


async def test_what_is_wrong_is_told_and_nothing_is_made() -> None:
    stage = await staged()
    wrong = mpijob()
    wrong["spec"]["mpiReplicaSpecs"]["Launcher"]["replicas"] = 2
    wrong["spec"]["mpiReplicaSpecs"]["Worker"]["restartPolicy"] = "Always"
    await stage.create(MPIJOBS, wrong)
    await stage.engine.advance(5)
    assert await stage.pods() == []
    assert await stage.events("allreduce") == [
        "Warning ValidationError Found validation errors: "
        "[spec.mpiReplicaSpecs[Launcher].replicas: Invalid value: 2: must be 1, "
        'spec.mpiReplicaSpecs[Worker].restartPolicy: Unsupported value: "Always": supported values: '
        '"Never", "OnFailure"] [mpi-job-controller]'
    ]


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


async def test_a_restart_policy_in_the_template_is_overridden_with_a_word() -> None:
    stage = await staged()
    wish = mpijob()
    wish["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["restartPolicy"] = "Always"
    await stage.create(MPIJOBS, wish)
    await stage.engine.advance(3)
    assert (
        "Warning SetPodTemplateRestartPolicy Restart policy in pod template overridden by restart policy in "
        "replica spec [mpi-job-controller]" in await stage.events("allreduce")
    )


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
