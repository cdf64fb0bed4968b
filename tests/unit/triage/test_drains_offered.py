"""*Why* of a broken node, and of what stands on it, offers to drain it."""

from typing import Any

import pytest

from cockpit.actions.offered import intended
from cockpit.actions.planning import Planning
from cockpit.model.batch import Batch
from cockpit.model.finding import Finding, Subject
from cockpit.model.gpu import Gpu
from cockpit.model.record import Kind
from cockpit.model.sureness import Sureness
from cockpit.triage.advice import advised
from cockpit.triage.context import ClusterView
from cockpit.triage.engine import explain
from cockpit.views.why import HELPS, lines
from tests.unit.triage.objects import job, node, pods_of, view_of

JOB = Subject("job", "team-a", "llm")
NODE = Subject("node", "", "n1")
AFTER = "drain node n1 after its jobs"
AT_ONCE = "drain node n1 now: the plan names every job that breaks"


def gang(condition: str = "", allocatable: int = 8, xid: int = 0, **spec: Any) -> ClusterView:
    """A job of two on n1 and n2, and what is wrong with n1."""
    one = node("n1", **spec)
    one["status"]["allocatable"] = {**one["status"]["allocatable"], "nvidia.com/gpu": str(allocatable)}
    if condition:
        one["status"]["conditions"][0].update(status=condition, reason="NodeStatusUnknown")
    owner = job("llm", 2, 8)
    pods = pods_of(owner, ("n1", "n2"))
    view = view_of([one, node("n2"), owner, *pods])
    if xid:
        card = Gpu(uuid="n1/0", node="n1", index=0, xid=xid)
        store: Any = view.store
        store.apply(Batch(kind=Kind.GPU, changed=(card,)))
    return view


def told(subject: Subject, view: ClusterView) -> Finding:
    return advised(explain(subject, view), view)


@pytest.mark.parametrize(
    "wrong", [{"condition": "Unknown"}, {"allocatable": 6}, {"xid": 79}], ids=["not ready", "lost", "xid"]
)
def test_a_broken_node_is_offered_to_be_drained(wrong: dict[str, Any]) -> None:
    view = gang(**wrong)
    verdict = told(NODE, view)
    assert [one.words for one in verdict.changes] == [f"{AFTER} ({verdict.sentence})", AT_ONCE]
    of_job = told(JOB, view)  # it runs: its pods have not been told yet
    assert of_job.changes == verdict.changes
    assert HELPS in lines(verdict, view)
    after, at_once = verdict.changes
    assert after.command == (
        *("cockpit", "node", "drain", "n1", "--after-job", "--force", "--delete-emptydir-data", "--write"),
    )
    session: Any = None
    planning = Planning(view.store, session, lambda *_: None, "prod")
    for offer, waits in ((after, True), (at_once, False)):
        verb, things, options = intended(offer, planning)
        assert (verb.id, [one.name for one in things]) == ("node.drain", ["n1"])
        assert (options.after_job, options.force, options.delete_emptydir_data) == (waits, True, True)


@pytest.mark.parametrize(
    "wrong", [{}, {"condition": "Unknown", "unschedulable": True}], ids=["well", "cordoned"]
)
def test_nothing_is_offered_where_the_node_is_well_or_cordoned(wrong: dict[str, Any]) -> None:
    view = gang(**wrong)
    assert told(NODE, view).changes == told(JOB, view).changes == ()


def test_a_node_without_work_has_nothing_to_drain() -> None:
    one = node("n1")
    one["status"]["conditions"][0].update(status="Unknown", reason="NodeStatusUnknown")
    verdict = told(NODE, view_of([one]))
    assert verdict.is_trouble and verdict.changes == ()


@pytest.mark.parametrize(
    ("state", "sentence"),
    [
        ("succeeded", "team-a/llm has succeeded"),
        ("failed", "team-a/llm has failed"),
        ("running", "team-a/llm is running; nothing blocks it"),
    ],
)
def test_what_nothing_holds_reads_as_a_sentence(state: str, sentence: str) -> None:
    verdict = Finding(subject=Subject("job", "team-a", "llm"), state=state, sureness=Sureness.SAID)
    assert lines(verdict, view_of([node("n1")]))[1] == sentence
