"""Plays for the Job, MPIJob, Deployment and budget controllers, the real ones and ours.

Those of StatefulSets and of claims on devices are in `stateful_plays`.

Nobody schedules and nobody runs: there is no node, and the play itself says what becomes of a pod. At every
`look` both sides must come to show the same.

| what | compared | left out |
| --- | --- | --- |
| every status | counts, indexes, conditions in order, which times are set | the times |
| objects that make pods, budgets, claims | labels, finalizers, owners | uids, hashes |
| Node | taints, conditions | lists of addresses and images |
| pods | how many, phase, conditions, labels, annotations, finalizers, owners | random ends of names |
| specs of pods | host names, env, commands, volumes, mounts, affinity | what admission adds |
| Service, ConfigMap, Secret of an MPIJob | labels, owner, selectors, data | the ssh keys |
| events of these controllers | object, type, reason, message | counts, order, that a worker was made twice |

Not modelled by ours, and in no play: adoption of pods without an owner, PodGroups and Workloads that a Job
makes for itself (alpha in 1.36), several budgets for one pod (the real controller keeps one of them up to
date), maxSurge of DaemonSets, Volcano PodGroups of MPIJobs, hash collisions of templates.
"""

from typing import Any

from tests.differential.controller_ground import Play, Side, Tree, ended, job, pod_spec, run_all


def job_completes(side: Side) -> None:
    side.make(job(parallelism=2, completions=2))
    side.look()
    run_all(side, "train-")
    side.look()
    first, second = side.pods("train-")
    side.become(first, **ended(0))
    side.look()
    side.become(second, **ended(0))
    side.look()


def job_fails_at_once(side: Side) -> None:
    side.make(job(parallelism=2, completions=2, backoffLimit=0))
    side.look()
    side.become(side.pods("train-")[0], **ended(3))
    side.look()


def job_tries_again(side: Side) -> None:
    side.make(job(backoffLimit=1))
    side.look()
    side.become(side.pods("train-")[0], **ended(1))
    side.look()


def job_suspended_and_resumed(side: Side) -> None:
    side.make(job(parallelism=2, completions=2, suspend=True))
    side.look()
    side.change("jobs", "train", {"spec": {"suspend": False}})
    side.look()
    run_all(side, "train-")
    side.look()
    side.change("jobs", "train", {"spec": {"suspend": True}})
    side.look()
    side.change("jobs", "train", {"spec": {"suspend": False}})
    side.look()


def job_indexed(side: Side) -> None:
    side.make(job(completions=4, parallelism=2, completionMode="Indexed"))
    side.look()
    run_all(side, "train-")
    side.look()
    side.become(side.pods("train-1-")[0], **ended(0))
    side.look()
    for index in (0, 2, 3):
        side.become(side.pods(f"train-{index}-")[0], **ended(0))
        side.look()


def job_index_fails(side: Side) -> None:
    side.make(job(completions=3, parallelism=3, completionMode="Indexed", backoffLimitPerIndex=0))
    side.look()
    side.become(side.pods("train-1-")[0], **ended(1))
    side.look()
    for index in (0, 2):
        side.become(side.pods(f"train-{index}-")[0], **ended(0))
        side.look()


def job_too_many_indexes_fail(side: Side) -> None:
    wish = job(completions=3, parallelism=3, completionMode="Indexed", backoffLimitPerIndex=0)
    wish["spec"]["maxFailedIndexes"] = 0
    side.make(wish)
    side.look()
    side.become(side.pods("train-2-")[0], **ended(1))
    side.look()


def job_with_a_success_policy(side: Side) -> None:
    rules = [{"succeededIndexes": "0,2", "succeededCount": 1}]
    wish = job(completions=3, parallelism=3, completionMode="Indexed", successPolicy={"rules": rules})
    side.make(wish)
    side.look()
    side.become(side.pods("train-1-")[0], **ended(0))
    side.look()
    side.become(side.pods("train-2-")[0], **ended(0))
    side.look()


def job_with_a_failure_policy(side: Side) -> None:
    rules = [
        {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
        {"action": "FailJob", "onExitCodes": {"containerName": "main", "operator": "In", "values": [42]}},
    ]
    side.make(job(backoffLimit=0, parallelism=2, completions=2, podFailurePolicy={"rules": rules}))
    side.look()
    condition = {"type": "DisruptionTarget", "status": "True"}
    side.become(side.pods("train-")[0], phase="Failed", conditions=[condition])
    side.look()
    side.become(side.pods("train-")[0], **ended(42))
    side.look()


def job_past_its_deadline(side: Side) -> None:
    side.make(job(activeDeadlineSeconds=3))
    side.look()


def job_of_any_success(side: Side) -> None:
    side.make(job(parallelism=3))
    side.look()
    side.become(*side.pods("train-"), **ended(0))
    side.look()


def job_that_wants_fewer(side: Side) -> None:
    side.make(job(parallelism=3, completions=3))
    side.look()
    side.change("jobs", "train", {"spec": {"parallelism": 1}})
    side.look()


def job_goes_when_finished(side: Side) -> None:
    side.make(job(ttlSecondsAfterFinished=2))
    side.make(job("kept"))
    side.look()
    side.become(*side.pods("train-"), *side.pods("kept-"), **ended(0))
    side.look()


def job_is_deleted_in_the_foreground(side: Side) -> None:
    side.make(job(parallelism=2, completions=2))
    side.look()
    side.remove("jobs", "train", "Foreground")
    side.look()


def job_is_orphaned(side: Side) -> None:
    side.make(job(parallelism=2, completions=2))
    side.look()
    side.remove("jobs", "train", "Orphan")
    side.look()


def mpijob(workers: int = 2, run_policy: Tree | None = None, **spec: Any) -> Tree:
    return {
        "apiVersion": "kubeflow.org/v2beta1",
        "kind": "MPIJob",
        "metadata": {"name": "allreduce"},
        "spec": {
            "slotsPerWorker": 8,
            "runPolicy": run_policy or {},
            "mpiReplicaSpecs": {
                "Launcher": {"replicas": 1, "template": {"spec": pod_spec(None)}},
                "Worker": {"replicas": workers, "template": {"spec": pod_spec(None)}},
            },
            **spec,
        },
    }


def suspend(side: Side, is_suspended: bool) -> None:
    side.change("mpijobs", "allreduce", {"spec": {"runPolicy": {"suspend": is_suspended}}})


def mpijob_suspended_resumed_running_done(side: Side) -> None:
    side.make(mpijob(run_policy={"suspend": True, "cleanPodPolicy": "Running"}))
    side.look()
    suspend(side, False)
    side.look()
    run_all(side, "allreduce-worker")
    side.look()
    run_all(side, "allreduce-launcher")
    side.look()
    side.become(side.pods("allreduce-launcher")[0], **ended(0))
    side.look()


def mpijob_fails(side: Side) -> None:
    side.make(mpijob(run_policy={"backoffLimit": 0}))
    run_all(side, "allreduce-")
    side.look()
    message = "rank 2 exited with code 137"
    side.become(side.pods("allreduce-launcher")[0], phase="Failed", reason="Error", message=message)
    side.look()


def mpijob_is_held_while_it_runs(side: Side) -> None:
    side.make(mpijob())
    run_all(side, "allreduce-")
    side.look()
    suspend(side, True)
    side.look()
    suspend(side, False)
    side.look()


def mpijob_loses_a_worker(side: Side) -> None:
    side.make(mpijob(run_policy={"cleanPodPolicy": "All"}))
    run_all(side, "allreduce-")
    side.look()
    side.become(
        "allreduce-worker-1", phase="Failed", reason="Evicted", message="The node was low on resource"
    )
    side.look()


def mpijob_waits_for_its_workers(side: Side) -> None:
    side.make(mpijob(launcherCreationPolicy="WaitForWorkersReady"))
    side.look()
    run_all(side, "allreduce-worker")
    side.look()


def mpijob_stretches(side: Side) -> None:
    side.make(mpijob(3))
    run_all(side, "allreduce-")
    side.look()
    for count in (1, 2):
        patch = {"spec": {"mpiReplicaSpecs": {"Worker": {"replicas": count}}}}
        side.change("mpijobs", "allreduce", patch)
        side.look()


def mpijob_of_intel_with_a_working_launcher(side: Side) -> None:
    side.make(mpijob(mpiImplementation="Intel", runLauncherAsWorker=True, sshAuthMountPath="/home/mpi/.ssh"))
    side.look()


def mpijob_that_is_wrong(side: Side) -> None:
    wish = mpijob()
    wish["spec"]["mpiReplicaSpecs"]["Launcher"]["replicas"] = 2
    wish["spec"]["mpiReplicaSpecs"]["Worker"]["restartPolicy"] = "Always"
    side.make(wish)
    side.look()


def mpijob_overrides_a_restart_policy(side: Side) -> None:
    wish = mpijob()
    wish["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["restartPolicy"] = "Never"
    side.make(wish)
    side.look()


def mpijob_is_deleted(side: Side) -> None:
    side.make(mpijob())
    side.look()
    side.remove("mpijobs", "allreduce")
    side.look()


def deployment(replicas: int = 4, **spec: Any) -> Tree:
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": pod_spec(None)}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "annotations": {"team": "a"}},
        "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template, **spec},
    }


def deployment_is_scaled(side: Side) -> None:
    side.make(deployment(1))
    run_all(side, "web-")
    side.look()
    side.change("deployments", "web", {"spec": {"replicas": 3}})
    side.look()
    side.change("deployments", "web", {"spec": {"replicas": 2}})
    side.look()


def budget(name: str, **spec: Any) -> Tree:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, **spec},
    }


def counted(side: Side, wish: Tree) -> None:
    side.make(wish)
    side.look()
    side.make(deployment(3))
    side.look()
    run_all(side, "web-")
    side.look()
    side.change("deployments", "web", {"spec": {"replicas": 2}})
    side.look()


def budget_of_a_number(side: Side) -> None:
    counted(side, budget("number", minAvailable=2))


def budget_of_a_share(side: Side) -> None:
    counted(side, budget("share", minAvailable="60%"))


def budget_of_the_most(side: Side) -> None:
    counted(side, budget("most", maxUnavailable=1))


def budget_of_a_job(side: Side) -> None:
    wish = job()
    wish["spec"]["template"]["metadata"]["labels"] = {"app": "web"}
    side.make(wish)
    side.make(budget("most", maxUnavailable=1))
    side.look()


PLAYS: tuple[Play, ...] = (
    job_completes,
    job_fails_at_once,
    job_tries_again,
    job_suspended_and_resumed,
    job_indexed,
    job_index_fails,
    job_too_many_indexes_fail,
    job_with_a_success_policy,
    job_with_a_failure_policy,
    job_past_its_deadline,
    job_of_any_success,
    job_that_wants_fewer,
    job_goes_when_finished,
    job_is_deleted_in_the_foreground,
    job_is_orphaned,
    deployment_is_scaled,
    budget_of_a_number,
    budget_of_a_share,
    budget_of_the_most,
    budget_of_a_job,
)

MPIJOB_PLAYS: tuple[Play, ...] = (
    mpijob_suspended_resumed_running_done,
    mpijob_fails,
    mpijob_is_held_while_it_runs,
    mpijob_loses_a_worker,
    mpijob_waits_for_its_workers,
    mpijob_stretches,
    mpijob_of_intel_with_a_working_launcher,
    mpijob_that_is_wrong,
    mpijob_overrides_a_restart_policy,
    mpijob_is_deleted,
)
