"""What the embedded server starts with: four users, their tokens, their rights; reviews."""

from collections.abc import Iterable
from random import Random

import pytest

from cockpit.clock import ManualClock
from cockpit.kube.resource import Resource
from cockpit.sim.port import PortError, Tree
from cockpit.sim.resources import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, ROLE_BINDINGS, ROLES
from cockpit.sim.server.rbac.attributes import ANONYMOUS, Attributes
from cockpit.sim.server.rbac.authoriser import Authoriser
from cockpit.sim.server.rbac.bootstrap import bootstrap_objects
from cockpit.sim.server.rbac.reviews import answer
from cockpit.sim.server.rbac.tokens import Tokens, shipped_users
from cockpit.sim.server.request import User

KINDS = {one.kind: one for one in (ROLES, CLUSTER_ROLES, ROLE_BINDINGS, CLUSTER_ROLE_BINDINGS)}
PEOPLE = {person.context: person.user for person in shipped_users()}
RBAC = "rbac.authorization.k8s.io"


def over(more: Iterable[Tree] = ()) -> Authoriser:
    objects = [*bootstrap_objects(), *more]

    def source(resource: Resource) -> Iterable[Tree]:
        return [tree for tree in objects if KINDS[tree["kind"]] == resource]

    return Authoriser(source)


RIGHTS = over()


def rights(user: User, text: str) -> bool:
    """`VERB RESOURCE[.GROUP][/SUBRESOURCE] [NAMESPACE [NAME]]`."""
    verb, what, *where = text.split()
    what, _, subresource = what.partition("/")
    resource, _, api_group = what.partition(".")
    namespace, name = (*where, "", "")[:2]
    asked = Attributes(verb, api_group, resource, subresource, namespace, name)
    return RIGHTS.decide(user, asked).allowed


# ---- tokens


def test_tokens_stand_for_their_users_until_they_run_out() -> None:
    clock = ManualClock()
    tokens = Tokens(clock, Random(1))
    given = tokens.issue_all(shipped_users())
    assert tokens.authenticate(f"Bearer {given['viewer']}") == PEOPLE["viewer"]
    with pytest.raises(PortError) as refused:
        tokens.authenticate(f"Bearer {given['expired']}")
    assert (refused.value.status, refused.value.message) == (401, "Unauthorized")
    short = tokens.issue(PEOPLE["nobody"], lifetime_seconds=60.0)
    clock.advance(59.0)
    assert tokens.user_of(short) == PEOPLE["nobody"]
    clock.advance(1.0)
    assert tokens.user_of(short) is None
    assert tokens.user_of(given["nobody"]) == PEOPLE["nobody"]


def test_tokens_come_from_the_random_that_is_passed_and_no_token_is_anonymous() -> None:
    first, second = (Tokens(ManualClock(), Random(7)).issue(PEOPLE["admin"]) for _ in range(2))
    assert first == second
    assert len(first) == 48
    tokens = Tokens(ManualClock(), Random(7))
    assert tokens.authenticate(None).name == ANONYMOUS
    assert tokens.authenticate("Basic eDp5").name == ANONYMOUS


# ---- reviews


def review(user: User, resource: str, spec: Tree, namespace: str = "") -> Tree:
    status: Tree = answer(RIGHTS, user, resource, {"spec": spec}, namespace=namespace, now=0.0)["status"]
    return status


def test_reviews_answer_for_oneself_and_for_others() -> None:
    spec = {"resourceAttributes": {"verb": "list", "resource": "pods", "namespace": "team-a"}}
    assert review(PEOPLE["admin"], "selfsubjectaccessreviews", spec) == {"allowed": True}
    assert review(PEOPLE["nobody"], "selfsubjectaccessreviews", spec) == {"allowed": False}
    other = {**spec, "user": "erin", "groups": ["cockpit:engineers"]}
    told = {
        "allowed": True,
        "reason": 'RBAC: allowed by RoleBinding "cockpit:engineer/team-a" of ClusterRole "edit" to Group '
        '"cockpit:engineers"',
    }
    assert review(PEOPLE["admin"], "subjectaccessreviews", other) == told
    assert review(PEOPLE["admin"], "localsubjectaccessreviews", other, "team-a") == told
    path = {"nonResourceAttributes": {"verb": "get", "path": "/version"}}
    assert review(PEOPLE["nobody"], "selfsubjectaccessreviews", path)["allowed"]
    assert review(PEOPLE["viewer"], "selfsubjectreviews", {}) == {
        "userInfo": {
            "username": "viewer",
            "uid": "uid-viewer",
            "groups": ["cockpit:viewers", "system:authenticated"],
        }
    }


@pytest.mark.parametrize(
    ("resource", "spec", "message"),
    [
        (
            "selfsubjectaccessreviews",
            {},
            '.authorization.k8s.io "" is invalid: spec.resourceAttributes: Invalid value: null: exactly one '
            "of nonResourceAttributes or resourceAttributes must be specified",
        ),
        (
            "subjectaccessreviews",
            {},
            '.authorization.k8s.io "" is invalid: [spec.resourceAttributes: Invalid value: null: exactly one '
            "of nonResourceAttributes or resourceAttributes must be specified, spec.user: Invalid value: "
            '"": at least one of user or group must be specified]',
        ),
        (
            "localsubjectaccessreviews",
            {"user": "erin", "resourceAttributes": {"namespace": "team-b"}},
            '.authorization.k8s.io "" is invalid: spec.resourceAttributes.namespace: Invalid value: "team-b"'
            ": must match metadata.namespace",
        ),
        ("selfsubjectrulesreviews", {}, "no namespace on request"),
    ],
)
def test_a_review_that_cannot_be_answered_says_why(resource: str, spec: Tree, message: str) -> None:
    with pytest.raises(PortError) as refused:
        review(PEOPLE["admin"], resource, spec, "team-a")
    assert refused.value.message == message
