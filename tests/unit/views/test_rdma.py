"""RDMA devices on pods: which names count, and what a row shows of them, from the object on."""

import msgspec
import pytest

from cockpit.kube.decode.decoders import POD
from cockpit.model.batch import Batch
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.store.store import Store
from cockpit.views import job_page, pods, rdma
from cockpit.views.view_state import ViewState
from tests.unit.views.builders import NOW


@pytest.mark.parametrize(
    ("resource", "is_one"),
    [
        ("rdma/hca", True),
        ("rdma/hca_shared_devices_a", True),
        ("rdma/ib", True),
        ("vpc.amazonaws.com/efa", True),
        ("nvidia.com/hostdev", True),
        ("openshift.io/mlnx_rdma", True),
        ("example.com/hca-shared", True),
        ("intel.com/roce", True),
        ("nvidia.com/gpu", False),
        ("hugepages-2Mi", False),
        ("rdma", False),
        ("example.com/chart", False),
        ("example.com/thca", False),
    ],
)
def test_names(resource: str, is_one: bool) -> None:
    assert rdma.is_rdma(resource) is is_one


def decoded(limits: dict[str, str], node: str = "gpu-1", *, containers: int = 1) -> Pod:
    tree = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "w-0", "namespace": "team-a", "uid": "u-0"},
        "spec": {
            "nodeName": node,
            "containers": [{"name": f"c{at}", "resources": {"limits": limits}} for at in range(containers)],
        },
        "status": {"phase": "Running" if node else "Pending"},
    }
    found = POD.from_json(msgspec.json.encode(tree))
    assert isinstance(found, Pod)
    return found


GPUS = {"nvidia.com/gpu": "8", "cpu": "8"}


def test_what_a_pod_was_given_is_read_from_its_object() -> None:
    assert rdma.devices(decoded({**GPUS, "rdma/hca": "1"})) == (("rdma/hca", 1),)
    assert rdma.devices(decoded({**GPUS, "rdma/hca": "1", "rdma/ib": "2"}, containers=2)) == (
        ("rdma/hca", 2),
        ("rdma/ib", 4),
    )
    assert rdma.devices(decoded(GPUS)) == ()


def test_rows_of_pods_and_of_members_show_it() -> None:
    given, asks, none = decoded({**GPUS, "rdma/hca": "1"}), decoded({"rdma/ib": "2"}, ""), decoded(GPUS)
    assert (rdma.cell(given).text, rdma.cell(given).tone) == ("1 hca", "")
    assert (rdma.cell(asks).text, rdma.cell(asks).tone) == ("2 ib", "dim")
    assert rdma.cell(none).text == ""
    made = Store()
    made.apply(Batch(kind=Kind.POD, changed=(given,)))
    for table in (
        pods.table(made, ViewState(), NOW),
        job_page.members_table([given], made, ViewState(), NOW),
    ):
        ids = [one.id for one in table.columns]
        assert table.cells(0)[ids.index("rdma")].text == "1 hca"
    found = pods.table(made, ViewState(filter="rdma>0"), NOW)
    assert len(found) == 1
