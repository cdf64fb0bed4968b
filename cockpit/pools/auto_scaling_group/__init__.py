"""Auto scaling groups of AWS that no node group owns, found by the instances behind the nodes.

Sources: docs.aws.amazon.com/autoscaling/ec2/APIReference API_SetDesiredCapacity, API_UpdateAutoScalingGroup,
API_TerminateInstanceInAutoScalingGroup; docs.aws.amazon.com/eks/latest/userguide (tag `eks:nodegroup-name`).
"""

from collections.abc import Sequence

from cockpit.model.node import Node
from cockpit.model.plan import Call
from cockpit.model.pool import PoolObject
from cockpit.model.reach import Outside, Reach
from cockpit.model.record import condition, label
from cockpit.model.store_reader import StoreReader
from cockpit.pools.outside import OutsideOwner, aws_line, instance_of, region_of
from cockpit.pools.owner import Capability, MarksNodes, Nodes, OwnerTraits, RemovesNodes, refused, through

UNITS = "Units"
"""A condition: in what the group counts its capacity, where that is not machines."""
_MANAGED_TAG = "eks:nodegroup-name"


class AutoScalingGroups(OutsideOwner, MarksNodes, RemovesNodes):
    """Plain groups, through the API of Auto Scaling."""

    traits = OwnerTraits(name="Auto Scaling", stands_for="autoscaling.amazonaws.com/v1")
    api_kind = "AutoScalingGroup"
    how = "SetDesiredCapacity of Auto Scaling"
    what = "machines of an auto scaling group"

    def object_of(self, node: Node, objects: Sequence[PoolObject]) -> PoolObject | None:
        """The group that the node's instance is in."""
        if not self.knows(node):
            return None
        instance = instance_of(node)
        mine = (one for one in objects if self.traits.holds(one) and one.reach is not None)
        return next((one for one in mine if one.reach and instance in one.reach.instances), None)

    def knows(self, node: Node) -> bool:
        """A machine of AWS; owners that know their nodes by a mark are asked before."""
        return instance_of(node).startswith("i-")

    def reach(self, pool: str, nodes: Nodes, outside: Outside) -> Reach | None:
        """By the instances: their group has to be found first."""
        instances = tuple(sorted(instance_of(one) for one in nodes if self.knows(one)))
        if not instances:
            return None
        region = outside.aws.region or region_of(nodes)
        return Reach(
            service="autoscaling", pool="", region=region, profile=outside.aws.profile, instances=instances
        )

    def may_resize(self, found: PoolObject) -> Capability:
        """Not where the group belongs to a managed node group: EKS would set it back."""
        group = label(found.labels, _MANAGED_TAG)
        if group:
            return refused(f"this group belongs to the EKS node group {group}: resize that one")
        units = condition(found.conditions, UNITS)
        if units is not None:
            return refused(f"{units.message}: a number of nodes cannot be set")
        return through(self.how)

    def may_limit(self, found: PoolObject) -> Capability:
        """As a resize."""
        return self.may_resize(found)

    def may_remove(self, found: PoolObject) -> Capability:
        """A chosen machine, and the size falls with it."""
        says = self.may_resize(found)
        return through("TerminateInstanceInAutoScalingGroup") if says.may else says

    def resize_calls(self, found: PoolObject, replicas: int) -> tuple[Call, ...]:
        """The desired capacity, absolute."""
        return (
            self._call(
                found,
                "SetDesiredCapacity",
                ("set-desired-capacity", "--desired-capacity", str(replicas)),
                {"DesiredCapacity": replicas, "HonorCooldown": False},
                size=replicas,
            ),
        )

    def limit_calls(self, found: PoolObject, maximum: int) -> tuple[Call, ...]:
        """The maximum of the group."""
        return (
            self._call(
                found,
                "UpdateAutoScalingGroup",
                ("update-auto-scaling-group", "--max-size", str(maximum)),
                {"MaxSize": maximum},
                maximum=maximum,
            ),
        )

    def removal_calls(self, found: PoolObject, nodes: Nodes, truth: StoreReader) -> tuple[Call, ...]:
        """End the machines of drained nodes; the desired capacity falls with each, so no other takes its
        place."""
        return tuple(self._end(found, node, at) for at, node in enumerate(nodes, start=1))

    def _end(self, found: PoolObject, node: Node, count: int) -> Call:
        reach = found.reach
        if reach is None:
            raise TypeError("a group that was read has a reach")
        instance = instance_of(node)
        argv = aws_line(
            reach,
            *("autoscaling", "terminate-instance-in-auto-scaling-group", "--instance-id", instance),
            "--should-decrement-desired-capacity",
        )
        parameters = {"InstanceId": instance, "ShouldDecrementDesiredCapacity": True}
        told: dict[str, object] = {} if found.replicas is None else {"size": found.replicas - count}
        if count > 1:  # by then the sizes are others: those before it have made them so
            told["metadata"] = {"uid": found.uid}
        return self.call(found, "TerminateInstanceInAutoScalingGroup", argv, parameters=parameters, **told)

    def _call(
        self, found: PoolObject, method: str, words: Sequence[str], parameters: dict[str, object], **told: int
    ) -> Call:
        reach = found.reach
        if reach is None:
            raise TypeError("a group that was read has a reach")
        first, *more = words
        argv = aws_line(reach, "autoscaling", first, "--auto-scaling-group-name", found.name, *more)
        named = {"AutoScalingGroupName": found.name, **parameters}
        return self.call(found, method, argv, parameters=named, **told)
