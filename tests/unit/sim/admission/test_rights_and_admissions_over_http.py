"""A whole embedded server: rights, admissions, warnings and faults as a client of it meets them."""

import re
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from random import Random
from typing import Any

import aiohttp
import pytest

from cockpit.clock import ManualClock
from cockpit.sim.faults.script import Script
from cockpit.sim.server.run import Embedded, serving

SPACE = "/api/v1/namespaces/team-a"
RBAC = "/apis/rbac.authorization.k8s.io/v1"


class Client:
    def __init__(self, server: Embedded, http: aiohttp.ClientSession, clock: ManualClock) -> None:
        self.server = server
        self.clock = clock
        self._http = http
        self._tls = ssl.create_default_context(cafile=str(server.ca_file))

    async def ask(
        self, who: str, method: str, path: str, tree: Any = None, **more: Any
    ) -> tuple[int, Any, list[str]]:
        """Status, body, and the Warning headers."""
        headers = {"Authorization": f"Bearer {self.server.tokens[who]}"}
        url = self.server.url + path
        async with self._http.request(
            method, url, json=tree, headers=headers, ssl=self._tls, **more
        ) as answer:
            body = await answer.json(content_type=None)
            return answer.status, body, answer.headers.getall("Warning", [])


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    clock = ManualClock()
    async with serving(tmp_path, clock, Random(1)) as server, aiohttp.ClientSession() as http:
        yield Client(server, http, clock)


def gpu_pod(name: str, gpus: int, **spec: Any) -> dict[str, Any]:
    limits = {"limits": {"nvidia.com/gpu": str(gpus)}}
    containers = [{"name": "c", "image": "i", "resources": limits}]
    return {"metadata": {"name": name}, "spec": {"containers": containers, **spec}}


async def test_rights_of_the_shipped_users(client: Client) -> None:
    status, body, _ = await client.ask("viewer", "POST", f"{SPACE}/pods", gpu_pod("p", 1))
    assert (status, body["message"]) == (
        403,
        'pods is forbidden: User "viewer" cannot create resource "pods" in API group "" in the namespace '
        '"team-a"',
    )
    assert (await client.ask("viewer", "GET", "/api/v1/secrets"))[0] == 403
    assert (await client.ask("viewer", "GET", "/api/v1/pods"))[0] == 200
    assert (await client.ask("engineer", "POST", f"{SPACE}/pods", gpu_pod("p", 1)))[0] == 201
    assert (await client.ask("nobody", "GET", "/version"))[0] == 200
    assert (await client.ask("expired", "GET", "/version"))[0] == 401


async def test_a_new_binding_counts_at_once(client: Client) -> None:
    lead = {
        "metadata": {"name": "lead"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "admin"},
        "subjects": [{"kind": "User", "name": "nobody", "apiGroup": "rbac.authorization.k8s.io"}],
    }
    path = f"{RBAC}/namespaces/team-a/rolebindings"
    assert (await client.ask("nobody", "GET", f"{SPACE}/pods"))[0] == 403
    assert (await client.ask("admin", "POST", path, lead))[0] == 201
    assert (await client.ask("nobody", "GET", f"{SPACE}/pods"))[0] == 200


async def test_a_quota_is_shown_and_kept(client: Client) -> None:
    quota = {"metadata": {"name": "q"}, "spec": {"hard": {"requests.nvidia.com/gpu": "4"}}}
    assert (await client.ask("admin", "POST", f"{SPACE}/resourcequotas", quota))[0] == 201
    assert (await client.ask("engineer", "POST", f"{SPACE}/pods", gpu_pod("a", 3)))[0] == 201
    shown = (await client.ask("engineer", "GET", f"{SPACE}/resourcequotas/q"))[1]
    assert shown["status"] == {
        "hard": {"requests.nvidia.com/gpu": "4"},
        "used": {"requests.nvidia.com/gpu": "3"},
    }
    status, body, _ = await client.ask("engineer", "POST", f"{SPACE}/pods?dryRun=All", gpu_pod("b", 2))
    assert (status, body["message"]) == (
        403,
        'pods "b" is forbidden: exceeded quota: q, requested: requests.nvidia.com/gpu=2, '
        "used: requests.nvidia.com/gpu=3, limited: requests.nvidia.com/gpu=4",
    )
    assert (await client.ask("engineer", "DELETE", f"{SPACE}/pods/a?gracePeriodSeconds=0"))[0] == 200
    assert (await client.ask("engineer", "POST", f"{SPACE}/pods", gpu_pod("b", 2)))[0] == 201
    shown = (await client.ask("engineer", "GET", f"{SPACE}/resourcequotas/q"))[1]
    assert shown["status"]["used"] == {"requests.nvidia.com/gpu": "2"}


async def test_a_refusal_tells_the_whole_name_that_was_made_up(client: Client) -> None:
    tree = gpu_pod("", 1, priorityClassName="nix") | {"metadata": {"generateName": "worker-"}}
    status, body, _ = await client.ask("engineer", "POST", f"{SPACE}/pods", tree)
    assert status == 403
    assert re.fullmatch(
        r'pods "worker-[a-z0-9]{5}" is forbidden: no PriorityClass with name nix was found', body["message"]
    )


async def test_a_quota_counts_a_kind_that_was_defined_after_it(client: Client) -> None:
    quota = {"metadata": {"name": "q"}, "spec": {"hard": {"count/boxes.example.org": "1"}}}
    assert (await client.ask("admin", "POST", f"{SPACE}/resourcequotas", quota))[0] == 201
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    definition = {
        "metadata": {"name": "boxes.example.org"},
        "spec": {
            "group": "example.org",
            "scope": "Namespaced",
            "names": {"plural": "boxes", "singular": "box", "kind": "Box"},
            "versions": [
                {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
            ],
        },
    }
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    assert (await client.ask("admin", "POST", path, definition))[0] == 201
    boxes = "/apis/example.org/v1/namespaces/team-a/boxes"
    box = {"apiVersion": "example.org/v1", "kind": "Box"}
    assert (await client.ask("admin", "POST", boxes, {**box, "metadata": {"name": "a"}}))[0] == 201
    status, body, _ = await client.ask("admin", "POST", boxes, {**box, "metadata": {"name": "b"}})
    assert (status, body["message"]) == (
        403,
        'boxes.example.org "b" is forbidden: exceeded quota: q, requested: count/boxes.example.org=1, '
        "used: count/boxes.example.org=1, limited: count/boxes.example.org=1",
    )


async def test_pod_security_refuses_and_warns(client: Client) -> None:
    label = {"metadata": {"labels": {"pod-security.kubernetes.io/warn": "baseline"}}}
    headers = {"Content-Type": "application/merge-patch+json"}
    await _patch(client, "/api/v1/namespaces/team-a", label, headers)
    status, _, warnings = await client.ask("engineer", "POST", f"{SPACE}/pods", gpu_pod("w", 1, hostPID=True))
    assert status == 201
    assert warnings == [
        '299 - "would violate PodSecurity \\"baseline:latest\\": host namespaces (hostPID=true)"'
    ]
    label = {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "baseline"}}}
    warnings = await _patch(client, "/api/v1/namespaces/team-a", label, headers)
    assert [text for text in warnings if "w: host namespaces" in text]
    status, body, _ = await client.ask("engineer", "POST", f"{SPACE}/pods", gpu_pod("x", 1, hostPID=True))
    assert (status, body["message"]) == (
        403,
        'pods "x" is forbidden: violates PodSecurity "baseline:latest": host namespaces (hostPID=true)',
    )


async def _patch(client: Client, path: str, tree: Any, headers: dict[str, str]) -> list[str]:
    token = client.server.tokens["admin"]
    async with client._http.patch(
        client.server.url + path,
        json=tree,
        headers={"Authorization": f"Bearer {token}", **headers},
        ssl=client._tls,
    ) as answer:
        assert answer.status == 200, await answer.text()
        return answer.headers.getall("Warning", [])


async def test_new_pods_get_account_priority_and_tolerations(client: Client) -> None:
    made = (await client.ask("engineer", "POST", f"{SPACE}/pods", gpu_pod("p", 1)))[1]
    spec = made["spec"]
    assert (spec["serviceAccountName"], spec["priority"], len(spec["tolerations"])) == ("default", 0, 2)
    status, body, _ = await client.ask(
        "engineer", "POST", f"{SPACE}/pods", gpu_pod("q", 1, priorityClassName="nix")
    )
    assert (status, body["message"]) == (
        403,
        'pods "q" is forbidden: no PriorityClass with name nix was found',
    )


async def test_the_server_misbehaves_as_a_script_says(client: Client) -> None:
    rules = [
        {"match": {"user": "viewer"}, "do": {"expire_token": True}, "start": "1m"},
        {"match": {"verb": "list", "kind": "pods"}, "do": {"status": 429}, "count": 1},
        {"match": {"verb": "watch", "kind": "namespaces"}, "do": {"gone": 1}},
    ]
    client.server.faults.choose = Script.read(rules, client.clock, 1).choose
    found = [(await client.ask("viewer", "GET", "/api/v1/pods"))[0] for _ in range(2)]
    assert found == [429, 200]
    assert (await client.ask("viewer", "GET", f"{SPACE}/pods"))[0] == 200
    headers = {"Authorization": f"Bearer {client.server.tokens['admin']}"}
    url = f"{client.server.url}/api/v1/namespaces?watch=true"
    async with client._http.get(url, headers=headers, ssl=client._tls) as answer:
        lines = (await answer.read()).splitlines()
    assert [line.split(b'"')[3] for line in lines] == [b"ADDED", b"ERROR"]
    client.clock.advance(60.0)
    assert (await client.ask("viewer", "GET", "/api/v1/pods"))[0] == 401
    assert (await client.ask("admin", "GET", "/api/v1/pods"))[0] == 200
    assert (await client.ask("admin", "POST", f"{SPACE}/pods", gpu_pod("after", 1)))[0] == 201
