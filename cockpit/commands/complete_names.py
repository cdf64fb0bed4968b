"""`cockpit complete-names KIND -- LINE [WORD]`: names for the shell's completion, as they were read last.

It prints what is kept on this host and waits for nothing: the scripts of `completion` drop what comes late.
Names older than FRESH_SECONDS are read again by a child, for the next try. No credential plugin is run, no
person is asked, and no error is printed. It imports little: its start is most of its time.
"""

import contextlib
import fcntl
import os
import re
import shlex
import signal
import sys
import time
import zlib
from collections.abc import Sequence

from cockpit.local_state.folders import state_folder_name

FRESH_SECONDS = 30.0
"""So old kept names may be before they are read again."""
STALE_SECONDS = 3_600.0
"""So old they may be to be printed."""
MOST_NAMES = 500
"""A shell takes longer to read more than to ask for them."""
_CHILD_SECONDS = 20
_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@+-]*")
_VALUES = {
    "--context": "context",
    "--namespace": "namespace",
    "-n": "namespace",
    "--kubeconfig": "kubeconfig",
}


def run(words: Sequence[str]) -> int:
    """Print the names, one a line; nothing where none are known."""
    with contextlib.suppress(Exception):
        kind, line, word, *_ = *(word for word in words if word != "--"), "", ""
        names = beginning(known(kind, chosen_in(line)), word)
        os.write(sys.stdout.fileno(), "".join(f"{name}\n" for name in names).encode())
        os.close(sys.stdout.fileno())  # who reads does not wait for the interpreter to end
    return 0


def beginning(names: Sequence[str], word: str) -> Sequence[str]:
    """Those that begin so. Of too many the last is kept: what all have in common is what these have."""
    found = [name for name in names if name.startswith(word)]
    return found if len(found) <= MOST_NAMES else [*found[: MOST_NAMES - 1], found[-1]]


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


def known(kind: str, chosen: dict[str, str]) -> Sequence[str]:
    """The kept names, sorted; where they are not fresh, a child begins to read them again."""
    path, key = _place(kind, chosen)
    names, age_seconds = _kept(path, key)
    if age_seconds > FRESH_SECONDS and os.fork() == 0:
        _child(kind, chosen, path, key)
    return names if age_seconds <= STALE_SECONDS else ()


def _child(kind: str, chosen: dict[str, str], path: str, key: str) -> None:
    """Read the names, keep them, and end this process. While one reads them, no other does."""
    try:
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        for handle in (0, 1, 2):
            os.dup2(nothing, handle)
        signal.alarm(_CHILD_SECONDS)
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        fcntl.flock(os.open(f"{path}.lock", os.O_WRONLY | os.O_CREAT, 0o600), fcntl.LOCK_EX | fcntl.LOCK_NB)
        from cockpit.commands.names_of import keep_names

        keep_names(kind, chosen, path, key)
    finally:
        os._exit(0)


def _place(kind: str, chosen: dict[str, str]) -> tuple[str, str]:
    """The file of these names, and its first line: two keys may have one file, never one line."""
    named = (
        chosen.get("kubeconfig") or os.environ.get("KUBECONFIG", "") or os.path.expanduser("~/.kube/config")
    )
    times = [_changed(part) for part in named.split(os.pathsep)]
    key = repr((kind, sorted(chosen.items()), named, times))
    name = f"{zlib.crc32(key.encode(errors='surrogateescape')):08x}"
    return os.path.join(state_folder_name(os.environ), "completion", name), key


def _changed(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0


def _kept(path: str, key: str) -> tuple[Sequence[str], float]:
    """The kept names and their age in seconds; infinitely old where there are none."""
    try:
        with open(path, encoding="utf-8") as file:
            age_seconds = time.clock_gettime(time.CLOCK_REALTIME) - os.fstat(file.fileno()).st_mtime
            first, *names = file.read().splitlines()
    except (OSError, ValueError):
        return (), float("inf")
    if first != key or age_seconds < 0:
        return (), float("inf")
    return [name for name in names if _SAFE.fullmatch(name)], age_seconds
