"""Telemetry from start to end: find a Prometheus, poll it, look again when it is lost."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from cockpit.clock import Clock
from cockpit.model.batch import Batch, StreamStatus
from cockpit.model.gpu import Gpu
from cockpit.model.record import Kind
from cockpit.telemetry.discovery import ListServices, Target, find_prometheus
from cockpit.telemetry.faults import TelemetryError
from cockpit.telemetry.poller import Cluster, Poller, no_nodes
from cockpit.telemetry.prometheus import Prometheus

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
    visible: Callable[[], Sequence[str]] = no_nodes,
) -> None:
    """Run until cancelled. Every failure becomes the status of the GPU stream, none is raised.

    `proxied_http` makes a `requests` session that reaches `http://cluster.local/...` through the API server
    (`cockpit.kube.proxy.http_session`); `list_services` lists the Services of the cluster and may raise
    CockpitError.
    """
    pause = _FIRST_PAUSE_SECONDS
    known: tuple[Gpu, ...] = ()
    while True:
        try:
            prometheus = await find_prometheus(
                configured_url, list_services, lambda target: open_target(target, proxied_http)
            )
        except TelemetryError as error:
            now = clock.now()
            status = StreamStatus(
                kind=Kind.GPU,
                phase=error.phase,
                message=error.sentence,
                since_seconds=now,
                retry_seconds=now + pause,
            )
            sink(Batch(kind=Kind.GPU, status=status))
            await sleep(pause)
            pause = min(_LONGEST_PAUSE_SECONDS, 2 * pause)
            continue
        pause = _FIRST_PAUSE_SECONDS
        poller = Poller(
            prometheus,
            sink,
            clock,
            cluster,
            interval_seconds=interval_seconds,
            rng=rng,
            sleep=sleep,
            visible=visible,
            known=known,
        )
        try:
            await poller.run(most_failures=LOST_AFTER_FAILURES)
        finally:
            prometheus.close()
        # cards that left meanwhile must still grow old and go
        known = poller.cards


def open_target(target: Target, proxied_http: "Callable[[], requests.Session]") -> Prometheus:
    """The Prometheus behind a target: through the API server, or straight by its own URL."""
    if target.is_proxied:
        return Prometheus(target.url, proxied_http(), who=target.who)
    import requests

    return Prometheus(target.url, requests.Session(), who=target.who)
