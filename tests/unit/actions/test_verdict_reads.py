"""What a verdict asks the server for: once, bounded, and only of what does not run."""

import json
from typing import Any

import msgspec
import pytest

from cockpit.actions import verdict_reads
from cockpit.actions.verdict_reads import with_reads
from cockpit.jobs.index import JobIndex
from cockpit.kube.answer import ApiAnswer
from cockpit.model.batch import Batch
from cockpit.model.log import LogLine, LogSource
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.store.store import Store
from cockpit.triage.cluster_view import ClusterView
from cockpit.triage.engine import explain
from cockpit.triage.verdict import Subject
from tests.unit.views.builders import NOW, pod

SPACE = "/api/v1/namespaces/team-a"


class Server:
    """Answers a path by its body, else with 404; what has a status by that."""

    def __init__(self, **statuses: int) -> None:
        self.bodies: dict[str, Any] = {}
        self.statuses = statuses
        self.asked: list[str] = []

    async def request(self, _method: str, path: str, **_more: Any) -> ApiAnswer:
        self.asked.append(path)
        status = self.statuses.get(path.rpartition("/")[2], 200 if path in self.bodies else 404)
        return ApiAnswer(status, body=json.dumps(self.bodies.get(path, {})).encode())


def view_of(*pods: Pod) -> ClusterView:
    store = Store()
    store.apply(Batch(kind=Kind.POD, changed=pods))
    jobs = JobIndex(store)
    jobs.update(store.take_delta())
    return ClusterView(store=store, jobs=jobs, now_seconds=NOW)


def waits(name: str = "big") -> Pod:
    made = pod(name, phase="Pending", gpus=8)
    return msgspec.structs.replace(made, node="", scheduled="False", scheduled_reason="Unschedulable")


async def read(server: Server, view: ClusterView, lines: dict[Any, str] | None = None) -> ClusterView:
    name = next(iter(view.store.records(Kind.POD).values())).name
    session: Any = server
    asked = Subject("pod", "team-a", name)
    return await with_reads(session, lambda _api, _kind: None, asked, view, {} if lines is None else lines)


async def test_a_pod_that_waits_is_read_with_what_it_may_name() -> None:
    server = Server()
    spec = {"containers": [{"name": "main"}], "priorityClassName": "high"}
    server.bodies[f"{SPACE}/pods/big"] = {"metadata": {"name": "big"}, "spec": spec}
    server.bodies[f"{SPACE}/configmaps"] = {"items": [{"metadata": {"name": "m"}}]}
    found = await read(server, view_of(waits()))
    assert [one["metadata"]["name"] for one in found.trees["Pod", "team-a"]] == ["big"]
    assert [one["metadata"]["name"] for one in found.trees["ConfigMap", "team-a"]] == ["m"]
    assert server.asked.count(f"{SPACE}/configmaps") == server.asked.count(f"{SPACE}/pods/big") == 1


async def test_what_may_not_be_read_or_is_too_long_stays_unknown() -> None:
    server = Server(serviceaccounts=403)
    server.bodies[f"{SPACE}/configmaps"] = {"metadata": {"continue": "more"}, "items": []}
    server.bodies[f"{SPACE}/resourcequotas"] = {"items": []}
    found = await read(server, view_of(waits()))
    assert ("ServiceAccount", "team-a") not in found.trees
    assert ("ConfigMap", "team-a") not in found.trees
    assert found.trees["ResourceQuota", "team-a"] == []
    assert found.around.claims is None


async def test_of_what_runs_nothing_is_read() -> None:
    server = Server()
    found = await read(server, view_of(pod("fine")))
    assert server.asked == [] and found.trees == {}


async def test_the_last_lines_of_a_crash_are_read_once_a_restart(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, bool]] = []

    async def read_once(
        _session: Any, source: LogSource, *, is_previous: bool, **_more: Any
    ) -> list[LogLine]:
        asked.append((source.pod, is_previous))
        return [LogLine(source, "begin"), LogLine(source, "ModuleNotFoundError: No module named 'apex'")]

    monkeypatch.setattr(verdict_reads, "read_once", read_once)
    crashed = msgspec.structs.replace(
        pod("bad"), is_ready=False, waiting_reason="CrashLoopBackOff", exit_code=1, restarts=3
    )
    lines: dict[Any, str] = {}
    for _ in range(3):
        found = await read(Server(), view_of(crashed), lines)
    assert asked == [("bad", True)]
    assert "apex" in explain(Subject("pod", "team-a", "bad"), found).sentence
    await read(Server(), view_of(msgspec.structs.replace(crashed, restarts=4)), lines)
    assert len(asked) == 2
