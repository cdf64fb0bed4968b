"""`make test-real`: build the real parts, and run every suite that needs them.

The API server is built first; the contract suite runs on it while the rest still compiles. Suites on the full
bed run two at a time, each on a bed of its own in namespaces of its own, because each makes the estate it
needs and most of their time is waiting for controllers.
"""

import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CONTRACT = "tests/contract"
BED_SUITES = ("tests/bed", "tests/tui", "tests/differential")
AT_ONCE = 2


def pytest(suite: str) -> bool:
    """Run one suite of real tests, print what it printed in one piece; True when it passed."""
    begun = time.monotonic()
    command = [sys.executable, "-m", "pytest", "-m", "real", "-p", "no:cacheprovider", suite]
    done = subprocess.run(
        command, cwd=ROOT, check=False, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    seconds = time.monotonic() - begun
    print(f":: {suite} ({seconds:.0f} s)\n{done.stdout.rstrip()}", flush=True)
    return done.returncode == 0


def suites() -> list[str]:
    """Files with real tests on the full bed, each to be run alone."""
    found = sorted(path for folder in BED_SUITES for path in (ROOT / folder).glob("test_*_real.py"))
    return [str(path.relative_to(ROOT)) for path in found]


def run_all(names: Sequence[str]) -> list[str]:
    """Those that failed."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return [name for name, passed in zip(names, pool.map(pytest, names), strict=True) if not passed]


def main() -> int:
    """0 when the build and every suite went well; what failed is named at the end."""
    begun = time.monotonic()
    build = subprocess.Popen([sys.executable, "-m", "tests.bed", "build"], cwd=ROOT)
    try:
        with ThreadPoolExecutor(1) as pool:
            contract = pool.submit(pytest, CONTRACT)
            if build.wait() != 0:
                print("the real parts could not be built", flush=True)
                return 1
            failed = run_all(suites())
            if not contract.result():
                failed.append(CONTRACT)
    finally:
        if build.poll() is None:
            build.terminate()
            build.wait()
    minutes = (time.monotonic() - begun) / 60
    verdict = f"failed: {', '.join(failed)}" if failed else "all passed"
    print(f":: real suites: {verdict}, {minutes:.1f} min", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
