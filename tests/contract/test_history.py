"""Versions that are too old, or too new: the server's own 410, by compaction and by a reader who was away."""

import asyncio

import pytest

from cockpit.clock import ManualClock
from cockpit.kube.resource import PODS, Resource
from cockpit.model.batch import Phase
from cockpit.sim.faults.exchange import Exchange
from tests.adapters.faults.proxy import FaultProxy
from tests.bed.api import Api
from tests.contract import faults
from tests.contract.asking import in_space
from tests.contract.conftest import Connect, needs
from tests.contract.following import QUOTAS, Following, following
from tests.contract.mirror import eventually, truth
from tests.contract.server import Capability, Server
from tests.contract.shapes import custom, pod

# Resource quotas are what a server with compaction serves without a cache: see Capability.COMPACTION.


def _quota(name: str) -> dict[str, object]:
    return {"metadata": {"name": name}, "spec": {"hard": {"requests.nvidia.com/gpu": "8"}}}


def _quotas(space: str) -> str:
    return in_space(space, "resourcequotas")


async def _compact(server: Server) -> None:
    assert server.compact is not None
    await asyncio.to_thread(server.compact)


async def _away(one: Following, proxy: FaultProxy) -> None:
    """Cuts the stream and keeps it from coming back until the gate opens."""
    one.naps.gate.clear()
    proxy.cut_all()
    await eventually(lambda: one.naps.waiting, "the stream noticed")


async def test_a_version_from_long_ago_costs_one_list(
    space: str, admin: Api, connect: Connect, proxy: FaultProxy, pools: Resource
) -> None:
    path = pools.path(space)
    for name in ("kept", "deleted-while-away"):
        admin.create(path, custom(pools.kind, name, replicas=1))
    session = await connect(through=proxy)
    async with following(session, pools, namespace=space, clock=ManualClock()) as one:
        await one.mirror.until_live()
        await _away(one, proxy)
        admin.delete(f"{path}/deleted-while-away")
        admin.create(path, custom(pools.kind, "made-while-away", replicas=1))
        proxy.plan(faults.asking(resourceVersion="1"), path=pools.plural)
        one.naps.gate.set()
        await one.mirror.until(lambda: one.mirror.lists_ended == 2, "the second list")
        await one.mirror.until_equal(truth(admin, path))
        assert one.mirror.names == ["kept", "made-while-away"]
        assert len(proxy.requests(pools.plural, listing=True)) == 2


async def test_old_rows_stand_marked_stale_until_the_new_list_is_whole(
    space: str, admin: Api, connect: Connect, proxy: FaultProxy
) -> None:
    for number in range(5):
        admin.create(in_space(space, "pods"), pod(f"p{number}"))
    session = await connect("viewer", through=proxy)
    async with following(session, PODS, namespace=space, clock=ManualClock()) as one:
        await one.mirror.until_live()
        before = len(one.mirror.statuses)
        proxy.plan(faults.status(410, reason="Expired", message="too old"), path="/pods")
        proxy.cut_all()
        await one.mirror.until(lambda: one.mirror.lists_ended == 2)
        phases = {told.phase for told in one.mirror.statuses[before:]}
        assert Phase.LISTING not in phases, "a list over old rows is no first list"
        assert phases & {Phase.STALE, Phase.BACKING_OFF}
        assert one.mirror.fewest == 5


@pytest.mark.parametrize("streaming", [True, False], ids=["streaming list", "pages"])
async def test_after_a_410_the_list_is_not_older_than_what_was_known(
    space: str, admin: Api, connect: Connect, proxy: FaultProxy, streaming: bool
) -> None:
    """First from the server's cache, not older than what stands: a list from etcd by everybody ends it."""
    admin.create(in_space(space, "pods"), pod("p"))
    session = await connect("viewer", through=proxy)
    async with following(
        session, PODS, namespace=space, clock=ManualClock(), streaming_list=streaming
    ) as one:
        await one.mirror.until_live()
        proxy.plan(faults.status(410, reason="Expired"), path="/pods")
        proxy.cut_all()
        await one.mirror.until(lambda: one.mirror.lists_ended == 2)
        again = proxy.requests("/pods", listing=True)[-1]
        assert again.query["resourceVersionMatch"] == "NotOlderThan"


@needs(Capability.COMPACTION)
async def test_a_real_compaction_while_away_costs_one_list(
    server: Server, space: str, admin: Api, connect: Connect, proxy: FaultProxy
) -> None:
    for name in ("kept", "deleted-while-away"):
        admin.create(_quotas(space), _quota(name))
    session = await connect("viewer", through=proxy)
    async with following(session, QUOTAS, namespace=space, clock=ManualClock()) as one:
        await one.mirror.until_live()
        await _away(one, proxy)
        admin.delete(f"{_quotas(space)}/deleted-while-away")
        admin.create(_quotas(space), _quota("made-while-away"))
        await _compact(server)
        one.naps.gate.set()
        await one.mirror.until(lambda: one.mirror.lists_ended == 2, "the second list")
        await one.mirror.until_equal(truth(admin, _quotas(space)))
        assert one.mirror.names == ["kept", "made-while-away"]


@needs(Capability.COMPACTION)
async def test_a_compaction_under_a_live_stream_is_not_felt(
    server: Server, space: str, admin: Api, connect: Connect, proxy: FaultProxy
) -> None:
    session = await connect("viewer", through=proxy)
    async with following(session, QUOTAS, namespace=space, clock=ManualClock()) as one:
        await one.mirror.until_live()
        await _compact(server)
        admin.create(_quotas(space), _quota("after"))
        await one.mirror.until(lambda: "after" in one.mirror.names)
        assert len(proxy.requests("/resourcequotas")) == 1


@needs(Capability.COMPACTION)
async def test_a_compaction_between_pages_begins_the_list_anew(
    server: Server, space: str, admin: Api, connect: Connect, proxy: FaultProxy
) -> None:
    """The continue token expires: nothing may be missing, and what went meanwhile may not stay."""
    for number in range(6):
        admin.create(_quotas(space), _quota(f"q{number}"))

    async def compacted(exchange: Exchange) -> None:
        admin.delete(f"{_quotas(space)}/q0")
        admin.create(_quotas(space), _quota("q9"))
        await _compact(server)
        await exchange.forward()

    rule = proxy.plan(compacted, only=lambda seen: "continue" in seen.query)
    session = await connect("viewer", through=proxy)
    async with following(
        session, QUOTAS, namespace=space, clock=ManualClock(), streaming_list=False, page_objects=4
    ) as one:
        await one.mirror.until_live()
        assert rule.used == 1
        await one.mirror.until_equal(truth(admin, _quotas(space)))
        assert one.mirror.names == ["q1", "q2", "q3", "q4", "q5", "q9"]
        assert one.mirror.lists_begun > one.mirror.lists_ended == 1


async def test_a_version_from_the_future_is_waited_out_and_not_looped(
    space: str, admin: Api, connect: Connect, proxy: FaultProxy
) -> None:
    """A server that lags behind another one says 504 with a cause; the next list asks for less."""
    admin.create(in_space(space, "pods"), pod("p"))
    session = await connect("viewer", through=proxy)
    said = "Too large resource version: 999999999, current: 240"
    proxy.plan(faults.status(504, reason="Timeout", message=said), only=lambda seen: "limit" in seen.query)
    async with following(session, PODS, namespace=space, clock=ManualClock(), streaming_list=False) as one:
        await one.mirror.until_equal(truth(admin, in_space(space, "pods")))
        await eventually(lambda: proxy.answering == 1, "the watch")
        assert len(proxy.requests("/pods")) == 3, "one refused list, one list, one watch"
        told = [told.message for told in one.mirror.statuses if told.phase is Phase.BACKING_OFF]
        assert any("arge resource version" in message for message in told)


async def test_forty_short_lives_cost_no_list(
    space: str, admin: Api, connect: Connect, proxy: FaultProxy
) -> None:
    """Row 1 of the reliability matrix: each watch ends at once, each begins at the last version."""
    admin.create(in_space(space, "pods"), pod("p"))
    session = await connect("viewer", through=proxy)
    async with following(session, PODS, namespace=space, clock=ManualClock()) as one:
        await one.mirror.until_live()
        proxy.plan(faults.empty_stream(faults.PROTOBUF_STREAM), times=40, path="/pods")
        proxy.cut_all()
        await eventually(lambda: len(proxy.requests("/pods")) == 42, "forty lives")
        admin.create(in_space(space, "pods"), pod("late"))
        await one.mirror.until_equal(truth(admin, in_space(space, "pods")))
        assert len(proxy.requests("/pods", listing=True)) == 1
