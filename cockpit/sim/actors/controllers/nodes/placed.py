"""Which pods are on which node, kept up to date change by change."""

from cockpit.sim.actors.controllers.trees import key_of
from cockpit.sim.port import ChangeType, ObjectChange, Tree


class PlacedPods:
    """Pods by node, in the order in which they came there."""

    def __init__(self) -> None:
        self._by_node: dict[str, dict[tuple[str, str], Tree]] = {}

    def on(self, node: str) -> list[Tree]:
        """The pods bound to a node."""
        return list(self._by_node.get(node, {}).values())

    def take(self, change: ObjectChange) -> str:
        """Apply a change of a pod; answers its node, "" for none."""
        node = str(change.tree["spec"].get("nodeName") or "")
        if not node:
            return ""
        key = key_of(change.tree)
        if change.type is ChangeType.DELETED:
            held = self._by_node.get(node, {})
            held.pop(key, None)
            if not held:
                self._by_node.pop(node, None)
        else:
            self._by_node.setdefault(node, {})[key] = change.tree
        return node
