"""Alerts that fire in Alertmanager, read again and again. Nothing is asked where no person named a server."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Final, NamedTuple

from cockpit.clock import Clock
from cockpit.daemon_thread import apart
from cockpit.errors import BadInput, CockpitError
from cockpit.model.alert import Alert
from cockpit.model.batch import Batch, Phase, StreamStatus
from cockpit.model.metrics_server import ALERTMANAGER, FIND, MetricsServer
from cockpit.model.record import Kind
from cockpit.telemetry.alert_decode import decoded
from cockpit.telemetry.discovery import ALERTMANAGER_SERVICE, ListServices, candidates
from cockpit.telemetry.endpoint import MetricsTarget, configured
from cockpit.telemetry.faults import TelemetryError, refused_by_cluster
from cockpit.telemetry.http_protocol import Get, Http
from cockpit.telemetry.nap import Wake, from_now, nap
from cockpit.telemetry.prometheus import TIMEOUT_SECONDS, read_whole
from cockpit.telemetry.start import LOST_AFTER_FAILURES, http_of, search_pause_seconds

READ_SECONDS: Final = 30.0
"""Between two reads: Alertmanager itself waits as long for the alerts of a group (`group_wait`)."""
LONGEST_PAUSE_SECONDS: Final = 60.0
AWAY_SECONDS: Final = 1.0
MOST_FOUND: Final = 6
"""Services that are asked where the server is to be found."""
PATH: Final = "/api/v2/alerts"
_FIRING: Final = (("active", "true"), ("silenced", "false"), ("inhibited", "false"))


class Firing(NamedTuple):
    """What fires, and what is wrong with the answer: in a sentence, and whether alerts may be missing."""

    alerts: Mapping[str, Alert]
    odd: int
    complaint: str = ""
    is_partial: bool = False


class Alertmanager:
    """One server, read by the rules by which a Prometheus is."""

    def __init__(self, target: MetricsTarget, get_proxied: Get, timeout_seconds: float) -> None:
        self.who = target.who
        self._http: Http = http_of(target, get_proxied)
        self._timeout_seconds = timeout_seconds

    async def read(self, filters: tuple[str, ...], context: str, now_seconds: float) -> Firing:
        """What fires now. Raises TelemetryError with one sentence."""
        query = (*_FIRING, *(("filter", matcher) for matcher in filters))
        answer = await read_whole(
            self._http, PATH, query, who=self.who, kind=ALERTMANAGER, timeout_seconds=self._timeout_seconds
        )
        try:
            found = await apart(lambda: decoded(answer.body, now_seconds))
        except TelemetryError as error:
            raise TelemetryError(f"{self.who} {error.sentence}") from None
        alerts, others = _of_this_cluster(found.alerts, context)
        told = []
        if found.left:
            told.append(f"{self.who} has {found.left:,} alerts more than are read; set alertmanager-filter.")
        if others:
            told.append(f"Alerts of {others} are left out; set alertmanager-filter, as in cluster=NAME.")
        if found.odd:
            told.append(f"{self.who} answers with alerts that cannot be read: {found.odd:,} left out.")
        is_partial = bool(found.left or (others and not alerts))
        return Firing(alerts, found.odd, " ".join(told), is_partial)

    async def close(self) -> None:
        """Let go of its connections."""
        await self._http.close()


def _of_this_cluster(alerts: Mapping[str, Alert], context: str) -> tuple[Mapping[str, Alert], str]:
    """Of a server that several clusters share those whose label `cluster` is the context or missing; names of
    nodes alone would confuse them. And whose alerts are left out, "" where one cluster has all."""
    clusters = sorted({alert.cluster for alert in alerts.values() if alert.cluster})
    if len(clusters) < 2:
        return alerts, ""
    others = [name for name in clusters if name != context]
    words = f"cluster {others[0]}" if len(others) == 1 else f"{len(others)} clusters, such as {others[0]},"
    return {uid: alert for uid, alert in alerts.items() if alert.cluster in ("", context)}, words


async def find_alertmanager(
    server: MetricsServer, list_services: ListServices, open_target: Callable[[MetricsTarget], Alertmanager]
) -> Alertmanager:
    """The server that a person named; for `find` the first Service of the cluster that answers as one.
    Raises TelemetryError with one sentence."""
    if server.url != FIND:
        try:
            return open_target(configured(server))
        except BadInput as error:
            raise TelemetryError(error.sentence, Phase.ABSENT) from None
    try:
        services = await list_services()
    except CockpitError as error:
        why = f"services cannot be listed ({error.sentence.rstrip('.')})"
        raise refused_by_cluster(error, f"No Alertmanager found: set alertmanager-url; {why}.") from None
    fault = TelemetryError(
        "No Alertmanager found: set alertmanager-url; "
        "no Service of this cluster is named or labelled like one.",
        Phase.ABSENT,
    )
    for number, target in enumerate(candidates(services, ALERTMANAGER_SERVICE)[:MOST_FOUND]):
        found = open_target(target)
        try:
            await found.read((), "", 0.0)
            return found
        except TelemetryError as error:
            fault = fault if number else error
            await found.close()
    raise fault


class AlertPoller:
    """Reads what fires into a sink. Every failure becomes the status of the stream, none is raised; what was
    read stands until the next answer, and `since_seconds` of a status that is not live says how old it is."""

    def __init__(
        self,
        server: MetricsServer,
        context: str,
        sink: Callable[[Batch], None],
        clock: Clock,
        *,
        get_proxied: Get,
        list_services: ListServices,
        returned: Wake | None = None,
        patience_seconds: float = TIMEOUT_SECONDS,
        is_away: Callable[[], bool] = lambda: False,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._server, self._context = server, context
        self._sink, self._clock = sink, clock
        self._list_services, self._returned = list_services, returned
        self._open = partial(Alertmanager, get_proxied=get_proxied, timeout_seconds=patience_seconds)
        self._is_away, self._sleep = is_away, sleep
        self._source: Alertmanager | None = None
        self._known: Mapping[str, Alert] = {}
        self._read_seconds = clock.cluster_now()
        self._heard_seconds: float | None = None
        self._failures = 0

    async def run(self) -> None:
        """Read until cancelled; return where no server is named."""
        if not (self._server.url or self._server.has_login):
            return
        self._tell(Phase.CONNECTING, since_seconds=self._read_seconds)
        try:
            while True:
                if self._is_away():
                    await self._sleep(AWAY_SECONDS)
                    continue
                with from_now(self._returned) as back:
                    pause, may_wake = await self.read()
                    await nap(pause, back if may_wake else None, self._sleep)
        finally:
            await self._close()

    async def read(self) -> tuple[float, bool]:
        """One round: how many seconds to wait before the next, and whether it may be sooner once the API
        server is back."""
        try:
            if self._source is None:
                self._source = await find_alertmanager(self._server, self._list_services, self._open)
            now_seconds = self._clock.cluster_now()
            firing = await self._source.read(self._server.filters, self._context, now_seconds)
        except TelemetryError as error:
            pause = min(LONGEST_PAUSE_SECONDS, search_pause_seconds(error, self._failures))
            pause = max(pause, error.wait_seconds)
            self._failures += 1
            retry = self._clock.now() + pause
            self._tell(error.phase, error.told(pause), retry_seconds=retry, since_seconds=self._read_seconds)
            if self._failures >= LOST_AFTER_FAILURES:
                await self._close()
            return pause, not error.wait_seconds
        self._failures, self._heard_seconds, self._read_seconds = 0, self._clock.now(), now_seconds
        gone = tuple(uid for uid in self._known if uid not in firing.alerts)
        self._known = firing.alerts
        self._sink(Batch(kind=Kind.ALERT, changed=tuple(self._known.values()), removed=gone))
        self._tell(Phase.LIVE, firing.complaint, skipped=firing.odd, is_partial=firing.is_partial)
        return READ_SECONDS, False

    def _tell(self, phase: Phase, message: str = "", **more: Any) -> None:
        heard = self._heard_seconds
        about = {"kind": Kind.ALERT, "objects": len(self._known), "heard_seconds": heard, **more}
        self._sink(Batch(kind=Kind.ALERT, status=StreamStatus(phase=phase, message=message, **about)))

    async def _close(self) -> None:
        source, self._source = self._source, None
        if source is not None:
            await source.close()
