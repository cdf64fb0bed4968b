"""The dry run of a plan: what is asked, in what order, for how long, and what its answer means."""

import asyncio
from typing import Any

import pytest

from cockpit.actions.execute.call_outcome import AT_ONCE
from cockpit.actions.execute.dry_run import needs_earlier, rehearse
from cockpit.actions.execute.execute_plan import carry_out
from cockpit.clock import ManualClock
from cockpit.errors import NoConnection, NotTried
from cockpit.model.plan import Call, Outcome, Plan
from tests.unit.actions.builders import Line, Lines, Server, forbidden, missing, refused

JOBS = "/apis/batch/v1/namespaces/team-a/jobs"
UNSUPPORTED = refused(400, "BadRequest", 'admission webhook "v.io" does not support dry run', error=NotTried)


def call(method: str, path: str = f"{JOBS}/llm", name: str = "") -> Call:
    body = {"metadata": {"name": name}} if name else {}
    return Call(method=method, path=path, body=body, target="job team-a/llm")


def plan(*calls: Call, is_whole: bool = False) -> Plan:
    return Plan(verb="kill", title="Kill job team-a/llm", calls=calls, is_whole=is_whole)


@pytest.mark.parametrize(
    ("earlier", "later", "waits"),
    [
        (call("DELETE"), call("POST", JOBS, "llm"), True),
        (call("POST", JOBS, "llm"), call("PATCH"), True),
        (call("PATCH"), call("PATCH", f"{JOBS}/llm/scale"), True),
        (call("PATCH"), call("PATCH", "/apis/batch/v2/namespaces/team-a/jobs/llm"), True),
        (call("POST", "/api/v1/namespaces", "team-a"), call("POST", JOBS, "llm"), True),
        (call("POST", "/api/v1/namespaces", "team-b"), call("POST", JOBS, "llm"), False),
        (call("DELETE"), call("DELETE", f"{JOBS}/other"), False),
        (call("DELETE"), call("POST", "/apis/batch/v1/namespaces/team-b/jobs", "llm"), False),
        (call("DELETE"), call("DELETE", "/apis/x.io/v1/namespaces/team-a/jobs/llm"), False),
        (call("PATCH", "/api/v1/nodes/n1"), call("DELETE", "/api/v1/nodes/n1"), True),
    ],
)
def test_a_call_on_what_an_earlier_one_touches_waits_for_it(earlier: Call, later: Call, waits: bool) -> None:
    assert needs_earlier(later, (earlier,)) is waits
    assert needs_earlier(earlier, ()) is False


async def test_a_step_that_needs_another_one_done_is_not_refused_for_it() -> None:
    """To create under a name that an earlier call frees is no refusal: the dry run of it would be one."""
    server = Server(None, refused(409, "AlreadyExists", 'jobs.batch "llm" already exists'))
    told = await rehearse(plan(call("DELETE"), call("POST", JOBS, "llm")), Line(), perform=server)
    assert told.is_done and len(server.calls) == 1
    assert told.sentence == (
        "the cluster would accept it; 1 of 2 steps depend on the others and cannot be tried first"
    )


async def test_a_server_that_makes_no_dry_run_has_refused_nothing() -> None:
    told = await rehearse(plan(call("PATCH")), Line(), perform=Server(UNSUPPORTED))
    assert (told.state, told.refusal) == ("untried", UNSUPPORTED.said)
    assert told.sentence == "job team-a/llm: admission webhook v.io does not support dry run"


@pytest.mark.parametrize(
    ("answers", "state"),
    [
        ((UNSUPPORTED, forbidden("pods"), None), "refused"),
        ((UNSUPPORTED, NoConnection("cut"), None), "failed"),
        ((None, UNSUPPORTED, None), "untried"),
        ((missing("pods", "a"), None, None), "done"),
        (tuple(missing("pods", name) for name in "abc"), "unchanged"),
    ],
)
async def test_the_worst_answer_is_the_verdict(answers: tuple[Exception | None, ...], state: str) -> None:
    pods = [call("DELETE", f"/api/v1/namespaces/team-a/pods/{name}") for name in "abc"]
    told = await rehearse(plan(*pods), Line(), perform=Server(*answers))
    assert told.state == state, told


async def test_several_refusals_are_counted() -> None:
    pods = [call("DELETE", f"/api/v1/namespaces/team-a/pods/{name}") for name in "abc"]
    refusals = (forbidden("pods") for _ in pods)
    told = await rehearse(plan(*pods), Line(), perform=Server(*refusals))
    assert told.refusal == forbidden("pods").said
    assert "you cannot delete pods.x.io" in told.sentence and told.sentence.endswith("(and 2 more)")


async def test_eight_calls_are_under_way_at_once_and_no_more() -> None:
    now, most = 0, 0

    async def send(_session: Any, _call: Call, *, dry_run: bool = False) -> None:
        nonlocal now, most
        assert dry_run
        now += 1
        most = max(most, now)
        await asyncio.sleep(0)
        now -= 1

    pods = [call("DELETE", f"/api/v1/namespaces/team-a/pods/p{at}") for at in range(50)]
    assert (await rehearse(plan(*pods), Line(), perform=send)).is_done
    assert most == AT_ONCE


async def test_a_server_that_says_nothing_is_not_waited_for_beyond_the_time() -> None:
    async def never(_session: Any, _call: Call, *, dry_run: bool = False) -> None:
        await asyncio.Event().wait()

    told = await rehearse(plan(call("PATCH")), Line(), perform=never, seconds=0.0)
    assert told == Outcome(state="failed", sentence="no answer to the dry run within 0 s")


async def test_a_gang_that_cannot_be_tried_may_go_all_the_same() -> None:
    """Where a webhook keeps the server from dry runs a gang could never be killed."""
    pods = [call("DELETE", f"/api/v1/namespaces/team-a/pods/{name}") for name in "ab"]
    server, lines = Server(UNSUPPORTED, UNSUPPORTED), Lines()
    outcome = await carry_out(plan(*pods, is_whole=True), Line(), lines, ManualClock(), perform=server)
    assert outcome.is_done and [dry for _call, dry in server.calls] == [True, True, False, False]
