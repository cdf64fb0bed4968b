"""Commands that a configuration names: run without a shell, with a deadline, their output bounded.

A program gets the variables that every program needs, those that its configuration names, and no other. It
runs in a process group of its own, which ends with the deadline and with whoever waits for it.
"""

import asyncio
import json
import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from typing import IO, Any, Protocol

from cockpit.clouds.answer import STATUS, PoolAnswer, count_of, finding, version_of
from cockpit.clouds.errors import OutsideError, words
from cockpit.daemon_thread import apart
from cockpit.model.pool import PoolObject
from cockpit.model.reach import Commands, Reach
from cockpit.sanitise import clean

API_VERSION = "command.gpu-cockpit/v1"
KIND = "Pool"
LARGEST_BYTES = 1 << 20
_COMMON = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TMPDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME")
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy")
_TRUST = ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE")


class RunProgram(Protocol):
    """Runs a program; the answer is what it printed."""

    async def __call__(self, argv: Sequence[str], commands: Commands, /, *, is_change: bool) -> bytes: ...


def environment_of(commands: Commands, ours: Mapping[str, str]) -> dict[str, str]:
    """What the program is given of our variables."""
    names = (*_COMMON, *_PROXIES, *_TRUST, *commands.environment)
    return {name: ours[name] for name in names if name in ours}


async def run_program(argv: Sequence[str], commands: Commands, /, *, is_change: bool) -> bytes:
    """What the program printed. Raises OutsideError where it cannot be started, fails, or takes too long."""
    child = _Child(argv, environment_of(commands, os.environ))
    try:
        async with asyncio.timeout(commands.timeout_seconds):
            code, printed, complaint = await apart(child.run)
    except FileNotFoundError:
        raise OutsideError(commands.who, "NoProgram", f"the program {argv[0]} was not found") from None
    except TimeoutError:
        told = f"{argv[0]} did not end within {commands.timeout_seconds:g} s"
        raise OutsideError(commands.who, "NoAnswer", told, is_lost=is_change) from None
    except OSError as error:
        raise OutsideError(commands.who, "NoProgram", f"{argv[0]}: {error.strerror}") from None
    finally:
        child.end()
    if code:  # it may fail on its way back from a change that was made
        raise OutsideError(
            commands.who,
            f"Exit{code}",
            _complaint(complaint) or f"{argv[0]} ended with {code}",
            is_lost=is_change,
            is_over=True,
        )
    return printed


class _Child:
    """One program, run in a thread; `end` ends it with all that it started, whenever that comes."""

    def __init__(self, argv: Sequence[str], environment: Mapping[str, str]) -> None:
        self._argv, self._environment = argv, environment
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._is_over = False

    def run(self) -> tuple[int, bytes, bytes]:
        """Exit code, what it printed, what it complained of."""
        process = subprocess.Popen(
            self._argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self._environment,
            start_new_session=True,
        )
        with self._lock:
            self._process = process
        if self._is_over:
            self.end()
        complaint: list[bytes] = []
        reader = threading.Thread(target=lambda: complaint.append(_some(process.stderr)), daemon=True)
        reader.start()
        printed = _some(process.stdout)
        reader.join()
        # It may run on with its pipes closed. Its number stays its own until it is waited for.
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        with self._lock:
            return process.wait(), printed, b"".join(complaint)

    def end(self) -> None:
        """Nothing where it has ended by itself."""
        self._is_over = True
        with self._lock:
            if self._process is not None and self._process.returncode is None:
                with suppress(ProcessLookupError):
                    os.killpg(self._process.pid, signal.SIGKILL)


def _some(stream: IO[bytes] | None) -> bytes:
    """What comes, as far as it is kept; the rest is read and dropped, so that the program does not wait."""
    kept = bytearray()
    with stream or nullcontext():
        while stream is not None and (piece := stream.read(65536)):
            kept += piece[: LARGEST_BYTES - len(kept)]
    return bytes(kept)


def _complaint(raw: bytes) -> str:
    """The first line that says what is wrong, else the last one: tools begin with warnings."""
    lines = [line.strip() for line in raw[: 1 << 16].decode("utf-8", "replace").splitlines() if line.strip()]
    at = next((n for n, line in enumerate(lines) if line.upper().startswith("ERROR")), len(lines) - 1)
    return words(" ".join(lines[at : at + 3])) if lines else ""


# ---- answers


def _commands(reach: Reach) -> Commands:
    if reach.commands is None:
        raise TypeError("a pool of commands has commands")
    return reach.commands


async def read(reach: Reach, now_seconds: float, *, run: RunProgram = run_program) -> PoolAnswer:
    """The pool as its command tells it. Raises OutsideError, also for an answer that cannot be read."""
    commands = _commands(reach)
    argv = commands.filled(commands.follow or commands.read, reach.pool)
    tree = await _tree(argv, commands, run)
    zones = zones_of(commands, tree)
    sizes = [
        _count(commands, tree, path, zones) for path in (commands.desired, commands.minimum, commands.maximum)
    ]
    status = _text(at_path(tree, commands.status), 60)
    message = words(_text(at_path(tree, commands.message), 400))
    is_bad = status in commands.failed
    is_autoscaled = at_path(tree, commands.autoscaled) is True
    if is_autoscaled and commands.is_desired_stale_when_autoscaled:
        sizes[0] = None
    found = PoolObject(
        uid=_text(at_path(tree, commands.identity), 500) or reach.path,
        name=reach.pool,
        resource_version=version_of(*sizes),
        api_version=API_VERSION,
        kind=KIND,
        resource_path=f"command/{commands.who}",
        replicas=sizes[0],
        min_replicas=sizes[1],
        max_replicas=sizes[2],
        instance_type=_text(at_path(tree, commands.machine), 80),
        conditions=(finding(STATUS, status, message, is_good=not is_bad),) if status or message else (),
        is_autoscaled=is_autoscaled,
        zone_count=zones,
        read_seconds=now_seconds,
        reach=reach,
    )
    return PoolAnswer((found,))


async def _tree(argv: list[str], commands: Commands, run: RunProgram) -> Any:
    printed = await run(argv, commands, is_change=False)
    try:
        return json.loads(printed)
    except (ValueError, RecursionError):
        raise OutsideError(commands.who, "NotJson", f"{argv[0]} printed no JSON") from None


def at_path(tree: Any, path: str) -> Any:
    """What stands at `a.b.0.c`; None where nothing does."""
    for key in path.split(".") if path else ():
        if isinstance(tree, dict):
            tree = tree.get(key)
        elif isinstance(tree, list) and key.isdigit() and int(key) < len(tree):
            tree = tree[int(key)]
        else:
            return None
    return tree if path else None


def zones_of(commands: Commands, tree: Any) -> int:
    """In how many zones the program's numbers count; 1 where they count for all."""
    found = at_path(tree, commands.zones)
    return len(found) if isinstance(found, list) and found else 1


def _count(commands: Commands, tree: Any, path: str, zones: int) -> int | None:
    value = at_path(tree, path)
    if value is None:
        return None
    if isinstance(value, str) and value.isascii() and value.isdigit():
        value = int(value[:10])
    count = count_of(value)
    if count is None:
        raise OutsideError(
            commands.who, "NotJson", f"the value at {path} is {value!r}, not a number of nodes"
        )
    return count * zones


def _text(value: Any, limit: int) -> str:
    return clean(str(value), limit) if isinstance(value, str | int) and not isinstance(value, bool) else ""
