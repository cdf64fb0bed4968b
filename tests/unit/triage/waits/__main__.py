"""`python -m tests.unit.triage.waits`: the scores of 2,000 looks at each load, 1 where a bar is missed.

The seed is drawn from the commit: nobody tuned for it.
"""

import argparse
import sys
import time
from collections.abc import Sequence

from tests.triage.__main__ import seed_of_commit
from tests.unit.triage.waits.loads import LOADS
from tests.unit.triage.waits.play import Play
from tests.unit.triage.waits.score import score

MOST_UNKNOWN, LEAST_INSIDE, LEAST_GAIN = 1 / 3, 0.8, 0.1


def main(arguments: Sequence[str]) -> int:
    """Print a line a load; 1 where one misses a bar."""
    parser = argparse.ArgumentParser(prog="python -m tests.unit.triage.waits")
    parser.add_argument("--looks", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=seed_of_commit(), help="by default drawn from the commit")
    parser.add_argument("--load", type=int, action="append", help="0, 1 or 2 (default: all)")
    options = parser.parse_args(arguments)
    missed = 0
    print(f"seed {options.seed}")
    for number in options.load or range(len(LOADS)):
        load = LOADS[number]
        started = time.process_time()
        found = score(Play(load, options.seed).looks(options.looks), options.seed)
        print(
            f"{load.name}: {found.looks} looks, {found.unknown:.1%} unknown, {found.inside:.1%} inside,"
            f" score {found.ours:.0f} against {found.theirs:.0f} ({found.gain:+.1%}),"
            f" past waits hold {found.their_inside:.1%}; {time.process_time() - started:.0f} s",
            flush=True,
        )
        holds = found.unknown <= MOST_UNKNOWN and found.inside >= LEAST_INSIDE and found.gain >= LEAST_GAIN
        missed += not holds
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
