"""A cluster with nothing in it yet, or nothing that one may see: every stream in one phase."""

from cockpit.clock import ManualClock
from cockpit.model.batch import Batch, ListMark, Phase, StreamStatus
from cockpit.model.record import Kind
from tests.tui.estate import Estate

KIND_OF = {
    "1": Kind.POD,
    "2": Kind.POD,
    "3": Kind.NODE,
    "4": Kind.LOCAL_QUEUE,
    "5": Kind.NODE,
    "6": Kind.EVENT,
    "7": Kind.POD,
}
"""The kind whose stream says why the place behind that key is empty."""


class Bare(Estate):
    """An attached cluster whose streams are all in one phase, with nothing in them."""

    def __init__(self, phase: Phase, message: str = "", objects: int = 0) -> None:
        self._status = (phase, message, objects)

    def batches(self) -> list[Batch]:
        phase, message, objects = self._status
        kinds = (*KIND_OF.values(), Kind.CLUSTER_QUEUE, Kind.WORKLOAD, Kind.POOL, Kind.GPU)
        mark = ListMark.END if phase is Phase.LIVE else ListMark.NONE
        return [
            Batch(
                kind=kind,
                mark=mark,
                status=StreamStatus(
                    kind=kind,
                    phase=phase,
                    message=message.format(kind=kind),
                    objects=objects,
                    heard_seconds=ManualClock().now(),
                ),
            )
            for kind in dict.fromkeys(kinds)
        ]
