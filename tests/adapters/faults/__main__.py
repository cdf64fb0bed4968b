"""`python -m tests.adapters.faults --faults FILE`: a misbehaving proxy before the cluster of a kubeconfig."""

import argparse
import asyncio
import signal
import sys
import tempfile
from pathlib import Path

from cockpit.errors import CockpitError
from cockpit.kube.kubeconfig import files
from tests.adapters.faults.standalone import rules_in, standing_before


def _asked(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.adapters.faults",
        description="A misbehaving proxy before an API server. Prints KUBECONFIG=PATH, and stays.",
    )
    parser.add_argument("--faults", type=Path, required=True, help="YAML: a list of rules, or a scenario")
    parser.add_argument("--kubeconfig", help="whose current context names the server (default: KUBECONFIG)")
    parser.add_argument("--seed", type=int, default=1, help="what is drawn, is drawn by it (default: 1)")
    parser.add_argument("--port", type=int, default=0, help="port on loopback (default: any that is free)")
    return parser.parse_args(arguments)


async def _stay(asked: argparse.Namespace, folder: Path) -> None:
    rules = rules_in(asked.faults)
    kubeconfig = files(asked.kubeconfig)[0]
    async with standing_before(kubeconfig, rules, folder, seed=asked.seed, port=asked.port) as (_, path):
        sys.stdout.write(f"KUBECONFIG={path}\n")
        sys.stdout.flush()
        # A handler of our own: under nohup and in background jobs SIGINT comes ignored, and a proxy that
        # nobody can end stays for ever.
        ending = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(number, ending.set)
        await ending.wait()


def main(arguments: list[str] | None = None) -> int:
    """Serve until interrupted. Answers the exit status."""
    asked = _asked(sys.argv[1:] if arguments is None else arguments)
    with tempfile.TemporaryDirectory(prefix="cockpit-faults-") as folder:
        try:
            asyncio.run(_stay(asked, Path(folder)))
        except CockpitError as error:
            sys.stderr.write(f"{error.sentence}\n")
            return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
