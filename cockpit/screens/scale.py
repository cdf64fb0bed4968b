"""`S`: how many machines the pool shall have, with what that means, before it is asked for."""

from cockpit_widgets.types import FieldSpec

from cockpit.model.plan import Plan
from cockpit.screens.one_number import OneNumberScreen


class ScaleScreen(OneNumberScreen):
    """The number of a pool's machines."""

    def __init__(self, pool: str) -> None:
        super().__init__()
        self._pool_name = pool

    @property
    def heading(self) -> str:
        return f"scale pool {self._pool_name}"

    def field(self) -> FieldSpec:
        from cockpit.pools.index import pool_named

        pool = pool_named(self.deck.attachment.store, self._pool_name)
        self._text = str(pool.target if pool.target is not None else pool.nodes_now)
        help_ = f"now {pool.nodes_now}, asked for {self._text}"
        return FieldSpec(
            "to", f"Machines of {pool.name}", "integer", self._text, help_, "nodes", 0, pool.maximum
        )

    def plan(self) -> Plan:
        from cockpit.actions.scale import plan_pool_scale, read_replicas
        from cockpit.pools.index import pool_named

        store = self.deck.attachment.store
        pool = pool_named(store, self._pool_name)
        replicas = read_replicas(self._text, pool)
        return plan_pool_scale(pool, replicas, store, context=self.deck.context)

    def carry(self, plan: Plan) -> None:
        from cockpit.actions.scale import read_replicas, scale_as_now
        from cockpit.screens.acting import ground_of

        replicas = read_replicas(self._text, self._pool_name)

        async def again(*, reads: bool = False) -> Plan:
            self.deck.attachment.absorb()
            ground = ground_of(self.deck)
            return await scale_as_now(
                ground.session, ground.store, self._pool_name, replicas, context=ground.context, reads=reads
            )

        self.deck.confirm_and_carry(plan, again=again, then=self._done)
