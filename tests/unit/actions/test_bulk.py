"""One verb on many jobs: one confirmation, bounded parallelism, each result told."""

import asyncio
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from cockpit.actions.execute.bulk_plan import Result, carry_all, make_bulk_plan, summary, try_all
from cockpit.actions.execute.call_outcome import AT_ONCE
from cockpit.actions.kill import plan_kill
from cockpit.actions.planning import Make
from cockpit.actions.verbs.job import KILL
from cockpit.clock import ManualClock
from cockpit.errors import BadInput, NoConnection, NotTried
from cockpit.model.job import Job, JobState
from cockpit.model.plan import Call, Outcome, Plan
from tests.reliability.figures import Tell
from tests.unit.actions.builders import (
    Line,
    Lines,
    Reply,
    Server,
    forbidden,
    job,
    newer,
    pod,
    refused,
    store_of,
)
from tests.unit.actions.test_lifecycle_plans import gang_job, gang_of


def many(count: int) -> tuple[list[Job], Any]:
    """Jobs of one pod with two GPUs each, and their store."""
    jobs = [
        job(f"j{at:02d}", pod_uids=(f"uid-p{at:02d}",), gpus_allocated=2, resource_version=str(at))
        for at in range(count)
    ]
    return jobs, store_of(*(pod(f"p{at:02d}") for at in range(count)))


def killing(store: Any, jobs: dict[str, Job] | None = None) -> Any:
    """How each plan is made anew; `jobs` by key are what they are by then."""

    def of(one: Job) -> Make:
        async def make(*, reads: bool = False) -> Plan:
            now = (jobs or {}).get(one.key, one)
            return plan_kill(now, store)

        return make

    return of


class Counted(Server):
    """Counts how many calls are under way at once."""

    def __init__(self) -> None:
        super().__init__()
        self.now = self.most = 0

    async def __call__(self, session: Any, call: Call, *, dry_run: bool = False) -> Reply:
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        self.now -= 1
        return await super().__call__(session, call, dry_run=dry_run)


async def test_fifty_jobs_go_under_one_confirmation_a_few_at_a_time() -> None:
    jobs, store = many(50)
    bulk = await make_bulk_plan(KILL, jobs, killing(store), store, context="prod")
    assert bulk.face.title == "Kill 50 jobs"
    assert bulk.face.lines[:5] == (
        "50 MPIJob in team-a (50)",
        "now: 50 running",
        "50 pods terminate",
        "100 GPUs become free on 1 node",
        "volume claims and their data are kept",
    )
    assert bulk.face.lines[5].startswith("jobs: team-a/j00, team-a/j01")
    assert bulk.face.is_destructive and len(bulk.face.calls) == 50
    assert bulk.face.shell.startswith("cockpit job kill mpijob/team-a/j00 mpijob/team-a/j01")
    server, lines, told = Counted(), Lines(), list[Result]()
    results = await carry_all(bulk, Line(), lines, ManualClock(0.0), perform=server, told=told.append)
    assert 1 < server.most <= AT_ONCE
    assert len(server.calls) == 50 and len(told) == 50
    assert [one.name for one in results] == [f"mpijob/team-a/j{at:02d}" for at in range(50)]
    assert len(lines.entries) == 100
    assert summary(KILL, results) == Outcome(state="done", sentence="50 jobs killed")


@pytest.mark.row(56, "ends of more than ten that one key begins", most=0)
async def test_the_number_of_more_than_ten_is_typed(figure: Tell) -> None:
    unasked = 0
    for count in (2, 10, 11, 50):
        jobs, store = many(count)
        bulk = await make_bulk_plan(KILL, jobs, killing(store), store)
        assert f"Kill {count} jobs" in bulk.face.title
        unasked += count > 10 and bulk.face.typed != f"kill {count}"
        fewer = bulk.without(dict.fromkeys(range(count - 1), "refused"))
        assert fewer.face.typed == "", "what is left decides"
    figure("ends of more than ten that one key begins", unasked)


async def test_one_is_told_as_one() -> None:
    jobs, store = many(1)
    plan = await killing(store)(jobs[0])()
    assert plan.lines[1] == "1 running pod will be deleted"
    assert plan.lines[2].startswith("2 GPUs become free on 1 node")


async def test_different_reasons_are_told_apart_and_the_rest_counted() -> None:
    jobs, store = many(6)
    ending = [job(f"j{at:02d}", state=JobState.FINISHING) for at in range(1, 5)]
    bulk = await make_bulk_plan(KILL, [jobs[0], *ending, jobs[5]], killing(store), store)
    assert len(bulk.left_out) == 4
    first, second, more = bulk.face.warnings[:3]
    assert first.startswith("1 job left out: mpijob team-a/j01 is already being deleted")
    assert second.startswith("1 job left out: mpijob team-a/j02 is already being deleted")
    assert more == "2 more jobs left out: reasons are listed afterwards"


async def test_who_cannot_be_part_of_it_is_left_out_and_told() -> None:
    jobs, store = many(3)
    ending = job("j01", state=JobState.FINISHING)
    bulk = await make_bulk_plan(KILL, [jobs[0], ending, jobs[2]], killing(store), store)
    assert len(bulk.items) == 2
    assert bulk.left_out == ("mpijob team-a/j01 is already being deleted; its pods are terminating",)
    assert bulk.face.warnings[0].startswith("1 job left out: mpijob team-a/j01")
    with pytest.raises(BadInput, match="already being deleted"):
        await make_bulk_plan(KILL, [ending], killing(store), store)
    with pytest.raises(BadInput, match="no job to kill"):
        await make_bulk_plan(KILL, [], killing(store), store)


async def test_what_the_server_would_refuse_is_left_out_before_yes() -> None:
    jobs, store = many(3)
    bulk = await make_bulk_plan(KILL, jobs, killing(store), store, context="prod")
    server = Server(None, forbidden())
    left, verdict = await try_all(bulk, Line(read_only=True), perform=server)
    assert verdict == Outcome(state="done", sentence="the cluster would accept it")
    assert all(dry for _call, dry in server.calls)
    assert [one.name for one in left.items] == ["mpijob/team-a/j00", "mpijob/team-a/j02"]
    (why,) = left.left_out
    assert why.startswith("mpijob team-a/j01: you cannot delete mpijobs.x.io in team-a; ask for that right")
    assert left.face.title == "Kill 2 jobs" and len(left.face.calls) == 2
    assert left.face.warnings[0].startswith("1 job left out: mpijob team-a/j01")
    assert "j01" not in left.face.shell
    everything = Server(*(forbidden() for _ in range(3)))
    _, verdict = await try_all(bulk, Line(), perform=everything)
    assert verdict.state == "refused" and verdict.sentence.endswith("(and 2 more)")


async def test_many_are_tried_eight_calls_at_a_time() -> None:
    jobs, store = many(50)
    bulk = await make_bulk_plan(KILL, jobs, killing(store), store)
    server = Counted()
    assert (await try_all(bulk, Line(), perform=server))[1].is_done
    assert len(server.calls) == 50 and 1 < server.most <= AT_ONCE
    whole = store_of(*gang_of(40))
    bulk = await make_bulk_plan(KILL, [gang_job(40)], killing(whole), whole)
    server = Counted()
    assert (await try_all(bulk, Line(), perform=server))[1].is_done
    assert len(server.calls) == 40 and 1 < server.most <= AT_ONCE


async def test_whom_the_server_cannot_try_stays_and_that_is_told() -> None:
    jobs, store = many(3)
    bulk = await make_bulk_plan(KILL, jobs, killing(store), store)
    said = 'admission webhook "v" does not support dry run'
    deaf = Server(refused(400, "BadRequest", said, error=NotTried))
    left, verdict = await try_all(bulk, Line(), perform=deaf)
    assert len(left.items) == 3 and verdict.state == "untried"
    assert verdict.sentence.startswith("1 of 3 jobs: mpijob team-a/j00: admission webhook v does not")

    async def never(_session: Any, _call: Call, *, dry_run: bool = False) -> None:
        assert dry_run
        await asyncio.Event().wait()

    left, verdict = await try_all(bulk, Line(), perform=never, seconds=0.0)
    assert len(left.items) == 3 and verdict.state == "failed"
    assert verdict.sentence == "3 of 3 jobs: no answer to the dry run within 0 s"


async def test_a_job_that_became_another_while_one_read_is_left_alone() -> None:
    jobs, store = many(2)
    now = {jobs[0].key: job("j00", uid="uid-new")}
    bulk = await make_bulk_plan(KILL, jobs, killing(store), store)
    again = await make_bulk_plan(KILL, jobs, killing(store, now), store)
    changed = [replace(item, make=new.make) for item, new in zip(bulk.items, again.items, strict=True)]
    server = Server()
    results = await carry_all(
        bulk.__class__(KILL, tuple(changed), bulk.face), Line(), Lines(), ManualClock(0.0), perform=server
    )
    assert [one.outcome.state for one in results] == ["refused", "done"]
    assert "was deleted and recreated" in results[0].outcome.sentence
    assert len(server.calls) == 1
    told = summary(KILL, results)
    assert told.state == "refused"
    assert told.sentence.startswith("1 of 2 jobs killed; 1 refused: mpijob team-a/j00 was deleted")


async def test_a_newer_version_of_the_same_job_is_no_reason_to_leave_it() -> None:
    jobs, store = many(1)
    now = {jobs[0].key: job("j00", resource_version="99", gpus_allocated=1)}
    bulk = await make_bulk_plan(KILL, jobs, killing(store, {}), store)
    newer = await make_bulk_plan(KILL, jobs, killing(store, now), store)
    item = replace(bulk.items[0], make=newer.items[0].make)
    server = Server()
    await carry_all(
        bulk.__class__(KILL, (item,), bulk.face), Line(), Lines(), ManualClock(0.0), perform=server
    )
    assert server.calls[0][0].body["preconditions"]["resourceVersion"] == "99"


async def test_one_refusal_does_not_stop_the_others_and_a_lost_connection_does() -> None:
    jobs, store = many(40)
    bulk = await make_bulk_plan(KILL, jobs, killing(store), store)
    server = Server(forbidden())
    results = await carry_all(bulk, Line(), Lines(), ManualClock(0.0), perform=server)
    assert [one.outcome.state for one in results].count("done") == 39
    line = Line()
    line.is_cut = True
    lost = Server(*(NoConnection("the connection was cut") for _ in range(40)))
    results = await carry_all(bulk, line, Lines(), ManualClock(0.0), perform=lost)
    assert len(lost.calls) <= AT_ONCE
    assert "unknown: the server did not say" in results[0].outcome.sentence
    assert results[-1].outcome.sentence == "not tried: the connection was lost before"
    assert summary(KILL, results).state == "failed"


@pytest.mark.row(58, "results wrong or missing of 100", most=0)
@pytest.mark.row(58, "told done", least=97, most=97)
@pytest.mark.row(58, "told refused or failed, by name", least=3, most=3)
@pytest.mark.row(58, "done by a second try of what was left", least=3, most=3)
@pytest.mark.row(58, "deleted twice", most=0)
async def test_of_a_hundred_three_fail_and_the_rest_is_tried_again_alone(figure: Tell) -> None:
    jobs, store = many(100)
    bad = {"j07": forbidden(), "j50": refused(422, "Invalid", "no"), "j93": newer()}
    there = {one.name for one in jobs}
    deleted: Counter[str] = Counter()

    async def perform(_session: Any, call: Call, *, dry_run: bool = False) -> Reply:
        name = call.path.rpartition("/")[2]
        if (error := bad.get(name)) is not None:
            raise error
        there.remove(name)
        deleted[name] += 1
        return Reply(200, {})

    bulk = await make_bulk_plan(KILL, jobs, killing(store), store)
    results = await carry_all(bulk, Line(), Lines(), ManualClock(0.0), perform=perform)
    of = {one.name.rpartition("/")[2]: one.outcome for one in results}
    wrong = [one for one in jobs if of[one.name].is_done != (one.name not in bad)]
    figure("results wrong or missing of 100", len(wrong) + abs(len(results) - 100))
    told = summary(KILL, results)
    figure("told done", int(told.sentence.partition(" of 100 jobs killed; ")[0]))
    figure("told refused or failed, by name", sum(not one.is_done for one in of.values()))
    assert "; 3 refused: " in told.sentence
    bad.clear()
    left = [one for one in jobs if one.name in there]
    rest = await make_bulk_plan(KILL, left, killing(store), store)
    second = await carry_all(rest, Line(), Lines(), ManualClock(0.0), perform=perform)
    figure("done by a second try of what was left", sum(one.outcome.is_done for one in second))
    figure("deleted twice", sum(count > 1 for count in deleted.values()))
    assert there == set()


@pytest.mark.parametrize("number", range(5))
async def test_a_gang_is_tried_dry_before_the_first_of_it_goes(number: int) -> None:
    """Whatever member is refused, either nothing is sent or everything is."""
    store = store_of(*gang_of(4))
    bulk = await make_bulk_plan(KILL, [gang_job(4)], killing(store), store)
    refusals: list[Exception | None] = [None] * 4
    if number < 4:
        refusals[number] = forbidden("pods")
    server = Server(*refusals)
    (result,) = await carry_all(bulk, Line(), Lines(), ManualClock(0.0), perform=server)
    sent = [call for call, dry in server.calls if not dry]
    if number < 4:
        assert sent == [] and result.outcome.sentence.startswith("nothing was done: ")
    else:
        assert len(sent) == 4 and result.outcome.is_done
