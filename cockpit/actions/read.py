"""One object as the server has it now, for a plan that needs more than the tables hold."""

from typing import Any

from cockpit.errors import Refused


async def read_tree(session: Any, path: str, target: str) -> dict[str, Any]:
    """The raw tree at `path`. Raises Refused with one sentence, NoConnection without an answer."""
    answer = await session.request("GET", path)
    if answer.status == 404:
        raise Refused(f"{target} is gone")
    if answer.status >= 300:
        raise Refused(f"{target} cannot be read: {answer.message()}")
    tree = answer.json()
    if not isinstance(tree, dict) or not isinstance(tree.get("metadata"), dict):
        raise Refused(f"{target}: the server's answer is no object")
    return tree
