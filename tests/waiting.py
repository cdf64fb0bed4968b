"""Waiting in a test for what other tasks, threads or processes bring."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

PATIENCE_SECONDS = 240.0
"""Long, for training processes on a busy machine; what is well is seen far sooner."""


async def until(
    holds: Callable[[], object],
    what: object = "",
    *,
    pilot: Any = None,
    seconds: float = PATIENCE_SECONDS,
) -> None:
    """Give way until `holds` is true. Raises AssertionError with `what`, called where it is a function, and
    with the screen where the app of `pilot` is waited for."""
    ends = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > ends:
            told = what() if callable(what) else what
            raise AssertionError(f"not within {seconds:g} s: {told}\n{_screen(pilot)}")
        await (asyncio.sleep(0.01) if pilot is None else pilot.pause(0.02))


def _screen(pilot: Any) -> str:
    from tests.tui import looking

    return "" if pilot is None else looking.text(pilot.app)
