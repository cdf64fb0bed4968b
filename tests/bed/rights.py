"""Rights that a test gives, in force when the call returns.

kube-apiserver's authorizer reads roles and bindings from informers, so a request right after the write may
still be decided without them.
"""

import time
from typing import Any

from tests.bed.api import Api, Tree

RBAC = "/apis/rbac.authorization.k8s.io/v1"
_REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
_DEADLINE_SECONDS = 30.0
_POLL_SECONDS = 0.05


def until_decided(admin: Api, user: str, *, is_allowed: bool = True, **attributes: Any) -> None:
    """Return once the server decides so for the `resourceAttributes`. Raises TimeoutError after 30 s."""
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {"user": user, "groups": ["system:authenticated"], "resourceAttributes": attributes},
    }
    deadline = time.monotonic() + _DEADLINE_SECONDS
    while admin.create(_REVIEWS, review)["status"]["allowed"] is not is_allowed:
        if time.monotonic() > deadline:
            raise TimeoutError(f"not decided within {_DEADLINE_SECONDS:.0f} s: {user} {attributes}")
        time.sleep(_POLL_SECONDS)


def allow(admin: Api, user: str, space: str, role: Tree) -> None:
    """Create a role and its binding to the user, in a namespace, and wait until its rules are in force."""
    name = role["metadata"]["name"]
    rights = f"{RBAC}/namespaces/{space}"
    admin.create(f"{rights}/roles", role)
    admin.create(f"{rights}/rolebindings", binding(name, user))
    for rule in role["rules"]:
        resource, _, subresource = rule["resources"][0].partition("/")
        until_decided(
            admin,
            user,
            verb=rule["verbs"][0],
            group=rule["apiGroups"][0],
            resource=resource,
            subresource=subresource,
            name=next(iter(rule.get("resourceNames", ())), ""),
            namespace=space,
        )


def binding(name: str, user: str) -> Tree:
    """Gives the role of the same name to a user."""
    group = "rbac.authorization.k8s.io"
    return {
        "apiVersion": f"{group}/v1",
        "kind": "RoleBinding",
        "metadata": {"name": name},
        "roleRef": {"apiGroup": group, "kind": "Role", "name": name},
        "subjects": [{"kind": "User", "apiGroup": group, "name": user}],
    }
