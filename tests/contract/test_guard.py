"""What never leaves: writes while read-only, tunnels, Secrets. Counted at a proxy, and looked up."""

from typing import Any

import pytest

from cockpit.errors import Refused
from tests.adapters.faults.proxy import FaultProxy
from tests.bed.api import Api
from tests.contract.conftest import Connect
from tests.contract.mirror import truth
from tests.contract.shapes import configmap, pod
from tests.reliability.figures import Tell

MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"
BASE = "/api/v1/namespaces/{space}"

WRITES: dict[str, tuple[str, str, Any, str]] = {
    "create": ("POST", f"{BASE}/configmaps", configmap("new"), "application/json"),
    "update": ("PUT", f"{BASE}/configmaps/kept", configmap("kept", a="2"), "application/json"),
    "merge patch": ("PATCH", f"{BASE}/configmaps/kept", {"data": {"a": "2"}}, MERGE),
    "json patch": (
        "PATCH",
        f"{BASE}/configmaps/kept",
        [{"op": "replace", "path": "/data/a", "value": "2"}],
        JSON_PATCH,
    ),
    "strategic patch": ("PATCH", f"{BASE}/pods/kept", {"metadata": {"labels": {"a": "2"}}}, STRATEGIC),
    "apply": ("PATCH", f"{BASE}/configmaps/kept", configmap("kept", a="2"), APPLY),
    "delete": ("DELETE", f"{BASE}/configmaps/kept", None, "application/json"),
    "delete collection": ("DELETE", f"{BASE}/configmaps", None, "application/json"),
    "delete namespace": ("DELETE", BASE, None, "application/json"),
    "evict": (
        "POST",
        f"{BASE}/pods/kept/eviction",
        {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "kept"}},
        "application/json",
    ),
    "bind": (
        "POST",
        f"{BASE}/pods/kept/binding",
        {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "kept"}, "target": {"name": "n"}},
        "application/json",
    ),
    "status patch": ("PATCH", f"{BASE}/pods/kept/status", {"status": {"phase": "Failed"}}, MERGE),
    "ephemeral containers": ("PATCH", f"{BASE}/pods/kept/ephemeralcontainers", {"spec": {}}, STRATEGIC),
    "scale": (
        "PATCH",
        "/apis/apps/v1/namespaces/{space}/deployments/any/scale",
        {"spec": {"replicas": 0}},
        MERGE,
    ),
    "lower case": ("delete", f"{BASE}/configmaps/kept", None, "application/json"),
    "dry run for a part": ("DELETE", f"{BASE}/configmaps/kept?dryRun=", None, "application/json"),
}

TUNNELS = {
    "exec": f"{BASE}/pods/kept/exec",
    "attach": f"{BASE}/pods/kept/attach",
    "portforward": f"{BASE}/pods/kept/portforward",
    "pod proxy": f"{BASE}/pods/kept/proxy/admin",
    "pod proxy with port": f"{BASE}/pods/kept:8080/proxy/debug/pprof/",
    "service proxy": f"{BASE}/services/kept/proxy/-/quit",
    "service proxy outside metrics": f"{BASE}/services/kept:9090/proxy/api/v1/admin/tsdb/snapshot",
    "node proxy": "/api/v1/nodes/any/proxy/metrics",
    "old proxy form": "/api/v1/proxy/namespaces/{space}/pods/kept/metrics",
    "climbing proxy": f"{BASE}/services/kept/proxy/metrics/../admin",
    "service account token": f"{BASE}/serviceaccounts/default/token",
}

SECRETS = {
    "all": "/api/v1/secrets",
    "one": f"{BASE}/secrets/any",
    "list": f"{BASE}/secrets",
    "old watch form": "/api/v1/watch/namespaces/{space}/secrets",
    "other case": f"{BASE}/Secrets",
    "encoded": f"{BASE}/%73ecrets",
    "climbing": f"{BASE}/pods/../secrets/any",
    "doubled slash": "/api/v1//secrets",
    "with a query in the path": f"{BASE}/secrets?limit=1",
}


@pytest.fixture
def kept(admin: Api, space: str) -> str:
    """A namespace with a config map and a pod that are to stay as they are."""
    admin.create(f"/api/v1/namespaces/{space}/configmaps", configmap("kept", a="1"))
    admin.create(f"/api/v1/namespaces/{space}/pods", pod("kept"))
    return space


def _versions(admin: Api, space: str) -> dict[str, str]:
    base = f"/api/v1/namespaces/{space}"
    versions = truth(admin, f"{base}/configmaps")() | truth(admin, f"{base}/pods")()
    names = {item["metadata"]["name"]: item["metadata"]["uid"] for item in admin.items(f"{base}/configmaps")}
    return {uid: version for uid, version in versions.items() if uid != names.get("kube-root-ca.crt")}


@pytest.mark.row(57, "requests that reached the server, of each form of a write", most=0)
@pytest.mark.row(57, "objects changed", most=0)
@pytest.mark.parametrize("verb", WRITES)
async def test_read_only_sends_no_write(
    kept: str, admin: Api, connect: Connect, proxy: FaultProxy, verb: str, figure: Tell
) -> None:
    session = await connect(through=proxy)
    before = _versions(admin, kept)
    proxy.seen.clear()
    method, path, body, content_type = WRITES[verb]
    with pytest.raises(Refused) as caught:
        await session.request(method, path.format(space=kept), body=body, content_type=content_type)
    assert caught.value.exit_code == 1
    assert "\n" not in caught.value.sentence
    figure("requests that reached the server, of each form of a write", len(proxy.seen))
    figure("objects changed", len(_versions(admin, kept).items() ^ before.items()))


@pytest.mark.row(57, "requests that reached the server, of each form of a tunnel", most=0)
@pytest.mark.parametrize("way", TUNNELS)
async def test_read_only_opens_no_tunnel(
    kept: str, connect: Connect, proxy: FaultProxy, way: str, figure: Tell
) -> None:
    """A get on these runs commands or leaves the audited path."""
    session = await connect(through=proxy)
    proxy.seen.clear()
    with pytest.raises(Refused):
        await session.request("GET", TUNNELS[way].format(space=kept))
    with pytest.raises(Refused):
        async with session.stream(TUNNELS[way].format(space=kept)):
            pytest.fail("a stream was opened")
    figure("requests that reached the server, of each form of a tunnel", len(proxy.seen))


@pytest.mark.row(61, "requests for Secrets, by each form of their path", most=0)
@pytest.mark.parametrize("form", SECRETS)
async def test_secrets_are_refused_even_with_writing_on(
    space: str, connect: Connect, proxy: FaultProxy, form: str, figure: Tell
) -> None:
    session = await connect(write=True, through=proxy)
    proxy.seen.clear()
    path = SECRETS[form].format(space=space)
    for method in ("GET", "PATCH", "DELETE"):
        with pytest.raises(Refused):
            await session.request(method, path)
    with pytest.raises(Refused):
        async with session.stream(path, query=(("watch", "true"),)):
            pytest.fail("a stream was opened")
    figure("requests for Secrets, by each form of their path", len(proxy.seen))


async def test_a_dry_run_is_let_through_while_read_only(space: str, admin: Api, connect: Connect) -> None:
    session = await connect()
    path = f"/api/v1/namespaces/{space}/configmaps"
    answer = await session.request("POST", path, body=configmap("trial"), query=(("dryRun", "All"),))
    assert answer.status == 201
    assert "trial" not in [item["metadata"]["name"] for item in admin.items(path)]


@pytest.mark.parametrize(
    "query",
    [
        (("dryRun", "None"),),
        (("dryrun", "All"),),
        (("dryRun", "All"), ("dryRun", "")),
        (("fieldManager", "dryRun=All"),),
    ],
    ids=["none", "other case", "twice", "elsewhere"],
)
async def test_what_only_looks_like_a_dry_run_is_refused(
    space: str, connect: Connect, proxy: FaultProxy, query: tuple[tuple[str, str], ...]
) -> None:
    session = await connect(through=proxy)
    proxy.seen.clear()
    with pytest.raises(Refused):
        await session.request(
            "POST", f"/api/v1/namespaces/{space}/configmaps", body=configmap("x"), query=query
        )
    assert proxy.seen == []


async def test_access_reviews_and_reads_pass_while_read_only(kept: str, connect: Connect) -> None:
    session = await connect()
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {"verb": "list", "resource": "pods"}},
    }
    posted = await session.request(
        "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", body=review
    )
    assert posted.status == 201
    for path in ("/version", "/api", "/apis", "/readyz", f"/api/v1/namespaces/{kept}/pods/kept"):
        assert (await session.request("GET", path)).ok
    assert (await session.request("HEAD", f"/api/v1/namespaces/{kept}/pods/kept")).status in (200, 405)


async def test_unlock_lets_a_write_through_and_lock_ends_that(space: str, connect: Connect) -> None:
    session = await connect()
    path = f"/api/v1/namespaces/{space}/configmaps"
    session.unlock()
    assert not session.read_only
    assert (await session.request("POST", path, body=configmap("one"))).status == 201
    session.lock()
    with pytest.raises(Refused):
        await session.request("DELETE", f"{path}/one")
    assert (await session.request("GET", f"{path}/one")).ok
