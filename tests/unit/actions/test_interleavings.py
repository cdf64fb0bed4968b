"""Two cockpits, an autoscaler, a scheduler and nodes that come and go, in 10,000 orders that a seed decides:
never two changes of ours in flight, never beyond the maximum, never a busy node removed.

`COCKPIT_INTERLEAVINGS` asks for more of them.
"""

import os
from collections import Counter

import pytest

from cockpit.model.lease import Lease
from tests.unit.actions.interleaved import World

WORLDS = int(os.environ.get("COCKPIT_INTERLEAVINGS", "10000"))
PARTS = 10
STEPS = 120


@pytest.mark.parametrize("part", range(PARTS))
def test_no_order_of_events_makes_two_changes_one_too_many_or_a_loss(part: int) -> None:
    faults: dict[int, list[str]] = {}
    did: Counter[str] = Counter()
    for seed in range(part, WORLDS, PARTS):
        world = World(seed)
        world.run(STEPS)
        if world.faults:
            faults[seed] = world.faults
        did["sizes"] += len(world.cluster.sizes)
        did["removals"] += sum(
            told.startswith("done: Removing") for one in world.cockpits for told in one.told
        )
        did["refusals"] += sum("is being changed by" in told for one in world.cockpits for told in one.told)
    assert faults == {}
    least = WORLDS // PARTS // 50
    assert min(did[one] for one in ("sizes", "removals", "refusals")) >= least, did


def test_the_model_would_notice_two_changes_in_flight(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Lease, "is_in_force", lambda _self, _now: False)
    assert _meets("in flight", 400)


def test_the_model_would_notice_a_size_beyond_the_maximum(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cockpit.pools.plan._refuse", lambda *_: None)
    assert _meets("beyond the maximum", 200)


def test_the_model_would_notice_a_busy_node_that_is_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nobody looks who is on it."""
    monkeypatch.setattr("cockpit.pools.idle.users_of", lambda _node, _store: ())
    assert _meets("busy node", 400)


def _meets(words: str, worlds: int) -> bool:
    for seed in range(worlds):
        world = World(seed)
        world.run(STEPS)
        if any(words in told for told in world.faults):
            return True
    return False
