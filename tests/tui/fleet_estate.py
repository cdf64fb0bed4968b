"""The scripted estate after three hours of telemetry, its free GPUs scattered over more nodes."""

from typing import Any

import msgspec

from cockpit.model.batch import Batch
from cockpit.model.record import Kind
from tests.tui.deck import ScriptedApp
from tests.tui.estate import NOW, Estate
from tests.tui.idle_app import judge_at_rest

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
        judge_at_rest(self.attachment, {space: 3_600.0 * hours for space, hours in HOURS.items()})
