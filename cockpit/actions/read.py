"""One object as the server has it now, for a plan that needs more than the tables hold."""

from typing import Any

from cockpit.errors import Refused
from cockpit.model.refusal import Refusal
from cockpit.model.session import Reader


async def read_tree(session: Reader, path: str, target: str) -> dict[str, Any]:
    """The raw tree at `path`. Raises Refused with one sentence, NoConnection without an answer."""
    answer = await session.request("GET", path)
    if answer.status == 404:
        raise Refused(f"{target} is gone", Refusal(status=404, reason="NotFound"))
    if answer.status >= 300:
        said = Refusal(status=answer.status, message=answer.message())
        raise Refused(f"{target} cannot be read: {said.message}", said)
    tree = answer.json()
    if not isinstance(tree, dict) or not isinstance(tree.get("metadata"), dict):
        raise Refused(f"{target}: the server's answer is not an object")
    return tree
