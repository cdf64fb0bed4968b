"""Pools owned by a CoreWeave NodePool.

Its size is `spec.targetNodes`, between `minNodes` and `maxNodes`; `spec.autoscaling` hands it to the cluster
autoscaler. It has no scale subresource (source: kubernetes/autoscaler
cluster-autoscaler/cloudprovider/coreweave coreweave_nodepool.go, coreweave_utils.go).
"""

from cockpit.model.plan import Call
from cockpit.model.pool import PoolObject
from cockpit.model.record import Kind
from cockpit.model.right import Ways
from cockpit.model.store_reader import StoreReader
from cockpit.model.watched import Watched
from cockpit.pools.owner import NO_HANDLE, Nodes, Ownership, OwnerTraits, SetsSize, refused, through
from cockpit.pools.patches import patch_rights, spec_calls

GROUP = "compute.coreweave.com"
NODE_LABEL = "compute.coreweave.com/node-pool"


class CoreWeave(SetsSize):
    """NodePools of that cloud, which live in the cluster."""

    traits = OwnerTraits(
        name="CoreWeave",
        node_label=NODE_LABEL,
        size_field="targetNodes",
        pool_kinds=(Watched(Kind.POOL, GROUP, "nodepools", api_kind="NodePool"),),
    )

    # ---- what is its own

    # ---- who decides

    def ownership(self, found: PoolObject | None, nodes: Nodes, truth: StoreReader) -> Ownership:
        """The object's own word."""
        if found is None:
            no = refused(
                "a CoreWeave NodePool that cannot be read: set its targetNodes (kubectl edit nodepool)"
            )
            handle = f"the right to list nodepools.{GROUP}"
            return Ownership(owner=self.traits.name, may_resize=no, may_limit=no, handle=handle)
        resize, demand, owner = through("targetNodes of the NodePool"), NO_HANDLE, self.traits.name
        if found.is_autoscaled:
            demand, owner = through("pending pods"), "the cluster autoscaler"
            resize = refused(
                "the cluster autoscaler controls the size (spec.autoscaling): it would undo a change;"
                " raise its maximum, or let pending pods trigger it"
            )
        return Ownership(
            owner=owner,
            minimum=found.min_replicas,
            maximum=found.max_replicas,
            may_resize=resize,
            may_demand=demand,
            may_limit=through("maxNodes of the NodePool"),
        )

    # ---- what would be sent

    def resize_calls(self, found: PoolObject, replicas: int) -> tuple[Call, ...]:
        """One patch of `targetNodes`."""
        return spec_calls(found, {"spec": {"targetNodes": replicas}})

    def resize_rights(self, found: PoolObject) -> Ways:
        """To patch the NodePool."""
        return patch_rights(found)

    def limit_calls(self, found: PoolObject, maximum: int) -> tuple[Call, ...]:
        """One patch of `maxNodes`."""
        return spec_calls(found, {"spec": {"maxNodes": maximum}})

    def limit_rights(self, found: PoolObject) -> Ways:
        """To patch the NodePool."""
        return patch_rights(found)
