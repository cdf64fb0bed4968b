"""Without a queue, on the real controllers: a job that is recreated has pods of its own again."""

from collections.abc import Iterator

import pytest

from tests.bed import sandbox
from tests.bed.bed import Bed
from tests.bed.fixtures import fresh
from tests.differential.recreate_plays import LABELS, MAKERS, run_verb
from tests.triage.applied import OfferGround
from tests.triage.bed_stage import BedStage, Served
from tests.triage.case import Tree
from tests.triage.draw import Draw

pytestmark = [pytest.mark.real, pytest.mark.heavy, pytest.mark.waits]


@pytest.fixture(scope="module")
def bed(request: pytest.FixtureRequest) -> Iterator[Bed]:
    """No nodes: pods stay as they are made."""
    if (reason := sandbox.why_not()) is not None:
        pytest.skip(reason)
    yield from fresh({"mpi"}, request)


@pytest.mark.parametrize("kind", ["Job", "MPIJob"])
def test_it_has_pods_again(bed: Bed, kind: str) -> None:
    api = bed.api()
    served = Served(api)
    stage = BedStage(api, served, Draw(kind, 1))
    try:
        tree = MAKERS[kind]("fit", {})
        (tree["spec"] if kind == "Job" else tree["spec"]["runPolicy"]).pop("suspend")
        stage.make(tree)
        old = stage.until("pods", _is_member)["metadata"]["uid"]
        (before,) = stage.get(LABELS[kind])
        run_verb(OfferGround(api, served, bed.kubeconfig), "recreate", f"{kind.lower()}/{stage.space}/fit")
        (after,) = stage.get(LABELS[kind])
        assert after["metadata"]["uid"] != before["metadata"]["uid"]
        stage.until("pods", lambda pod: _is_member(pod) and pod["metadata"]["uid"] != old)
        assert before["spec"].keys() == after["spec"].keys()
    finally:
        stage.close()


def _is_member(pod: Tree) -> bool:
    metadata = pod["metadata"]
    return metadata["name"].startswith("fit-") and "deletionTimestamp" not in metadata
