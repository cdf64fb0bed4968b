"""`python -m tests.fuzz --requests 20000 --seeds 3`: the long way; exit code 1 with every finding."""

import argparse
import sys
import tempfile
from pathlib import Path

from tests.fuzz.drive import fuzz


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("--requests", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1, help="the first")
    parser.add_argument("--seeds", type=int, default=1, help="how many, one after the other")
    parser.add_argument("--folder", type=Path, help="keeps logs here")
    given = parser.parse_args()
    is_good = True
    for seed in range(given.seed, given.seed + given.seeds):
        with tempfile.TemporaryDirectory() as name:
            outcome = fuzz((given.folder or Path(name)) / f"seed-{seed}", seed, given.requests)
        is_good = is_good and not outcome.findings
        print(f":: seed {seed}: {sum(outcome.statuses.values())} answers {outcome.statuses}", flush=True)
        print(f"   {outcome.told}, ended in {outcome.seconds_to_quit:.2f} s", flush=True)
        for seconds, sent in outcome.slowest:
            print(f"   {seconds:.2f} s {sent[:200]}")
        for finding in outcome.findings:
            print(f"   FOUND {finding}", flush=True)
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
