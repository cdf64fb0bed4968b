"""May I? Asked of the server before an action is offered."""

from typing import Any

import msgspec

from cockpit.k8s.policy_rules import PolicyRule, rule_of
from cockpit.kube.refusal import refused
from cockpit.kube.resource import (
    ACCESS_REVIEWS,
    RULES_REVIEWS,
    Resource,
)
from cockpit.kube.session import ApiSession
from cockpit.model.right import Permission, Right

RULES_BYTES = 8 << 20
"""Longest list of rules that is read: more than any role has."""


async def can(
    session: ApiSession,
    verb: str,
    resource: Resource,
    *,
    namespace: str = "",
    name: str = "",
    subresource: str = "",
) -> bool:
    """True where the server's authorizer allows it (a SelfSubjectAccessReview; allowed in read-only mode).

    Raises NoConnection without an answer and Refused where even the question is not allowed.
    """
    where = namespace if resource.namespaced else ""
    right = Right(verb, resource.group, resource.plural, subresource, where, name)
    return await read_verdict(session, right, resource.version) is Permission.ALLOWED


async def read_verdict(session: ApiSession, right: Right, version: str = "") -> Permission:
    """The same for a right; UNKNOWN where the answer does not say. Raises as `can`."""
    asked = {**msgspec.structs.asdict(right), "version": version}
    attributes = {key: value for key, value in asked.items() if value}
    status = await _reviewed(session, ACCESS_REVIEWS, {"resourceAttributes": attributes})
    if status.get("denied") is True or status.get("allowed") is False:
        return Permission.DENIED
    return Permission.ALLOWED if status.get("allowed") is True else Permission.UNKNOWN


def allows(rule: PolicyRule, right: Right) -> Permission:
    """ALLOWED or DENIED; UNKNOWN where the rule is for some names and the right for any."""
    if not rule.is_about(right.verb, right.group, right.resource, right.subresource):
        return Permission.DENIED
    if rule.names_one(right.name):
        return Permission.ALLOWED
    return Permission.DENIED if right.name else Permission.UNKNOWN


class Rules(msgspec.Struct, frozen=True):
    """Every rule for a user in one namespace, as far as the server could tell them."""

    rules: tuple[PolicyRule, ...]
    is_complete: bool

    def verdict(self, right: Right) -> Permission | None:
        """What the rules say; None where they are not complete and say nothing."""
        found = {allows(rule, right) for rule in self.rules}
        for verdict in (Permission.ALLOWED, Permission.UNKNOWN):
            if verdict in found:
                return verdict
        return Permission.DENIED if self.is_complete else None


async def read_rules(session: ApiSession, namespace: str) -> Rules:
    """What the user may do in that namespace, by one question (a SelfSubjectRulesReview).

    Raises NoConnection without an answer and Refused where even the question is not allowed.
    """
    status = await _reviewed(session, RULES_REVIEWS, {"namespace": namespace})
    listed = status.get("resourceRules")
    rules = [rule_of(item) for item in listed] if isinstance(listed, list) else [None]
    # a webhook or a role that is missing: what is listed holds, what is not listed may hold, too
    is_complete = status.get("incomplete") is not True and not status.get("evaluationError")
    known = tuple(rule for rule in rules if rule is not None)
    return Rules(known, is_complete and len(known) == len(rules))


async def _reviewed(session: ApiSession, kind: Resource, spec: dict[str, Any]) -> dict[str, Any]:
    body = {"apiVersion": kind.api_version, "kind": kind.kind, "spec": spec}
    answer = await session.request("POST", kind.path(), body=body, limit_bytes=RULES_BYTES)
    if not answer.ok:
        raise refused("The server does not say what is allowed", answer, ACCESS_REVIEWS.path())
    tree = answer.json()
    status = tree.get("status") if isinstance(tree, dict) else None
    return status if isinstance(status, dict) else {}
