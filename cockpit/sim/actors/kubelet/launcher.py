"""The parent of one command: started by the process runtime, knows nothing of the cockpit.

It runs `python -I -S launcher.py CONTROL STATUS TTY DIRECTORY COMMAND...` and is the command's init: orphans
of the command become its children (PR_SET_CHILD_SUBREAPER), so that it can end all of them. It does so when
the command has ended, when CONTROL says KILL, and when CONTROL is closed, that is when whoever started it has
died in whatever way. The command dies with it, too (PR_SET_PDEATHSIG).

CONTROL (a file descriptor) gives lines: `TERM`, `KILL`, `INT`. STATUS gets `error NUMBER TEXT`, or
`started PID` and in the end `exit CODE`. Both are closed in the command.
"""

import contextlib
import ctypes
import os
import select
import signal
import sys
import time
from collections.abc import Callable

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_KILL_ROUNDS = 1_000
_KILL_PAUSE_SECONDS = 0.01


def _prctl() -> Callable[[int, int], int]:
    """prctl(2) where there is one; elsewhere a function that does nothing."""
    if not sys.platform.startswith("linux"):
        return lambda option, value: 0
    library = ctypes.CDLL(None, use_errno=True)
    return lambda option, value: int(library.prctl(option, value, 0, 0, 0))


def _children(parents: dict[int, int], roots: set[int]) -> set[int]:
    found = set(roots)
    grew = True
    while grew:
        more = {pid for pid, parent in parents.items() if parent in found and pid not in found}
        grew = bool(more)
        found |= more
    return found - roots


def _parents() -> dict[int, int]:
    """Every process of the machine and its parent; empty where there is no /proc."""
    found: dict[int, int] = {}
    try:
        names = os.listdir("/proc")
    except OSError:
        return found
    for name in names:
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as stat:
                    after = stat.read().rpartition(b")")[2].split()
            except OSError:
                continue
            found[int(name)] = int(after[1])
    return found


def _kill_all(command: int) -> None:
    """SIGKILL to everything below this process, until nothing is left."""
    for _ in range(_KILL_ROUNDS):
        left = _children(_parents(), {os.getpid()})
        for pid in left:
            _signal(pid, signal.SIGKILL)
        with contextlib.suppress(OSError):
            os.killpg(command, signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(_KILL_PAUSE_SECONDS)


def _signal(pid: int, number: int) -> None:
    with contextlib.suppress(OSError):
        os.kill(pid, number)


def _become(
    command: list[str], directory: str, is_tty: bool, failed: int, prctl: Callable[[int, int], int]
) -> None:
    """In the child: own session, terminal, folder; then the command."""
    try:
        os.setsid()
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if is_tty:
            import fcntl
            import termios

            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGCHLD, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        os.chdir(directory)
        os.execvpe(command[0], command, os.environ)
    except OSError as error:
        os.write(failed, f"{error.errno or 0} {error.strerror}".encode())
    os._exit(127)


def _watch(child: int, control: int, awake: int) -> int:
    """Wait for the command's end; answers its wait status, or that of a kill when the control has gone."""
    pending = b""
    # not select(2): whoever started us may hold so many files that these have numbers beyond its 1,024
    poll = select.poll()
    for descriptor in (control, awake):
        poll.register(descriptor, select.POLLIN)
    while True:
        readable = {descriptor for descriptor, _ in poll.poll()}
        if awake in readable:
            os.read(awake, 4096)
            while True:
                try:
                    pid, status = os.waitpid(-1, os.WNOHANG)
                except ChildProcessError:
                    return 9
                if pid == 0:
                    break
                if pid == child:
                    return status
        if control in readable:
            text = os.read(control, 4096)
            if not text:
                return 9
            pending += text
            *lines, pending = pending.split(b"\n")
            for line in lines:
                if line == b"KILL":
                    return 9
                _signal(child, signal.SIGTERM if line == b"TERM" else signal.SIGINT)


def main(arguments: list[str]) -> None:
    """Run the command, watch it, end what it leaves."""
    control, status = int(arguments[0]), int(arguments[1])
    is_tty, directory, command = arguments[2] == "tty", arguments[3], arguments[4:]
    prctl = _prctl()
    prctl(_PR_SET_CHILD_SUBREAPER, 1)
    awake_read, awake_write = os.pipe()
    os.set_blocking(awake_write, False)
    signal.set_wakeup_fd(awake_write, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    failed_read, failed_write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(control)
        os.close(status)
        os.close(failed_read)
        signal.set_wakeup_fd(-1)
        _become(command, directory, is_tty, failed_write, prctl)
    os.close(failed_write)
    nowhere = os.open(os.devnull, os.O_RDWR)
    failure = os.read(failed_read, 4096)
    if failure:
        os.write(status, b"error " + failure + b"\n")
        return
    os.write(status, b"started %d\n" % child)
    result = 9
    try:
        result = _watch(child, control, awake_read)
    finally:  # whatever happens to us, nothing stays behind
        _kill_all(child)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    code = 128 + (result & 127) if result & 127 else result >> 8 & 255
    with contextlib.suppress(OSError):
        os.write(status, b"exit %d\n" % code)


if __name__ == "__main__":
    main(sys.argv[1:])
