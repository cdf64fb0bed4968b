"""`python -m tests.fuzz.child FOLDER SCENARIO`: an embedded cluster with little memory, watched.

It says where its kubeconfig is, ends when its standard input closes, and then prints as JSON what the worst
request has unfolded, how long the longest callback of the loop was, and whom it wanted to dial.
"""

import asyncio
import gc
import ipaddress
import json
import re
import resource
import sys
import time
from asyncio import events
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from cockpit.sim.serve import Options, serve
from cockpit.sim.server.limits import METER

MOST_BYTES = 1 << 30
"""Of address space, libraries and stacks of threads included."""


class Callbacks:
    """How long the longest callback of the loop took, by the machine's clock, and which one it was."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.name = ""

    def watch(self) -> None:
        """From now on every callback is looked at."""
        run: Callable[[events.Handle], None] = events.Handle._run

        def timed(handle: events.Handle) -> None:
            began = time.perf_counter()
            run(handle)
            took = time.perf_counter() - began
            if took > self.seconds:
                self.seconds, self.name = took, repr(handle)[:300]

        events.Handle._run = timed  # type: ignore[assignment,method-assign]


class Dials:
    """Whom the process wanted to speak to beyond this machine: nobody is let."""

    def __init__(self) -> None:
        self.addresses: set[str] = set()

    def watch(self) -> None:
        """From now on only loopback can be dialled and no name be looked up."""
        sys.addaudithook(self._hook)

    def _hook(self, event: str, args: tuple[Any, ...]) -> None:
        if event == "socket.connect":
            address = args[1]
            if isinstance(address, tuple) and not _is_loopback(str(address[0])):
                self._refuse(str(address[0]))
        elif event == "socket.getaddrinfo" and args[0] not in (None, "localhost"):
            host = args[0].decode(errors="replace") if isinstance(args[0], bytes) else str(args[0])
            if not _is_loopback(host):
                self._refuse(host)

    def _refuse(self, host: str) -> None:
        self.addresses.add(host[:100])
        raise ConnectionRefusedError(f"{host[:100]} is not on this machine")


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return False


def most_resident_bytes() -> int:
    """Of this process since it began; `ru_maxrss` would begin with the size of whoever started it."""
    found = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())
    return int(found[1]) * 1024 if found else 0


def main() -> int:
    folder = Path(sys.argv[1])
    scenario = sys.argv[2]
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    gc.set_threshold(50_000, 20, 50)  # as `python -m cockpit.sim` has it
    callbacks, dials = Callbacks(), Dials()
    dials.watch()
    options = Options(
        scenario=scenario,
        speed=20.0,
        folder=folder / "cluster",
        log=folder / "log",
        has_parent=True,
        runs_local_images=False,
    )

    async def run() -> None:
        callbacks.watch()
        await serve(options, sys.stdout)

    asyncio.run(run())
    told = {
        "peak": msgspec.structs.asdict(METER.peak),
        "longest_callback_seconds": callbacks.seconds,
        "longest_callback": callbacks.name,
        "dialled": sorted(dials.addresses),
        "most_resident_bytes": most_resident_bytes(),
    }
    print(json.dumps(told), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
