"""EKS managed node groups, known by the label that EKS puts on their nodes.

Sources: docs.aws.amazon.com/eks/latest/APIReference API_NodegroupScalingConfig (a smaller `desiredSize`
lets the auto scaling group choose who goes), API_UpdateNodegroupConfig (one update at a time),
API_DescribeNodegroup (`status`).
"""

from cockpit.model.plan import Call
from cockpit.model.pool import PoolObject
from cockpit.model.reach import Outside, Reach
from cockpit.model.record import condition, label
from cockpit.pools.outside import STATUS, OutsideOwner, aws_line, region_of
from cockpit.pools.owner import Capability, Nodes, OwnerTraits, refused, through

NODE_LABEL = "eks.amazonaws.com/nodegroup"
_CLUSTER_LABEL = "alpha.eksctl.io/cluster-name"


class Eks(OutsideOwner):
    """Managed node groups, through the API of EKS."""

    traits = OwnerTraits(name="EKS", node_label=NODE_LABEL, stands_for="eks.amazonaws.com/v1")
    api_kind = "NodeGroup"
    how = "UpdateNodegroupConfig of EKS"
    what = "an EKS node group"

    def reach(self, pool: str, nodes: Nodes, outside: Outside) -> Reach | None:
        """The group of the label; region and cluster as configured, else as the nodes tell."""
        name = next((label(one.labels, NODE_LABEL) for one in nodes if self.traits.knows(one)), "")
        if not name:
            return None
        aws = outside.aws
        cluster = aws.cluster or next((label(one.labels, _CLUSTER_LABEL) for one in nodes), "")
        region = aws.region or region_of(nodes)
        return Reach(service="eks", pool=name, cluster=cluster, region=region, profile=aws.profile)

    def may_resize(self, found: PoolObject) -> Capability:
        """Not while AWS changes the group: it refuses a second update."""
        status = condition(found.conditions, STATUS)
        if status is not None and status.reason not in ("ACTIVE", "DEGRADED", ""):
            return refused(f"AWS is changing this node group ({status.reason}): wait until that ends")
        return through(self.how)

    def may_limit(self, found: PoolObject) -> Capability:
        """As a resize."""
        return self.may_resize(found)

    def resize_calls(self, found: PoolObject, replicas: int) -> tuple[Call, ...]:
        """One update of `desiredSize`, absolute."""
        return (self._update(found, "desiredSize", replicas, size=replicas),)

    def limit_calls(self, found: PoolObject, maximum: int) -> tuple[Call, ...]:
        """One update of `maxSize`."""
        return (self._update(found, "maxSize", maximum, maximum=maximum),)

    def _update(self, found: PoolObject, field: str, value: int, **told: int) -> Call:
        reach = found.reach
        if reach is None:
            raise TypeError("a node group that was read has a reach")
        named = ("--cluster-name", reach.cluster, "--nodegroup-name", reach.pool)
        argv = aws_line(
            reach, "eks", "update-nodegroup-config", *named, "--scaling-config", f"{field}={value}"
        )
        parameters = {
            "clusterName": reach.cluster,
            "nodegroupName": reach.pool,
            "scalingConfig": {field: value},
        }
        return self.call(found, "UpdateNodegroupConfig", argv, parameters=parameters, **told)
