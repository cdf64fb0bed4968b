"""What is asked of the cluster is built in one place, alike from each thing that tells it."""

import re
from pathlib import Path

from cockpit.fit.demand import asked_of, directed, held_by, parts_of_sets, parts_of_workload
from cockpit.fit.node_filters import fit_nodes
from cockpit.fit.preemption import preempt
from cockpit.fit.shape import Part, Shape
from cockpit.fit.snapshot import ClusterSnapshot
from cockpit.jobs.planned import planned_gang
from cockpit.model.gang import PodSet
from cockpit.model.scheduling import Toleration, Traits
from tests.unit.fit.builders import NVIDIA, fleet, holder, node

PRODUCT = Path(__file__).parents[3] / "cockpit"


def test_no_other_file_builds_a_shape() -> None:
    builds = [
        str(path.relative_to(PRODUCT))
        for path in PRODUCT.glob("*/**/*.py")
        if "sim" not in path.parts
        and re.search(r"(?<![\w.])Shape\(\n? *\w+=", path.read_text(encoding="utf-8"))
    ]
    assert sorted(builds) == ["fit/demand.py", "fit/shape.py"]


def test_devices_by_claim_are_held_beside_what_is_asked_for_by_name() -> None:
    traits = Traits(resources=(("rdma/hca", 1), (NVIDIA, 2)))
    pod = holder("a", "n1", 5, gpus_claimed=3, traits=traits, cpu_millicores=500)
    assert held_by(pod) == {NVIDIA: 5, "rdma/hca": 1, "cpu": 500, "memory": 0, "pods": 1}


def test_the_end_of_a_pod_gives_back_its_claimed_devices() -> None:
    traits = Traits(resources=(("rdma/hca", 1), (NVIDIA, 2)))
    held = holder("a", "n1", 8, gpus_claimed=6, traits=traits, priority=1)
    snapshot = ClusterSnapshot(fleet(node("n1"), held))
    part = Part("main", 1, Shape(requests=((NVIDIA, 8),), priority=5))
    push = preempt(snapshot, part, fit_nodes(snapshot, part.shape), 1)
    assert push is not None
    assert push.victims == ("t/a",)


def test_an_engine_object_asks_for_what_its_record_asks_for() -> None:
    spec = {"containers": [{"name": "c", "resources": {"limits": {NVIDIA: "2"}}}]}
    template = {"spec": {**spec, "nodeSelector": {"zone": "a"}}}
    whole = {"spec": {"podSets": [{"name": "worker", "count": 3, "template": template}]}}
    (read,) = parts_of_workload(whole, "t")
    (told,) = parts_of_sets([PodSet("worker", 3, ((NVIDIA, 6),), selector="zone=a")], "t")
    assert (read.role, read.count, read.shape.requests) == (told.role, told.count, told.shape.requests)
    assert read.shape.node_selector == told.shape.node_selector == (("zone", "a"),)
    assert asked_of([read]) == {"pods": 3, NVIDIA: 6}


def test_a_pod_of_a_manifest_asks_for_what_its_workload_does() -> None:
    template = {"spec": {"containers": [{"name": "c", "resources": {"limits": {NVIDIA: "1"}}}]}}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j", "namespace": "t"}}
    planned = planned_gang({**job, "spec": {"parallelism": 2, "template": template}})
    (read,) = parts_of_workload({"spec": {"podSets": [{"count": 2, "template": template}]}}, "t")
    assert (planned[0].role, planned[0].count) == (read.role, read.count)
    assert planned[0].shape.requests == read.shape.requests


def test_flavors_add_labels_and_tolerations() -> None:
    part = Part("main", 2, Shape(node_selector=(("zone", "a"),)))
    made = directed(part, {"pool": "h100"}, (Toleration("gpu", "Exists"),))
    assert made.shape.node_selector == (("pool", "h100"), ("zone", "a"))
    assert made.shape.tolerations == (Toleration("gpu", "Exists"),)
