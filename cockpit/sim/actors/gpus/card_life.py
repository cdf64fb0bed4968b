"""One card over time: a chain of states from which those of the last while are worked out again when asked.

A state follows from the one before, so that every answer comes from one chain: what was told then is told
again later, and how often a card is asked changes nothing. Kept are the newest state and one in
`MARK_SECONDS`, no further back than `keeps_seconds`; a card that nobody has asked for that long begins at
what it last was (temperature forgets in minutes).
"""

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial

import msgspec

from cockpit.sim.actors.gpus.models import Model, model_of
from cockpit.sim.actors.gpus.physics import NO_FAULTS, Faults, State, advance, grid, is_at_rest, rest, rested
from cockpit.sim.devices import NodeCard

MARK_SECONDS = 300.0
_MOST_FAULTS = 64


class Use(msgspec.Struct, frozen=True, gc=False):
    """What asks something of a card from one moment to another; `duty` gives how much (0..1) at a time."""

    from_seconds: float
    until_seconds: float
    duty: Callable[[float], float]


class CardLife:
    """A card since `from_seconds`."""

    def __init__(self, card: NodeCard, from_seconds: float, keeps_seconds: float) -> None:
        self.card = card
        self.model: Model = model_of(card.product)
        self._keeps_seconds = keeps_seconds
        self._marks: deque[State] = deque((rest(self.model, from_seconds),))
        self._newest = self._marks[0]
        self._reread = self._newest
        self._faults: list[tuple[float, Faults]] = []

    def suffer(self, faults: Faults, at_seconds: float) -> None:
        """Something is wrong with the card from then on, or well again."""
        self._faults.append((at_seconds, faults))
        del self._faults[:-_MOST_FAULTS]

    def faults_at(self, at_seconds: float) -> Faults:
        """What is wrong with the card at a time."""
        place = bisect_right(self._faults, at_seconds, key=lambda one: one[0])
        return self._faults[place - 1][1] if place else NO_FAULTS

    def state_at(self, at_seconds: float, uses: Sequence[Use]) -> State | None:
        """The card at the grid point before a time; None before it was there, and where that is not kept."""
        at = grid(at_seconds)
        if at >= self._newest.at_seconds:
            return self._grow(at, uses)
        if at < self._marks[0].at_seconds:
            return None
        if not self._reread.at_seconds <= at < self._reread.at_seconds + MARK_SECONDS:
            place = bisect_right(self._marks, at, key=lambda one: one.at_seconds)
            self._reread = self._marks[place - 1]
        self._reread = self._moved(self._reread, at, uses)
        return self._reread

    def _grow(self, at: float, uses: Sequence[Use]) -> State:
        skipped = at - self._keeps_seconds - self._newest.at_seconds
        if skipped > 0:
            self._newest = self._reread = rested(self._newest, grid(at - self._keeps_seconds))
            self._marks = deque((self._newest,))
        while True:
            mark = self._marks[-1].at_seconds + MARK_SECONDS
            self._newest = self._moved(self._newest, min(at, mark), uses)
            if mark > at:
                break
            self._marks.append(self._newest)
        while len(self._marks) > 1 and self._marks[1].at_seconds <= at - self._keeps_seconds:
            self._marks.popleft()
        return self._newest

    def _moved(self, state: State, at: float, uses: Sequence[Use]) -> State:
        """A state that follows, each part of the way with what was wrong with the card then."""
        turns = [turn for turn, _ in self._faults if state.at_seconds < turn < at]
        for until in (*turns, at):
            faults = self.faults_at(state.at_seconds)
            now = [one for one in uses if one.from_seconds < at and one.until_seconds > state.at_seconds]
            if not now and is_at_rest(self.model, state, faults):
                state = rested(state, grid(until))
            else:
                state = advance(self.model, state, partial(_asked, now), faults, until)
        return state


def _asked(uses: Sequence[Use], at: float) -> float:
    return min(1.0, sum(one.duty(at) for one in uses if one.from_seconds <= at < one.until_seconds))
