"""Reasons of waiting containers: one table, whatever page shows them."""

import msgspec
import pytest

from cockpit.k8s.waiting_reasons import Severity, waiting_reason
from cockpit.model.finding import Subject
from cockpit.model.job import Job, JobState
from cockpit.model.pod import Pod
from cockpit.store.store import Store
from cockpit.triage.context import ClusterView
from cockpit.triage.engine import explain
from cockpit.views.states import pod_words
from cockpit.views.why import lines
from tests.unit.views.builders import pod

KUBELETS = (
    *("ErrImagePull", "ImagePullBackOff", "ImageInspectError", "InvalidImageName", "ErrImageNeverPull"),
    *("RegistryUnavailable", "SignatureValidationFailed", "CreateContainerConfigError"),
    *("CreateContainerError", "RunContainerError", "CrashLoopBackOff"),
)


def waits(reason: str) -> Pod:
    return msgspec.structs.replace(
        pod("job-worker-0", phase="Pending"), waiting_reason=reason, is_ready=False
    )


@pytest.mark.parametrize("reason", KUBELETS)
def test_what_does_not_take_its_course_has_plain_words_and_a_remedy(reason: str) -> None:
    known = waiting_reason(reason)
    assert known.words != reason
    assert known.severity is not Severity.PROGRESS
    assert known.remedy.endswith(".")


def test_a_start_that_takes_its_course_is_no_trouble() -> None:
    for reason in ("ContainerCreating", "PodInitializing"):
        assert waiting_reason(reason).severity is Severity.PROGRESS
        assert pod_words(waits(reason)) == ("starting", "info")


class OneJob:
    """The rows of one job with one pod."""

    def __init__(self, member: Pod) -> None:
        self._member = member
        self._job = Job(
            key="j",
            uid="j",
            namespace="team",
            name="j",
            kind="Job",
            api_version="batch/v1",
            state=JobState.STARTING,
        )
        self.jobs = {"j": self._job}

    def job(self, key: str) -> Job | None:
        return self.jobs.get(key)

    def members(self, key: str) -> tuple[Pod, ...]:
        return (self._member,)

    def strays(self) -> list[Pod]:
        return []

    def job_of_pod(self, pod: Pod) -> Job | None:
        return self._job if pod == self._member else None

    def moved_since(self, number: int) -> tuple[int, None]:
        return number, None


def told_of(member: Pod) -> list[str]:
    view = ClusterView(store=Store(), jobs=OneJob(member), now_seconds=0.0)
    return lines(explain(Subject("job", "team", "j"), view), view)


def test_the_page_that_says_why_names_the_remedy_once() -> None:
    told = told_of(waits("ImagePullBackOff"))
    assert told.count("  Check the image's name and tag, and the pull secret.") == 1
    assert not any("Check" in one for one in told_of(waits("ContainerCreating")))
