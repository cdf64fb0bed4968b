"""Offers where others wait, too: what comes free goes to those who are before the subject."""

import pytest
from msgspec import structs

from cockpit.model.finding import Subject
from tests.unit.triage.changes.test_changes import (
    WAITS,
    holding,
    offers,
    queued,
    queues,
    waiting,
    workload,
)
from tests.unit.triage.objects import Tree, changes_of, job, node, pods_of, view_of

LATER = "2027-01-15T07:10:00Z"


def line(name: str, gpus: int, created: str = "", members: int = 1) -> list[Tree]:
    """A job that waits in the queue."""
    one = job(name, members, gpus)
    one["spec"]["suspend"] = True
    one["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "research-lq"}
    stands = workload(one, "research-lq")
    if created:
        stands["metadata"]["creationTimestamp"] = created
    return [one, stands]


def admitted(name: str, place: str, gpus: int = 8) -> list[Tree]:
    one = job(name, 1, gpus)
    one["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "research-lq"}
    return [one, *pods_of(one, (place,)), workload(one, "research-lq", admitted_by="research")]


def test_quota_for_those_before_it_is_of_no_use_where_they_take_the_last_seats() -> None:
    trees = [*queues(8, 8), *admitted("x", "a"), *line("first", 8), *queued()]
    short_of_seats = offers(view_of([node("a"), node("b"), *trees]))
    assert "raise_quota" not in short_of_seats
    both = short_of_seats["raise_quota more_nodes"]
    assert both.words == "raise research's quota of GPUs in flavor default to 24, then 1 more node like a"
    enough = offers(view_of([node("a"), node("b"), node("c"), *trees]))
    assert enough["raise_quota"].words == "raise research's quota of GPUs in flavor default to 24"


def test_a_job_that_was_let_in_has_its_seats_before_its_pods_are_made() -> None:
    trees = [*queues(8, 8), *queued()]
    without_pods = [one for one in admitted("x", "a") if one["kind"] != "Pod"]
    found = offers(view_of([node("a"), *trees, *without_pods]))
    assert "raise_quota" not in found
    assert found["raise_quota more_nodes"].words.endswith("to 16, then 1 more node like a")


def test_quota_that_another_step_frees_is_not_raised() -> None:
    trees = [*queues(8, 8), *admitted("x", "a"), *line("first", 8), *queued()]
    found = offers(view_of([node("a"), node("b"), *trees]))["wait_for raise_quota"]
    raised = "raise research's quota of GPUs in flavor default to 16"
    assert found.words == f"wait for team-a/x (8 GPUs), then {raised}"


def test_a_stopped_queue_without_quota_needs_both() -> None:
    found = offers(view_of([node("a"), *queues(8, 4, stop="Hold"), *queued()]))
    assert "resume_queue" not in found
    assert {"raise_quota", "resume_queue"} <= {kind for one in found for kind in one.split()}


@pytest.mark.parametrize(("flavor", "starts"), [("default", True), ("other", False)])
def test_a_stopped_queue_hides_a_flavor_that_does_not_exist(flavor: str, starts: bool) -> None:
    view = view_of([node("a"), *queues(8, 0, stop="Hold"), *queued()])
    trees = {**view.trees, ("ResourceFlavor", ""): [{"metadata": {"name": flavor}, "spec": {}}]}
    found = offers(structs.replace(view, trees=trees))["resume_queue"]
    assert found.is_checked is starts
    assert starts or "ResourceFlavor default" in found.leaves


def test_those_behind_it_take_nothing() -> None:
    trees = [node("a"), node("b"), *queues(8, 8), *admitted("x", "a"), *line("later", 8, LATER), *queued()]
    assert offers(view_of(trees))["raise_quota"].words.endswith("to 16")


def test_a_job_made_anew_stands_at_the_end() -> None:
    trees = [node("a"), *queues(8, 4), *holding("x", "a", gpus=4), *queued(8)]
    smaller = offers(view_of(trees))
    assert smaller["fewer_gpus"].words == "4 GPUs instead of 8"
    assert "fewer_gpus" not in offers(view_of([*trees, *line("later", 4, LATER)]))


def test_what_comes_free_goes_to_those_before_it() -> None:
    trees = [node("a"), node("b"), *queues(8, 8), *admitted("x", "a"), *queued()]
    assert {"wait_for", "suspend"} <= set(offers(view_of(trees)))
    assert not {"wait_for", "suspend"} & set(offers(view_of([*trees, *line("first", 2)])))
    too_large = offers(view_of([*trees, *line("first", 8, members=2)]))
    assert {"wait_for", "suspend"} <= set(too_large)


def test_a_stopped_queue_lets_those_in_first_who_were_there_before() -> None:
    trees = [node("a"), *queues(8, 0, stop="Hold"), *queued()]
    assert "resume_queue" in offers(view_of(trees))
    assert "resume_queue" not in offers(view_of([*trees, *line("first", 8)]))


def test_a_queue_of_strict_order_is_no_way_past_its_head() -> None:
    spare = queues(8, 0, name="spare")
    head = line("head", 16)
    head[1]["spec"]["queueName"] = "spare-lq"
    trees = [node("a"), node("b"), *queues(8, 4), *spare, *head, *queued()]
    assert "other_queue" in offers(view_of(trees))
    spare[0]["spec"]["queueingStrategy"] = "StrictFIFO"
    assert "other_queue" not in offers(view_of(trees))


@pytest.mark.parametrize(("priority", "is_first"), [(0, True), (10, True), (-1, False)])
def test_pods_that_no_node_takes_come_first_unless_they_are_less_important(
    priority: int, is_first: bool
) -> None:
    other = job("other", 1, 8, priority=priority)
    trees = [node("a"), *holding("x", "a"), *waiting(), other, *pods_of(other)]
    found = offers(view_of(trees))
    assert ("suspend" not in found) is is_first
    assert found["more_nodes"].words == ("2 more nodes like a" if is_first else "1 more node like a")


def test_half_a_gang_that_is_ended_waits_no_more() -> None:
    half = job("half", 2, 8)
    trees = [node("a"), half, *pods_of(half, ("a",)), *waiting()]
    assert offers(view_of(trees))["suspend"].target == Subject("job", "team-a", "half")


def test_room_that_others_cannot_use_is_the_subjects_own() -> None:
    """A pod of another pool waits for other nodes."""
    other = job("other", 1, 8, nodeSelector={"pool": "b"})
    trees = [node("a"), *holding("x", "a"), *waiting(), other, *pods_of(other)]
    assert "suspend" in {one.kind for one in changes_of(WAITS, view_of(trees))}
