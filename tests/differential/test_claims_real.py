"""GPUs by claim (DRA) on the real API server and scheduler, and what the cockpit says of them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.bed.api import Api
from tests.bed.bed import Bed
from tests.bed.estate import gpu_node
from tests.bed.fixtures import fresh
from tests.tui.on_the_bed import Shell, until

pytestmark = pytest.mark.real

Tree = dict[str, Any]
GROUP = "/apis/resource.k8s.io/v1"
DRIVER = "gpu.nvidia.com"
SPACE = "claims"
NODES = ("dra-0", "dra-1", "dra-2")


def slice_of(node: str, generation: int = 1, *, cards: int = 4, count: int = 1, suffix: str = "") -> Tree:
    """What NVIDIA's driver publishes for a node: its cards, and for each one a part that could be made."""
    devices: list[Tree] = []
    for minor in range(cards):
        told = {
            "type": "gpu",
            "uuid": f"GPU-{node}-{minor}",
            "productName": "NVIDIA H100 80GB HBM3",
            "architecture": "Hopper",
        }
        devices.append(
            {
                "name": f"gpu-{minor}",
                "attributes": {name: {"string": value} for name, value in told.items()},
                "capacity": {"memory": {"value": "80Gi"}},
            }
        )
    pool = {"name": node, "generation": generation, "resourceSliceCount": count}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": f"{node}-{DRIVER}{suffix}"},
        "spec": {"driver": DRIVER, "nodeName": node, "pool": pool, "devices": devices},
    }


def requests(count: int) -> Tree:
    exactly = {"deviceClassName": DRIVER, "allocationMode": "ExactCount", "count": count}
    return {"devices": {"requests": [{"name": "gpus", "exactly": exactly}]}}


def job(name: str, pods: int, template: str) -> Tree:
    container = {
        "name": "main",
        "image": "train",
        "resources": {"requests": {"cpu": "1"}, "claims": [{"name": "gpus"}]},
    }
    spec = {
        "restartPolicy": "Never",
        "containers": [container],
        "resourceClaims": [{"name": "gpus", "resourceClaimTemplateName": template}],
    }
    return {
        "metadata": {"name": name, "namespace": SPACE},
        "spec": {"parallelism": pods, "completions": pods, "template": {"spec": spec}},
    }


def pod(name: str, claim: str) -> Tree:
    container = {"name": "main", "image": "train", "resources": {"claims": [{"name": "gpus"}]}}
    claims = [{"name": "gpus", "resourceClaimName": claim}]
    return {
        "metadata": {"name": name, "namespace": SPACE},
        "spec": {"containers": [container], "resourceClaims": claims},
    }


def node(name: str, index: int, **more: Any) -> Tree:
    """A GPU node without a device plugin: it shows no GPU, and no label tells of any."""
    tree = gpu_node(name, index, gpus=0, **more)
    labels = tree["metadata"]["labels"]
    for key in [key for key in labels if key.startswith("nvidia.com/")]:
        del labels[key]
    return tree


def may_read_others(api: Api) -> None:
    """The service account `blind` reads what the cockpit shows, but not what comes by claim."""
    api.create(f"/api/v1/namespaces/{SPACE}/serviceaccounts", {"metadata": {"name": "blind"}})
    resources = ["pods", "nodes", "events", "namespaces", "services", "jobs"]
    rule = {"apiGroups": ["", "batch"], "resources": resources, "verbs": ["get", "list", "watch"]}
    rights = "/apis/rbac.authorization.k8s.io/v1"
    api.create(f"{rights}/clusterroles", {"metadata": {"name": "blind"}, "rules": [rule]})
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "blind"}
    subject = {"kind": "ServiceAccount", "name": "blind", "namespace": SPACE}
    binding = {"metadata": {"name": "blind"}, "roleRef": role, "subjects": [subject]}
    api.create(f"{rights}/clusterrolebindings", binding)


@pytest.fixture(scope="module")
def bed(request: pytest.FixtureRequest) -> Iterator[Bed]:
    yield from fresh({"apiserver", "kcm", "scheduler", "kwok"}, request, namespace=False)


@pytest.fixture(scope="module")
def api(bed: Bed) -> Api:
    """Nodes with slices, a class, and pods that claim: two of a job, and two that share one card."""
    api = bed.api()
    api.create("/api/v1/namespaces", {"metadata": {"name": SPACE}})
    may_read_others(api)
    for index, name in enumerate(NODES):
        api.apply(node(name, index))
    expression = f'device.driver == "{DRIVER}" && device.attributes["{DRIVER}"].type == "gpu"'
    selector = {"cel": {"expression": expression}}
    api.create(f"{GROUP}/deviceclasses", {"metadata": {"name": DRIVER}, "spec": {"selectors": [selector]}})
    for name in NODES[:2]:
        api.create(f"{GROUP}/resourceslices", slice_of(name))
    half = slice_of(NODES[2], count=2)
    api.create(f"{GROUP}/resourceslices", half)
    spaced = f"{GROUP}/namespaces/{SPACE}"
    for count in (2, 3):
        template = {"metadata": {"name": f"gpus-{count}"}, "spec": {"spec": requests(count)}}
        api.create(f"{spaced}/resourceclaimtemplates", template)
    api.create(f"{spaced}/resourceclaims", {"metadata": {"name": "together"}, "spec": requests(1)})
    api.create(f"/apis/batch/v1/namespaces/{SPACE}/jobs", job("train", 2, "gpus-3"))
    for name in ("left", "right"):
        api.create(f"/api/v1/namespaces/{SPACE}/pods", pod(name, "together"))

    def is_running() -> bool:
        pods = api.items(f"/api/v1/namespaces/{SPACE}/pods")
        running = [one for one in pods if one["status"].get("phase") == "Running"]
        return len(running) == 4

    until("the pods run", lambda: is_running() or None)
    return api


@pytest.fixture
def shell(bed: Bed, api: Api, tmp_path: Path) -> Shell:
    """With a context `blind` of somebody who may read everything but slices and claims."""
    tree = yaml.safe_load(bed.kubeconfig.read_text())
    account = f"/api/v1/namespaces/{SPACE}/serviceaccounts/blind/token"
    token = api.create(account, {"spec": {}})["status"]["token"]
    tree["users"].append({"name": "blind", "user": {"token": token}})
    tree["contexts"].append({"name": "blind", "context": {"cluster": "bed", "user": "blind"}})
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(yaml.safe_dump(tree))
    return Shell(kubeconfig, tmp_path)


def by(key: str, rows: list[Tree]) -> dict[str, Tree]:
    return {row[key]: row for row in rows}


def claims(api: Api) -> dict[str, set[str]]:
    """UUIDs by the pod that the server's own claims give them to."""
    found: dict[str, set[str]] = {}
    for one in api.items(f"{GROUP}/namespaces/{SPACE}/resourceclaims"):
        results = one["status"]["allocation"]["devices"]["results"]
        cards = {f"GPU-{result['pool']}-{result['device'].removeprefix('gpu-')}" for result in results}
        for consumer in one["status"]["reservedFor"]:
            found.setdefault(consumer["name"], set()).update(cards)
    return found


def test_nodes_have_the_gpus_of_their_slices(shell: Shell) -> None:
    rows = by("name", shell.items("nodes"))
    told = ("gpu_capacity", "gpu_model", "gpu_memory_bytes")
    whole = (4, "NVIDIA-H100-80GB-HBM3", 80 << 30)
    assert [tuple(rows[name][one] for one in told) for name in NODES] == [
        *(whole, whole),
        (None, "", None),  # half of its slices: nothing counts
    ]
    assert sum(rows[name]["gpus_allocated"] for name in NODES) == 7


def test_cards_are_given_to_the_pods_that_claimed_them(shell: Shell, api: Api) -> None:
    rows = shell.items("gpus")
    assert len(rows) == 8
    held = {row["uuid"]: (row["pod_name"], row["mark"]) for row in rows if row["pod_name"]}
    told = claims(api)
    for name, cards in told.items():
        if name.startswith("train"):
            assert {uuid: held[uuid] for uuid in cards} == dict.fromkeys(cards, (name, "sure"))
    (shared,) = told["left"]
    assert told["right"] == {shared}
    assert held[shared] == ("left", "shared")
    assert [row["mark"] for row in rows if not row["pod_name"]] == ["free"]


def test_a_jobs_gpus_are_those_of_its_claims(shell: Shell) -> None:
    train = by("name", shell.items("jobs"))["train"]
    assert (train["gpus_allocated"], train["gpus_wanted"], train["has_unknown_gpus"]) == (6, 6, False)
    pods = by("name", shell.items("pods"))
    assert sorted((pods[name]["gpus"], pods[name]["gpus_shared"]) for name in ("left", "right")) == [
        (0, 1),
        (1, 0),
    ]


def test_who_may_not_read_them_is_told_unknown_and_never_none(shell: Shell, api: Api) -> None:
    for kind, name in (("nodes", "gpu_capacity"), ("pods", "gpus"), ("jobs", "gpus_allocated")):
        done = shell.run("get", kind, "-o", "json", "--context", "blind")
        assert "list or watch resource" in done.stderr, done.stderr
        values = [row[name] for row in json.loads(done.stdout)["items"]]
        assert values
        assert set(values) == {None}, kind
    table = shell.run("get", "nodes", "--context", "blind").stdout.splitlines()
    shown = {line.split()[0]: line for line in table if line.startswith("dra-")}
    assert " none " in shown[NODES[2]]  # nothing there asks for devices
    assert not any(" none " in shown[name] for name in NODES[:2])


def test_a_new_generation_takes_the_place_of_the_old_one(shell: Shell, api: Api) -> None:
    api.create(f"{GROUP}/resourceslices", slice_of(NODES[2], 2, cards=3, suffix="-new"))
    assert by("name", shell.items("nodes"))[NODES[2]]["gpu_capacity"] == 3


def test_a_pod_that_waits_asks_for_what_its_claim_asks_for(shell: Shell, api: Api) -> None:
    api.create(f"/apis/batch/v1/namespaces/{SPACE}/jobs", job("waits", 4, "gpus-3"))

    def has_claims() -> bool:
        found = api.items(f"{GROUP}/namespaces/{SPACE}/resourceclaims")
        return len([one for one in found if one["metadata"]["name"].startswith("waits")]) == 4

    until("claims of the job", lambda: has_claims() or None)
    assert by("name", shell.items("jobs"))["waits"]["gpus_wanted"] == 12
