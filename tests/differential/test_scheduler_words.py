"""The embedded scheduler, in every situation of the table, says what kube-scheduler 1.36.3 said."""

import pytest

from tests.differential.embedded_scheduling import embedded, recorded, said, woken
from tests.differential.scheduling_situations import Situation
from tests.differential.scheduling_table import TABLE
from tests.differential.scheduling_wakes import WAKES, Wake


@pytest.mark.parametrize("situation", TABLE, ids=lambda one: one.name)
def test_the_embedded_scheduler_says_what_kube_scheduler_said(situation: Situation) -> None:
    assert list(said(embedded(situation))) == recorded()[situation.name]


def test_the_table_is_large_enough_and_names_are_unique() -> None:
    assert len(TABLE) >= 40
    assert {situation.name for situation in TABLE} == set(recorded())
    assert len({situation.name for situation in TABLE}) == len(TABLE)


@pytest.mark.parametrize("wake", WAKES, ids=lambda one: one.name)
def test_the_embedded_scheduler_places_a_pod_once_it_is_cured(wake: Wake) -> None:
    before, node = woken(wake)
    assert before.startswith(wake.situation.says)
    assert node == wake.node
