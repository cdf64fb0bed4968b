"""Never two changes of a pool in flight, never beyond its maximum, never a busy node removed, whatever order
events come in: what may happen is told in `rough_interleaved`, a seed decides what does.

`COCKPIT_INTERLEAVINGS` asks for more of them.
"""

import os
from collections import Counter

import pytest

from cockpit.model.lease import Lease
from tests.unit.actions.rough_interleaved import RoughWorld

WORLDS = int(os.environ.get("COCKPIT_INTERLEAVINGS", "600"))
PARTS = 4
STEPS = 300
FIRST_SEED = 70_000


@pytest.mark.parametrize("part", range(PARTS))
def test_no_bad_day_makes_two_changes_one_too_many_or_a_loss(part: int) -> None:
    faults: dict[int, list[str]] = {}
    did: Counter[str] = Counter()
    for seed in range(FIRST_SEED + part, FIRST_SEED + WORLDS, PARTS):
        world = RoughWorld(seed)
        world.run(STEPS)
        if world.faults:
            faults[seed] = world.faults
        did.update(world.did)
        did.update(world.verbs)
    assert faults == {}
    done = ("grow done", "shrink done", "reclaim done", "limit done", "conflicts", "lost", "again", "crashes")
    assert min(did[one] for one in done) >= 5, did


def test_the_model_of_a_bad_day_would_notice_two_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Lease, "is_in_force", lambda _self, _now: False)
    assert _meets("in flight")


def test_the_model_of_a_bad_day_would_notice_a_size_beyond_the_maximum(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("cockpit.pools.plan._refuse", lambda *_: None)
    assert _meets("beyond the maximum")


def test_the_model_of_a_bad_day_would_notice_a_reclaim_of_a_busy_node(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where nobody looks who is on it."""
    monkeypatch.setattr("cockpit.pools.idle.users_of", lambda _node, _store: ())
    assert _meets("busy node")


def test_the_model_of_a_bad_day_would_notice_a_busy_node_that_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a shrink believes its tables."""
    monkeypatch.setattr("cockpit.pools.shrink.still_there", lambda _node, _store: [])
    monkeypatch.setattr("cockpit.pools.plan._refuse_below_busy", lambda *_: None)
    assert _meets("busy node")


def _meets(words: str) -> bool:
    for seed in range(600):
        world = RoughWorld(seed)
        world.run(STEPS)
        if any(words in told for told in world.faults):
            return True
    return False
