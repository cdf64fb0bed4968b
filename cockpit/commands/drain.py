"""Drains that a command has begun, in the foreground: what holds them is told, and what stays when they
end."""

import asyncio
from collections.abc import Sequence

from cockpit.actions.drain.run import DrainRun, DrainStatus
from cockpit.clock import Clock
from cockpit.commands.attached import Live
from cockpit.commands.output import note, put
from cockpit.commands.settings import audit_log
from cockpit.errors import NoConnection, Refused
from cockpit.model.plan import DrainOrder


async def follow(orders: Sequence[DrainOrder], live: Live, clock: Clock) -> int:
    """Each to its end; 0 where all are drained. Raises Refused with the first that is not. Left by ctrl+c
    they stay cordoned, and it is told how to go on."""
    session = live.attachment.session
    if session is None:
        raise NoConnection(live.attachment.sentence or "the connection was lost")
    runs = [
        DrainRun(
            item, session=session, store=live.attachment.store, audit=audit_log(), clock=clock, told=_told
        )
        for item in orders
    ]
    try:
        ended = await asyncio.gather(*(run.go() for run in runs))
    except asyncio.CancelledError:
        note(left_lines(runs))
        raise
    for item in ended:
        if item.is_done:
            put([item.sentence])
    if failed := [item.sentence for item in ended if not item.is_done]:
        raise Refused("; ".join(failed))
    return 0


def left_lines(runs: Sequence[DrainRun]) -> list[str]:
    """What is left behind by who leaves before the end."""
    return [
        f"node {run.order.node} stays cordoned, {run.status.sentence}: to go on run cockpit node drain"
        f" {run.order.node}, to call it off cockpit node stop-drain {run.order.node}"
        for run in runs
    ]


def _told(status: DrainStatus) -> None:
    put([f"{status.node}: {status.sentence}"])
