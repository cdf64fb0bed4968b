"""Jobs from creation to their end, as the real Job controller runs them."""

from cockpit.kube.resource import JOBS, PODS
from cockpit.sim.actors.controllers.job.jobs import Jobs
from cockpit.sim.port import Tree
from tests.unit.sim.controllers.stage import FOR_EVER, Fate, Stage, conditions, counts, job

LIMIT = "Job has reached the specified backoff limit"


def index(pod: Tree) -> int:
    return int(pod["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"])


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
