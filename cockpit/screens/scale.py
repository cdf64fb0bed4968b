"""`S` and `M`: how many machines the pool shall have, or may have, with what that means."""

from cockpit_widgets.types import FieldSpec

from cockpit.actions.verbs.pool import ASK, LIMIT, SCALE, AskOptions, LimitOptions, NodesOptions
from cockpit.model.plan import Plan
from cockpit.model.pool import Pool
from cockpit.screens.one_number import OneNumberScreen
from cockpit.screens.verb_keys import act


class ScaleScreen(OneNumberScreen):
    """The number of a pool's machines."""

    def __init__(self, pool: Pool) -> None:
        super().__init__(str(pool.target if pool.target is not None else pool.nodes_now))
        self._pool = pool

    @property
    def heading(self) -> str:
        return f"scale pool {self._pool.name}"

    def field(self) -> FieldSpec:
        pool = self._pool
        help_ = f"now {pool.nodes_now}, requested {self._text}"
        return FieldSpec(
            "to", f"Nodes of {pool.name}", "integer", self._text, help_, "nodes", 0, pool.maximum
        )

    def plan(self) -> Plan:
        from cockpit.actions.scale import plan_pool_scale, read_replicas
        from cockpit.pools.index import pool_named

        store = self.cockpit.cluster.store
        pool = pool_named(store, self._pool.name)
        at_once, context = self.cockpit.shrink_at_once, self.cockpit.context
        return plan_pool_scale(pool, read_replicas(self._text), store, context=context, at_once=at_once)

    def carry(self) -> None:
        options = NodesOptions(self._text)
        act(self.app, SCALE, (self._pool,), options, say=self.say_problem, then=self._done)


class AskScreen(OneNumberScreen):
    """The number of machines that are to come to a pool by demand."""

    def __init__(self, pool: Pool) -> None:
        super().__init__("1")
        self._pool = pool

    @property
    def heading(self) -> str:
        return f"ask for nodes of pool {self._pool.name}"

    def field(self) -> FieldSpec:
        pool = self._pool
        most = "no maximum" if pool.maximum is None else f"maximum {pool.maximum}"
        return FieldSpec(
            "to",
            f"More nodes of {pool.name}",
            "integer",
            self._text,
            f"now {pool.nodes_now}, {most}",
            "nodes",
            1,
        )

    def plan(self) -> Plan:
        from cockpit.actions.ask import plan_ask
        from cockpit.pools.index import pool_named

        planning = self.cockpit.planner()()
        return plan_ask(planning, pool_named(planning.store, self._pool.name), AskOptions(self._text).terms())

    def carry(self) -> None:
        options = AskOptions(self._text)
        act(self.app, ASK, (self._pool,), options, say=self.say_problem, then=self._done)


class LimitScreen(OneNumberScreen):
    """The number of machines that a pool may have at most."""

    def __init__(self, pool: Pool) -> None:
        super().__init__("" if pool.maximum is None else str(pool.maximum))
        self._pool = pool

    @property
    def heading(self) -> str:
        return f"limit pool {self._pool.name}"

    def field(self) -> FieldSpec:
        pool = self._pool
        most = "none" if pool.maximum is None else pool.maximum
        help_ = f"now {pool.nodes_now} nodes, maximum {most}"
        return FieldSpec("to", f"Maximum of {pool.name}", "integer", self._text, help_, "nodes", 0)

    def plan(self) -> Plan:
        from cockpit.actions.limit import plan_limit
        from cockpit.actions.scale import read_replicas
        from cockpit.pools.index import pool_named

        store = self.cockpit.cluster.store
        pool = pool_named(store, self._pool.name)
        return plan_limit(pool, read_replicas(self._text), store, context=self.cockpit.context)

    def carry(self) -> None:
        options = LimitOptions(self._text)
        act(self.app, LIMIT, (self._pool,), options, say=self.say_problem, then=self._done)
