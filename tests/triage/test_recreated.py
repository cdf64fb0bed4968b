"""On the embedded cluster, as on the real controllers (`tests/differential/test_recreated_real.py`): a job
that is made once more is admitted."""

import json
from collections.abc import Iterator

import pytest

from cockpit.jobs.clone import as_written
from cockpit.jobs.pod_templates import containers, pod_templates
from cockpit.model.finding import Subject
from tests.differential.recreate_plays import KEPT_MARK, kept_mark, play, set_scene
from tests.triage.applied import OfferGround
from tests.triage.bed_stage import BedStage
from tests.triage.case import Case, CaseFile, Recorded, read_cases
from tests.triage.draw import Draw
from tests.triage.offer_plays import embedded

pytestmark = pytest.mark.waits

NOW = 1_800_000_000.0


class _Stage(BedStage):
    """Nobody publishes the cluster's certificates here."""

    def _await_account(self, space: str) -> None:
        self.until("serviceaccounts", lambda one: one["metadata"]["name"] == "default", space=space)


@pytest.fixture(scope="module")
def ground() -> Iterator[OfferGround]:
    file = CaseFile((), "gpus-short", (), Subject("job", "a", "b"), (), NOW, Recorded("fixture", "none", 1))
    with embedded(Case("recreated", file, {})) as made:
        yield made


@pytest.mark.parametrize(
    ("kind", "state", "how"),
    [
        ("Job", "running", "recreate"),
        ("MPIJob", "preempted", "recreate"),
        ("MPIJob", "queued", "clone"),
        ("Job", "finished", "retry"),
    ],
)
def test_it_is_admitted_again(ground: OfferGround, kind: str, state: str, how: str) -> None:
    stage = _Stage(ground.api, ground.served, Draw(f"{kind}-{state}-{how}", 1))
    play(set_scene(stage, ground), kind, state, how)


def test_a_template_that_keeps_the_mark_of_another_workload_is_never_started(ground: OfferGround) -> None:
    stage = _Stage(ground.api, ground.served, Draw("kept", 1))
    assert kept_mark(set_scene(stage, ground)) == KEPT_MARK


KINDS = ("Job", "MPIJob", "JobSet", "Pod", "RayJob", "TrainJob")
WRITTEN = (
    *("controller-uid", "kueue.x-k8s.io/workload", '"kueue.x-k8s.io/podset"', "volcano.sh/task-spec"),
    *("volcano.sh/job-name", "scheduling.k8s.io/group-name: podgroup-", "training.kubeflow.org/job-role"),
    *("jobset.sigs.k8s.io/jobset-uid", "kube-api-access-", "resourceVersion", "ownerReferences"),
)
"""What recordings of the real components hold, and no author wrote."""


def test_nothing_that_recorded_components_wrote_is_taken_along() -> None:
    seen = 0
    for case in read_cases():
        for tree in (one for some in case.objects.values() for one in some if one.get("kind") in KINDS):
            made = as_written(tree)
            text = json.dumps(made)
            left = [mark for mark in (*WRITTEN, tree["metadata"].get("uid") or "uid: none") if mark in text]
            assert not left, f"{case.name} {tree['kind']} {tree['metadata']['name']}: {left}"
            assert as_written(made) == made
            before = [one for _, template in pod_templates(tree) for one in containers(template)]
            after = [one for _, template in pod_templates(made) for one in containers(template)]
            assert [one.get("image") for one in before] == [one.get("image") for one in after]
            seen += 1
    assert seen > 300
