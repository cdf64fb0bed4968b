"""Where it cannot be known whether GPUs are idle, every place says what is missing and why, and none says
that none is idle: not read yet, not collected, denied and stale are told apart."""

from typing import Any

import pytest

from cockpit.commands.overview import lines as overview_lines
from cockpit.model.batch import Batch, Phase, StreamStatus
from cockpit.model.quantity import Absent
from cockpit.model.record import Kind
from cockpit.telemetry.faults import TelemetryError
from cockpit.triage.idle_jobs import TelemetryGap, gpu_gap, why_not_idle
from cockpit.views.fleet_use import fleet_sight, head_lines
from tests.unit.jobs.builders import Cluster, gang, mpijob, up
from tests.unit.triage.test_attention import add_nodes, card, cards, gpu_node
from tests.unit.triage.test_idle_jobs import NOW, Desk

PHASES = {
    Phase.CONNECTING: TelemetryGap.NOT_READ,
    Phase.ABSENT: TelemetryGap.NOT_COLLECTED,
    Phase.DENIED: TelemetryGap.DENIED,
    Phase.NOT_LOGGED_IN: TelemetryGap.DENIED,
    Phase.STALE: TelemetryGap.STALE,
    Phase.BACKING_OFF: TelemetryGap.STALE,
}
NONE_IS_IDLE = "no allocated GPU is idle"


def told(desk: Desk) -> list[str]:
    """The lines of the fleet about idleness."""
    known = desk.verdicts.on_demand.idle
    add_nodes(desk.cluster, gpu_node())
    page = fleet_sight(desk.cluster.store, desk.cluster.index, known, NOW).solved()
    return [line for line in head_lines(page) if "idle" in line or "0% duty" in line]


def phase(desk: Desk, is_in: Phase) -> None:
    desk.cluster.store.apply(Batch(kind=Kind.GPU, status=StreamStatus(kind=Kind.GPU, phase=is_in)))


def dark(is_in: Phase) -> Desk:
    """A job with two GPUs of which no card is known, and why."""
    desk = Desk()
    gone = tuple(desk.cluster.store.records(Kind.GPU))
    desk.cluster.store.apply(Batch(kind=Kind.GPU, removed=gone))
    desk.cluster.index.catch_up()
    phase(desk, is_in)
    return desk


@pytest.mark.parametrize("is_in", PHASES)
def test_without_samples_the_reason_is_told(is_in: Phase) -> None:
    desk = dark(is_in)
    assert gpu_gap(desk.cluster.store) is PHASES[is_in]
    assert told(desk) == [f"idle GPUs are not known: GPU telemetry is {PHASES[is_in]}"]
    found: dict[str, Any] = {
        "fleet": None,
        "context": "",
        "jobs": {},
        "needs_a_human": (),
        "pools": (),
        "queues": (),
    }
    lines = overview_lines({**found, "streams": {}, "at_seconds": NOW, "idle_not_known": PHASES[is_in]})
    assert f"idle jobs are not known: GPU telemetry is {PHASES[is_in]}" in lines


@pytest.mark.parametrize("is_in", [*PHASES, Phase.LIVE])
@pytest.mark.parametrize("why", [Absent.STALE, Absent.NOT_COLLECTED])
def test_a_card_without_its_duty_is_never_counted_as_at_work(is_in: Phase, why: Absent) -> None:
    desk = Desk()
    held = {"pod_namespace": "team-a", "pod_name": "llm-worker-0"}
    cards(desk.cluster, card(0, duty_ratio=why, **held), card(1, duty_ratio=0.9, sampled_seconds=NOW, **held))
    phase(desk, is_in)
    gap = PHASES.get(is_in) or (TelemetryGap.STALE if why is Absent.STALE else TelemetryGap.NOT_COLLECTED)
    assert told(desk) == [f"1 allocated GPU not measured: whether idle is not known: duty {gap}"]


def test_where_all_cards_work_none_is_idle() -> None:
    desk = Desk()
    desk.sample(NOW, duty=0.8)
    phase(desk, Phase.LIVE)
    assert told(desk) == [NONE_IS_IDLE]


def test_a_rest_of_minutes_that_nobody_has_judged_is_not_called_work() -> None:
    desk = Desk(seen_minutes=5)
    phase(desk, Phase.LIVE)
    assert told(desk) == ["2 allocated GPUs at 0% duty for less than 10 min: whether idle is not known yet"]


@pytest.mark.parametrize(
    ("is_in", "gap"),
    [(Phase.DENIED, "denied"), (Phase.NOT_LOGGED_IN, "denied"), (Phase.BACKING_OFF, "stale")],
)
async def test_a_prometheus_that_refuses_its_memory_is_named_on_every_place(is_in: Phase, gap: str) -> None:
    desk = Desk(seen_minutes=40)
    phase(desk, Phase.LIVE)
    desk.fault = TelemetryError("Prometheus at test says no.", is_in)
    await desk.read()
    (row,) = desk.found()
    assert row.sentence == f"2 GPUs allocated, duty 0%, 37 GiB of memory kept; CPU, network, disk {gap}"
    assert told(desk) == [f"2 allocated GPUs at 0% duty: whether idle is not known: CPU, network, disk {gap}"]


@pytest.mark.parametrize("gap", TelemetryGap)
def test_why_a_job_is_not_called_idle_names_the_gap(gap: TelemetryGap) -> None:
    said = why_not_idle(None, NOW, gap)
    assert said == f"whether it is idle is not known: CPU, network and disk over time are {gap}"


def test_a_cluster_without_a_job_has_no_idle_gpu_and_no_complaint() -> None:
    cluster = Cluster()
    launcher, pods = gang(mpijob(workers=1, gpus=2), **up(node="gpu-7"))
    assert launcher and pods, "they are not in it"
    cards(cluster, card(0, duty_ratio=0.0, sampled_seconds=NOW))
    cluster.store.apply(Batch(kind=Kind.GPU, status=StreamStatus(kind=Kind.GPU, phase=Phase.LIVE)))
    desk = Desk()
    page = fleet_sight(cluster.store, cluster.index, desk.verdicts.on_demand.idle, NOW).solved()
    assert not page.use.unmeasured and not page.use.resting
