"""The same promises among people who do more at once: three terminals of two persons, shrinks and a moved
maximum beside growth and reclaim, plans that are read for a quarter of an hour, another tool that drains.

`COCKPIT_INTERLEAVINGS` asks for more of them.
"""

import os
from collections import Counter

import pytest

from cockpit.model.lease import Lease
from tests.unit.actions.wild_interleaved import WildWorld

WORLDS = int(os.environ.get("COCKPIT_INTERLEAVINGS", "600"))
STEPS = 300
FIRST_SEED = 70_000


def test_no_day_of_many_hands_makes_two_changes_one_too_many_or_a_loss() -> None:
    faults: dict[int, list[str]] = {}
    did: Counter[str] = Counter()
    for seed in range(FIRST_SEED, FIRST_SEED + WORLDS):
        world = WildWorld(seed)
        world.run(STEPS)
        if world.faults:
            faults[seed] = world.faults
        did.update(world.did)
        did.update(world.verbs)
    assert faults == {}
    done = ("grow done", "shrink done", "reclaim done", "limit done", "conflicts", "lost", "again", "crashes")
    assert min(did[one] for one in done) >= 5, did


def test_the_model_of_many_hands_would_notice_two_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Lease, "is_in_force", lambda _self, _now: False)
    assert _meets("in flight")


def test_the_model_of_many_hands_would_notice_a_busy_node_that_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a shrink believes its tables."""
    monkeypatch.setattr("cockpit.pools.shrink.still_there", lambda _node, _store: [])
    monkeypatch.setattr("cockpit.pools.plan._refuse_below_busy", lambda *_: None)
    assert _meets("busy node")


def _meets(words: str) -> bool:
    for seed in range(600):
        world = WildWorld(seed)
        world.run(STEPS)
        if any(words in told for told in world.faults):
            return True
    return False
