"""The embedded server over real TLS: who is let in, what is said, lists and watches, the audit log."""

import asyncio
import gzip
import json
import socket
import ssl
import stat
from pathlib import Path
from random import Random
from typing import Any

import aiohttp
import pytest
import yaml

from cockpit.clock import ClusterTime, ManualClock
from cockpit.errors import BadInput
from cockpit.kube.server_time import CLUSTER_TIME, said_time
from cockpit.sim.clock import DemoClock
from cockpit.sim.server import storage
from cockpit.sim.server.run import serving
from tests.unit.sim.http.conftest import Client, pod

PODS = "/api/v1/namespaces/default/pods"
MAPS = "/api/v1/namespaces/default/configmaps"
TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"}


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz"])
async def test_health_is_told_to_anybody(client: Client, path: str) -> None:
    assert await client.ask("GET", path, who="") == (200, "ok")


async def test_the_version_is_marked_as_no_real_one(client: Client) -> None:
    _, told = await client.ask("GET", "/version", who="")
    assert (told["major"], told["minor"]) == ("1", "36")
    assert told["gitVersion"].endswith("+cockpit")


async def test_nobody_in_particular_may_do_nothing(client: Client) -> None:
    status, told = await client.ask("GET", "/api/v1/nodes", who="")
    assert (status, told["reason"]) == (403, "Forbidden")
    assert told["message"].startswith(
        'nodes is forbidden: User "system:anonymous" cannot list resource "nodes"'
    )


@pytest.mark.parametrize("token", ["expired", "no-such-token"])
async def test_a_dead_token_is_unauthorized(client: Client, token: str) -> None:
    status, told = await client.ask("GET", "/api/v1/nodes", who=token)
    assert (status, told["reason"], told["message"]) == (401, "Unauthorized", "Unauthorized")


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/api/v1/podtemplates", 404),
        ("GET", "/apis/networking.k8s.io/v1/ingresses", 404),
        ("GET", f"{PODS}/p/portforward", 404),
        ("GET", "/api/v1/namespaces/default/nodes", 404),
        ("POST", "/api/v1/pods", 405),
        ("PUT", PODS, 405),
        ("DELETE", "/api/v1/namespaces", 405),
        ("GET", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", 405),
        ("POST", f"{PODS}/p/log", 405),
        ("GET", "/nothing/here", 404),
    ],
)
async def test_what_is_not_served_is_said(client: Client, method: str, path: str, status: int) -> None:
    got, told = await client.ask(method, path, json={} if method != "GET" else None)
    assert got == status, told
    if isinstance(told, dict):
        assert (told["kind"], told["status"], told["code"]) == ("Status", "Failure", status)


@pytest.mark.parametrize(
    ("method", "headers"),
    [
        ("POST", {"Upgrade": "SPDY/3.1", "Connection": "Upgrade"}),
        (
            "GET",
            {
                "Upgrade": "websocket",
                "Connection": "Upgrade",
                "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
                "Sec-WebSocket-Version": "13",
                "Sec-WebSocket-Protocol": "SPDY/3.1+portforward.k8s.io",
            },
        ),
    ],
)
async def test_a_port_that_kubectl_asks_for_is_refused_with_what_is_supported(
    client: Client, method: str, headers: dict[str, str]
) -> None:
    await client.make(PODS, pod("p", nodeName="n"))
    status, told = await client.ask(method, f"{PODS}/p/portforward", headers=headers)
    assert (status, told["reason"]) == (400, "BadRequest")
    assert (
        "forwards ports over WebSocket (v4.channel.k8s.io), not over SPDY as kubectl does" in told["message"]
    )


async def test_other_encodings_are_refused(client: Client) -> None:
    status, told = await client.ask("GET", PODS, headers={"Accept": "application/vnd.kubernetes.protobuf"})
    assert (status, told["reason"]) == (406, "NotAcceptable")


async def test_a_list_has_its_items_without_their_kind_and_one_object_has_it(client: Client) -> None:
    await client.make(PODS, pod("a"))
    _, listed = await client.ask("GET", PODS)
    assert (listed["kind"], listed["apiVersion"]) == ("PodList", "v1")
    (item,) = listed["items"]
    assert "kind" not in item
    assert item["metadata"]["name"] == "a"
    _, one = await client.ask("GET", f"{PODS}/a")
    assert (one["kind"], one["apiVersion"]) == ("Pod", "v1")


async def test_pages(client: Client) -> None:
    for number in range(5):
        await client.make(PODS, pod(f"p{number}"))
    names: list[str] = []
    query = {"limit": "2"}
    while True:
        _, page = await client.ask("GET", PODS, params=query)
        names += [item["metadata"]["name"] for item in page["items"]]
        if not page["metadata"].get("continue"):
            break
        assert page["metadata"]["remainingItemCount"] == 5 - len(names)
        query = {"limit": "2", "continue": page["metadata"]["continue"]}
    assert names == [f"p{number}" for number in range(5)]


async def test_a_table(client: Client) -> None:
    await client.make(PODS, pod("a"))
    _, told = await client.ask("GET", PODS, headers=TABLE)
    assert (told["kind"], told["apiVersion"]) == ("Table", "meta.k8s.io/v1")
    assert [one["name"] for one in told["columnDefinitions"][:5]] == [
        *("Name", "Ready", "Status", "Restarts", "Age")
    ]
    (row,) = told["rows"]
    assert row["cells"][:5] == ["a", "0/1", "Pending", "0", "0s"]
    assert row["object"]["kind"] == "PartialObjectMetadata"


async def test_metadata_alone(client: Client) -> None:
    await client.make(PODS, pod("a"))
    accept = {"Accept": "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"}
    _, told = await client.ask("GET", PODS, headers=accept)
    assert told["kind"] == "PartialObjectMetadataList"
    assert set(told["items"][0]) == {"kind", "apiVersion", "metadata"}


async def test_a_large_answer_is_compressed_and_a_small_one_is_not(client: Client) -> None:
    accept = {"Accept-Encoding": "gzip"}
    async with client.open("GET", MAPS, headers=accept) as answer:
        assert "Content-Encoding" not in answer.headers
    await client.make(MAPS, {"metadata": {"name": "large"}, "data": {"x": "y" * 200_000}})
    async with aiohttp.ClientSession(auto_decompress=False) as raw:
        headers = {"Authorization": f"Bearer {client.server.tokens['admin']}", **accept}
        async with raw.get(client.server.url + MAPS, headers=headers, ssl=client.tls) as answer:
            assert answer.headers["Content-Encoding"] == "gzip"
            assert len(json.loads(gzip.decompress(await answer.read()))["items"]) >= 1


async def test_discovery_names_what_it_serves_and_knows_who_has_it_already(client: Client) -> None:
    accept = {"Accept": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"}
    async with client.open("GET", "/apis", headers=accept) as answer:
        told, tag = await answer.json(content_type=None), answer.headers["ETag"]
    groups = {one["metadata"]["name"]: one for one in told["items"]}
    assert {"apps", "batch", "policy", "rbac.authorization.k8s.io"} <= set(groups)
    async with client.open("GET", "/apis", headers={**accept, "If-None-Match": tag}) as answer:
        assert answer.status == 304
    _, plain = await client.ask("GET", "/api/v1")
    assert "pods/eviction" in [one["name"] for one in plain["resources"]]
    assert "pods/portforward" in [one["name"] for one in plain["resources"]]
    assert "pods/ephemeralcontainers" not in [one["name"] for one in plain["resources"]]


# ---- watches


async def _lines(answer: aiohttp.ClientResponse, count: int) -> list[dict[str, Any]]:
    return [json.loads(await asyncio.wait_for(answer.content.readline(), 5)) for _ in range(count)]


async def test_a_streaming_list_ends_with_its_mark_and_goes_on(client: Client) -> None:
    await client.make(PODS, pod("a"))
    query = {
        "watch": "1",
        "sendInitialEvents": "true",
        "resourceVersionMatch": "NotOlderThan",
        "allowWatchBookmarks": "true",
    }
    async with client.open("GET", PODS, params=query) as answer:
        first, mark = await _lines(answer, 2)
        assert (first["type"], first["object"]["metadata"]["name"]) == ("ADDED", "a")
        assert mark["type"] == "BOOKMARK"
        assert mark["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
        await client.make(PODS, pod("b"))
        await client.ask("DELETE", f"{PODS}/b")
        added, marked, deleted = await _lines(answer, 3)
        assert (added["type"], marked["type"], deleted["type"]) == ("ADDED", "MODIFIED", "DELETED")
        assert int(deleted["object"]["metadata"]["resourceVersion"]) > int(
            added["object"]["metadata"]["resourceVersion"]
        )


async def test_a_watch_ends_at_its_time_after_a_last_bookmark(client: Client) -> None:
    _, listed = await client.ask("GET", "/api/v1/persistentvolumes")
    query = {
        "watch": "1",
        "timeoutSeconds": "1",
        "allowWatchBookmarks": "true",
        "resourceVersion": listed["metadata"]["resourceVersion"],
    }
    async with client.open("GET", "/api/v1/persistentvolumes", params=query) as answer:
        (mark,) = await _lines(answer, 1)
        assert mark["type"] == "BOOKMARK"
        assert await answer.content.read() == b""


async def test_a_version_that_is_forgotten_is_an_error_in_the_stream(client: Client) -> None:
    await client.make(PODS, pod("a"))
    client.server.operations.storage.compact()
    async with client.open("GET", PODS, params={"watch": "1", "resourceVersion": "1"}) as answer:
        assert answer.status == 200
        (told,) = await _lines(answer, 1)
        assert (told["type"], told["object"]["code"]) == ("ERROR", 410)
        assert told["object"]["reason"] == "Expired"


async def test_a_watched_table_names_its_columns_once(client: Client) -> None:
    async with client.open("GET", PODS, params={"watch": "1"}, headers=TABLE) as answer:
        for name in ("a", "b"):
            await client.make(PODS, pod(name))
        first, second = await _lines(answer, 2)
        assert first["object"]["columnDefinitions"]
        assert second["object"]["columnDefinitions"] is None
        assert second["object"]["rows"][0]["cells"][0] == "b"


async def test_an_end_of_the_server_ends_its_watches(tmp_path: Path) -> None:
    async with aiohttp.ClientSession() as http:
        async with serving(tmp_path, ManualClock(), Random(1)) as server:
            client = Client(server, http)
            answer = await client.open("GET", PODS, params={"watch": "1"})
        assert await asyncio.wait_for(answer.content.read(), 2) == b""


# ---- what is written beside it


async def test_every_answer_has_an_id_under_which_it_was_noted(client: Client) -> None:
    tree = {"metadata": {"name": "s"}, "stringData": {"password": "canary"}}
    secrets = "/api/v1/namespaces/default/secrets"
    async with client.open("POST", secrets, json=tree) as answer:
        noted = answer.headers["Audit-Id"]
    async with client.open("GET", f"{secrets}/s", who="nobody") as answer:
        refused = answer.headers["Audit-Id"]
    log = client.server.folder / "audit.log"
    lines = {line["auditID"]: line for line in map(json.loads, log.read_text().splitlines())}
    assert (lines[noted]["verb"], lines[noted]["responseStatus"]["code"]) == ("create", 201)
    assert lines[noted]["user"]["username"] == client.server.usernames["admin"]
    assert lines[refused]["responseStatus"]["code"] == 403
    assert lines[refused]["objectRef"] == {
        "resource": "secrets",
        "namespace": "default",
        "name": "s",
        "apiVersion": "v1",
    }
    assert "canary" not in log.read_text()
    assert "Y2FuYXJ5" not in log.read_text(), "nor in base64"


async def test_what_is_secret_is_for_its_owner_alone(client: Client) -> None:
    folder = client.server.folder
    for name in ("kubeconfig", "audit.log", "pki/server.key", "pki/admin.key", "pki/kubelet-client.key"):
        assert stat.S_IMODE((folder / name).stat().st_mode) == 0o600, name


async def test_the_kubeconfig_has_four_contexts(client: Client) -> None:
    tree = yaml.safe_load(client.server.kubeconfig.read_text())
    names = [one["name"] for one in tree["contexts"]]
    assert names == ["admin", "engineer", "viewer", "nobody"]
    assert tree["current-context"] == "admin"
    assert tree["contexts"][1]["context"]["namespace"] == "team-a"


async def test_a_client_certificate_is_enough(client: Client) -> None:
    pair = client.server.certificates.admin
    client.tls.load_cert_chain(pair.certificate_file, pair.key_file)
    path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    _, told = await client.ask("POST", path, who="", json={})
    assert told["status"]["userInfo"]["username"] == "admin"
    assert "system:masters" in told["status"]["userInfo"]["groups"]


async def test_a_port_in_use_is_one_sentence(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
        with pytest.raises(BadInput, match=rf"Port {port} on 127\.0\.0\.1 cannot be used: .*give another"):
            async with serving(tmp_path, ManualClock(), Random(1), port=port):
                pass


async def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match="cannot be written: Not a directory"):
        async with serving(tmp_path / "file", ManualClock(), Random(1)):
            pass


async def test_one_state_is_encoded_once_for_all_readers(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A list joins JSON that is there; a watch sends the same bytes to everybody."""
    encoded: list[str] = []
    whole = storage._encode

    def counted(tree: dict[str, Any]) -> bytes:
        encoded.append(tree["metadata"]["name"])
        return whole(tree)

    monkeypatch.setattr(storage, "_encode", counted)
    async with (
        client.open("GET", PODS, params={"watch": "1"}) as one,
        client.open("GET", PODS, params={"watch": "1"}) as other,
    ):
        await client.make(PODS, pod("a"))
        assert await _lines(one, 1) == await _lines(other, 1)
    for _ in range(3):
        await client.ask("GET", PODS)
    await client.ask("GET", f"{PODS}/a")
    assert encoded == ["a"]


async def test_the_clusters_time_is_told_exactly_and_how_fast_it_runs(tmp_path: Path) -> None:
    wall = ManualClock()
    clock = DemoClock(warm_seconds=3_600.0, wall=wall)
    clock.release(60.0)
    async with serving(tmp_path, clock, Random(1)) as server, aiohttp.ClientSession() as http:
        wall.advance(10.0)
        trusted = ssl.create_default_context(cafile=server.ca_file)
        async with http.get(f"{server.url}/version", ssl=trusted) as answer:
            said = said_time(answer.headers["Date"], answer.headers[CLUSTER_TIME])
            by_date = said_time(answer.headers["Date"])
    assert said == ClusterTime(wall.now() - 10.0 - 3_600.0 + 600.0, 0.0, 60.0)
    assert by_date is not None and by_date.seconds == int(said.seconds), "other clients read it in the date"
