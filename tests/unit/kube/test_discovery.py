"""Discovery: aggregated, the old way, and half an answer."""

from typing import Any

import pytest

from cockpit.errors import Refused
from cockpit.kube.discovery import Served, discover
from cockpit.kube.resource import NODES, PODS, WORKLOADS
from cockpit.kube.session import ApiSession
from tests.unit.kube.builders import FakeServer, refuse, reply


def entry(plural: str, kind: str, *subresources: str, scope: str = "Namespaced") -> dict[str, Any]:
    return {
        "resource": plural,
        "responseKind": {"kind": kind},
        "scope": scope,
        "verbs": ["get", "list", "watch"],
        "shortNames": [plural[:2]],
        "subresources": [{"subresource": one} for one in subresources],
    }


def group(name: str, **versions: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "metadata": {"name": name},
        "versions": [{"version": version, "resources": resources} for version, resources in versions.items()],
    }


def aggregated(*groups: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "items": list(groups)}


async def served_by(server: FakeServer, session: ApiSession, core: Any, groups: Any) -> Served:
    server.on("/api", core)
    server.on("/apis", groups)
    return await discover(session)


CORE = aggregated(
    group("", v1=[entry("pods", "Pod", "log", "eviction"), entry("nodes", "Node", scope="Cluster")])
)


async def test_aggregated(server: FakeServer, session: ApiSession) -> None:
    groups = aggregated(
        group(
            "kueue.x-k8s.io",
            v1beta2=[entry("workloads", "Workload")],
            v1beta1=[entry("workloads", "Workload"), entry("old", "Old")],
        ),
        group(
            "cluster.x-k8s.io", v1beta2=[entry("machinedeployments", "MachineDeployment", "scale", "status")]
        ),
        group(
            "apps",
            v1=[entry("deployments", "Deployment", "scale")],
            v1beta1=[entry("deployments", "Deployment", "scale")],
        ),
    )
    served = await served_by(server, session, reply(CORE), reply(groups))
    assert len(server.seen) == 2
    assert "as=APIGroupDiscoveryList" in server.seen[0].headers["Accept"]
    assert served.find("", "Pod") == PODS
    assert served.find("", "nodes") == NODES
    assert served.find("kueue.x-k8s.io", "Workload") == WORKLOADS
    older = served.find("kueue.x-k8s.io", "workloads", "v1beta1")
    assert older is not None
    assert older.version == "v1beta1"
    assert served.find("kueue.x-k8s.io", "Old") is not None
    assert served.find("kubeflow.org", "MPIJob") is None
    scaled = {one.resource.label for one in served.resources if "scale" in one.subresources}
    assert scaled == {"machinedeployments.cluster.x-k8s.io", "deployments.apps"}
    pods = served.entry("", "pods")
    assert pods is not None
    assert pods.can_watch
    assert pods.subresources == ("log", "eviction")


async def test_stale_groups_are_named(server: FakeServer, session: ApiSession) -> None:
    groups = aggregated(
        {"metadata": {"name": "metrics.k8s.io"}, "versions": [{"version": "v1beta1", "freshness": "Stale"}]}
    )
    served = await served_by(server, session, reply(CORE), reply(groups))
    assert served.incomplete == ("metrics.k8s.io/v1beta1",)


async def test_the_old_way(server: FakeServer, session: ApiSession) -> None:
    server.on(
        "/api/v1",
        reply(
            {
                "resources": [
                    {"name": "pods", "kind": "Pod", "namespaced": True, "verbs": ["list", "watch"]},
                    {"name": "pods/log", "kind": "Pod", "namespaced": True, "verbs": ["get"]},
                    {"name": 7},
                ]
            }
        ),
    )
    resources = [
        {"name": "workloads", "kind": "Workload", "namespaced": True, "verbs": []},
        {"name": "workloads/scale", "kind": "Scale", "namespaced": True, "verbs": []},
    ]
    server.on("/apis/kueue.x-k8s.io/v1beta1", reply({"resources": resources}))
    server.on("/apis/kueue.x-k8s.io/v1beta2", reply({"resources": resources}))
    server.on("/apis/broken/v1", refuse(503, "ServiceUnavailable", "no"))
    server.on("/apis/lying/v1", reply("<html>"))
    served = await served_by(
        server,
        session,
        reply({"kind": "APIVersions", "versions": ["v1"]}),
        reply(
            {
                "kind": "APIGroupList",
                "groups": [
                    {
                        "name": "kueue.x-k8s.io",
                        "preferredVersion": {"version": "v1beta2"},
                        "versions": [{"version": "v1beta1"}, {"version": "v1beta2"}],
                    },
                    {"name": "broken", "versions": [{"version": "v1"}]},
                    {"name": "lying", "versions": [{"version": "v1"}]},
                ],
            }
        ),
    )
    assert served.find("", "Pod") == PODS
    assert served.find("kueue.x-k8s.io", "workloads") == WORKLOADS
    assert served.incomplete == ("broken/v1", "lying/v1")
    assert {one.resource.plural for one in served.resources if "scale" in one.subresources} == {"workloads"}


@pytest.mark.parametrize(
    "tree", [{}, {"kind": "APIGroupDiscoveryList"}, aggregated({"versions": [7]}, {"metadata": None})]
)
async def test_odd_documents(server: FakeServer, session: ApiSession, tree: dict[str, Any]) -> None:
    served = await served_by(server, session, reply(CORE), reply(tree))
    assert served.find("", "Pod") == PODS
    assert served.groups() == {""}


async def test_refused(server: FakeServer, session: ApiSession) -> None:
    with pytest.raises(Refused, match="refuses discovery"):
        await served_by(server, session, reply(CORE), refuse(403, "Forbidden", "no"))
