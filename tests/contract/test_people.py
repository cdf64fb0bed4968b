"""Four users: what each may do is done, and what not is refused in the server's whole sentence."""

from typing import Any

import pytest

from tests.bed.api import Api
from tests.contract.asking import in_space
from tests.contract.conftest import needs
from tests.contract.server import Capability, Server
from tests.contract.shapes import configmap, pod

HOME = "team-a"
JOBS = f"/apis/batch/v1/namespaces/{HOME}/jobs"
PODS = in_space(HOME, "pods")
REFUSALS = [
    ("viewer", "POST", PODS, "pods", "create", "pods", "", HOME),
    ("viewer", "DELETE", f"{PODS}/p", 'pods "p"', "delete", "pods", "", HOME),
    ("viewer", "DELETE", PODS, "pods", "deletecollection", "pods", "", HOME),
    ("viewer", "GET", "/api/v1/secrets", "secrets", "list", "secrets", "", ""),
    ("viewer", "POST", f"{PODS}/p/eviction", 'pods "p"', "create", "pods/eviction", "", HOME),
    ("viewer", "GET", f"{PODS}/p/proxy/metrics", 'pods "p"', "get", "pods/proxy", "", HOME),
    ("engineer", "GET", "/api/v1/pods", "pods", "list", "pods", "", ""),
    ("engineer", "GET", "/api/v1/nodes", "nodes", "list", "nodes", "", ""),
    ("engineer", "GET", "/api/v1/nodes/n", 'nodes "n"', "get", "nodes", "", ""),
    ("engineer", "PATCH", "/api/v1/nodes/n", 'nodes "n"', "patch", "nodes", "", ""),
    ("engineer", "GET", in_space("team-b", "pods"), "pods", "list", "pods", "", "team-b"),
    ("engineer", "GET", in_space(HOME, "secrets", "s"), 'secrets "s"', "get", "secrets", "", HOME),
    ("engineer", "PUT", f"{JOBS}/j/status", 'jobs.batch "j"', "update", "jobs/status", "batch", HOME),
    ("nobody", "GET", PODS, "pods", "list", "pods", "", HOME),
    ("nobody", "GET", f"{PODS}?watch=1", "pods", "watch", "pods", "", HOME),
    ("nobody", "GET", f"{PODS}?fieldSelector=metadata.name%3Dp", 'pods "p"', "list", "pods", "", HOME),
    ("nobody", "GET", f"{PODS}/p/log", 'pods "p"', "get", "pods/log", "", HOME),
    ("nobody", "GET", f"/api/v1/namespaces/{HOME}", f'namespaces "{HOME}"', "get", "namespaces", "", HOME),
    ("nobody", "POST", JOBS, "jobs.batch", "create", "jobs", "batch", HOME),
    (
        "nobody",
        "GET",
        "/apis/nothing.test/v1/things",
        "things.nothing.test",
        "list",
        "things",
        "nothing.test",
        "",
    ),
]


@pytest.mark.parametrize(
    ("who", "method", "path", "what", "verb", "resource", "group", "namespace"),
    REFUSALS,
    ids=[
        f"{who}-{verb}-{resource}-{namespace or 'all'}"
        for who, _, _, _, verb, resource, _, namespace in REFUSALS
    ],
)
def test_a_refusal_is_the_servers_whole_sentence(
    server: Server,
    who: str,
    method: str,
    path: str,
    what: str,
    verb: str,
    resource: str,
    group: str,
    namespace: str,
) -> None:
    body: dict[str, Any] | None = {} if method in ("POST", "PUT", "PATCH") else None
    content_type = "application/merge-patch+json" if method == "PATCH" else "application/json"
    reply = server.api(who).request(method, path, body, content_type=content_type)
    told = reply.json()
    where = f'in the namespace "{namespace}"' if namespace else "at the cluster scope"
    assert told["message"] == (
        f'{what} is forbidden: User "{server.usernames[who]}" cannot {verb} resource "{resource}" '
        f'in API group "{group}" {where}'
    )
    assert (reply.status, told["reason"], told["code"]) == (403, "Forbidden", 403)
    assert told["kind"] == "Status"


ALLOWED = [
    ("admin", "GET", "/api/v1/secrets"),
    ("admin", "GET", "/api/v1/nodes"),
    ("viewer", "GET", "/api/v1/pods"),
    ("viewer", "GET", "/api/v1/nodes"),
    ("viewer", "GET", "/apis/batch/v1/jobs"),
    ("engineer", "GET", PODS),
    ("engineer", "GET", JOBS),
    ("nobody", "GET", "/api/v1"),
    ("nobody", "GET", "/version"),
    ("nobody", "GET", "/healthz"),
]


@pytest.mark.parametrize(("who", "method", "path"), ALLOWED, ids=[f"{one[0]}-{one[2]}" for one in ALLOWED])
def test_what_is_allowed_is_done(server: Server, who: str, method: str, path: str) -> None:
    assert server.api(who).request(method, path).status == 200


def test_the_engineer_works_at_home(server: Server) -> None:
    erin = server.api("engineer")
    path = in_space(HOME, "configmaps")
    erin.create(path, configmap("mine", a="1"))
    erin.merge(f"{path}/mine", {"data": {"a": "2"}})
    assert erin.get(f"{path}/mine")["data"] == {"a": "2"}
    erin.delete(f"{path}/mine")
    assert erin.request("GET", f"{path}/mine").status == 404


@pytest.mark.parametrize("who", ["", "expired"])
def test_who_is_unknown_is_told_apart_from_who_may_not(server: Server, who: str) -> None:
    """A dead token is 401; no token at all is a user who may do next to nothing."""
    import http.client
    import ssl
    from urllib.parse import urlsplit

    address = urlsplit(server.url)
    context = ssl.create_default_context(cafile=str(server.ca_file))
    connection = http.client.HTTPSConnection(address.hostname or "", address.port, context=context)
    headers = {"Authorization": f"Bearer {server.tokens[who]}"} if who else {}
    connection.request("GET", "/api/v1/nodes", headers=headers)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    if who:
        assert (answer.status, '"Unauthorized"' in text) == (401, True)
    else:
        assert answer.status == 403
        assert 'User \\"system:anonymous\\" cannot list resource \\"nodes\\"' in text


def test_rules_are_told_to_who_holds_them(server: Server) -> None:
    reply = server.api("engineer").request(
        "POST",
        "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
        {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectRulesReview",
            "spec": {"namespace": HOME},
        },
    )
    assert reply.status == 201
    rules = reply.json()["status"]["resourceRules"]
    assert any("jobs" in one["resources"] and "create" in one["verbs"] for one in rules)


@needs(Capability.STATED_KINDS)
@pytest.mark.parametrize("path", ["/api/v1/podtemplates", "/apis/networking.k8s.io/v1/ingresses"])
def test_a_kind_that_is_left_out_is_not_found(admin: Api, path: str) -> None:
    assert admin.request("GET", path).status == 404


def test_a_pod_of_the_engineer_is_seen_by_the_viewer(server: Server) -> None:
    erin, vera = server.api("engineer"), server.api("viewer")
    made = erin.create(PODS, pod("seen-by-vera"))
    try:
        assert vera.get(f"{PODS}/seen-by-vera")["metadata"]["uid"] == made["metadata"]["uid"]
    finally:
        erin.delete(f"{PODS}/seen-by-vera")
