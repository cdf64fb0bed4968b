"""Queries to one Prometheus, each with a deadline for its whole answer."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from datetime import UTC, datetime
from typing import Any, TypeVar

import msgspec
from prometheus_api_client import PrometheusConnect

from cockpit.daemon_thread import apart
from cockpit.errors import CockpitError
from cockpit.model.batch import Phase
from cockpit.model.metrics_server import PROMETHEUS, ServerKind
from cockpit.sanitise import clean
from cockpit.telemetry import rows
from cockpit.telemetry.faults import Complaint, TelemetryError, Throttled, Unheard, refused_by_cluster
from cockpit.telemetry.http_protocol import Http, HttpAnswer, Query
from cockpit.telemetry.rows import Found, Row, Unreadable

T = TypeVar("T")
R = TypeVar("R")

LIMIT_BYTES = 24 * 2**20
"""Largest answer that is read; one quantity of 20,000 cards is 8 MB (reference 5.2), every quantity
of 2,000 cards 12 MB."""

TIMEOUT_SECONDS = 20.0
"""From the question to the last byte of the answer, however slowly it comes."""

LARGE_TIMES = 3.0
"""So much more patience for a whole fleet: where processors are short, 20,000 cards take a Prometheus its
time."""


LAST_SECONDS = 253_402_300_799.0
"""The end of the year 9999, the last that a date can tell."""

REMARK = "PromQL "
"""How Prometheus' remarks on a query begin (util/annotations/annotations.go)."""


class Prometheus:
    """One Prometheus, asked through `http`. Responses are parsed in a daemon thread."""

    def __init__(
        self,
        http: Http,
        *,
        who: str = "Prometheus",
        timeout_seconds: float = TIMEOUT_SECONDS,
        limit_bytes: int = LIMIT_BYTES,
    ) -> None:
        self.who = who
        self._http = http
        self._timeout_seconds = timeout_seconds
        self._limit_bytes = limit_bytes
        self._odd = 0
        self._warnings: dict[str, None] = {}
        self._infos: dict[str, None] = {}

    async def query(self, promql: str, at_seconds: float | None = None) -> list[Any]:
        """Rows of an instant query (`data.result`), as of a moment of the server's own time (epoch seconds),
        None for now. Raises TelemetryError with one sentence, Unheard where nothing was heard at all."""
        return await self._ask("query", _instant(promql, at_seconds), rows.vector_trees)

    async def series(self, promql: str, at_seconds: float | None = None) -> list[Row]:
        """As `query`, for large answers: rows whose labels were not taken apart."""
        seconds = LARGE_TIMES * self._timeout_seconds
        return await self._ask("query", _instant(promql, at_seconds), rows.vector, seconds)

    async def query_range(
        self, promql: str, start_seconds: float, end_seconds: float, step_seconds: int
    ) -> list[Any]:
        """Rows of a range query, a point each `step_seconds` (times are epoch seconds); raises as `query`. Of
        a time that no calendar has (a server whose clock is far off) nothing is known."""
        if not 0.0 <= start_seconds <= end_seconds <= LAST_SECONDS:
            return []
        loop, begun, found = asyncio.get_running_loop(), list[Future[HttpAnswer]](), list[Found[Any]]()

        def read(path: str, query: Query) -> list[Any]:
            future = asyncio.run_coroutine_threadsafe(self._read(path, query, self._timeout_seconds), loop)
            begun.append(future)
            found.append(self._understood(rows.matrix_trees, future.result().body))
            return found[-1].rows

        def ask() -> list[Any]:

            return ask_range(read, promql, start_seconds, end_seconds, step_seconds)

        try:
            told = await self.apart(ask)
            self._note(found)
            return told
        finally:
            for future in begun:
                future.cancel()

    async def apart(self, work: Callable[[], T]) -> T:
        """Run `work` in a thread: parsing and joining large answers belongs there."""
        return await apart(work)

    def take_complaint(self) -> Complaint:
        """What was wrong with a part of the answers since the last call."""
        odd, warnings, infos = self._odd, tuple(self._warnings), tuple(self._infos)
        self._odd, self._warnings, self._infos = 0, {}, {}
        # remarks on the query come as warnings, too; all others are about stores that did not answer
        partial = [item for item in warnings if not item.startswith(REMARK)]
        remarks = [item for item in (*warnings, *infos) if item not in partial]
        parts: list[str] = []
        if odd:
            series = "1 series" if odd == 1 else f"{odd} series"
            parts.append(f"{self.who} answers with {series} that cannot be read; left out.")
        if partial:
            parts.append(f"{self.who} answers only partially, GPUs may be missing: {_first_of(partial)}")
        if remarks:
            parts.append(f"{self.who} warns: {_first_of(remarks)}")
        return Complaint(" ".join(parts), bool(partial))

    async def _ask(
        self,
        what: str,
        query: Query,
        read: Callable[[bytes | bytearray], Found[R]],
        timeout_seconds: float = 0.0,
    ) -> list[R]:
        """What was asked for; every failure in one sentence."""
        answer = await self._read(f"/api/v1/{what}", query, timeout_seconds or self._timeout_seconds)
        body = answer.body
        found = await self.apart(lambda: self._understood(read, body))
        self._note((found,))
        return found.rows

    async def _read(self, path: str, query: Query, patience: float) -> HttpAnswer:
        return await read_whole(
            self._http, path, query, who=self.who, timeout_seconds=patience, limit_bytes=self._limit_bytes
        )

    def _understood(self, read: Callable[[bytes | bytearray], Found[R]], body: bytes | bytearray) -> Found[R]:
        try:
            return read(body)
        except Unreadable as error:
            raise TelemetryError(f"{self.who} {error.sentence}") from None

    def _note(self, answers: Iterable[Found[Any]]) -> None:
        for found in answers:
            self._odd += found.odd
            self._warnings.update(dict.fromkeys(found.warnings))
            self._infos.update(dict.fromkeys(found.infos))

    async def close(self) -> None:
        """Let go of its connections."""
        await self._http.close()


async def read_whole(
    http: Http,
    path: str,
    query: Query,
    *,
    who: str,
    kind: ServerKind = PROMETHEUS,
    timeout_seconds: float = TIMEOUT_SECONDS,
    limit_bytes: int = LIMIT_BYTES,
) -> HttpAnswer:
    """The answer of a server that `who` names, where it may be data. Raises TelemetryError with one sentence,
    Unheard where nothing was heard in time."""
    try:
        async with asyncio.timeout(timeout_seconds):
            answer = await http.get(path, query, limit_bytes)
    except TimeoutError:
        raise Unheard(f"{who} did not answer within {timeout_seconds:g} s; it may be overloaded.") from None
    except TelemetryError:
        raise
    except CockpitError as error:
        raise refused_by_cluster(error) from None
    refuse_no_data(who, answer, kind.option)
    return answer


def _first_of(words: Sequence[str]) -> str:
    return f"{words[0]} (and {len(words) - 1} more)" if len(words) > 1 else words[0]


def _instant(promql: str, at_seconds: float | None) -> Query:
    when = () if at_seconds is None else (("time", f"{at_seconds:.3f}"),)
    return (("query", promql), *when)


# ---- whether it may be used


_SENTENCE = 160
_LOOKED_AT_BYTES = 65_536


def refuse_no_data(who: str, answer: HttpAnswer, option: str) -> None:
    """Raises TelemetryError for everything but a 200 that may be data. `who` names the server, `option` is
    how its options begin."""
    status, body = answer.status, answer.body
    if 300 <= status < 400:
        raise TelemetryError(
            f"{who} redirects (HTTP {status}), most likely to a login page; "
            "set a URL that takes this cluster's credentials.",
            Phase.NOT_LOGGED_IN,
        )
    if status == 401:
        raise TelemetryError(
            f"{who} rejects the credentials (HTTP 401); give {option}-token-file, or "
            f"{option}-username with {option}-password-file.",
            Phase.NOT_LOGGED_IN,
        )
    if status == 403:
        why = said(body) or "these credentials may not read it"
        raise TelemetryError(
            f"{who} is denied (HTTP 403): {why.rstrip('.')}; ask for read access to its API, or for `get` on "
            "services/proxy where it is reached through the API server.",
            Phase.DENIED,
        )
    if status in (429, 503) and answer.retry_after_seconds is not None:
        what = "throttles us" if status == 429 else "is overloaded or starting"
        raise Throttled(f"{who} {what} (HTTP {status})", answer.retry_after_seconds)
    if status == 404:
        raise TelemetryError(f"{who} was not found (HTTP 404): {said(body) or 'check the URL'}")
    if status >= 400:
        raise TelemetryError(f"{who} refuses (HTTP {status}): {said(body) or 'no reason given'}")
    if status != 200:
        raise TelemetryError(f"{who} answers HTTP {status} instead of data; check the URL.")
    if "html" in answer.content_type.lower() or body[:64].lstrip()[:1] == b"<":
        raise TelemetryError(
            f"{who} answers with a web page instead of data, most likely a login page; check the URL.",
            Phase.NOT_LOGGED_IN,
        )


def said(body: bytes | bytearray) -> str:
    """The server's own words: Prometheus' `error`, the API server's `message`, else nothing."""
    try:
        tree: Any = msgspec.json.decode(body[:_LOOKED_AT_BYTES])
    except (ValueError, RecursionError):
        return ""
    if not isinstance(tree, dict):
        return ""
    words = tree.get("error") or tree.get("message") or ""
    return " ".join(clean(words, _SENTENCE).split()) if isinstance(words, str) else ""


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
