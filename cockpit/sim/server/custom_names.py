"""Which names a custom resource definition gets: what another of its group has, it does not.

Facts: apiextensions-apiserver pkg/controller/status/naming_controller.go, pkg/controller/establish.
"""

from collections.abc import Iterable
from typing import Any

from cockpit.sim.port import Tree

ESTABLISHED = "Established"
_ACCEPTED = "NamesAccepted"
_GIVEN = "the initial names have been accepted"
_SINGLE = (
    ("plural", "PluralConflict"),
    ("singular", "SingularConflict"),
    ("shortNames", "ShortNamesConflict"),
    ("kind", "KindConflict"),
    ("listKind", "ListKindConflict"),
)


def is_established(definition: Tree) -> bool:
    """Whether its kinds are served. Once it is, no later conflict takes that back."""
    held = (definition.get("status") or {}).get("conditions") or ()
    return any(one["type"] == ESTABLISHED and one["status"] == "True" for one in held)


def accepted(definition: Tree) -> Tree:
    """The names that it goes by."""
    names: Tree = (definition.get("status") or {}).get("acceptedNames") or {}
    return names


def settled(definition: Tree, others: Iterable[Tree], now: str) -> Tree:
    """Its status, given the other definitions of its group."""
    held = definition.get("status") or {}
    names, reason, message = _names(definition, others)
    if reason:
        told = condition(_ACCEPTED, "False", reason, message, now)
    else:
        told = condition(_ACCEPTED, "True", "NoConflicts", "no conflicts found", now)
    served = _found(held, ESTABLISHED) or condition(
        ESTABLISHED, "False", "NotAccepted", "not all names are accepted", now
    )
    if served["status"] != "True" and not reason:
        served = condition(ESTABLISHED, "False", "Installing", _GIVEN, now)
    stored = [one["name"] for one in definition["spec"]["versions"] if one.get("storage")]
    was = held.get("storedVersions") or []
    return {
        **held,
        "acceptedNames": names,
        "conditions": with_condition(with_condition(held.get("conditions") or (), told), served),
        "storedVersions": [*was, *(one for one in stored if one not in was)],
    }


def established(definition: Tree, now: str) -> Tree | None:
    """Its status once it is served; None where it is, or may not be."""
    status = definition.get("status") or {}
    names = _found(status, _ACCEPTED)
    if is_established(definition) or names is None or names["status"] != "True":
        return None
    told = condition(ESTABLISHED, "True", "InitialNamesAccepted", _GIVEN, now)
    return {**status, "conditions": with_condition(status["conditions"], told)}


def condition(name: str, status: str, reason: str, message: str, now: str) -> Tree:
    return {
        "type": name,
        "status": status,
        "lastTransitionTime": now,
        "reason": reason,
        "message": message,
    }


def with_condition(held: Iterable[Tree], told: Tree) -> list[Tree]:
    """The conditions with this one in its place. Its time is old where its status is."""
    changed = []
    for one in held:
        if one["type"] != told["type"]:
            changed.append(one)
            continue
        same = one["status"] == told["status"]
        changed.append({**told, "lastTransitionTime": one["lastTransitionTime"]} if same else told)
    return changed if any(one["type"] == told["type"] for one in changed) else [*changed, told]


def _found(status: Tree, name: str) -> Tree | None:
    return next((one for one in status.get("conditions") or () if one["type"] == name), None)


def _names(definition: Tree, others: Iterable[Tree]) -> tuple[Tree, str, str]:
    """(the names it gets, reason and message of the last conflict)."""
    wanted, mine = definition["spec"]["names"], accepted(definition)
    resources, kinds = _used([definition, *others])
    names: dict[str, Any] = dict(mine)
    reason = message = ""
    for key, why in _SINGLE:
        used = kinds if key in ("kind", "listKind") else resources
        if taken := _taken(wanted.get(key), mine.get(key), used):
            reason, message = why, taken
        else:
            names[key] = wanted.get(key)
    names["categories"] = wanted.get("categories")
    blank = {"plural": names.get("plural") or "", "kind": names.get("kind") or ""}
    return {key: value for key, value in names.items() if value} | blank, reason, message


def _taken(wanted: Any, mine: Any, used: set[str]) -> str:
    """What is said of those of the wanted names that somebody else has."""
    if isinstance(wanted, list):
        said = [f'"{one}" is already in use' for one in wanted if one not in (mine or ()) and one in used]
        return said[0] if len(said) == 1 else f"[{', '.join(said)}]" if said else ""
    return f'"{wanted}" is already in use' if wanted and wanted != mine and wanted in used else ""


def _used(definitions: Iterable[Tree]) -> tuple[set[str], set[str]]:
    """The names of resources, and those of kinds, that the definitions go by."""
    resources, kinds = set[str](), set[str]()
    for one in definitions:
        names = accepted(one)
        resources.update(
            filter(None, (names.get("plural"), names.get("singular"), *(names.get("shortNames") or ())))
        )
        kinds.update(filter(None, (names.get("kind"), names.get("listKind"))))
    return resources, kinds
