"""An idle job is marked, looked at again, and suspended or deleted; one that does something is unmarked."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from cockpit.actions.execute.bulk_plan import make_bulk_plan
from cockpit.actions.planning import Make, Planning, PoolTerms
from cockpit.actions.reclaim_job import ReclaimJobOptions
from cockpit.actions.verbs.job import RECLAIM
from cockpit.errors import BadInput, Unchanged
from cockpit.kube.resource import Resource
from cockpit.model.batch import Batch
from cockpit.model.job import RECLAIM_AT, RECLAIM_BY, RECLAIM_DUE, Job, JobState
from cockpit.model.node import Node
from cockpit.model.plan import Plan
from cockpit.model.price import MachinePrice, Prices
from cockpit.model.record import Kind
from cockpit.pools.forecast import PoolExperience
from cockpit.telemetry.faults import TelemetryError
from tests.unit.actions.builders import Line
from tests.unit.actions.test_lifecycle_plans import workload
from tests.unit.triage.test_idle_jobs import NOW, Desk

MARKED = {RECLAIM_AT: "1970-01-02T03:35:00Z", RECLAIM_DUE: "1970-01-02T03:45:00Z"}  # 12 and 2 min ago
NO_MARK = {RECLAIM_AT: None, RECLAIM_DUE: None, RECLAIM_BY: None}
KINDS = {"MPIJob": "mpijobs", "Notebook": "notebooks", "Workload": "workloads"}


class Case:
    """The idle job of the desk, its object on a server, and a person who asks now."""

    def __init__(self, kind: str = "MPIJob", notes: dict[str, str] | None = None, **desk: Any) -> None:
        self.desk = Desk(**{"idle_minutes": 120, **desk})
        (job,) = self.desk.cluster.index.jobs.values()
        group = "kubeflow.org/v2beta1" if kind == "MPIJob" else "kubeflow.org/v1"
        self.job = msgspec.structs.replace(job, kind=kind, api_version=group, owner="ada")
        metadata = {"name": "llm", "namespace": "team-a", "uid": job.uid, "resourceVersion": "41"}
        self.tree: dict[str, Any] = {
            "apiVersion": group,
            "kind": kind,
            "metadata": {**metadata, "annotations": notes or {}},
        }
        self.tree["spec"] = {"runPolicy": {"suspend": False}}
        node = Node(
            uid="n7", name="gpu-7", gpu_allocatable=8, gpu_capacity=8, instance_type="p5", pool="h100",
            pool_label="cloud.google.com/gke-nodepool",
        )  # fmt: skip
        self.desk.cluster.store.apply(Batch(kind=Kind.NODE, changed=(node,)))
        self.session: Any = Line(objects={})
        self.folder = f"/apis/{group}/namespaces/team-a/{KINDS[kind]}"
        self.serve("llm")
        prices = Prices(machines=(("p5", MachinePrice(hourly=80.0)),))
        self.planning = Planning(
            self.desk.cluster.store,
            self.session,
            lambda version, kind: Resource(
                version.partition("/")[0], version.partition("/")[2], KINDS[kind], kind, namespaced=True
            ),
            "prod",
            {self.job.key: self.job},
            pools=PoolTerms(at_seconds=NOW, holder="ada@bastion", known=lambda: PoolExperience(prices)),
            lines=self.desk.lines,
        )

    def serve(self, name: str) -> None:
        self.session.objects[f"{self.folder}/{name}"] = self.tree

    async def plan(self, idle_for: str = "", grace: str = "", *, off: bool = False) -> Plan:
        return await RECLAIM.planner.plan(self.planning, self.job, ReclaimJobOptions(idle_for, grace, off))


async def test_an_idle_job_is_marked_first_with_the_time_and_nothing_ends() -> None:
    plan = await Case().plan()
    (call,) = plan.calls
    assert (call.method, call.path) == ("PATCH", "/apis/kubeflow.org/v2beta1/namespaces/team-a/mpijobs/llm")
    assert call.body["metadata"] == {
        "uid": "mpi-llm",
        "resourceVersion": "41",
        "annotations": {
            RECLAIM_AT: "1970-01-02T03:46:40Z",
            RECLAIM_DUE: "1970-01-02T04:01:40Z",
            RECLAIM_BY: "ada@bastion",
        },
    }
    assert not plan.is_destructive and not plan.typed and not plan.gives_back
    assert plan.lines[0].startswith("nothing ends yet") and "04:01 UTC" in plan.lines[0]
    assert plan.lines[1] == "reclaim it again then, in 15 min: it is suspended"
    assert plan.lines[-1] == "undo: cockpit job reclaim mpijob/team-a/llm --off --context prod --write"
    assert plan.expects[:2] == ("2 GPUs at 0% duty, no CPU, network or disk for 2 h", "owner: ada")
    assert plan.expects[2] == "4.0 GPU-hours idle so far, $40; $20 an hour"


async def test_many_jobs_tell_for_each_the_step_how_long_it_idled_and_the_money() -> None:
    fresh, marked = Case(), Case(notes=MARKED, idle_minutes=170)
    marked.job = msgspec.structs.replace(marked.job, key="other", name="llm-2", owner="")
    cases = {one.job.key: one for one in (fresh, marked)}

    def of(job: Job) -> Make:
        async def make(*, reads: bool = False) -> Plan:
            return await cases[job.key].plan()

        return make

    jobs = [one.job for one in cases.values()]
    cases["other"].tree["metadata"]["name"] = "llm-2"
    cases["other"].serve("llm-2")
    bulk = await make_bulk_plan(RECLAIM, jobs, of, fresh.planning.store)
    assert bulk.face.expects == (
        "team-a/llm: mark it, due 04:01 UTC; 2 GPUs idle for 2 h, 4.0 GPU-hours, $40",
        "team-a/llm-2: suspend it; 2 GPUs idle for 2 h 50 min, 5.7 GPU-hours, $56.7",
    )
    assert "they hold 4 GPUs" in bulk.face.lines
    assert "owners: ada (1), owner not known (1)" in bulk.face.lines
    assert not any(line.startswith("jobs: ") for line in bulk.face.lines), "each is told by name already"
    back = [given for one in bulk.items for given in one.shown.gives_back]
    assert [one.what for one in back] == ["mpijob team-a/llm-2"], "what is marked is not given back yet"


async def test_after_the_grace_it_is_suspended_and_the_mark_goes_with_it() -> None:
    case = Case(notes=MARKED, idle_minutes=170)
    plan = await case.plan()
    (call,) = plan.calls
    assert call.body["spec"] == {"runPolicy": {"suspend": True}}
    assert call.body["metadata"]["annotations"] == NO_MARK
    assert plan.is_destructive and not plan.typed
    assert plan.lines[-1] == "undo: cockpit job resume mpijob/team-a/llm --context prod --write"
    ((_, what, at, hours),) = plan.gives_back
    assert (what, at) == ("mpijob team-a/llm", NOW) and hours == pytest.approx(2 * 170 / 60)


def through_kueue(notes: dict[str, str] | None) -> Case:
    """The same job, admitted by Kueue: it is suspended through its Workload."""
    case = Case(notes=notes, idle_minutes=170)
    work = workload(uid="uid-w", resource_version="77", owner=None)
    case.desk.cluster.store.apply(Batch(kind=Kind.WORKLOAD, changed=(work,)))
    case.job = msgspec.structs.replace(case.job, engine="Kueue", workload_uid="uid-w")
    return case


async def test_a_job_suspended_through_its_workload_loses_its_mark_first() -> None:
    plan = await through_kueue(MARKED).plan()
    mark, suspend = plan.calls
    assert mark.path.endswith("/mpijobs/llm") and "spec" not in mark.body
    assert mark.body["metadata"]["annotations"] == NO_MARK
    assert mark.body["metadata"]["resourceVersion"] == "41"
    assert suspend.path.endswith("/workloads/mpijob-llm-1") and suspend.body["spec"] == {"active": False}
    assert plan.gives_back and plan.is_destructive
    (alone,) = (await through_kueue(None).plan(grace="0")).calls
    assert alone.path == suspend.path


@pytest.mark.parametrize("state", [JobState.SUSPENDED, JobState.QUEUED, JobState.SUCCEEDED])
async def test_an_old_mark_of_a_job_that_does_not_run_any_more_is_taken_away(state: str) -> None:
    case = through_kueue(MARKED)
    case.job = msgspec.structs.replace(case.job, state=state)
    plan = await case.plan()
    (call,) = plan.calls
    assert call.body["metadata"]["annotations"] == NO_MARK and "spec" not in call.body
    assert plan.expects == (f"it is {state} by now",) and not plan.gives_back


async def test_a_resumed_job_with_an_old_mark_is_not_ended_by_it() -> None:
    """It was suspended by somebody who left the mark, and has worked since: the mark goes, the job stays."""
    case = through_kueue({RECLAIM_AT: _text(NOW - 7_000), RECLAIM_DUE: _text(NOW - 6_000)})
    case.desk.idle_minutes = 75
    plan = await case.plan()
    (call,) = plan.calls
    assert call.body["metadata"]["annotations"] == NO_MARK
    assert "it did something after the mark, 75 min ago" in plan.expects[0]


async def test_what_cannot_be_suspended_is_deleted_only_by_its_name() -> None:
    first = await Case("Notebook").plan()
    assert first.lines[1].endswith("it is deleted, once its name is typed: a Notebook cannot be suspended")
    plan = await Case("Notebook", MARKED, idle_minutes=170).plan()
    assert [one.method for one in plan.calls] == ["DELETE"] and plan.typed == "llm"
    assert plan.calls[0].body["preconditions"]["uid"] == "mpi-llm"


async def test_within_the_grace_nothing_is_done_and_the_way_back_is_told() -> None:
    notes = {RECLAIM_AT: "1970-01-02T03:45:00Z", RECLAIM_DUE: "1970-01-02T04:00:00Z"}
    with pytest.raises(Unchanged, match=r"reclaim it from 04:00 UTC on \(in 14 min\); .* --off"):
        await Case(notes=notes).plan()


@pytest.mark.parametrize("minutes", [20, 60])
async def test_a_job_that_did_something_after_the_mark_is_unmarked(minutes: int) -> None:
    """Also where it has idled for the window since."""
    case = Case(notes=MARKED, idle_minutes=minutes)
    case.tree["metadata"]["annotations"] = {RECLAIM_AT: _text(NOW - 7_000), RECLAIM_DUE: _text(NOW - 6_000)}
    plan = await case.plan()
    assert plan.calls[0].body["metadata"]["annotations"] == NO_MARK
    assert "spec" not in plan.calls[0].body and not plan.is_destructive
    assert f"{minutes} min ago" in plan.expects[0]


def _text(seconds: float) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


async def test_the_mark_is_taken_away_by_hand() -> None:
    plan = await Case(notes=MARKED).plan(off=True)
    assert plan.calls[0].body["metadata"]["annotations"] == NO_MARK
    with pytest.raises(Unchanged, match="is not marked for reclaim"):
        await Case().plan(off=True)


async def test_without_grace_it_is_suspended_at_once() -> None:
    plan = await Case().plan(grace="0")
    assert plan.calls[0].body["spec"] == {"runPolicy": {"suspend": True}}


@pytest.mark.parametrize(
    ("desk", "said"),
    [
        ({"idle_minutes": 20}, "it is not idle: a kernel ran 20 min ago"),
        ({"idle_minutes": 181, "started_minutes": 100}, "it is not idle: it is starting"),
    ],
)
async def test_a_job_that_works_or_starts_is_refused_with_what_it_does(desk: Any, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        await Case(**desk).plan()


async def test_a_job_of_which_not_all_is_measured_is_never_offered() -> None:
    case = Case()
    case.desk.without = ("disk",)
    with pytest.raises(BadInput, match="not known: disk not collected"):
        await case.plan()
    case.desk.has_memory = False
    with pytest.raises(BadInput, match="not known: CPU, network and disk over time are not collected"):
        await case.plan()
    case.desk.fault = TelemetryError("Prometheus at test: too many samples")
    with pytest.raises(BadInput, match="not known: Prometheus at test"):
        await case.plan()
    case.planning = replace(case.planning, lines=None)
    with pytest.raises(BadInput, match="not known"):
        await case.plan()


async def test_a_marked_job_that_is_measured_no_more_keeps_its_mark() -> None:
    case = Case(notes=MARKED)
    case.desk.without = ("disk",)
    with pytest.raises(BadInput, match="not known: disk not collected"):
        await case.plan()


async def test_a_card_that_works_now_is_believed_before_older_lines() -> None:
    case = Case()
    case.desk.sample(NOW + 5, 0.6)
    with pytest.raises(BadInput, match="a card of it works now"):
        await case.plan()


async def test_a_job_that_does_not_run_is_refused() -> None:
    case = Case()
    case.job = msgspec.structs.replace(case.job, state=JobState.QUEUED)
    with pytest.raises(BadInput, match="is queued: only a job that runs"):
        await case.plan()
    assert isinstance(case.job, Job)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"idle_for": "soon"}, "--idle-for: 'soon' is not a valid duration"),
        ({"idle_for": "5m"}, "too short to tell idle from a pause; write 10m or more"),
        ({"idle_for": "4h"}, "further back than is looked; write 3h or less"),
        ({"grace": "9999999d"}, "--grace: '9999999d' is more than 100 years"),
        ({"grace": "9" * 400 + "d"}, f"--grace: '{'9' * 40}'… is more than 100 years"),
        ({"grace": "31d"}, "--grace: 31d is longer than anybody remembers a mark; write 30d or less"),
        ({"grace": "-5m"}, "--grace: '-5m' is not a valid duration"),
    ],
)
def test_what_cannot_be_is_one_sentence(given: Any, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        ReclaimJobOptions(**given)
