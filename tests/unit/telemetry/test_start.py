"""From nothing found to polling, and looking again."""

from collections.abc import Sequence

import msgspec
import pytest

from cockpit.clock import ManualClock
from cockpit.errors import Refused
from cockpit.kube.answer import ApiAnswer
from cockpit.model.batch import Batch, Phase
from cockpit.model.refusal import Refusal
from cockpit.telemetry.discovery import Service
from cockpit.telemetry.endpoint import ServicePort, of_service
from cockpit.telemetry.http_protocol import Query
from cockpit.telemetry.start import EMPTY_ROUNDS, open_target, run_telemetry
from tests.unit.telemetry.builders import NOW, SmallCluster


async def never(path: str, query: Query, limit_bytes: int) -> ApiAnswer:
    raise AssertionError(f"nothing to ask, got {path}")


class EnoughError(Exception):
    """Ends an endless loop in a test."""


async def test_without_a_prometheus_the_status_says_so_and_it_looks_again() -> None:
    seen: list[Batch] = []
    pauses: list[float] = []
    asked = 0

    async def no_services() -> Sequence[Service]:
        nonlocal asked
        asked += 1
        return ()

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 6:
            raise EnoughError

    with pytest.raises(EnoughError):
        await run_telemetry(
            get_proxied=never,
            list_services=no_services,
            cluster=SmallCluster(),
            sink=seen.append,
            clock=ManualClock(NOW),
            sleep=sleep,
        )
    assert pauses == [15.0, 30.0, 60.0, 120.0, 240.0, 300.0]
    assert asked == 6
    status = seen[-1].status
    assert status is not None
    assert status.phase is Phase.ABSENT
    assert "set --prometheus-url" in status.message
    assert status.retry_seconds == NOW + 300


async def test_search_that_an_outage_ended_is_repeated_soon() -> None:
    pauses: list[float] = []

    async def fails() -> Sequence[Service]:
        raise Refused("Services cannot be listed: HTTP 503", Refusal(status=503))

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 5:
            raise EnoughError

    with pytest.raises(EnoughError):
        await run_telemetry(
            get_proxied=never,
            list_services=fails,
            cluster=SmallCluster(),
            sink=lambda _: None,
            clock=ManualClock(NOW),
            sleep=sleep,
        )
    assert pauses == [2.0, 4.0, 8.0, 15.0, 30.0]


async def test_a_proxied_target_is_asked_through_the_api_server() -> None:
    asked: list[tuple[str, Query]] = []

    async def get(path: str, query: Query, limit_bytes: int) -> ApiAnswer:
        asked.append((path, query))
        return ApiAnswer(200, "application/json", b'{"data": {"result": []}}')

    target = of_service(ServicePort("monitoring", "prometheus", "web"))
    prometheus = open_target(target, get)
    assert await prometheus.query("vector(1)") == []
    await prometheus.close()
    path = "/api/v1/namespaces/monitoring/services/prometheus:web/proxy/api/v1/query"
    assert asked == [(path, (("query", "vector(1)"),))]


async def test_a_prometheus_that_comes_to_know_gpus_is_taken_once_the_first_shows_none() -> None:
    """Neither of two has GPUs at first: the first is asked, found empty, and both are looked at again."""
    knows, rounds = "", 0

    async def get(path: str, query: Query, limit_bytes: int) -> ApiAnswer:
        name = path.split("/services/")[1].partition(":")[0]
        text = dict(query)["query"]
        rows = [{"metric": {}, "value": [NOW, "1"]}] if text.startswith("vector") or name == knows else []
        return ApiAnswer(200, "application/json", msgspec.json.encode({"data": {"result": rows}}))

    async def two_services() -> Sequence[Service]:
        return [Service("m", name, (), (("web", 9090),)) for name in ("prometheus-a", "prometheus-b")]

    async def sleep(seconds: float) -> None:
        nonlocal knows, rounds
        rounds += 1
        knows = "prometheus-b"
        if rounds > 2 * EMPTY_ROUNDS:
            raise EnoughError

    asked: list[str] = []
    with pytest.raises(EnoughError):
        await run_telemetry(
            get_proxied=get,
            list_services=two_services,
            cluster=SmallCluster(),
            sink=lambda batch: None,
            clock=ManualClock(NOW),
            sleep=sleep,
            asks=lambda source: asked.append("" if source is None else source.who),
        )
    assert asked == ["Prometheus at m/prometheus-a:web", "", "Prometheus at m/prometheus-b:web", ""]
