"""`S` and `M`: how many machines the pool shall have, or may have, with what that means."""

from cockpit_widgets.types import FieldSpec

from cockpit.actions.ask import AskOptions, AskTerms, plan_ask
from cockpit.actions.limit import LimitOptions, plan_limit
from cockpit.actions.planning import PoolTerms
from cockpit.actions.scale import NodesOptions, plan_pool_scale
from cockpit.actions.verbs.pool import ASK, LIMIT, SCALE
from cockpit.errors import BadInput
from cockpit.gangs.sentence import counted
from cockpit.model.plan import Plan
from cockpit.model.pool import Pool
from cockpit.pools.index import pool_again
from cockpit.pools.plan import read_replicas
from cockpit.screens.one_number import OneNumberScreen
from cockpit.screens.verb_keys import act


class PoolNumberScreen(OneNumberScreen):
    """A number of machines."""

    def number(self) -> int:
        """What is typed. Raises BadInput that names the field."""
        try:
            return read_replicas(self._text)
        except BadInput as error:
            raise BadInput(f"{self.field().label}: {error.sentence}") from None


class ScaleScreen(PoolNumberScreen):
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
        cockpit, store = self.cockpit, self.cockpit.cluster.store
        terms = PoolTerms(at_seconds=cockpit.clock.cluster_now(), shrink_at_once=cockpit.shrink_at_once)
        pool = pool_again(store, self._pool)
        return plan_pool_scale(pool, self.number(), store, terms=terms, context=cockpit.context)

    def carry(self) -> None:
        options = NodesOptions(self._text)
        act(
            self.app,
            SCALE,
            (self._pool,),
            options,
            say=self.say_problem,
            then=self._done,
            begun=self._leave_form,
        )


class AskScreen(PoolNumberScreen):
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
        planning = self.cockpit.planner()()
        pool = pool_again(planning.store, self._pool)
        return plan_ask(planning, pool, AskTerms(nodes=self.number()))

    def carry(self) -> None:
        options = AskOptions(self._text)
        act(self.app, ASK, (self._pool,), options, say=self.say_problem, then=self._done)


class LimitScreen(PoolNumberScreen):
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
        help_ = f"now {counted(pool.nodes_now, 'node')}, maximum {most}"
        return FieldSpec("to", f"Maximum of {pool.name}", "integer", self._text, help_, "nodes", 0)

    def plan(self) -> Plan:
        store = self.cockpit.cluster.store
        pool = pool_again(store, self._pool)
        return plan_limit(pool, self.number(), store, context=self.cockpit.context)

    def carry(self) -> None:
        options = LimitOptions(self._text)
        act(self.app, LIMIT, (self._pool,), options, say=self.say_problem, then=self._done)
