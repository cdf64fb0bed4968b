"""Pools that a site reads and changes by commands of its own, or of its cloud: AKS, GKE, scale sets,
anything else."""

from collections.abc import Sequence

from cockpit.errors import BadInput
from cockpit.model.node import Node
from cockpit.model.plan import Call
from cockpit.model.pool import PoolObject
from cockpit.model.reach import Commands, Outside, Reach
from cockpit.model.record import condition
from cockpit.pools.outside import STATUS, OutsideOwner
from cockpit.pools.owner import Capability, MarksNodes, Nodes, OwnerTraits, refused, through


class CommandPools(OutsideOwner, MarksNodes):
    """Pools named by the configuration, through the commands that it gives."""

    traits = OwnerTraits(name="command", stands_for="command.gpu-cockpit/v1")
    api_kind = "Pool"
    how = "configured command"
    what = "a pool of a configured command"

    def object_of(self, node: Node, objects: Sequence[PoolObject]) -> PoolObject | None:
        """By the name of the pool that its labels tell."""
        mine = (one for one in objects if self.traits.holds(one) and one.name == node.pool)
        return next((one for one in mine if _fits(_commands(one), node)), None) if node.pool else None

    def knows(self, node: Node) -> bool:
        """Only the configuration does."""
        return False

    def reach(self, pool: str, nodes: Nodes, outside: Outside) -> Reach | None:
        """As configured for the pool of that name, where its nodes carry the label of such pools."""
        commands = outside.commands_of(pool)
        if commands is None or not any(_fits(commands, one) for one in nodes):
            return None
        return Reach(service="command", pool=pool, commands=commands)

    def may_resize(self, found: PoolObject) -> Capability:
        """Where a command is given, no autoscaler has the size, and no change is under way."""
        commands = _commands(found)
        if not commands.resize:
            return refused(f"the configuration names no command that resizes pool {found.name}")
        if found.is_autoscaled:
            bounds = (
                f", between {found.min_replicas} and {found.max_replicas}"
                if found.max_replicas is not None
                else ""
            )
            return refused(f"the autoscaler of {commands.who} controls the size{bounds}: change its maximum")
        return self._unless_busy(found, commands)

    def may_limit(self, found: PoolObject) -> Capability:
        """Where a command is given, and there is a maximum."""
        commands = _commands(found)
        if not commands.limit:
            return refused(
                f"the configuration names no command that changes the maximum of pool {found.name}"
            )
        if found.max_replicas is None:
            return refused(f"{commands.who} tells no maximum of pool {found.name}: no autoscaler is on")
        return self._unless_busy(found, commands)

    def _unless_busy(self, found: PoolObject, commands: Commands) -> Capability:
        status = condition(found.conditions, STATUS)
        if status is not None and status.reason in commands.busy:
            return refused(f"{commands.who} is changing this pool ({status.reason}): wait until that ends")
        return through(self.how)

    def resize_calls(self, found: PoolObject, replicas: int) -> tuple[Call, ...]:
        """The configured command with the number filled in. Raises BadInput where zones do not divide it."""
        size = _per_zone(found, replicas)
        return (
            self.call(found, "resize", _filled(found, _commands(found).resize, size=size), size=replicas),
        )

    def limit_calls(self, found: PoolObject, maximum: int) -> tuple[Call, ...]:
        """The same for the maximum."""
        numbers = {"maximum": _per_zone(found, maximum), "minimum": _per_zone(found, found.min_replicas or 0)}
        return (
            self.call(found, "limit", _filled(found, _commands(found).limit, **numbers), maximum=maximum),
        )


def _commands(found: PoolObject) -> Commands:
    if found.reach is None or found.reach.commands is None:
        raise TypeError("a pool of commands has them in its reach")
    return found.reach.commands


def _fits(commands: Commands, node: Node) -> bool:
    return not commands.labels or node.pool_label in commands.labels


def _per_zone(found: PoolObject, nodes: int) -> int:
    zones = found.zone_count
    if nodes % zones:
        below = nodes - nodes % zones
        raise BadInput(
            f"pool {found.name} spans {zones} zones and gets the same number in each:"
            f" {nodes} nodes cannot be shared out, give {below} or {below + zones}"
        )
    return nodes // zones


def _filled(found: PoolObject, argv: tuple[str, ...], **numbers: int) -> list[str]:
    return _commands(found).filled(argv, found.name, **numbers)
