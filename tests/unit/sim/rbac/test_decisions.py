"""Who may do what: examples of every kind of rule and subject, and the words of a refusal."""

from collections.abc import Iterable
from typing import Any

from cockpit.kube.resource import Resource
from cockpit.sim.port import Tree
from cockpit.sim.resources import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, ROLE_BINDINGS, ROLES
from cockpit.sim.server.rbac.attributes import Attributes, service_account
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


def over(objects: list[Tree]) -> Authoriser:
    def source(resource: Resource) -> Iterable[Tree]:
        return [tree for tree in objects if KINDS[tree["kind"]] == resource]

    return Authoriser(source)


def may(authoriser: Authoriser, verb: str, resource: str, namespace: str = "", name: str = "") -> bool:
    what, _, subresource = resource.partition("/")
    plural, _, api_group = what.partition(".")
    return authoriser.decide(VERA, Attributes(verb, api_group, plural, subresource, namespace, name)).allowed


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
