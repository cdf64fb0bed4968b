"""The garbage collector, told what kind of program this is: a hundred thousand records that come to stay.

Records hold strings and numbers only, so none of them can be part of a cycle, yet the interpreter's usual
rounds (every 700 new objects, and a full one now and then) took a fifth to a third of the time of
loading 50,000 pods, and up to 40 ms at once under a person's fingers (measured).

Pages are the opposite: a page is 5,000 objects in cycles, and one that is open during a round is not looked
at again soon after it is closed. With rounds as rare as for lists a session grew by 80 kB a key (measured).
"""

import ctypes
import gc
from collections.abc import Callable

YOUNG_OBJECTS = 50_000
"""Cyclic garbage of that many objects is a few MiB at most."""
MIDDLE_ROUNDS = 20
OLD_ROUNDS = 50

SETTLED = (20_000, 5, 5)
"""The same three once the lists are in: what is young then is pages."""
PAGES = 2
"""Page changes before a round while no page changes: it takes 10 ms, and 3 us a dead object."""
MOST_PAGES = 4
"""Page changes before a round without a quiet moment. After 24 of them a round took 110 ms under a person's
fingers, and a session of an hour grew by what had piled up at worst (measured)."""
QUIET_SECONDS = 2.0
"""No page changed for that long: a person reads, or has left."""


def expect_many() -> None:
    """Call before the first list: rounds become rare, and what was imported is never looked at again."""
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS, MIDDLE_ROUNDS, OLD_ROUNDS)


def expect_others() -> None:
    """Call before the first list of another cluster: what was put aside for the last one is garbage soon, and
    each switch would keep a whole cluster otherwise."""
    gc.unfreeze()


def settle() -> None:
    """Call when the big lists are in: what they left behind goes, what stays is never looked at again.

    The oldest generation is gone through only after another cluster: that took 60 ms, and little of it is
    garbage the first time.
    """
    gc.collect(1 if gc.get_freeze_count() else 2)
    gc.freeze()
    gc.set_threshold(*SETTLED)
    _return_memory()


def leave() -> None:
    """Call when the program ends: all that is left goes with the process, and is not gone through once more
    (after a long session that took more than a second)."""
    gc.freeze()


class ClosedPages:
    """Collects closed pages while no page changes, so that the rounds above rarely fall on a key."""

    def __init__(self, later: Callable[[float, Callable[[], None]], object]) -> None:
        """`later` calls a function after a number of seconds."""
        self._later = later
        self._changes = 0
        self._collected_at = 0

    def changed(self) -> None:
        """Call when another page is shown."""
        self._changes += 1
        changes = self._changes
        if changes - self._collected_at >= MOST_PAGES:
            self._collect_all(changes)
        else:
            self._later(QUIET_SECONDS, lambda: self._collect(changes))

    def _collect(self, changes: int) -> None:
        if changes == self._changes and changes - self._collected_at >= PAGES:
            self._collect_all(changes)

    def _collect_all(self, changes: int) -> None:
        self._collected_at = changes
        gc.collect()
        _return_memory()


def _return_memory() -> None:
    """Give what the C library keeps of freed memory back to the system, where it can (glibc): after an answer
    of some MB the process stayed that much larger."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
