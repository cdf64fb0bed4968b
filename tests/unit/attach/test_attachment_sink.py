"""What an attachment does with what comes in, with no cluster."""

import random

from msgspec.structs import replace

from cockpit.attach import CATCH_UP_OBJECTS, Attachment, AttachOptions
from cockpit.clock import ManualClock
from cockpit.model.batch import Batch, Phase, StreamStatus
from cockpit.model.pod import Pod
from cockpit.model.record import Kind


def pods(first: int, count: int) -> tuple[Pod, ...]:
    return tuple(
        Pod(uid=f"uid-{number}", name=f"train-{number}", namespace="team-a", gpus=1, phase="Running")
        for number in range(first, first + count)
    )


def attachment(told: list[int]) -> Attachment:
    return Attachment(AttachOptions(), ManualClock(), random.Random(1), lambda: told.append(1))


def test_a_small_change_waits_for_the_next_look() -> None:
    told: list[int] = []
    one = attachment(told)
    one.sink(Batch(kind=Kind.POD, changed=pods(0, 3)))
    assert len(told) == 1
    assert not one.jobs.jobs
    one.jobs.catch_up()
    assert len(one.jobs.jobs) == 3


def test_a_big_list_is_absorbed_in_pieces_as_it_comes() -> None:
    one = attachment([])
    for first in range(0, CATCH_UP_OBJECTS, 500):
        one.sink(Batch(kind=Kind.POD, changed=pods(first, 500)))
    assert len(one.jobs.jobs) == CATCH_UP_OBJECTS
    one.sink(Batch(kind=Kind.POD, changed=pods(CATCH_UP_OBJECTS, 500)))
    assert len(one.jobs.jobs) == CATCH_UP_OBJECTS
    one.jobs.catch_up()
    assert len(one.jobs.jobs) == CATCH_UP_OBJECTS + 500


def status(kind: str, phase: Phase) -> Batch:
    return Batch(kind=kind, status=StreamStatus(kind=kind, phase=phase))


def test_the_big_lists_are_in_once_both_came_or_cannot_be_had_and_stay_it() -> None:
    one = attachment([])
    for phase in (Phase.CONNECTING, Phase.LISTING):
        one.sink(status(Kind.NODE, phase))
        one.sink(status(Kind.POD, phase))
        assert not one.has_listed
    one.sink(status(Kind.NODE, Phase.LIVE))
    assert not one.has_listed
    one.sink(status(Kind.POD, Phase.DENIED))
    assert one.has_listed
    one.sink(status(Kind.POD, Phase.LISTING))
    assert one.has_listed


def test_a_pod_that_is_gone_before_anybody_looks_has_used_its_node() -> None:
    one = attachment([])
    on_node = tuple(replace(pod, node="n1") for pod in pods(0, 1))
    one.sink(Batch(kind=Kind.POD, changed=on_node))
    assert one.sightings.used("n1") is None, "what a list tells is there to be looked at"
    one.sink(status(Kind.NODE, Phase.LIVE))
    one.sink(status(Kind.POD, Phase.LIVE))
    one.sink(Batch(kind=Kind.POD, changed=on_node))
    one.sink(Batch(kind=Kind.POD, removed=("uid-0",)))
    assert one.sightings.used("n1") == one.clock.cluster_now()
