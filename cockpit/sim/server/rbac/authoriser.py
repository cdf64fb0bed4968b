"""The decision: may this user do that. Reads roles and bindings once, then again when one of them changes."""

from collections.abc import Callable, Iterable, Iterator

import msgspec

from cockpit.k8s.policy_rules import PolicyRule, rule_of
from cockpit.kube.resource import Resource
from cockpit.sim.port import Tree
from cockpit.sim.resources import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, ROLE_BINDINGS, ROLES
from cockpit.sim.server.rbac.attributes import MASTERS, AccessDecision, Attributes, quoted
from cockpit.sim.server.request import User


def allows(rule: PolicyRule, asked: Attributes) -> bool:
    """True when this rule alone allows the request."""
    if not asked.is_resource:
        return rule.allows_url(asked.verb, asked.path)
    is_about = rule.is_about(asked.verb, asked.group, asked.resource, asked.subresource)
    return is_about and rule.names_one(asked.name)


def rules_of(tree: Tree) -> tuple[PolicyRule, ...]:
    """The `rules` of a Role or ClusterRole."""
    found = (rule_of(one) for one in tree.get("rules") or ())
    return tuple(one for one in found if one is not None)


RbacSource = Callable[[Resource], Iterable[Tree]]
"""Every stored object of one of `RBAC_RESOURCES`, over all namespaces; trees are not changed."""

RBAC_RESOURCES = (ROLES, CLUSTER_ROLES, ROLE_BINDINGS, CLUSTER_ROLE_BINDINGS)
_GROUP = "rbac.authorization.k8s.io"
_KEPT_USERS = 1024


class _Grant(msgspec.Struct, frozen=True):
    """What one subject of one binding gets. `order` is the binding's place, `subject` the subject's in it."""

    order: int
    subject: int
    source: str
    rules: tuple[PolicyRule, ...]
    error: str


class GrantedRules(msgspec.Struct, frozen=True):
    """Every rule that a user holds in a namespace ("" for the cluster's scope), each with its source."""

    rules: tuple[tuple[str, PolicyRule], ...]
    errors: tuple[str, ...]


class Authoriser:
    """Role based access control over what `source` lists. Call `changed` when an RBAC object was written."""

    def __init__(self, source: RbacSource) -> None:
        self._source = source
        self._is_stale = True
        self._grants: dict[tuple[str, str, str], list[_Grant]] = {}
        self._roles: dict[tuple[str, str], tuple[PolicyRule, ...]] = {}
        self._held: dict[tuple[str, tuple[str, ...], str], GrantedRules] = {}

    def changed(self, resource: Resource) -> None:
        """Tell that objects of `resource` have changed; other than RBAC resources are ignored."""
        if resource in RBAC_RESOURCES:
            self._is_stale = True

    def decide(self, user: User, asked: Attributes) -> AccessDecision:
        """Whether `user` may, and why (the real server's reason; "" when nothing is to be said)."""
        if MASTERS in user.groups:
            return AccessDecision(True)
        held = self.held(user, asked.namespace)
        for source, rule in held.rules:
            if allows(rule, asked):
                return AccessDecision(True, f"RBAC: allowed by {source}")
        return AccessDecision(False, self.complaint(held))

    @staticmethod
    def complaint(held: GrantedRules) -> str:
        """The reason of a refusal when a binding names a role that is not there."""
        errors = tuple(dict.fromkeys(held.errors))
        if not errors:
            return ""
        return "RBAC: " + (errors[0] if len(errors) == 1 else "[" + ", ".join(errors) + "]")

    def held(self, user: User, namespace: str) -> GrantedRules:
        """The rules that RBAC gives to a user: bindings of the cluster first, then of the namespace."""
        self._read()
        key = (user.name, user.groups, namespace)
        held = self._held.get(key)
        if held is None:
            if len(self._held) >= _KEPT_USERS:
                self._held.clear()
            grants = [*self._granted(user, ""), *(self._granted(user, namespace) if namespace else ())]
            held = GrantedRules(
                tuple((one.source, rule) for one in grants for rule in one.rules),
                tuple(one.error for one in grants if one.error),
            )
            self._held[key] = held
        return held

    def _granted(self, user: User, namespace: str) -> list[_Grant]:
        keys = [("User", user.name), *(("Group", group) for group in dict.fromkeys(user.groups))]
        first: dict[int, _Grant] = {}
        for kind, name in keys:
            for grant in self._grants.get((namespace, kind, name), ()):
                held = first.get(grant.order)
                if held is None or grant.subject < held.subject:
                    first[grant.order] = grant
        return [first[order] for order in sorted(first)]

    def _read(self) -> None:
        if not self._is_stale:
            return
        self._is_stale = False
        self._held = {}
        self._roles = {("", tree["metadata"]["name"]): rules_of(tree) for tree in self._source(CLUSTER_ROLES)}
        for tree in self._source(ROLES):
            self._roles[(tree["metadata"]["namespace"], tree["metadata"]["name"])] = rules_of(tree)
        self._grants = {}
        bindings = [*self._source(CLUSTER_ROLE_BINDINGS), *self._source(ROLE_BINDINGS)]
        bindings.sort(key=lambda tree: (tree["metadata"].get("namespace", ""), tree["metadata"]["name"]))
        for order, tree in enumerate(bindings):
            for key, grant in self._grants_of(order, tree):
                self._grants.setdefault(key, []).append(grant)

    def _grants_of(self, order: int, tree: Tree) -> Iterator[tuple[tuple[str, str, str], _Grant]]:
        namespace = tree["metadata"].get("namespace", "")
        name = tree["metadata"]["name"]
        reference = tree["roleRef"]
        rules = self._roles.get((namespace if reference["kind"] == "Role" else "", reference["name"]))
        error = "" if rules is not None else role_not_found(reference["kind"], reference["name"])
        label = (
            f"RoleBinding {quoted(f'{name}/{namespace}')}"
            if namespace
            else f"ClusterRoleBinding {quoted(name)}"
        )
        for place, subject in enumerate(tree.get("subjects") or ()):
            kind, who = subject["kind"], subject["name"]
            told = who
            if kind == "ServiceAccount":
                home = subject.get("namespace") or namespace
                if not home:
                    continue
                told = f"{who}/{home}"
                kind, who = "User", f"system:serviceaccount:{home}:{who}"
            source = (
                f"{label} of {reference['kind']} {quoted(reference['name'])}"
                f" to {subject['kind']} {quoted(told)}"
            )
            yield (namespace, kind, who), _Grant(order, place, source, rules or (), error)


def role_not_found(kind: str, name: str) -> str:
    """The sentence about a binding's role that is not there."""
    return f"{kind.lower()}.{_GROUP} {quoted(name)} not found"
