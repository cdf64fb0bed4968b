"""What fires is read over sockets of this machine and through the API server, and every failure is told."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest

from cockpit.clock import ManualClock
from cockpit.errors import Refused
from cockpit.kube.answer import ApiAnswer
from cockpit.kube.guard import refusal
from cockpit.model.alert import Alert
from cockpit.model.batch import Batch, Phase, StreamStatus
from cockpit.model.metrics_server import ALERTMANAGER, MetricsServer
from cockpit.model.record import Kind
from cockpit.model.refusal import Refusal
from cockpit.store.store import Store
from cockpit.telemetry.alertmanager import LONGEST_PAUSE_SECONDS, READ_SECONDS, AlertPoller
from cockpit.telemetry.discovery import ALERTMANAGER_SERVICE, Service, candidates
from cockpit.telemetry.endpoint import ServicePort
from cockpit.telemetry.http_protocol import Query
from cockpit.telemetry.prometheus import LIMIT_BYTES
from tests.unit.telemetry.test_alert_decode import NOW, entry
from tests.unit.telemetry.test_http_client import Server, plain, serving


class EnoughError(Exception):
    """Ends an endless loop in a test."""


class Reader:
    """A poller into a store, with a clock that does not go by itself."""

    def __init__(self, server: MetricsServer, services: Sequence[Service] = (), **more: Any) -> None:
        self.store, self.clock = Store(), ManualClock(NOW)
        self.asked: list[tuple[str, Query]] = []
        self.answers: list[ApiAnswer | Exception] = []
        self.services: Sequence[Service] | Exception = services
        self.poller = AlertPoller(
            server,
            "prod",
            self.store.apply,
            self.clock,
            get_proxied=self._get,
            list_services=self._list,
            **more,
        )

    async def _get(self, path: str, query: Query, limit_bytes: int) -> ApiAnswer:
        self.asked.append((path, query))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def _list(self) -> Sequence[Service]:
        if isinstance(self.services, Exception):
            raise self.services
        return self.services

    @property
    def status(self) -> StreamStatus:
        found = self.store.status(Kind.ALERT)
        assert found is not None
        return found

    @property
    def alerts(self) -> list[Alert]:
        return list(self.store.records(Kind.ALERT).values())


def at(server: Server, **more: Any) -> MetricsServer:
    return MetricsServer(f"http://127.0.0.1:{server.port}/am", kind=ALERTMANAGER, **more)


def body(*entries: dict[str, Any]) -> bytes:
    return json.dumps(entries).encode()


def proxied(status: int = 200, content: bytes = b"[]") -> ApiAnswer:
    return ApiAnswer(status=status, content_type="application/json", body=content)


TOO_MUCH = b" " * (LIMIT_BYTES + 1)
SERVICE = MetricsServer("monitoring/main:web", kind=ALERTMANAGER)


async def test_what_fires_is_asked_for_with_its_filters_and_credentials() -> None:
    async with serving(plain(body(entry(node="gpu-1")))) as server:
        reader = Reader(at(server, token="hush", filters=('cluster="prod"',)))
        pause, _ = await reader.poller.read()
        await reader.poller._close()
    (head,) = server.heads
    first = "GET /am/api/v2/alerts?active=true&silenced=false&inhibited=false&filter=cluster%3D%22prod%22 "
    assert head.startswith(first) and "Authorization: Bearer hush" in head
    assert (reader.status.phase, reader.status.objects, pause) == (Phase.LIVE, 1, READ_SECONDS)
    assert [alert.name for alert in reader.alerts] == ["NodeDown"]


@pytest.mark.parametrize(
    ("answer", "phase", "words"),
    [
        (plain(b"", b"Location: http://login/", status=b"302 Found"), Phase.NOT_LOGGED_IN, "redirects"),
        (plain(b"", status=b"401 Unauthorized"), Phase.NOT_LOGGED_IN, "alertmanager-token-file"),
        (plain(b"", status=b"403 Forbidden"), Phase.DENIED, "denied"),
        (plain(b"", status=b"404 Not Found"), Phase.BACKING_OFF, "not found"),
        (plain(b"", status=b"500 Oh"), Phase.BACKING_OFF, "HTTP 500"),
        (plain(b"", b"Retry-After: 90", status=b"429 Slow"), Phase.BACKING_OFF, "throttles us"),
        (plain(b"<html>"), Phase.NOT_LOGGED_IN, "web page"),
        (plain(b'{"status":"success"}'), Phase.BACKING_OFF, "no list of alerts"),
        (plain(b"[1,"), Phase.BACKING_OFF, "no JSON"),
        (plain(b"[" + TOO_MUCH), Phase.BACKING_OFF, "more than 24 MiB; set alertmanager-filter"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n" + TOO_MUCH, Phase.BACKING_OFF, "24 MiB"),
        (b"no HTTP at all\r\n\r\n", Phase.BACKING_OFF, "not valid HTTP"),
    ],
)  # fmt: skip
async def test_a_failure_is_a_sentence_and_what_was_read_stands(
    answer: bytes, phase: Phase, words: str
) -> None:
    async with serving(plain(body(entry(node="gpu-1"))), answer) as server:
        reader = Reader(at(server))
        await reader.poller.read()
        reader.clock.advance(600.0)
        pause, _ = await reader.poller.read()
        await reader.poller._close()
    status = reader.status
    assert (status.phase, status.since_seconds, status.heard_seconds) == (phase, NOW, NOW)
    assert words in status.message and status.message.startswith("Alertmanager at http://127.0.0.1")
    assert [alert.name for alert in reader.alerts] == ["NodeDown"]
    assert pause == 90.0 if "Retry-After" in answer.decode(errors="ignore") else pause <= 15.0


async def test_a_server_that_is_slow_is_abandoned() -> None:
    async with serving(b"HTTP/1.1 200 OK\r\n", drip=True) as server:
        reader = Reader(at(server), patience_seconds=0.2)
        await reader.poller.read()
        await reader.poller._close()
        await asyncio.wait_for(server.left.wait(), 10)
    assert (reader.status.phase, reader.alerts) == (Phase.BACKING_OFF, [])
    assert reader.status.heard_seconds is None
    assert "did not answer within 0.2 s" in reader.status.message


async def test_alerts_come_and_go() -> None:
    async with serving(
        plain(body(entry(number=1), entry(number=2))), plain(body(entry(number=2))), plain(b"[]")
    ) as server:
        reader = Reader(at(server))
        counts = []
        for _ in range(3):
            await reader.poller.read()
            counts.append(len(reader.alerts))
        await reader.poller._close()
    assert counts == [2, 1, 0] and reader.status.phase is Phase.LIVE


async def test_of_a_shared_server_only_this_cluster_counts() -> None:
    alerts = [entry(number=at, cluster=name) for at, name in enumerate(["prod", "test", ""])]
    reader = Reader(SERVICE)
    reader.answers = [
        proxied(content=body(*alerts)),
        proxied(content=body(*alerts[1:], entry(cluster="dev"))),
    ]
    await reader.poller.read()
    assert sorted(alert.cluster for alert in reader.alerts) == ["", "prod"]
    assert "cluster test are left out" in reader.status.message and not reader.status.is_partial
    await reader.poller.read()
    assert [alert.cluster for alert in reader.alerts] == [""]
    assert "2 clusters, such as dev, are left out" in reader.status.message


async def test_through_the_api_server_and_past_its_guard() -> None:
    reader = Reader(SERVICE)
    reader.answers = [proxied(content=body(entry())), Refused("services is forbidden", Refusal(status=403))]
    await reader.poller.read()
    ((path, query),) = reader.asked
    assert path == "/api/v1/namespaces/monitoring/services/main:web/proxy/api/v2/alerts"
    assert refusal("GET", path, query, read_only=True) == ""
    assert refusal("POST", path, query, read_only=True) != ""
    assert refusal("GET", path.replace("alerts", "silences"), query, read_only=True) != ""
    await reader.poller.read()
    assert (reader.status.phase, reader.status.message) == (Phase.DENIED, "services is forbidden")


async def test_a_service_is_found_and_looked_for_again_when_lost() -> None:
    find = MetricsServer("find", kind=ALERTMANAGER)
    dead, good = (
        Service("a", "alertmanager", ports=(("web", 9093),)),
        Service("b", "my-alertmanager", ports=(("", 80),)),
    )
    reader = Reader(find, [good, dead])
    lost = Refused("HTTP 503", Refusal(status=503))
    reader.answers = [lost, proxied(), proxied(), *[lost] * 6, proxied()]
    await reader.poller.read()
    assert [path.split("/")[4] for path, _ in reader.asked] == ["a", "b", "b"]
    phases = [reader.status.phase]
    for _ in range(6):
        pause, _ = await reader.poller.read()
        phases.append(reader.status.phase)
        assert pause <= LONGEST_PAUSE_SECONDS
    assert phases == [Phase.LIVE, *[Phase.BACKING_OFF] * 6]
    reader.asked.clear()
    await reader.poller.read()
    assert [path.split("/")[4] for path, _ in reader.asked] == [
        "a",
        "a",
    ] and reader.status.phase is Phase.LIVE


@pytest.mark.parametrize(
    ("services", "phase", "words"),
    [
        ([Service("x", "prometheus", ports=(("web", 9090),))], Phase.ABSENT, "no Service of this cluster"),
        (Refused("forbidden", Refusal(status=403)), Phase.DENIED, "services cannot be listed (forbidden)"),
    ],
)
async def test_that_none_is_found_is_said(services: Any, phase: Phase, words: str) -> None:
    reader = Reader(MetricsServer("find", kind=ALERTMANAGER))
    reader.services = services
    pause, _ = await reader.poller.read()
    assert (reader.status.phase, pause) == (phase, 15.0) and words in reader.status.message


def test_which_services_are_an_alertmanager() -> None:
    services = [
        Service("m", "prometheus-operated", (("operated-prometheus", "true"),), (("web", 9090),)),
        Service(
            "m",
            "alertmanager-operated",
            (("operated-alertmanager", "true"),),
            (("web", 9093), ("mesh", 9094)),
        ),
        Service(
            "m", "kps-alertmanager", (("app", "alertmanager"),), (("http-web", 9093), ("reloader", 8080))
        ),
        Service("m", "alertmanager-webhook", ports=(("http", 80),)),
    ]
    places = [target.place for target in candidates(services, ALERTMANAGER_SERVICE)]
    named = [(place.name, place.port) for place in places if isinstance(place, ServicePort)]
    assert named == [
        ("kps-alertmanager", "http-web"), ("alertmanager-operated", "web"),
        ("kps-alertmanager", "reloader"), ("alertmanager-operated", "mesh"),
    ]  # fmt: skip


async def test_nothing_is_asked_where_no_server_is_named() -> None:
    reader = Reader(MetricsServer(kind=ALERTMANAGER, filters=("a=b",)))
    await reader.poller.run()
    assert (reader.asked, reader.store.status(Kind.ALERT)) == ([], None)


async def test_nothing_is_asked_while_the_screens_are_away() -> None:
    naps: list[float] = []
    seen: list[Batch] = []

    async def sleep(seconds: float) -> None:
        naps.append(seconds)
        if len(naps) == 3:
            raise EnoughError

    reader = Reader(SERVICE, is_away=lambda: len(naps) < 2, sleep=sleep)
    reader.answers = [proxied()]
    reader.poller._sink = seen.append
    with pytest.raises(EnoughError):
        await reader.poller.run()
    assert (naps, len(reader.asked)) == ([1.0, 1.0, READ_SECONDS], 1)
    assert [batch.status.phase for batch in seen if batch.status] == [Phase.CONNECTING, Phase.LIVE]
