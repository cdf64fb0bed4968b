"""A whole embedded server: rights, admissions, warnings and faults as a client of it meets them."""

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
