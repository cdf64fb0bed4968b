"""Every verb whose object is written between the read and the write: carried out once it means the same."""

from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec
import pytest

from cockpit.actions.execute.bulk_plan import carry_all, make_bulk_plan
from cockpit.actions.execute.replan import (
    TRIES,
    Differs,
    carry_replanned,
    changes,
    confirmed,
    does_the_same,
    rehearse_replanned,
)
from cockpit.actions.planning import Make
from cockpit.actions.verbs.job import KILL
from cockpit.clock import ManualClock
from cockpit.errors import CockpitError, NoConnection
from cockpit.model.plan import Call, Outcome, Plan
from tests.unit.actions.builders import Lines, forbidden, newer, refused
from tests.unit.actions.busy import MPIJOB, RUNNING, VERBS, Busy, Tree, begun, tables

EVERY = pytest.mark.parametrize("name", VERBS)


async def carried(shown: Plan, make: Make, cluster: Busy, lines: Lines) -> Outcome:
    return await carry_replanned(shown, make, cluster, lines, ManualClock(0.0), perform=cluster)


@EVERY
async def test_a_write_of_the_status_between_plan_and_write_costs_nobody_a_second_key(name: str) -> None:
    cluster, make = begun(name, writes=2)
    lines = Lines()
    shown = await make()
    outcome = await carried(shown, make, cluster, lines)
    assert outcome.is_done, outcome.sentence
    mine = [one for one in cluster.done if one.path == shown.calls[0].path]
    assert len(mine) == 1, "it was done once"
    versions = [version(one) for one in cluster.sent if one.path == shown.calls[0].path]
    first = int(versions[0])
    assert versions == [str(first), str(first + 1), str(first + 2)]
    steps = [(one.step, one.state) for one in lines.entries[:6]]
    assert steps == [("intent", ""), ("outcome", "refused")] * 2 + [("intent", ""), ("outcome", "done")]
    assert [one.resource_version for one in lines.entries[:6:2]] == versions
    assert lines.entries[0].sentence == ""
    last, end = lines.entries[4:6]
    told = f"re-planned with the same effect (version {first + 1} was stale, now {first + 2})"
    assert last.sentence == told and end.sentence == f"{outcome.sentence} ({told})"


def version(call: Call) -> str:
    return str((call.body.get("preconditions") or call.body["metadata"])["resourceVersion"])


@EVERY
async def test_an_object_that_is_written_all_the_time_is_left_after_a_few_tries(name: str) -> None:
    cluster, make = begun(name, writes=99)
    outcome = await carried(await make(), make, cluster, Lines())
    assert (outcome.state, len(cluster.sent), cluster.done) == ("refused", TRIES, [])
    assert f"it was written {TRIES} times between read and write; nothing was done" in outcome.sentence


@EVERY
async def test_another_object_of_the_same_name_is_never_touched(name: str) -> None:
    cluster, make = begun(name)
    cluster.write = lambda tree: tree["metadata"].update(uid="uid-of-another")
    shown = await make()
    try:
        outcome = await carried(shown, make, cluster, Lines())
    except CockpitError as error:
        outcome = Outcome(state="refused", sentence=error.sentence)
    assert (outcome.state, cluster.done) == ("refused", [])
    assert "was deleted and recreated; refresh and retry" in outcome.sentence


async def test_one_that_was_made_anew_after_a_refusal_is_not_touched_either() -> None:
    """The first refusal is for the version; who stands there when it is read again is another one."""
    for name in VERBS:
        cluster, make = begun(name)
        shown = await make()
        read = cluster.request

        async def swapped(
            method: str, path: str, cluster: Busy = cluster, read: Any = read, **more: Any
        ) -> Any:
            if cluster.sent and path in cluster.objects:
                cluster.objects[path]["metadata"]["uid"] = "uid-of-another"
            return await read(method, path, **more)

        cluster.request = swapped  # type: ignore[method-assign]
        with pytest.raises(CockpitError, match="was deleted and recreated; refresh and retry"):
            await carried(shown, make, cluster, Lines())
        assert len(cluster.sent) == 1 and cluster.done == []


def ended(tree: Tree) -> None:
    tree["status"] = {"conditions": [{"type": "Succeeded", "status": "True"}]}


def leaves(tree: Tree) -> None:
    tree["metadata"]["deletionTimestamp"] = "2026-11-22T05:00:00Z"


def finished(tree: Tree) -> None:
    tree["status"] = {"conditions": [{"type": "Finished", "status": "True", "reason": "JobFinished"}]}


GROW = "was: Grow pool h100 from 1 to 3"


def set_to(replicas: int, tree: Tree) -> None:
    tree["spec"]["replicas"] = tree["status"]["replicas"] = replicas


@pytest.mark.parametrize(
    ("name", "write", "change"),
    [
        ("kill", ended, "was: delete mpijob team-a/llm (running); now: delete mpijob team-a/llm (succeeded)"),
        (
            "scale a pool",
            partial(set_to, 2),
            f"{GROW}; now: Grow pool h100 from 2 to 3",
        ),
        (
            "scale a pool",
            partial(set_to, 9),
            f"{GROW}; now: Shrink pool h100 from 9 to 3",
        ),
    ],
)
async def test_what_would_do_something_else_is_not_done_and_tells_what_changed(
    name: str, write: Callable[[Tree], None], change: str
) -> None:
    cluster, make = begun(name)
    cluster.write = write
    shown, lines = await make(), Lines()
    with pytest.raises(Differs) as caught:
        await carried(shown, make, cluster, lines)
    assert cluster.done == [] and len(cluster.sent) == 1
    assert caught.value.changes[0] == change and change in caught.value.sentence
    assert [one.state for one in lines.entries] == ["", "refused"]
    # shown again and confirmed, it is done: the next plan rests on a read, as the one that was shown does
    now = caught.value.now
    outcome = await carry_replanned(now, make, cluster, lines, ManualClock(0.0), reads=True, perform=cluster)
    assert outcome.is_done and version(cluster.done[0]) == version(now.calls[0])


@pytest.mark.parametrize(
    ("name", "write", "sentence"),
    [
        ("kill", leaves, "mpijob team-a/llm is already being deleted"),
        ("kill a pod", leaves, "pod team-a/p0 is already being deleted"),
        ("suspend", ended, "mpijob team-a/llm has succeeded"),
        ("suspend through Kueue", finished, "has finished"),
        ("scale a pool", partial(set_to, 3), "is already set to 3"),
    ],
)
async def test_what_has_no_meaning_any_more_is_told(
    name: str, write: Callable[[Tree], None], sentence: str
) -> None:
    cluster, make = begun(name)
    cluster.write = write
    with pytest.raises(CockpitError, match=sentence):
        await carried(await make(), make, cluster, Lines())
    assert cluster.done == []


async def test_one_of_many_is_made_anew_as_well() -> None:
    cluster, make = begun("kill", writes=2)
    bulk = await make_bulk_plan(KILL, [RUNNING], lambda _job: make, tables())
    (result,) = await carry_all(bulk, cluster, Lines(), ManualClock(0.0), perform=cluster)
    assert result.outcome.is_done and [version(one) for one in cluster.sent] == ["41", "42", "43"]
    cluster, make = begun("kill", writes=99)
    bulk = await make_bulk_plan(KILL, [RUNNING], lambda _job: make, tables())
    (result,) = await carry_all(bulk, cluster, Lines(), ManualClock(0.0), perform=cluster)
    assert result.outcome.state == "refused" and cluster.done == []


async def test_a_refusal_for_another_reason_is_not_tried_again() -> None:
    """A server that says 409 about an object that is as it was means something else."""
    cluster, make = begun("kill", writes=0)
    sent: list[Call] = []

    async def stubborn(_session: Any, call: Call, *, dry_run: bool = False) -> None:
        sent.append(call)
        raise newer()

    shown = await make()
    outcome = await carry_replanned(shown, make, cluster, Lines(), ManualClock(0.0), perform=stubborn)
    assert (outcome.state, len(sent), cluster.reads) == ("refused", 1, [MPIJOB])
    denied = refused(409, "Conflict", 'admission webhook "v" denied the request: no')
    for answer in (denied, forbidden(), NoConnection("cut")):
        failing = Stub(answer)
        outcome = await carry_replanned(shown, make, cluster, Lines(), ManualClock(0.0), perform=failing)
        assert not outcome.is_done and failing.count == 1
        assert not outcome.is_moved


class Stub:
    def __init__(self, answer: Exception) -> None:
        self.answer = answer
        self.count = 0

    async def __call__(self, _session: Any, _call: Call, *, dry_run: bool = False) -> None:
        self.count += 1
        raise self.answer


async def test_a_second_call_that_is_refused_is_not_begun_anew() -> None:
    """Something was done by then: what is left is told, not guessed."""
    cluster, make = begun("kill with its group", writes=0)
    plan = await make()
    assert len(plan.calls) == 2
    answers = iter([None, newer()])

    async def server(_session: Any, _call: Call, *, dry_run: bool = False) -> None:
        if (answer := next(answers)) is not None:
            raise answer

    outcome = await carry_replanned(plan, make, cluster, Lines(), ManualClock(0.0), perform=server)
    assert not outcome.is_moved and outcome.sentence.startswith("1 of 2 done, then: ")


async def test_read_only_sends_nothing_and_reads_nothing() -> None:
    cluster, make = begun("kill")
    cluster.read_only = True
    lines = Lines()
    outcome = await carried(await make(), make, cluster, lines)
    assert outcome.sentence.startswith("read-only") and (cluster.sent, cluster.reads, lines.entries) == (
        [],
        [],
        [],
    )


@EVERY
async def test_a_rehearsal_asks_of_the_plan_as_it_is_by_then(name: str) -> None:
    cluster, make = begun(name)
    shown = await make()
    plan, verdict = await rehearse_replanned(shown, make, cluster, perform=cluster)
    assert verdict.is_done and cluster.done == []
    assert int(version(plan.calls[0])) == int(version(shown.calls[0])) + 1
    assert confirmed(shown, plan) is plan


def test_a_command_of_volcano_is_the_same_whatever_version_names_it() -> None:
    from cockpit.gangs.volcano import suspend_by_command

    def at(version: str, phase: str = "Running") -> Plan:
        metadata = {"name": "v", "namespace": "team-a", "uid": "u", "resourceVersion": version}
        tree = {"metadata": metadata, "status": {"state": {"phase": phase}}}
        change = suspend_by_command(tree, suspend=True)
        warnings = ("the job runs: progress is lost",) if change.is_destructive else ()
        return Plan(verb="suspend", title="x", calls=change.calls, lines=change.lines, warnings=warnings)

    assert confirmed(at("41"), at("43")) == at("43")
    with pytest.raises(Differs, match="no longer: the job runs: progress"):
        confirmed(at("41"), at("43", "Pending"))


def test_changes_are_told_in_a_few_lines() -> None:
    def plan(*lines: str, calls: tuple[Call, ...] = ()) -> Plan:
        return Plan(verb="kill", title="Kill x", calls=calls, lines=lines)

    assert changes(plan("a", "b"), plan("a", "c")) == ("was: b; now: c",)
    assert changes(plan("a"), plan("a", "c")) == ("new: c",)
    assert changes(plan("a", "c"), plan("a")) == ("no longer: c",)
    many = changes(plan(*(f"a{at}" for at in range(9))), plan(*(f"b{at}" for at in range(9))))
    assert many == (*(f"was: a{at}; now: b{at}" for at in range(4)), "and 5 more")
    group = Call(method="DELETE", path="/g", target="podgroup team-a/llm")
    assert changes(plan("a"), plan("a", calls=(group,))) == ("new: DELETE podgroup team-a/llm",)
    other = msgspec.structs.replace(group, body={"a": 1})
    assert changes(plan(calls=(group,)), plan(calls=(other,))) == ("what would be sent is different",)


TAINT = {"key": "nvidia.com/gpu", "effect": "NoSchedule"}
OF_CONTROLLER = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("shown", "now", "is_same"),
    [
        ([TAINT, OF_CONTROLLER], [TAINT], True),
        ([TAINT], [OF_CONTROLLER, TAINT], True),
        ([OF_CONTROLLER], None, True),
        ([TAINT], None, False),
        ([TAINT], [{**TAINT, "effect": "NoExecute"}], False),
        ([TAINT], [TAINT, {"key": "mine", "effect": "NoSchedule"}], False),
    ],
)
def test_a_taint_of_the_node_controllers_is_no_other_effect(
    shown: list[dict[str, str]], now: list[dict[str, str]] | None, is_same: bool
) -> None:
    def call(taints: object) -> Call:
        spec = {"unschedulable": None, "taints": taints}
        return Call(method="PATCH", path="/api/v1/nodes/gpu-1", body={"spec": spec})

    assert does_the_same([call(shown)], [call(now)]) is is_same
