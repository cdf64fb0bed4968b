"""What a drain asks the server for: the pods of a node, and the budgets that protect them."""

from typing import Any, Protocol, cast

from cockpit.actions.drain.bill import NodePod, pod_on_node
from cockpit.actions.surroundings import BUDGETS
from cockpit.errors import Refused
from cockpit.fit.scheduling_context import Budget, budget_of
from cockpit.kube.resource import PODS
from cockpit.model.refusal import Refusal
from cockpit.model.session import Answer, Reader


class _Lister(Protocol):
    """A reader that narrows what it lists."""

    async def request(self, method: str, path: str, /, *, query: tuple[tuple[str, str], ...]) -> Answer: ...


async def pods_on(session: Reader, node: str) -> tuple[NodePod, ...]:
    """All pods that the server has on that node. Raises Refused where they may not be listed,
    NoConnection."""
    asks = cast(_Lister, session)
    answer = await asks.request("GET", PODS.path(), query=(("fieldSelector", f"spec.nodeName={node}"),))
    if answer.status >= 300:
        said = Refusal(status=answer.status, message=answer.message())
        raise Refused(f"the pods of node {node} cannot be listed: {said.message}", said)
    return tuple(map(pod_on_node, _items(answer.json())))


async def budgets_in(session: Reader, namespaces: frozenset[str]) -> tuple[Budget, ...] | None:
    """The budgets of these namespaces; None where those of one may not be listed. Raises NoConnection."""
    found: list[Budget] = []
    for namespace in sorted(namespaces):
        answer = await session.request("GET", BUDGETS.path(namespace))
        if answer.status >= 300:
            return None
        found += map(budget_of, _items(answer.json()))
    return tuple(found)


def _items(tree: Any) -> list[Any]:
    items = tree.get("items") if isinstance(tree, dict) else None
    return [one for one in items or () if isinstance(one, dict) and one.get("metadata")]
