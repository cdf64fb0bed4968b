"""One object, its log, and what lies behind the API server's proxy."""

import asyncio
from typing import Any

import pytest

from cockpit.connection import reader
from cockpit.errors import CockpitError, NoConnection, Refused
from cockpit.kube.logs import follow
from cockpit.kube.objects import get_object
from cockpit.kube.resource import JOBS, NODES, PODS, Resource
from tests.adapters.faults.proxy import FaultProxy
from tests.bed.api import Api
from tests.contract.asking import in_space, until_not
from tests.contract.conftest import Connect, needs
from tests.contract.faults import bare, cut
from tests.contract.following import CONFIG_MAPS
from tests.contract.server import Capability
from tests.contract.shapes import configmap, custom, job, node, pod

SECRETS = Resource("", "v1", "secrets", "Secret", namespaced=True)


# ---- one object


async def test_an_object_is_its_tree_without_managed_fields(space: str, admin: Api, connect: Connect) -> None:
    made = admin.create(in_space(space, "jobs", base="/apis/batch/v1"), job("train"))
    assert made["metadata"]["managedFields"]
    tree = await get_object(await connect("viewer"), JOBS, space, "train")
    assert "managedFields" not in tree["metadata"]
    assert tree["metadata"]["uid"] == made["metadata"]["uid"]
    assert tree["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"] == {"nvidia.com/gpu": "2"}


async def test_a_custom_object_is_read_like_any(
    space: str, admin: Api, connect: Connect, pools: Resource
) -> None:
    admin.create(pools.path(space), custom(pools.kind, "pool", replicas=2, size="8xH100"))
    tree = await get_object(await connect(), pools, space, "pool")
    assert (tree["kind"], tree["spec"]) == (pools.kind, {"replicas": 2, "size": "8xH100"})


async def test_a_cluster_wide_object_needs_no_namespace(space: str, admin: Api, connect: Connect) -> None:
    admin.create("/api/v1/nodes", node(f"n-{space}"))
    tree = await get_object(await connect("viewer"), NODES, "", f"n-{space}")
    assert tree["status"]["capacity"]["nvidia.com/gpu"] == "8"
    admin.delete(f"/api/v1/nodes/n-{space}")


async def test_text_in_an_object_cannot_reach_the_terminal(space: str, admin: Api, connect: Connect) -> None:
    hostile = "a\x1b]0;title\x07b\x9b2J\u202ec\nd"
    admin.create(in_space(space, "configmaps"), configmap("odd", text=hostile))
    tree = await get_object(await connect("viewer"), CONFIG_MAPS, space, "odd")
    said = tree["data"]["text"]
    assert all(one.isprintable() or one == "\n" for one in said)
    assert said.endswith("\nd"), "lines stay lines"


async def test_values_of_secret_looking_variables_are_hidden(
    space: str, admin: Api, connect: Connect
) -> None:
    tree = pod("p")
    tree["spec"]["containers"][0]["env"] = [
        {"name": "WANDB_API_KEY", "value": "canary-1"},
        {"name": "DB_PASSWORD", "value": "canary-2"},
        {"name": "NCCL_DEBUG", "value": "INFO"},
    ]
    admin.create(in_space(space, "pods"), tree)
    shown = await get_object(await connect("viewer"), PODS, space, "p")
    assert "canary" not in str(shown)
    assert shown["spec"]["containers"][0]["env"][2]["value"] == "INFO"


@pytest.mark.parametrize("role", ["admin", "viewer"])
async def test_a_secret_is_never_asked_for(
    space: str, connect: Connect, proxy: FaultProxy, role: str
) -> None:
    session = await connect(role, write=True, through=proxy)
    proxy.seen.clear()
    with pytest.raises(Refused, match="Secrets are never read"):
        await get_object(session, SECRETS, space, "any")
    assert proxy.seen == []


async def test_a_missing_object_is_said_with_its_name(space: str, connect: Connect) -> None:
    with pytest.raises(Refused, match=rf'pods {space}/gone: pods "gone" not found'):
        await get_object(await connect("viewer"), PODS, space, "gone")


async def test_an_object_without_the_right_names_verb_and_resource(space: str, connect: Connect) -> None:
    with pytest.raises(Refused, match='cannot get resource "pods"'):
        await get_object(await connect("nobody"), PODS, space, "p")


@pytest.mark.parametrize("name", ["../nodes", "a/b", "", "a?watch=1", "a b", "ä"])
async def test_a_name_that_is_none_never_leaves(
    space: str, connect: Connect, proxy: FaultProxy, name: str
) -> None:
    session = await connect(through=proxy)
    proxy.seen.clear()
    if name:
        with pytest.raises(CockpitError):
            await get_object(session, PODS, space, name)
        assert proxy.seen == []
    else:
        assert PODS.path(space, name) == f"/api/v1/namespaces/{space}/pods", "no name means the collection"


# ---- logs


async def _lines(session: Any, space: str, name: str, **options: Any) -> list[str]:
    return [line async for line in follow(session, space, name, **options)]


async def test_a_log_of_no_pod_says_not_found(space: str, connect: Connect) -> None:
    with pytest.raises(Refused, match=rf'No log of {space}/gone: pods "gone" not found'):
        await _lines(await connect("viewer"), space, "gone")


async def test_a_log_of_an_unbound_pod_says_so(space: str, admin: Api, connect: Connect) -> None:
    """The API server answers an empty log or that the pod has no host; either way nothing hangs."""
    admin.create(in_space(space, "pods"), pod("p"))
    session = await connect("viewer")
    try:
        assert await asyncio.wait_for(_lines(session, space, "p"), 10) == []
    except Refused as refused:
        assert f"{space}/p" in refused.sentence


async def test_a_log_of_an_unknown_container_names_it(space: str, admin: Api, connect: Connect) -> None:
    admin.create(in_space(space, "pods"), pod("p"))
    with pytest.raises(Refused, match="container sidecar is not valid"):
        await _lines(await connect("viewer"), space, "p", container="sidecar")


async def test_a_log_without_the_right_is_refused(space: str, admin: Api, connect: Connect) -> None:
    admin.create(in_space(space, "pods"), pod("p"))
    with pytest.raises(Refused, match="cannot get"):
        await _lines(await connect("nobody"), space, "p")


async def test_a_log_of_a_node_that_does_not_answer_is_one_sentence(
    space: str, admin: Api, connect: Connect
) -> None:
    admin.create(in_space(space, "pods"), pod("p", node=f"no-node-{space}"))
    with pytest.raises(Refused) as caught:
        await _lines(await connect("viewer"), space, "p")
    assert f"{space}/p" in caught.value.sentence
    assert "\n" not in caught.value.sentence
    admin.delete(in_space(space, "pods", "p"), {"gracePeriodSeconds": 0})


async def test_lines_of_a_log_come_clean_and_whole(space: str, connect: Connect, proxy: FaultProxy) -> None:
    text = "epoch 1\rloss 0.5\n\x1b[31mred\x1b[0m\nbad \xff byte\npartly".encode("latin-1")
    proxy.plan(bare(200, text, "text/plain"), path="/log")
    lines = await _lines(await connect("viewer", through=proxy), space, "any")
    assert lines == ["loss 0.5", "red", "bad � byte", "partly"]


async def test_a_line_without_end_is_cut_into_pieces(space: str, connect: Connect, proxy: FaultProxy) -> None:
    proxy.plan(bare(200, b"x" * 200_000, "text/plain"), path="/log")
    lines = await _lines(await connect("viewer", through=proxy), space, "any")
    assert [len(line) for line in lines] == [65536, 65536, 65536, 200_000 - 3 * 65536]


async def test_options_of_a_log_reach_the_server(space: str, connect: Connect, proxy: FaultProxy) -> None:
    proxy.plan(bare(200, b"", "text/plain"), path="/log", times=2)
    session = await connect("viewer", through=proxy)
    await _lines(session, space, "any", container="main", previous=True, since_seconds=30, tail=7)
    await _lines(session, space, "any")
    first, second = proxy.requests("/log")
    assert dict(first.query) == {
        "container": "main",
        "previous": "true",
        "sinceSeconds": "30",
        "tailLines": "7",
    }
    assert dict(second.query) == {"follow": "true", "tailLines": "1000"}


async def test_a_log_that_breaks_says_so(space: str, admin: Api, connect: Connect, proxy: FaultProxy) -> None:
    async def broken(exchange: Any) -> None:
        await exchange.begin(200, "text/plain")
        await exchange.write(b"one\ntwo")
        exchange.abort()

    proxy.plan(broken, path="/log")
    session = await connect("viewer", through=proxy)
    lines: list[str] = []
    with pytest.raises(NoConnection):
        async for line in follow(session, space, "any"):
            lines.append(line)  # noqa: PERF401 - what came before the break is to be kept
    assert lines == ["one"]


# ---- behind the proxy


@needs(Capability.CONTROLLERS)
async def test_a_service_without_endpoints_is_the_servers_sentence(
    space: str, admin: Api, connect: Connect
) -> None:
    service = {
        "metadata": {"name": "prometheus"},
        "spec": {"selector": {"app": "prometheus"}, "ports": [{"port": 9090}]},
    }
    admin.create(in_space(space, "services"), service)
    session = await connect("viewer")
    path = f"{in_space(space, 'services', 'prometheus:9090')}/proxy/api/v1/query"
    # Until its EndpointSlice was made the proxy calls the service itself not found.
    answer = await until_not(404, session, path, ("query", "up"))
    assert answer.status == 503
    assert "no endpoints available" in answer.message()


async def test_a_missing_service_behind_the_proxy_is_not_found(space: str, connect: Connect) -> None:
    path = f"{in_space(space, 'services', 'gone:9090')}/proxy/metrics"
    answer = await (await connect("viewer")).request("GET", path)
    assert answer.status == 404
    assert '"gone" not found' in answer.message()


async def test_the_proxy_without_the_right_is_refused(space: str, connect: Connect) -> None:
    path = f"{in_space(space, 'services', 'prometheus:9090')}/proxy/metrics"
    answer = await (await connect("nobody")).request("GET", path)
    assert answer.status == 403
    assert "services/proxy" in answer.message()


async def test_telemetry_goes_through_the_session(space: str, connect: Connect, proxy: FaultProxy) -> None:
    body = b'{"status":"success","data":{"resultType":"vector","result":[]}}'
    proxy.plan(bare(200, body, "application/json"), path="/proxy/api/v1/query")
    session = await connect("viewer", through=proxy)
    path = f"{in_space(space, 'services', 'prometheus:9090')}/proxy/api/v1/query"
    answer = await reader(session)(path, (("query", 'up{a="b c"}'),), 1_000)
    assert answer.json()["status"] == "success"
    (seen,) = proxy.requests("/proxy/")
    assert seen.query["query"] == 'up{a="b c"}'
    assert seen.headers["Authorization"].startswith("Bearer ")


@pytest.mark.parametrize("path", ["/api/v1/namespaces/x/secrets", "/api/v1/nodes/n/proxy/metrics"])
async def test_telemetry_keeps_the_guard(connect: Connect, proxy: FaultProxy, path: str) -> None:
    session = await connect(through=proxy)
    proxy.seen.clear()
    with pytest.raises(Refused):
        await reader(session)(path, (), 1_000)
    assert proxy.seen == []


async def test_a_broken_answer_behind_the_proxy_is_no_connection(
    space: str, connect: Connect, proxy: FaultProxy
) -> None:
    proxy.plan(cut(0), path="/proxy/")
    session = await connect("viewer", through=proxy)
    path = f"{in_space(space, 'services', 'prometheus:9090')}/proxy/metrics"
    with pytest.raises(NoConnection, match=r"broke|cut"):
        await reader(session)(path, (), 1_000)
