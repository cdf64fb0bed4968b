"""Logs of the scripted estate: what each member's container wrote, as a kubelet would tell it."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import msgspec

from cockpit.kube.answer import ApiAnswer
from tests.tui.estate import NOW

STEPS = 40
STEP_SECONDS = 3.0
NCCL = "NCCL INFO Channel 00/08 : 0 1 2 3 4 5 6 7"


def lines_of(pod: str) -> list[tuple[float, str]]:
    """(when, text) of one container's log, oldest first; nothing random."""
    begun = NOW - STEPS * STEP_SECONDS - 20
    if "launcher" in pod:
        found = [(begun, "+ mpirun -np 24 -bind-to none -map-by slot python train.py --epochs 90")]
        for step in range(STEPS):
            at = begun + 5 + step * STEP_SECONDS
            loss = 2.31 - 0.004 * step
            found.append(
                (at, f"epoch 31/90 step {1_200 + step * 10}/5005 loss {loss:.4f} 9,{880 + step} images/s")
            )
        return found
    rank = int(pod.rsplit("-", 1)[-1]) if pod.rsplit("-", 1)[-1].isdigit() else 0
    found = [(begun - 30 + rank * 0.2, "sshd: Server listening on 0.0.0.0 port 2222.")]
    found.append((begun + 1 + rank * 0.1, f"{pod}:4711:4802 [0] {NCCL}"))
    if rank == 2:
        found.append((begun + 60, f"{pod}:4711:4802 [3] NCCL WARN IB port 1 : local link error, retrying"))
        found.append((begun + 61, 'Traceback (most recent call last): File "loader.py", line 88'))
        found.append((begun + 61.2, "OSError: [Errno 116] Stale file handle: '/data/train/n01440764'"))
    return found


def told(lines: Sequence[tuple[float, str]]) -> bytes:
    """As `timestamps=true` tells it."""
    parts = []
    for at, text in lines:
        moment = datetime.fromtimestamp(at, UTC)
        parts.append(f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond:06d}000Z {text}\n")
    return "".join(parts).encode()


@asynccontextmanager
async def stream(path: str, *, query: Sequence[tuple[str, str]] = (), **_: object) -> AsyncIterator[Any]:
    """Stands for `Session.stream` on a path of a pod's log; a followed log says nothing more and stays."""
    pod = path.split("/")[-2]
    lines = lines_of(pod)
    if "previous" in dict(query):
        lines = [(NOW - 7_000, f"{pod}: torch.cuda.OutOfMemoryError: CUDA out of memory")]
    async with answer(lines, query) as found:
        yield found


@asynccontextmanager
async def answer(
    lines: Sequence[tuple[float, str]], query: Sequence[tuple[str, str]] = ()
) -> AsyncIterator[Any]:
    """What a kubelet would answer from these lines."""
    options = dict(query)
    if "tailLines" in options:
        lines = lines[-int(options["tailLines"]) :]
    if since := options.get("sinceTime"):
        begin = datetime.fromisoformat(since).timestamp()
        lines = [line for line in lines if line[0] >= begin]
    if seconds := options.get("sinceSeconds"):
        lines = [line for line in lines if line[0] >= NOW - int(seconds)]

    async def chunks() -> AsyncIterator[bytes]:
        if lines:
            yield told(lines)
        if options.get("follow") == "true":
            import asyncio

            await asyncio.Event().wait()

    yield SimpleNamespace(status=200, chunks=chunks())


@asynccontextmanager
async def refuse(path: str, **_: object) -> AsyncIterator[Any]:
    """Stands for `Session.stream` where no log can be read."""

    async def answer() -> Any:
        return ApiAnswer(503, body=b'{"kind": "Status", "message": "the kubelet is out"}')

    yield SimpleNamespace(status=503, answer=answer)


def changed(record: Any, **fields: Any) -> Any:
    """The record with these fields."""
    return msgspec.structs.replace(record, **fields)
