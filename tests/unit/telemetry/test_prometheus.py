"""One Prometheus: answers, refusals, limits, deadlines. No socket is opened."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from cockpit.clock import ManualClock
from cockpit.errors import LoginExpired, NoConnection, Refused
from cockpit.kube.answer import ApiAnswer
from cockpit.model.batch import Phase
from cockpit.model.metrics_server import MetricsServer
from cockpit.model.refusal import Refusal
from cockpit.telemetry.discovery import find_prometheus
from cockpit.telemetry.exporters import ExporterPages
from cockpit.telemetry.faults import TelemetryError, Unheard
from cockpit.telemetry.http_protocol import Query
from cockpit.telemetry.prometheus import Prometheus

WHO = "Prometheus at monitoring/prometheus:web"


class Wire:
    """Answers from memory."""

    def __init__(self, answer: Callable[[], ApiAnswer]) -> None:
        self._answer = answer
        self.seen: list[tuple[str, Query, int]] = []
        self.is_closed = False

    async def get(self, path: str, query: Query, limit_bytes: int) -> ApiAnswer:
        self.seen.append((path, query, limit_bytes))
        return self._answer()

    async def close(self) -> None:
        self.is_closed = True


def prometheus(status: int, kind: str, body: bytes) -> tuple[Prometheus, Wire]:
    wire = Wire(lambda: ApiAnswer(status, kind, body))
    return Prometheus(wire, who=WHO, limit_bytes=1_000), wire


def answer(rows: list[Any], kind: str = "vector", **more: Any) -> bytes:
    return json.dumps(
        {"status": "success", "data": {"resultType": kind, "result": rows}, **more}, ensure_ascii=False
    ).encode()


async def test_what_is_asked_and_answered() -> None:
    asked, wire = prometheus(200, "application/json", answer([{"metric": {"a": "b"}, "value": [1, "1"]}]))
    assert await asked.query("vector(1)") == [{"metric": {"a": "b"}, "value": (1.0, "1")}]
    assert await asked.query("up", 12.5) != []
    await asked.close()
    assert wire.seen == [
        ("/api/v1/query", (("query", "vector(1)"),), 1_000),
        ("/api/v1/query", (("query", "up"), ("time", "12.500")), 1_000),
    ]
    assert wire.is_closed


async def test_a_range_is_asked_by_its_ends() -> None:
    rows = [{"metric": {}, "values": [[1, "1"], [61, "2"]]}]
    asked, wire = prometheus(200, "application/json", answer(rows, "matrix"))
    assert await asked.query_range("up", 1.0, 61.0, 60) == [
        {"metric": {}, "values": [(1.0, "1"), (61.0, "2")]}
    ]
    path, query, _ = wire.seen[0]
    assert (path, dict(query)) == (
        "/api/v1/query_range",
        {"query": "up", "start": "1", "end": "61", "step": "60s"},
    )


BAD: list[tuple[int, str, bytes, Phase, str]] = [
    (401, "application/json", b"{}", Phase.NOT_LOGGED_IN, "credentials"),
    (403, "application/json", b'{"message": "services \\"p\\" is forbidden"}', Phase.DENIED, "is forbidden"),
    (403, "text/plain", b"no", Phase.DENIED, "services/proxy"),
    (403, "application/json", b'{"a":' * 20_000, Phase.DENIED, "services/proxy"),
    (404, "application/json", b'{"message": "services \\"p\\" not found"}', Phase.BACKING_OFF, "not found"),
    (302, "text/html", b"", Phase.NOT_LOGGED_IN, "login page"),
    (
        400,
        "application/json",
        b'{"status":"error","error":"parse error: x"}',
        Phase.BACKING_OFF,
        "parse error: x",
    ),
    (
        422,
        "application/json",
        b'{"error":"query timed out\\nagain"}',
        Phase.BACKING_OFF,
        "query timed out again",
    ),
    (503, "text/plain", b"no endpoints available", Phase.BACKING_OFF, "HTTP 503"),
    (204, "", b"", Phase.BACKING_OFF, "HTTP 204 instead of data"),
    (206, "application/json", answer([]), Phase.BACKING_OFF, "HTTP 206 instead of data"),
    (200, "text/html", b"<html>sign in</html>", Phase.NOT_LOGGED_IN, "login page"),
    (200, "application/json", b"  <!doctype html>", Phase.NOT_LOGGED_IN, "login page"),
    (200, "application/json", b"{not json", Phase.BACKING_OFF, "not JSON"),
    (200, "application/json", b"[" * 100_000, Phase.BACKING_OFF, "not Prometheus'"),
    (200, "application/json", b'{"x":' * 100_000, Phase.BACKING_OFF, "nested too deeply"),
    (200, "application/json", b'{"status":"success"}', Phase.BACKING_OFF, "not Prometheus'"),
    (200, "application/json", b'{"data":{"result":"scalar"}}', Phase.BACKING_OFF, "not Prometheus'"),
    (200, "application/json", b"[]", Phase.BACKING_OFF, "not Prometheus'"),
    (200, "application/json", answer([], "matrix"), Phase.BACKING_OFF, "matrix where a vector was expected"),
    (
        200,
        "application/json",
        b'{"status":"error","error":"x \\u001b[2J"}',
        Phase.BACKING_OFF,
        "refuses: x [2J",
    ),
    (200, "application/json", b"{" * 400_000, Phase.BACKING_OFF, "more than 150000 series"),
]


@pytest.mark.parametrize("is_range", [False, True], ids=["now", "range"])
@pytest.mark.parametrize(("status", "kind", "body", "phase", "words"), BAD)
async def test_no_data_is_one_sentence(
    status: int, kind: str, body: bytes, phase: Phase, words: str, is_range: bool
) -> None:
    if "matrix where a vector" in words and is_range:
        body, words = answer([]), "vector where a matrix was expected"
    asked, _ = prometheus(status, kind, body)
    with pytest.raises(TelemetryError) as caught:
        await (asked.query_range("up", 0.0, 60.0, 60) if is_range else asked.query("vector(1)"))
    assert caught.value.phase is phase
    assert words in caught.value.sentence
    assert not isinstance(caught.value, Unheard), "it did answer"
    assert caught.value.sentence.startswith(WHO)
    assert caught.value.sentence.isprintable()


async def test_a_range_that_is_too_long_is_refused_by_the_read_and_none_follows_a_redirect() -> None:
    """What a client of its own would do, this one cannot: it sends nothing."""

    class Wary:
        def __init__(self) -> None:
            self.seen: list[tuple[str, int]] = []

        async def get(self, path: str, query: Query, limit_bytes: int) -> ApiAnswer:
            self.seen.append((path, limit_bytes))
            raise Refused(f"the answer is longer than {limit_bytes} bytes")

        async def close(self) -> None:
            return None

    wire = Wary()
    with pytest.raises(TelemetryError, match="longer than 1000 bytes"):
        await Prometheus(wire, who=WHO, limit_bytes=1_000).query_range("up", 0.0, 60.0, 60)
    assert wire.seen == [("/api/v1/query_range", 1_000)]
    moved, redirected = prometheus(302, "text/html", b"")
    with pytest.raises(TelemetryError, match="login page"):
        await moved.query_range("up", 0.0, 60.0, 60)
    assert len(redirected.seen) == 1


@pytest.mark.parametrize(("start", "end"), [(-60.0, 0.0), (0.0, 1e308), (1e308, 1e308), (float("nan"), 60.0)])
async def test_nothing_is_asked_of_a_time_that_no_calendar_has(start: float, end: float) -> None:
    asked, wire = prometheus(200, "application/json", answer([], "matrix"))
    assert await asked.query_range("up", start, end, 60) == []
    assert wire.seen == []


async def test_odd_rows_and_warnings_of_a_range_are_told() -> None:
    rows = [{"metric": {}, "values": [[1, "1"]]}, {"metric": 7, "values": []}]
    asked, _ = prometheus(200, "application/json", answer(rows, "matrix", warnings=["a store is away"]))
    assert len(await asked.query_range("up", 0.0, 60.0, 60)) == 1
    told = asked.take_complaint()
    assert told.is_partial and "1 series that cannot be read" in told.sentence
    assert "a store is away" in told.sentence


GOOD = {"metric": {"__name__": "up", "pod": "a"}, "value": [1, "1"]}
ODD = [
    {"metric": {"__name__": "up", "pod": ["a"]}, "value": [1, "1"]},
    {"metric": {"__name__": "up", "pod": None}, "value": [1, "1"]},
    {"metric": {"__name__": "up", "pod": 7}, "value": [1, "1"]},
    {"metric": ["__name__"], "value": [1, "1"]},
    {"metric": None, "value": [1, "1"]},
    {"metric": {"pod": "x" * 1_000_000}, "value": [1, "1"]},
    {"metric": {}, "value": [1, 1]},
    {"metric": {}, "value": ["1", "1"]},
    {"metric": {}, "value": [1, "one"]},
    {"metric": {}, "value": [1, "1_0"]},
    {"metric": {}, "value": [1, "1" * 5_000]},
    {"metric": {}, "value": [float("inf"), "1"]},
    {"metric": {}, "value": []},
    {"metric": {}},
    {"value": [1, "1"]},
    [],
    7,
    None,
]


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: str(odd)[:50])
async def test_an_odd_row_is_counted_and_told_and_costs_no_other(odd: Any) -> None:
    body = answer([GOOD, odd, GOOD]).replace(b"Infinity", b"1e400")
    asked, _ = prometheus(200, "application/json", body)
    good = {"metric": GOOD["metric"], "value": (1.0, "1")}
    assert await asked.query("up") == [good, good]
    assert asked.take_complaint().sentence == f"{WHO} answers with 1 series that cannot be read; left out."
    assert asked.take_complaint() == ("", False)


async def test_labels_are_cleaned_and_cut_where_they_come_in() -> None:
    labels = {"pod": "a\x1b]0;owned\x07\u202eb", "gpu": "9" * 5_000, "uuid": "\x9bx"}
    asked, _ = prometheus(200, "application/json", answer([{"metric": labels, "value": [1, "1"]}]))
    (row,) = await asked.query("up")
    assert row["metric"] == {"pod": "a]0;ownedb", "gpu": "9" * 252 + "…", "uuid": "x"}


async def test_warnings_are_told_cleaned() -> None:
    body = answer([], warnings=["store 1 is down\x1b[2J", "store 2 is down", 7])
    asked, _ = prometheus(200, "application/json", body)
    assert await asked.query("up") == []
    assert asked.take_complaint() == (
        f"{WHO} answers only partially, GPUs may be missing: store 1 is down[2J (and 1 more)",
        True,
    )
    assert asked.take_complaint() == ("", False)


async def test_remarks_on_a_query_are_told_and_make_no_answer_partial() -> None:
    body = answer(
        [], warnings=["PromQL warning: mixed"], infos=["PromQL info: metric might not be a counter"]
    )
    asked, _ = prometheus(200, "application/json", body)
    await asked.query("up")
    assert asked.take_complaint() == (f"{WHO} warns: PromQL warning: mixed (and 1 more)", False)


RAISED: list[tuple[Exception, Phase, str]] = [
    (NoConnection("The server cannot be reached: connection refused."), Phase.BACKING_OFF, "refused"),
    (Refused("Read-only: this path is not allowed."), Phase.DENIED, "Read-only: this path is not allowed"),
    (Refused("services is forbidden", Refusal(status=403)), Phase.DENIED, "forbidden"),
    (Refused("HTTP 502", Refusal(status=502)), Phase.BACKING_OFF, "502"),
    (LoginExpired("The login expired."), Phase.NOT_LOGGED_IN, "expired"),
    (Refused("Unauthorized", Refusal(status=401)), Phase.NOT_LOGGED_IN, "Unauthorized"),
]
"""What a request by way of the API server ends with, what it means, and what is told."""


@pytest.mark.parametrize(("error", "phase", "words"), RAISED)
async def test_what_the_wire_raises_is_one_sentence(error: Exception, phase: Phase, words: str) -> None:
    def fail() -> ApiAnswer:
        raise error

    asked = Prometheus(Wire(fail))
    with pytest.raises(TelemetryError) as caught:
        await asked.query("vector(1)")
    assert caught.value.phase is phase
    assert words in caught.value.sentence
    assert isinstance(caught.value, Unheard) is (
        phase is Phase.BACKING_OFF and isinstance(error, NoConnection)
    )


@pytest.mark.parametrize(("error", "phase", "words"), RAISED)
async def test_exporters_and_services_that_cannot_be_listed_are_denied_only_for_a_missing_right(
    error: Exception, phase: Phase, words: str
) -> None:
    async def fail(*_: object) -> Any:
        raise error

    pages = ExporterPages(fail, ManualClock())
    with pytest.raises(TelemetryError) as caught:
        await pages.find()
    assert (caught.value.phase, words in caught.value.sentence) == (phase, True)
    with pytest.raises(TelemetryError) as caught:
        await find_prometheus(MetricsServer(), fail, lambda target: pytest.fail(f"opened {target}"))
    assert (caught.value.phase, words in caught.value.sentence) == (phase, True)


@pytest.mark.parametrize("what", ["query", "series", "query_range"])
async def test_an_answer_that_does_not_end_is_abandoned(what: str) -> None:
    class Endless:
        """Answers a byte a second, for ever."""

        was_cancelled = False

        async def get(self, path: str, query: Query, limit_bytes: int) -> ApiAnswer:
            try:
                await asyncio.Event().wait()
            finally:
                self.was_cancelled = True
            raise AssertionError("it never ends")

        async def close(self) -> None:
            return None

    wire = Endless()
    asked = Prometheus(wire, who=WHO, timeout_seconds=0.01)
    with pytest.raises(Unheard, match="did not answer within"):
        await (
            asked.query_range("up", 0.0, 60.0, 60) if what == "query_range" else getattr(asked, what)("up")
        )
    assert wire.was_cancelled
