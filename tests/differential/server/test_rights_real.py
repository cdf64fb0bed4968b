"""The same objects and questions put to kube-apiserver: decisions, reasons, refusals and roles agree."""

from collections.abc import Iterable, Iterator

import pytest

from cockpit.kube.resource import Resource
from cockpit.sim.port import Tree
from cockpit.sim.server.rbac.attributes import Attributes, forbidden
from cockpit.sim.server.rbac.authoriser import Authoriser
from cockpit.sim.server.rbac.bootstrap import bootstrap_objects
from cockpit.sim.server.rbac.reviews import answer
from cockpit.sim.server.request import User
from tests.bed.api import Api
from tests.bed.bed import Bed
from tests.bed.rights import until_decided

pytestmark = pytest.mark.real

RBAC = "rbac.authorization.k8s.io"
BASE = f"/apis/{RBAC}/v1"
REVIEWS = "/apis/authorization.k8s.io/v1"
ERIN = User("erin", ("bed:engineers", "system:authenticated"), "erin")
SPACE = "rights"


def _kind(kind: str, name: str, **more: object) -> Tree:
    return {"apiVersion": f"{RBAC}/v1", "kind": kind, "metadata": {"name": name}, **more}


OBJECTS: dict[str, list[Tree]] = {
    "clusterroles": [
        _kind(
            "ClusterRole",
            "rights-scale",
            rules=[{"verbs": ["update"], "apiGroups": ["apps"], "resources": ["*/scale"]}],
        ),
        _kind("ClusterRole", "rights-path", rules=[{"verbs": ["get"], "nonResourceURLs": ["/debug/*"]}]),
    ],
    "clusterrolebindings": [
        _kind(
            "ClusterRoleBinding",
            f"rights-{name}",
            roleRef={"apiGroup": RBAC, "kind": "ClusterRole", "name": f"rights-{name}"},
            subjects=[{"kind": "User", "name": "erin", "apiGroup": RBAC}],
        )
        for name in ("scale", "path")
    ],
    f"namespaces/{SPACE}/roles": [
        _kind(
            "Role",
            "lead",
            rules=[
                {"verbs": ["create", "update"], "apiGroups": [RBAC], "resources": ["roles", "rolebindings"]},
                {"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods"]},
                {"verbs": ["get"], "apiGroups": [""], "resources": ["secrets"], "resourceNames": ["mine"]},
            ],
        )
    ],
    f"namespaces/{SPACE}/rolebindings": [
        _kind(
            "RoleBinding",
            "lead",
            roleRef={"apiGroup": RBAC, "kind": "Role", "name": "lead"},
            subjects=[{"kind": "User", "name": "erin", "apiGroup": RBAC}],
        )
    ],
}


@pytest.fixture(scope="module")
def admin(bed_apiserver: Bed) -> Iterator[Api]:
    api = bed_apiserver.api()
    api.create("/api/v1/namespaces", {"metadata": {"name": SPACE}})
    for where, trees in OBJECTS.items():
        for tree in trees:
            api.create(f"{BASE}/{where}", tree)
    until_decided(
        api, ERIN.name, verb="update", group="apps", resource="x", subresource="scale", namespace=SPACE
    )
    until_decided(api, ERIN.name, verb="list", resource="pods", namespace=SPACE)
    yield api
    for where in ("clusterrolebindings", "clusterroles"):
        for tree in OBJECTS[where]:
            api.delete(f"{BASE}/{where}/{tree['metadata']['name']}")
    api.delete(f"/api/v1/namespaces/{SPACE}")


@pytest.fixture(scope="module")
def ours(admin: Api) -> Authoriser:
    """Our evaluation over the real server's own objects."""

    def source(resource: Resource) -> Iterable[Tree]:
        return admin.items(f"{BASE}/{resource.plural}")

    return Authoriser(source)


ASKED = [
    Attributes("list", "", "pods", "", SPACE),
    Attributes("list", "", "pods"),
    Attributes("delete", "", "pods", "", SPACE, "p"),
    Attributes("get", "", "secrets", "", SPACE, "mine"),
    Attributes("get", "", "secrets", "", SPACE, "yours"),
    Attributes("list", "", "secrets", "", SPACE),
    Attributes("update", "apps", "deployments", "scale", SPACE, "d"),
    Attributes("update", "apps", "deployments", "", SPACE, "d"),
    Attributes("get", path="/debug/pprof"),
    Attributes("get", path="/debug"),
    Attributes("get", path="/apis/apps"),
    Attributes("get", path="/metrics"),
    Attributes("create", RBAC, "roles", "", SPACE),
]


@pytest.mark.parametrize("asked", ASKED, ids=str)
def test_decision_and_reason(admin: Api, ours: Authoriser, asked: Attributes) -> None:
    words = ("verb", "group", "resource", "subresource", "namespace", "name")
    spec: Tree = {"user": ERIN.name, "groups": list(ERIN.groups)}
    if asked.path:
        spec["nonResourceAttributes"] = {"verb": asked.verb, "path": asked.path}
    else:
        spec["resourceAttributes"] = {word: getattr(asked, word) for word in words}
    tree = {"kind": "SubjectAccessReview", "apiVersion": "authorization.k8s.io/v1", "spec": spec}
    theirs = admin.create(f"{REVIEWS}/subjectaccessreviews", tree)
    mine = answer(ours, ERIN, "subjectaccessreviews", tree, namespace="", now=0.0)
    assert mine["status"] == theirs["status"]


@pytest.mark.parametrize(
    ("method", "path", "asked"),
    [
        ("GET", "/api/v1/pods", Attributes("list", "", "pods")),
        ("DELETE", f"/api/v1/namespaces/{SPACE}/pods/p", Attributes("delete", "", "pods", "", SPACE, "p")),
        (
            "GET",
            f"/apis/apps/v1/namespaces/{SPACE}/deployments/d/scale",
            Attributes("get", "apps", "deployments", "scale", SPACE, "d"),
        ),
        ("GET", "/metrics", Attributes("get", path="/metrics")),
    ],
)
def test_the_refusal(bed_apiserver: Bed, admin: Api, method: str, path: str, asked: Attributes) -> None:
    reply = bed_apiserver.api("engineer").request(method, path)
    error = forbidden(ERIN, asked)
    assert (reply.status, reply.json()["message"]) == (error.status, error.message)


# What the three roles of people aggregate in a real cluster; ours are written out.
PARTS = {"view": ("view",), "edit": ("edit", "view"), "admin": ("edit", "view", "admin")}


def _rules(role: Tree) -> list[Tree]:
    return [rule for rule in role["rules"] if rule.get("apiGroups") != ["extensions"]]


def _groups(rules: Iterable[Tree]) -> set[str]:
    return {group for rule in rules for group in rule["apiGroups"]}


def test_our_default_roles_are_those_of_the_real_server(admin: Api) -> None:
    real = {tree["metadata"]["name"]: tree for tree in admin.items(f"{BASE}/clusterroles")}
    real |= {tree["metadata"]["name"] + " b": tree for tree in admin.items(f"{BASE}/clusterrolebindings")}
    compared = 0
    for tree in bootstrap_objects():
        name = tree["metadata"]["name"]
        if name.startswith("cockpit:") or tree["kind"] == "RoleBinding":
            continue
        theirs = real[name if tree["kind"] == "ClusterRole" else f"{name} b"]
        assert tree["metadata"].get("labels") == theirs["metadata"].get("labels"), name
        if name in PARTS:
            rules = [rule for part in PARTS[name] for rule in _rules(real[f"system:aggregate-to-{part}"])]
            assert [rule for rule in tree["rules"] if rule in rules] == rules, name
            assert not _groups(rule for rule in tree["rules"] if rule not in rules) & _groups(rules), name
        elif tree["kind"] == "ClusterRole":
            assert tree["rules"] == _rules(theirs), name
        else:
            assert (tree["subjects"], tree["roleRef"]) == (theirs["subjects"], theirs["roleRef"]), name
        compared += 1
    assert compared >= 16
