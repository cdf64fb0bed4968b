"""Objects as raw trees, for reading: `y` on a row, `cockpit get -o yaml`, and what a verdict asks for."""

from typing import Any

from cockpit.errors import Refused
from cockpit.k8s import labels as well_known
from cockpit.kube.owners import METADATA_LIST
from cockpit.kube.refusal import refused
from cockpit.kube.resource import Resource
from cockpit.kube.session import ApiSession
from cockpit.mask import mask_tree
from cockpit.sanitise import clean_block

LAST_APPLIED = well_known.LAST_APPLIED
DEEPEST = 64
MOST_LISTED = 500


async def list_trees(
    session: ApiSession,
    resource: Resource,
    namespace: str = "",
    *,
    is_metadata: bool = False,
    most: int = MOST_LISTED,
) -> list[dict[str, Any]] | None:
    """The objects of a collection as `get_object` gives one; None where it may not be read or has more than
    `most`. Raises NoConnection."""
    accept = METADATA_LIST if is_metadata else "application/json"
    query = [("limit", str(most))]
    answer = await session.request("GET", resource.path(namespace), query=query, accept=accept)
    tree = answer.json() if answer.ok else None
    items = tree.get("items") if isinstance(tree, dict) else None
    if not isinstance(tree, dict) or not isinstance(items, list):
        return None
    about = tree.get("metadata")
    if isinstance(about, dict) and about.get("continue"):
        return None
    return [
        presentable(item)
        for item in items
        if isinstance(item, dict) and isinstance(item.get("metadata"), dict)
    ]


async def get_object(session: ApiSession, resource: Resource, namespace: str, name: str) -> dict[str, Any]:
    """The object's tree without managedFields, strings cleaned, secrets hidden (`cockpit.mask`).

    Raises Refused with the server's sentence, also for secrets, which are never read; NoConnection without
    an answer.
    """
    answer = await session.request("GET", resource.path(namespace, name))
    if not answer.ok:
        where = f"{resource.label} {namespace + '/' if namespace else ''}{name}"
        raise refused(where, answer, resource.path(namespace, name))
    tree = answer.json()
    if not isinstance(tree, dict):
        raise Refused(f"The server's answer for {resource.label} {name} is not an object.")
    return presentable(tree)


def presentable(tree: dict[str, Any]) -> dict[str, Any]:
    """A copy to be shown: cleaned, without managedFields, last-applied and secrets."""
    cleaned = mask_tree(_clean_tree(tree, 0))
    assert isinstance(cleaned, dict)
    metadata = cleaned.get("metadata")
    if isinstance(metadata, dict):
        metadata.pop("managedFields", None)
        notes = metadata.get("annotations")
        if isinstance(notes, dict):
            notes.pop(LAST_APPLIED, None)
    return cleaned


def _clean_tree(tree: Any, depth: int) -> Any:
    if depth > DEEPEST:
        return "…"
    if isinstance(tree, str):
        return clean_block(tree)
    if isinstance(tree, dict):
        return {clean_block(str(key), 512): _clean_tree(value, depth + 1) for key, value in tree.items()}
    if isinstance(tree, list):
        return [_clean_tree(value, depth + 1) for value in tree]
    return tree
