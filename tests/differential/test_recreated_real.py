"""On the real Kueue, Job controller, mpi-operator and JobSet a job that is made once more is admitted."""

from collections.abc import Iterator

import pytest

from tests.bed import builder, engines, sandbox
from tests.bed.bed import Bed
from tests.bed.fixtures import fresh
from tests.differential.recreate_plays import KEPT_MARK, WAYS, kept_mark, play, set_scene
from tests.triage.applied import OfferGround
from tests.triage.bed_stage import BedStage, Served
from tests.triage.draw import Draw

pytestmark = [pytest.mark.real, pytest.mark.heavy, pytest.mark.waits]


@pytest.fixture(scope="module")
def bed(request: pytest.FixtureRequest) -> Iterator[Bed]:
    """No nodes: pods stay as they are made."""
    if (reason := sandbox.why_not()) is not None:
        pytest.skip(reason)
    has_jobset = builder.cached("jobset") is not None
    yield from fresh({"kueue", "mpi", *(("jobset",) if has_jobset else ())}, request)


def _stage(bed: Bed, name: str) -> tuple[BedStage, OfferGround]:
    api = bed.api()
    served = Served(api)
    return BedStage(api, served, Draw(name, 1)), OfferGround(api, served, bed.kubeconfig)


@pytest.mark.parametrize("kind", ["Job", "MPIJob", "JobSet"])
@pytest.mark.parametrize(("state", "how"), WAYS)
def test_it_is_admitted_again(bed: Bed, kind: str, state: str, how: str) -> None:
    if kind == "JobSet" and "jobset" not in bed.parts:
        pytest.skip(engines.NOT_BUILT.format("jobset"))
    stage, ground = _stage(bed, f"{kind}-{state}-{how}")
    try:
        play(set_scene(stage, ground), kind, state, how)
    finally:
        stage.close()


def test_a_template_that_keeps_the_mark_of_another_workload_is_never_started(bed: Bed) -> None:
    stage, ground = _stage(bed, "kept")
    try:
        assert kept_mark(set_scene(stage, ground)) == KEPT_MARK
    finally:
        stage.close()
