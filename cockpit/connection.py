"""What an attachment needs from the moment on when it connects: its session, and telemetry through it.

Slow to import, so `cockpit.attach` does it in a thread, after the first frame.
"""

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, NamedTuple

from cockpit.clock import Clock
from cockpit.errors import Refused
from cockpit.kube.access_reviews import AccessReviews
from cockpit.kube.answer import ApiAnswer
from cockpit.kube.feed import Feed
from cockpit.kube.refusal import refusal_of, refused
from cockpit.kube.resource import SERVICES
from cockpit.kube.session import ApiSession, SessionOptions, open_session
from cockpit.kube.visibility import Lines, QueuePlaces
from cockpit.model.batch import Batch
from cockpit.model.metrics_server import MetricsServer
from cockpit.telemetry.alertmanager import AlertPoller
from cockpit.telemetry.discovery import Service, services_of
from cockpit.telemetry.start import run_telemetry

__all__ = ["AccessReviews", "Feed", "Lines", "QueuePlaces", "SessionOptions", "open_session", "run_telemetry"]

PAGE_SECONDS = 5.0
"""For a whole page of an exporter or a kubelet."""

Query = Sequence[tuple[str, str]]


class ServerReads(NamedTuple):
    """What telemetry reads through the API server, and how it waits for it."""

    get_proxied: Callable[[str, Query, int], Awaitable[ApiAnswer]]
    list_services: Callable[[], Awaitable[list[Service]]]
    read_page: Callable[[str, tuple[tuple[str, str], ...], int], Awaitable[bytes]]
    returned: Callable[[], Coroutine[Any, Any, None]]


def server_reads(session: ApiSession) -> ServerReads:
    """They of this session. Each raises Refused and NoConnection."""

    async def list_services() -> list[Service]:
        answer = await session.request("GET", SERVICES.path())
        if not answer.ok:
            raise refused("Services cannot be listed", answer, SERVICES.path())
        return services_of(answer.json())

    async def read_page(path: str, query: tuple[tuple[str, str], ...], most_bytes: int) -> bytes:
        answer = await session.request(
            "GET", path, query=query, accept="*/*", timeout_seconds=PAGE_SECONDS, limit_bytes=most_bytes
        )
        if not answer.ok:
            raise Refused(answer.message(), refusal_of(answer, path))
        return answer.body

    return ServerReads(reader(session), list_services, read_page, session.pulse.returned)


def alert_poller(
    session: ApiSession,
    server: MetricsServer,
    sink: Callable[[Batch], None],
    clock: Clock,
    is_away: Callable[[], bool],
) -> AlertPoller:
    """What reads the alerts of that Alertmanager, unless `is_away`."""
    get, list_services, _, returned = server_reads(session)
    return AlertPoller(
        server,
        session.context,
        sink,
        clock,
        get_proxied=get,
        list_services=list_services,
        returned=returned,
        is_away=is_away,
    )


LONGEST_SECONDS = 120.0
"""Callers have shorter timeouts and cancel."""


def reader(session: ApiSession) -> Callable[[str, Sequence[tuple[str, str]], int], Awaitable[ApiAnswer]]:
    """A function that asks a path of the API server: (path, query, most bytes) -> answer of any status.
    It raises as `Session.request` does: Refused where the guard forbids it, NoConnection without an
    answer."""

    async def get(path: str, query: Sequence[tuple[str, str]], limit_bytes: int) -> ApiAnswer:
        return await session.request(
            "GET", path, query=query, accept="*/*", timeout_seconds=LONGEST_SECONDS, limit_bytes=limit_bytes
        )

    return get
