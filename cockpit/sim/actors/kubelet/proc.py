"""What /proc tells of a process and all below it."""

import os
from pathlib import Path

import msgspec


class Used(msgspec.Struct, frozen=True):
    """CPU seconds since the start, of those that have ended, too; bytes resident now."""

    cpu_seconds: float = 0.0
    memory_bytes: int = 0


class _Line(msgspec.Struct, frozen=True):
    parent: int
    ticks: int
    pages: int


def used_below(root: int) -> Used:
    """Used by a process and its descendants (of it itself no memory); nothing where there is no /proc.

    A process counts for its children that it has waited for, so what ends is not forgotten.
    """
    lines = _lines()
    children: dict[int, list[int]] = {}
    for pid, line in lines.items():
        children.setdefault(line.parent, []).append(pid)
    pending, ticks, pages = [root], 0, 0
    while pending:
        pid = pending.pop()
        if pid in lines:
            line = lines[pid]
            ticks, pages = ticks + line.ticks, pages + (line.pages if pid != root else 0)
        pending += children.get(pid, ())
    return Used(ticks / os.sysconf("SC_CLK_TCK"), pages * os.sysconf("SC_PAGE_SIZE"))


def is_below(pid: int, root: int) -> bool:
    """True for a process that descends from `root`, or is it."""
    lines = _lines()
    while pid in lines and pid != root:
        pid = lines[pid].parent
    return pid == root


def _lines() -> dict[int, _Line]:
    found: dict[int, _Line] = {}
    try:
        names = os.listdir("/proc")
    except OSError:
        return found
    for name in names:
        if name.isdigit():
            try:
                words = Path(f"/proc/{name}/stat").read_bytes().rpartition(b")")[2].split()
            except OSError:
                continue
            # proc(5): utime, stime, and cutime, cstime of children waited for; then resident pages
            found[int(name)] = _Line(int(words[1]), sum(map(int, words[11:15])), int(words[21]))
    return found
