"""What a verdict asks the server for: once, bounded, and only of what does not run."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cockpit.actions import verdict_reads
from cockpit.actions.verdict_reads import with_reads
from cockpit.errors import NoConnection
from cockpit.jobs.index import JobIndex
from cockpit.kube.answer import ApiAnswer
from cockpit.kube.resource import Resource
from cockpit.model.batch import Batch
from cockpit.model.finding import Subject
from cockpit.model.gang import PodGroup, SchedulerQueue
from cockpit.model.job import JobObject, ReplicaSpec
from cockpit.model.log import LogLine, LogSource
from cockpit.model.pod import Pod
from cockpit.model.record import Kind, OwnerRef
from cockpit.store.store import Store
from cockpit.triage.context import ClusterView
from cockpit.triage.engine import explain
from tests.unit.views.builders import NOW, pod

TEMPLATES = Path(__file__).resolve().parents[3] / "jobspecs" / "templates"
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


async def test_of_a_member_that_waits_all_of_its_gang_is_read() -> None:
    """By its gang's demand it is told when it starts; the others ask for other things than it."""
    server, owner = Server(), OwnerRef("batch/v1", "Job", "big", "job-big")
    found = []
    for name, gpus in (("big-0", 8), ("big-1", 4)):
        made = msgspec.structs.replace(waits(name), gpus=gpus, gang="ring", job_label="big")
        fields = {"owner_kind": "Job", "owner_api_version": "batch/v1", "owner_name": owner.name}
        found.append(msgspec.structs.replace(made, owner_uid=owner.uid, **fields))
        server.bodies[f"{SPACE}/pods/{name}"] = {"metadata": {"name": name}, "spec": {"containers": []}}
    known = await read(server, view_of(*found))
    assert [one["metadata"]["name"] for one in known.trees["Pod", "team-a"]] == ["big-0", "big-1"]


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


async def test_logs_of_the_jobs_that_hold_most_tell_how_far_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    told = {"a-0": "epoch 3/4 step 50/100", "b-0": "nothing to see", "c-0": "Epoch 1/2, step 10/20"}

    async def read_once(_session: Any, source: LogSource, **_more: Any) -> list[LogLine]:
        asked.append(source.pod)
        if source.pod == "c-0":
            raise NoConnection("gone")
        return [LogLine(source, told[source.pod])]

    monkeypatch.setattr(verdict_reads, "read_once", read_once)
    monkeypatch.setattr(verdict_reads, "MOST_JOBS", 3)
    pods = [owned_pod(name, gpus) for name, gpus in (("a", 8), ("b", 4), ("c", 2), ("d", 1))]
    server = Server()
    main = {"name": "main", "resources": {"limits": {"nvidia.com/gpu": "8"}}}
    server.bodies[f"{SPACE}/pods/big"] = {"metadata": {"name": "big"}, "spec": {"containers": [main]}}
    found = await read(server, view_of(waits(), *pods))
    assert asked == ["a-0", "b-0", "c-0"]
    assert list(found.progress.values()) == [0.625]
    assert "a" in next(iter(found.progress))


async def test_patterns_of_own_templates_tell_how_far_a_job_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    own = (TEMPLATES / "job.yaml").read_text().replace("  name: job\n", "  name: mine\n", 1)
    head, _, _ = own.partition("\nprogress:\n")
    pattern = r"  - {name: strides, pattern: 'stride (?P<step>[0-9]+) of (?P<steps>[0-9]+)'}"
    (tmp_path / "mine.yaml").write_text("\n".join((head, "progress:", pattern, "")))

    async def read_once(_session: Any, source: LogSource, **_more: Any) -> list[LogLine]:
        return [LogLine(source, "stride 30 of 40")]

    monkeypatch.setattr(verdict_reads, "read_once", read_once)
    view = view_of(owned_pod("a", 8))
    session: Any = Server()
    assert await verdict_reads.read_progress(session, view) == {}
    found = await verdict_reads.read_progress(session, view, (tmp_path,))
    assert list(found.values()) == [0.75]


def owned_pod(job: str, gpus: int) -> Pod:
    """A member of a plain job."""
    made = pod(f"{job}-0", gpus=gpus)
    return msgspec.structs.replace(
        made, owner_api_version="batch/v1", owner_kind="Job", owner_name=job, owner_uid=f"uid-{job}"
    )


VOLCANO = "scheduling.volcano.sh/v1beta1"
TRAIN_JOBS = Resource("trainer.kubeflow.org", "v1alpha1", "trainjobs", "TrainJob", namespaced=True)
CLASSES = Resource(
    "kueue.x-k8s.io", "v1beta2", "workloadpriorityclasses", "WorkloadPriorityClass", namespaced=False
)


def served(*resources: Resource) -> Any:
    known = {(one.api_version, one.kind): one for one in resources}
    return lambda api, kind: known.get((api, kind))


async def test_a_train_job_without_a_row_is_read_for_why_it_is_refused() -> None:
    server: Any = Server()
    failed = {"type": "Failed", "status": "True", "reason": "TrainingRuntimeNotSupported", "message": "none"}
    path = f"{TRAIN_JOBS.path('team-a')}/llm"
    spec = {"runtimeRef": {"name": "torch"}}
    server.bodies[path] = {"metadata": {"name": "llm"}, "spec": spec, "status": {"conditions": [failed]}}
    subject = Subject("job", "team-a", "llm")
    found = await with_reads(server, served(TRAIN_JOBS), subject, view_of(), {})
    assert explain(subject, found).cause == "runtime-missing"
    assert server.asked == [path]


async def test_the_class_of_a_priority_is_read_where_it_may_be_missing_and_no_queue_that_is_watched() -> None:
    """A Volcano group whose queue is closed; a job that Kueue does not take for want of its class."""
    store = Store()
    group = PodGroup(uid="g", name="llm-u1", namespace="team-a", engine="Volcano", phase="Pending", queue="q")
    owner = OwnerRef("batch.volcano.sh/v1alpha1", "Job", "llm", "u1")
    asked = (ReplicaSpec("main", 2, 8, "nvidia.com/gpu"),)
    own: Any = {"namespace": "team-a", "replicas": asked, "created_seconds": NOW - 900}
    batch = "batch.volcano.sh/v1alpha1"
    ring = JobObject(
        uid="u1", name="llm", api_version=batch, kind="Job", labels=(("volcano.sh/queue-name", "q"),), **own
    )
    labels = (("kueue.x-k8s.io/queue-name", "main"), ("kueue.x-k8s.io/priority-class", "gold"))
    held = JobObject(
        uid="u2", name="ft", api_version="batch/v1", kind="Job", labels=labels, is_suspended=True, **own
    )
    store.apply(Batch(kind="volcanojobs", changed=(ring,)))
    store.apply(Batch(kind=Kind.JOB, changed=(held,)))
    store.apply(
        Batch(
            kind="volcanoqueues",
            changed=(SchedulerQueue(uid="q", name="q", engine="Volcano", phase="Closed"),),
        )
    )
    store.apply(Batch(kind=Kind.POD_GROUP, changed=(msgspec.structs.replace(group, owner=owner),)))
    jobs = JobIndex(store)
    jobs.update(store.take_delta())
    view = ClusterView(store=store, jobs=jobs, now_seconds=NOW)
    server: Any = Server()
    server.bodies[CLASSES.path()] = {"items": [{"metadata": {"name": "silver"}}]}
    for name, cause, said in (
        ("llm", "group-queue-closed", "queue q is closed"),
        ("ft", "not-taken-by-queue", "gold does not exist"),
    ):
        subject = Subject("job", "team-a", name)
        found = explain(subject, await with_reads(server, served(CLASSES), subject, view, {}))
        assert found.cause == cause
        assert said in found.sentence
