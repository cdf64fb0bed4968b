"""What was begun already is waited for, and not offered once more."""

import pytest

from tests.unit.triage.changes.test_changes import HINT, WAITS, holding, in_pool, offers, pooled, waiting
from tests.unit.triage.objects import changes_of, job, node, pods_of, view_of


@pytest.mark.parametrize(
    ("joining", "members", "words"),
    [
        (1, 1, ["wait for pool h100: 1 node on the way, 1 ready"]),
        (3, 2, ["wait for pool h100: 3 nodes on the way, 1 ready"]),
        (1, 3, ["grow pool h100 by 2 nodes, to 4"]),
    ],
)
def test_a_pool_is_not_grown_again_for_what_it_brings_already(
    joining: int, members: int, words: list[str]
) -> None:
    trees = [in_pool("a", "h100"), *holding("x", "a"), *waiting(members)]
    found = offers(view_of(trees, pools=(pooled(replicas=1 + joining, max_replicas=9),)))
    ways = [found[kind].words for kind in ("wait_nodes", "scale_pool", "raise_maximum") if kind in found]
    assert ways == words
    assert all(one.is_checked for one in found.values())


def test_an_empty_pool_that_was_grown_is_waited_for() -> None:
    view = view_of(waiting(2), pools=(pooled(annotations=(HINT,), replicas=2),))
    assert {one.kind: one.words for one in changes_of(WAITS, view)} == {
        "wait_nodes": "wait for pool h100: 2 nodes on the way, 0 ready"
    }


def test_a_job_that_ends_already_is_waited_for_and_not_ended_again() -> None:
    one = job("x", 1, 8)
    one["spec"]["suspend"] = True
    going = pods_of(one, ["a"])
    for pod in going:
        pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    found = changes_of(WAITS, view_of([node("a"), one, *going, *waiting()]))
    assert not {"suspend", "kill"} & {each.kind for each in found}
    assert "wait for the end of team-a/x (8 GPUs)" in [each.words for each in found]


def test_of_two_jobs_the_one_that_ends_already_is_not_named_in_the_command() -> None:
    one = job("x", 1, 8)
    one["spec"]["suspend"] = True
    going = pods_of(one, ["a"])
    for pod in going:
        pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    trees = [node("a"), node("b"), one, *going, *holding("y", "b"), *waiting(2)]
    found = offers(view_of(trees))["suspend"]
    assert found.words == "suspend team-a/y (8 GPUs), beside the end of team-a/x"
    assert found.command == ("cockpit", "job", "suspend", "team-a/y", "--write")
