"""Pools beside their real owners: what each side of the cockpit says of objects as those write them."""

import asyncio
import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from msgspec.structs import replace

from cockpit.actions.ask import AskTerms, ask_as_now
from cockpit.actions.limit import plan_limit
from cockpit.actions.planning import Planning, PoolTerms
from cockpit.actions.scale import scale_as_now
from cockpit.commands.output import plain
from cockpit.errors import CockpitError
from cockpit.fit.scheduling_context import Budget, Surroundings
from cockpit.jobs.index import JobIndex
from cockpit.kube.decode import decoders
from cockpit.kube.resource import Resource
from cockpit.model.autoscaler import AutoscalerStatus
from cockpit.model.batch import Batch, StreamStatus
from cockpit.model.finding import Finding, Subject
from cockpit.model.pool import Pool, StandingDemand, StandingRead
from cockpit.model.record import Kind, Record
from cockpit.pools.demand import demand_by_pool
from cockpit.pools.index import pools_of
from cockpit.pools.sightings import kept_events
from cockpit.store.store import Store
from cockpit.triage.advice import advised
from cockpit.triage.attention import needs_human
from cockpit.triage.context import ClusterView
from cockpit.triage.engine import explain
from cockpit.triage.verdicts import Verdicts
from cockpit.views import nodes as nodes_view
from cockpit.views import pools as pools_view
from cockpit.views.pool_json import Learnt, page_of
from cockpit.views.pool_page import facts, page_lines
from cockpit.views.view_state import ViewState
from cockpit.views.why import lines as why_lines
from tests.triage.owner_objects import NOW, Tree
from tests.unit.actions.builders import Line
from tests.unit.views.builders import line

_POOLS = {
    "MachineDeployment": Resource(
        "cluster.x-k8s.io", "v1beta2", "machinedeployments", "MachineDeployment", namespaced=True
    ),
    "NodePool": Resource("karpenter.sh", "v1", "nodepools", "NodePool", namespaced=False),
}
_MACHINES = {
    "Machine": Resource("cluster.x-k8s.io", "v1beta2", "machines", "Machine", namespaced=True),
    "NodeClaim": Resource("karpenter.sh", "v1", "nodeclaims", "NodeClaim", namespaced=False),
}
_DECODERS = {
    "Node": decoders.NODE,
    "Pod": decoders.POD,
    "Job": decoders.JOB,
    "Event": decoders.EVENT,
    "ConfigMap": decoders.AUTOSCALER,
    **{kind: decoders.pool_decoder(resource) for kind, resource in _POOLS.items()},
    **{kind: decoders.machine_decoder(resource) for kind, resource in _MACHINES.items()},
}


# ---- what is said


def _row(table: Any, name: str) -> str:
    """`name=...  ready=...` of the row whose name that is."""
    rows = [line(table, at) for at in range(len(table))]
    found = next(one for one in rows if name in one.values())
    return "  ".join(f"{head}={text}" for head, text in found.items())


def _read_now(record: Record) -> Record:
    return replace(record, read_seconds=NOW) if isinstance(record, AutoscalerStatus) else record


class World:
    """A cluster whose objects were read, and every side that speaks of its pools."""

    def __init__(
        self,
        *trees: Tree,
        budgets: Sequence[Budget] | None = (),
        standing: Iterable[StandingDemand] = (),
        served: Iterable[Resource] = (),
        statuses: Iterable[StreamStatus] = (),
    ) -> None:
        self.store = Store()
        found: dict[str, list[Tree]] = defaultdict(list)
        for one in trees:
            found[one["kind"]].append(one)
        for kind, some in found.items():
            records = [_DECODERS[kind].from_json(json.dumps(one).encode()) for one in some]
            told = tuple(_read_now(one) for one in records if one is not None)
            batch = Batch(kind=_DECODERS[kind].kind, scope=kind, changed=told)
            self.store.apply(batch)
            kept = kept_events(batch, self.store) if kind == "Event" else None
            if kept is not None:
                self.store.apply(kept)
        for stream in statuses:
            self.store.apply(Batch(kind=stream.kind, status=stream))
        self.jobs = JobIndex(self.store)
        self.jobs.update(self.store.take_delta())
        by_place: dict[tuple[str, str], list[Tree]] = defaultdict(list)
        for one in trees:
            by_place[one["kind"], one["metadata"].get("namespace", "")].append(one)
        around = Surroundings(budgets=None if budgets is None else tuple(budgets))
        self.view = ClusterView(
            store=self.store, jobs=self.jobs, now_seconds=NOW, around=around, trees=dict(by_place)
        )
        self.budgets = budgets
        self.standing = StandingRead(found=tuple(standing))
        self.served = tuple(served)

    def why(self, kind: str, name: str) -> str:
        found = self.finding(kind, name)
        return "\n".join(why_lines(found, self.view))

    def finding(self, kind: str, name: str) -> Finding:
        return advised(
            explain(Subject(kind, "team-a" if kind in {"pod", "job"} else "", name), self.view), self.view
        )

    def pools(self) -> dict[str, Pool]:
        return {one.name: one for one in pools_of(self.store)}

    def row(self, name: str) -> str:
        pools = pools_of(self.store)
        beside = pools_view.PoolsBeside(demand=demand_by_pool(self.store, pools))
        return _row(pools_view.table(pools, ViewState(), NOW, None, beside), name)

    def page(self, name: str) -> str:
        learnt = Learnt(budgets=self.budgets, standing=self.standing)
        page = page_of(self.pools()[name], self.store, self.jobs, NOW, learnt)
        rows = ["".join(cell.text for cell in row).rstrip() for row in page_lines(page, 160, 60)]
        return "\n".join([*rows, *("{}: {}".format(*one[:2]) for one in facts(page))])

    def rows(self) -> str:
        return "\n".join(self.row(name) for name in self.pools())

    def json(self, name: str) -> Any:
        return plain(self.pools()[name])

    def now(self) -> list[str]:
        rows = needs_human(self.store, self.jobs, NOW, verdicts=Verdicts(self.store, self.jobs))
        return [f"{row.key}: {row.sentence}" for row in rows]

    def nodes(self) -> str:
        table = nodes_view.table(self.store, ViewState(), NOW)
        return "\n".join(
            _row(table, name) for name in sorted(one.name for one in self.store.records(Kind.NODE).values())
        )

    def _planning(self) -> Planning:
        served = {(one.api_version, one.kind): one for one in self.served}
        session: Any = Line()
        terms = PoolTerms(at_seconds=NOW, holder="ann@h")
        return Planning(self.store, session, lambda *key: served.get(key), "prod", pools=terms)

    def ask(self, name: str, nodes: int) -> str:
        return self._planned(ask_as_now(self._planning(), name, AskTerms(nodes=nodes)))

    def scale(self, name: str, to: int) -> str:
        return self._planned(scale_as_now(self._planning(), name, to))

    def limit(self, name: str, most: int) -> str:
        try:
            plan = plan_limit(self.pools()[name], most, self.store, context="prod")
        except CockpitError as error:
            return f"refused: {error.sentence}"
        return "\n".join((plan.title, *plan.lines))

    def _planned(self, coming: Any) -> str:
        try:
            plan = asyncio.run(coming)
        except CockpitError as error:
            return f"refused: {error.sentence}"
        return "\n".join((plan.title, *plan.lines, *plan.expects, *plan.warnings))

    def says(self, side: str) -> str:
        """What one side says: `now`, `nodes`, `row POOL`, `page POOL`, `why KIND NAME`, `ask POOL 1` ..."""
        word, *more = side.split()
        if word in {"ask", "scale", "limit"}:
            return str(getattr(self, word)(more[0], int(more[1])))
        found = getattr(self, word)(*more)
        return "\n".join(found) if isinstance(found, list) else str(found)
