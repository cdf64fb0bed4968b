"""What is asked of the server for rows on screen: logs once a restart, budgets where a drain may hang."""

from typing import Any

import msgspec
import pytest

from cockpit.actions import verdict_reads
from cockpit.actions.on_demand_reads import read_on_demand
from cockpit.errors import NoConnection, Refused
from cockpit.fit.surroundings import Budget
from cockpit.jobs.index import JobIndex
from cockpit.model.batch import Batch
from cockpit.model.log import LogLine, LogSource
from cockpit.model.node import Node
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.store.store import Store
from cockpit.triage.verdicts import Verdicts
from tests.unit.actions.test_verdict_reads import Server
from tests.unit.views.builders import NOW, pod

BUDGETS = "/apis/policy/v1/poddisruptionbudgets"


class Desk:
    """A store, the verdicts about it, and a server whose logs say one line or raise."""

    def __init__(self, *pods: Pod, said: str | Exception = "No module named 'apex'", **statuses: int) -> None:
        self.server = Server(**statuses)
        self.store = Store()
        self.store.apply(Batch(kind=Kind.POD, changed=pods))
        jobs = JobIndex(self.store)
        jobs.update(self.store.take_delta())
        self.verdicts = Verdicts(self.store, jobs)
        self.said = said
        self.asked: list[str] = []

    async def read_once(self, _session: Any, source: LogSource, **_more: Any) -> list[LogLine]:
        self.asked.append(source.pod)
        if isinstance(self.said, Exception):
            raise self.said
        return [LogLine(source, "Traceback"), LogLine(source, self.said)]

    async def read(self, *rows: tuple[Pod, ...]) -> bool:
        session: Any = self.server
        return await read_on_demand(session, self.store, self.verdicts, rows, NOW)


def crashed(restarts: int = 3) -> Pod:
    return msgspec.structs.replace(
        pod("bad"), is_ready=False, waiting_reason="CrashLoopBackOff", exit_code=1, restarts=restarts
    )


async def test_a_log_is_read_once_a_restart(monkeypatch: pytest.MonkeyPatch) -> None:
    desk = Desk(crashed())
    monkeypatch.setattr(verdict_reads, "read_once", desk.read_once)
    assert await desk.read((crashed(),)) and not await desk.read((crashed(),))
    assert desk.verdicts.on_demand.last_lines[crashed().uid].endswith("No module named 'apex'")
    assert not await desk.read((crashed(4),)), "it said the same again"
    assert desk.asked == ["bad", "bad"] and desk.server.asked == []


async def test_without_the_right_it_stays_the_exit_code_and_is_not_asked_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    desk = Desk(crashed(), said=Refused("you cannot get pods/log"))
    monkeypatch.setattr(verdict_reads, "read_once", desk.read_once)
    assert not await desk.read((crashed(),)) and not await desk.read((crashed(),))
    assert desk.asked == ["bad"] and desk.verdicts.on_demand.last_lines == {crashed().uid: ""}


async def test_what_could_not_be_asked_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    desk = Desk(crashed(), said=NoConnection("the server does not answer"))
    monkeypatch.setattr(verdict_reads, "read_once", desk.read_once)
    with pytest.raises(NoConnection):
        await desk.read((crashed(),))
    desk.said = "killed"
    assert await desk.read((crashed(),))
    assert desk.asked == ["bad", "bad"]


async def test_budgets_are_listed_where_a_cordoned_node_holds_pods() -> None:
    held = msgspec.structs.replace(pod("svc"), node="n1")
    desk = Desk(held)
    desk.server.bodies[BUDGETS] = {
        "items": [
            {
                "metadata": {"name": "keep", "namespace": "team-a"},
                "spec": {"selector": {}},
                "status": {"disruptionsAllowed": 0},
            }
        ]
    }
    assert not await desk.read() and desk.server.asked == []
    desk.store.apply(Batch(kind=Kind.NODE, changed=(Node(uid="n1", name="n1", unschedulable=True),)))
    assert await desk.read() and not await desk.read()
    assert desk.server.asked == [BUDGETS]
    assert desk.verdicts.on_demand.budgets == (Budget("team-a", "keep", (), 0),)


async def test_budgets_that_may_not_be_listed_stay_unknown() -> None:
    held = msgspec.structs.replace(pod("svc"), node="n1")
    desk = Desk(held, poddisruptionbudgets=403)
    desk.store.apply(Batch(kind=Kind.NODE, changed=(Node(uid="n1", name="n1", unschedulable=True),)))
    assert not await desk.read() and not await desk.read()
    assert desk.server.asked == [BUDGETS] and desk.verdicts.on_demand.budgets is None
