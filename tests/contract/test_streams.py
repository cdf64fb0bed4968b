"""Streams that end and go on, lists in pages, selectors: what the server and the wire allow."""

import asyncio

import pytest

from cockpit.clock import ManualClock
from cockpit.kube.resource import PODS
from cockpit.model.batch import Phase
from cockpit.sim.faults.exchange import Exchange
from tests.adapters.faults.proxy import FaultProxy
from tests.bed.api import Api
from tests.contract.asking import maps_in, pods_in
from tests.contract.conftest import Connect
from tests.contract.faults import asking, status, without_streaming_lists
from tests.contract.following import CONFIG_MAPS, following
from tests.contract.mirror import eventually, truth
from tests.contract.shapes import configmap, pod
from tests.reliability.figures import Tell

# ---- versions, bookmarks, ends


async def test_a_cut_stream_goes_on_from_its_last_version(
    space: str, admin: Api, connect: Connect, proxy: FaultProxy
) -> None:
    admin.create(pods_in(space), pod("kept"))
    session = await connect("viewer", through=proxy)
    async with following(session, PODS, namespace=space, clock=ManualClock()) as one:
        await one.mirror.until_live()
        made = admin.create(pods_in(space), pod("seen"))
        await one.mirror.until(lambda: "seen" in one.mirror.names)
        one.naps.gate.clear()
        proxy.cut_all()
        await one.mirror.until(lambda: one.mirror.phase is Phase.BACKING_OFF)
        admin.delete(f"{pods_in(space)}/kept")
        admin.create(pods_in(space), pod("while-away"))
        assert one.mirror.names == ["kept", "seen"], "the last rows stand"
        one.naps.gate.set()
        await one.mirror.until_equal(truth(admin, pods_in(space)))
        assert one.mirror.names == ["seen", "while-away"]
        assert len(proxy.requests("/pods", listing=True)) == 1
        again = proxy.requests("/pods", listing=False)[0]
        assert int(again.query["resourceVersion"]) >= int(made["metadata"]["resourceVersion"])


async def test_the_servers_own_time_limit_costs_no_list(
    space: str, admin: Api, connect: Connect, proxy: FaultProxy
) -> None:
    proxy.plan(asking(timeoutSeconds="1"), times=3, path="/pods")
    admin.create(pods_in(space), pod("kept"))
    session = await connect("viewer", through=proxy)
    async with following(session, PODS, namespace=space, clock=ManualClock()) as one:
        await eventually(lambda: len(proxy.requests("/pods")) == 4, "the fourth request")
        admin.create(pods_in(space), pod("late"))
        await one.mirror.until_equal(truth(admin, pods_in(space)))
        assert one.mirror.lists_begun == 1
        assert len(proxy.requests("/pods", listing=True)) == 1


async def test_a_bookmark_moves_the_version_of_a_quiet_scope(
    space: str, admin: Api, connect: Connect, proxy: FaultProxy
) -> None:
    """The server sends one shortly before its time limit; it is told, and the next watch starts there."""
    session = await connect("viewer", through=proxy)
    clock = ManualClock()
    async with following(session, PODS, namespace=space, clock=clock) as one:
        await one.mirror.until_live()
        proxy.plan(asking(timeoutSeconds="4"), times=1, path="/pods")
        proxy.cut_all()
        await eventually(lambda: len(proxy.requests("/pods", listing=False)) == 1, "the watch")
        await one.mirror.until_live()
        clock.advance(5.0)
        bookmarked = clock.now()
        other = admin.create(pods_in("default"), pod(f"elsewhere-{space}"))
        await one.mirror.until(lambda: one.mirror.status and one.mirror.status.heard_seconds == bookmarked)
        await eventually(
            lambda: len(proxy.requests("/pods", listing=False)) == 2, "the watch after the bookmark"
        )
        first, second = proxy.requests("/pods", listing=False)
        assert int(second.query["resourceVersion"]) > int(first.query["resourceVersion"])
        assert int(second.query["resourceVersion"]) >= int(other["metadata"]["resourceVersion"])
        assert one.mirror.lists_begun == 1
    admin.delete(f"{pods_in('default')}/elsewhere-{space}")


async def test_stopping_closes_the_connection(space: str, connect: Connect, proxy: FaultProxy) -> None:
    session = await connect("viewer", through=proxy)
    async with following(session, PODS, namespace=space) as one:
        await one.mirror.until_live()
        assert proxy.answering == 1
    await eventually(lambda: proxy.answering == 0, "no stream is left open")


async def test_closing_the_session_under_a_stream_ends_no_process(space: str, connect: Connect) -> None:
    session = await connect("viewer")
    async with following(session, PODS, namespace=space, clock=ManualClock()) as one:
        await one.mirror.until_live()
        one.naps.gate.clear()
        await session.close()
        await one.mirror.until(lambda: one.mirror.phase is not Phase.LIVE)
        assert not one.task.done()


# ---- pages


async def test_a_server_without_streaming_lists_is_read_in_pages(
    space: str, admin: Api, connect: Connect, proxy: FaultProxy
) -> None:
    for number in range(23):
        admin.create(maps_in(space), configmap(f"c{number:02}"))
    await eventually(lambda: len(admin.items(maps_in(space))) == 24, "the controllers' own config map")
    proxy.plan(without_streaming_lists(), times=None)
    session = await connect("viewer", through=proxy)
    async with following(session, CONFIG_MAPS, namespace=space, page_objects=5) as one:
        await one.mirror.until_equal(truth(admin, maps_in(space)))
        pages = [seen for seen in proxy.requests("/configmaps") if not seen.is_watch]
        assert len(pages) == 5
        assert all(seen.query["limit"] == "5" for seen in pages)
        assert all("continue" in seen.query for seen in pages[1:])
        await one.mirror.until(lambda: one.mirror.lists_ended == 1, "the end of the list")
        assert one.mirror.lists_begun == 1
        admin.create(maps_in(space), configmap("late"))
        await one.mirror.until(lambda: "late" in one.mirror.names)


@pytest.mark.row(4, "page that failed", least=37)
@pytest.mark.row(4, "missing", most=0)
@pytest.mark.row(4, "double", most=0)
async def test_a_list_whose_token_expires_late_is_read_whole(
    space: str, admin: Api, connect: Connect, proxy: FaultProxy, figure: Tell
) -> None:
    """The list begins again, after pods have come and gone, and says why."""
    for number in range(80):
        admin.create(pods_in(space), pod(f"p{number:02}"))
    failed: list[int] = []

    async def expires(exchange: Exchange) -> None:
        failed.append(sum("limit" in seen.query for seen in proxy.requests("/pods")))
        admin.delete(f"{pods_in(space)}/p03")
        admin.create(pods_in(space), pod("p99"))
        await status(410, reason="Expired", message="the continue token is too old")(exchange)

    proxy.plan(expires, only=lambda seen: sum("limit" in one.query for one in proxy.requests("/pods")) == 37)
    session = await connect("viewer", through=proxy)
    async with following(
        session, PODS, namespace=space, clock=ManualClock(), streaming_list=False, page_objects=2
    ) as one:
        await one.mirror.until(lambda: one.mirror.lists_ended == 1, "the list")
        wanted = truth(admin, pods_in(space))()
        figure("page that failed", *failed)
        figure("missing", len(wanted.keys() - one.mirror.rows.keys()))
        figure("double", len(one.mirror.broken) + len(one.mirror.rows.keys() - wanted.keys()))
        assert any("the continue token is too old" in told.message for told in one.mirror.statuses)


@pytest.mark.parametrize("code", [400, 422])
async def test_the_missing_streaming_list_is_asked_for_once(
    space: str, admin: Api, connect: Connect, proxy: FaultProxy, code: int
) -> None:
    proxy.plan(
        status(code, reason="Invalid", message="sendInitialEvents is forbidden"), listing=True, path="/pods"
    )
    session = await connect("viewer", through=proxy)
    async with following(session, PODS, namespace=space, clock=ManualClock()) as one:
        await one.mirror.until_live()
        proxy.plan(status(410, reason="Expired"), watch=True)
        proxy.cut_all()
        await one.mirror.until(lambda: one.mirror.lists_ended == 2)
        assert sum("sendInitialEvents" in seen.query for seen in proxy.seen) == 1


async def test_an_old_servers_own_refusal_leads_to_pages(
    space: str, admin: Api, connect: Connect, proxy: FaultProxy
) -> None:
    """Without sendInitialEvents the request is what an old server understands, and it refuses the rest."""
    proxy.plan(asking(sendInitialEvents=None), times=1, path="/pods")
    admin.create(pods_in(space), pod("p"))
    async with following(await connect("viewer", through=proxy), PODS, namespace=space) as one:
        await one.mirror.until_equal(truth(admin, pods_in(space)))
        assert any("limit" in seen.query for seen in proxy.requests("/pods"))


async def test_changes_between_list_and_watch_are_not_lost(
    space: str, admin: Api, connect: Connect, proxy: FaultProxy
) -> None:
    admin.create(pods_in(space), pod("a"))
    session = await connect("viewer", through=proxy)

    async def late(exchange: object) -> None:
        admin.create(pods_in(space), pod("between"))
        admin.delete(f"{pods_in(space)}/a")
        await exchange.forward()  # type: ignore[attr-defined]

    proxy.plan(late, watch=True, path="/pods")
    async with following(session, PODS, namespace=space, streaming_list=False) as one:
        await one.mirror.until(lambda: one.mirror.names == ["between"])
        await one.mirror.until_equal(truth(admin, pods_in(space)))


async def test_pages_and_streaming_list_give_the_same_rows(space: str, admin: Api, connect: Connect) -> None:
    for number in range(12):
        admin.create(pods_in(space), pod(f"p{number:02}", gpus=number % 3))
    session = await connect("viewer")
    async with (
        following(session, PODS, namespace=space) as streamed,
        following(session, PODS, namespace=space, streaming_list=False, page_objects=5) as paged,
    ):
        await streamed.mirror.until_live()
        await paged.mirror.until_live()
        assert streamed.mirror.rows == paged.mirror.rows
        assert len(paged.mirror.rows) == 12


# ---- selectors, as every list offers them


@pytest.mark.parametrize(
    ("query", "names"),
    [
        (("labelSelector", "team=a"), ["a1", "a2"]),
        (("labelSelector", "team in (a,b),!old"), ["a1", "b1"]),
        (("labelSelector", "team!=a"), ["b1"]),
        (("fieldSelector", "metadata.name=b1"), ["b1"]),
        (("fieldSelector", "status.phase=Running"), ["a2"]),
        (("fieldSelector", "spec.nodeName=nowhere"), []),
    ],
    ids=["equal", "set", "unequal", "name", "phase", "node"],
)
async def test_selectors_choose_on_the_server(
    space: str, admin: Api, connect: Connect, query: tuple[str, str], names: list[str]
) -> None:
    for name, labels in (
        ("a1", {"team": "a"}),
        ("a2", {"team": "a", "old": "yes"}),
        ("b1", {"team": "b"}),
    ):
        admin.create(pods_in(space), pod(name, labels=labels))
    admin.merge(f"{pods_in(space)}/a2/status", {"status": {"phase": "Running"}})
    session = await connect("viewer")
    answer = await session.request("GET", pods_in(space), query=(query,))
    assert sorted(item["metadata"]["name"] for item in answer.json()["items"]) == names


async def test_a_bad_selector_is_the_servers_sentence(space: str, connect: Connect) -> None:
    session = await connect("viewer")
    answer = await session.request("GET", pods_in(space), query=(("labelSelector", "a in b"),))
    assert answer.status == 400
    assert "a in b" in answer.message() or "found 'b'" in answer.message()


async def test_a_reflector_waits_without_asking(space: str, connect: Connect, proxy: FaultProxy) -> None:
    """A live, quiet stream makes no request at all."""
    async with following(await connect("viewer", through=proxy), PODS, namespace=space) as one:
        await one.mirror.until_live()
        before = len(proxy.seen)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(proxy.arrival(), 1.0)
        assert len(proxy.seen) == before
