"""Offers where a second wall stands behind the first: they go through both, or say what comes next."""

import copy
import random
from collections.abc import Iterator

import msgspec
import pytest

from cockpit.fit.shape import Part
from cockpit.model.gang import ClusterQueue
from cockpit.model.record import Kind
from cockpit.triage.changes.gates import left_after
from cockpit.triage.changes.offer import ChangeOffer, Desk
from cockpit.triage.changes.smallest import Route, after, changes_for, desk_of, routes
from cockpit.triage.engine import explain
from cockpit.triage.wanted import Demand
from tests.triage.case import Case, read_cases
from tests.triage.offer_plays import played_embedded
from tests.triage.walls import WALLS, second_walls
from tests.triage.world import view_of

SEED, PLAYED = 31, 6


@pytest.fixture(scope="module")
def pairs() -> list[tuple[str, Case]]:
    return list(second_walls(read_cases()))


def smaller(offer: ChangeOffer, desk: Desk) -> Iterator[ChangeOffer]:
    """The same offer with smaller numbers: less quota, fewer nodes, or a larger part of the job left."""
    then, kind = offer.then, offer.change.kind
    queues = [record for _, record in then.records if isinstance(record, ClusterQueue)]
    if kind in ("more_nodes", "scale_pool", "ask_nodes", "raise_maximum"):
        for count in range(len(then.records)):
            yield offer._replace(then=msgspec.structs.replace(then, records=then.records[:count]))
    elif kind == "raise_quota" and queues and desk.queue is not None:
        (queue,) = queues
        for at, (row, was) in enumerate(zip(queue.quotas, desk.queue.quotas, strict=False)):
            low, high = was.nominal, row.nominal - 1
            while low <= high:
                middle = (low + high) // 2
                less = msgspec.structs.replace(row, nominal=middle)
                rows = (*queue.quotas[:at], less, *queue.quotas[at + 1 :])
                record = msgspec.structs.replace(queue, quotas=rows)
                yield offer._replace(
                    then=msgspec.structs.replace(then, records=((Kind.CLUSTER_QUEUE, record),))
                )
                low = middle + 1
    elif kind == "fewer_members" and len(then.parts) == 1:
        (part,) = then.parts
        for count in range(part.count + 1, desk.wanted.parts[0].count):
            parts = (Part(part.role, count, part.shape),)
            yield offer._replace(then=msgspec.structs.replace(then, parts=parts))


def starts(desk: Desk, route: Route) -> bool:
    """Whether all of the steps in their order start the subject."""
    for one in route[:-1]:
        desk = after(desk, one)
    return next(left_after(desk, route[-1]), None) is None


def test_every_offer_starts_or_says_what_comes_next(pairs: list[tuple[str, Case]]) -> None:
    offered = starting = 0
    for _, case in pairs:
        view = view_of(case)
        subject = case.file.subject
        changes = changes_for(explain(subject, view), view)
        for change in changes:
            assert change.is_checked != bool(change.leaves), (case.name, change)
            for step in change.steps or (change,):
                ended = step.command if step.kind in ("suspend", "kill") else ()
                assert subject.key not in ended, (case.name, change.words)
        offered += bool(changes)
        starting += any(change.is_checked for change in changes)
    assert len(pairs) > 300 and {wall for wall, _ in pairs} == set(WALLS)
    assert offered > 0.75 * len(pairs) and starting > 0.7 * len(pairs), (offered, starting, len(pairs))


def test_no_smaller_number_would_have_done(pairs: list[tuple[str, Case]]) -> None:
    tried = 0
    for _, case in pairs:
        view = view_of(case)
        verdict = explain(case.file.subject, view)
        demand = Demand(case.file.subject, view)
        if demand.wanted is None or not verdict.cause:
            continue
        first = desk_of(verdict, view, demand)
        for route in routes(first):
            desk = first
            assert starts(desk, route)
            for at, step in enumerate(route):
                for less in smaller(step, desk):
                    words = (case.name, [one.change.words for one in route], less.then)
                    assert not starts(desk, (less, *route[at + 1 :])), words
                    tried += 1
                desk = after(desk, step)
    assert tried > 200


def test_what_starts_starts(pairs: list[tuple[str, Case]]) -> None:
    started = 0
    for _, case in random.Random(SEED).sample(pairs, len(pairs)):
        for one in played_embedded([case]):
            if one.is_applied:
                assert one.is_started, f"{one.case}: {one.words}: {one.outcome}"
                started += 1
        if started >= PLAYED:
            break
    assert started >= PLAYED


@pytest.mark.parametrize(
    ("strategy", "most"),
    [
        ({}, "48"),
        ({"rollingUpdate": {"maxUnavailable": 1}}, "32"),
        ({"rollingUpdate": {"maxUnavailable": "50%"}}, "32"),
        ({"rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}}, "48"),
        ({"type": "Recreate"}, "32"),
    ],
)
def test_a_quota_is_raised_for_the_pod_that_a_rollout_has_besides(
    pairs: list[tuple[str, Case]], strategy: dict[str, object], most: str
) -> None:
    name = "namespace-quota-used-up-quota-of-a-replica-set-1+taint"
    case = next(case for _, case in pairs if case.name == name)
    objects = copy.deepcopy(dict(case.objects))
    objects["deployments.apps"][0]["spec"]["strategy"] = strategy
    view = view_of(msgspec.structs.replace(case, objects=objects))
    raised = [one.words for one in changes_for(explain(case.file.subject, view), view) if one.is_checked]
    assert [words.partition(" GiB of memory")[0].rpartition(" ")[2] for words in raised] == [most]


def test_a_pod_of_a_rollout_has_a_seat_beside_the_old_ones(pairs: list[tuple[str, Case]]) -> None:
    """The offer of the rollout is done: old pods stay until a new one is there."""
    name = "namespace-quota-used-up-quota-of-a-replica-set-1+taint"
    (play,) = played_embedded([case for _, case in pairs if case.name == name], "taint")
    assert play.is_started, play.line()
