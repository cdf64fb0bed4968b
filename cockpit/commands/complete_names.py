"""Names for the shell's completion: those of the cluster within 300 ms of the process' start, or none.

A child reads them and keeps them on this host; where it is late it goes on for a few seconds, so that the
next try has them. No credential plugin is run, no person is asked, and no error is printed.
"""

import argparse
import contextlib
import hashlib
import os
import re
import select
import shlex
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from cockpit.local_state.paths import state_folder, write_private

DEADLINE_SECONDS: Final = 0.25
"""From the start of the process to its answer: 50 ms are left for its end."""
FRESH_SECONDS: Final = 30.0
"""So old kept names may be that are printed without looking."""
STALE_SECONDS: Final = 3_600.0
"""So old they may be where the cluster is late."""
_CHILD_SECONDS: Final = 8
_MOST_FILES: Final = 64
_SAFE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@+-]*")
_VALUES: Final = {
    "--context": "context",
    "--namespace": "namespace",
    "-n": "namespace",
    "--kubeconfig": "kubeconfig",
}


def run(options: argparse.Namespace) -> int:
    """Print the names, one a line; nothing where none are known in time."""
    with contextlib.suppress(Exception):
        sys.stdout.writelines(f"{name}\n" for name in _in_time(options.kind, chosen_in(options.line)))
    return 0


def chosen_in(line: str) -> dict[str, str]:
    """Context, namespace and kubeconfig that a begun command line names."""
    try:
        words = shlex.split(line)
    except ValueError:  # an open quote
        words = line.split()
    if words and not line[-1:].isspace():
        words.pop()  # still being typed
    found: dict[str, str] = {}
    for at, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name in _VALUES:
            following = words[at + 1] if at + 1 < len(words) else ""
            if given := value if equals else following:
                found[_VALUES[name]] = given
    return found


def _in_time(kind: str, chosen: dict[str, str]) -> Sequence[str]:
    path = _kept_path(kind, chosen)
    kept, age_seconds = _kept(path)
    if age_seconds <= FRESH_SECONDS:
        return kept
    left_seconds = DEADLINE_SECONDS - _lived_seconds()
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.close(reading)
        _child(kind, chosen, path, writing)
    os.close(writing)
    ready, _, _ = select.select([reading], [], [], max(0.0, left_seconds))
    if ready and os.read(reading, 1) == b"1":
        return _kept(path)[0]
    return kept if age_seconds <= STALE_SECONDS else ()


def _child(kind: str, chosen: dict[str, str], path: Path, done: int) -> None:
    """Read the names, keep them, tell the parent, and end this process."""
    try:
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        for handle in (0, 1, 2):
            os.dup2(nothing, handle)
        signal.alarm(_CHILD_SECONDS)
        from cockpit.commands.names_of import names_of

        names = sorted({name for name in names_of(kind, chosen) if _SAFE.fullmatch(name)})
        write_private(path, "\n".join(names))
        _forget_old(path.parent)
        os.write(done, b"1")
    finally:
        os._exit(0)


def _kept_path(kind: str, chosen: dict[str, str]) -> Path:
    named = (
        chosen.get("kubeconfig") or os.environ.get("KUBECONFIG", "") or os.path.expanduser("~/.kube/config")
    )
    times = [_changed(part) for part in named.split(os.pathsep)]
    key = repr((kind, sorted(chosen.items()), named, times)).encode()
    return state_folder(os.environ) / "completion" / hashlib.sha256(key).hexdigest()[:32]


def _changed(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0


def _kept(path: Path) -> tuple[Sequence[str], float]:
    """The kept names and their age in seconds; infinitely old where there are none."""
    try:
        age_seconds = time.clock_gettime(time.CLOCK_REALTIME) - path.stat().st_mtime
        text = path.read_text(encoding="utf-8")
    except OSError:
        return (), float("inf")
    names = [name for name in text.splitlines() if _SAFE.fullmatch(name)]
    return names, age_seconds if age_seconds >= 0 else float("inf")


def _forget_old(folder: Path) -> None:
    newest = sorted(folder.iterdir(), key=lambda item: item.stat().st_mtime, reverse=True)
    for item in newest[_MOST_FILES:]:
        item.unlink(missing_ok=True)


def _lived_seconds() -> float:
    """How long this process has run; a guess where the system does not tell."""
    try:
        ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
        return time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, AttributeError):
        return 0.1 if sys.platform != "linux" else 0.15
