"""Jobs that are no row: as they are written they ask for no GPU."""

from cockpit.model.finding import Subject
from cockpit.triage.engine import explain
from tests.unit.triage.objects import job, node, pods_of, view_of


def test_a_job_that_asks_for_a_resource_that_no_node_offers() -> None:
    wants = {"name": "main", "resources": {"limits": {"nvidia.com/gpus": "5"}}}
    typo = job("typo", 1, 0, containers=[wants])
    pods = pods_of(typo)
    refused = "0/1 nodes are available: 1 Insufficient nvidia.com/gpus."
    pods[0]["status"]["conditions"][0]["message"] = refused
    view = view_of([node("a"), typo, *pods])
    assert not view.jobs.jobs
    found = explain(Subject("job", "team-a", "typo"), view)
    assert found.cause == "resource-not-offered"
    assert found.sentence == "no node offers nvidia.com/gpus; nodes offer nvidia.com/gpu"
    assert found.subject == Subject("job", "team-a", "typo")
