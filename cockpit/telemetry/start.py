"""Telemetry from start to end: find a source, poll it, look again when it is lost."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from functools import partial

from cockpit.clock import Clock
from cockpit.model.batch import Batch, Phase, StreamStatus
from cockpit.model.gpu import Gpu
from cockpit.model.metrics_server import NO_METRICS_SERVER, MetricsServer
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader
from cockpit.telemetry.discovery import ListServices, Open, find_prometheus
from cockpit.telemetry.endpoint import MetricsTarget, ServicePort
from cockpit.telemetry.exporters import ExporterPages
from cockpit.telemetry.faults import TelemetryError
from cockpit.telemetry.focus import Looking, everything
from cockpit.telemetry.http_client import Direct
from cockpit.telemetry.http_protocol import Get, Http, Through
from cockpit.telemetry.kubelets import ReadPage
from cockpit.telemetry.names import MEANINGS
from cockpit.telemetry.nap import Wake, from_now, nap
from cockpit.telemetry.poller import Poller, Remember
from cockpit.telemetry.prometheus import TIMEOUT_SECONDS, Prometheus
from cockpit.telemetry.promql import has_gpus
from cockpit.telemetry.source import PrometheusSource, TelemetrySource

LOST_AFTER_FAILURES = 6
EMPTY_ROUNDS, MOST_EMPTY_ROUNDS = 6, 60
"""Rounds without a card after which another source is looked for; doubled each time, up to the second."""
_PAUSES_SECONDS = (15.0, 30.0, 60.0, 120.0, 240.0, 300.0)
"""Between two searches, the last one from then on."""
_SOON_SECONDS = (2.0, 4.0, 8.0)
"""Before these where what is wrong may pass: an outage that the API server or a balancer answers, a login."""


async def run_telemetry(
    *,
    get_proxied: Get,
    list_services: ListServices,
    cluster: StoreReader,
    sink: Callable[[Batch], None],
    clock: Clock,
    server: MetricsServer = NO_METRICS_SERVER,
    patience_seconds: float = TIMEOUT_SECONDS,
    interval_seconds: float = 5.0,
    rng: random.Random | None = None,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    looking: Looking = everything,
    nudge: asyncio.Event | None = None,
    after_round: Callable[[float], None] | None = None,
    remember: Remember | None = None,
    read_page: ReadPage | None = None,
    returned: Wake | None = None,
    asks: Callable[[TelemetrySource | None], None] = lambda _source: None,
) -> None:
    """Run until cancelled. Every failure becomes the status of the GPU stream, none is raised.

    `get_proxied` asks a path of the API server; `list_services` may raise CockpitError. `server` is the one
    that a person named, `patience_seconds` how long a whole answer may take. `read_page` reads through the
    pod proxy, for want of a Prometheus. `asks` is told whom it asks now; the rest is the poller's.
    """
    failed, empty_rounds = 0, EMPTY_ROUNDS
    known: tuple[Gpu, ...] = ()
    reach = partial(open_target, get_proxied=get_proxied, patience_seconds=patience_seconds)
    while True:
        with from_now(returned) as back:
            try:
                pages = ExporterPages(read_page, clock) if read_page is not None else None
                source = await find_source(server, list_services, reach, pages)
            except TelemetryError as error:
                pause = max(search_pause_seconds(error, failed), error.wait_seconds)
                failed += 1
                sink(Batch(kind=Kind.GPU, status=_nothing(error, clock, pause)))
                await nap(pause, None if error.wait_seconds else back, sleep)
                continue
        failed = 0
        poller = Poller(
            source,
            sink,
            clock,
            cluster,
            interval_seconds=interval_seconds,
            rng=rng,
            sleep=sleep,
            looking=looking,
            nudge=nudge,
            after_round=after_round,
            remember=remember,
            known=known,
            returned=returned,
        )
        await _poll(poller, source, asks, empty_rounds)
        empty_rounds = min(MOST_EMPTY_ROUNDS, 2 * empty_rounds) if poller.empty_rounds else EMPTY_ROUNDS
        # cards that left meanwhile must still grow old and go
        known = poller.cards


def search_pause_seconds(error: TelemetryError, failed: int) -> float:
    """From an attempt that failed to the next; `failed` attempts failed before."""
    may_pass = error.phase in (Phase.BACKING_OFF, Phase.NOT_LOGGED_IN)
    pauses: tuple[float, ...] = (*(_SOON_SECONDS if may_pass else ()), *_PAUSES_SECONDS)
    return pauses[min(failed, len(pauses) - 1)]


async def _poll(
    poller: Poller,
    source: TelemetrySource,
    asks: Callable[[TelemetrySource | None], None],
    empty_rounds: int,
) -> None:
    """Until there was no answer for a while, or none with a card in it."""
    asks(source)
    try:
        await poller.run(most_failures=LOST_AFTER_FAILURES, most_empty=empty_rounds)
    finally:
        asks(None)
        await source.close()


def _nothing(error: TelemetryError, clock: Clock, pause_seconds: float) -> StreamStatus:
    return StreamStatus(
        kind=Kind.GPU,
        phase=error.phase,
        message=error.told(pause_seconds),
        since_seconds=clock.cluster_now(),
        retry_seconds=clock.now() + pause_seconds,
    )


async def find_source(
    server: MetricsServer, list_services: ListServices, open_prometheus: Open, pages: ExporterPages | None
) -> TelemetrySource:
    """The configured Prometheus; else one that knows GPUs; else the exporters themselves; else a Prometheus
    that may come to know some. Raises TelemetryError with one sentence."""
    prometheus: Prometheus | None = None
    fault: TelemetryError | None = None
    try:
        prometheus = await find_prometheus(server, list_services, open_prometheus)
        if server.url or await prometheus.query(has_gpus(MEANINGS)):
            return PrometheusSource(prometheus)
    except TelemetryError as error:
        fault = error
    found = 0
    if pages is not None and not server.url:
        try:
            found = await pages.find()
        except TelemetryError as error:
            fault = fault or error
    if pages is not None and found:
        if prometheus is not None:
            await prometheus.close()
        return pages
    if prometheus is not None:
        return PrometheusSource(prometheus)
    assert fault is not None
    raise fault


def open_target(
    target: MetricsTarget, get_proxied: Get, patience_seconds: float = TIMEOUT_SECONDS
) -> Prometheus:
    """The Prometheus behind a target: through the API server, or straight by its own URL."""
    return Prometheus(http_of(target, get_proxied), who=target.who, timeout_seconds=patience_seconds)


def http_of(target: MetricsTarget, get_proxied: Get) -> Http:
    """What asks the target: the API server's proxy, or a client of the URL."""
    if isinstance(target.place, ServicePort):
        return Through(get_proxied, target.place.path)
    return Direct(target.place, target.login, target.who)
