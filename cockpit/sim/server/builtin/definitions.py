"""Custom resource definitions: names, versions, the finalizer that cleans up after them."""

from collections.abc import Iterator

from cockpit.sim.port import Tree
from cockpit.sim.server.builtin.filling import filled
from cockpit.sim.server.refusals import Cause, required, unsupported, wrong

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


def check(definition: Tree, old: Tree | None) -> Iterator[Cause]:
    """What is wrong with a definition, but for its schemas."""
    spec = definition.get("spec") or {}
    names = spec.get("names") or {}
    for field in ("group", "scope"):
        if not spec.get(field):
            yield required(f"spec.{field}")
    for field in ("plural", "kind"):
        if not names.get(field):
            yield required(f"spec.names.{field}")
    if spec.get("scope") not in ("Cluster", "Namespaced"):
        yield unsupported("spec.scope", spec.get("scope", ""), ("Cluster", "Namespaced"))
    name = definition["metadata"].get("name", "")
    if name != f"{names.get('plural', '')}.{spec.get('group', '')}":
        yield wrong("metadata.name", name, 'must be spec.names.plural+"."+spec.group')
    versions = spec.get("versions") or []
    if sum(1 for one in versions if one.get("storage")) != 1:
        shown = [one.get("name", "") for one in versions]
        yield wrong("spec.versions", shown, "must have exactly one version marked as storage version")
    for index, version in enumerate(versions):
        if not (version.get("schema") or {}).get("openAPIV3Schema"):
            yield required(f"spec.versions[{index}].schema.openAPIV3Schema", "schemas are required")
    if old is not None:
        for field in ("group", "scope"):
            if spec.get(field) != old["spec"].get(field):
                yield wrong(f"spec.{field}", spec.get(field), "field is immutable")
