"""How time, memory and processor time are taken, the same for every contestant."""

import os
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

SAMPLE_SECONDS = 0.05
YARDSTICK_ROUNDS = 3_000_000


def yardstick_seconds() -> float:
    """What a fixed pure-Python loop takes now: the machine's own speed, by which runs can be compared."""
    started = time.perf_counter()
    total = 0
    for number in range(YARDSTICK_ROUNDS):
        total = (total * 31 + number) & 0xFFFFFFFF
    return time.perf_counter() - started if total >= 0 else 0.0


def load_average() -> float:
    """Runnable processes over the last minute."""
    return os.getloadavg()[0]


class ProcessTree:
    """Samples the memory of a process and all its descendants until it is stopped.

    `peak_bytes` is the largest sum of resident sets seen, and never less than the largest high-water mark the
    kernel kept for one of them; pages that two share count twice. `cpu_seconds` is user and system together.
    """

    def __init__(self, pid: int) -> None:
        self.peak_bytes = 0
        self.cpu_seconds = 0.0
        self._pid = pid
        self._cpu: dict[int, float] = {}
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="process-tree", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._done.set()
        self._thread.join()

    def sample(self) -> None:
        """One look, now."""
        total = 0
        for pid in _with_descendants(self._pid):
            resident, high_water = _memory(pid)
            total += resident
            self.peak_bytes = max(self.peak_bytes, high_water)
            self._cpu[pid] = max(self._cpu.get(pid, 0.0), _cpu_seconds(pid))
        self.peak_bytes = max(self.peak_bytes, total)
        self.cpu_seconds = sum(self._cpu.values())

    def _watch(self) -> None:
        while not self._done.wait(SAMPLE_SECONDS):
            self.sample()


def _with_descendants(pid: int) -> list[int]:
    found = [pid]
    for one in found:
        try:
            for task in os.listdir(f"/proc/{one}/task"):
                children = Path(f"/proc/{one}/task/{task}/children").read_text()
                found.extend(int(child) for child in children.split())
        except OSError:
            continue
    return found


def _memory(pid: int) -> tuple[int, int]:
    """Bytes resident now and at most; zeros for a process that is gone."""
    resident = high_water = 0
    try:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                resident = int(line.split()[1]) * 1024
            elif line.startswith("VmHWM:"):
                high_water = int(line.split()[1]) * 1024
    except OSError:
        return 0, 0
    return resident, high_water


def _cpu_seconds(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Finished:
    """One command from its start to its end. Seconds count from the start of the process."""

    first_seconds: float | None  # the first byte on its output
    end_seconds: float
    peak_bytes: int
    cpu_seconds: float
    output: bytes
    output_bytes: int
    started_monotonic: float


def run_command(
    argv: Sequence[str],
    environment: Mapping[str, str],
    *,
    each: Callable[[bytes], None] = lambda _: None,
    keep_bytes: int = 1 << 20,
    timeout_seconds: float = 600.0,
    folder: Path | None = None,
) -> Finished:
    """Run a command, handing its output to `each` as it comes; at most about `keep_bytes` of it are kept.

    Raises subprocess.CalledProcessError when it fails and TimeoutExpired when it takes too long.
    """
    started = time.monotonic()
    process = subprocess.Popen(
        list(argv), env=dict(environment), stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder
    )
    tree = ProcessTree(process.pid)
    killer = threading.Timer(timeout_seconds, process.kill)
    killer.start()
    assert process.stdout is not None and process.stderr is not None
    complaints: list[bytes] = []
    listener = threading.Thread(target=lambda: complaints.append(process.stderr.read()), daemon=True)  # type: ignore[union-attr]
    listener.start()
    first: float | None = None
    kept, counted = bytearray(), 0
    while chunk := os.read(process.stdout.fileno(), 1 << 20):
        if first is None:
            first = time.monotonic() - started
        counted += len(chunk)
        each(chunk)
        if len(kept) < keep_bytes:
            kept += chunk
        tree.sample()
    code = process.wait()
    ended = time.monotonic() - started
    killer.cancel()
    tree.stop()
    listener.join()
    if code != 0:
        raise subprocess.CalledProcessError(code, list(argv), bytes(kept[-2000:]), b"".join(complaints))
    return Finished(first, ended, tree.peak_bytes, tree.cpu_seconds, bytes(kept), counted, started)
