"""Ranges of Prometheus through prometheus-api-client, whose every request is one of our guarded reads.

By itself the client follows redirects, reads whole bodies, and knows neither logins by plugins, impersonation
nor the API server's service proxy: it is handed a session that sends nothing, and answers with rows that were
looked through (`cockpit.telemetry.rows`).
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from prometheus_api_client import PrometheusConnect

from cockpit.telemetry.http_protocol import Query

Read = Callable[[str, Query], Sequence[Any]]
"""(path, query) -> rows of the answer; blocks, raises TelemetryError."""
_NOWHERE = "http://prometheus.invalid"


def ask_range(
    read: Read, promql: str, start_seconds: float, end_seconds: float, step_seconds: int
) -> list[Any]:
    """Rows of a range query, a point each `step_seconds`; times are whole epoch seconds. For a thread."""
    client = PrometheusConnect(url=_NOWHERE, session=_GuardedSession(read))
    start, end = (datetime.fromtimestamp(at, UTC) for at in (start_seconds, end_seconds))
    return list(client.custom_query_range(promql, start, end, f"{step_seconds}s"))


class _GuardedSession:
    """As much of a session of `requests` as the client uses."""

    verify, cert = True, None

    def __init__(self, read: Read) -> None:
        self._read = read

    def mount(self, prefix: str, adapter: object) -> None:
        """Nothing is sent, so nothing is adapted."""

    def request(self, method: str, url: str, params: Mapping[str, object], **more: object) -> "_Rows":
        """One read, below the path of the server that `read` knows."""
        query = tuple((name, str(value)) for name, value in params.items())
        return _Rows(self._read(url.removeprefix(_NOWHERE), query))


class _Rows:
    """As much of a response as the client uses; what is none was refused before."""

    status_code, content = 200, b""

    def __init__(self, rows: Sequence[Any]) -> None:
        self._rows = rows

    def json(self) -> dict[str, Any]:
        """The answer's tree."""
        return {"data": {"result": self._rows}}
