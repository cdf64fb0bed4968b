"""What is read before a plan is made: what nobody watches is older than it looks."""

from types import SimpleNamespace
from typing import Any

import pytest

from cockpit.actions.kill import plan_to_kill
from cockpit.actions.planning import Planning
from cockpit.errors import Refused
from cockpit.model.batch import Batch
from cockpit.model.job import Job, JobObject
from cockpit.model.record import Kind
from cockpit.store.store import Store


class Reads:
    """A session that answers each read with an object of that version."""

    context, server, user, read_only = "prod", "https://prod.example", "ann", True
    acts_as = None

    def __init__(self, uid: str, version: str) -> None:
        self.paths: list[str] = []
        self._tree = {"metadata": {"uid": uid, "resourceVersion": version, "name": "llm"}}

    async def request(self, method: str, path: str, **_more: Any) -> SimpleNamespace:
        assert method == "GET"
        self.paths.append(path)
        return SimpleNamespace(status=200, ok=True, json=lambda: self._tree, message=lambda: "")


def job(api_version: str, kind: str) -> Job:
    return Job(
        key=f"{kind.lower()}/team-a/llm",
        uid="u1",
        api_version=api_version,
        kind=kind,
        namespace="team-a",
        name="llm",
        resource_version="7",
        state="running",
    )


def on(session: Reads, store: Store) -> Planning:
    return Planning(store=store, session=session, lookup=lambda *_: None, context="c")


async def test_a_jobset_is_read_again_before_it_is_killed() -> None:
    session = Reads("u1", "689")
    plan = await plan_to_kill(on(session, Store()), job("jobset.x-k8s.io/v1alpha2", "JobSet"), None)
    assert session.paths == ["/apis/jobset.x-k8s.io/v1alpha2/namespaces/team-a/jobsets/llm"]
    assert plan.calls[0].body["preconditions"] == {"uid": "u1", "resourceVersion": "689"}


async def test_one_that_was_made_anew_under_the_same_name_is_not_killed() -> None:
    with pytest.raises(Refused, match="was deleted and recreated"):
        await plan_to_kill(on(Reads("u2", "700"), Store()), job("jobset.x-k8s.io/v1alpha2", "JobSet"), None)


async def test_a_job_that_is_watched_needs_no_read() -> None:
    session, store = Reads("u1", "689"), Store()
    record = JobObject(uid="u1", name="llm", namespace="team-a", api_version="batch/v1", kind="Job")
    store.apply(Batch(kind=Kind.JOB, changed=(record,)))
    plan = await plan_to_kill(on(session, store), job("batch/v1", "Job"), None)
    assert session.paths == []
    assert plan.calls[0].body["preconditions"] == {"uid": "u1", "resourceVersion": "7"}
