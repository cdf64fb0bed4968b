"""The reviews: questions about rights, answered at once and never stored."""

import json
from collections.abc import Sequence
from typing import Any

from cockpit.k8s.policy_rules import tree_of
from cockpit.sim.port import PortError, Tree
from cockpit.sim.server.rbac.attributes import Attributes, quoted
from cockpit.sim.server.rbac.authoriser import Authoriser
from cockpit.sim.server.request import User
from cockpit.sim.times import rfc3339

REVIEW_RESOURCES = frozenset(
    {
        "selfsubjectaccessreviews",
        "subjectaccessreviews",
        "localsubjectaccessreviews",
        "selfsubjectrulesreviews",
        "selfsubjectreviews",
    }
)


def answer(
    authoriser: Authoriser, user: User, resource: str, tree: Tree, *, namespace: str, now: float
) -> Tree:
    """The review `tree` with its `status`.

    `resource` is one of `REVIEW_RESOURCES`, `namespace` that of the request's path, `now` seconds since the
    Unix epoch. Raises PortError 400 or 422 for what cannot be answered.
    """
    if resource == "selfsubjectreviews":
        return {**tree, "metadata": {"creationTimestamp": rfc3339(now)}, "status": {"userInfo": _info(user)}}
    metadata = {"metadata": tree.get("metadata") or {}}
    spec: Tree = tree.get("spec") or {}
    if resource == "selfsubjectrulesreviews":
        return {**tree, **metadata, "spec": {}, "status": _rules(authoriser, user, spec.get("namespace", ""))}
    return {**tree, **metadata, "status": _access(authoriser, user, resource, namespace, spec)}


def _info(user: User) -> Tree:
    info: Tree = {"username": user.name}
    if user.uid:
        info["uid"] = user.uid
    info["groups"] = list(user.groups)
    if user.extra:
        info["extra"] = {key: list(values) for key, values in user.extra}
    return info


def _access(authoriser: Authoriser, user: User, resource: str, namespace: str, spec: Tree) -> Tree:
    _check_spec(resource, namespace, spec)
    asked = _asked(spec)
    if resource != "selfsubjectaccessreviews":
        user = User(spec.get("user", ""), tuple(spec.get("groups") or ()), spec.get("uid", ""))
    decision = authoriser.decide(user, asked)
    status: Tree = {"allowed": decision.allowed}
    if decision.reason:
        status["reason"] = decision.reason
    return status


def _asked(spec: Tree) -> Attributes:
    found: Any = spec.get("resourceAttributes")
    if found is None:
        path = spec["nonResourceAttributes"]
        return Attributes(path.get("verb", ""), path=path.get("path", "") or "/")
    words = ("verb", "group", "resource", "subresource", "namespace", "name")
    return Attributes(*(found.get(word, "") for word in words))


_BOTH = "cannot be specified in combination with resourceAttributes"
_NEITHER = "exactly one of nonResourceAttributes or resourceAttributes must be specified"


def _check_spec(resource: str, namespace: str, spec: Tree) -> None:
    """As pkg/apis/authorization/validation asks; raises PortError 422 with every fault found."""
    found, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    causes: list[tuple[str, str, str]] = []
    if found is not None and path is not None:
        causes.append(("spec.nonResourceAttributes", _shown(path), _BOTH))
    if found is None and path is None:
        causes.append(("spec.resourceAttributes", "null", _NEITHER))
    if resource != "selfsubjectaccessreviews" and not spec.get("user") and not spec.get("groups"):
        causes.append(("spec.user", '""', "at least one of user or group must be specified"))
    if resource == "localsubjectaccessreviews":
        if found is not None and found.get("namespace", "") != namespace:
            told = quoted(found.get("namespace", ""))
            causes.append(("spec.resourceAttributes.namespace", told, "must match metadata.namespace"))
        if path is not None:
            why = "disallowed on this kind of request"
            causes.append(("spec.nonResourceAttributes", _shown(path), why))
    if causes:
        raise _invalid(causes)


def _shown(path: Tree) -> str:
    """As the real server prints its internal form."""
    form = {"Path": path.get("path", ""), "Verb": path.get("verb", "")}
    return json.dumps(form, separators=(",", ":"), ensure_ascii=False)


def _invalid(causes: Sequence[tuple[str, str, str]]) -> PortError:
    """The real server names no kind here: the object it complains about is its internal one."""
    told = [(field, f"Invalid value: {value}: {why}") for field, value, why in causes]
    texts = [f"{field}: {why}" for field, why in told]
    text = texts[0] if len(texts) == 1 else "[" + ", ".join(texts) + "]"
    return PortError(
        422,
        "Invalid",
        f'.authorization.k8s.io "" is invalid: {text}',
        [{"reason": "FieldValueInvalid", "message": why, "field": field} for field, why in told],
    )


def _rules(authoriser: Authoriser, user: User, namespace: str) -> Tree:
    if not namespace:
        raise PortError(400, "BadRequest", "no namespace on request")
    held = authoriser.held(user, namespace)
    resource_rules = []
    path_rules = []
    for _, rule in held.rules:
        tree: Tree = dict(tree_of(rule))
        if rule.resources:
            resource_rules.append({name: value for name, value in tree.items() if name != "nonResourceURLs"})
        if rule.urls:
            path_rules.append({name: tree[name] for name in ("verbs", "nonResourceURLs")})
    status: Tree = {"resourceRules": resource_rules, "nonResourceRules": path_rules, "incomplete": False}
    complaint = Authoriser.complaint(held)
    if complaint:
        status["evaluationError"] = complaint.removeprefix("RBAC: ")
    return status
