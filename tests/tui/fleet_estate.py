"""The scripted estate after three hours of telemetry, its free GPUs scattered over more nodes."""

from typing import Any

import msgspec

from cockpit.model.batch import Batch
from cockpit.model.record import Kind
from cockpit.triage.idle_jobs import IDLE_FOR_SECONDS, trace_of
from cockpit.triage.idleness import judge
from tests.tui.deck import ScriptedApp
from tests.tui.estate import NOW, Estate
from tests.tui.idle_app import remembered

HOURS = {"team-c": 3.0, "team-d": 4.5}
"""For how long a card that idles now has idled, by the namespace of its holder."""


class FleetEstate(Estate):
    """The same, with small notebooks on nodes that were free, and what each card did before."""

    def _jobs(self) -> None:
        super()._jobs()
        for number, gpus in enumerate((1, 1, 2, 3)):
            self._pod(
                "team-d", f"notebook-{number}", "h100", gpus, created_seconds=NOW - 5 * 3_600,
                started_seconds=NOW - 5 * 3_600, owner_kind="StatefulSet", owner_name=f"notebook-{number}",
                owner_uid=f"sts-notebook-{number}", owner_api_version="apps/v1",
            )  # fmt: skip

    def batches(self) -> list[Batch]:
        found = super().batches()
        cards = next(one.changed for one in found if one.kind == Kind.GPU and one.changed)
        before = tuple(
            msgspec.structs.replace(card, sampled_seconds=NOW - 3_600.0 * HOURS.get(card.pod_namespace, 0.5))
            for card in cards
        )
        return [Batch(kind=Kind.GPU, changed=before), *found]


class FleetApp(ScriptedApp):
    """A cockpit that was told by a Prometheus what the pods did whose cards do nothing."""

    def __init__(self, estate: Estate | None, **options: Any) -> None:
        super().__init__(estate, **options)
        one = self.attachment
        known = one.verdicts.on_demand.idle
        for job in known.due(one.jobs.jobs.values(), one.store, NOW):
            pods = one.jobs.members(job.key)
            lines = remembered(pods, {pod.uid: 3_600.0 * HOURS.get(job.namespace, 0.5) for pod in pods})
            known.take(job, judge(trace_of(job, pods, lines, {}), IDLE_FOR_SECONDS), NOW)
