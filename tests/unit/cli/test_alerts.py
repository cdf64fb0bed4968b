"""Alerts in `cockpit triage`, its JSON and exit code; that none is posted; settings that cannot be used."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cockpit.model.alert import Alert
from cockpit.model.batch import Batch, Phase, StreamStatus
from cockpit.model.record import Kind
from tests.unit.cli.builders import Cluster, run
from tests.unit.cli.test_commands import Capture
from tests.unit.cli.test_triage_to_others import watched
from tests.unit.notify.webhook import Server

NOW = 1_790_000_100.0


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.close()


def alert(name: str, *about: tuple[str, str], severity: str = "critical") -> Alert:
    labels = (("alertname", name), ("severity", severity))
    since = NOW - 60
    return Alert(
        uid=name,
        name=name,
        severity=severity,
        since_seconds=since,
        summary=f"{name}!",
        about=about,
        labels=labels,
    )


def fire(cluster: Cluster, *alerts: Alert, phase: Phase = Phase.LIVE, **fields: Any) -> None:
    """The last read of Alertmanager."""
    status = StreamStatus(kind=Kind.ALERT, phase=phase, objects=len(alerts), **fields)
    before = cluster.batches
    cluster.batches = lambda: [*before(), Batch(kind=Kind.ALERT, changed=alerts, status=status)]  # type: ignore[method-assign]


def test_rows_of_alerts_stand_among_ours_and_say_where_they_are_from(
    waiting: Cluster, capsys: Capture
) -> None:
    fire(waiting, alert("NodeHot", ("host", "n1")), alert("Watchdog", severity="none"))
    code, out, _err = run(capsys, "triage")
    assert code == 3
    (line,) = [line for line in out.splitlines() if "n1" in line]
    assert line.startswith("▲") and "Alertmanager: NodeHot: NodeHot!" in line
    _code, out, _err = run(capsys, "triage", "-o", "json")
    tree = json.loads(out)
    assert {key: tree["alertmanager"][key] for key in ("phase", "shown", "others")} == {
        "phase": "live", "shown": 1, "others": 1,
    }  # fmt: skip
    (item,) = [item for item in tree["items"] if item["finding"] == "alert/NodeHot"]
    assert (item["cause"], item["is_bad"], item["subject"]) == ("", True, "node n1")
    (told,) = item["alerts"]
    assert told == {
        "name": "NodeHot", "severity": "critical", "since_seconds": NOW - 60, "summary": "NodeHot!",
        "runbook": "", "fingerprint": "NodeHot", "labels": {"alertname": "NodeHot", "severity": "critical"},
    }  # fmt: skip


def test_why_lists_the_alerts_about_its_subject_alone(waiting: Cluster, capsys: Capture) -> None:
    fire(waiting, alert("NodeHot", ("host", "n1")), alert("Watchdog", severity="none"))
    _code, out, _err = run(capsys, "why", "node", "n1", "-o", "json")
    assert [item["name"] for item in json.loads(out)["alerts"]] == ["NodeHot"]
    _code, out, _err = run(capsys, "why", "node", "n1")
    assert "Alertmanager: NodeHot, critical" in out


def test_an_alert_about_a_pod_that_waits_joins_its_row(waiting: Cluster, capsys: Capture) -> None:
    before = run(capsys, "triage")[1].splitlines()
    fire(waiting, alert("KubePodNotReady", ("pod", "team-a/big")))
    after = run(capsys, "triage")[1].splitlines()
    assert len(after) == len(before)
    assert [line for line in after if "big" in line and " · 1 alert" in line]


async def test_what_is_watched_posts_no_alert(
    waiting: Cluster, server: Server, home: Path, capsys: Capture
) -> None:
    fire(waiting, alert("NodeHot", ("host", "n1")), alert("NodeHot", ("host", "n2")))
    words = ["--to-alertmanager", server.url, "--metrics-file", str(home / "out.prom")]
    await watched(words, lambda: len(server.got) >= 1, NOW)
    items = json.loads(capsys.readouterr().out.splitlines()[0])["items"]
    assert [item["finding"] for item in items if item["finding"].startswith("alert/")]
    posted = [each["labels"] for _, _, body, _ in server.got for each in body]
    assert [labels["alertname"] for labels in posted] == ["GpuCockpitFinding"] and "big" in posted[0][
        "subject"
    ]
    assert "alert/" not in (home / "out.prom").read_text()


def test_that_alerts_are_not_known_needs_a_human(cluster: Cluster, capsys: Capture) -> None:
    fire(
        cluster,
        phase=Phase.DENIED,
        message="Alertmanager at m/a:9093 is denied (HTTP 403)",
        since_seconds=NOW,
    )
    code, out, _err = run(capsys, "triage")
    assert code == 3 and "alerts are unknown: Alertmanager at m/a:9093 is denied" in out
    assert json.loads(run(capsys, "triage", "-o", "json")[1])["alertmanager"]["read_seconds"] is None


def test_without_an_alertmanager_its_state_is_null(cluster: Cluster, capsys: Capture) -> None:
    code, out, _err = run(capsys, "triage", "-o", "json")
    assert (code, json.loads(out)["alertmanager"]["phase"]) == (0, None)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (
            'alertmanager-url = "ftp://x"',
            "give a URL with http:// or https://, namespace/service:port, or find",
        ),
        ("alertmanager-filter = 'a=b'", "give a list of strings"),
        ('alertmanager-url = "find"\nalertmanager-username = "ops"', "passes no credentials on"),
        ('alertmanager-url = "m/a"\nalertmanager-token-file = "/t"', "passes no credentials on"),
        ('alertmanager-token-file = "/t"', "give alertmanager-url, too"),
        ('alertmanager-url = "http://am:9093"\nalertmanager-token-file = "/t"', "would cross the network"),
    ],
)
def test_a_setting_that_cannot_be_used_is_one_sentence(
    cluster: Cluster, home: Path, capsys: Capture, text: str, fault: str
) -> None:
    (home / "config" / "gpu-cockpit" / "config.toml").write_text(f"{text}\n")
    code, out, err = run(capsys, "triage")
    assert (code, out, cluster.sessions) == (2, "", []) and fault in err


def test_the_settings_are_shown_and_the_password_is_not(home: Path, capsys: Capture) -> None:
    (home / "config" / "gpu-cockpit" / "config.toml").write_text(
        'alertmanager-url = "https://ann:hunter2@am:9093"\nalertmanager-filter = ["cluster=eu"]\n'
        '[context.c]\nalertmanager-url = "find"\n'
    )
    code, out, _err = run(capsys, "config", "show", "-o", "json")
    found = {item["setting"]: item["value"] for item in json.loads(out)["items"]}
    assert code == 0 and "hunter2" not in out
    assert found["alertmanager-filter"] == ["cluster=eu"]
    code, out, _err = run(capsys, "config", "show", "-o", "json", "--context", "c")
    found = {item["setting"]: item["value"] for item in json.loads(out)["items"]}
    assert (found["alertmanager-url"], found["alertmanager-filter"]) == ("find", None)
