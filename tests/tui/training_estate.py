"""A Horovod run on the scripted estate, told by its launcher's log in the documented form: 24"
" ranks, one slow."""

import math
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from random import Random
from typing import Any

from tests.tui import scripted_logs
from tests.tui.deck import ScriptedApp
from tests.tui.estate import NOW

RANKS, SLOW = 24, 13
BEGUN = NOW - 5 * 3_600 + 45
INTERVALS, STEPS_EACH = 60, 200
STEPS = 90 * STEPS_EACH
MISSING = (
    "[2026-01-27 14:05:11.181832: W /tmp/pip/horovod/common/stall_inspector.cc:107] One or more"
    " tensors were submitted to"
    " be reduced, gathered or broadcasted by subset of ranks and are waiting for remainder of ranks"
    " for more than 60 seconds."
)


def lines(intervals: int = INTERVALS) -> list[tuple[float, str]]:
    """(when, text) of the launcher's log: all ranks start, then a line of each rank an interval."""
    random = Random(7)
    found = [(BEGUN - 2, "+ horovodrun --gloo -np 24 --hostfile /etc/mpi/hostfile python /app/train.py")]
    found += [
        (
            BEGUN + 6 + rank / 10,
            f"[{rank}]<stdout>:started rank={rank} size={RANKS} host=h device=cuda:{rank % 8}",
        )
        for rank in range(RANKS)
    ]
    for interval in range(1, intervals + 1):
        rate = 9_950 * random.gauss(1, 0.006) * (0.4 if interval == 1 else 1.0)
        at = BEGUN + 12 + (interval - 1) * 290
        if interval % 10 == 0:
            step = interval * STEPS_EACH - 40
            found.append(
                (at - 50, f"[0]<stdout>:checkpoint step={step} file=/checkpoints/checkpoint-{step:08d}.pt")
            )
        loss = 1.9 + 5.1 * math.exp(-interval / 14) + random.gauss(0, 0.03)
        for rank in range(RANKS):
            compute = 0.91 * random.gauss(1, 0.01) * (1.23 if rank == SLOW else 1.0)
            more = f" compute_s={compute:.4f} rank={rank} size={RANKS}"
            if rank == 0:
                head = f"steps={STEPS} epoch={interval // 10 + 1} loss={loss:.4f} samples_per_s={rate:.1f}"
                more = f" {head} seconds_per_step=1.45{more}"
            found.append((at + rank / 1_000, f"[{rank}]<stdout>:progress step={interval * STEPS_EACH}{more}"))
    return found


def stalled() -> list[tuple[float, str]]:
    """The same log where rank 13 went missing."""
    found = lines()
    at = found[-1][0] + 60
    return [
        *found,
        (at, f"[0]<stderr>:{MISSING}"),
        (at, "[0]<stderr>:Missing ranks:"),
        (at, "[0]<stderr>:13: [allreduce.conv1.weight, allreduce.fc.bias]"),
    ]


class TrainingApp(ScriptedApp):
    """The launcher of the run writes what `told` says."""

    told: Sequence[tuple[float, str]] = lines()

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        assert self.attachment.session is not None
        self.attachment.session.stream = self._stream  # type: ignore[method-assign]

    @asynccontextmanager
    async def _stream(
        self, path: str, *, query: Sequence[tuple[str, str]] = (), **_: object
    ) -> AsyncIterator[Any]:
        told = self.told if "launcher" in path else scripted_logs.lines_of(path.split("/")[-2])
        async with scripted_logs.answer(told, query) as found:
            yield found


class StalledApp(TrainingApp):
    told = stalled()
