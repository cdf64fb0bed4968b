"""One read of one pool, from the service that has it."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from cockpit.clouds import auto_scaling, command, eks
from cockpit.clouds.answer import PoolAnswer
from cockpit.clouds.aws import WHO, Aws, Connect, boto_client
from cockpit.clouds.command import RunProgram, run_program
from cockpit.clouds.errors import OutsideError
from cockpit.daemon_thread import apart
from cockpit.model.reach import Reach

READ_SECONDS = 30.0
"""Timeout for one read with all its requests; a command has its own timeout in addition."""


@dataclass(frozen=True, slots=True)
class Ways:
    """How the outside is reached; tests put scripts in their place."""

    connect: Connect = boto_client
    run: RunProgram = run_program
    sleep: Callable[[float], None] = time.sleep  # in the thread that asks, between tries
    seconds: float = READ_SECONDS

    def aws(self, reach: Reach, *, may_write: bool = False) -> Aws:
        """Who asks AWS for this pool."""
        return Aws(reach, may_write=may_write, connect=self.connect, sleep=self.sleep)


USUAL = Ways()


def who_of(reach: Reach) -> str:
    """The name of the machines' owner in sentences."""
    return reach.commands.who if reach.commands is not None else WHO


async def read_pool(reach: Reach, now_seconds: float, ways: Ways = USUAL) -> PoolAnswer:
    """The pool as it is there now. Raises OutsideError; cancelling ends the waiting at once."""
    if reach.service == "command":
        return await command.read(reach, now_seconds, run=ways.run)
    module = eks if reach.service == "eks" else auto_scaling
    try:
        async with asyncio.timeout(ways.seconds):
            return await apart(partial(module.read, ways.aws(reach), reach, now_seconds))
    except TimeoutError:
        raise OutsideError(WHO, "NoAnswer", f"no answer within {ways.seconds:g} s") from None
