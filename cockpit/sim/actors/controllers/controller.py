"""What the controllers share: a recorder under the component's name, status written as a difference, pods."""

from typing import Any

from cockpit.kube.resource import PODS, Resource
from cockpit.sim.actors.common.recorder import NORMAL, WARNING, Recorder
from cockpit.sim.actors.controllers.children import Children
from cockpit.sim.actors.controllers.trees import controller_reference, difference, is_deleting, key_of, uid_of
from cockpit.sim.engine import Actor
from cockpit.sim.port import PortError, Tree

_LONGEST_PREFIX = 58
"""A generated name has five characters more, and is a DNS label of 63 at most."""


class Controller(Actor):
    """An actor that writes statuses, events and pods as the controllers of Kubernetes do."""

    component = ""

    def __init__(self) -> None:
        super().__init__()
        self._recorder: Recorder | None = None

    @property
    def recorder(self) -> Recorder:
        """Events under this controller's component."""
        if self._recorder is None:
            engine = self.engine
            self._recorder = Recorder(engine.port, engine.clock, engine.random, self.component or self.name)
        return self._recorder

    async def normal(self, regarding: Tree, reason: str, message: str) -> None:
        """A Normal event."""
        await self.recorder.event(regarding, NORMAL, reason, message)

    async def warning(self, regarding: Tree, reason: str, message: str) -> None:
        """A Warning event."""
        await self.recorder.event(regarding, WARNING, reason, message)

    async def write_status(self, resource: Resource, tree: Tree, status: Tree) -> Tree:
        """Write `status` where it differs, on the version that was read; answers the object as it is now.

        Raises PortError: 409 when the object has changed since.
        """
        patch = difference(tree.get("status") or {}, status)
        if not patch:
            return tree
        namespace, name = key_of(tree)
        metadata = {"resourceVersion": tree["metadata"]["resourceVersion"], "uid": uid_of(tree)}
        return await self.engine.port.patch(
            resource, namespace, name, {"metadata": metadata, "status": patch}, subresource="status"
        )

    async def create_pod(self, owner: Tree, pod: Tree, children: Children) -> Tree:
        """Create a pod that `owner` controls, with the events of `PodControl`. Raises PortError."""
        try:
            made = await self.engine.port.create(PODS, pod, owner["metadata"]["namespace"])
        except PortError as error:
            if not _is_namespace_ending(error):
                await self.warning(owner, "FailedCreate", f"Error creating: {error.message}")
            raise
        children.put(made)
        await self.normal(owner, "SuccessfulCreate", f"Created pod: {made['metadata']['name']}")
        return made

    async def delete_pod(self, owner: Tree, pod: Tree) -> bool:
        """Delete a pod; False when it was gone already. Raises PortError for every other refusal."""
        namespace, name = key_of(pod)
        if is_deleting(pod):
            return False
        try:
            await self.engine.port.delete(PODS, namespace, name, uid=uid_of(pod))
        except PortError as error:
            if error.is_gone or error.is_conflict:
                return False
            await self.warning(owner, "FailedDelete", f"Error deleting: {error.message}")
            raise
        await self.normal(owner, "SuccessfulDelete", f"Deleted pod: {name}")
        return True


def pod_of_template(owner: Tree, template: Tree, prefix: str = "") -> Tree:
    """A new pod of a pod template, controlled by `owner`; its name is generated after `prefix`.

    Metadata is the pod's own, the spec is a shallow copy: what is to be changed in it must be copied first.
    """
    held: dict[str, Any] = template.get("metadata") or {}
    metadata: Tree = {"generateName": prefix or f"{owner['metadata']['name'][: _LONGEST_PREFIX - 1]}-"}
    for name in ("labels", "annotations"):
        if held.get(name):
            metadata[name] = dict(held[name])
    if held.get("finalizers"):
        metadata["finalizers"] = list(held["finalizers"])
    metadata["namespace"] = owner["metadata"]["namespace"]
    metadata["ownerReferences"] = [
        *(dict(r) for r in held.get("ownerReferences") or () if not r.get("controller")),
        controller_reference(owner),
    ]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": dict(template.get("spec") or {})}


def prefix_with_index(name: str, index: int) -> str:
    """What the name of a pod of an Indexed Job begins with."""
    tail = f"-{index}-"
    return f"{name[: _LONGEST_PREFIX - len(tail)]}{tail}"


def _is_namespace_ending(error: PortError) -> bool:
    return any(cause.get("reason") == "NamespaceTerminating" for cause in error.causes)
