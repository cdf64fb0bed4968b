"""`horovodrun` of `local/stand-in`: starts ranks over ssh as `horovodrun --gloo` does, and nothing else.

It knows the options that templates give. Ranks get Horovod's variables, their lines get `[RANK]<stdout>:`.
With `--host-discovery-script` ranks are started anew, from the step that rank 0 has told, whenever the hosts
are others: Horovod keeps them alive and shares their state, a stand-in has none. No collective is ever run.
"""

import argparse
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from shlex import join, quote
from typing import IO

_POLL_SECONDS = 1.0
_KILL_SECONDS = 5.0
_STEP = re.compile(rb"\bstep=(\d+)")
Slot = tuple[str, int]


def options(words: Sequence[str]) -> argparse.Namespace:
    """Horovod's words for what is asked."""
    parser = argparse.ArgumentParser(prog="horovodrun (stand-in)")
    parser.add_argument("-np", "--num-proc", type=int, default=0)
    parser.add_argument("--min-np", "--min-num-proc", type=int, default=0)
    parser.add_argument("--max-np", "--max-num-proc", type=int, default=0)
    parser.add_argument("-H", "--hosts", default="")
    parser.add_argument("-hostfile", "--hostfile", default="")
    parser.add_argument("--host-discovery-script", default="")
    parser.add_argument("--slots-per-host", "--slots", type=int, default=1)
    parser.add_argument("-p", "--ssh-port", default="22")
    parser.add_argument("--gloo", action="store_true")
    for name in ("--network-interfaces", "--start-timeout", "--elastic-timeout", "--reset-limit"):
        parser.add_argument(name)
    parser.add_argument("--blacklist-cooldown-range", nargs=2)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    return parser.parse_args(words)


def slots_of(given: argparse.Namespace) -> list[Slot]:
    """Host and local rank of each rank there is room for. Raises OSError and ValueError."""
    if given.host_discovery_script:
        said = subprocess.run(
            [given.host_discovery_script], capture_output=True, text=True, check=True
        ).stdout
        hosts = [(line, given.slots_per_host) for line in said.split()]
    elif given.hostfile:
        lines = [
            line.split() for line in Path(given.hostfile).read_text(encoding="utf-8").splitlines() if line
        ]
        hosts = [(words[0], int(words[1].removeprefix("slots="))) for words in lines]
    else:
        pairs = [one.partition(":") for one in given.hosts.split(",") if one]
        hosts = [(host, int(count)) for host, _, count in pairs]
    return [(host, local) for host, count in hosts for local in range(count)]


class StartedRanks:
    """All ranks of one size."""

    def __init__(self, given: argparse.Namespace, slots: list[Slot], step: int) -> None:
        self.step = step
        self.failed: tuple[int, int] | None = None
        self._processes: list[subprocess.Popen[bytes]] = []
        self._threads: list[threading.Thread] = []
        self.slots = slots
        for rank in range(len(slots)):
            self._start(given, rank)

    def _start(self, given: argparse.Namespace, rank: int) -> None:
        host, local = self.slots[rank]
        hosts = list(dict.fromkeys(name for name, _ in self.slots))
        peers = [name for name, _ in self.slots if name == host]
        variables = {
            "HOROVOD_HOSTNAME": host, "HOROVOD_RANK": rank, "HOROVOD_SIZE": len(self.slots),
            "HOROVOD_LOCAL_RANK": local, "HOROVOD_LOCAL_SIZE": len(peers),
            "HOROVOD_CROSS_RANK": hosts.index(host), "HOROVOD_CROSS_SIZE": len(hosts),
            "STAND_IN_STEP": self.step, "PYTHONUNBUFFERED": 1,
        }  # fmt: skip
        words = join(["env", *(f"{name}={value}" for name, value in variables.items()), *given.command])
        there = f"cd {quote(os.getcwd())} > /dev/null 2>&1 ; {words}"
        process = subprocess.Popen(
            ["ssh", host, "-p", given.ssh_port, there],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        self._processes.append(process)
        for name, pipe in (("stdout", process.stdout), ("stderr", process.stderr)):
            thread = threading.Thread(target=self._relay, args=(rank, name, pipe))
            thread.start()
            self._threads.append(thread)

    def _relay(self, rank: int, name: str, pipe: IO[bytes] | None) -> None:
        to = sys.stdout.buffer if name == "stdout" else sys.stderr.buffer
        for line in pipe or ():
            found = _STEP.search(line) if rank == 0 else None
            if found is not None:
                self.step = int(found[1])
            to.write(b"[%d]<%s>:" % (rank, name.encode()) + line)
            to.flush()

    def poll(self) -> bool:
        """True while all of them run or have ended well; notes the first that has not."""
        codes = [process.poll() for process in self._processes]
        if self.failed is None:
            self.failed = next(((rank, code) for rank, code in enumerate(codes) if code), None)
        return self.failed is None

    def is_over(self) -> bool:
        """True when every rank has ended."""
        return all(process.poll() is not None for process in self._processes)

    def end(self) -> None:
        """Ask all to end, kill those that do not."""
        for process in self._processes:
            process.terminate()
        until = time.monotonic() + _KILL_SECONDS
        for process in self._processes:
            try:
                process.wait(max(0.0, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
        self.join()

    def join(self) -> None:
        """Wait for their last lines."""
        for thread in self._threads:
            thread.join()


def say(text: str) -> None:
    """A line on standard error."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def unreachable(given: argparse.Namespace, slots: list[Slot]) -> str:
    """What ssh says of the first host that it does not reach, "" where it reaches all."""
    for host in dict.fromkeys(name for name, _ in slots):
        words = ["ssh", "-n", host, "-p", given.ssh_port, "true"]
        tried = subprocess.run(words, capture_output=True, text=True, check=False)
        if tried.returncode:
            return f"ssh not successful for host {host}:\n{tried.stdout}{tried.stderr}"
    return ""


def main(words: Sequence[str]) -> int:
    """Run until all ranks have ended well (0), one has not (1), or somebody says so (143)."""
    given = options(words)
    told = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, frame: told.set())
    is_elastic = bool(given.host_discovery_script)
    most = given.max_np if is_elastic and given.max_np else given.num_proc
    least = (given.min_np or given.num_proc) if is_elastic else given.num_proc
    try:
        slots = slots_of(given)[: most or None]
    except (OSError, ValueError, IndexError, subprocess.CalledProcessError) as error:
        say(f"horovodrun (stand-in): the hosts cannot be read: {error}")
        return 1
    if len(slots) < least:
        say(f"Requested more processes ({least}) than there are available slots ({len(slots)})")
        return 1
    refusal = "" if is_elastic else unreachable(given, slots)
    if refusal:
        say(f"{refusal}could not connect to some hosts via ssh")
        return 1
    return _watch(given, StartedRanks(given, slots, 0), told, (least, most))


def _watch(
    given: argparse.Namespace, ranks: StartedRanks, told: threading.Event, bounds: tuple[int, int]
) -> int:
    least, most = bounds
    looked_at = time.monotonic()
    while not told.wait(0.1):
        is_well = ranks.poll()
        if is_well and ranks.is_over():
            ranks.join()
            return 0
        if given.host_discovery_script and (not is_well or time.monotonic() - looked_at > _POLL_SECONDS):
            looked_at = time.monotonic()
            gone = {ranks.slots[ranks.failed[0]][0]} if ranks.failed else set[str]()
            slots = [one for one in slots_of(given) if one[0] not in gone][: most or None]
            if len(slots) >= least and slots != ranks.slots:
                ranks.end()
                ranks = StartedRanks(given, slots, ranks.step)
                continue
        if not is_well:
            break
    ranks.end()
    if ranks.failed is None:
        return 143
    rank, code = ranks.failed
    say(
        "Horovod detected that one or more processes exited with non-zero status, thus causing the job to be "
        f"terminated. The first process to do so was:\nProcess name: {rank}\nExit code: {code}"
    )
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
