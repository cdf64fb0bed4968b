"""The whole history of a scenario as lines, for comparison: `python -m tests.unit.sim.scenarios.event_log
NAME SEED SECONDS` prints the SHA-256 of it and how many lines there were."""

import asyncio
import hashlib
import sys

import msgspec

from cockpit.sim.cluster import EmbeddedCluster
from cockpit.sim.scenarios.loading import find, load
from cockpit.sim.scenarios.schema import Scenario
from cockpit.sim.server.storage import Commit

_encode = msgspec.json.Encoder().encode


async def event_log(scenario: Scenario, seed: int, seconds: float) -> list[bytes]:
    """Every commit of every kind, as JSON, after the story's own lines."""
    cluster = EmbeddedCluster.stepped(scenario, seed)
    lines: list[bytes] = []
    clock = cluster.clock

    def tell(commit: Commit) -> None:
        lines.append(_encode([clock.now(), commit.type, commit.version, commit.after.tree]))

    for shelf in dict.fromkeys(kind.shelf for kind in cluster.operations.kinds):
        cluster.operations.storage.listen(shelf, tell)
    await cluster.engine.start()
    await cluster.engine.advance(seconds)
    return [*(_encode(line) for line in cluster.lines), *lines]


def digest(lines: list[bytes]) -> str:
    """Number of lines and SHA-256."""
    joined = b"\n".join(lines)
    return f"{len(lines)} {hashlib.sha256(joined).hexdigest()}"


def main(arguments: list[str]) -> None:
    name, seed, seconds = arguments
    lines = asyncio.run(event_log(load(find(name)), int(seed), float(seconds)))
    sys.stdout.write(f"{digest(lines)}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
