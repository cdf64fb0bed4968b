"""Nights with many incidents: *Now*, opened fresh, has a row for each and none besides."""

from collections import Counter

import pytest

from tests.triage.night import Night, night

SEEDS = (1, 3)


@pytest.fixture(scope="module", params=SEEDS)
def shift(request: pytest.FixtureRequest) -> Night:
    return night(request.param)


def test_every_incident_is_a_row_that_names_cause_and_object_and_nothing_else_is_one(shift: Night) -> None:
    assert shift.complaints() == []


def test_it_is_a_night_of_many_kinds_among_many_healthy_objects(shift: Night) -> None:
    assert len({one.kind for one in shift.incidents}) >= 24
    assert sum(len(trees) for trees in shift.case.objects.values()) >= 1_000


def test_what_is_broken_comes_first_and_then_what_has_cost_more(shift: Night) -> None:
    rows = shift.rows()
    assert [row.is_bad for row in rows] == sorted((row.is_bad for row in rows), reverse=True)
    assert max(Counter(row.key for row in rows).values()) == 1
    assert all(len(row.sentence) <= 100 for row in rows)


def test_a_night_without_its_incidents_is_quiet() -> None:
    """A finding that a healthy object brings is caught here, not only where it hides among others."""
    one = night(2)
    whole = {incident.subject for incident in one.incidents}
    assert len(whole) == len(one.incidents), "two incidents about one object"
    missed = one._replace(incidents=one.incidents[1:])
    assert len(missed.complaints()) == 1, "a row about nothing that was staged is a complaint"
