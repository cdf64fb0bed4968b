"""Carrying out: audited before and after, refused in one sentence, and never written twice."""

import pytest

from cockpit.actions.kill import plan_kill
from cockpit.actions.perform import AUDIT_ANNOTATION, READ_ONLY, carry_out, rehearse
from cockpit.actions.refusals import refusal_sentence
from cockpit.actions.submit import plan_submit
from cockpit.clock import ManualClock
from cockpit.errors import NoConnection, Refused
from cockpit.jobs.template import load_templates
from cockpit.model.plan import Call, Outcome, Plan
from tests.unit.actions.builders import Line, Lines, Server, job, pod, store_of

MPIJOB = load_templates()["mpijob"]
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


async def _run(plan: Plan, server: Server, line: Line | None = None, lines: Lines | None = None) -> Outcome:
    return await carry_out(
        plan,
        line or Line(),
        lines if lines is not None else Lines(),
        ManualClock(),
        perform=server,
        new_id=lambda: "id1",
        local_user="ann@host",
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
    assert (before.context, before.user, before.local_user) == ("prod", "ann", "ann@host")
    assert before.shell == KILL.shell
    assert len(before.body_sha256) == 64
    assert (after.step, after.audit_id, after.state) == ("outcome", "id1", "done")


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
    assert "Killed mpijob team-a/llm; its audit line is missing" in outcome.sentence


async def test_a_rehearsal_is_a_dry_run_without_audit_even_read_only() -> None:
    server = Server()
    outcome = await rehearse(KILL, Line(read_only=True), perform=server)
    assert outcome.is_done
    assert [dry for _call, dry in server.calls] == [True]
    denied = Server(Refused('admission webhook "v.kb.io" denied the request: no such queue'))
    outcome = await rehearse(SUBMIT, Line(), perform=denied)
    assert outcome == Outcome(
        state="refused",
        sentence="mpijob team-a/llm was denied by admission webhook v.kb.io: no such queue",
    )


async def test_an_object_that_is_gone_is_unchanged() -> None:
    outcome = await _run(KILL, Server(Refused('mpijobs.kubeflow.org "llm" not found')))
    assert (outcome.state, outcome.sentence) == ("unchanged", "mpijob team-a/llm is gone already")


async def test_several_calls_stop_at_the_first_refusal_and_say_how_far() -> None:
    plan = plan_kill(
        job("p0", kind="Pod", pod_uids=("uid-p0", "uid-p1", "uid-p2")),
        store_of(*map(pod, ("p0", "p1", "p2"))),
    )
    server = Server(None, Refused("pods is forbidden"))
    outcome = await _run(plan, server)
    assert outcome.state == "refused"
    assert outcome.sentence.startswith("1 of 3 done, then: pod team-a/p1")
    assert len(server.calls) == 2


async def test_one_pod_of_several_that_is_gone_does_not_stop_the_rest() -> None:
    plan = plan_kill(job("p0", kind="Pod", pod_uids=("uid-p0", "uid-p1")), store_of(pod("p0"), pod("p1")))
    server = Server(Refused('pods "p0" not found'), None)
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
        (SUBMIT, {}, "failed"),
        (KILL, {}, "done"),
        (KILL, {JOB_PATH: {"metadata": {"uid": "uid-llm"}}}, "failed"),
        (
            KILL,
            {JOB_PATH: {"metadata": {"uid": "uid-llm", "deletionTimestamp": "2026"}}},
            "done",
        ),
        (KILL, {JOB_PATH: {"metadata": {"uid": "another"}}}, "done"),
        (SCALE, {"/apis/x/v1/pools/h100/scale": {"spec": {"replicas": 4}}}, "done"),
        (SCALE, {"/apis/x/v1/pools/h100/scale": {"spec": {"replicas": 2}}}, "failed"),
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
    assert outcome.state == "failed"
    assert "is not known: look first" in outcome.sentence


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ('mpijobs.kubeflow.org "llm" already exists', "m exists already: choose another name"),
        (
            'Operation cannot be fulfilled on mpijobs "llm": the object has been modified; please apply',
            "m changed meanwhile: look again",
        ),
        (
            "the ResourceVersion in the precondition (1) does not match the ResourceVersion in record (2)."
            " The object might have been modified",
            "m changed meanwhile: look again",
        ),
        (
            "Precondition failed: UID in precondition: a, UID in object meta: b",
            "m is another object of the same name now: look again",
        ),
        (
            "the UID in the precondition (a) does not match the UID in record (b). The object might have been"
            " deleted and then recreated",
            "m is another object of the same name now: look again",
        ),
        (
            "m: it is another object than the one that was read, nothing was done (metadata.uid: Invalid).",
            "m is another object of the same name now: look again",
        ),
        (
            'Internal error occurred: failed calling webhook "mjob.kb.io": Post "https://x"',
            "m: admission webhook mjob.kb.io does not answer",
        ),
        (
            'pods "x" is forbidden: exceeded quota: gpus, requested: nvidia.com/gpu=8, used: 8',
            "m: the namespace's quota does not allow it: gpus, requested",
        ),
        (
            'mpijobs.kubeflow.org is forbidden: User "bob" cannot create resource "mpijobs" in API group',
            "m: you lack the right to create mpijobs",
        ),
        (
            "mpijobs 'x' is forbidden: ValidatingAdmissionPolicy 'no-latest' with b denied request: no",
            "m was denied by admission policy no-latest: no",
        ),
        ('namespaces "nowhere" not found', "m: there is no namespace nowhere; choose another one"),
        ("x" * 900, "m: the cluster refused: xxx"),
        ("two\nlines  here", "m: the cluster refused: two lines here"),
    ],
)
def test_refusals_become_one_sentence(said: str, sentence: str) -> None:
    text = refusal_sentence(Call(method="POST", path="/x", target="m"), said)
    assert text.startswith(sentence)
    assert "\n" not in text
    assert len(text) <= 300
