"""A limit of memory (`ulimit -v`, `ulimit -d`) ends the process in one sentence; no core of it is dumped.

CPython 3.11 dies of a segmentation fault or of a fatal error where a small allocation fails (the stack of
frames, an exception that is being made), so that MemoryError alone is no net. While a limit is in force the
memory in use is compared with it many times a second, and what is left of it at the end is enough to leave
orderly. The limit counts address space, so threads get small stacks and glibc one heap for all of them.
"""

import contextlib
import ctypes
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable

HEADROOM_BYTES = 24 << 20
"""Left for the end: restoring the terminal, closing connections, the sentence."""
_LOOK_SECONDS = 0.02
_STACK_BYTES = 2 << 20
_ARENA_MAX = -8
"""M_ARENA_MAX of glibc's malloc.h."""
_MEGABYTE = 1_000_000

_short: list[str] = []


def shortage() -> str:
    """The sentence once the limit was nearly reached, "" before."""
    return _short[0] if _short else ""


def start() -> None:
    """Watch the memory of this process where a limit is in force; the main thread gets SIGINT when it is
    nearly reached, and `shortage` has the sentence. Without a limit, or without /proc, nothing is watched.
    No core is dumped in any case: it would hold tokens and keys."""
    _refuse_core()
    limits = _limits()
    if not limits or not os.path.exists("/proc/self/statm"):
        return
    threading.stack_size(_STACK_BYTES)
    _one_heap()
    if sentence := short_of(limits, _in_use()):
        _short.append(sentence)
        raise KeyboardInterrupt
    threading.Thread(target=_watch, args=(limits,), name="memory", daemon=True).start()


def short_of(limits: dict[str, int], in_use: dict[str, int]) -> str:
    """The sentence for the first limit (bytes by the letter of `ulimit`) that leaves no headroom, or ""."""
    for letter, limit in limits.items():
        if in_use[letter] + HEADROOM_BYTES > limit:
            return (
                f"not enough memory: {in_use[letter] / _MEGABYTE:,.0f} MB of the {limit / _MEGABYTE:,.0f} MB"
                f" that `ulimit -{letter}` allows are in use; raise the limit"
            )
    return ""


def _limits() -> dict[str, int]:
    found = {"v": resource.getrlimit(resource.RLIMIT_AS)[0], "d": resource.getrlimit(resource.RLIMIT_DATA)[0]}
    return {letter: limit for letter, limit in found.items() if limit != resource.RLIM_INFINITY}


def _in_use() -> dict[str, int]:
    """Address space and data of this process in bytes (proc(5): statm counts pages)."""
    with open("/proc/self/statm", "rb") as file:
        pages = file.read().split()
    page = os.sysconf("SC_PAGE_SIZE")
    return {"v": int(pages[0]) * page, "d": int(pages[5]) * page}


def _watch(
    limits: dict[str, int], look: Callable[[], dict[str, int]] = _in_use, seconds: float = _LOOK_SECONDS
) -> None:
    main = threading.main_thread().ident
    while main is not None:
        if sentence := short_of(limits, look()):
            _short.append(sentence)
            signal.pthread_kill(main, signal.SIGINT)
            return
        time.sleep(seconds)


def _refuse_core() -> None:
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


def _one_heap() -> None:
    if sys.platform != "linux":
        return
    with contextlib.suppress(AttributeError, OSError):  # another C library
        ctypes.CDLL(None).mallopt(_ARENA_MAX, 1)
