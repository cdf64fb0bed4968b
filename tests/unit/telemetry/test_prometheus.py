"""prometheus-api-client behind our adapter: answers, refusals, limits. No socket is opened."""

import io
import json
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import requests
from requests.adapters import BaseAdapter

from cockpit.errors import NoConnection, Refused
from cockpit.model.batch import Phase
from cockpit.telemetry.faults import TelemetryError, Unheard
from cockpit.telemetry.prometheus import Prometheus

URL = "http://cluster.local/api/v1/namespaces/monitoring/services/prometheus:web/proxy"


class Wire(BaseAdapter):
    """An adapter that answers from memory."""

    def __init__(self, answer: Callable[[requests.PreparedRequest], tuple[int, str, bytes]]) -> None:
        super().__init__()
        self._answer = answer
        self.seen: list[requests.PreparedRequest] = []
        self.timeouts: list[Any] = []

    def send(self, request: requests.PreparedRequest, *args: Any, **kwargs: Any) -> requests.Response:
        self.seen.append(request)
        self.timeouts.append(kwargs.get("timeout"))
        status, kind, body = self._answer(request)
        response = requests.Response()
        response.status_code = status
        response.headers["Content-Type"] = kind
        if 300 <= status < 400:
            response.headers["Location"] = "https://login.example.org/"
        response.raw = io.BytesIO(body)
        response.url = request.url or ""
        return response

    def close(self) -> None:
        return None


def prometheus(status: int, kind: str, body: bytes, **more: Any) -> tuple[Prometheus, Wire]:
    wire = Wire(lambda _: (status, kind, body))
    http = requests.Session()
    http.mount("http://cluster.local/", wire)
    return Prometheus(URL, http, who="Prometheus at monitoring/prometheus:web", **more), wire


def answer(rows: list[Any]) -> bytes:
    return json.dumps({"status": "success", "data": {"resultType": "vector", "result": rows}}).encode()


async def test_a_query_goes_through_the_sessions_own_adapter() -> None:
    rows = [{"metric": {}, "value": [1, "1"]}]
    asked, wire = prometheus(200, "application/json", answer(rows), timeout_seconds=7.0)
    assert await asked.query("vector(1)") == rows
    assert await asked.query("vector(1)") == rows
    asked.close()
    sent = urlsplit(wire.seen[0].url or "")
    assert wire.seen[0].method == "GET"
    assert sent.path == "/api/v1/namespaces/monitoring/services/prometheus:web/proxy/api/v1/query"
    assert parse_qs(str(sent.query)) == {"query": ["vector(1)"]}
    assert wire.timeouts == [7.0, 7.0]


BAD: list[tuple[int, str, bytes, Phase, str]] = [
    (401, "application/json", b"{}", Phase.DENIED, "credentials"),
    (403, "application/json", b'{"message": "services \\"p\\" is forbidden"}', Phase.DENIED, "is forbidden"),
    (403, "text/plain", b"no", Phase.DENIED, "services/proxy"),
    (404, "application/json", b'{"message": "services \\"p\\" not found"}', Phase.BACKING_OFF, "not found"),
    (302, "text/html", b"", Phase.DENIED, "login page"),
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
    (200, "text/html", b"<html>sign in</html>", Phase.DENIED, "login page"),
    (200, "application/json", b"  <!doctype html>", Phase.DENIED, "login page"),
    (200, "application/json", b"{not json", Phase.BACKING_OFF, "not JSON"),
    (200, "application/json", b'{"status":"success"}', Phase.BACKING_OFF, "not Prometheus'"),
    (200, "application/json", b'{"data":{"result":"scalar"}}', Phase.BACKING_OFF, "not Prometheus'"),
    (200, "application/json", b"[]", Phase.BACKING_OFF, "not Prometheus'"),
]


@pytest.mark.parametrize(("status", "kind", "body", "phase", "words"), BAD)
async def test_no_data_is_one_sentence(status: int, kind: str, body: bytes, phase: Phase, words: str) -> None:
    asked, _ = prometheus(status, kind, body)
    with pytest.raises(TelemetryError) as caught:
        await asked.query("vector(1)")
    asked.close()
    assert caught.value.phase is phase
    assert words in caught.value.sentence
    assert not isinstance(caught.value, Unheard), "it did answer"
    assert caught.value.sentence.startswith("Prometheus at monitoring/prometheus:web ")
    assert "\n" not in caught.value.sentence


async def test_too_large_an_answer_is_not_read_to_its_end() -> None:
    asked, _ = prometheus(200, "application/json", b"[" + b" " * (3 * 2**20), limit_bytes=2**20)
    with pytest.raises(TelemetryError, match="more than 1 MiB"):
        await asked.query("vector(1)")
    asked.close()


RAISED: list[tuple[Exception, Phase, str]] = [
    (
        requests.ConnectionError(ConnectionRefusedError(111, "Connection refused")),
        Phase.BACKING_OFF,
        "connection refused",
    ),
    (requests.ReadTimeout("read timed out"), Phase.BACKING_OFF, "did not answer within"),
    (requests.exceptions.SSLError("bad certificate"), Phase.BACKING_OFF, "bad certificate"),
    (
        NoConnection("The API server cannot be reached."),
        Phase.BACKING_OFF,
        "The API server cannot be reached.",
    ),
    (Refused("Read-only: this path is not allowed."), Phase.DENIED, "Read-only: this path is not allowed."),
]


@pytest.mark.parametrize(("error", "phase", "words"), RAISED)
async def test_what_the_wire_raises_is_one_sentence(error: Exception, phase: Phase, words: str) -> None:
    def fail(_: requests.PreparedRequest) -> tuple[int, str, bytes]:
        raise error

    http = requests.Session()
    http.mount("http://cluster.local/", Wire(fail))
    asked = Prometheus(URL, http)
    with pytest.raises(TelemetryError) as caught:
        await asked.query("vector(1)")
    asked.close()
    assert caught.value.phase is phase
    assert words in caught.value.sentence
    assert isinstance(caught.value, Unheard) is (not isinstance(error, Refused))
