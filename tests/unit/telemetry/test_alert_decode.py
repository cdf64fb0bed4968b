"""Alerts of Alertmanager as records, whatever the answer holds."""

import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cockpit.model.alert import OWN_ALERT, Alert
from cockpit.sanitise import SHORT, clean
from cockpit.telemetry.alert_decode import MOST_ALERTS, MOST_LABELS, decoded
from cockpit.telemetry.faults import TelemetryError

NOW = 1_800_000_000.0


def entry(name: str = "NodeDown", number: int = 0, **labels: Any) -> dict[str, Any]:
    """An alert as Alertmanager 0.25 writes it."""
    return {
        "annotations": {"summary": f"{name} fires", "runbook_url": "https://runbooks.example/x"},
        "endsAt": "2027-01-15T08:04:00.000Z",
        "fingerprint": f"{number:016x}",
        "receivers": [{"name": "default"}],
        "startsAt": "2027-01-15T07:30:00.123456789Z",
        "status": {"inhibitedBy": [], "silencedBy": [], "state": "active"},
        "updatedAt": "2027-01-15T08:00:00.000Z",
        "generatorURL": "http://prometheus/graph",
        "labels": {"alertname": name, "severity": "Critical", **labels},
    }


def read(*items: Any) -> list[Alert]:
    return list(decoded(json.dumps(items).encode(), NOW).alerts.values())


def about(**labels: str) -> tuple[tuple[str, str], ...]:
    (alert,) = read(entry("NodeDown", 0, **labels))
    return alert.about


def test_an_alert() -> None:
    (alert,) = read(entry(node="gpu-1", cluster="eu"))
    assert (alert.uid, alert.name, alert.severity, alert.cluster) == ("0" * 16, "NodeDown", "critical", "eu")
    assert alert.since_seconds == pytest.approx(1_799_998_200.1234, abs=0.001)
    assert (alert.summary, alert.runbook) == ("NodeDown fires", "https://runbooks.example/x")
    assert dict(alert.labels)["node"] == "gpu-1"


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ({"node": "gpu-1"}, [("host", "gpu-1")]),
        ({"instance": "10.0.0.7:9100", "job": "node-exporter"}, [("host", "10.0.0.7")]),
        ({"namespace": "ml", "job_name": "llm", "job": "ksm", "instance": "1.2.3.4:80"}, [("job", "ml/llm")]),
        ({"namespace": "ml", "pod": "llm-0", "instance": "1.2.3.4:80"}, [("pod", "ml/llm-0")]),
        ({"namespace": "gpu", "pod": "dcgm-exporter-x", "exported_namespace": "ml", "exported_pod": "llm-0"},
         [("pod", "ml/llm-0")]),
        ({"namespace": "mon", "pod": "node-exporter-x", "instance": "10.0.0.7:9100"},
         [("pod", "mon/node-exporter-x"), ("host", "10.0.0.7")]),
        ({"Hostname": "gpu-1", "UUID": "GPU-1", "exported_namespace": "ml", "exported_pod": "llm-0"},
         [("host", "gpu-1"), ("pod", "ml/llm-0")]),
        ({"node": "gpu-1", "namespace": "ml", "pod": "llm-0"}, [("pod", "ml/llm-0"), ("host", "gpu-1")]),
        ({"namespace": "ml", "deployment": "serve"}, [("job", "ml/serve")]),
        ({"job": "kubelet"}, []),
        ({"job_name": "llm"}, []),
    ],
)  # fmt: skip
def test_which_objects_labels_name(labels: dict[str, str], expected: list[tuple[str, str]]) -> None:
    assert about(**labels) == tuple(expected)


def test_times_are_never_in_the_future_and_nonsense_is_unknown() -> None:
    texts = [
        "2099-01-01T00:00:00Z",
        "0001-01-01T00:00:00.000Z",
        "yesterday",
        7,
        None,
        "2027-01-15T09:30:00+02:00",
    ]
    found = [read({**entry(number=at), "startsAt": text})[0].since_seconds for at, text in enumerate(texts)]
    assert found == [NOW, None, None, None, None, 1_799_998_200.0]


def test_what_is_suppressed_ours_or_no_alert_is_left_out() -> None:
    silenced = {**entry(number=1), "status": {"state": "suppressed"}}
    own = entry(OWN_ALERT, 2, subject="node gpu-1")
    odd: list[Any] = [None, 7, [], {}, {"labels": []}, {"labels": {"alertname": 5}}, entry(number=3)]
    found = decoded(json.dumps([silenced, own, entry(number=3), *odd]).encode(), NOW)
    assert [alert.uid for alert in found.alerts.values()] == [f"{3:016x}"]
    assert (found.own, found.odd, found.left) == (1, len(odd), 0)


def test_without_a_fingerprint_labels_tell_alerts_apart() -> None:
    found = read(
        *({**entry(number=0, node=name), "fingerprint": given} for name, given in (("a", 5), ("b", "\x1b")))
    )
    assert len({alert.uid for alert in found}) == 2


def test_ten_thousand_are_read_in_bounded_time_and_more_are_counted() -> None:
    body = json.dumps([entry(number=at, node=f"gpu-{at}") for at in range(MOST_ALERTS + 5)]).encode()
    began = time.process_time()
    found = decoded(body, NOW)
    assert (len(found.alerts), found.left) == (MOST_ALERTS, 5)
    assert time.process_time() - began < 5.0


@pytest.mark.parametrize("body", [b"", b"{", b"{}", b'"x"', b"null", b"<html>", b"[" * 100_000, b"\xff"])
def test_what_is_no_list_is_refused_in_a_sentence(body: bytes) -> None:
    with pytest.raises(TelemetryError, match="check the URL"):
        decoded(body, NOW)


TREES = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=300),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=20), inner, max_size=6),
    max_leaves=12,
)
LABELS = st.dictionaries(
    st.sampled_from(
        ["alertname", "severity", "node", "pod", "namespace", "instance", "job_name", "\x1b]0;x"]
    ),
    st.text(max_size=400) | TREES,
)
ENTRIES = st.fixed_dictionaries(
    {},
    optional={
        "labels": LABELS | TREES,
        "annotations": st.dictionaries(st.sampled_from(["summary", "runbook_url", "x"]), TREES) | TREES,
        "startsAt": TREES,
        "fingerprint": TREES,
        "status": TREES,
    },
)


@given(st.lists(ENTRIES | TREES, max_size=8))
@settings(max_examples=300, deadline=None)
def test_whatever_comes_is_clean_and_bounded(items: list[Any]) -> None:
    found = decoded(json.dumps(items).encode(), NOW)
    for alert in found.alerts.values():
        texts = [alert.uid, alert.name, alert.severity, alert.summary, alert.runbook, alert.cluster]
        texts += [text for pair in (*alert.labels, *alert.about) for text in pair]
        assert [clean(text, 9_999) for text in texts] == texts
        assert alert.name and len(alert.name) <= SHORT and len(alert.labels) <= MOST_LABELS
        assert alert.since_seconds is None or 0 < alert.since_seconds <= NOW
    assert len(found.alerts) + found.odd + found.own <= len(items)
