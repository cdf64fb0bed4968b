"""What the cluster offers for a choice that the tables do not hold."""

from cockpit.actions.planning import Planning
from cockpit.errors import Refused
from cockpit.gangs.engine import Engine


async def priority_classes(planning: Planning, engine: Engine) -> list[tuple[str, int]]:
    """(name, value) of the priority classes that jobs of that engine have, the highest first.

    Raises Refused with the server's sentence.
    """
    served = planning.lookup(*engine.priority_kind)
    if served is None:
        return []
    answer = await planning.session.request("GET", served.path())
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
