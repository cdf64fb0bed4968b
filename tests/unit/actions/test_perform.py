"""Carrying out: audited before and after, refused in one sentence, and never written twice."""

import pytest

from cockpit.actions.execute.dry_run import rehearse
from cockpit.actions.execute.execute_plan import READ_ONLY, carry_out
from cockpit.actions.execute.read_back import AUDIT_ANNOTATION, READS
from cockpit.actions.kill import plan_kill
from cockpit.actions.submit import plan_submit
from cockpit.clock import ManualClock
from cockpit.errors import NoConnection
from cockpit.gangs.native import DROPPED
from cockpit.jobs.template import load_library
from cockpit.model.plan import Call, Outcome, Plan
from tests.unit.actions.builders import Line, Lines, Server, forbidden, job, missing, pod, refused, store_of

MPIJOB, JOB = (load_library().templates[name] for name in ("mpijob", "job"))
KILL = plan_kill(job(), store_of())
SUBMIT = plan_submit(MPIJOB, {"name": "llm", "image": "a:1", "queue": "q"}, "team-a")
JOB_PATH = "/apis/kubeflow.org/v2beta1/namespaces/team-a/mpijobs/llm"
SCALE = Plan(
    verb="scale",
    title="Grow pool h100 from 2 to 4",
    calls=(
        Call(
            method="PATCH",
            path="/apis/x/v1/pools/h100/scale",
            body={"metadata": {"uid": "u", "resourceVersion": "7"}, "spec": {"replicas": 4}},
            target="pool h100",
        ),
    ),
)


async def _no_pause(_seconds: float) -> None:
    """Time that passes at once."""


async def _run(plan: Plan, server: Server, line: Line | None = None, lines: Lines | None = None) -> Outcome:
    return await carry_out(
        plan,
        line or Line(),
        lines if lines is not None else Lines(),
        ManualClock(),
        perform=server,
        new_id=lambda: "id1",
        sleep=_no_pause,
    )


async def test_a_kill_is_one_call_between_two_audit_lines() -> None:
    server, lines = Server(), Lines()
    outcome = await _run(KILL, server, lines=lines)
    assert outcome == Outcome(state="done", sentence="Killed mpijob team-a/llm", audit_id="id1")
    assert [(call.method, call.path, dry) for call, dry in server.calls] == [("DELETE", JOB_PATH, False)]
    before, after = lines.entries
    assert (before.step, before.audit_id, before.uid, before.resource_version) == (
        "intent",
        "id1",
        "uid-llm",
        "41",
    )
    assert (before.context, before.user) == ("prod", "ann")
    assert before.shell == KILL.shell
    assert len(before.body_sha256) == 64
    assert (after.step, after.audit_id, after.state) == ("outcome", "id1", "done")


async def test_a_refusal_is_audited_as_data() -> None:
    lines = Lines()
    outcome = await _run(KILL, Server(forbidden()), lines=lines)
    intent, after = lines.entries
    assert (intent.status, intent.reason) == (0, "")
    assert (after.state, after.status, after.reason) == ("refused", 403, "Forbidden")
    assert outcome.refusal == forbidden().said


async def test_the_intent_is_written_before_the_call() -> None:
    lines = Lines()
    seen: list[int] = []
    await _run(KILL, Server(then=lambda _call: seen.append(len(lines.entries))), lines=lines)
    assert seen == [1]


async def test_read_only_sends_and_writes_nothing() -> None:
    server, lines = Server(), Lines()
    outcome = await _run(KILL, server, Line(read_only=True), lines)
    assert outcome == Outcome(state="refused", sentence=READ_ONLY)
    assert (server.calls, lines.entries) == ([], [])


async def test_without_an_audit_line_nothing_is_sent() -> None:
    server = Server()
    outcome = await _run(KILL, server, lines=Lines(full_at=0))
    assert outcome.state == "failed"
    assert server.calls == []


async def test_a_missing_second_audit_line_is_not_called_done() -> None:
    outcome = await _run(KILL, Server(), lines=Lines(full_at=1))
    assert outcome.state == "failed"
    assert "Killed mpijob team-a/llm; the audit line could not be written" in outcome.sentence


async def test_a_rehearsal_is_a_dry_run_without_audit_even_read_only() -> None:
    server = Server()
    outcome = await rehearse(KILL, Line(read_only=True), perform=server)
    assert outcome.is_done
    assert [dry for _call, dry in server.calls] == [True]
    denied = refused(403, "Forbidden", 'admission webhook "v.kb.io" denied the request: no such queue')
    outcome = await rehearse(SUBMIT, Line(), perform=Server(denied))
    assert outcome == Outcome(
        state="refused",
        sentence="mpijob team-a/llm was denied by admission webhook v.kb.io: no such queue",
        refusal=denied.said,
    )


async def test_an_object_that_is_gone_is_unchanged() -> None:
    outcome = await _run(KILL, Server(missing("mpijobs", "llm", JOB_PATH)))
    assert (outcome.state, outcome.sentence) == ("unchanged", "mpijob team-a/llm is already gone")


@pytest.mark.parametrize("name", ["namespaces", "my-namespaces-0", "llm"])
async def test_a_pod_that_is_gone_is_unchanged_whatever_its_name(name: str) -> None:
    """A pod named `...namespaces...` that had vanished counted as a refusal: the message was searched."""
    plan = plan_kill(job(name, kind="Pod", pod_uids=(f"uid-{name}",)), store_of(pod(name)))
    gone = missing("pods", name, plan.calls[0].path)
    assert (await rehearse(plan, Line(), perform=Server(gone))).state == "unchanged"
    assert (await _run(plan, Server(gone))).state == "unchanged"


@pytest.mark.parametrize(
    ("resource", "name"), [("namespaces", "team-a"), ("", ""), ("customresourcedefinitions", "mpijobs")]
)
async def test_another_object_that_is_not_there_does_not_make_this_one_gone(resource: str, name: str) -> None:
    outcome = await _run(KILL, Server(missing(resource, name, JOB_PATH)))
    assert outcome.state == "refused" and outcome.refusal is not None and not outcome.refusal.is_gone


async def test_several_calls_stop_at_the_first_refusal_and_say_how_far() -> None:
    plan = plan_kill(
        job("p0", kind="Pod", pod_uids=("uid-p0", "uid-p1", "uid-p2")),
        store_of(*map(pod, ("p0", "p1", "p2"))),
    )
    server = Server(None, forbidden("pods"))
    outcome = await _run(plan, server)
    assert outcome.state == "refused"
    assert outcome.sentence.startswith("1 of 3 done, then: pod team-a/p1")
    assert len(server.calls) == 2


async def test_one_pod_of_several_that_is_gone_does_not_stop_the_rest() -> None:
    plan = plan_kill(job("p0", kind="Pod", pod_uids=("uid-p0", "uid-p1")), store_of(pod("p0"), pod("p1")))
    server = Server(missing("pods", "p0"), None)
    assert (await _run(plan, server)).is_done
    assert len(server.calls) == 2


async def test_a_new_object_carries_the_audit_id_and_the_plan_stays_as_shown() -> None:
    server = Server()
    await _run(SUBMIT, server)
    sent = server.calls[0][0].body
    assert sent["metadata"]["annotations"] == {AUDIT_ANNOTATION: "id1"}
    assert "annotations" not in SUBMIT.calls[0].body["metadata"]


LOST = NoConnection("the connection was cut")


@pytest.mark.parametrize(
    ("plan", "found", "state"),
    [
        (SUBMIT, {JOB_PATH: {"metadata": {"annotations": {AUDIT_ANNOTATION: "id1"}}}}, "done"),
        (SUBMIT, {JOB_PATH: {"metadata": {"annotations": {AUDIT_ANNOTATION: "stranger"}}}}, "failed"),
        (SUBMIT, {}, "unknown"),
        (KILL, {}, "done"),
        (KILL, {JOB_PATH: {"metadata": {"uid": "uid-llm"}}}, "unknown"),
        (
            KILL,
            {JOB_PATH: {"metadata": {"uid": "uid-llm", "deletionTimestamp": "2026"}}},
            "done",
        ),
        (KILL, {JOB_PATH: {"metadata": {"uid": "another"}}}, "done"),
        (SCALE, {"/apis/x/v1/pools/h100/scale": {"spec": {"replicas": 4}}}, "done"),
        (SCALE, {"/apis/x/v1/pools/h100/scale": {"spec": {"replicas": 2}}}, "unknown"),
    ],
)
async def test_a_lost_answer_is_found_out_by_reading_and_never_written_again(
    plan: Plan, found: dict[str, object], state: str
) -> None:
    server, line, lines = Server(LOST), Line(objects=found), Lines()
    outcome = await _run(plan, server, line, lines)
    assert outcome.state == state
    assert len(server.calls) == 1
    assert len(line.reads) == 1
    assert lines.entries[-1].state == state


async def test_a_lost_answer_that_cannot_be_looked_up_is_told_as_unknown() -> None:
    line = Line()
    line.is_cut = True
    outcome = await _run(KILL, Server(LOST), line)
    assert (outcome.state, outcome.sentence) == (
        "unknown",
        "mpijob team-a/llm: unknown: the server did not say (the connection was cut; cut); read it before"
        " trying again",
    )
    assert len(line.reads) == READS  # a read is repeated, a write is not


GANG_PATH = "/apis/batch/v1/namespaces/team-a/jobs/llm"


def gang() -> Plan:
    """A Job that asks for the gang of kube-scheduler itself."""
    return plan_submit(JOB, {"name": "llm", "image": "a:1"}, "team-a", engine="native")


def stored(*, has_group: bool) -> dict[str, object]:
    """What the server says that it stored."""
    spec = {"schedulingGroup": {"podGroupName": "llm"}} if has_group else {}
    annotations = {AUDIT_ANNOTATION: "id1"}
    return {"kind": "Job", "metadata": {"annotations": annotations}, "spec": {"template": {"spec": spec}}}


@pytest.mark.parametrize("has_group", [True, False])
@pytest.mark.parametrize("is_lost", [True, False])
async def test_a_field_that_the_server_dropped_is_told_and_audited(has_group: bool, is_lost: bool) -> None:
    tree, lines = stored(has_group=has_group), Lines()
    server = Server(LOST) if is_lost else Server(tree=tree)
    outcome = await _run(gang(), server, Line(objects={GANG_PATH: tree}), lines)
    assert outcome.state == "done"
    assert outcome.warnings == (() if has_group else (DROPPED,))
    first = next(
        entry for entry in lines.entries if entry.step == "outcome" and "job team-a/llm" in entry.target
    )
    assert (DROPPED in first.sentence) is not has_group


async def test_an_answer_without_the_object_says_nothing_of_its_fields() -> None:
    assert (await _run(gang(), Server())).warnings == ()
