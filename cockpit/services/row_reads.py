"""Reads beside the painting what rows on screen rest on and no watch covers: last lines of crashes, budgets,
what jobs that look idle did over the last hours; nothing while nodes and pods are listed."""

import asyncio
from collections.abc import Iterable
from contextlib import suppress

from cockpit.errors import BadInput, NoConnection
from cockpit.model.finding import Finding
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.services.host import Cluster, Host
from cockpit.triage.on_demand import MOST_LOGS, TOLD_BY_LOG, rows_of
from cockpit.triage.verdicts import Verdicts

AGAIN_SECONDS = 5.0


class RowReads:
    """One for the app. Places say which rows are in sight; `read_on` is the task that reads."""

    def __init__(self, app: Host) -> None:
        self._app = app
        self._rows: tuple[tuple[Pod, ...], ...] = ()
        self._due = asyncio.Event()
        self._looked_back: Verdicts | None = None

    def show(self, found: Iterable[Finding]) -> None:
        """These are the rows of *Now*."""
        cluster = self._app.cluster
        self._want(rows_of(found, cluster.store, cluster.jobs))

    def show_jobs(self, keys: Iterable[str]) -> None:
        """These rows of the jobs are in sight, their verdicts reached."""
        cluster = self._app.cluster
        told = [key for key in keys if cluster.verdicts.cause_of(key) in TOLD_BY_LOG][:MOST_LOGS]
        self._want(cluster.jobs.members(key) for key in told)

    def _want(self, rows: Iterable[tuple[Pod, ...]]) -> None:
        self._rows = tuple(rows)
        if self._app.cluster.verdicts.on_demand.unread(self._rows):
            self._due.set()

    async def read_on(self) -> None:
        """Read whenever rows lack something, until cancelled."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(
                    AGAIN_SECONDS
                ):  # `wait_for` of Python 3.11 may lose a cancellation
                    await self._due.wait()
            self._due.clear()
            await self.read()

    async def _read_left_over(self, cluster: Cluster) -> bool:
        """What earlier sessions left is looked up once for each cluster."""
        if self._looked_back is cluster.verdicts:
            return False
        try:
            is_new = await self._app.api.read_left_over(self._app.audit())
        except BadInput:  # nothing is kept on this host, or it cannot be read: a write would tell it
            is_new = False
        self._looked_back = cluster.verdicts
        return is_new

    async def read(self) -> None:
        """One round."""
        cluster = self._app.cluster
        if not (cluster.is_connected and cluster.is_settled((Kind.NODE, Kind.POD))):
            return
        with suppress(NoConnection):  # the header tells it
            is_new = await self._read_left_over(cluster)
            is_new = await self._app.api.read_on_demand(self._rows) or is_new
            is_new = await self._app.api.read_idle_jobs() or is_new
            if is_new and self._app.cluster is cluster:
                self._app.looked_up()
