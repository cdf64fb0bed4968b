"""What is asked of the server for rows on screen: logs once a restart, budgets where a drain may hang."""

from typing import Any

import msgspec
import pytest

from cockpit.actions import verdict_reads
from cockpit.actions.verdict_reads import read_on_demand
from cockpit.catalogue import Unwatched
from cockpit.errors import NoConnection, Refused
from cockpit.fit.scheduling_context import Budget
from cockpit.jobs.index import JobIndex
from cockpit.model.batch import Batch
from cockpit.model.log import LogLine, LogSource
from cockpit.model.node import Node
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.model.sureness import Sureness
from cockpit.store.store import Store
from cockpit.triage.on_demand import MOST_NEEDS, OBJECTS_SECONDS, Need, ObjectsRead, OnDemand
from cockpit.triage.verdicts import Verdicts
from tests.unit.actions.test_verdict_reads import Server
from tests.unit.views.builders import NOW, pod

VOLUMES = "/api/v1/persistentvolumes"
CLASSES = "/apis/storage.k8s.io/v1/storageclasses"
BUDGETS = "/apis/policy/v1/poddisruptionbudgets"


class Desk:
    """A store, the verdicts about it, and a server whose logs say one line or raise."""

    def __init__(self, *pods: Pod, said: str | Exception = "No module named 'apex'", **statuses: int) -> None:
        self.server = Server(**statuses)
        self.store = Store()
        self.store.apply(Batch(kind=Kind.POD, changed=pods))
        self.jobs = JobIndex(self.store)
        self.jobs.update(self.store.take_delta())
        self.verdicts = Verdicts(self.store, self.jobs)
        self.said = said
        self.asked: list[str] = []

    async def read_once(self, _session: Any, source: LogSource, **_more: Any) -> list[LogLine]:
        self.asked.append(source.pod)
        if isinstance(self.said, Exception):
            raise self.said
        return [LogLine(source, "Traceback"), LogLine(source, self.said)]

    async def read(self, *rows: tuple[Pod, ...]) -> bool:
        session: Any = self.server
        return await read_on_demand(session, lambda _api, _kind: None, self.verdicts, rows, NOW)


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


# ---- objects that a cause rests on

CLAIMS = "/api/v1/namespaces/team-a/persistentvolumeclaims"


def waits_for(claim: str, name: str = "big") -> Pod:
    said = f'0/1 nodes are available: persistentvolumeclaim "{claim}" not found. not found'
    made = msgspec.structs.replace(pod(name, phase="Pending", gpus=1), node="", scheduled="False")
    traits = msgspec.structs.replace(made.traits, claims=(claim,))
    return msgspec.structs.replace(
        made, traits=traits, scheduled_reason="Unschedulable", scheduled_message=said
    )


def told(desk: Desk) -> list[tuple[str, Sureness]]:
    found = [desk.verdicts.of(job, NOW) for job in desk.jobs.jobs.values()]
    return [(one.sentence, one.sureness) for one in found]


async def test_claims_of_a_namespace_are_read_once_for_all_its_jobs_and_prove_what_was_said() -> None:
    desk = Desk(waits_for("data"), waits_for("data", "other"))
    desk.server.bodies |= {CLAIMS: {"items": []}, **{path: {"items": []} for path in (VOLUMES, CLASSES)}}
    assert told(desk) == [("volume claim data does not exist", Sureness.SAID)] * 2
    assert await desk.read()
    assert told(desk) == [("volume claim data does not exist", Sureness.PROVED)] * 2
    assert desk.server.asked.count(CLAIMS) == 2, "once as objects, once for where they lie"
    assert not await desk.read(), "they were read just now"


async def test_claims_that_may_not_be_listed_prove_nothing() -> None:
    desk = Desk(waits_for("data"), persistentvolumeclaims=403)
    told(desk)
    await desk.read()
    assert told(desk) == [("volume claim data does not exist", Sureness.SAID)]


def test_what_is_asked_for_at_a_time_is_bounded_and_each_has_its_turn() -> None:
    known, jobs = OnDemand(), Desk(pod("a")).jobs.jobs.values()
    (job,) = jobs
    needs = [Need(Unwatched.CLAIMS, f"team-{at}") for at in range(20)]
    seen: set[Need] = set()
    for at in range(3):
        for need in needs:
            known.read_for(need, job)
        asked = known.unread_objects(NOW + at)
        assert 0 < len(asked) <= MOST_NEEDS
        for need, _ in asked:
            known.take_objects(need, ObjectsRead(NOW + at))
            seen.add(need)
    assert seen == set(needs)
    for need in needs:
        known.read_for(need, job)
    assert known.unread_objects(NOW + 3) == () and known.unread_objects(NOW + 3 + OBJECTS_SECONDS) == ()
    known.read_for(needs[0], job)
    assert known.unread_objects(NOW + 3 + OBJECTS_SECONDS) == ((needs[0], job),)
