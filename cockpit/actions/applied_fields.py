"""Fields that another manager holds by server-side apply: a plan that changes one says so, and is confirmed
by typing who holds it.

A patch is not refused for them as an apply is: without this it would be an apply with force.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from cockpit.actions.planning import Planning
from cockpit.actions.read import read_tree
from cockpit.errors import CockpitError
from cockpit.k8s.field_owners import FieldOwners, Path
from cockpit.model.plan import Call, Plan
from cockpit.sanitise import clean

_OURS: Final = "gpu-cockpit"
_MOST_READS: Final = 16
_LONGEST_NAME: Final = 60


async def with_appliers(planning: Planning, plan: Plan) -> Plan:
    """The plan, with a warning for each field that it takes from a manager. What may not be read is not
    told."""
    warnings: list[str] = []
    names: list[str] = []
    for call in [one for one in plan.calls if _is_merge(one)][:_MOST_READS]:
        try:
            tree = await read_tree(planning.session, call.path.removesuffix("/scale"), call.target)
        except CockpitError:
            continue
        owners = FieldOwners(tree)
        for path in _changed(call.body, tree):
            field = ".".join(map(str, path))
            for name in (clean(one, _LONGEST_NAME) for one in owners.appliers(path) if one != _OURS):
                warnings.append(f"{field} is held by {name} (apply): it is taken, or {name} sets it back")
                names.append(name)
    if not names:
        return plan
    told = tuple(dict.fromkeys((*plan.warnings, *warnings)))
    return msgspec.structs.replace(plan, warnings=told, typed=plan.typed or names[0])


def _is_merge(call: Call) -> bool:
    return call.method == "PATCH" and isinstance(call.body, dict) and not call.via


def _changed(body: Mapping[str, Any], tree: Any, at: Path = ()) -> Iterator[Path]:
    """The fields of a merge patch whose values differ from those that are there, without the guard."""
    for key, value in body.items():
        path = (*at, key)
        if path in (("metadata", "uid"), ("metadata", "resourceVersion")):
            continue
        now = tree.get(key) if isinstance(tree, Mapping) else None
        if isinstance(value, Mapping):
            yield from _changed(value, now, path)
        elif value != now:
            yield path
