"""The same promises on a bad day: clocks that differ, conflicts, answers lost, requests that arrive twice,
cockpits that crash, nodes that join late.

`COCKPIT_INTERLEAVINGS` asks for more of them.
"""

import os
from collections import Counter

import pytest

from cockpit.model.lease import Lease
from tests.unit.actions.rough_interleaved import RoughWorld

WORLDS = int(os.environ.get("COCKPIT_INTERLEAVINGS", "1500"))
PARTS = 3
STEPS = 120
FIRST_SEED = 40_000


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
        did["sizes"] += len(world.cluster.sizes)
    assert faults == {}
    assert min(did.values()) >= 10, did


def test_the_model_of_a_bad_day_would_notice_two_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Lease, "is_in_force", lambda _self, _now: False)
    assert _meets("in flight")


def test_the_model_of_a_bad_day_would_notice_a_busy_node_that_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cockpit.pools.idle.users_of", lambda _node, _store: ())
    assert _meets("busy node")


def _meets(words: str) -> bool:
    for seed in range(600):
        world = RoughWorld(seed)
        world.run(STEPS)
        if any(words in told for told in world.faults):
            return True
    return False
