"""Custom resource definitions: names, versions, the finalizer that cleans up after them."""

from cockpit.sim.port import Tree
from cockpit.sim.server.builtin.filling import filled

CLEANUP = "customresourcecleanup.apiextensions.k8s.io"


def complete(definition: Tree) -> Tree:
    """Names that follow from others, and no conversion."""
    spec = definition.get("spec") or {}
    names = spec.get("names") or {}
    if kind := names.get("kind"):
        names = filled(names, singular=kind.lower(), listKind=f"{kind}List")
        spec = filled({**spec, "names": names}, conversion={"strategy": "None"})
    return {**definition, "spec": spec}


def revise(definition: Tree, old: Tree | None) -> Tree:
    """A new one is not served yet, and will take its objects with it."""
    metadata = definition["metadata"]
    if old is not None:
        return definition
    held = metadata.get("finalizers") or []
    if CLEANUP not in held:
        metadata = {**metadata, "finalizers": [*held, CLEANUP]}
    return {**definition, "metadata": metadata}
