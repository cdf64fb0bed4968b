"""What may leave, by every verb and path, and what tricks do not get through."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cockpit.kube.guard import METHODS, READS, refusal

POD = "/api/v1/namespaces/team-a/pods/p"
SERVICE = "/api/v1/namespaces/monitoring/services/http:prometheus:9090/proxy"
OBJECTS = [
    POD,
    "/api/v1/nodes/n1",
    "/apis/kubeflow.org/v2beta1/namespaces/team-a/mpijobs/llm",
    "/apis/kueue.x-k8s.io/v1beta2/clusterqueues/cq",
    "/api/v1/namespaces/team-a",
    "/api/v1/namespaces/team-a/status",
    "/apis/cluster.x-k8s.io/v1beta1/namespaces/x/machinedeployments/md/scale",
    f"{POD}/eviction",
    "/api/v1/namespaces/team-a/configmaps/secrets",
    "/api/v1/namespaces/secrets/pods/p",
    "/api/v1/namespaces/team-a/pods/exec",
]
SECRETS = [
    "/api/v1/secrets",
    "/api/v1/namespaces/team-a/secrets",
    "/api/v1/namespaces/team-a/secrets/s",
    "/api/v1/watch/secrets",
    "/api/v1/watch/namespaces/team-a/secrets/s",
    "/api/v1/namespaces/team-a/Secrets/s",
    "/api/v1/namespaces/status/secrets",
    "/api/v1/namespaces/team-a/serviceaccounts/default/token",
]
TUNNELS = [
    f"{POD}/exec",
    f"{POD}/attach",
    f"{POD}/portforward",
    f"{POD}/Exec",
    f"{POD}/PORTFORWARD",
    f"{POD}/proxy",
    f"{POD}/proxy/run",
    "/api/v1/nodes/n1/proxy",
    "/api/v1/nodes/n1/proxy/metrics",
    "/api/v1/nodes/n1/proxy/run/ns/p/c",
    "/api/v1/proxy/namespaces/team-a/pods/p/metrics",
    "/api/v1/proxy/nodes/n1/metrics",
    f"{SERVICE}/api/v1/admin/tsdb/delete_series",
    f"{SERVICE}/-/reload",
    f"{SERVICE}/-/quit",
    f"{SERVICE}/api/v1/query/../admin",
    f"{SERVICE}/",
    "/apis/x.y/v1/namespaces/a/services/s/proxy/metrics",
]
CROOKED = [
    "/api/v1//namespaces/team-a/pods/p",
    "/api/v1/namespaces/team-a/pods/../secrets/s",
    "/api/v1/./secrets",
    "/api/v1/namespaces/team-a/%73ecrets/s",
    "/api/v1/namespaces/team-a/pods/p%2fexec",
    "/api/v1/namespaces/team-a/pods/p%2e%2e",
    "/api/v1/namespaces/team-a/pods/p?dryRun=All",
    "/api/v1/namespaces/team-a/pods/p#x",
    "/api/v1/namespaces/team-a/pods/p;x",
    "/api/v1/namespaces/team-a\\pods",
    "api/v1/pods",
    "http://elsewhere/api/v1/pods",
    "//elsewhere/api/v1/pods",
    "/api/v1/pods\n",
    "/api/v1/pods /x",
    "/api/v1/p\u00f6ds",
    "",
]
REVIEW = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
DRY = (("dryRun", "All"),)


@pytest.mark.parametrize(("method", "path"), list(itertools.product(METHODS, OBJECTS)))
def test_objects_by_verb(method: str, path: str) -> None:
    locked = refusal(method, path, (), read_only=True)
    assert (locked == "") == (method in READS)
    if locked:
        assert locked.startswith("Read-only: ")
        assert ":write" in locked
    assert refusal(method, path, (), read_only=False) == ""
    assert refusal(method, path, DRY, read_only=True) == ""


@pytest.mark.parametrize(("method", "path"), list(itertools.product(METHODS, SECRETS)))
@pytest.mark.parametrize("read_only", [True, False])
@pytest.mark.parametrize("query", [(), DRY, (("watch", "1"),)])
def test_secrets_in_every_mode(
    method: str, path: str, read_only: bool, query: tuple[tuple[str, str], ...]
) -> None:
    assert refusal(method, path, query, read_only=read_only)


@pytest.mark.parametrize(("method", "path"), list(itertools.product(METHODS, TUNNELS)))
@pytest.mark.parametrize("query", [(), DRY])
def test_tunnels_are_writes(method: str, path: str, query: tuple[tuple[str, str], ...]) -> None:
    assert refusal(method, path, query, read_only=True)


@pytest.mark.parametrize(("method", "path"), list(itertools.product(METHODS, CROOKED)))
@pytest.mark.parametrize("read_only", [True, False])
def test_crooked_paths(method: str, path: str, read_only: bool) -> None:
    assert refusal(method, path, (), read_only=read_only)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "path",
    [
        f"{SERVICE}/api/v1/query",
        f"{SERVICE}/api/v1/query_range",
        f"{SERVICE}/prometheus/api/v1/query",
        f"{SERVICE}/api/v1/label/__name__/values",
        f"{SERVICE}/api/v1/status/buildinfo",
        f"{SERVICE}/-/healthy",
        f"{SERVICE}/api/v2/alerts",
        "/api/v1/namespaces/gpu/pods/dcgm-x:9400/proxy/metrics",
    ],
)
def test_metrics_and_queries_may_be_read_through_the_proxy(method: str, path: str) -> None:
    assert (refusal(method, path, (), read_only=True) == "") == (method in READS)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "path", ["/version", "/api", "/apis", "/apis/kueue.x-k8s.io/v1beta2", "/api/v1", "/healthz"]
)
def test_outside_of_objects(method: str, path: str) -> None:
    assert (refusal(method, path, (), read_only=True) == "") == (method in READS)


@pytest.mark.parametrize("path", ["/logs/kube-apiserver.log", "/debug/pprof/", "/run"])
def test_other_roots(path: str) -> None:
    assert refusal("GET", path, (), read_only=True)


def test_access_reviews_may_be_asked() -> None:
    assert refusal("POST", REVIEW, (), read_only=True) == ""
    assert refusal("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", (), read_only=True)
    assert refusal("POST", f"{REVIEW}/x", (), read_only=True)
    assert refusal("DELETE", REVIEW, (), read_only=True)
    assert refusal("POST", "/apis/evil.example/v1/selfsubjectaccessreviews", (), read_only=True)


@pytest.mark.parametrize(
    "query",
    [
        (("dryRun", "All"), ("dryRun", "All")),
        (("dryRun", "All"), ("dryRun", "")),
        (("dryRun", ""),),
        (("dryRun", "all"),),
        (("dryrun", "All"),),
        (("dryRun", "All"), ("DRYRUN", "")),
        (("dryRun", "All,None"),),
        (("fieldManager", "dryRun=All"),),
    ],
)
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_only_one_plain_dry_run_counts(method: str, query: tuple[tuple[str, str], ...]) -> None:
    assert refusal(method, POD, query, read_only=True)


@pytest.mark.parametrize(
    ("body", "passes"),
    [
        (None, True),
        (b'{"dryRun": ["All"], "preconditions": {"uid": "u"}}', True),
        (b'{"preconditions": {"uid": "u"}}', False),
        (b"{}", False),
        (b'{"dryRun": []}', False),
        (b'{"dryRun": "All"}', False),
        (b'[{"dryRun": ["All"]}]', False),
        (b"dryRun: [All]", False),
    ],
)
def test_a_delete_with_a_body_says_it_in_the_body(body: bytes | None, *, passes: bool) -> None:
    """The API server overlooks the query then: it would delete."""
    assert (refusal("DELETE", POD, DRY, read_only=True, body=body) == "") is passes
    assert refusal("POST", POD, DRY, read_only=True, body=b"{}") == ""


@pytest.mark.parametrize("method", ["CONNECT", "OPTIONS", "TRACE", "get pods", ""])
def test_other_methods(method: str) -> None:
    assert refusal(method, POD, (), read_only=False)


def test_case_of_the_method_does_not_matter() -> None:
    assert refusal("get", POD, (), read_only=True) == ""
    assert refusal("delete", POD, (), read_only=True)


SEGMENTS = st.sampled_from(
    [
        "api",
        "apis",
        "v1",
        "apps",
        "namespaces",
        "secrets",
        "Secrets",
        "pods",
        "exec",
        "watch",
        "proxy",
        "a",
        "status",
        "",
        "..",
        "%2e",
    ]
)


@settings(deadline=None, max_examples=500)
@given(st.lists(SEGMENTS, max_size=9), st.sampled_from(METHODS), st.booleans())
def test_no_path_reaches_secrets(segments: list[str], method: str, read_only: bool) -> None:
    """Whatever is let through does not have `secrets` where the API server reads the resource."""
    path = "/" + "/".join(segments)
    if refusal(method, path, (), read_only=read_only):
        return
    parts = [part for part in segments if part]
    rest = parts[2:] if parts[:1] == ["api"] else parts[3:] if parts[:1] == ["apis"] else []
    if rest and rest[0] in ("watch", "proxy"):
        rest = rest[1:]
    if rest[:1] == ["namespaces"] and len(rest) > 2 and rest[2] not in ("status", "finalize"):
        rest = rest[2:]
    assert rest[:1] not in (["secrets"], ["Secrets"])
