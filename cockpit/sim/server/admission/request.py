"""What admissions share: the name of the object in a refusal, its pod, and copies that may be changed."""

from collections.abc import Iterator
from typing import Any

from cockpit.kube.resource import PODS, Resource
from cockpit.sim.port import PortError, Tree
from cockpit.sim.server.refusals import forbidden
from cockpit.sim.server.request import Request


def is_pod(request: Request) -> bool:
    """True for a pod itself, in whatever version of it is asked."""
    return is_same(request.resource, PODS) and not request.subresource


def is_same(one: Resource, other: Resource) -> bool:
    """The same resource, whatever its version."""
    return (one.group, one.plural) == (other.group, other.plural)


def refused(request: Request, tree: Tree, why: str) -> PortError:
    """A 403 about the object of the request: its name, or the beginning of the name that it will get."""
    metadata = tree.get("metadata") or {}
    name = request.name or metadata.get("name") or metadata.get("generateName") or "Unknown"
    return forbidden(request.resource, name, why)


def namespace_of(request: Request, tree: Tree) -> str:
    """The namespace that the object lives in ("" for none)."""
    return request.namespace or str((tree.get("metadata") or {}).get("namespace") or "")


def with_spec(tree: Tree, **fields: Any) -> Tree:
    """A copy of the object with other fields in its spec."""
    return {**tree, "spec": {**(tree.get("spec") or {}), **fields}}


def containers(spec: Tree, *, with_ephemeral: bool = False) -> Iterator[Tree]:
    """Init containers, containers, and at will ephemeral ones, in the order in which they are checked."""
    yield from spec.get("initContainers") or ()
    yield from spec.get("containers") or ()
    if with_ephemeral:
        yield from spec.get("ephemeralContainers") or ()


def joined(texts: list[str]) -> str:
    """Several faults as one text, as Go's aggregated errors print: without repeats, in brackets."""
    told = list(dict.fromkeys(texts))
    return told[0] if len(told) == 1 else "[" + ", ".join(told) + "]"
