"""Queries to one Prometheus through prometheus-api-client, in a thread of its own."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from cockpit.errors import CockpitError, NoConnection, Refused
from cockpit.model.batch import Phase
from cockpit.telemetry import rows
from cockpit.telemetry.faults import TelemetryError, Unheard
from cockpit.telemetry.rows import Row

if TYPE_CHECKING:
    import requests

    from cockpit.telemetry.bounded import Bounded

T = TypeVar("T")

LIMIT_BYTES = 64 * 2**20
"""Largest answer that is read; five families of 20,000 cards are 40 MB (reference 5.2)."""

TIMEOUT_SECONDS = 20.0
LARGE_TIMEOUT_SECONDS = 60.0
"""For answers about a whole fleet: where processors are short, 20,000 cards take a Prometheus its time."""


class Prometheus:
    """One Prometheus. `url` is its root: an own address, or the API server's service proxy path.

    `http` is the `requests` session to use; its adapter for `url` stays in charge of the transport. Queries
    run one at a time in an own thread, so neither the network nor a large answer stops the caller's loop.
    """

    def __init__(
        self,
        url: str,
        http: "requests.Session",
        *,
        who: str = "Prometheus",
        timeout_seconds: float = TIMEOUT_SECONDS,
        limit_bytes: int = LIMIT_BYTES,
    ) -> None:
        self.url = url.rstrip("/")
        self.who = who
        self._http = http
        self._timeout_seconds = timeout_seconds
        self._limit_bytes = limit_bytes
        self._connect: Any = None
        self._guard: Bounded | None = None
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="prometheus")

    async def query(self, promql: str, at_seconds: float | None = None) -> list[Any]:
        """Rows of an instant query (`data.result`), as of a moment of the server's own time (epoch seconds),
        None for now. Raises TelemetryError with one sentence, Unheard where nothing was heard at all."""
        return await self.apart(lambda: self.query_now(promql, at_seconds))

    async def series(self, promql: str, at_seconds: float | None = None) -> list[Row]:
        """As `query`, for large answers: rows whose labels were not taken apart."""

        def ask() -> list[Row]:
            self._client()
            assert self._guard is not None
            self._guard.read = rows.answer
            try:
                return self.query_now(promql, at_seconds, LARGE_TIMEOUT_SECONDS)
            finally:
                self._guard.read = msgspec.json.decode

        return await self.apart(ask)

    async def apart(self, work: Callable[[], T]) -> T:
        """Run `work` in this Prometheus' thread: parsing and joining large answers belongs there too."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    async def query_range(
        self, promql: str, start_seconds: float, end_seconds: float, step_seconds: int
    ) -> list[Any]:
        """Rows of a range query, a point each `step_seconds` (times are epoch seconds, whole ones); raises as
        `query` does."""

        def ask() -> Any:
            start, end = (datetime.fromtimestamp(at, UTC) for at in (start_seconds, end_seconds))
            return self._client().custom_query_range(
                promql, start, end, f"{step_seconds}s", timeout=self._timeout_seconds
            )

        return await self.apart(lambda: self._rows(ask))

    def query_now(
        self, promql: str, at_seconds: float | None = None, least_timeout_seconds: float = 0.0
    ) -> list[Any]:
        """As `query`, blocking."""
        when = {} if at_seconds is None else {"time": f"{at_seconds:.3f}"}
        patience = max(self._timeout_seconds, least_timeout_seconds)
        return self._rows(
            lambda: self._client().custom_query(promql, params=when, timeout=patience), patience
        )

    def _rows(self, ask: Callable[[], Any], timeout_seconds: float = 0.0) -> list[Any]:
        """What was asked for; every failure in one sentence."""
        patience = timeout_seconds or self._timeout_seconds
        import requests
        from prometheus_api_client.exceptions import PrometheusApiClientException

        try:
            found = ask()
        except TelemetryError:
            raise
        except Refused as error:
            raise TelemetryError(error.sentence, Phase.DENIED) from None
        except NoConnection as error:
            raise Unheard(error.sentence) from None
        except CockpitError as error:
            raise TelemetryError(error.sentence) from None
        except requests.exceptions.JSONDecodeError:
            raise TelemetryError(
                f"{self.who} answers in something that is not JSON; check the URL."
            ) from None
        except requests.Timeout:
            raise Unheard(
                f"{self.who} did not answer within {patience:.0f} s; it may be overloaded."
            ) from None
        except (requests.RequestException, OSError) as error:
            raise Unheard(f"{self.who} cannot be reached: {_cause(error)}.") from None
        except (PrometheusApiClientException, KeyError, TypeError, ValueError):
            raise TelemetryError(
                f"{self.who} answers in a form that is not Prometheus'; check the URL."
            ) from None
        if not isinstance(found, list):
            raise TelemetryError(f"{self.who} answers in a form that is not Prometheus'; check the URL.")
        return found

    def close(self) -> None:
        """Stop the thread after the query in flight; nothing waits for it."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _client(self) -> Any:
        if self._connect is None:
            from prometheus_api_client import PrometheusConnect
            from urllib3.util.retry import Retry

            from cockpit.telemetry.bounded import Bounded

            inner = self._http.get_adapter(self.url)
            # no retries of its own: the poller's back-off is the retry
            self._connect = PrometheusConnect(
                url=self.url, session=self._http, retry=Retry(total=0), timeout=self._timeout_seconds
            )
            # PrometheusConnect puts a plain adapter before the session's own; the guarded one takes its place
            self._guard = Bounded(inner, self._limit_bytes, self.who)
            self._http.mount(self.url, self._guard)
        return self._connect


def _cause(error: BaseException) -> str:
    """The innermost reason in a few words: requests wraps three deep."""
    import socket

    seen: BaseException = error
    for _ in range(6):
        inner = getattr(seen, "reason", None)
        if not isinstance(inner, BaseException):
            inner = seen.__cause__ or next((one for one in seen.args if isinstance(one, BaseException)), None)
        if inner is None:
            break
        seen = inner
    if isinstance(seen, socket.gaierror):
        return "its name is not known"
    if isinstance(seen, ConnectionRefusedError):
        return "connection refused"
    text = " ".join(str(seen).split()).rsplit(": ", 1)[-1]
    return (text[:120] or type(seen).__name__).rstrip(".")
