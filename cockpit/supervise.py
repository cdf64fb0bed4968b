"""Tasks that no error ends: it is noted, told, and the task begins again after a pause."""

import asyncio
from collections.abc import Awaitable, Callable

PAUSE_SECONDS = (1.0, 2.0, 4.0)
"""After an error; the last one from then on."""
GOES_ON_SECONDS = 5.0
"""Without another error for this time, the last one is over: with the longest pause within 10 s."""
CALM_SECONDS = 600.0
"""Time without an error after which the pauses are reset to the shortest."""

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
    """Run `work` until it ends by itself or is cancelled. Every other error becomes a sentence for
    `tell`, an expected failure its own; then it is restarted. A cancelled part of the work is an error of it,
    too. Once it goes on `tell` is called with "". `monotonic` is the clock's, in seconds."""
    attempt = 0
    while True:
        began = monotonic()
        over = asyncio.get_running_loop().call_later(GOES_ON_SECONDS, tell, "") if attempt else None
        try:
            # A separate task: on Python 3.11 a failure in nested groups leaves its task with a cancellation
            # that was never asked for.
            await asyncio.create_task(_done(work), name=name)
            return
        except (Exception, asyncio.CancelledError) as error:  # the last resort, so that the others go on
            task = asyncio.current_task()
            if task is None or task.cancelling():  # a cancellation, in whatever form the work raised it
                raise asyncio.CancelledError from error
            if monotonic() - began > CALM_SECONDS:
                attempt = 0
            tell(_expected(error) or note(error, name))
        finally:
            if over is not None:
                over.cancel()
        await sleep(PAUSE_SECONDS[min(attempt, len(PAUSE_SECONDS) - 1)])
        attempt += 1


async def _done(work: Work) -> None:
    await work()


def _expected(error: BaseException) -> str:
    """The sentence of an expected failure; of a group of such that of its first; else ""."""
    if not isinstance(error, BaseExceptionGroup):
        return str(getattr(error, "sentence", ""))
    sentences = [_expected(item) for item in error.exceptions]
    return sentences[0] if all(sentences) else ""
