"""What a first start may find: a cluster in which something is missing."""

from cockpit.attach import watched_kinds
from cockpit.clock import ManualClock
from cockpit.kube.feed import GATHERED
from cockpit.model.batch import Batch, ListMark, Phase, StreamStatus
from cockpit.model.node import Node
from cockpit.model.record import Kind
from tests.tui.estate import Estate


def status(kind: str, phase: Phase, message: str = "", scope: str = "") -> StreamStatus:
    seconds = ManualClock().now()
    return StreamStatus(kind=kind, phase=phase, message=message, scope=scope, heard_seconds=seconds)


class Plain(Estate):
    """A cluster of nodes without GPUs, without any kind of an engine or owner, and without a Prometheus."""

    def batches(self) -> list[Batch]:
        nodes = tuple(Node(uid=f"n{at}", name=f"cpu-{at}") for at in range(4))
        listed = {Kind.NODE: nodes, Kind.POD: (), Kind.EVENT: ()}
        absent = {watched.kind for watched in watched_kinds()} | set(GATHERED)
        return [
            *(
                Batch(kind=kind, changed=records, mark=ListMark.END, status=status(kind, Phase.LIVE))
                for kind, records in listed.items()
            ),
            *(
                Batch(kind=kind, status=status(kind, Phase.ABSENT, f"The server does not serve {kind}."))
                for kind in absent
            ),
            Batch(kind=Kind.GPU, status=status(Kind.GPU, Phase.ABSENT, NO_PROMETHEUS)),
        ]


class OneNamespace(Estate):
    """Pods of one namespace may be read, and nothing that belongs to none."""

    def batches(self) -> list[Batch]:
        denied = "You cannot list {} in any namespace: ask for that right, or choose a namespace."
        return [
            Batch(
                kind=Kind.POD,
                mark=ListMark.END,
                status=status(Kind.POD, Phase.LIVE, scope="team-a"),
                scope="team-a",
            ),
            *(
                Batch(kind=kind, status=status(kind, Phase.DENIED, denied.format(kind)))
                for kind in (Kind.NODE, Kind.NAMESPACE, Kind.LOCAL_QUEUE)
            ),
        ]


class Unmeasured(Estate):
    """The usual cluster, where no Prometheus was found."""

    def batches(self) -> list[Batch]:
        measured = (batch for batch in super().batches() if batch.kind != Kind.GPU)
        return [*measured, Batch(kind=Kind.GPU, status=status(Kind.GPU, Phase.ABSENT, NO_PROMETHEUS))]


NO_PROMETHEUS = "No Prometheus found: set --prometheus-url; no Service is labelled like one."
