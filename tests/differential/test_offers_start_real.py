"""Offers done on a real control plane: the real scheduler and the real engines then start the job.

All of them, in both generations: `python -m tests.triage offers`.
"""

import random

import pytest

from tests.real import commit, seed_of
from tests.triage.offer_plays import played_on_beds
from tests.triage.recorder import Asked
from tests.triage.scripts import ALL
from tests.triage.stage import SCRIPTS

pytestmark = [pytest.mark.real, pytest.mark.waits]

EACH = 2
"""Scripts drawn of what the API server, the scheduler and the queue hold."""


def _drawn() -> list[tuple[Asked, str]]:
    assert ALL
    rng = random.Random(seed_of(commit()))
    found = []
    for source in ("kube-apiserver", "kube-scheduler", "kueue"):
        real = sorted((one for one in SCRIPTS.values() if one.source == source), key=lambda one: one.name)
        found += rng.sample(real, EACH)
    return [(Asked(one, rng.randrange(1000, 1_000_000)), "") for one in found]


def test_after_each_offer_the_job_starts() -> None:
    found = list(played_on_beds(_drawn()))
    wrong = [one.line() for one in found if one.is_applied and not one.is_started]
    assert not wrong
    assert found
