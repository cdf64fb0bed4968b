"""The kinds that a scenario can create and delete, by what a manifest or a person calls them."""

from cockpit.errors import BadInput
from cockpit.kube import resource as kube
from cockpit.kube.resource import Resource
from cockpit.sim import resources as sim
from cockpit.sim.actors.common.machine_template import MACHINES
from cockpit.sim.port import Tree

_EVERY: tuple[Resource, ...] = (
    *(one for one in vars(kube).values() if isinstance(one, Resource)),
    *(one for one in vars(sim).values() if isinstance(one, Resource)),
    MACHINES,
)
_BY_KIND = {(one.api_version, one.kind): one for one in _EVERY}
_BY_WORD = {one.kind.lower(): one for one in reversed(_EVERY)} | {one.plural: one for one in reversed(_EVERY)}


def resource_of(tree: Tree) -> Resource:
    """The resource of a manifest. Raises BadInput naming apiVersion and kind."""
    version, kind = tree.get("apiVersion", ""), tree.get("kind", "")
    found = _BY_KIND.get((version, kind))
    if found is None:
        raise BadInput(f"kind {kind!r} of {version!r} is not one that a scenario can create.")
    return found


def resource_called(word: str) -> Resource:
    """The resource that a person calls `job`, `pods`, `MPIJob`. Raises BadInput naming the word."""
    found = _BY_WORD.get(word.lower())
    if found is None:
        raise BadInput(
            f"kind {word!r} is not one that a scenario knows; write for instance job, mpijob, pod."
        )
    return found
