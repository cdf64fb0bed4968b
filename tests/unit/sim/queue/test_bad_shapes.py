"""Jobs and cluster queues whose parts are of other types: the schema names them, nothing fails before it."""

from typing import Any

import pytest

from cockpit.kube.resource import JOBS, MPIJOBS, Resource
from cockpit.sim.actors.queue.admission import QueueAdmission, _check_cluster_queue


@pytest.mark.parametrize(
    "spec",
    [
        *(
            [],
            "x",
            1,
            None,
            {"resourceGroups": 1},
            {"resourceGroups": ["x"]},
            {"resourceGroups": [{"flavors": 1}]},
        ),
        {"resourceGroups": [{"coveredResources": 1, "flavors": [{"resources": "cpu"}, 1]}]},
    ],
)
def test_what_is_no_cluster_queue_is_left_to_its_schema(spec: Any) -> None:
    _check_cluster_queue({"metadata": {"name": "a"}, "spec": spec})


class _Request:
    subresource = ""

    def __init__(self, resource: Resource) -> None:
        self.resource = resource


@pytest.mark.parametrize("before", [None, {}])
@pytest.mark.parametrize(
    ("resource", "spec"),
    [
        *((kind, spec) for kind in (JOBS, MPIJOBS) for spec in ([], [1], "x", 1, True, False, 0.5)),
        *((MPIJOBS, {"runPolicy": policy}) for policy in ("x", [1], 1, True, [], "")),
    ],
)
def test_what_is_no_job_is_left_to_its_schema(resource: Resource, spec: Any, before: Any) -> None:
    metadata = {"name": "a", "namespace": "ml", "labels": {"kueue.x-k8s.io/queue-name": "q"}}
    old = None if before is None else {"metadata": metadata, "spec": before}
    given = {"metadata": metadata, "spec": spec}
    assert QueueAdmission(lambda namespace: True)(_Request(resource), given, old) == given
