"""Whom a change would preempt, foretold by the records, beside whom the queue controller then preempts."""

import pytest

from tests.unit.gangs.kueue.drawn_queues import (
    Change,
    EmbeddedQueues,
    NeverAtRest,
    opened,
    prioritised,
    resumed,
    submitted,
)

SEEDS = range(60)
EVENTFUL = 8
"""At least so many of the seeds preempt: a comparison of nothing with nothing proves nothing."""


@pytest.mark.parametrize("change", [submitted, prioritised, resumed, opened])
async def test_those_are_preempted_that_were_foretold(change: Change) -> None:
    eventful = unknown = 0
    for seed in SEEDS:
        try:
            told, came, why = await change(await EmbeddedQueues().begun(), seed)
        except NeverAtRest:
            continue
        unknown += bool(why)
        if not why:
            assert told == came, f"seed {seed}: foretold {len(told)}, preempted {len(came)}"
            eventful += bool(came)
    assert eventful >= EVENTFUL
    assert unknown <= len(SEEDS) // 10
