"""`python -m tests.bench.hostile`: how long hostile clients keep an embedded cluster from others.

Fuzzes one with a gibibyte of memory and prints the longest callback of its loop (nobody else is answered
meanwhile), how long it takes to quit with all the half-open connections there are, and what the worst request
unfolded beside its bound. The load is told beside; nothing is compared with a goal.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from cockpit.sim.server import limits
from tests.bench.measure import load_average, yardstick_seconds
from tests.bench.report import aligned
from tests.fuzz.drive import BOUNDS, fuzz


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.hostile")
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    print(f"load {load_average():.1f}, a yardstick is {yardstick_seconds():.3f} s", flush=True)
    with tempfile.TemporaryDirectory() as name:
        outcome = fuzz(Path(name), given.seed, given.requests)
    if not outcome.told:
        print(f"the cluster told nothing: {outcome.findings}")
        return 1
    told = outcome.told
    rows = [
        ("hostile requests", str(sum(outcome.statuses.values())), f"seed {given.seed}"),
        ("longest callback", f"{told['longest_callback_seconds']:.2f} s", told["longest_callback"][:60]),
        ("slowest answer", f"{outcome.slowest[0][0]:.2f} s", outcome.slowest[0][1][:60]),
        ("time to quit", f"{outcome.seconds_to_quit:.2f} s", ""),
        (
            "most memory",
            f"{told['most_resident_bytes'] / limits.MIB:.0f} MiB",
            "of 1024 MiB of address space",
        ),
        ("findings", str(len(outcome.findings)), ""),
        *((f"unfolded {name}", str(told["peak"][name]), f"at most {most}") for name, most in BOUNDS.items()),
    ]
    for line in aligned(rows):
        print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
