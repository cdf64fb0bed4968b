"""May I? Asked of the server before an action is offered."""

from cockpit.errors import Refused
from cockpit.kube.resource import ACCESS_REVIEWS, Resource
from cockpit.kube.session import Session


async def can(
    session: Session,
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
    attributes = {
        "verb": verb,
        "group": resource.group,
        "version": resource.version,
        "resource": resource.plural,
        "namespace": namespace if resource.namespaced else "",
        "name": name,
        "subresource": subresource,
    }
    body = {
        "apiVersion": ACCESS_REVIEWS.api_version,
        "kind": ACCESS_REVIEWS.kind,
        "spec": {"resourceAttributes": {key: value for key, value in attributes.items() if value}},
    }
    answer = await session.request("POST", ACCESS_REVIEWS.path(), body=body)
    if not answer.ok:
        raise Refused(f"The server does not say what is allowed: {answer.message()}")
    tree = answer.json()
    status = tree.get("status") if isinstance(tree, dict) else None
    return isinstance(status, dict) and status.get("allowed") is True and status.get("denied") is not True
