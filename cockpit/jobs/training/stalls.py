"""What the libraries under a training say when ranks wait for each other, and which ranks they name.

- Horovod's stall check: horovod/common/stall_inspector.cc since 0.17 (`Missing ranks:`, then a line a rank);
  before it operations.cc (`name [missing ranks: 1, 2]`, and `[ready ranks: ...]`, which names nobody missing)
- NCCL under PyTorch: torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp, the watchdog
- Gloo: gloo/transport/tcp/{pair,unbound_buffer,buffer}.cc, its exceptions
"""

import re
from enum import StrEnum
from typing import Final, NamedTuple

from cockpit.jobs.training.rank_lines import MOST_RANK

MOST_RANKS: Final = 64
"""Of one line: a text may name thousands."""


class Sign(StrEnum):
    """What a line tells."""

    MISSING = "missing"  # Horovod: these ranks did not submit what the others wait for
    TIMED_OUT = "timed out"  # NCCL: this rank waited for a collective until its time was over
    GLOO_TIMED_OUT = "Gloo timed out"  # the same of Gloo
    LOST_PEER = "lost its peer"  # Gloo: the connection to another rank broke


class Stall(NamedTuple):
    """One sign, the ranks it is about, and the line that gave it. Without ranks none is named."""

    sign: Sign
    ranks: tuple[int, ...]
    text: str
    at_seconds: float | None = None


_STALLED: Final = re.compile(
    r"(?i)one or more tensors were submitted to be reduced|\bmissing ranks:|\bstalled ops:"
)
_MISSING: Final = re.compile(r"(?i)\[missing ranks: (?P<ranks>[0-9, ]{1,400})")
_AFTER: Final = re.compile(r"(?i)\bmissing ranks:\s*$")
_RANK: Final = re.compile(r"\s*(?P<rank>[0-9]{1,6}): \[")
_SHUTDOWN: Final = re.compile(r"One or more rank \((?P<ranks>[0-9, ]{1,400})\) is stalled for greater than")
_NCCL: Final = re.compile(
    r"\[(?:PG [^\]]{0,120}\s)?Rank (?P<rank>[0-9]{1,6})\] .{0,120}?"
    r"(?:Watchdog caught collective operation timeout|watchdog got stuck)"
)
_GLOO: Final = re.compile(
    r"(?P<timeout>Timed out waiting [0-9]+ ?ms for (?:send|recv) operation to complete"
    r"|Application timeout caused pair closure|gloo.{0,200}?\b(?i:timed? ?out))"
    r"|gloo/transport/.{0,300}?(?:Connection (?:closed|reset) by peer|Socket closed|Broken pipe)"
)


class StallReader:
    """Reads lines of one log one after the other: Horovod's warning goes over several."""

    def __init__(self) -> None:
        self._is_listing = False

    def read(self, text: str, rank: int | None, at_seconds: float | None = None) -> Stall | None:
        """What the line tells; `rank` is who wrote it, None where that is not known."""
        if self._is_listing:
            if found := _RANK.match(text):
                return Stall(Sign.MISSING, _ranks(found["rank"]), text, at_seconds)
            self._is_listing = False
        if _STALLED.search(text):
            self._is_listing = _AFTER.search(text) is not None
            ranks = _ranks(" ".join(item["ranks"] for item in _MISSING.finditer(text)))
            return Stall(Sign.MISSING, ranks, text, at_seconds)
        if found := _SHUTDOWN.search(text):
            return Stall(Sign.MISSING, _ranks(found["ranks"]), text, at_seconds)
        if found := _NCCL.search(text):
            return Stall(Sign.TIMED_OUT, _ranks(found["rank"]), text, at_seconds)
        if found := _GLOO.search(text):
            sign = Sign.GLOO_TIMED_OUT if found["timeout"] else Sign.LOST_PEER
            return Stall(sign, () if rank is None else (rank,), text, at_seconds)
        return None


def _ranks(text: str) -> tuple[int, ...]:
    found = {int(item) for item in re.findall(r"[0-9]{1,6}", text)[: MOST_RANKS * 4]}
    return tuple(sorted(item for item in found if item <= MOST_RANK)[:MOST_RANKS])
