"""`python -m tests.reliability`: run every test that measures a row of the matrix, and write the page.

First what needs nothing but Python, then, where the bed is built, what needs it.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.reliability import figures
from tests.reliability.page import page

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "reliability.md"
RUNS = {
    "on the embedded cluster": ("-m", "row and not real", "--server", "embedded", "-n", "2"),
    "on the real control plane": ("-m", "row and real", "--server", "real"),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """0 when no row failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.reliability")
    parser.add_argument("--without-bed", action="store_true", help="only what needs nothing but Python")
    parser.add_argument("--figures", type=Path, help="make the page of kept figures, and run nothing")
    parser.add_argument("--page", type=Path, default=PAGE, help="where to write")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        kept = given.figures or Path(folder, "figures")
        runs = {} if given.figures else dict(list(RUNS.items())[: 1 if given.without_bed else 2])
        for where, chosen in runs.items():
            print(f":: {where}", flush=True)
            command = [sys.executable, "-m", "pytest", "tests/contract", "tests", *chosen]
            surroundings = {**os.environ, figures.FILE_VARIABLE: str(kept), figures.WHOLE_VARIABLE: "1"}
            subprocess.run(command, cwd=ROOT, env=surroundings, check=False)
        of_kept = " from the figures of several runs that were kept" if given.figures else ""
        text = page(figures.read(kept), f"Written by `python -m tests.reliability`{of_kept}.")
    given.page.parent.mkdir(exist_ok=True)
    given.page.write_text(text)
    failed = [line.split(" | ")[0].strip("| ") for line in text.splitlines() if " | failed | " in line]
    print(f":: {given.page}: failed: {', '.join(failed) or 'none'}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
