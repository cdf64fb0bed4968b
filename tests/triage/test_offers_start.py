"""Offers done on an embedded cluster: the job then starts. All of them: `python -m tests.triage offers`."""

import random

import pytest

from tests.triage.case import read_cases
from tests.triage.offer_plays import played_embedded

ROWS = (
    "gpus-short-",
    "taint-",
    "cordoned-",
    "selector-",
    "pod-affinity-",
    "host-port-",
    "gpus-in-pieces-",
    "gang-members-missing-members",
    "gang-missing-no-such",
    "held-before-queue-",
)
"""What the embedded cluster plays as the real one does: a case of each is drawn."""
SEED = 16


def _drawn() -> list[str]:
    rng = random.Random(SEED)
    names = [one.name for one in read_cases()]
    return [rng.choice([one for one in names if one.startswith(row)]) for row in ROWS]


@pytest.mark.parametrize("name", _drawn())
def test_after_each_offer_the_job_starts(name: str) -> None:
    (case,) = (one for one in read_cases() if one.name == name)
    found = list(played_embedded([case]))
    assert found, "nothing is offered"
    wrong = [f"{one.words}: {one.outcome}" for one in found if one.is_applied and not one.is_started]
    assert not wrong
    assert any(one.is_applied for one in found)
