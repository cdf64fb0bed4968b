"""Two faults in one namespace are told apart: each by its object, and both where they are in one job."""

from cockpit.catalogue import Cause
from cockpit.model.finding import Finding
from cockpit.triage.attention import needs_human
from tests.triage.builders import pod_spec
from tests.triage.case import Case, CaseFile, Recorded, Tree
from tests.triage.fixture_stage import FixtureStage
from tests.triage.world import store_of
from tests.unit.triage.test_walk_sentences import JOB, stage, verdict

QUOTA = (
    "exceeded quota: q1, requested: requests.nvidia.com/gpu=8, used: requests.nvidia.com/gpu=8, "
    "limited: requests.nvidia.com/gpu=8"
)
LIMIT = "maximum memory usage per Container is 4Gi, but limit is 16Gi"
JOBSET = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet"}


def jobset_of(one: FixtureStage, *messages: str) -> None:
    """A JobSet whose parts are refused one by one with these words."""
    template = {"spec": {"template": {"spec": pod_spec(gpus=8)}}}
    parts = [{"name": f"part{at}", "replicas": 1, "template": template} for at in range(len(messages))]
    one.make({**JOBSET, "metadata": {"name": JOB}, "spec": {"replicatedJobs": parts}, "status": {}})
    whole = one.one("jobsets.jobset.x-k8s.io", JOB)
    for at, message in enumerate(messages):
        made = one.job(f"{JOB}-part{at}-0", pod_spec(gpus=8), status={"active": 0})
        made["metadata"]["ownerReferences"] = one.owner(whole)
        one.event(made, "FailedCreate", message, by="job-controller", ago=60 + at)


def test_parts_of_a_job_that_are_refused_for_different_reasons_are_told_both() -> None:
    one = stage()
    one.pool(1)
    jobset_of(one, QUOTA, LIMIT)
    found = verdict(one)
    assert {found.cause, *found.also} == {Cause.NAMESPACE_QUOTA_USED_UP, Cause.OUTSIDE_LIMIT_RANGE}


def test_a_member_whose_image_needs_a_secret_and_one_that_a_quota_refuses_are_told_both() -> None:
    one = stage()
    where, spec = one.pool(2), pod_spec(gpus=8)
    made = one.job(JOB, spec, pods=2)
    denied = "pull access denied, repository does not exist or may require authorization: unauthorized"
    state = one.container({"waiting": {"reason": "ImagePullBackOff", "message": denied}})
    one.job_pod(made, spec, on=where.nodes[0], status={"containerStatuses": [state]})
    one.event(made, "FailedCreate", QUOTA, by="job-controller")
    found = verdict(one)
    assert {found.cause, *found.also} == {Cause.NAMESPACE_QUOTA_USED_UP, Cause.IMAGE_NOT_PULLED}


def rows_of_two(*messages: str) -> list[Finding]:
    """What *Now* says of jobs in one namespace that are refused with these words."""
    one = stage()
    one.pool(1)
    for at, message in enumerate(messages):
        made: Tree = one.job(f"{JOB}-{at}", pod_spec(gpus=8), status={"active": 0})
        one.event(made, "FailedCreate", message, by="job-controller", ago=300, count=3)
    now = one.now_seconds + 900
    file = CaseFile((), "gpus-short", (), verdict(one).subject, (), now, Recorded("fixture", "none", 1))
    store, jobs = store_of(Case("two", file, one.objects()))
    return [row for row in needs_human(store, jobs, now) if row.finding == "job-waits"]


def test_jobs_of_a_namespace_are_a_row_for_each_object_that_refuses_them() -> None:
    assert len(rows_of_two(QUOTA, LIMIT)) == 2
    assert len(rows_of_two(QUOTA, QUOTA.replace("q1", "q2"))) == 2
    assert [row.others for row in rows_of_two(QUOTA, QUOTA)] == [1]
