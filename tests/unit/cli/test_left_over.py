"""`cockpit triage` tells writes without an end; `cockpit audit acknowledge` says that one is known."""

import json

import pytest

from cockpit.local_state.audit import Audit, Entry
from tests.unit.cli.builders import Cluster, run

Capture = pytest.CaptureFixture[str]


def test_a_broken_off_write_is_told_once_and_acknowledged(
    cluster: Cluster, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.reads["/api/v1/nodes/n1"] = [
        {"kind": "Node", "metadata": {"uid": "u1", "resourceVersion": "8"}, "spec": {"unschedulable": True}}
    ]
    with monkeypatch.context() as patch:
        patch.setattr("cockpit.local_state.audit.process_here", lambda: "1:1:00000000:1")  # of another boot
        Audit().append(
            Entry(
                audit_id="id1",
                step="intent",
                at_seconds=1_790_000_000.0,
                verb="cordon",
                target="node n1",
                context="prod",
                server="https://prod.example",
                method="PATCH",
                path="/api/v1/nodes/n1",
                uid="u1",
                resource_version="7",
                wanted={"spec": {"unschedulable": True}},
            )
        )
    code, out, err = run(capsys, "triage", "-o", "json")
    (item,) = json.loads(out)["items"]
    assert code == 3, err
    assert (item["finding"], item["subject_key"]) == ("write-broken-off", "id1/PATCH/api/v1/nodes/n1")
    assert item["sentence"] == "begun 21 Sep 14:13 UTC, broken off: applied"
    code, _out, err = run(capsys, "audit", "acknowledge", "id2")
    assert code == 2 and "id2: no write with that audit id was broken off here" in err
    code, out, err = run(capsys, "audit", "acknowledge", "id1")
    assert (code, out) == (0, "acknowledged: cordon node n1 (applied)\n"), err
    code, out, _err = run(capsys, "triage")
    assert (code, out) == (0, "nothing needs a human\n")
    assert [entry.step for entry in Audit().entries()] == ["intent", "acknowledged"]
    assert cluster.sent == []
