"""The reflector behind a proxy that misbehaves: it comes back to the server's truth, and doubles nothing."""

import gzip
import json
from typing import Any

import pytest

from cockpit.clock import ManualClock
from cockpit.kube.resource import PODS, Resource
from cockpit.model.batch import Phase
from tests.bed.api import Api
from tests.contract import faults
from tests.contract.asking import in_space
from tests.contract.conftest import Connect, needs
from tests.contract.fault_proxy import Exchange, Fault, FaultProxy
from tests.contract.faults import PROTOBUF_STREAM
from tests.contract.following import following
from tests.contract.mirror import eventually, truth
from tests.contract.server import Capability
from tests.contract.shapes import custom, pod


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


def _pods(space: str) -> str:
    return in_space(space, "pods")


@pytest.mark.parametrize("name", FAULTS)
async def test_a_list_under_a_fault_ends_in_the_truth(
    space: str, admin: Api, connect: Connect, proxy: FaultProxy, name: str
) -> None:
    for number in range(8):
        admin.create(_pods(space), pod(f"p{number}"))
    rule = proxy.plan(FAULTS[name], times=2, path="/pods")
    session = await connect("viewer", through=proxy)
    async with following(session, PODS, namespace=space, clock=ManualClock()) as one:
        await one.mirror.until_equal(truth(admin, _pods(space)))
        await one.mirror.until_live()
        assert rule.used >= 1
        admin.create(_pods(space), pod("after"))
        admin.delete(f"{_pods(space)}/p0")
        await one.mirror.until_equal(truth(admin, _pods(space)))


@pytest.mark.parametrize("name", FAULTS)
async def test_a_watch_under_a_fault_ends_in_the_truth(
    space: str, admin: Api, connect: Connect, proxy: FaultProxy, name: str
) -> None:
    for number in range(4):
        admin.create(_pods(space), pod(f"p{number}"))
    session = await connect("viewer", through=proxy)
    async with following(session, PODS, namespace=space, clock=ManualClock()) as one:
        await one.mirror.until_live()
        one.naps.gate.clear()
        rule = proxy.plan(FAULTS[name], times=2, path="/pods")
        proxy.cut_all()
        await eventually(lambda: one.naps.waiting, "the stream noticed")
        for number in range(8):
            admin.create(_pods(space), pod(f"late{number}"))
        admin.delete(f"{_pods(space)}/p0")
        one.naps.gate.set()
        await one.mirror.until_equal(truth(admin, _pods(space)))
        assert rule.used >= 1
        admin.delete(f"{_pods(space)}/p1")
        await one.mirror.until_equal(truth(admin, _pods(space)))


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
        admin.create(_pods(space), pod(f"p{number}"))
    # Twice, and twice more: aiohttp asks a second time when a short read is dropped before its answer.
    times = 4 if name == "dropped before the answer" else 2
    rule = proxy.plan(PAGE_FAULTS[name], times=times, only=lambda seen: "continue" in seen.query)
    session = await connect("viewer", through=proxy)
    async with following(
        session, PODS, namespace=space, clock=ManualClock(), streaming_list=False, page_objects=4
    ) as one:
        await one.mirror.until_live()
        await one.mirror.until_equal(truth(admin, _pods(space)))
        assert rule.used == times
        assert one.mirror.lists_ended == 1


@pytest.mark.parametrize("name", PAGE_FAULTS)
async def test_rows_stand_when_a_list_anew_fails(
    space: str, admin: Api, connect: Connect, proxy: FaultProxy, name: str
) -> None:
    """An answer that is no list is never taken for an empty one."""
    for number in range(3):
        admin.create(_pods(space), pod(f"p{number}"))
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
        admin.create(_pods(space), pod(f"p{number}"))
    session = await connect("viewer", through=proxy)
    async with following(session, PODS, namespace=space, clock=ManualClock()) as one:
        await one.mirror.until_live()
        proxy.plan(faults.status(410, reason="Expired"), path="/pods")
        proxy.plan(faults.cut(1500), times=3, path="/pods")
        proxy.cut_all()
        await eventually(lambda: len(proxy.requests("/pods")) >= 4, "the broken lists")
        await one.mirror.until_live()
        await one.mirror.until_equal(truth(admin, _pods(space)))
        assert one.mirror.fewest == 6, "no row went away for a moment"


@needs(Capability.PROTOBUF)
async def test_one_bad_object_in_protobuf_costs_one_row(
    space: str, admin: Api, connect: Connect, proxy: FaultProxy
) -> None:
    for number in range(5):
        admin.create(_pods(space), pod(f"p{number}"))

    def spoil(number: int, payload: bytes) -> bytes:
        # A length of a nested message beyond its end: the frame is whole, the object is not.
        return faults.framed(
            payload.replace(b"registry.test", b"\xff\xff\xff\xff\xff.test") if number == 2 else payload
        )

    proxy.plan(faults.frames(spoil), path="/pods")
    async with following(await connect("viewer", through=proxy), PODS, namespace=space) as one:
        await one.mirror.until_live()
        assert len(one.mirror.rows) in (4, 5)
        assert one.mirror.status is not None
        assert one.mirror.status.skipped == 5 - len(one.mirror.rows)


BAD_PODS: dict[str, Any] = {
    "a text for a list": lambda tree: tree["spec"].update(containers="none"),
    "a list for a map": lambda tree: tree["metadata"].update(labels=["a"]),
    "a map for a text": lambda tree: tree["status"].update(phase={"now": "Running"}),
    "no uid": lambda tree: tree["metadata"].pop("uid"),
    "no metadata": lambda tree: tree.pop("metadata"),
    "metadata is null": lambda tree: tree.update(metadata=None),
}


@pytest.mark.parametrize("how", BAD_PODS)
async def test_one_bad_object_costs_one_row(
    space: str, admin: Api, connect: Connect, proxy: FaultProxy, how: str
) -> None:
    for name in ("a", "bad", "c"):
        admin.create(_pods(space), pod(name))

    def spoil(tree: dict[str, Any]) -> dict[str, Any]:
        if tree.get("metadata", {}).get("name") == "bad":
            BAD_PODS[how](tree)
        return tree

    proxy.plan(faults.objects(spoil), times=None, path="/pods")
    async with following(await connect("viewer", through=proxy), PODS, namespace=space) as one:
        await one.mirror.until_live()
        assert one.mirror.names == ["a", "c"]
        assert one.mirror.status is not None
        assert (one.mirror.status.objects, one.mirror.status.skipped) == (2, 1)
        admin.create(_pods(space), pod("later"))
        await one.mirror.until(lambda: one.mirror.names == ["a", "c", "later"])


ODD_PODS: dict[str, Any] = {
    "null containers": lambda tree: tree["spec"].update(containers=None),
    "null labels": lambda tree: tree["metadata"].update(labels=None),
    "an unknown phase": lambda tree: tree["status"].update(phase="Hibernating"),
    "an unknown field": lambda tree: tree["spec"].update(quantum={"spin": [1, 2]}),
    "a time that is none": lambda tree: tree["metadata"].update(creationTimestamp="yesterday"),
    "a quantity that is none": lambda tree: tree["spec"]["containers"][0].update(
        resources={"limits": {"nvidia.com/gpu": "many", "cpu": "1e400"}}
    ),
    "a number for a quantity": lambda tree: tree["spec"]["containers"][0].update(
        resources={"limits": {"nvidia.com/gpu": 4}}
    ),
}


@pytest.mark.parametrize("how", ODD_PODS)
async def test_an_odd_object_is_still_a_row(
    space: str, admin: Api, connect: Connect, proxy: FaultProxy, how: str
) -> None:
    admin.create(_pods(space), pod("odd"))

    def twist(tree: dict[str, Any]) -> dict[str, Any]:
        if tree.get("metadata", {}).get("name") == "odd":
            ODD_PODS[how](tree)
        return tree

    proxy.plan(faults.objects(twist), times=None, path="/pods")
    async with following(await connect("viewer", through=proxy), PODS, namespace=space) as one:
        await one.mirror.until_live()
        assert one.mirror.names == ["odd"]
        assert one.mirror.status is not None
        assert one.mirror.status.skipped == 0


@pytest.mark.parametrize("how", ["a text for a list", "no uid"])
async def test_one_bad_object_in_a_page_costs_one_row(
    space: str, admin: Api, connect: Connect, proxy: FaultProxy, how: str
) -> None:
    for name in ("a", "bad", "c"):
        admin.create(_pods(space), pod(name))

    def spoil(tree: dict[str, Any]) -> dict[str, Any]:
        for item in tree["items"]:
            if item["metadata"]["name"] == "bad":
                BAD_PODS[how](item)
        return tree

    proxy.plan(faults.listed(spoil), times=None, watch=False, path="/pods")
    session = await connect("viewer", through=proxy)
    async with following(session, PODS, namespace=space, streaming_list=False) as one:
        await one.mirror.until_live()
        assert one.mirror.names == ["a", "c"]


# ---- lines of a JSON stream


def _line(kind: str, **fields: Any) -> bytes:
    return json.dumps({"type": kind, "object": fields}).encode()


GARBAGE = {
    "no JSON": b"} not json {",
    "no event": b'{"hello":"world"}',
    "an array": b"[1,2,3]",
    "invalid UTF-8": b'{"type":"ADDED","object":{"metadata":{"name":"\xff\xfe"}}}',
    "an unknown type": _line("REPLACED", metadata={"name": "x", "uid": "x"}),
    "nested too deep": b'{"type":"ADDED","object":' + b"[" * 5000 + b"]" * 5000 + b"}",
    "not a number": b'{"type":"ADDED","object":{"metadata":{"name":"x"},"spec":{"replicas":NaN}}}',
    "seventeen megabytes": b'{"type":"ADDED","object":"' + b"x" * (17 << 20) + b'"}',
    "a deletion of nobody": _line("DELETED", metadata={"name": "never", "uid": "never"}),
    "an empty line": b"",
}


@pytest.mark.parametrize("what", GARBAGE)
async def test_a_garbage_line_does_not_end_a_stream(
    space: str, admin: Api, connect: Connect, proxy: FaultProxy, pools: Resource, what: str
) -> None:
    for number in range(4):
        admin.create(pools.path(space), custom(pools.kind, f"p{number}", replicas=number))

    def mix(number: int, line: bytes) -> list[bytes]:
        return [line, GARBAGE[what]] if number == 1 else [line]

    proxy.plan(faults.lines(mix), path=pools.plural)
    session = await connect(through=proxy)
    async with following(session, pools, namespace=space, clock=ManualClock()) as one:
        await one.mirror.until_live()
        await one.mirror.until_equal(truth(admin, pools.path(space)))
        assert len(proxy.requests(pools.plural)) == 1, "the stream went on"
        admin.create(pools.path(space), custom(pools.kind, "late", replicas=1))
        await one.mirror.until(lambda: "late" in one.mirror.names)


async def test_three_garbage_lines_end_a_stream_with_a_message(
    space: str, admin: Api, connect: Connect, proxy: FaultProxy, pools: Resource
) -> None:
    admin.create(pools.path(space), custom(pools.kind, "p", replicas=1))
    proxy.plan(faults.lines(lambda number, line: [b"garbage"] * 3), times=1, path=pools.plural)
    session = await connect(through=proxy)
    async with following(session, pools, namespace=space, clock=ManualClock()) as one:
        one.naps.gate.clear()
        await one.mirror.until(lambda: one.mirror.phase is Phase.BACKING_OFF)
        assert "cannot be read" in one.mirror.message
        one.naps.gate.set()
        await one.mirror.until_equal(truth(admin, pools.path(space)))


async def test_doubled_and_replayed_events_change_nothing(
    space: str, admin: Api, connect: Connect, proxy: FaultProxy, pools: Resource
) -> None:
    path = pools.path(space)
    for number in range(3):
        admin.create(path, custom(pools.kind, f"p{number}", replicas=1))
    session = await connect(through=proxy)
    async with following(session, pools, namespace=space, clock=ManualClock()) as one:
        await one.mirror.until_live()
        proxy.plan(faults.lines(lambda number, line: [line, line]), path=pools.plural)
        proxy.cut_all()
        await eventually(lambda: len(proxy.requests(pools.plural)) == 2, "the doubling stream")
        admin.merge(f"{path}/p0", {"spec": {"replicas": 5}})
        admin.create(path, custom(pools.kind, "new", replicas=1))
        admin.delete(f"{path}/p1")
        await one.mirror.until_equal(truth(admin, path))
        assert one.mirror.named("p0").replicas == 5
        assert one.mirror.status is not None
        assert one.mirror.status.objects in (3, len(one.mirror.rows))


# ---- silence


async def test_a_silent_stream_is_noticed_and_left(
    space: str, admin: Api, connect: Connect, proxy: FaultProxy
) -> None:
    """Half-open: the connection stands, nothing comes. The rows stand too, and are called stale."""
    admin.create(_pods(space), pod("p"))
    proxy.plan(faults.silence(1_000_000), path="/pods", times=1)
    proxy.plan(faults.silence(0), path="/pods", times=1)
    session = await connect("viewer", through=proxy)
    async with following(session, PODS, namespace=space, idle_seconds=0.5, clock=ManualClock()) as one:
        await one.mirror.until_live()
        admin.create(_pods(space), pod("unheard"))
        await one.mirror.until(lambda: one.mirror.phase is Phase.STALE)
        assert "silent" in one.mirror.message or "did not answer" in one.mirror.message
        assert "p" in one.mirror.names, "what was known still stands"
        await one.mirror.until_equal(truth(admin, _pods(space)))


async def test_a_head_that_does_not_come_is_noticed(
    space: str, admin: Api, connect: Connect, proxy: FaultProxy
) -> None:
    admin.create(_pods(space), pod("p"))
    proxy.plan(faults.delay(30), path="/pods", times=1)
    session = await connect("viewer", through=proxy)
    async with following(session, PODS, namespace=space, idle_seconds=0.3, clock=ManualClock()) as one:
        await one.mirror.until_equal(truth(admin, _pods(space)))
        assert len(proxy.requests("/pods")) == 2


async def test_a_slow_stream_is_left_alone(
    space: str, admin: Api, connect: Connect, proxy: FaultProxy
) -> None:
    """A few bytes now and then are life: no second connection beside a slow one."""
    for number in range(3):
        admin.create(_pods(space), pod(f"p{number}"))
    proxy.plan(faults.trickle(400, 0.1), path="/pods")
    session = await connect("viewer", through=proxy)
    async with following(session, PODS, namespace=space, idle_seconds=0.5) as one:
        await one.mirror.until_equal(truth(admin, _pods(space)))
        assert len(proxy.requests("/pods")) == 1
