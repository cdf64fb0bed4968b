"""A soak: five minutes of faults where the page of reliability is made, a handful in every other run."""

import pytest

from tests.reliability.figures import Tell, whole
from tests.soak.__main__ import told
from tests.soak.drawn_faults import FAULTS
from tests.soak.drawn_keys import MOVES
from tests.soak.ground import as_bytes
from tests.soak.soak import soak

SEED = 1


@pytest.mark.waits
@pytest.mark.row(68, "faults injected", least=10, unit="cases")
@pytest.mark.row(68, "quiet points at which state differs", most=0)
@pytest.mark.row(68, "crashes", most=0)
@pytest.mark.row(68, "tasks lost", most=0)
@pytest.mark.row(68, "descriptors lost", most=0)
@pytest.mark.row(68, "writes sent", most=0)
@pytest.mark.row(68, "back after a fault", most=10, unit="s")
@pytest.mark.row(68, "q ends it", most=1, unit="s")
def test_after_every_fault_the_state_is_the_servers(figure: Tell) -> None:
    outcome = soak(SEED, whole(10, 2), whole(30, 0), print)
    print("\n".join(told(outcome)))
    figure("faults injected", len(outcome.quiet) - 1)
    figure("quiet points at which state differs", len(outcome.unequal))
    figure("crashes", len(outcome.crashes))
    figure("tasks lost", outcome.lost_tasks.total())
    figure("descriptors lost", outcome.lost_descriptors.total())
    figure("writes sent", len(outcome.writes))
    figure("back after a fault", outcome.longest_return_seconds)
    figure("q ends it", outcome.end_seconds)
    assert outcome.exit_code == 0


def test_faults_are_of_most_rows_and_have_names_of_their_own() -> None:
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)
    rows = {row for fault in FAULTS for row in fault.rows}
    assert len(rows & set(range(1, 49))) >= 28, sorted(rows)


def test_every_key_is_one_that_a_terminal_sends() -> None:
    assert all(as_bytes(key) for move in MOVES for key in move.split())
