"""Telemetry from start to end: find a source, poll it, look again when it is lost."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING

from cockpit.clock import Clock
from cockpit.model.batch import Batch, StreamStatus
from cockpit.model.gpu import Gpu
from cockpit.model.record import Kind
from cockpit.telemetry.discovery import ListServices, Open, Target, find_prometheus
from cockpit.telemetry.exporters import ExporterPages
from cockpit.telemetry.faults import TelemetryError
from cockpit.telemetry.kubelets import ReadPage
from cockpit.telemetry.look import Looking, everything
from cockpit.telemetry.names import MEANINGS
from cockpit.telemetry.poller import Poller, Remember
from cockpit.telemetry.prometheus import Prometheus
from cockpit.telemetry.promql import has_gpus
from cockpit.telemetry.source import Cluster, PrometheusSource, Source

if TYPE_CHECKING:
    import requests

LOST_AFTER_FAILURES = 6
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 15.0, 300.0


async def run_telemetry(
    *,
    proxied_http: "Callable[[], requests.Session]",
    list_services: ListServices,
    cluster: Cluster,
    sink: Callable[[Batch], None],
    clock: Clock,
    configured_url: str = "",
    interval_seconds: float = 5.0,
    rng: random.Random | None = None,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    looking: Looking = everything,
    nudge: asyncio.Event | None = None,
    after_round: Callable[[float], None] | None = None,
    remember: Remember | None = None,
    read_page: ReadPage | None = None,
) -> None:
    """Run until cancelled. Every failure becomes the status of the GPU stream, none is raised.

    `proxied_http` makes a `requests` session that reaches `http://cluster.local/...` through the API server
    (`cockpit.kube.proxy.http_session`); `list_services` lists the Services of the cluster and may raise
    CockpitError. `read_page` reads through the API server's pod proxy, for clusters without a Prometheus.
    `looking`, `nudge`, `after_round` and `remember` are the poller's: what is in sight, that it changed, a
    round is over, what the last hour was like.
    """
    pause = _FIRST_PAUSE_SECONDS
    known: tuple[Gpu, ...] = ()
    reach = partial(open_target, proxied_http=proxied_http)
    while True:
        try:
            pages = ExporterPages(read_page, clock) if read_page is not None else None
            source = await find_source(configured_url, list_services, reach, pages)
        except TelemetryError as error:
            sink(Batch(kind=Kind.GPU, status=_nothing(error, clock.now(), pause)))
            await sleep(pause)
            pause = min(_LONGEST_PAUSE_SECONDS, 2 * pause)
            continue
        pause = _FIRST_PAUSE_SECONDS
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
        )
        try:
            await poller.run(most_failures=LOST_AFTER_FAILURES)
        finally:
            source.close()
        # cards that left meanwhile must still grow old and go
        known = poller.cards


def _nothing(error: TelemetryError, now_seconds: float, pause_seconds: float) -> StreamStatus:
    return StreamStatus(
        kind=Kind.GPU,
        phase=error.phase,
        message=error.sentence,
        since_seconds=now_seconds,
        retry_seconds=now_seconds + pause_seconds,
    )


async def find_source(
    configured_url: str, list_services: ListServices, open_prometheus: Open, pages: ExporterPages | None
) -> Source:
    """The configured Prometheus; else one that knows GPUs; else the exporters themselves; else a Prometheus
    that may come to know some. Raises TelemetryError with one sentence."""
    prometheus: Prometheus | None = None
    fault: TelemetryError | None = None
    try:
        prometheus = await find_prometheus(configured_url, list_services, open_prometheus)
        if configured_url or await prometheus.query(has_gpus(MEANINGS)):
            return PrometheusSource(prometheus)
    except TelemetryError as error:
        fault = error
    found = 0
    if pages is not None and not configured_url:
        try:
            found = await pages.find()
        except TelemetryError as error:
            fault = fault or error
    if pages is not None and found:
        if prometheus is not None:
            prometheus.close()
        return pages
    if prometheus is not None:
        return PrometheusSource(prometheus)
    assert fault is not None
    raise fault


def open_target(target: Target, proxied_http: "Callable[[], requests.Session]") -> Prometheus:
    """The Prometheus behind a target: through the API server, or straight by its own URL."""
    if target.is_proxied:
        return Prometheus(target.url, proxied_http(), who=target.who)
    import requests

    return Prometheus(target.url, requests.Session(), who=target.who)
