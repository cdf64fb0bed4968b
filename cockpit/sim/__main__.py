"""`python -m cockpit.sim`: the embedded cluster alone; `cockpit demo --serve` is the way for people."""

import argparse
import asyncio
import atexit
import gc
import os
import sys
from pathlib import Path

from cockpit import memory_guard
from cockpit.errors import CockpitError
from cockpit.sim.serve import Options, serve

_KEPT: list[object] = []
"""The cluster that has ended: to take a fleet's objects apart one by one takes Python many seconds."""


def _leave() -> None:
    """End at once; everything is closed and written, and the machine frees memory faster."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def main(arguments: list[str] | None = None) -> int:
    """Serve until ended. Exit code 2 with one sentence on standard error for bad input."""
    parser = argparse.ArgumentParser(prog="python -m cockpit.sim", allow_abbrev=False)
    parser.add_argument("--scenario", default="default")
    parser.add_argument("--speed", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--fleeting", action="store_true", help="remove --folder at the end")
    parser.add_argument("--log", type=Path)
    parser.add_argument("--warm", type=float, default=0.0)
    parser.add_argument("--allow-local", action="store_true", help="images of a file may run commands here")
    parser.add_argument("--with-parent", action="store_true", help="end when standard input closes")
    given = parser.parse_args(arguments)
    options = Options(
        scenario=given.scenario,
        speed=given.speed,
        seed=given.seed,
        port=given.port,
        folder=given.folder,
        is_fleeting=given.fleeting,
        log=given.log,
        warm_seconds=given.warm,
        allow_local=given.allow_local,
        has_parent=given.with_parent,
    )
    # Trees live long: the collector's usual rounds over all of them would take a fifth of the time.
    gc.set_threshold(50_000, 20, 50)
    try:
        memory_guard.start()
        asyncio.run(serve(options, sys.stdout, _KEPT))
    except KeyboardInterrupt:
        pass
    except CockpitError as error:
        print(f"cockpit: {error.sentence}", file=sys.stderr)
        return error.exit_code
    if short := memory_guard.shortage():
        print(f"cockpit: {short}", file=sys.stderr)
        return 2
    atexit.register(_leave)
    return 0


if __name__ == "__main__":
    sys.exit(main())
