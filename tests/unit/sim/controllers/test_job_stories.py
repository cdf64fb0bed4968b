"""Jobs from creation to their end, as the real Job controller runs them."""

import itertools

import pytest

from cockpit.kube.resource import JOBS, PODS
from cockpit.sim.actors.controllers.job.jobs import Jobs
from cockpit.sim.port import Tree
from cockpit.sim.times import rfc3339, seconds_of
from tests.unit.sim.controllers.stage import FOR_EVER, Fate, Stage, conditions, counts, job

REACHED = "Reached expected number of succeeded pods"
LIMIT = "Job has reached the specified backoff limit"


def index(pod: Tree) -> int:
    return int(pod["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"])


async def test_a_job_of_one_pod_runs_and_completes() -> None:
    stage = await Stage([Jobs()], lambda _: ("Succeeded", 30)).start()
    made = await stage.create(JOBS, job())
    await stage.engine.advance(3)
    status = (await stage.get(JOBS, "train"))["status"]
    assert counts({"status": status}, "active", "ready", "terminating", "succeeded", "failed") == {
        "active": 1,
        "ready": 1,
        "terminating": 0,
        "succeeded": None,
        "failed": None,
    }
    assert status["startTime"] == rfc3339(stage.clock.now() - 3)
    (pod,) = await stage.pods()
    assert pod["metadata"]["name"].startswith("train-")
    assert pod["metadata"]["finalizers"] == ["batch.kubernetes.io/job-tracking"]
    assert pod["metadata"]["labels"]["batch.kubernetes.io/job-name"] == "train"
    assert pod["metadata"]["labels"]["controller-uid"] == made["metadata"]["uid"]
    assert pod["metadata"]["ownerReferences"][0] == {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "name": "train",
        "uid": made["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    await stage.engine.advance(60)
    done = await stage.get(JOBS, "train")
    assert conditions(done) == [
        f"SuccessCriteriaMet True CompletionsReached | {REACHED}",
        f"Complete True CompletionsReached | {REACHED}",
    ]
    assert counts(done, "active", "ready", "succeeded", "uncountedTerminatedPods") == {
        "active": None,
        "ready": 0,
        "succeeded": 1,
        "uncountedTerminatedPods": {},
    }
    assert done["status"]["completionTime"] == done["status"]["conditions"][1]["lastTransitionTime"]
    (pod,) = await stage.pods()
    assert "finalizers" not in pod["metadata"]
    assert await stage.events("train") == [
        f"Normal SuccessfulCreate Created pod: {pod['metadata']['name']} [job-controller]",
        "Normal Completed Job completed [job-controller]",
    ]


async def test_a_failing_pod_is_made_again_after_10_20_40_seconds_until_the_limit() -> None:
    stage = await Stage([Jobs()], lambda _: ("exit 3", 0)).start()
    await stage.create(JOBS, job(backoffLimit=3))
    await stage.engine.advance(200)
    pods = sorted(await stage.pods(), key=lambda p: str(p["metadata"]["creationTimestamp"]))
    made = [seconds_of(pod["metadata"]["creationTimestamp"]) for pod in pods]
    assert [round(later - before) for before, later in itertools.pairwise(made)] == [11, 21, 41]
    done = await stage.get(JOBS, "train")
    assert conditions(done) == [
        f"FailureTarget True BackoffLimitExceeded | {LIMIT}",
        f"Failed True BackoffLimitExceeded | {LIMIT}",
    ]
    assert counts(done, "failed", "active", "ready") == {"failed": 4, "active": None, "ready": 0}
    assert (await stage.events("train"))[-1] == f"Warning BackoffLimitExceeded {LIMIT} [job-controller]"


async def test_parallel_pods_go_when_the_job_fails_and_count_as_failed() -> None:
    def fate(pod: Tree) -> Fate:
        return ("exit 1", 5) if index(pod) == 0 else FOR_EVER

    stage = await Stage([Jobs()], fate).start()
    await stage.create(JOBS, job(completions=3, parallelism=3, completionMode="Indexed", backoffLimit=0))
    await stage.engine.advance(30)
    done = await stage.get(JOBS, "train")
    assert conditions(done)[-1] == f"Failed True BackoffLimitExceeded | {LIMIT}"
    assert done["status"]["failed"] == 3
    assert [index(pod) for pod in await stage.pods()] == [0]


async def test_an_indexed_job_gives_each_pod_its_index() -> None:
    stage = await Stage([Jobs()], lambda pod: ("Succeeded", 10)).start()
    await stage.create(JOBS, job(completions=5, parallelism=2, completionMode="Indexed"))
    await stage.engine.advance(3)
    pods = await stage.pods()
    assert [index(pod) for pod in pods] == [0, 1]
    second = pods[1]
    assert second["metadata"]["name"].startswith("train-1-")
    assert second["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"] == "1"
    assert second["spec"]["hostname"] == "train-1"
    assert second["spec"]["containers"][0]["env"] == [
        {
            "name": "JOB_COMPLETION_INDEX",
            "valueFrom": {
                "fieldRef": {
                    "apiVersion": "v1",
                    "fieldPath": "metadata.labels['batch.kubernetes.io/job-completion-index']",
                }
            },
        }
    ]
    await stage.engine.advance(10)
    assert (await stage.get(JOBS, "train"))["status"]["completedIndexes"] == "0,1"
    await stage.engine.advance(13)
    assert (await stage.get(JOBS, "train"))["status"]["completedIndexes"] == "0-3"
    await stage.engine.advance(60)
    done = await stage.get(JOBS, "train")
    assert counts(done, "succeeded", "completedIndexes") == {"succeeded": 5, "completedIndexes": "0-4"}


async def test_an_index_may_fail_alone() -> None:
    stage = await Stage([Jobs()], lambda pod: ("exit 1", 1) if index(pod) == 1 else ("Succeeded", 1)).start()
    await stage.create(
        JOBS, job(completions=3, parallelism=3, completionMode="Indexed", backoffLimitPerIndex=1)
    )
    await stage.engine.advance(60)
    done = await stage.get(JOBS, "train")
    assert conditions(done)[-1] == "Failed True FailedIndexes | Job has failed indexes"
    assert counts(done, "completedIndexes", "failedIndexes", "failed", "succeeded") == {
        "completedIndexes": "0,2",
        "failedIndexes": "1",
        "failed": 2,
        "succeeded": 2,
    }
    again = [pod for pod in await stage.pods() if index(pod) == 1]
    key = "batch.kubernetes.io/job-index-failure-count"
    assert sorted(pod["metadata"]["annotations"][key] for pod in again) == ["0", "1"]


async def test_suspended_and_resumed() -> None:
    stage = await Stage([Jobs()]).start()
    await stage.create(JOBS, job(suspend=True, parallelism=2, completions=2))
    await stage.engine.advance(2)
    held = await stage.get(JOBS, "train")
    assert conditions(held) == ["Suspended True JobSuspended | Job suspended"]
    assert "startTime" not in held["status"]
    assert await stage.pods() == []
    await stage.patch(JOBS, "train", {"spec": {"suspend": False}})
    await stage.engine.advance(5)
    held = await stage.get(JOBS, "train")
    assert conditions(held) == ["Suspended False JobResumed | Job resumed"]
    assert held["status"]["startTime"] == rfc3339(stage.clock.now() - 5)
    assert counts(held, "active", "ready") == {"active": 2, "ready": 2}
    await stage.patch(JOBS, "train", {"spec": {"suspend": True}})
    await stage.engine.advance(5)
    held = await stage.get(JOBS, "train")
    assert conditions(held) == ["Suspended True JobSuspended | Job suspended"]
    assert counts(held, "active", "ready", "failed", "startTime") == {
        "active": None,
        "ready": 0,
        "failed": None,
        "startTime": None,
    }
    assert await stage.pods() == []
    told = [line for line in await stage.events("train") if "ed Job" in line]
    assert told == [
        "Normal Suspended Job suspended [job-controller]",
        "Normal Resumed Job resumed [job-controller]",
    ]


async def test_past_its_deadline_a_job_fails() -> None:
    stage = await Stage([Jobs()]).start()
    await stage.create(JOBS, job(activeDeadlineSeconds=20))
    await stage.engine.advance(19)
    assert conditions(await stage.get(JOBS, "train")) == []
    await stage.engine.advance(3)
    message = "Job was active longer than specified deadline"
    assert conditions(await stage.get(JOBS, "train"))[-1] == f"Failed True DeadlineExceeded | {message}"
    assert await stage.pods() == []


POLICY = {
    "rules": [
        {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}},
        {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
    ]
}


async def test_a_policy_fails_the_job_at_once() -> None:
    stage = await Stage([Jobs()], lambda _: ("exit 42", 1)).start()
    await stage.create(JOBS, job(backoffLimit=6, podFailurePolicy=POLICY))
    await stage.engine.advance(30)
    (pod,) = await stage.pods()
    message = (
        f"Container main for pod team-a/{pod['metadata']['name']} failed with exit code 42 matching FailJob "
        "rule at index 0"
    )
    assert conditions(await stage.get(JOBS, "train"))[-1] == f"Failed True PodFailurePolicy | {message}"


async def test_a_policy_ignores_disruptions() -> None:
    stage = await Stage([Jobs()]).start()
    await stage.create(JOBS, job(backoffLimit=0, podFailurePolicy=POLICY))
    await stage.engine.advance(3)
    (pod,) = await stage.pods()
    disrupted = [*pod["status"]["conditions"], {"type": "DisruptionTarget", "status": "True"}]
    await stage.patch(
        PODS,
        pod["metadata"]["name"],
        {"status": {"phase": "Failed", "conditions": disrupted}},
        subresource="status",
    )
    await stage.engine.advance(30)
    held = await stage.get(JOBS, "train")
    assert counts(held, "active", "failed") == {"active": 1, "failed": None}


async def test_a_deleted_pod_counts_as_failed_and_is_made_again() -> None:
    stage = await Stage([Jobs()]).start()
    await stage.create(JOBS, job())
    await stage.engine.advance(3)
    (pod,) = await stage.pods()
    await stage.port.delete(PODS, "team-a", pod["metadata"]["name"])
    await stage.engine.advance(30)
    (after,) = await stage.pods()
    assert after["metadata"]["uid"] != pod["metadata"]["uid"]
    assert counts(await stage.get(JOBS, "train"), "active", "failed") == {"active": 1, "failed": 1}


async def test_a_job_without_a_number_of_completions_ends_with_its_first_success() -> None:
    fates: dict[str, Fate] = {}

    def fate(pod: Tree) -> Fate:
        return fates.setdefault(pod["metadata"]["name"], ("Succeeded", 5.0 + 10 * len(fates)))

    stage = await Stage([Jobs()], fate).start()
    await stage.create(JOBS, job(parallelism=3))
    await stage.engine.advance(60)
    done = await stage.get(JOBS, "train")
    assert conditions(done)[-1].startswith("Complete True")
    assert done["status"]["succeeded"] == 3
    assert len(await stage.pods()) == 3


async def test_a_success_policy_ends_the_job_early() -> None:
    stage = await Stage([Jobs()], lambda pod: ("Succeeded", 5) if index(pod) == 0 else FOR_EVER).start()
    rules = [{"succeededIndexes": "0"}]
    await stage.create(
        JOBS,
        job(completions=3, parallelism=3, completionMode="Indexed", successPolicy={"rules": rules}),
    )
    await stage.engine.advance(30)
    done = await stage.get(JOBS, "train")
    assert conditions(done) == [
        "SuccessCriteriaMet True SuccessPolicy | Matched rules at index 0",
        "Complete True SuccessPolicy | Matched rules at index 0",
    ]
    assert counts(done, "succeeded", "failed", "active") == {"succeeded": 1, "failed": None, "active": None}


async def test_fewer_are_wanted_the_youngest_pods_go_and_count_for_nothing() -> None:
    stage = await Stage([Jobs()]).start()
    await stage.create(JOBS, job(parallelism=4, completions=4))
    await stage.engine.advance(3)
    await stage.patch(JOBS, "train", {"spec": {"parallelism": 1}})
    await stage.engine.advance(5)
    assert len(await stage.pods()) == 1
    assert counts(await stage.get(JOBS, "train"), "active", "failed") == {"active": 1, "failed": None}


async def test_a_job_is_not_over_while_a_pod_is_terminating() -> None:
    stage = await Stage([Jobs()], lambda pod: ("exit 1", 1) if index(pod) == 0 else FOR_EVER).start()
    stage.puppet.removes = False
    await stage.create(JOBS, job(completions=2, parallelism=2, completionMode="Indexed", backoffLimit=0))
    await stage.engine.advance(20)
    held = await stage.get(JOBS, "train")
    assert conditions(held) == [f"FailureTarget True BackoffLimitExceeded | {LIMIT}"]
    assert counts(held, "terminating", "active") == {"terminating": 1, "active": None}
    (last,) = [pod for pod in await stage.pods() if pod["metadata"].get("deletionTimestamp")]
    await stage.port.delete(PODS, "team-a", last["metadata"]["name"], grace_seconds=0)
    await stage.engine.advance(3)
    held = await stage.get(JOBS, "train")
    assert conditions(held)[-1] == f"Failed True BackoffLimitExceeded | {LIMIT}"
    assert held["status"]["terminating"] == 0


async def test_a_job_of_another_controller_is_left_alone() -> None:
    stage = await Stage([Jobs()]).start()
    await stage.create(JOBS, job(managedBy="kueue.x-k8s.io/multikueue"))
    await stage.engine.advance(5)
    assert await stage.pods() == []
    assert (await stage.get(JOBS, "train")).get("status", {}) == {}


async def test_pods_of_a_deleted_job_lose_their_finalizer() -> None:
    stage = await Stage([Jobs()]).start()
    await stage.create(JOBS, job())
    await stage.engine.advance(3)
    await stage.port.delete(JOBS, "team-a", "train", propagation="Background")
    await stage.engine.advance(3)
    (pod,) = await stage.pods()
    assert "finalizers" not in pod["metadata"]


@pytest.mark.parametrize("seed", [1, 7])
async def test_the_same_seed_gives_the_same_history(seed: int) -> None:
    async def run() -> list[str]:
        stage = await Stage([Jobs()], lambda _: ("exit 1", 2), seed).start()
        await stage.create(JOBS, job(backoffLimit=2, parallelism=2, completions=2))
        await stage.engine.advance(120)
        return [repr(tree) for tree in [*await stage.pods(), await stage.get(JOBS, "train")]]

    assert await run() == await run()
