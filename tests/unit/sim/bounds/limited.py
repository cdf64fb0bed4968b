"""A Python of its own with little memory, for what took the whole machine before it was bounded."""

import resource
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[4]
BYTES = 1 << 30
CPU_SECONDS = 60


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))


def output_of(program: str) -> str:
    """What a program prints, in a gibibyte of address space and a minute of CPU; fails with what it said."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        preexec_fn=_limit,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.strip()
