"""Objects and lines that are not as they should be: each costs itself; and connections that fall silent."""

import json
from typing import Any

import pytest

from cockpit.clock import ManualClock
from cockpit.kube.resource import PODS, Resource
from cockpit.model.batch import Phase
from tests.adapters.faults.proxy import FaultProxy
from tests.bed.api import Api
from tests.contract import faults
from tests.contract.asking import pods_in
from tests.contract.conftest import Connect, needs
from tests.contract.following import following
from tests.contract.mirror import eventually, truth
from tests.contract.server import Capability
from tests.contract.shapes import custom, pod


@needs(Capability.PROTOBUF)
async def test_one_bad_object_in_protobuf_costs_one_row(
    space: str, admin: Api, connect: Connect, proxy: FaultProxy
) -> None:
    for number in range(5):
        admin.create(pods_in(space), pod(f"p{number}"))

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
        admin.create(pods_in(space), pod(name))

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
        admin.create(pods_in(space), pod("later"))
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
    admin.create(pods_in(space), pod("odd"))

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
        admin.create(pods_in(space), pod(name))

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
    admin.create(pods_in(space), pod("p"))
    proxy.plan(faults.silence(1_000_000), path="/pods", times=1)
    proxy.plan(faults.silence(0), path="/pods", times=1)
    session = await connect("viewer", through=proxy)
    async with following(session, PODS, namespace=space, idle_seconds=0.5, clock=ManualClock()) as one:
        await one.mirror.until_live()
        admin.create(pods_in(space), pod("unheard"))
        await one.mirror.until(lambda: one.mirror.phase is Phase.STALE)
        assert "silent" in one.mirror.message or "did not answer" in one.mirror.message
        assert "p" in one.mirror.names, "what was known still stands"
        await one.mirror.until_equal(truth(admin, pods_in(space)))


async def test_a_head_that_does_not_come_is_noticed(
    space: str, admin: Api, connect: Connect, proxy: FaultProxy
) -> None:
    admin.create(pods_in(space), pod("p"))
    proxy.plan(faults.delay(30), path="/pods", times=1)
    session = await connect("viewer", through=proxy)
    async with following(session, PODS, namespace=space, idle_seconds=0.3, clock=ManualClock()) as one:
        await one.mirror.until_equal(truth(admin, pods_in(space)))
        assert len(proxy.requests("/pods")) == 2


async def test_a_slow_stream_is_left_alone(
    space: str, admin: Api, connect: Connect, proxy: FaultProxy
) -> None:
    """A few bytes now and then are life: no second connection beside a slow one."""
    for number in range(3):
        admin.create(pods_in(space), pod(f"p{number}"))
    proxy.plan(faults.trickle(400, 0.1), path="/pods")
    session = await connect("viewer", through=proxy)
    async with following(session, PODS, namespace=space, idle_seconds=0.5) as one:
        await one.mirror.until_equal(truth(admin, pods_in(space)))
        assert len(proxy.requests("/pods")) == 1
