"""What earlier sessions on this host left, for commands that tell of it; `cockpit audit acknowledge`."""

import argparse
import asyncio
from contextlib import suppress

from cockpit.api_server import ApiServer
from cockpit.attach import Attachment
from cockpit.clock import SystemClock
from cockpit.commands.attached import attached
from cockpit.commands.output import note, put
from cockpit.commands.patience import within
from cockpit.commands.settings import attach_options, audit_log, settings_in_force
from cockpit.errors import BadInput, NoConnection


async def read_left_over(attachment: Attachment) -> None:
    """Look it up, once for an attachment. An audit log that cannot be read is told, and no more."""
    try:
        with suppress(NoConnection):  # the notes tell it
            await ApiServer(attachment).read_left_over(audit_log())
    except BadInput as error:
        note([error.sentence])


def run(options: argparse.Namespace) -> int:
    """Note that a person knows of a write that was broken off."""
    return asyncio.run(within(options.timeout, _run(options)))


async def _run(options: argparse.Namespace) -> int:
    clock = SystemClock()
    async with attached(attach_options(options, settings_in_force()), clock) as live:
        await live.settle((), options.timeout)
        api, log = ApiServer(live.attachment), audit_log()
        await api.read_left_over(log)
        for audit_id in options.ids:
            write = api.acknowledge_write(audit_id, log)
            put([f"acknowledged: {write.verb} {write.target} ({write.effect})"])
    return 0
