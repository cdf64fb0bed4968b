"""Alerts beside findings, rows of alerts alone, and that ours never come round."""

import time
from typing import Any

import pytest

from cockpit.model.alert import Alert
from cockpit.model.batch import Batch, Phase, StreamStatus
from cockpit.model.finding import Finding, Subject
from cockpit.model.namespaces import EVERY, Namespaces
from cockpit.model.node import Node
from cockpit.model.record import Condition, Kind
from cockpit.triage.alerts import (
    APART,
    MATCH_SECONDS,
    TOGETHER,
    UNREAD,
    AlertRows,
    alerts_about,
    counted_sentence,
    is_alert,
    without_alerts,
)
from cockpit.triage.attention import needs_human
from cockpit.triage.context import ClusterView
from cockpit.triage.engine import explain
from cockpit.triage.verdicts import Verdicts
from cockpit.views.why import lines
from tests.unit.jobs.builders import Cluster, gang, lacks, mpijob, owned, queues, up, workload

NOW = 10_000.0
SILENT = Condition("Ready", "Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status.", NOW - 900)


def node(name: str, ip: str = "", **fields: Any) -> Node:
    fields.setdefault("conditions", (Condition("Ready", "True"),))
    shown = {"gpu_capacity": 8, "gpu_allocatable": 8, "created_seconds": 0.0, "internal_ip": ip}
    return Node(uid=f"uid-{name}", name=name, **{**shown, **fields})


def alert(name: str, *about: tuple[str, str], number: int = 0, **fields: Any) -> Alert:
    fields.setdefault("severity", "warning")
    fields.setdefault("since_seconds", NOW - 60.0)
    return Alert(uid=f"{name}-{number}-{about}", name=name, about=about, **fields)


class Look:
    """A cluster of eight nodes, a job that runs and one that waits for quota; asked again and again."""

    def __init__(self, *broken: str) -> None:
        self.cluster, self.now = Cluster(), NOW
        self.verdicts = Verdicts(self.cluster.store, self.cluster.index)
        store, runs = self.cluster.store, mpijob("runs", created_seconds=0.0)
        nodes = [node(f"gpu-{at}", f"10.0.0.{at}", conditions=(SILENT,) if f"gpu-{at}" in broken else
                      (Condition("Ready", "True"),)) for at in range(1, 9)]  # fmt: skip
        store.apply(Batch(kind=Kind.NODE, changed=tuple(nodes)))
        waits = mpijob("waits", gpus=4, is_suspended=True, created_seconds=NOW - 700)
        self.cluster.put(
            *queues(), waits, workload(waits, 8, 2, lacks(4)), runs, *gang(runs, **up())[1], gang(runs)[0]
        )

    def fire(self, *alerts: Alert) -> None:
        store = self.cluster.store
        gone = tuple(uid for uid in store.records(Kind.ALERT) if uid not in {one.uid for one in alerts})
        store.apply(Batch(kind=Kind.ALERT, changed=alerts, removed=gone))

    def status(self, phase: Phase, **fields: Any) -> None:
        status = StreamStatus(kind=Kind.ALERT, phase=phase, **fields)
        self.cluster.store.apply(Batch(kind=Kind.ALERT, status=status))

    def rows(self, namespaces: Namespaces = EVERY) -> tuple[Finding, ...]:
        return needs_human(
            self.cluster.store, self.cluster.index, self.now, namespaces, verdicts=self.verdicts
        )

    def alerts(self, namespaces: Namespaces = EVERY) -> list[Finding]:
        return [row for row in self.rows(namespaces) if is_alert(row)]


RUNS, WAITS = "mpijob.kubeflow.org/team-a/runs", "mpijob.kubeflow.org/team-a/waits"


@pytest.mark.parametrize(
    ("about", "row"),
    [
        ([("host", "gpu-3")], "gpu-3"),
        ([("host", "gpu-3.example.com")], "gpu-3"),
        ([("host", "10.0.0.3")], "gpu-3"),
        ([("job", "team-a/runs")], RUNS),
        ([("pod", "team-a/runs-worker-1")], RUNS),
        ([("pod", "gone/gone"), ("host", "gpu-2")], "gpu-2"),
        ([("host", "gpu-99")], None),
        ([("host", "10.0.0.99")], None),
        ([("job", "team-b/runs")], None),
        ([("pod", "team-a/unknown")], None),
        ([], None),
    ],
)
def test_names_are_matched_by_what_is_there(about: list[tuple[str, str]], row: str | None) -> None:
    look = Look()
    look.fire(alert("Hot", *about))
    found = look.alerts()
    assert [each.row for each in found] == ([row] if row else [])
    counts = AlertRows(look.cluster.store, look.cluster.index, EVERY).counts(NOW)
    assert counts == ((1, 0) if row else (0, 1))


def test_a_pod_of_a_daemonset_is_its_node_and_any_other_pod_without_gpus_is_nothing() -> None:
    look = Look()
    agent = owned(None, "agent", owner_kind="DaemonSet", owner_uid="ds", node="gpu-4", phase="Running")
    web = owned(None, "web", owner_kind="ReplicaSet", owner_uid="rs", node="gpu-4", phase="Running")
    look.cluster.put(agent, web)
    look.fire(alert("CrashLoop", ("pod", agent.key)), alert("CrashLoop", ("pod", web.key)))
    assert [row.row for row in look.alerts()] == ["gpu-4"]


def test_a_workload_of_kueue_is_its_job() -> None:
    look = Look()
    look.fire(alert("Stuck", ("job", "team-a/wl-waits")))
    (row,) = [row for row in look.rows() if row.alerts]
    assert row.row == WAITS


def test_a_row_says_where_it_is_from_and_claims_nothing() -> None:
    look = Look()
    look.fire(alert("Hot", ("host", "gpu-1"), severity="critical", summary="GPU 3 at 91 degrees"))
    (row,) = look.alerts()
    assert (row.title, row.glyph, row.since_seconds) == ("node gpu-1", "▲", NOW - 60.0)
    assert row.sentence == "Alertmanager: Hot: GPU 3 at 91 degrees"
    assert (row.key, row.cause, row.gpus, row.sureness.value) == (
        "alert/Hot:gpu-1",
        "",
        0,
        "said by a component",
    )
    assert [remedy.text for remedy in row.remedies] == ["enter open"]


def test_severity_fits_our_order() -> None:
    look = Look("gpu-8")
    severities = {
        "gpu-1": "warning",
        "gpu-2": "critical",
        "gpu-3": "page",
        "gpu-4": "info",
        "gpu-5": "",
        "gpu-6": "none",
    }
    look.fire(*(
        alert(f"A{at}", ("host", name), severity=severity, since_seconds=NOW - 60.0 - at)
        for at, (name, severity) in enumerate(severities.items())
    ))  # fmt: skip
    rows = look.rows()
    assert [(row.row, row.glyph) for row in rows if is_alert(row)] == [
        ("gpu-3", "▲"), ("gpu-2", "▲"), ("gpu-5", "●"), ("gpu-1", "●"),
    ]  # fmt: skip
    assert (rows[0].row, rows[0].finding) == ("gpu-8", "node-not-ready")


def test_several_alerts_of_one_object_are_one_row() -> None:
    look = Look()
    look.fire(
        alert("Slow", ("host", "gpu-1"), since_seconds=NOW - 500.0),
        alert("Down", ("host", "gpu-1"), severity="critical", summary="no answer"),
        alert("Throttled", ("host", "gpu-1"), severity="info"),
        alert("Lost", ("host", "10.0.0.1"), since_seconds=None),
    )
    (row,) = look.alerts()
    assert row.sentence == "Alertmanager: Down and 2 more: no answer"
    assert [each.name for each in row.alerts] == ["Down", "Lost", "Slow", "Throttled"]
    assert row.since_seconds == NOW - 500.0


def test_one_alert_over_many_nodes_is_one_row_with_a_list_that_does_not_flap() -> None:
    look = Look()

    def count(nodes: int) -> int:
        look.fire(*(alert("Down", ("host", f"gpu-{at + 1}")) for at in range(nodes)))
        return len(look.alerts())

    assert [count(nodes) for nodes in (TOGETHER, TOGETHER + 2, APART + 1, APART)] == [TOGETHER, 1, 1, APART]
    look.fire(*(alert("Down", ("host", f"gpu-{at}")) for at in range(1, 7)), alert("Hot", ("host", "gpu-2")))
    (row,) = look.alerts()
    assert (row.title, row.sentence) == ("6 nodes", "Alertmanager: Down and 1 more")
    assert sorted(each.row for each in row.alike) == [f"gpu-{at}" for at in range(1, 7)]
    assert [remedy.text for remedy in row.remedies] == ["enter list"] and row.alerts == ()


def test_an_alert_joins_the_finding_about_its_object() -> None:
    look = Look("gpu-8")
    before = look.rows()
    look.fire(
        alert("NodeDown", ("host", "gpu-8"), severity="info"),
        alert("JobWaits", ("job", "team-a/waits")),
        alert("JobWaits", ("pod", "team-a/waits-worker-0")),
    )
    rows = look.rows()
    assert [row.key for row in rows] == [row.key for row in before]
    assert {row.row: [each.name for each in row.alerts] for row in rows if row.alerts} == {
        "gpu-8": ["NodeDown"], WAITS: ["JobWaits"],
    }  # fmt: skip
    assert {row.row: counted_sentence(row) for row in rows}["gpu-8"].endswith(" · 1 alert")
    look.fire()
    assert look.rows() == before


def test_an_alert_joins_the_row_that_stands_for_others_too() -> None:
    look = Look()
    for at in range(14):
        extra = mpijob(f"w{at}", gpus=4, is_suspended=True, created_seconds=NOW - 700)
        look.cluster.put(extra, workload(extra, 8, 2, lacks(4)))
    (row,) = look.rows()
    assert row.others
    look.fire(alert("JobWaits", ("job", "team-a/w7"), severity="critical"))
    (row,) = look.rows()
    assert [each.name for each in row.alerts] == ["JobWaits"]


def test_many_nodes_that_are_one_row_take_their_alerts_along() -> None:
    look = Look()
    names = [f"more-{at}" for at in range(12)]
    broken = tuple(node(name, conditions=(SILENT,)) for name in names)
    look.cluster.store.apply(Batch(kind=Kind.NODE, changed=broken))
    look.fire(*(alert("NodeDown", ("host", name)) for name in names))
    whole = next(row for row in look.rows() if row.alike)
    assert len(whole.alerts) == 12 and look.alerts() == []


def test_of_other_namespaces_nothing_is_shown() -> None:
    look = Look()
    look.fire(alert("Slow", ("job", "team-a/runs")), alert("Hot", ("host", "gpu-1")))
    assert [row.row for row in look.alerts(Namespaces(("team-b",)))] == ["gpu-1"]


def test_what_comes_later_is_matched_later() -> None:
    look = Look()
    look.fire(alert("Hot", ("host", "gpu-9")))
    assert look.alerts() == []
    look.cluster.store.apply(Batch(kind=Kind.NODE, changed=(node("gpu-9"),)))
    look.now += MATCH_SECONDS
    assert [row.row for row in look.alerts()] == ["gpu-9"]


def test_rows_of_alerts_are_never_posted() -> None:
    look = Look("gpu-8")
    look.fire(
        *(alert("Hot", ("host", f"gpu-{at}")) for at in range(1, 9)), alert("Slow", ("job", "team-a/runs"))
    )
    rows = look.rows()
    assert [(row.finding, row.alerts) for row in without_alerts(rows)] == [
        ("node-not-ready", ()),
        ("job-waits", ()),
    ]
    assert rows[0].alerts
    assert len(rows) == 4


@pytest.mark.parametrize(
    ("phase", "fields", "sentence"),
    [
        (Phase.LIVE, {}, None),
        (Phase.CONNECTING, {"since_seconds": NOW - 2}, None),
        (Phase.CONNECTING, {"since_seconds": NOW - 20}, "alerts are unknown: it has not answered yet"),
        (Phase.BACKING_OFF, {"since_seconds": NOW, "message": "it broke"}, "alerts are unknown: it broke"),
        (Phase.BACKING_OFF, {"since_seconds": NOW - 60, "heard_seconds": 1.0, "message": "it broke"}, None),
        (Phase.BACKING_OFF, {"since_seconds": NOW - 100, "heard_seconds": 1.0, "message": "no", "objects": 3},
         "alerts are old (3 alerts of the last read): no"),
        (Phase.DENIED, {"since_seconds": NOW - 1, "heard_seconds": 1.0, "message": "no"},
         "alerts are old (0 alerts of the last read): no"),
        (Phase.NOT_LOGGED_IN, {"since_seconds": NOW - 1, "message": "no"}, "alerts are unknown: no"),
        (Phase.ABSENT, {"since_seconds": NOW - 1, "message": "none"}, "alerts are unknown: none"),
        (Phase.LIVE, {"is_partial": True, "message": "too many"}, "alerts may be missing: too many"),
    ],
)  # fmt: skip
def test_unknown_is_not_none(phase: Phase, fields: dict[str, Any], sentence: str | None) -> None:
    look = Look()
    look.status(phase, **fields)
    found = [row for row in look.rows() if row.subject.kind == "stream"]
    assert [(row.finding, row.sentence) for row in found] == ([(UNREAD, sentence)] if sentence else [])
    assert not found or found[0].since_seconds == fields.get("since_seconds")


def test_ten_thousand_alerts_cost_a_look_little() -> None:
    look = Look("gpu-8")
    look.fire(
        *(alert("Hot", ("pod", f"x/y{at}"), ("host", f"gpu-{at % 12}"), number=at) for at in range(10_000))
    )
    look.alerts()
    began = time.process_time()
    for _ in range(10):
        look.alerts()
    assert time.process_time() - began < 2.5


def test_the_page_of_why_tells_what_fires_about_its_subject() -> None:
    look = Look("gpu-1")
    look.fire(
        alert("KubeNodeNotReady", ("host", "10.0.0.1"), severity="critical", runbook="https://run.example/n"),
        alert("GpuHot", ("host", "gpu-1")),
        alert("GpuHot", ("host", "gpu-2"), number=2),
        alert("JobSlow", ("pod", "team-a/runs-worker-0")),
        alert("QueueLong", ("job", "team-a/waits"), severity="info"),
    )
    store, jobs = look.cluster.store, look.cluster.index
    view = ClusterView(store=store, jobs=jobs, now_seconds=NOW)

    def fires(kind: str, namespace: str, name: str) -> list[str]:
        return [one.name for one in alerts_about(Subject(kind, namespace, name), store, jobs)]

    assert fires("node", "", "gpu-1") == ["KubeNodeNotReady", "GpuHot"]
    assert fires("card", "", "gpu-2/0") == ["GpuHot"]
    assert fires("job", "team-a", "waits") == ["QueueLong"]
    assert fires("job", "team-a", "runs") == fires("pod", "team-a", "runs-worker-0") == ["JobSlow"]
    assert fires("node", "", "gpu-3") == [] == fires("pool", "", "gpu-1")
    text = [str(line) for line in lines(explain(Subject("node", "", "gpu-1"), view), view)]
    at = text.index("Alertmanager: KubeNodeNotReady, critical, 1m00s")
    assert text[at + 1 : at + 3] == ["    https://run.example/n", "Alertmanager: GpuHot, warning, 1m00s"]
    assert not any(
        "Alertmanager" in line for line in lines(explain(Subject("node", "", "gpu-3"), view), view)
    )
