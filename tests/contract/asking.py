"""Short ways to ask a server through the session under test."""

from typing import Any

from cockpit.kube.answer import ApiAnswer
from cockpit.kube.session import ApiSession
from tests.contract.mirror import in_time

JSON = "application/json"
MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"


def in_space(space: str, plural: str, name: str = "", *, base: str = "/api/v1") -> str:
    """Path of a collection or an object in a namespace."""
    path = f"{base}/namespaces/{space}/{plural}"
    return f"{path}/{name}" if name else path


def pods_in(space: str) -> str:
    return in_space(space, "pods")


def maps_in(space: str) -> str:
    return in_space(space, "configmaps")


async def patch(
    session: ApiSession, path: str, body: Any, kind: str = MERGE, *query: tuple[str, str]
) -> ApiAnswer:
    return await session.request("PATCH", path, body=body, content_type=kind, query=query)


def preconditions(uid: str = "", version: str = "", **more: Any) -> dict[str, Any]:
    """DeleteOptions that name the object they mean."""
    named: dict[str, str] = {}
    if uid:
        named["uid"] = uid
    if version:
        named["resourceVersion"] = version
    return {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": named, **more}


async def until_not(status: int, session: ApiSession, path: str, *query: tuple[str, str]) -> ApiAnswer:
    """The first answer to a GET that has another status, within 10 s."""

    async def ask() -> ApiAnswer | None:
        answer = await session.request("GET", path, query=query)
        return None if answer.status == status else answer

    answer: ApiAnswer = await in_time(ask, f"{path} answers something else than {status}")
    return answer
