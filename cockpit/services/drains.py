"""Drains that this session started: each continues in the background, and reports its end.

Who quits, or leaves for another context, leaves the node cordoned and noted: any session can go on from
there.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from cockpit.actions.drain.run import DrainRun
from cockpit.errors import CockpitError
from cockpit.model.plan import DrainOrder, Outcome
from cockpit.services.host import Host

if TYPE_CHECKING:
    from cockpit.actions.drain.run import DrainStatus


class Drains:
    """The drains of this session by the name of the node."""

    def __init__(self, host: Host, sleep: Callable[[float], Any] = asyncio.sleep) -> None:
        self._host = host
        self._sleep = sleep
        self._status: dict[str, DrainStatus] = {}
        self._tasks: dict[str, asyncio.Task[Outcome]] = {}

    def status(self, node: str) -> "DrainStatus | None":
        """How far the drain of that node has come; None where this session drains it not."""
        return self._status.get(node)

    def begin(self, order: DrainOrder) -> None:
        """Go on with a drain whose node is cordoned."""
        self._host.spawn(partial(self._to_the_end, order), f"drain {order.node}")

    def leave(self) -> None:
        """End them here; their nodes stay as they are."""
        for task in self._tasks.values():
            task.cancel()

    async def _to_the_end(self, order: DrainOrder) -> None:
        host, cluster = self._host, self._host.cluster
        try:
            run = DrainRun(
                order,
                session=cluster.connected(),
                store=cluster.store,
                audit=host.audit(),
                clock=host.clock,
                told=self._told,
                sleep=self._sleep,
            )
        except CockpitError as error:
            host.notify(f"Drain of node {order.node}: {error.sentence}", severity="error")
            return
        task = asyncio.ensure_future(run.go())
        self._tasks[order.node] = task
        self._told(run.status)
        try:
            outcome = await task
        except asyncio.CancelledError:
            return
        finally:
            if self._tasks.get(order.node) is task:
                del self._tasks[order.node]
                self._status.pop(order.node, None)
            host.looked_up()
        host.notify(outcome.sentence, severity="information" if outcome.is_done else "warning")

    def _told(self, status: "DrainStatus") -> None:
        self._status[status.node] = status
        self._host.looked_up()
