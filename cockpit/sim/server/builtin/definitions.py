"""Custom resource definitions: names that follow from others, and their state."""

from cockpit.sim.port import Tree
from cockpit.sim.server.builtin.filling import filled


def complete(definition: Tree) -> Tree:
    """Names that follow from others, and no conversion."""
    spec = definition.get("spec") or {}
    names = spec.get("names") or {}
    if kind := names.get("kind"):
        names = filled(names, singular=kind.lower(), listKind=f"{kind}List")
        spec = filled({**spec, "names": names}, conversion={"strategy": "None"})
    return {**definition, "spec": spec}


def revise(definition: Tree, old: Tree | None) -> Tree:
    """A new one is not served yet; a version that objects are stored in from now on is noted."""
    stored = [one["name"] for one in definition["spec"].get("versions") or () if one.get("storage")]
    if old is not None:
        status = definition.get("status") or {}
        held = status.get("storedVersions") or []
        if held and not set(stored) <= set(held):
            kept = [*held, *(one for one in stored if one not in held)]
            return {**definition, "status": {**status, "storedVersions": kept}}
        return definition
    names = {"plural": "", "kind": ""}
    return {
        **definition,
        "status": {"conditions": None, "acceptedNames": names, "storedVersions": stored},
    }
