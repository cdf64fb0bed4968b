"""Addresses of the embedded cluster are invented: nothing of it ever connects to one on the real network."""

import json
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from cockpit.kube.resource import NODES, PODS, SERVICES
from cockpit.sim.actors.kubelet.checks import run_probe
from cockpit.sim.scenarios.loading import find, load
from cockpit.sim.serve import Options, running
from tests.unit.sim.http.conftest import Client, pod
from tests.unit.sim.http.only_loopback import only_loopback

ELSEWHERE = "192.0.2.7"  # TEST-NET-1: nobody's
API = "/api/v1/namespaces"
SOCKETS = ("v5.channel.k8s.io", "v4.channel.k8s.io")
SPDY = {"Connection": "Upgrade", "Upgrade": "SPDY/3.1"}


@pytest.fixture
async def demo(tmp_path: Path) -> AsyncIterator[Client]:
    """A demo half a minute old, and its client."""
    async with (
        running(load(find("default")), tmp_path, Options(warm_seconds=30.0)) as (server, _),
        aiohttp.ClientSession() as http,
    ):
        yield Client(server, http)


def names(client: Client, resource: Any) -> list[tuple[str, str]]:
    shelf = client.server.operations.storage.shelf(resource)
    metas = [one.tree["metadata"] for one in shelf.between("")]
    return [(meta.get("namespace", ""), meta["name"]) for meta in metas]


async def patch_status(client: Client, path: str, status: dict[str, Any]) -> None:
    headers = {"Content-Type": "application/merge-patch+json"}
    body = json.dumps({"status": status})
    code, told = await client.ask("PATCH", f"{path}/status", headers=headers, data=body)
    assert code == 200, told


async def walk(client: Client) -> set[int]:
    """Every way in which the server passes a request on, for every object there is; answers the statuses."""
    seen: set[int] = set()

    async def ask(method: str, path: str, **more: Any) -> None:
        code, told = await client.ask(method, path, **more)
        assert code != 500 or "dial" in str(told), (path, told)
        seen.add(code)

    async def connect(path: str, protocols: tuple[str, ...]) -> None:
        try:
            async with client.connect(path, "admin", protocols) as socket_:
                await socket_.close()
            seen.add(101)
        except aiohttp.WSServerHandshakeError as refused:
            seen.add(refused.status)

    for namespace, name in names(client, PODS):
        path = f"{API}/{namespace}/pods/{name}"
        for form in (name, f"{name}:80", f"https:{name}:10250", f"http:{name}:9400"):
            await ask("GET", f"{API}/{namespace}/pods/{form}/proxy/metrics")
        await ask("POST", f"{path}/proxy/", data=b"x")
        await ask("GET", f"{path}/log", params={"tailLines": "1"})
        for rest in ("exec?command=true&stdout=1", "attach?stdout=1", "portforward?ports=80"):
            await ask("POST", f"{path}/{rest}", headers=SPDY)
            await connect(f"{path}/{rest}", SOCKETS)
    for namespace, name in names(client, SERVICES):
        for form in (name, f"{name}:80", f"https:{name}:443", f"{name}:http"):
            await ask("GET", f"{API}/{namespace}/services/{form}/proxy/")
    for _, name in names(client, NODES):
        for form in (name, f"{name}:10250", f"https:{name}:10250"):
            for rest in ("metrics", "metrics/cadvisor", "pods", "healthz", "exec/a/b/c"):
                await ask("GET", f"/api/v1/nodes/{form}/proxy/{rest}")
    return seen


async def test_no_way_through_a_demo_leaves_this_machine(demo: Client) -> None:
    assert len(names(demo, PODS)) > 5
    with only_loopback() as tried:
        seen = await walk(demo)
    assert tried == []
    assert {101, 200, 503} <= seen, "exporters, kubelets and shells answer, the rest is unavailable"


async def invent(client: Client) -> None:
    """Objects whose addresses somebody wrote."""
    service: dict[str, Any] = {
        "metadata": {"name": "claimed"},
        "spec": {"selector": {"app": "claimed"}, "ports": [{"port": 80, "targetPort": 80}]},
    }
    await client.make(f"{API}/team-a/services", service)
    addresses = {"far": ELSEWHERE, "private": "10.9.8.7", "six": "2001:db8::7", "meta": "169.254.169.254"}
    for name, address in addresses.items():
        tree = pod(name, nodeName="far")
        tree["metadata"]["labels"] = {"app": "claimed"}
        tree["spec"]["containers"][0]["ports"] = [{"containerPort": 80}]
        await client.make(f"{API}/team-a/pods", tree)
        ready = [{"type": "Ready", "status": "True"}]
        await patch_status(client, f"{API}/team-a/pods/{name}", {"podIP": address, "conditions": ready})
    for name, addresses_ in (
        ("far", [{"type": "InternalIP", "address": ELSEWHERE}]),
        ("named", [{"type": "Hostname", "address": "kubelet.invalid"}]),
        ("odd", [{"type": "InternalIP", "address": "2130706433"}]),
    ):
        await client.make("/api/v1/nodes", {"metadata": {"name": name}})
        await patch_status(client, f"/api/v1/nodes/{name}", {"addresses": addresses_})
    for node in ("named", "odd"):
        await client.make(f"{API}/team-a/pods", pod(f"on-{node}", nodeName=node))


async def test_addresses_that_somebody_wrote_are_not_dialled(client: Client) -> None:
    await invent(client)
    with only_loopback() as tried:
        seen = await walk(client)
        code, told = await client.ask("GET", f"{API}/team-a/pods/far:80/proxy/")
        by_service, _ = await client.ask("GET", f"{API}/team-a/services/claimed/proxy/")
        log, why = await client.ask("GET", f"{API}/team-a/pods/on-named/log")
    assert tried == []
    assert 101 not in seen and 200 not in seen
    assert (code, by_service, log) == (503, 503, 503)
    assert told["message"].endswith(f"the pod is simulated: nothing listens at {ELSEWHERE}:80")
    assert (
        why["message"] == "the kubelet of node named is simulated: nothing listens at kubelet.invalid:10250"
    )


async def test_a_port_of_this_machine_that_is_not_the_demos_is_not_dialled(demo: Client) -> None:
    """Somebody's own server, which a pod claims for itself."""
    namespace, _ = next(one for one in names(demo, PODS) if one[0] != "gpu-operator")
    path = f"{API}/{namespace}/pods"
    with socket.create_server(("127.0.0.1", 0)) as mine:
        port = mine.getsockname()[1]
        tree = pod("claims")
        tree["spec"]["containers"][0]["ports"] = [{"containerPort": port}]
        await demo.make(path, tree)
        await patch_status(demo, f"{path}/claims", {"podIP": "127.0.0.1"})
        code, told = await demo.ask("GET", f"{path}/claims:{port}/proxy/")
        assert (code, told["reason"]) == (503, "ServiceUnavailable")
        mine.settimeout(0.0)
        with pytest.raises(BlockingIOError):
            mine.accept()


@pytest.mark.parametrize("host", [ELSEWHERE, "10.0.0.9", "probe.invalid", "2001:db8::1", "0.0.0.0"])
@pytest.mark.parametrize("kind", ["httpGet", "tcpSocket"])
async def test_probes_look_at_this_machine_alone(kind: str, host: str) -> None:
    async def run(command: list[str], seconds: float) -> tuple[int, bytes]:
        raise AssertionError("no command is run")

    with only_loopback() as tried:
        outcome = await run_probe({kind: {"port": 80, "host": host}}, {}, run)
    assert tried == []
    assert not outcome.is_success
    assert outcome.text == f"dial tcp {host}:80: connect: no route to host"
