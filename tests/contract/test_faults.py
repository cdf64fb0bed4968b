"""The reflector behind a proxy that misbehaves: it comes back to the server's truth, and doubles nothing."""

import gzip

import pytest

from cockpit.clock import ManualClock
from cockpit.kube.resource import PODS
from cockpit.sim.faults.exchange import Exchange, Fault
from tests.adapters.faults.proxy import FaultProxy
from tests.bed.api import Api
from tests.contract import faults
from tests.contract.asking import pods_in
from tests.contract.conftest import Connect
from tests.contract.faults import PROTOBUF_STREAM
from tests.contract.following import following
from tests.contract.mirror import eventually, truth
from tests.contract.shapes import pod


async def _redirect(exchange: Exchange) -> None:
    await exchange.answer(302, "text/html", b"<a>moved</a>", {"Location": "http://127.0.0.1:1/login"})


async def _lying_length(exchange: Exchange) -> None:
    await exchange.answer(200, PROTOBUF_STREAM, b"\x7f\xff\xff\xff" + b"x" * 100)


async def _half_a_status(exchange: Exchange) -> None:
    await exchange.answer(500, "application/json", b'{"kind":"Status","mess')


async def _broken_gzip(exchange: Exchange) -> None:
    body = gzip.compress(b"x" * 1000)[:20]
    await exchange.answer(200, PROTOBUF_STREAM, body, {"Content-Encoding": "gzip"})


async def _no_content(exchange: Exchange) -> None:
    await exchange.begin(204, "text/plain")


FAULTS: dict[str, Fault] = {
    "dropped before the answer": faults.refuse(),
    "closed at once": faults.empty_stream(PROTOBUF_STREAM),
    "cut after the head": faults.cut(0),
    "cut inside a length": faults.cut(3),
    "cut inside an object": faults.cut(700),
    "ended inside an object": faults.cut(700, orderly=True),
    "cut after some objects": faults.cut(2500),
    "410": faults.status(410, reason="Expired", message="too old resource version"),
    "410 as an event": faults.error_event(410, "Expired", "too old resource version"),
    "429 with a wait": faults.status(429, reason="TooManyRequests", retry_after_seconds=2),
    "429 without a wait": faults.bare(429),
    "500": faults.status(500, reason="InternalError"),
    "500 as an event": faults.error_event(500, "InternalError", "etcdserver: leader changed"),
    "502 of a balancer": faults.bare(502, b"<html>bad gateway</html>", "text/html"),
    "503 with a wait": faults.status(503, reason="ServiceUnavailable", retry_after_seconds=3),
    "504": faults.status(504, reason="Timeout"),
    "half a status": _half_a_status,
    "log-in page": faults.html(),
    "redirect": _redirect,
    "no content": _no_content,
    "wrong content type": faults.mislabelled("text/plain"),
    "no content type": faults.mislabelled(""),
    "protobuf called JSON": faults.mislabelled("application/json"),
    "a length that lies": _lying_length,
    "broken gzip": _broken_gzip,
    "random bytes": faults.bare(200, bytes(range(256)) * 8, PROTOBUF_STREAM),
    "401 once": faults.status(401, reason="Unauthorized"),
    "403 once": faults.status(403, reason="Forbidden"),
    "404 once": faults.status(404, reason="NotFound"),
    "400 once": faults.status(400, reason="BadRequest"),
    "torn into tiny pieces": faults.drip(7),
    "delayed": faults.delay(0.05),
    "JSON for whoever asked": faults.as_json(),
}


@pytest.mark.parametrize("name", FAULTS)
async def test_a_list_under_a_fault_ends_in_the_truth(
    space: str, admin: Api, connect: Connect, proxy: FaultProxy, name: str
) -> None:
    for number in range(8):
        admin.create(pods_in(space), pod(f"p{number}"))
    rule = proxy.plan(FAULTS[name], times=2, path="/pods")
    session = await connect("viewer", through=proxy)
    async with following(session, PODS, namespace=space, clock=ManualClock()) as one:
        await one.mirror.until_equal(truth(admin, pods_in(space)))
        await one.mirror.until_live()
        assert rule.used >= 1
        admin.create(pods_in(space), pod("after"))
        admin.delete(f"{pods_in(space)}/p0")
        await one.mirror.until_equal(truth(admin, pods_in(space)))


@pytest.mark.parametrize("name", FAULTS)
async def test_a_watch_under_a_fault_ends_in_the_truth(
    space: str, admin: Api, connect: Connect, proxy: FaultProxy, name: str
) -> None:
    for number in range(4):
        admin.create(pods_in(space), pod(f"p{number}"))
    session = await connect("viewer", through=proxy)
    async with following(session, PODS, namespace=space, clock=ManualClock()) as one:
        await one.mirror.until_live()
        one.naps.gate.clear()
        rule = proxy.plan(FAULTS[name], times=2, path="/pods")
        proxy.cut_all()
        await eventually(lambda: one.naps.waiting, "the stream noticed")
        for number in range(8):
            admin.create(pods_in(space), pod(f"late{number}"))
        admin.delete(f"{pods_in(space)}/p0")
        one.naps.gate.set()
        await one.mirror.until_equal(truth(admin, pods_in(space)))
        assert rule.used >= 1
        admin.delete(f"{pods_in(space)}/p1")
        await one.mirror.until_equal(truth(admin, pods_in(space)))


PAGE_FAULTS: dict[str, Fault] = {
    **{
        name: FAULTS[name]
        for name in (
            "dropped before the answer",
            "410",
            "429 with a wait",
            "500",
            "log-in page",
            "no content",
        )
    },
    "JSON of somebody else": faults.bare(200, b'{"error":"log in first","code":7}', "application/json"),
    "a list without items": faults.bare(200, b'{"kind":"PodList","metadata":{}}', "application/json"),
    "one object for a list": faults.bare(200, b'{"kind":"Pod","metadata":{"uid":"x"}}', "application/json"),
    "half a list": faults.bare(200, b'{"kind":"PodList","items":[{"metadata":', "application/json"),
    "garbage called protobuf": faults.bare(
        200, b"k8s\x00\xff\xff\xff", "application/vnd.kubernetes.protobuf"
    ),
}


@pytest.mark.parametrize("name", PAGE_FAULTS)
async def test_pages_under_a_fault_end_in_the_truth(
    space: str, admin: Api, connect: Connect, proxy: FaultProxy, name: str
) -> None:
    """The second page fails twice: the list begins anew, and nothing is missing or double."""
    for number in range(9):
        admin.create(pods_in(space), pod(f"p{number}"))
    # Twice, and twice more: aiohttp asks a second time when a short read is dropped before its answer.
    times = 4 if name == "dropped before the answer" else 2
    rule = proxy.plan(PAGE_FAULTS[name], times=times, only=lambda seen: "continue" in seen.query)
    session = await connect("viewer", through=proxy)
    async with following(
        session, PODS, namespace=space, clock=ManualClock(), streaming_list=False, page_objects=4
    ) as one:
        await one.mirror.until_live()
        await one.mirror.until_equal(truth(admin, pods_in(space)))
        assert rule.used == times
        assert one.mirror.lists_ended == 1


@pytest.mark.parametrize("name", PAGE_FAULTS)
async def test_rows_stand_when_a_list_anew_fails(
    space: str, admin: Api, connect: Connect, proxy: FaultProxy, name: str
) -> None:
    """An answer that is no list is never taken for an empty one."""
    for number in range(3):
        admin.create(pods_in(space), pod(f"p{number}"))
    session = await connect("viewer", through=proxy)
    async with following(session, PODS, namespace=space, clock=ManualClock(), streaming_list=False) as one:
        await one.mirror.until_live()
        await eventually(lambda: proxy.answering == 1, "the watch")
        proxy.plan(faults.status(410, reason="Expired"), watch=True)
        proxy.plan(PAGE_FAULTS[name], times=6, watch=False)
        proxy.cut_all()
        await one.mirror.until(lambda: one.mirror.lists_ended == 2, "the list anew")
        assert one.mirror.fewest == 3


async def test_rows_stand_while_a_list_under_way_is_cut(
    space: str, admin: Api, connect: Connect, proxy: FaultProxy
) -> None:
    """A re-list that breaks off must not take away what it had not named yet."""
    for number in range(6):
        admin.create(pods_in(space), pod(f"p{number}"))
    session = await connect("viewer", through=proxy)
    async with following(session, PODS, namespace=space, clock=ManualClock()) as one:
        await one.mirror.until_live()
        proxy.plan(faults.status(410, reason="Expired"), path="/pods")
        proxy.plan(faults.cut(1500), times=3, path="/pods")
        proxy.cut_all()
        await eventually(lambda: len(proxy.requests("/pods")) >= 4, "the broken lists")
        await one.mirror.until_live()
        await one.mirror.until_equal(truth(admin, pods_in(space)))
        assert one.mirror.fewest == 6, "no row went away for a moment"
