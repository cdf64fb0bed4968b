"""The garbage collector, told what kind of program this is: a hundred thousand records that come to stay.

Records hold strings and numbers only, so none of them can be part of a cycle, yet the interpreter's usual
rounds (every 700 new objects, and through everything ever so often) took a fifth to a third of the time of
loading 50,000 pods, and up to 40 ms at once under a person's fingers (measured).
"""

import gc

YOUNG_OBJECTS = 50_000
"""Cyclic garbage of that many objects is a few MiB at most."""
MIDDLE_ROUNDS = 20
OLD_ROUNDS = 50


def expect_many() -> None:
    """Call before the first list: rounds become rare, and what was imported is never looked at again."""
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS, MIDDLE_ROUNDS, OLD_ROUNDS)


def settle() -> None:
    """Call when the big lists are in: what they left behind goes, what stays is never looked at again.

    The oldest generation is not gone through first: that took 60 ms, and little of it is garbage by then.
    """
    gc.collect(1)
    gc.freeze()
