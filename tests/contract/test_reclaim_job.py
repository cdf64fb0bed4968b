"""An idle batch Job is marked, suspended and resumed, and unmarked where it works again, on both servers."""

from typing import Any

import pytest

from cockpit.actions import reclaim_job
from cockpit.actions.execute.replan import carry_replanned
from cockpit.actions.execute.run_verb import plan_of
from cockpit.actions.planner import NoOptions
from cockpit.actions.planning import Planning, PoolTerms
from cockpit.actions.reclaim_job import ReclaimJobOptions
from cockpit.actions.verbs.job import RECLAIM, RESUME
from cockpit.clock import ManualClock
from cockpit.errors import Unchanged
from cockpit.kube.decode.decoders import JOB
from cockpit.kube.resource import Resource
from cockpit.kube.session import ApiSession
from cockpit.model.job import RECLAIM_AT, RECLAIM_DUE, Job, JobState
from cockpit.model.plan import Plan
from cockpit.store.store import Store
from cockpit.triage.idleness import IdleStanding, Judged, Shown, WorkSign
from tests.bed.api import Api
from tests.contract import shapes
from tests.contract.conftest import Connect
from tests.unit.actions.builders import Lines

JOBS = Resource("batch", "v1", "jobs", "Job", namespaced=True)
NOW = 1_800_000_000.0
SPACE = "team-a"


class Reclaims:
    """Someone who reclaims one Job at given moments, and what is then seen of it."""

    def __init__(self, session: ApiSession, admin: Api, name: str) -> None:
        self.session, self.admin = session, admin
        self.path = JOBS.path(SPACE, name)
        tree = shapes.job(name)
        made = admin.create(JOBS.path(SPACE), {**tree, "spec": {**tree["spec"], "suspend": False}})
        self.job = Job(
            key=f"Job/{SPACE}/{name}", uid=made["metadata"]["uid"], api_version="batch/v1", kind="Job",
            namespace=SPACE, name=name, state=JobState.RUNNING, gpus_allocated=8,
        )  # fmt: skip
        self.worked_seconds = NOW - 7_200.0

    def found(self) -> dict[str, Any]:
        tree: dict[str, Any] = self.admin.get(self.path)
        return tree

    async def act(self, at_seconds: float, verb: Any = RECLAIM, options: Any = None) -> None:
        async def no_lines(_pods: Any) -> None:
            return None

        async def make(*, reads: bool = False) -> Plan:
            planning = Planning(
                Store(), self.session, lambda *_: JOBS, "prod", {self.job.key: self.job}, reads,
                pools=PoolTerms(at_seconds=at_seconds, holder="ada@bastion"), lines=no_lines,
            )  # fmt: skip
            return await plan_of(verb, planning, self.job, options or ReclaimJobOptions())

        # a controller may write to the job in between: it is read and planned anew, as by a key
        outcome = await carry_replanned(await make(), make, self.session, Lines(), ManualClock())
        assert outcome.is_done, outcome.sentence

    async def judged(self, _job: Job, _reads: Any, _idle_for_seconds: float) -> Judged:
        last = Shown(WorkSign.DISK, self.worked_seconds, 4e6)
        since = self.worked_seconds
        return Judged(standing=IdleStanding.IDLE, since_seconds=since, needed_seconds=1_800.0, last=last)


@pytest.fixture
async def reclaims(
    connect: Connect, admin: Api, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Any:
    name = f"idle-{request.node.name.partition('[')[0].rpartition('_')[2]}"
    one = Reclaims(await connect("admin", write=True), admin, name)
    monkeypatch.setattr(reclaim_job, "judge_job", one.judged)
    monkeypatch.setattr(reclaim_job, "quiet", lambda _job, _store: True)
    yield one
    admin.request("DELETE", one.path)


async def test_it_is_marked_then_suspended_and_comes_back_resumed(reclaims: Reclaims) -> None:
    await reclaims.act(NOW)
    notes = reclaims.found()["metadata"]["annotations"]
    assert (notes[RECLAIM_AT], notes[RECLAIM_DUE]) == ("2027-01-15T08:00:00Z", "2027-01-15T08:15:00Z")
    assert not reclaims.found()["spec"].get("suspend")
    with pytest.raises(Unchanged, match="in 5 min"):
        await reclaims.act(NOW + 600)
    await reclaims.act(NOW + 901)
    tree = reclaims.found()
    assert tree["spec"]["suspend"] is True
    assert RECLAIM_DUE not in tree["metadata"].get("annotations", {})
    await reclaims.act(NOW + 902, RESUME, NoOptions())
    assert not reclaims.found()["spec"].get("suspend")


async def test_one_that_works_again_is_unmarked(reclaims: Reclaims) -> None:
    await reclaims.act(NOW)
    reclaims.worked_seconds = NOW + 300
    await reclaims.act(NOW + 6_000)
    tree = reclaims.found()
    assert RECLAIM_AT not in tree["metadata"].get("annotations", {})
    assert not tree["spec"].get("suspend")


async def test_the_mark_is_in_the_record_of_the_job(reclaims: Reclaims) -> None:
    import msgspec

    await reclaims.act(NOW)
    record = JOB.from_json(msgspec.json.encode(reclaims.found()))
    mark = getattr(record, "reclaim", None)
    assert mark is not None and mark.due_seconds == NOW + 900 and mark.by == "ada@bastion"
