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


# ---- watches


async def _lines(answer: aiohttp.ClientResponse, count: int) -> list[dict[str, Any]]:
    return [json.loads(await asyncio.wait_for(answer.content.readline(), 5)) for _ in range(count)]


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
