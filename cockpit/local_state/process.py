"""Which process wrote something, and whether it still runs: its number alone is given again to others."""

import os
from pathlib import Path
from typing import NamedTuple


class ProcessMark(NamedTuple):
    """`number` is the process id; `begun` its start in ticks since the boot; `boot` names the boot, `space`
    the namespace of process ids. The last three are "" where the system does not say (no /proc)."""

    number: int
    begun: str = ""
    boot: str = ""
    space: str = ""

    def __str__(self) -> str:
        return ":".join((str(self.number), self.begun, self.boot, self.space))


def process_here() -> str:
    """The mark of this process, as text."""
    return str(_mark(os.getpid()))


def may_still_run(text: str) -> bool | None:
    """Whether the process of that mark runs; None where it cannot be told from here: it lives in another
    namespace of process ids, or the mark cannot be read."""
    number, _, rest = text.partition(":")
    if not number.isdecimal():
        return None
    parts = (*rest.split(":"), "", "", "")
    was, here = ProcessMark(int(number), *parts[:3]), _mark(os.getpid())
    if was.boot != here.boot:
        return False
    if was.space != here.space:
        return None
    try:
        os.kill(was.number, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        pass
    return _mark(was.number).begun == was.begun


def _mark(number: int) -> ProcessMark:
    return ProcessMark(number, _begun(number), _text("/proc/sys/kernel/random/boot_id")[:8], _space())


def _begun(number: int) -> str:
    # behind the name in parentheses, which may hold anything: field 22 (man 5 proc)
    fields = _text(f"/proc/{number}/stat").rpartition(")")[2].split()
    return fields[19] if len(fields) > 19 else ""


def _text(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""


def _space() -> str:
    try:
        return os.readlink("/proc/self/ns/pid").strip("pid:[]")
    except OSError:
        return ""
