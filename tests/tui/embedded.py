"""The embedded cluster in a child process that ends with its test."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.tui.on_the_bed import ROOT

END_SECONDS = 60.0


@contextmanager
def embedded(folder: Path, scenario: str | Path, warm_seconds: int) -> Iterator[Path]:
    """Start the scenario (a name or a file), warmed so many seconds; answers its kubeconfig.

    `folder` is made where it is missing; what the child says of errors is in it, and in the failure of a test
    whose cluster does not come.
    """
    folder.mkdir(exist_ok=True)
    words = [
        "--scenario",
        str(scenario),
        "--warm",
        str(warm_seconds),
        "--with-parent",
        "--folder",
        str(folder),
    ]
    with (folder / "errors").open("wb") as errors:
        child = subprocess.Popen(
            [sys.executable, "-m", "cockpit.sim", *words, "--folder", str(folder)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
        assert child.stdin is not None and child.stdout is not None
        try:
            line = child.stdout.readline()
            assert line.startswith("KUBECONFIG="), (folder / "errors").read_text()
            yield Path(line.removeprefix("KUBECONFIG=").strip())
        finally:
            child.stdin.close()
            child.wait(END_SECONDS)
            child.stdout.close()
