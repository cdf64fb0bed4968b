"""Volcano's own Job is suspended and resumed by Commands, with plan, confirmation text and audit line."""

from typing import Any

import pytest

from cockpit.actions.execute.execute_plan import carry_out
from cockpit.actions.suspend import plan_resume, plan_suspend
from cockpit.clock import ManualClock
from cockpit.errors import BadInput
from cockpit.gangs.volcano import JOB_API_VERSION
from tests.unit.actions.builders import Line, Lines, Server, job, pod, store_of


def vcjob(phase: str) -> dict[str, Any]:
    """As Volcano 1.13 leaves it (batch/v1alpha1)."""
    return {
        "apiVersion": JOB_API_VERSION,
        "kind": "Job",
        "metadata": {"name": "llm", "namespace": "team-a", "uid": "uid-llm", "resourceVersion": "41"},
        "spec": {"minAvailable": 2, "queue": "default", "tasks": []},
        "status": {"state": {"phase": phase}},
    }


ROW = {"api_version": JOB_API_VERSION, "kind": "Job", "name": "llm", "engine": "Volcano", "uid": "uid-llm"}


def test_suspend_is_a_command_named_after_what_was_read() -> None:
    member = pod("llm-worker-0", gpus=4)
    row = job(**ROW, gpus_allocated=4, pod_uids=(member.uid,))
    plan = plan_suspend(row, vcjob("Running"), store_of(member), context="prod")
    (call,) = plan.calls
    assert (call.method, call.path) == ("POST", "/apis/bus.volcano.sh/v1alpha1/namespaces/team-a/commands")
    assert call.body["action"] == "AbortJob"
    assert call.body["metadata"]["name"] == "llm-suspend-41"
    (owner,) = call.body["metadata"]["ownerReferences"]
    assert owner["uid"] == call.body["target"]["uid"] == "uid-llm"
    assert plan.title == "Suspend job team-a/llm" and plan.is_destructive
    assert any("4 GPUs become free on 1 node" in line for line in plan.lines)
    assert plan.shell == "cockpit job suspend job/team-a/llm --context prod --write"


def test_resume_is_one_too_and_what_is_so_already_is_refused() -> None:
    row, nothing = job(**ROW), store_of()
    (call,) = plan_resume(row, vcjob("Aborted"), nothing).calls
    assert (call.body["action"], call.body["metadata"]["name"]) == ("ResumeJob", "llm-resume-41")
    with pytest.raises(BadInput, match="is not suspended"):
        plan_resume(row, vcjob("Running"), nothing)
    for phase in ("Aborted", "Completed", "Failed"):
        with pytest.raises(BadInput, match=f"is {phase} already"):
            plan_suspend(row, vcjob(phase), nothing)


async def test_it_is_carried_out_with_an_audit_line() -> None:
    server, audit = Server(), Lines()
    plan = plan_suspend(job(**ROW), vcjob("Running"), store_of())
    outcome = await carry_out(plan, Line(), audit, ManualClock(0.0), perform=server)
    assert outcome.is_done, outcome.sentence
    assert [call.body["action"] for call, dry in server.calls if not dry] == ["AbortJob"]
    assert [one.verb for one in audit.entries] == ["suspend", "suspend"]
