"""What happened since the last session, from timestamps and from what the host remembers."""

import pytest

from cockpit.model.batch import Batch
from cockpit.model.job import Job, JobState
from cockpit.model.namespaces import EVERY, Namespaces
from cockpit.model.node import Node
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.model.remembered import Remembered, SeenProblem
from cockpit.store.store import Store
from cockpit.triage.since_left import Happened, since_left, summary

LEFT = 10_000.0


class Rows:
    """Job rows without an index."""

    def __init__(self, *jobs: Job) -> None:
        self.jobs = {one.key: one for one in jobs}

    def job(self, key: str) -> Job | None:
        return self.jobs.get(key)

    def members(self, key: str) -> tuple[Pod, ...]:
        return ()

    def strays(self) -> list[Pod]:
        return []

    def job_of_pod(self, pod: Pod) -> Job | None:
        return None

    def moved_since(self, number: int) -> tuple[int, None]:
        return number, None


def job(name: str, state: str, *, started: float | None = None, finished: float | None = None) -> Job:
    return Job(
        key=f"job.batch/team-a/{name}",
        uid=name,
        api_version="batch/v1",
        kind="Job",
        namespace="team-a",
        name=name,
        state=state,
        started_seconds=started,
        finished_seconds=finished,
        gpus_wanted=8,
    )


def nodes(*names: str) -> Store:
    store = Store()
    store.apply(
        Batch(kind=Kind.NODE, changed=tuple(Node(uid=one, name=one, created_seconds=1.0) for one in names))
    )
    return store


def told(
    rows: Rows | None = None, store: Store | None = None, namespace: str = "", **left: object
) -> list[tuple[str, str]]:
    remembered = Remembered(**{"left_seconds": LEFT, **left})  # type: ignore[arg-type]
    within = Namespaces((namespace,)) if namespace else EVERY
    found = since_left(store or Store(), rows or Rows(), remembered, set(), within)
    return [(one.what, one.subject) for one in found]


def test_jobs_that_ended_failed_and_started_since() -> None:
    rows = Rows(
        job("old", JobState.SUCCEEDED, finished=LEFT - 1),
        job("done", JobState.SUCCEEDED, finished=LEFT + 1),
        job("bad", JobState.FAILED, finished=LEFT + 2),
        job("runs", JobState.RUNNING, started=LEFT + 3),
        job("ran", JobState.RUNNING, started=LEFT - 3),
        job("waits", JobState.QUEUED),
    )
    assert told(rows) == [("failed", "team-a/bad"), ("started", "team-a/runs"), ("ended", "team-a/done")]
    assert told(rows, namespace="team-b") == []


def test_nodes_that_went_and_came() -> None:
    store = nodes("a", "b")
    assert told(store=store, nodes=frozenset({"b", "c"})) == [("node gone", "node c"), ("node new", "node a")]
    assert told(store=store) == [], "nobody noted the nodes"


@pytest.mark.parametrize(
    ("finding", "resolved", "is_told"),
    [
        ("node-not-ready", None, True),
        ("node-not-ready", LEFT - 5, False),
        ("node-xid", None, False),
        ("job-failed", None, False),
    ],
)
def test_problems_that_went_away(finding: str, resolved: float | None, is_told: bool) -> None:
    seen = SeenProblem(
        subject_key="n",
        finding=finding,
        first_seconds=1.0,
        last_seconds=LEFT - 10,
        resolved_seconds=resolved,
        subject="node n",
        sentence="not ready",
    )
    assert told(problems=(seen,)) == ([("resolved", "node n")] if is_told else [])
    left = Remembered(left_seconds=LEFT, problems=(seen,))
    assert since_left(Store(), Rows(), left, {("n", "node-xid")}) == (), "another cause of the same"


def test_without_an_earlier_session_nothing_happened() -> None:
    rows = Rows(job("bad", JobState.FAILED, finished=LEFT + 2))
    assert told(rows, nodes("a"), left_seconds=None, nodes=frozenset({"b"})) == []


def test_the_line_names_what_is_bad_and_counts_the_rest() -> None:
    found = tuple(
        Happened(what=what, subject_key=name, subject=name, kind=kind)
        for what, name, kind in (
            *(("failed", name, "job") for name in ("a/x", "a/y", "a/z")),
            ("node gone", "gpu-7", "node"),
            ("ended", "a/v", "job"),
        )
    )
    assert summary(found) == "3 jobs failed: a/x, a/y, ... · 1 node gone: gpu-7 · 1 job ended"
