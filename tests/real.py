"""`make test-real`: build the real parts, and run every suite that needs them.

The API server is built first; the contract suite runs on it while the rest still compiles. Suites on the full
bed run one after the other, each on a bed of its own, because each makes the estate it needs.
"""

import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CONTRACT = "tests/contract"
BED_SUITES = ("tests/bed", "tests/tui")


def pytest(*arguments: str) -> int:
    """Exit code of one pytest run over real tests."""
    command = [sys.executable, "-m", "pytest", "-m", "real", "-p", "no:cacheprovider", *arguments]
    print("::", " ".join(command[1:]), flush=True)
    return subprocess.run(command, cwd=ROOT, check=False).returncode


def suites() -> list[str]:
    """Files with real tests on the full bed, each to be run alone."""
    found = sorted(path for folder in BED_SUITES for path in (ROOT / folder).glob("test_*_real.py"))
    return [str(path.relative_to(ROOT)) for path in found]


def main() -> int:
    """0 when the build and every suite went well; what failed is named at the end."""
    begun = time.monotonic()
    build = subprocess.Popen([sys.executable, "-m", "tests.bed", "build"], cwd=ROOT)
    failed: list[str] = []
    try:
        if pytest(CONTRACT) != 0:
            failed.append(CONTRACT)
        if build.wait() != 0:
            print("the real parts could not be built", flush=True)
            return 1
        failed += [suite for suite in suites() if pytest(suite) != 0]
    finally:
        if build.poll() is None:
            build.terminate()
            build.wait()
    minutes = (time.monotonic() - begun) / 60
    print(f":: real suites: {'failed ' + ', '.join(failed) if failed else 'all passed'} in {minutes:.1f} min")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
