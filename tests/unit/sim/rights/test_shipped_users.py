"""What the embedded server starts with: four users, their tokens, their rights; reviews; no escalation."""

from collections.abc import Iterable
from random import Random

import pytest

from cockpit.clock import ManualClock
from cockpit.kube.resource import Resource
from cockpit.sim.port import PortError, Tree
from cockpit.sim.resources import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, ROLE_BINDINGS, ROLES
from cockpit.sim.server.request import User
from cockpit.sim.server.rights.aggregation import stale_roles
from cockpit.sim.server.rights.attributes import ANONYMOUS, Attributes
from cockpit.sim.server.rights.authoriser import Authoriser
from cockpit.sim.server.rights.bootstrap import bootstrap_objects
from cockpit.sim.server.rights.escalation import refuse_escalation
from cockpit.sim.server.rights.reviews import answer
from cockpit.sim.server.rights.tokens import Tokens, shipped_users

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


@pytest.mark.parametrize(
    ("text", "who"),
    [
        ("list pods", "admin viewer"),
        ("list pods team-a", "admin engineer viewer"),
        ("list pods team-b", "admin viewer"),
        ("create jobs.batch team-a", "admin engineer"),
        ("create jobs.batch team-b", "admin"),
        ("create mpijobs.kubeflow.org team-a", "admin engineer"),
        ("patch workloads.kueue.x-k8s.io team-a w", "admin engineer"),
        ("create workloads.kueue.x-k8s.io team-a", "admin"),
        ("create pods/eviction team-a", "admin engineer"),
        ("create pods/exec team-a p", "admin engineer"),
        ("get pods/exec team-a p", "admin engineer"),
        ("get pods/log team-b p", "admin viewer"),
        ("get secrets team-a s", "admin engineer"),
        ("list secrets", "admin"),
        ("list secrets team-b", "admin"),
        ("list nodes", "admin engineer viewer"),
        ("patch nodes", "admin"),
        ("list clusterqueues.kueue.x-k8s.io", "admin engineer viewer"),
        ("get clusterqueues.visibility.kueue.x-k8s.io/pendingworkloads", "admin engineer viewer"),
        ("list machinedeployments.cluster.x-k8s.io", "admin engineer viewer"),
        ("patch machinedeployments.cluster.x-k8s.io/scale", "admin"),
        ("list clusterroles." + RBAC, "admin viewer"),
        ("create selfsubjectaccessreviews.authorization.k8s.io", "admin engineer viewer nobody expired"),
        ("get pods/proxy monitoring p", "admin viewer"),
    ],
)
def test_the_shipped_users_may_what_they_are_for(text: str, who: str) -> None:
    assert {name for name, user in PEOPLE.items() if rights(user, text)} == set(who.split())


def test_the_viewer_may_nothing_that_writes_and_no_secrets() -> None:
    held = RIGHTS.held(PEOPLE["viewer"], "team-a").rules
    # The self reviews are creations that store nothing; everybody has them.
    verbs = {verb for _, rule in held for verb in rule.verbs if "selfsubject" not in str(rule)}
    assert verbs == {"get", "list", "watch"}
    assert not any("secrets" in rule.resources for _, rule in held)
    assert not any("*" in rule.resources and {"", "*"} & set(rule.groups) for _, rule in held)


def test_aggregated_roles_come_filled_in_and_stay_so() -> None:
    roles = [tree for tree in bootstrap_objects() if tree["kind"] == "ClusterRole"]
    assert stale_roles(roles) == []
    edit = next(tree for tree in roles if tree["metadata"]["name"] == "edit")
    assert len(edit["rules"]) > 20
    assert edit["metadata"]["labels"] == {
        "kubernetes.io/bootstrapping": "rbac-defaults",
        f"{RBAC}/aggregate-to-admin": "true",
    }


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
    assert tokens.expire("nobody", clock.now() + 5) == 2
    clock.advance(5.0)
    assert tokens.user_of(given["nobody"]) is None


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


def test_the_rules_review_lists_what_is_held_in_the_namespace() -> None:
    status = review(PEOPLE["nobody"], "selfsubjectrulesreviews", {"namespace": "team-a"})
    assert [rule["resources"] for rule in status["resourceRules"]] == [
        ["selfsubjectaccessreviews", "selfsubjectrulesreviews"],
        ["selfsubjectreviews"],
    ]
    assert status["incomplete"] is False
    assert all(set(rule) == {"verbs", "nonResourceURLs"} for rule in status["nonResourceRules"])


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


# ---- escalation

ERIN = User("erin", ("system:authenticated",))


def lead() -> Authoriser:
    """erin may write roles and bindings in team-a, read pods there, and bind `view` by name."""
    rules = [
        {"apiGroups": [RBAC], "resources": ["roles", "rolebindings"], "verbs": ["create", "update"]},
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]},
        {"apiGroups": [RBAC], "resources": ["clusterroles"], "resourceNames": ["view"], "verbs": ["bind"]},
    ]
    return over(
        [
            {"kind": "Role", "metadata": {"name": "lead", "namespace": "team-a"}, "rules": rules},
            {
                "kind": "RoleBinding",
                "metadata": {"name": "lead", "namespace": "team-a"},
                "roleRef": {"kind": "Role", "name": "lead"},
                "subjects": [{"kind": "User", "name": "erin"}],
            },
        ]
    )


def new_role(*rules: Tree) -> Tree:
    return {"kind": "Role", "metadata": {"name": "more", "namespace": "team-a"}, "rules": list(rules)}


def new_binding(kind: str, name: str) -> Tree:
    return {"metadata": {"name": "b", "namespace": "team-a"}, "roleRef": {"kind": kind, "name": name}}


def refused_by(
    resource: str, new: Tree, old: Tree | None = None, namespace: str = "team-a"
) -> PortError | None:
    try:
        refuse_escalation(lead(), ERIN, resource, namespace=namespace, new=new, old=old)
    except PortError as error:
        return error
    return None


def test_what_one_holds_may_be_granted() -> None:
    assert (
        refused_by("roles", new_role({"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]})) is None
    )
    assert refused_by("rolebindings", new_binding("Role", "lead")) is None
    assert refused_by("rolebindings", new_binding("ClusterRole", "view")) is None, "`bind` lifts the check"
    assert (
        refused_by("configmaps", new_role({"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]})) is None
    )


def test_what_one_lacks_may_not_be_granted_and_the_refusal_lists_it() -> None:
    rules = [
        {"apiGroups": ["", "apps"], "resources": ["secrets", "pods"], "verbs": ["get", "list"]},
        {"apiGroups": [""], "resources": ["nodes"], "resourceNames": ["a"], "verbs": ["get"]},
        {"nonResourceURLs": ["/x"], "verbs": ["get"]},
    ]
    error = refused_by("roles", new_role(*rules))
    assert error is not None
    assert error.message == (
        'roles.rbac.authorization.k8s.io "more" is forbidden: user "erin" (groups=["system:authenticated"]) '
        "is attempting to grant RBAC permissions not currently held:\n"
        '{APIGroups:[""], Resources:["nodes"], ResourceNames:["a"], Verbs:["get"]}\n'
        '{APIGroups:[""], Resources:["secrets"], Verbs:["get" "list"]}\n'
        '{APIGroups:["apps"], Resources:["pods"], Verbs:["get" "list"]}\n'
        '{APIGroups:["apps"], Resources:["secrets"], Verbs:["get" "list"]}\n'
        '{NonResourceURLs:["/x"], Verbs:["get"]}'
    )
    binding = refused_by("rolebindings", new_binding("ClusterRole", "cluster-admin"))
    assert binding is not None and binding.status == 403
    missing = refused_by("rolebindings", new_binding("Role", "nix"))
    assert missing is not None and missing.message == 'rolebindings.rbac.authorization.k8s.io "nix" not found'


def test_upkeep_of_a_role_beyond_ones_rights_is_let_through_and_nothing_else_is() -> None:
    old = new_role({"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]})
    upkeep = {**old, "metadata": {**old["metadata"], "finalizers": [], "resourceVersion": "2"}}
    assert refused_by("roles", upkeep, old) is None
    labelled = {**old, "metadata": {**old["metadata"], "labels": {"a": "b"}}}
    assert refused_by("roles", labelled, old) is not None


def test_only_who_may_everything_aggregates() -> None:
    tree = {
        "metadata": {"name": "agg"},
        "rules": [],
        "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]},
    }
    error = refused_by("clusterroles", tree, namespace="")
    assert error is not None
    assert error.message.endswith("must have cluster-admin privileges to use the aggregationRule")
    refuse_escalation(lead(), PEOPLE["admin"], "clusterroles", namespace="", new=tree, old=None)
