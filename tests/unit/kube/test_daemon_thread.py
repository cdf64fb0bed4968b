"""Work that nobody has to wait for."""

import subprocess
import sys
import threading

import pytest

from cockpit.daemon_thread import apart, resolver

LEFT = """
import asyncio, threading
from cockpit.daemon_thread import apart

async def leave():
    task = asyncio.create_task(apart(threading.Event().wait))
    await asyncio.sleep(0)
    task.cancel()

asyncio.run(leave())
print("left")
"""


def fail(name: str) -> None:
    raise KeyError(name)


async def test_an_answer_and_an_error_come_back() -> None:
    assert await apart(lambda: 7) == 7
    with pytest.raises(KeyError):
        await apart(lambda: fail("x"))
    assert await apart(threading.get_ident) != threading.get_ident()


def test_neither_the_loop_nor_the_interpreter_waits_for_what_never_ends() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LEFT], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "left\n"


async def test_names_are_looked_up_apart() -> None:
    (found,) = await resolver().resolve("127.0.0.1", 80)
    assert (found["host"], found["port"]) == ("127.0.0.1", 80)
