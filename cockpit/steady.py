"""Tasks that an unexpected error does not end: it is noted, told, and the task begins anew after a pause."""

import asyncio
from collections.abc import Awaitable, Callable

PAUSE_SECONDS = (1.0, 5.0, 15.0, 60.0, 300.0)
CALM_SECONDS = 600.0
"""After so long without an error the pauses begin with the shortest again."""

Work = Callable[[], Awaitable[object]]
Note = Callable[[BaseException, str], str]
"""(error, name of the task) -> the sentence that a person gets; keeps the rest in a report."""
Tell = Callable[[str], None]
Sleep = Callable[[float], Awaitable[None]]


async def kept_up(
    name: str,
    work: Work,
    note: Note,
    tell: Tell,
    *,
    monotonic: Callable[[], float],
    sleep: Sleep = asyncio.sleep,
) -> None:
    """Run `work` until it ends by itself or is cancelled. Whatever else it raises becomes a sentence for
    `tell`; then it begins anew. `monotonic` is the clock's, in seconds."""
    attempt = 0
    while True:
        began = monotonic()
        try:
            await work()
            return
        except Exception as error:  # noqa: BLE001 - the last resort of one task, so that the others go on
            if monotonic() - began > CALM_SECONDS:
                attempt = 0
            tell(note(error, name))
        await sleep(PAUSE_SECONDS[min(attempt, len(PAUSE_SECONDS) - 1)])
        attempt += 1
