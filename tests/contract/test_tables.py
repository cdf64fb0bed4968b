"""What `kubectl get` is handed: columns and cells of a Table."""

import time
from typing import Any

import pytest

from tests.bed.api import Api
from tests.bed.rights import binding
from tests.contract.asking import in_space
from tests.contract.shapes import (
    GROUP,
    budget,
    configmap,
    crd,
    deployment,
    event,
    job,
    node,
    pod,
    role,
)

ACCEPT = "application/json;as=Table;v=v1;g=meta.k8s.io"
APPS, BATCH, RBAC = "/apis/apps/v1", "/apis/batch/v1", "/apis/rbac.authorization.k8s.io/v1"


def _table(admin: Api, path: str) -> tuple[list[tuple[str, int]], list[list[Any]]]:
    """Names and priorities of the columns, and cells (ages left out: they differ)."""
    reply = admin.request("GET", path, accept=ACCEPT)
    tree = reply.json()
    assert (tree["kind"], tree["apiVersion"]) == ("Table", "meta.k8s.io/v1")
    columns = [(one["name"], one["priority"]) for one in tree["columnDefinitions"]]
    timely = [name in ("Age", "Created At", "Last Seen", "First Seen") for name, _ in columns]
    rows = [
        [None if old else cell for cell, old in zip(row["cells"], timely, strict=True)]
        for row in tree["rows"] or ()
    ]
    return columns, rows


def _names(columns: list[tuple[str, int]], priority: int) -> str:
    return " ".join(name for name, level in columns if level == priority)


def test_pods(space: str, admin: Api) -> None:
    admin.create(in_space(space, "pods"), pod("a"))
    columns, rows = _table(admin, in_space(space, "pods"))
    assert _names(columns, 0) == "Name Ready Status Restarts Age"
    assert _names(columns, 1) == "IP Node Nominated Node Readiness Gates"
    assert rows == [["a", "0/1", "Pending", "0", None, "<none>", "<none>", "<none>", "<none>"]]
    status = {
        "phase": "Running",
        "conditions": [{"type": "Ready", "status": "True"}],
        "podIP": "10.1.2.3",
        "podIPs": [{"ip": "10.1.2.3"}],
        "containerStatuses": [
            {
                "name": "main",
                "image": "x",
                "imageID": "x",
                "ready": True,
                "restartCount": 2,
                "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}},
                "lastState": {},
            }
        ],
    }
    admin.merge(f"{in_space(space, 'pods', 'a')}/status", {"status": status})
    _, rows = _table(admin, in_space(space, "pods"))
    assert rows == [["a", "1/1", "Running", "2", None, "10.1.2.3", "<none>", "<none>", "<none>"]]


def test_workloads(space: str, admin: Api) -> None:
    admin.create(in_space(space, "jobs", base=BATCH), job("train"))
    admin.create(in_space(space, "deployments", base=APPS), deployment("serve", 0))
    columns, rows = _table(admin, in_space(space, "jobs", base=BATCH))
    assert _names(columns, 0) == "Name Status Completions Duration Age"
    assert _names(columns, 1) == "Containers Images Selector"
    assert rows[0][0] == "train"
    assert rows[0][2:3] == ["0/1"]
    assert rows[0][5:7] == ["main", "registry.test/train:1"]
    columns, rows = _table(admin, in_space(space, "deployments", base=APPS))
    assert _names(columns, 0) == "Name Ready Up-to-date Available Age"
    assert rows == [["serve", "0/0", 0, 0, None, "main", "registry.test/serve:1", "app=serve"]]
    columns, _ = _table(admin, in_space(space, "replicasets", base=APPS))
    assert _names(columns, 0) == "Name Desired Current Ready Age"
    columns, _ = _table(admin, in_space(space, "daemonsets", base=APPS))
    assert _names(columns, 0) == "Name Desired Current Ready Up-to-date Available Node Selector Age"


def test_nodes(space: str, admin: Api) -> None:
    tree = node(f"t-{space}", labels={"node-role.kubernetes.io/gpu": ""})
    tree["spec"] = {"unschedulable": True}
    tree["status"]["addresses"] = [{"type": "InternalIP", "address": "10.1.1.1"}]
    tree["status"]["nodeInfo"] = {
        "kubeletVersion": "v1.36.0",
        "osImage": "Some Linux",
        "kernelVersion": "6.12",
        "containerRuntimeVersion": "sim://1",
        **dict.fromkeys(("machineID", "systemUUID", "bootID", "kubeProxyVersion", "operatingSystem"), ""),
        "architecture": "amd64",
    }
    admin.create("/api/v1/nodes", tree)
    try:
        columns, rows = _table(admin, f"/api/v1/nodes/t-{space}")
        assert _names(columns, 0) == "Name Status Roles Age Version"
        assert _names(columns, 1) == "Internal-IP External-IP OS-Image Kernel-Version Container-Runtime"
        wide = ["10.1.1.1", "<none>", "Some Linux", "6.12 (amd64)", "sim://1"]
        assert rows == [[f"t-{space}", "Unknown,SchedulingDisabled", "gpu", None, "v1.36.0", *wide]]
    finally:
        admin.delete(f"/api/v1/nodes/t-{space}")


def test_settings(space: str, admin: Api) -> None:
    admin.create(in_space(space, "configmaps"), configmap("c", a="1", b="2"))
    admin.create(
        in_space(space, "secrets"), {"metadata": {"name": "s"}, "type": "Opaque", "stringData": {"x": "1"}}
    )
    admin.create(
        in_space(space, "services"),
        {"metadata": {"name": "v"}, "spec": {"clusterIP": "None", "ports": [{"port": 80}]}},
    )
    _, rows = _table(admin, in_space(space, "configmaps", "c"))
    assert rows == [["c", 2, None]]
    columns, rows = _table(admin, in_space(space, "secrets", "s"))
    assert _names(columns, 0) == "Name Type Data Age"
    assert rows == [["s", "Opaque", 1, None]]
    columns, rows = _table(admin, in_space(space, "services"))
    assert _names(columns, 0) == "Name Type Cluster-IP External-IP Port(s) Age"
    assert rows == [["v", "ClusterIP", "None", "<none>", "80/TCP", None, "<none>"]]


def test_rights_and_budgets(space: str, admin: Api) -> None:
    base = f"{RBAC}/namespaces/{space}"
    admin.create(f"{base}/roles", role("r", ("", "pods", ("get",))))
    admin.create(f"{base}/rolebindings", binding("r", "nils"))
    columns, rows = _table(admin, f"{base}/rolebindings")
    assert _names(columns, 0) == "Name Role Age"
    assert rows == [["r", "Role/r", None, "nils", "", ""]]
    columns, _ = _table(admin, f"{base}/roles")
    assert _names(columns, 0) == "Name Created At"
    budgets = in_space(space, "poddisruptionbudgets", base="/apis/policy/v1")
    admin.create(budgets, budget("keep", 1, {"app": "x"}))
    columns, rows = _table(admin, budgets)
    assert _names(columns, 0) == "Name Min Available Max Unavailable Allowed Disruptions Age"
    assert rows == [["keep", "1", "N/A", 0, None]]


LISTED = [
    ("namespaces", "/api/v1/namespaces", "Name Status Age", ""),
    ("serviceaccounts", "/api/v1/serviceaccounts", "Name Age", ""),
    ("resourcequotas", "/api/v1/resourcequotas", "Name Request Limit Age", ""),
    ("limitranges", "/api/v1/limitranges", "Name Created At", ""),
    (
        "claims",
        "/api/v1/persistentvolumeclaims",
        "Name Status Volume Capacity Access Modes StorageClass VolumeAttributesClass Age",
        "VolumeMode",
    ),
    (
        "volumes",
        "/api/v1/persistentvolumes",
        "Name Capacity Access Modes Reclaim Policy Status Claim StorageClass VolumeAttributesClass "
        "Reason Age",
        "VolumeMode",
    ),
    (
        "events",
        "/api/v1/events",
        "Last Seen Type Reason Object Message",
        "Subobject Source First Seen Count Name",
    ),
    ("leases", "/apis/coordination.k8s.io/v1/leases", "Name Holder Age", ""),
    (
        "priorities",
        "/apis/scheduling.k8s.io/v1/priorityclasses",
        "Name Value Global-Default Age PreemptionPolicy",
        "",
    ),
    ("definitions", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "Name Created At", ""),
    ("cluster roles", f"{RBAC}/clusterroles", "Name Created At", ""),
    ("cluster bindings", f"{RBAC}/clusterrolebindings", "Name Role Age", "Users Groups ServiceAccounts"),
]


@pytest.mark.parametrize(
    ("path", "shown", "wide"), [one[1:] for one in LISTED], ids=[one[0] for one in LISTED]
)
def test_columns_of_other_kinds(admin: Api, path: str, shown: str, wide: str) -> None:
    columns, _ = _table(admin, path)
    assert (_names(columns, 0), _names(columns, 1)) == (shown, wide)


def test_an_event_has_its_source_before_its_message(space: str, admin: Api) -> None:
    path = in_space(space, "events")
    about = {"kind": "Pod", "metadata": {"name": "p", "uid": "u"}}
    admin.create(path, event("e", space, about, reason="Failed", message="no such image", count=3))
    columns, rows = _table(admin, path)
    assert [name for name, _ in columns] == [
        *("Last Seen", "Type", "Reason", "Object", "Subobject", "Source", "Message"),
        *("First Seen", "Count", "Name"),
    ]
    assert rows == [
        [None, "Warning", "Failed", "pod/p", "", "contract", "no such image", None, 3, "e"],
    ]


@pytest.mark.parametrize(
    ("path", "rows"),
    [
        ("/api/v1/namespaces/{space}/pods", []),
        ("/api/v1/namespaces/{space}/events", []),
        ("/apis/batch/v1/namespaces/{space}/jobs", []),
        ("/apis/policy/v1/namespaces/{space}/poddisruptionbudgets", []),
        # kinds that the real server has no printer for
        ("/apis/rbac.authorization.k8s.io/v1/namespaces/{space}/roles", None),
        ("/api/v1/namespaces/{space}/limitranges", None),
    ],
)
def test_a_table_of_nothing_has_no_rows(space: str, admin: Api, path: str, rows: list[Any] | None) -> None:
    reply = admin.request("GET", path.format(space=space), accept=ACCEPT)
    assert reply.json()["rows"] == rows


def test_columns_of_a_definition(space: str, admin: Api) -> None:
    tree = crd("printeds", "Printed")
    tree["spec"]["versions"][0]["additionalPrinterColumns"] = [
        {"name": "Replicas", "type": "integer", "jsonPath": ".spec.replicas"},
        {"name": "Size", "type": "string", "jsonPath": ".spec.size", "priority": 1},
    ]
    admin.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", tree)
    path = f"/apis/{GROUP}/v1/namespaces/{space}/printeds"
    deadline = time.monotonic() + 20
    while admin.request("GET", path).status != 200 and time.monotonic() < deadline:
        time.sleep(0.05)
    made = {
        "apiVersion": f"{GROUP}/v1",
        "kind": "Printed",
        "metadata": {"name": "x"},
        "spec": {"replicas": 3},
    }
    admin.create(path, made)
    columns, rows = _table(admin, path)
    assert columns == [("Name", 0), ("Replicas", 0), ("Size", 1)]
    assert rows == [["x", 3, None]]
    admin.delete(f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/printeds.{GROUP}")


@pytest.mark.parametrize(("include", "has"), [("None", None), ("Metadata", "metadata"), ("Object", "spec")])
def test_what_travels_with_a_row(space: str, admin: Api, include: str, has: str | None) -> None:
    admin.create(in_space(space, "pods"), pod("a"))
    reply = admin.request("GET", in_space(space, "pods"), accept=ACCEPT, query=[("includeObject", include)])
    (row,) = reply.json()["rows"]
    if has is None:
        assert row["object"] is None
    else:
        assert has in row["object"]
        assert ("spec" in row["object"]) is (has == "spec")
