"""The size of a pool of nodes."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cockpit.actions.verbs.verb import Flag, Verb, Words

if TYPE_CHECKING:
    from cockpit.actions.planning import Planning
    from cockpit.model.plan import Plan
    from cockpit.model.pool import Pool
    from cockpit.model.right import Right


@dataclass(frozen=True, slots=True)
class NodesOptions:
    """How many nodes the pool is to have, as it was typed."""

    to: str

    def __post_init__(self) -> None:
        from cockpit.actions.scale import read_replicas
        from cockpit.errors import BadInput

        try:
            read_replicas(self.to)
        except BadInput as error:
            raise BadInput(f"--to: {error.sentence}") from None


async def plan_to_scale(planning: "Planning", pool: "Pool", options: NodesOptions) -> "Plan":
    """Set the number of nodes of the pool, on its owner as the server has it now where that was read."""
    from cockpit.actions.scale import read_replicas, scale_as_now

    return await scale_as_now(planning, pool.name, read_replicas(options.to))


def _needs_to_scale(planning: "Planning", pool: "Pool") -> "tuple[Right, ...]":
    from cockpit.pools.index import pool_object
    from cockpit.pools.registry import holder

    owner = pool_object(planning.store, pool)
    ways = () if owner is None else holder(owner, ()).resize_rights(owner)
    return ways[0] if ways else ()


SCALE = Verb(
    name="scale",
    kind="pool",
    key="S",
    opener="scale",
    words=Words("scale", "scaled", "scale a pool to a number of nodes", "Scale the pool"),
    options=NodesOptions,
    flags=(Flag("--to", "to", "new number of nodes", "COUNT", is_required=True),),
    plan=plan_to_scale,
    needs=_needs_to_scale,
    takes_many=False,
)
