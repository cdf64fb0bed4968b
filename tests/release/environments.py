"""Environments with nothing in them, and programs run in an empty home."""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_UV = Path(sys.executable).with_name("uv")
_KEPT = (
    *("PATH", "LANG", "HOME", "PIP_INDEX_URL", "PIP_FIND_LINKS", "PIP_CERT", "SSL_CERT_FILE"),
    *("HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "https_proxy", "http_proxy", "no_proxy", "XDG_CACHE_HOME"),
)
COMMAND_SECONDS = 300.0


class Failed(Exception):
    """A step of the release failed; the text says which and why."""


@dataclass(frozen=True)
class Answer:
    """How a program ended, and what it printed."""

    code: int
    out: str
    error: str


def environment(temporary: Path) -> dict[str, str]:
    """The variables that a build needs; its temporary files go below `temporary`."""
    return {name: os.environ[name] for name in _KEPT if name in os.environ} | {"TMPDIR": str(temporary)}


def run(command: Sequence[str], folder: Path, settings: Mapping[str, str]) -> str:
    """What it printed. Raises Failed with its last lines."""
    done = subprocess.run(
        command,
        cwd=folder,
        env=dict(settings),
        capture_output=True,
        text=True,
        check=False,
        timeout=COMMAND_SECONDS,
    )
    if done.returncode:
        last = " / ".join((done.stderr.strip() or done.stdout.strip() or "no output").splitlines()[-4:])
        raise Failed(f"{Path(command[0]).name} {command[1]} ended with {done.returncode}: {last}")
    return done.stdout


def index() -> list[str]:
    """Words by which uv asks the index that pip is set up for."""
    asked = [sys.executable, "-m", "pip", "config", "get", "global.index-url"]
    told = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()
    url = os.environ.get("PIP_INDEX_URL") or told
    return ["--system-certs", *(["--default-index", url] if url else [])]


def make_environment(folder: Path, *requirements: str, python: str = sys.executable) -> Path:
    """A virtual environment with these requirements and nothing else, not even pip; its `bin`."""
    settings = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    run([str(_UV), "venv", "-q", "--clear", "-p", python, str(folder)], folder.parent, settings)
    add_to(folder, *requirements)
    return folder / "bin"


def add_to(folder: Path, *requirements: str) -> None:
    """Install more into an environment."""
    words = ["-q", *index(), "-p", str(folder / "bin/python")]
    run([str(_UV), "pip", "install", *words, *requirements], folder.parent, os.environ)


def answer(program: Path, words: Sequence[str], home: Path, seconds: float = COMMAND_SECONDS) -> Answer:
    """Run a program with that home, no input, no terminal, and no other variable of this session."""
    done = subprocess.run(
        [str(program), *words],
        cwd=home,
        env={"HOME": str(home), "PATH": "/usr/bin:/bin"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=seconds,
    )
    return Answer(done.returncode, done.stdout, done.stderr)


def megabytes(folder: Path) -> float:
    """Bytes of all files below, in 10^6."""
    return (
        sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
        / 1e6
    )
