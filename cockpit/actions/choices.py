"""What the cluster offers for a choice that the tables do not hold."""

from cockpit.actions.ground import Ground
from cockpit.errors import Refused

KUEUE = ("kueue.x-k8s.io/v1beta2", "WorkloadPriorityClass")
PODS = ("scheduling.k8s.io/v1", "PriorityClass")


async def priority_classes(ground: Ground, *, is_kueue: bool) -> list[tuple[str, int]]:
    """(name, value) of Kueue's priority classes, or of the pods' where that is another engine; the highest
    first. Raises Refused with the server's sentence."""
    served = ground.lookup(*(KUEUE if is_kueue else PODS))
    if served is None:
        return []
    answer = await ground.session.request("GET", served.path())
    if answer.status >= 300:
        raise Refused(f"priority classes cannot be read: {answer.message()}")
    tree = answer.json()
    items = tree.get("items") if isinstance(tree, dict) else None
    found = [
        (str(one["metadata"]["name"]), int(one.get("value") or 0))
        for one in items or ()
        if isinstance(one, dict) and isinstance(one.get("metadata"), dict)
    ]
    return sorted(found, key=lambda pair: (-pair[1], pair[0]))
