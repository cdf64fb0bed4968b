"""Causes beside others in one cluster: what the headline is, and what is told besides."""

import re

import pytest

from cockpit.catalogue import Cause
from tests.triage.company import (
    BESIDE,
    KINDS,
    SECONDS,
    Answer,
    Situation,
    answer,
    figures,
    reaches_bar,
    situations,
)
from tests.triage.company_neighbours import playable
from tests.triage.shared_cluster import TAINTED, UNSELECTED, Change, Clash, counted
from tests.triage.stage import SCRIPTS

SEED, COUNT = 27, 40


@pytest.fixture(scope="module")
def drawn() -> list[Situation]:
    return situations(SEED, COUNT)


@pytest.fixture(scope="module")
def found(drawn: list[Situation]) -> list[Answer]:
    return [answer(one) for one in drawn]


def test_the_bar_is_reached(found: list[Answer]) -> None:
    misses = "\n".join(one.line() for one in found if one.misses())
    assert reaches_bar(found), f"{figures(found)}\n{misses}"


def test_a_seed_draws_the_same_and_each_has_three_neighbours(drawn: list[Situation]) -> None:
    assert drawn == situations(SEED, COUNT) != situations(SEED + 1, COUNT)
    assert {len(one.neighbours) for one in drawn} == {BESIDE + 1}  # and how nodes are told apart
    assert len({one.case.file.top for one in drawn}) > COUNT * 0.8


def test_subjects_are_of_the_whole_catalogue() -> None:
    causes = {SCRIPTS[name].row for name in playable()}
    assert len(causes) >= 80 and set(Cause) - causes <= {Cause.DECLARED_FINISHED}
    assert {one.cause for one in SECONDS} <= set(Cause) and len(set(KINDS)) >= 8


def test_what_schedulers_say_counts_all_nodes(drawn: list[Situation]) -> None:
    seen = 0
    for one in drawn:
        nodes = len(one.case.objects["nodes"])
        for pod in one.case.objects["pods"]:
            for mark in pod["status"].get("conditions", ()):
                text = mark.get("message", "")
                total = re.match(r"0/(\d+) nodes are", text)
                if total is None or "optimistic" in text:
                    continue
                seen += 1
                assert int(total[1]) == nodes, f"{one.name}: {text}"
                head = text.partition(": ")[2].partition(". ")[0].split(", ")
                parts = [part.split()[0] for part in head if part[0].isdigit()]
                assert not parts or sum(map(int, parts)) >= nodes, f"{one.name}: {text}"
    assert seen > COUNT


def test_no_two_objects_have_one_name(drawn: list[Situation]) -> None:
    for one in drawn:
        for label, trees in one.case.objects.items():
            keys = [(tree["metadata"].get("namespace"), tree["metadata"]["name"]) for tree in trees]
            assert len(set(keys)) == len(keys), f"{one.name}: {label}"


HELPLESS = "Preemption is not helpful for scheduling"
FULL = (
    "0/2 nodes are available: 2 Insufficient nvidia.com/gpu. preemption: 0/2 nodes are available: 2 No "
    "preemption victims found for incoming pod."
)


def test_further_nodes_are_counted_with_their_reason() -> None:
    assert counted(FULL, ["", ""], [UNSELECTED, UNSELECTED, TAINTED]) == (
        f"0/5 nodes are available: 1 {TAINTED}, 2 Insufficient nvidia.com/gpu, 2 {UNSELECTED}. preemption: "
        f"0/5 nodes are available: 2 No preemption victims found for incoming pod, 3 {HELPLESS}."
    )


def test_a_second_fault_is_what_the_first_filters_say_then() -> None:
    change = Change(selector={"gpu": "b300"})
    assert counted(FULL, [UNSELECTED, UNSELECTED], [UNSELECTED], change) == (
        f"0/3 nodes are available: 3 {UNSELECTED}. no new claims to deallocate, preemption: 0/3 nodes are "
        f"available: 3 {HELPLESS}."
    )
    assert "persistentvolumeclaim" in counted(FULL, ["", ""], [TAINTED], Change(claim="data"))


def test_what_is_said_of_the_whole_pod_keeps_its_words() -> None:
    said = 'persistentvolumeclaim "data" not found. not found'
    assert (
        counted(f"0/2 nodes are available: {said}", ["", ""], [TAINTED]) == f"0/3 nodes are available: {said}"
    )


def test_a_pod_that_another_case_has_room_for_is_no_situation() -> None:
    with pytest.raises(Clash):
        counted(FULL, ["", ""], [""])
