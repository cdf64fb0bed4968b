"""Who may do what: examples of every kind of rule and subject, and the words of a refusal."""

from collections.abc import Iterable
from typing import Any

import pytest

from cockpit.kube.resource import Resource
from cockpit.sim.port import Tree
from cockpit.sim.resources import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, ROLE_BINDINGS, ROLES
from cockpit.sim.server.rbac.attributes import Attributes, forbidden, service_account
from cockpit.sim.server.rbac.authoriser import Authoriser
from cockpit.sim.server.request import User

KINDS = {"Role": ROLES, "ClusterRole": CLUSTER_ROLES}
KINDS |= {"RoleBinding": ROLE_BINDINGS, "ClusterRoleBinding": CLUSTER_ROLE_BINDINGS}
VERA = User("vera", ("viewers", "system:authenticated"))


def role(name: str, *rules: Tree, namespace: str = "", **more: Any) -> Tree:
    metadata: Tree = {"name": name, "labels": more.pop("labels", {})}
    if namespace:
        metadata["namespace"] = namespace
    return {
        "kind": "Role" if namespace else "ClusterRole",
        "metadata": metadata,
        "rules": list(rules),
        **more,
    }


def rule(verbs: str, groups: str, resources: str, names: str = "") -> Tree:
    return {
        "verbs": verbs.split(),
        "apiGroups": [one.replace("core", "") for one in groups.split()],
        "resources": resources.split(),
        "resourceNames": names.split(),
    }


def binding(
    name: str, role_name: str, *subjects: Tree, namespace: str = "", kind: str = "ClusterRole"
) -> Tree:
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {
        "kind": "RoleBinding" if namespace else "ClusterRoleBinding",
        "metadata": metadata,
        "subjects": list(subjects),
        "roleRef": {"kind": kind, "name": role_name},
    }


def user(name: str) -> Tree:
    return {"kind": "User", "name": name}


def group(name: str) -> Tree:
    return {"kind": "Group", "name": name}


def over(objects: list[Tree]) -> Authoriser:
    def source(resource: Resource) -> Iterable[Tree]:
        return [tree for tree in objects if KINDS[tree["kind"]] == resource]

    return Authoriser(source)


def may(authoriser: Authoriser, verb: str, resource: str, namespace: str = "", name: str = "") -> bool:
    what, _, subresource = resource.partition("/")
    plural, _, api_group = what.partition(".")
    return authoriser.decide(VERA, Attributes(verb, api_group, plural, subresource, namespace, name)).allowed


@pytest.mark.parametrize(
    ("given", "asked", "allowed"),
    [
        (rule("get", "core", "pods"), ("get", "pods", "a", "p"), True),
        (rule("get", "core", "pods"), ("list", "pods", "a"), False),
        (rule("*", "core", "pods"), ("deletecollection", "pods", "a"), True),
        (rule("get", "core", "pods"), ("get", "pods/log", "a", "p"), False),
        (rule("get", "core", "pods/log"), ("get", "pods/log", "a", "p"), True),
        (rule("get", "core", "*"), ("get", "pods/log", "a", "p"), True),
        (rule("update", "apps", "*/scale"), ("update", "deployments.apps/scale", "a", "d"), True),
        (rule("update", "apps", "*/scale"), ("update", "deployments.apps", "a", "d"), False),
        (rule("update", "apps", "*/scale"), ("update", "deployments.apps/status", "a", "d"), False),
        (rule("get", "apps", "pods"), ("get", "pods", "a", "p"), False),
        (rule("get", "*", "jobs"), ("get", "jobs.batch", "a", "j"), True),
        (rule("get", "core", "pods", "one two"), ("get", "pods", "a", "two"), True),
        (rule("get", "core", "pods", "one two"), ("get", "pods", "a", "three"), False),
        (rule("create list", "core", "pods", "one"), ("create", "pods", "a"), False),
    ],
)
def test_a_rule_allows_what_it_names_and_no_more(given: Tree, asked: tuple[str, ...], allowed: bool) -> None:
    authoriser = over([role("r", given), binding("b", "r", user("vera"))])
    assert may(authoriser, *asked) is allowed


def test_a_role_binding_grants_in_its_namespace_only() -> None:
    objects = [
        role("r", rule("get", "core", "pods nodes")),
        binding("b", "r", group("viewers"), namespace="a"),
    ]
    authoriser = over(objects)
    assert may(authoriser, "get", "pods", "a", "p")
    assert not may(authoriser, "get", "pods", "b", "p")
    assert not may(authoriser, "get", "pods")
    assert not may(authoriser, "get", "nodes", "", "n")


def test_a_role_of_another_namespace_is_not_found() -> None:
    objects = [
        role("r", rule("get", "core", "pods"), namespace="b"),
        binding("x", "r", user("vera"), namespace="a", kind="Role"),
    ]
    decision = over(objects).decide(VERA, Attributes("get", "", "pods", "", "a", "p"))
    assert not decision.allowed
    assert decision.reason == 'RBAC: role.rbac.authorization.k8s.io "r" not found'


def test_paths_with_and_without_a_star() -> None:
    urls = role("r", {"verbs": ["get"], "nonResourceURLs": ["/healthz", "/apis/*"]})
    authoriser = over([urls, binding("b", "r", user("vera"))])
    found = {
        path: authoriser.decide(VERA, Attributes("get", path=path)).allowed
        for path in ("/healthz", "/healthz/etcd", "/apis/batch/v1", "/apis", "/metrics")
    }
    assert found == {
        "/healthz": True,
        "/healthz/etcd": False,
        "/apis/batch/v1": True,
        "/apis": False,
        "/metrics": False,
    }


def test_a_service_account_is_named_by_namespace_and_by_default_that_of_the_binding() -> None:
    account = {"kind": "ServiceAccount", "name": "runner"}
    objects = [
        role("r", rule("get", "core", "pods")),
        binding("here", "r", account, namespace="a"),
        binding("there", "r", {**account, "namespace": "c"}, namespace="b"),
    ]
    authoriser = over(objects)
    asked = {space: Attributes("get", "", "pods", "", space, "p") for space in "ab"}
    assert authoriser.decide(service_account("a", "runner"), asked["a"]).reason == (
        'RBAC: allowed by RoleBinding "here/a" of ClusterRole "r" to ServiceAccount "runner/a"'
    )
    assert authoriser.decide(service_account("c", "runner"), asked["b"]).allowed
    assert not authoriser.decide(service_account("b", "runner"), asked["b"]).allowed


def test_the_reason_names_the_first_subject_of_the_binding_that_fits() -> None:
    objects = [
        role("r", rule("get", "core", "pods")),
        binding("b", "r", group("nope"), group("system:authenticated"), user("vera")),
    ]
    reason = over(objects).decide(VERA, Attributes("get", "", "pods", "", "a", "p")).reason
    assert (
        reason == 'RBAC: allowed by ClusterRoleBinding "b" of ClusterRole "r" to Group "system:authenticated"'
    )


def test_a_change_counts_once_it_is_told_and_objects_are_read_no_more_often() -> None:
    objects = [role("r", rule("get", "core", "pods"))]
    reads: list[Resource] = []

    def source(resource: Resource) -> Iterable[Tree]:
        reads.append(resource)
        return [tree for tree in objects if KINDS[tree["kind"]] == resource]

    authoriser = Authoriser(source)
    assert not may(authoriser, "get", "pods", "a", "p")
    assert not may(authoriser, "get", "pods", "b", "p")
    assert len(reads) == 4
    objects.append(binding("b", "r", user("vera")))
    authoriser.changed(ROLE_BINDINGS)
    assert may(authoriser, "get", "pods", "a", "p")
    authoriser.changed(Resource("", "v1", "pods", "Pod", namespaced=True))
    assert may(authoriser, "get", "pods", "a", "p")
    assert len(reads) == 8


def test_masters_may_everything_even_without_bindings() -> None:
    assert over([]).decide(User("root", ("system:masters",)), Attributes("get", path="/metrics")).allowed


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        (
            Attributes("list", "", "pods"),
            'pods is forbidden: User "vera" cannot list resource "pods" in API group "" at the cluster scope',
        ),
        (
            Attributes("delete", "apps", "deployments", "", "x", "d"),
            'deployments.apps "d" is forbidden: User "vera" cannot delete resource "deployments" in API '
            'group "apps" in the namespace "x"',
        ),
        (
            Attributes("get", "", "pods", "log", "x", "p"),
            'pods "p" is forbidden: User "vera" cannot get resource "pods/log" in API group "" in the '
            'namespace "x"',
        ),
        (Attributes("get", path="/metrics"), 'forbidden: User "vera" cannot get path "/metrics"'),
        (Attributes("get", path="/<b>"), 'forbidden: User "vera" cannot get path "/&lt;b&gt;"'),
    ],
)
def test_a_refusal_in_the_words_of_the_real_server(asked: Attributes, text: str) -> None:
    error = forbidden(VERA, asked)
    assert (error.status, error.reason, error.message) == (403, "Forbidden", text)
