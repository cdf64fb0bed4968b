"""What becomes of the job that a form makes. What that rests on is read once for several keys."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from cockpit.actions.others import preempted, told
from cockpit.actions.surroundings import Needs, needs_of
from cockpit.errors import CockpitError, NoConnection
from cockpit.fit.scheduling_context import UNKNOWN
from cockpit.gangs import registry
from cockpit.jobs.planned import planned_gang
from cockpit.model.contender import Contender, Preemptions
from cockpit.model.plan import Plan
from cockpit.screens.app_protocol import Cockpit
from cockpit.triage.context import NO_TREES, ClusterView
from cockpit.views.planned_start import start_report

_STAND_SECONDS: Final = 30.0
"""What was read is as good as new for these seconds, while a person types."""


class FormOutlook:
    """Of one form."""

    def __init__(self, cockpit: Cockpit) -> None:
        self._cockpit = cockpit
        self._known = cockpit.known_of_pools()
        self._read: ClusterView | None = None
        self._read_for: tuple[object, ...] = ()
        self._read_at = 0.0  # monotonic
        self._contends: Sequence[Contender] = ()
        self._preempts: Preemptions | None = None

    def view(self) -> ClusterView:
        """The cluster now, with what was read for the form."""
        cluster, read = self._cockpit.cluster, self._read
        said = cluster.verdicts.on_demand
        return ClusterView(
            store=cluster.store,
            jobs=cluster.jobs,
            now_seconds=self._cockpit.clock.cluster_now(),
            around=UNKNOWN if read is None else read.around,
            trees=NO_TREES if read is None else read.trees,
            known=self._known,
            idle=said.idle,
            ended_drains=said.drains_ended,
        )

    async def ask(self, plan: Plan) -> None:
        """Read what the start of the job rests on, unless the same was read a moment ago."""
        body, namespace = plan.calls[0].body, self._cockpit.default_namespace
        wanted = self._needs(body, namespace)
        now = self._cockpit.clock.monotonic()
        if wanted == self._read_for and now - self._read_at < _STAND_SECONDS:
            return
        try:
            self._read = await self._cockpit.api.read_for_planned(body, self.view(), namespace)
        except NoConnection:
            self._read, wanted = None, ()
        self._read_for, self._read_at = wanted, now

    def _needs(self, body: Mapping[str, Any], namespace: str) -> tuple[object, ...]:
        parts = planned_gang(body, namespace)
        engine, queue = registry.admitting(body)
        space = parts[0].shape.namespace if parts else namespace
        needs, is_found = needs_of(parts) if parts else Needs(), self._cockpit.cluster.has_discovered
        return (needs, space, engine.name, bool(queue), is_found)

    async def weigh(self, plan: Plan) -> Plan | None:
        """The plan with its effects on other jobs; None without an answer."""
        if not plan.contends:
            return plan
        try:
            found = await preempted(self._cockpit.planner()(), plan.contends)
        except CockpitError:
            return None
        self._contends, self._preempts = plan.contends, found
        return told(plan, found)

    def lines(self, plan: Plan, *, with_changes: bool) -> list[str]:
        """What holds the job and, once that was worked out, whom it preempts and what would start it."""
        known = self._preempts if plan.contends is self._contends else None
        namespace = self._cockpit.default_namespace
        return start_report(plan.calls[0].body, self.view(), namespace, known, with_changes=with_changes)
