"""Sessions in pseudo-terminals, one after the other, forked from a process that has imported everything.

`python -m tests.tui.nursery COUNT SEED` writes a line of JSON for each session: how it began and ended, and
what it left behind. Half a second a session, where a program that is started takes two.
"""

import contextlib
import fcntl
import json
import os
import random
import re
import select
import signal
import struct
import sys
import tempfile
import termios
import time
from collections.abc import Callable
from pathlib import Path

from cockpit import cli
from cockpit.commands import screens  # noqa: F401 - imported before the first fork
from cockpit.screens.place import Place

PATIENCE_SECONDS = 60.0
SIZES = ((80, 24), (200, 60), (20, 5))
SURROUNDINGS: tuple[dict[str, str], ...] = (
    {"TERM": "xterm-256color", "COLORTERM": "truecolor"},
    {"TERM": "xterm-256color", "NO_COLOR": "1"},
    {"TERM": "tmux-256color", "TMUX": "/tmp/tmux-0/default,1,0"},
    {"TERM": "xterm"},
)
ON_WHILE_IT_RUNS = ("1049", "1000", "1003", "1006", "2004")
FIRST_KEY = b"enter"
"""In the footer of the first page, in every size and while no server has answered."""


def press(key: bytes) -> Callable[[int, int], None]:
    return lambda _, master: (os.write(master, key), None)[1]


def send(number: int) -> Callable[[int, int], None]:
    return lambda pid, _: os.kill(pid, number)


ENDS: dict[str, Callable[[int, int], None]] = {
    "q": press(b"q"),
    "ctrl+c": press(b"\x03"),
    "exception, then q": press(b"qq"),
    "SIGTERM": send(signal.SIGTERM),
    "SIGINT": send(signal.SIGINT),
    "SIGHUP": send(signal.SIGHUP),
    "cut": lambda _, master: os.close(master),
}


def child(slave: int, surroundings: dict[str, str], kubeconfig: Path, end: str) -> None:
    """The cockpit as its command line opens it, on a server that does not answer. Never returns."""
    os.setsid()
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    for stream in (0, 1, 2):
        os.dup2(slave, stream)
    os.closerange(3, 64)
    for name in ("COLORTERM", "NO_COLOR", "TMUX", "TEXTUAL"):
        os.environ.pop(name, None)
    os.environ.update({**surroundings, "LANG": "C.UTF-8", "TEXTUAL_ANIMATIONS": "none"})
    if end.startswith("exception"):
        leave = Place.action_quit

        def fail_once(place: Place) -> None:
            Place.action_quit = leave  # type: ignore[method-assign]
            raise RuntimeError("injected")

        Place.action_quit = fail_once  # type: ignore[method-assign, assignment]
    code = 1
    try:
        code = cli.main(["--kubeconfig", str(kubeconfig)])
    except SystemExit as error:
        code = int(error.code or 0)
    except BaseException:
        code = 1
    finally:
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
        os._exit(code)


def modes(sent: bytes) -> dict[str, bool]:
    """Private modes of the terminal as they stand after these bytes."""
    found: dict[str, bool] = {}
    for numbers, last in re.findall(rb"\x1b\[\?([0-9;]+)([hl])", sent):
        found.update(dict.fromkeys(numbers.decode().split(";"), last == b"h"))
    return found


def left_of(session: int) -> list[int]:
    """Processes of that session that still run."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, IndexError, ValueError):
            fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            if entry.name.isdigit() and int(fields[3]) == session and fields[0] != "Z":
                found.append(int(entry.name))
    return found


def session(rng: random.Random, kubeconfig: Path) -> dict[str, object]:
    """One from its first page to its end."""
    end, size, surroundings = rng.choice(list(ENDS)), rng.choice(SIZES), rng.choice(SURROUNDINGS)
    master, slave = os.openpty()
    columns, lines = size
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    before = termios.tcgetattr(slave)
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's job in the background ignores it
        child(slave, surroundings, kubeconfig, end)
    sent, deadline, is_open = b"", time.monotonic() + PATIENCE_SECONDS, True
    has_ended = code = None
    while has_ended is None and time.monotonic() < deadline:
        if select.select([master], [], [], 0.02)[0]:
            sent += os.read(master, 1 << 16)
        if FIRST_KEY in sent and modes(sent).get("1049"):
            ENDS[end](pid, master)
            is_open = end != "cut"
            break
    while has_ended is None and time.monotonic() < deadline:
        if is_open and select.select([master], [], [], 0.02)[0]:
            sent += os.read(master, 1 << 16)
        done, status = os.waitpid(pid, os.WNOHANG if is_open else 0)
        if done:
            has_ended, code = True, os.waitstatus_to_exitcode(status)
    while is_open and select.select([master], [], [], 0)[0]:
        sent += os.read(master, 1 << 16)
    stand = modes(sent)
    wrong = [mode for mode in ON_WHILE_IT_RUNS if stand.get(mode)]
    is_restored = not is_open or (  # of a terminal that is gone nothing is left to restore
        termios.tcgetattr(slave) == before and not wrong and stand.get("25") is not False
    )
    if has_ended is None:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    told = {"end": end, "size": size, "term": surroundings["TERM"], "code": code, "left": left_of(pid)}
    os.close(slave)
    if is_open:
        os.close(master)
    return told | {"has_ended": bool(has_ended), "is_restored": is_restored, "modes": wrong}


def main() -> None:
    count, seed = int(sys.argv[1]), int(sys.argv[2])
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        for name in ("STATE", "CONFIG"):
            os.environ[f"XDG_{name}_HOME"] = str(Path(folder, name.lower()))
        kubeconfig = Path(folder, "kubeconfig")
        context = {"name": "here", "context": {"cluster": "c", "user": "u"}}
        cluster = {"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}
        user = {"name": "u", "user": {"token": "t"}}
        tree = {"kind": "Config", "contexts": [context], "clusters": [cluster], "users": [user]}
        kubeconfig.write_text(json.dumps({**tree, "current-context": "here"}))
        for _ in range(count):
            print(json.dumps(session(rng, kubeconfig)), flush=True)


if __name__ == "__main__":
    main()
