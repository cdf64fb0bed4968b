"""`python -m tests.soak`: a random fault every 30 s from a seed, keys between, for five minutes.

After each fault the app has caught up within 10 s: every record that it watches has the version that the
server has. At the end no task and no descriptor is lost, memory has not grown, and `q` ends it within a
second. `--minutes 60` is the run by hand. `--keys 5000` is a long session without any fault instead.
"""

import argparse
import sys
from collections.abc import Sequence

from tests.bench.measure import load_average
from tests.soak.long_session import WINDOW_KEYS, LongSession, long_session
from tests.soak.soak import RETURN_SECONDS, SETTLED_KEYS, Outcome, soak

GROWTH_MB, END_SECONDS = 10.0, 1.0


def told(outcome: Outcome) -> list[str]:
    """The summary."""
    returns = sorted(point.return_seconds for point in outcome.quiet)
    lines = [
        f"seed {outcome.seed}: {len(outcome.quiet)} quiet points, {len(outcome.unequal)} unequal, "
        f"{len(outcome.crashes)} crashes, {outcome.lost_tasks.total()} tasks lost, "
        f"{outcome.lost_descriptors.total()} descriptors lost, {len(outcome.writes)} writes",
        f"back in {returns[len(returns) // 2]:.1f} s in the median, {returns[-1]:.1f} s at most "
        f"(goal {RETURN_SECONDS:g} s)",
        f"memory {outcome.growth_mb:+.1f} MB since key {SETTLED_KEYS} (goal {GROWTH_MB:g}), "
        f"{outcome.slope_mb_per_hour:+.1f} MB/h as a line",
        ended(outcome.end_seconds, outcome.exit_code),
    ]
    lines += [f"lost task: {count} {name}" for name, count in outcome.lost_tasks.items()]
    lines += [f"lost descriptor: {count} {name}" for name, count in outcome.lost_descriptors.items()]
    lines += [f"write: {request}" for request in outcome.writes[:10]]
    return [*lines, *outcome.crashes]


def of_keys(outcome: LongSession) -> list[str]:
    """The summary of a long session."""
    return [
        f"memory {outcome.growth_mb:+.1f} MB after the first {WINDOW_KEYS} keys (goal {GROWTH_MB:g})",
        f"the last {WINDOW_KEYS} keys against the second: {outcome.answer_ratio:.2f} of the time, "
        f"{outcome.cpu_ratio:.2f} of the processor",
        ended(outcome.end_seconds, outcome.exit_code),
    ]


def ended(seconds: float, code: int | None) -> str:
    """How `q` went."""
    return f"q took {seconds:.2f} s (goal {END_SECONDS:g}) and ended with {code}; load {load_average():.1f}"


def main(arguments: Sequence[str] | None = None) -> int:
    """0 where every quiet point was equal and nothing was lost."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", allow_abbrev=False)
    parser.add_argument("--minutes", type=float, default=5.0, help="length of the run (default: 5)")
    parser.add_argument("--seed", type=int, default=1, help="of faults, keys and changes (default: 1)")
    parser.add_argument("--every-seconds", type=float, default=30.0, help="between two faults (default: 30)")
    parser.add_argument("--only", default="", help="faults with this in their name (default: all)")
    parser.add_argument("--keys", type=int, default=0, help="keys of a long session, at least 1000")
    given = parser.parse_args(arguments)
    if given.keys:
        session = long_session(given.keys, lambda line: print(line, flush=True))
        for line in of_keys(session):
            print(line, flush=True)
        return 0 if session.growth_mb <= GROWTH_MB and session.exit_code == 0 else 1
    count = max(1, round(given.minutes * 60 / max(given.every_seconds, 1.0)))
    outcome = soak(given.seed, count, given.every_seconds, lambda line: print(line, flush=True), given.only)
    for line in told(outcome):
        print(line, flush=True)
    return 0 if outcome.is_good else 1


if __name__ == "__main__":
    sys.exit(main())
