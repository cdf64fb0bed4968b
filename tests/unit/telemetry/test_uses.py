"""CPU and network of pods: the query, its answer, and whose page asks for it."""

from typing import Any

from cockpit.model.batch import Batch
from cockpit.model.pod_use import PodUse
from cockpit.model.quantity import Absent
from cockpit.model.record import Kind
from cockpit.telemetry.faults import TelemetryError
from cockpit.telemetry.focus import Focus
from cockpit.telemetry.poller import Poller
from cockpit.telemetry.source import PrometheusSource
from cockpit.telemetry.uses import query, uses
from tests.unit.telemetry.builders import NOW, A, Row, SmallCluster, card_a, family, node, pod
from tests.unit.telemetry.test_poller import Scripted

CPU, IN, OUT = "cpu_cores", "receive_bytes_per_second", "transmit_bytes_per_second"


def told(field: str, value: str, name: str = "w-0", namespace: str = "team-a", prefix: str = "") -> Row:
    labels = {f"{prefix}pod": name, f"{prefix}namespace": namespace, "cockpit_use": field}
    return {"metric": labels, "value": [NOW, value]}


def test_the_query_names_pods_and_leaves_sandboxes_and_loopback_out() -> None:
    text = query([pod("w.0"), pod("w-1", namespace="team-b")])
    assert r'pod=~"w-1|w\\.0",namespace=~"team-a|team-b",container!="",container!="POD"' in text
    assert r'exported_pod=~"w-1|w\\.0"' in text
    assert text.count('interface!="lo"') == 4
    assert text.count("sum by") == text.count("max by") == 6


def test_each_pod_has_what_is_told_of_it() -> None:
    rows = [told(CPU, "7.9"), told(IN, "1.2e8"), told(OUT, "0", prefix="exported_"), told(IN, "5", "w-1")]
    found = {one.uid: one for one in uses(rows, [pod("w-0"), pod("w-1"), pod("w-2")])}
    assert found == {
        "uid-team-a-w-0": PodUse(
            uid="uid-team-a-w-0",
            key="team-a/w-0",
            cpu_cores=7.9,
            receive_bytes_per_second=1.2e8,
            transmit_bytes_per_second=0.0,
        ),
        "uid-team-a-w-1": PodUse(uid="uid-team-a-w-1", key="team-a/w-1", receive_bytes_per_second=5.0),
    }
    assert found["uid-team-a-w-1"].cpu_cores is Absent.NOT_COLLECTED


def test_what_is_no_number_and_who_was_not_asked_for_are_left_out() -> None:
    rows: list[Any] = [
        told(CPU, "NaN"),
        told(IN, "-1"),
        told(OUT, "+Inf"),
        told("priority", "1"),
        told(CPU, "1", "stranger"),
        told(CPU, "1", namespace="team-b"),
        {"metric": {}, "value": [NOW, "1"]},
        "nonsense",
    ]
    assert uses(rows, [pod("w-0")]) == []


class WithUses(Scripted):
    """Answers what it was told about pods, and fails at it where it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.uses: list[Row] = []
        self.fails = False

    async def query(self, promql: str, at_seconds: float | None = None) -> list[Any]:
        if not promql.startswith("label_replace"):
            return await super().query(promql, at_seconds)
        self.asked.append(promql)
        if self.fails:
            raise TelemetryError("too many series")
        return self.uses


async def test_pods_in_sight_are_read_and_go_with_their_page() -> None:
    asked, batches, look = WithUses(), list[Batch](), [Focus(pods=("uid-team-a-w-0", "uid-gone"))]
    cluster = SmallCluster([node()], [pod("w-0"), pod("w-1")])
    poller = Poller(PrometheusSource(asked), batches.append, asked.clock, cluster, looking=lambda: look[0])
    asked.rows, asked.uses = family(A, card_a(0)), [told(CPU, "2.5"), told(CPU, "3.5", "w-1")]

    def last() -> tuple[list[Any], list[str]]:
        mine = [one for one in batches if one.kind == Kind.POD_USE]
        return list(mine[-1].changed), list(mine[-1].removed)

    await poller.poll()
    assert [(one.uid, one.cpu_cores) for one in last()[0]] == [("uid-team-a-w-0", 2.5)]
    # the numbers of GPUs do not hang on them
    asked.fails = True
    await poller.poll()
    assert last() == ([], ["uid-team-a-w-0"])
    assert poller.failures == 0
    asked.fails = False
    look[0] = Focus()
    asked.asked.clear()
    await poller.poll()
    assert not any("cockpit_use" in one for one in asked.asked)
