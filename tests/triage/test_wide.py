"""One object at fault and up to 200 jobs that rest on it: one row on *Now* within half a minute."""

from random import Random

import pytest

from tests.triage.wide import FAULTS, Fault, a_tag_of_that_name_elsewhere, a_tag_that_is_not_there, complaints

PAIRS = 8


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
async def test_it_is_one_row_that_names_the_root_and_counts_what_waits(fault: Fault) -> None:
    assert await complaints(fault) == []


async def test_images_of_one_short_name_are_two_rows() -> None:
    assert await complaints(a_tag_that_is_not_there, a_tag_of_that_name_elsewhere) == []


def _pairs() -> list[tuple[Fault, Fault]]:
    random = Random(26)
    return [(one, two) for one, two in (random.sample(FAULTS, 2) for _ in range(PAIRS))]


@pytest.mark.parametrize("pair", _pairs(), ids=lambda pair: "-and-".join(fault.__name__ for fault in pair))
async def test_two_faults_at_once_are_two_rows_and_nothing_else(pair: tuple[Fault, Fault]) -> None:
    assert await complaints(*pair) == []
