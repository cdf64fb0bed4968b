"""What the schema of a custom kind's version makes of its objects, as `CustomKinds` wants it."""

from cockpit.kube.resource import Resource
from cockpit.sim.port import Tree
from cockpit.sim.server.custom_kinds import CustomSchema
from cockpit.sim.server.refusals import Cause
from cockpit.sim.server.schema.custom import CustomKind, version_of


def schema_of(resource: Resource, version: Tree) -> CustomSchema:
    """The rules of one entry of `spec.versions` of a definition."""
    only = version_of({**version, "storage": True})
    custom = CustomKind(
        resource.group,
        resource.kind,
        resource.plural,
        resource.kind.lower(),
        f"{resource.kind}List",
        resource.namespaced,
        (only,),
    )

    def check(tree: Tree, old: Tree | None) -> list[Cause]:
        """New faults: what was wrong before may stay as it is (validation ratcheting)."""
        causes = custom.validate(tree)
        if not causes or old is None:
            return causes
        before = custom.validate(old)
        return [cause for cause in causes if cause not in before]

    return CustomSchema(custom.decode, (check,), only.shape)
