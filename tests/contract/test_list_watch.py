"""List and watch through the reflector: the rows become, and stay, what the server holds."""

import asyncio

import pytest

from cockpit.clock import ManualClock
from cockpit.kube.resource import EVENTS, JOBS, NAMESPACES, NODES, PODS, Resource
from cockpit.model.batch import ListMark, Phase
from tests.bed.api import Api
from tests.contract.conftest import Connect
from tests.contract.fault_proxy import FaultProxy
from tests.contract.faults import asking, status, without_streaming_lists
from tests.contract.following import CONFIG_MAPS, following
from tests.contract.mirror import eventually, truth
from tests.contract.shapes import configmap, custom, event, job, node, pod


def _pods(space: str) -> str:
    return f"/api/v1/namespaces/{space}/pods"


def _maps(space: str) -> str:
    return f"/api/v1/namespaces/{space}/configmaps"


# ---- the first list


async def test_a_list_has_a_beginning_every_object_and_an_end(
    space: str, admin: Api, connect: Connect
) -> None:
    for number in range(5):
        admin.create(_pods(space), pod(f"p{number}"))
    async with following(await connect("viewer"), PODS, namespace=space) as one:
        await one.mirror.until_live()
        marks = [batch.mark for batch in one.mirror.batches if batch.mark is not ListMark.NONE]
        assert marks == [ListMark.BEGIN, ListMark.END]
        assert one.mirror.names == ["p0", "p1", "p2", "p3", "p4"]
        await one.mirror.until_equal(truth(admin, _pods(space)))


async def test_an_empty_list_says_that_it_is_empty(space: str, connect: Connect) -> None:
    async with following(await connect("viewer"), JOBS, namespace=space) as one:
        await one.mirror.until_live()
        assert one.mirror.lists_ended == 1
        assert one.mirror.rows == {}
        assert one.mirror.status is not None
        assert one.mirror.status.objects == 0


async def test_the_status_tells_phase_count_and_times(space: str, admin: Api, connect: Connect) -> None:
    clock = ManualClock()
    for number in range(3):
        admin.create(_pods(space), pod(f"p{number}"))
    async with following(await connect("viewer"), PODS, namespace=space, clock=clock) as one:
        await one.mirror.until_live()
        told = one.mirror.status
        assert told is not None
        assert (told.kind, told.scope, told.objects, told.skipped) == ("pods", space, 3, 0)
        assert told.since_seconds == clock.now()
        assert told.heard_seconds == clock.now()
        assert told.retry_seconds is None
        assert one.mirror.phases == [Phase.LISTING, Phase.LIVE]


async def test_one_request_lists_and_watches(space: str, connect: Connect, proxy: FaultProxy) -> None:
    session = await connect("viewer", through=proxy)
    async with following(session, PODS, namespace=space) as one:
        await one.mirror.until_live()
        (asked,) = proxy.requests("/pods")
        assert asked.query["sendInitialEvents"] == "true"
        assert asked.query["allowWatchBookmarks"] == "true"
        assert "limit" not in asked.query


async def test_several_hundred_objects_arrive_once_each(space: str, admin: Api, connect: Connect) -> None:
    for number in range(300):
        admin.create(_maps(space), configmap(f"c{number:03}"))
    async with following(await connect("viewer"), CONFIG_MAPS, namespace=space) as one:
        await one.mirror.until_live()
        told = [record.uid for batch in one.mirror.batches for record in batch.changed]
        assert len(told) == len(set(told)) >= 300
        await one.mirror.until_equal(truth(admin, _maps(space)))


async def test_an_object_of_nearly_a_megabyte_passes(space: str, admin: Api, connect: Connect) -> None:
    async with following(await connect("viewer"), CONFIG_MAPS, namespace=space) as one:
        await one.mirror.until_live()
        admin.create(_maps(space), configmap("large", blob="x" * 900_000))
        await one.mirror.until(lambda: "large" in one.mirror.names)


# ---- changes


async def test_an_added_object_becomes_a_row(space: str, admin: Api, connect: Connect) -> None:
    async with following(await connect("viewer"), PODS, namespace=space) as one:
        await one.mirror.until_live()
        made = admin.create(_pods(space), pod("late", gpus=4))
        await one.mirror.until(lambda: one.mirror.names == ["late"])
        row = one.mirror.named("late")
        assert (row.uid, row.gpus, row.gpu_resource, row.phase) == (
            made["metadata"]["uid"],
            4,
            "nvidia.com/gpu",
            "Pending",
        )


async def test_a_changed_object_changes_its_row(space: str, admin: Api, connect: Connect) -> None:
    admin.create(_pods(space), pod("p"))
    async with following(await connect("viewer"), PODS, namespace=space) as one:
        await one.mirror.until_live()
        admin.merge(f"{_pods(space)}/p/status", {"status": {"phase": "Running", "podIP": "10.64.0.9"}})
        await one.mirror.until(lambda: one.mirror.named("p").phase == "Running")
        assert one.mirror.named("p").pod_ip == "10.64.0.9"
        assert one.mirror.lists_begun == 1


async def test_a_deleted_object_takes_its_row_away(space: str, admin: Api, connect: Connect) -> None:
    admin.create(_pods(space), pod("p"))
    async with following(await connect("viewer"), PODS, namespace=space) as one:
        await one.mirror.until(lambda: one.mirror.names == ["p"])
        uid = one.mirror.named("p").uid
        admin.delete(f"{_pods(space)}/p")
        await one.mirror.until(lambda: not one.mirror.rows)
        assert any(uid in batch.removed for batch in one.mirror.batches)


async def test_a_deleted_collection_takes_all_rows_away(space: str, admin: Api, connect: Connect) -> None:
    for number in range(20):
        admin.create(_pods(space), pod(f"p{number}"))
    async with following(await connect("viewer"), PODS, namespace=space) as one:
        await one.mirror.until(lambda: len(one.mirror.rows) == 20)
        admin.delete(_pods(space))
        await one.mirror.until(lambda: not one.mirror.rows)


async def test_a_finalizer_keeps_the_row_and_marks_it(space: str, admin: Api, connect: Connect) -> None:
    held = configmap("held") | {"metadata": {"name": "held", "finalizers": ["contract.test/hold"]}}
    admin.create(_maps(space), held)
    async with following(await connect("viewer"), CONFIG_MAPS, namespace=space) as one:
        await one.mirror.until(lambda: "held" in one.mirror.names)
        assert one.mirror.named("held").deleting_seconds is None
        admin.delete(f"{_maps(space)}/held")
        await one.mirror.until(lambda: one.mirror.named("held").deleting_seconds is not None)
        admin.merge(f"{_maps(space)}/held", {"metadata": {"finalizers": None}})
        await one.mirror.until(lambda: "held" not in one.mirror.names)


async def test_the_same_name_again_is_another_row(space: str, admin: Api, connect: Connect) -> None:
    first = admin.create(_pods(space), pod("p"))["metadata"]["uid"]
    async with following(await connect("viewer"), PODS, namespace=space) as one:
        await one.mirror.until(lambda: first in one.mirror.rows)
        admin.delete(f"{_pods(space)}/p")
        second = admin.create(_pods(space), pod("p"))["metadata"]["uid"]
        await one.mirror.until(lambda: set(one.mirror.rows) == {second})


async def test_a_burst_of_changes_ends_in_the_newest(space: str, admin: Api, connect: Connect) -> None:
    admin.create(_maps(space), configmap("hot", n="0"))
    async with following(await connect("viewer"), CONFIG_MAPS, namespace=space) as one:
        await one.mirror.until_live()
        for number in range(50):
            admin.merge(f"{_maps(space)}/hot", {"data": {"n": str(number + 1)}})
        await one.mirror.until_equal(truth(admin, _maps(space)))


async def test_rows_never_go_back_to_an_older_version(space: str, admin: Api, connect: Connect) -> None:
    admin.create(_maps(space), configmap("hot", n="0"))
    async with following(await connect("viewer"), CONFIG_MAPS, namespace=space) as one:
        await one.mirror.until_live()
        for number in range(20):
            admin.merge(f"{_maps(space)}/hot", {"data": {"n": str(number + 1)}})
        await one.mirror.until_equal(truth(admin, _maps(space)))
        versions = [
            int(record.resource_version)
            for batch in one.mirror.batches
            for record in batch.changed
            if record.name == "hot"
        ]
        assert versions == sorted(versions)


# ---- scope


async def test_a_namespace_hides_its_neighbours(
    space: str, admin: Api, server: object, connect: Connect
) -> None:
    other = f"{space}-b"
    admin.create("/api/v1/namespaces", {"metadata": {"name": other}})
    admin.create(_pods(other), pod("stranger"))
    async with following(await connect("viewer"), PODS, namespace=space) as one:
        await one.mirror.until_live()
        admin.create(_pods(other), pod("stranger-2"))
        admin.create(_pods(space), pod("mine"))
        await one.mirror.until(lambda: "mine" in one.mirror.names)
        assert one.mirror.names == ["mine"]
    admin.delete(f"/api/v1/namespaces/{other}")


async def test_all_namespaces_are_one_stream(
    space: str, admin: Api, connect: Connect, proxy: FaultProxy
) -> None:
    other = f"{space}-b"
    admin.create("/api/v1/namespaces", {"metadata": {"name": other}})
    for where in (space, other):
        admin.create(_pods(where), pod("same-name"))
    async with following(await connect("viewer", through=proxy), PODS) as one:
        await one.mirror.until_live()
        keys = {record.key for record in one.mirror.rows.values()}
        assert {f"{space}/same-name", f"{other}/same-name"} <= keys
        assert [seen.path for seen in proxy.requests("/pods")] == ["/api/v1/pods"]
    admin.delete(f"/api/v1/namespaces/{other}")


async def test_a_cluster_wide_kind_has_no_namespace(space: str, admin: Api, connect: Connect) -> None:
    name = f"gpu-{space}"
    admin.create(
        "/api/v1/nodes", node(name, gpus=8, labels={"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"})
    )
    try:
        async with following(await connect("viewer"), NODES) as one:
            await one.mirror.until(lambda: name in one.mirror.names)
            row = one.mirror.named(name)
            assert (row.key, row.gpu_capacity, row.gpu_model) == (name, 8, "NVIDIA-H100-80GB-HBM3")
            admin.merge(f"/api/v1/nodes/{name}", {"spec": {"unschedulable": True}})
            await one.mirror.until(lambda: one.mirror.named(name).unschedulable)
    finally:
        admin.delete(f"/api/v1/nodes/{name}")


async def test_namespaces_themselves_are_followed(space: str, admin: Api, connect: Connect) -> None:
    async with following(await connect("viewer"), NAMESPACES) as one:
        await one.mirror.until(lambda: space in one.mirror.names)
        admin.create("/api/v1/namespaces", {"metadata": {"name": f"{space}-new"}})
        await one.mirror.until(lambda: f"{space}-new" in one.mirror.names)
        admin.delete(f"/api/v1/namespaces/{space}-new")


async def test_events_carry_what_they_are_about(space: str, admin: Api, connect: Connect) -> None:
    about = admin.create(_pods(space), pod("p"))
    async with following(await connect("viewer"), EVENTS, namespace=space) as one:
        await one.mirror.until_live()
        admin.create(
            f"/api/v1/namespaces/{space}/events",
            event("e", space, about, reason="FailedScheduling", message="0/3 nodes are available", count=7),
        )
        await one.mirror.until(lambda: "e" in one.mirror.names)
        row = one.mirror.named("e")
        assert (row.object_uid, row.reason, row.count) == (about["metadata"]["uid"], "FailedScheduling", 7)


async def test_hostile_text_is_clean_in_the_row(space: str, admin: Api, connect: Connect) -> None:
    about = admin.create(_pods(space), pod("p"))
    message = "\x1b]52;c;aGk=\x07 pulling \x1b[2J\u202egpj.exe\r\n[/red]"
    async with following(await connect("viewer"), EVENTS, namespace=space) as one:
        await one.mirror.until_live()
        admin.create(
            f"/api/v1/namespaces/{space}/events", event("e", space, about, reason="Odd", message=message)
        )
        await one.mirror.until(lambda: "e" in one.mirror.names)
        text = one.mirror.named("e").message
        assert text.isprintable()
        assert "pulling" in text
        assert "[/red]" in text, "markup is text: it is not eaten here"


async def test_a_job_row_follows_its_object(space: str, admin: Api, connect: Connect) -> None:
    path = f"/apis/batch/v1/namespaces/{space}/jobs"
    async with following(await connect("viewer"), JOBS, namespace=space) as one:
        await one.mirror.until_live()
        admin.create(path, job("train", parallelism=3))
        await one.mirror.until(lambda: one.mirror.names == ["train"])
        row = one.mirror.named("train")
        assert row.is_suspended
        assert [(part.replicas, part.gpus_each) for part in row.replicas] == [(3, 2)]


async def test_two_kinds_on_one_session_do_not_mix(space: str, admin: Api, connect: Connect) -> None:
    session = await connect("viewer")
    admin.create(_pods(space), pod("p"))
    admin.create(_maps(space), configmap("c"))
    async with (
        following(session, PODS, namespace=space) as pods,
        following(session, CONFIG_MAPS, namespace=space) as maps,
    ):
        await pods.mirror.until_live()
        await maps.mirror.until_live()
        assert pods.mirror.names == ["p"]
        assert "c" in maps.mirror.names


async def test_a_custom_kind_is_followed_in_json(
    space: str, admin: Api, connect: Connect, proxy: FaultProxy, pools: Resource
) -> None:
    path = pools.path(space)
    async with following(await connect("admin", through=proxy), pools, namespace=space) as one:
        await one.mirror.until_live()
        assert "protobuf" not in proxy.requests(pools.plural)[0].headers["Accept"]
        admin.create(path, custom(pools.kind, "a100", replicas=2))
        await one.mirror.until(lambda: one.mirror.names == ["a100"])
        assert one.mirror.named("a100").replicas == 2
        admin.merge(f"{path}/a100", {"spec": {"replicas": 5}})
        await one.mirror.until(lambda: one.mirror.named("a100").replicas == 5)
        admin.delete(f"{path}/a100")
        await one.mirror.until(lambda: not one.mirror.rows)


# ---- versions, bookmarks, ends


async def test_a_cut_stream_goes_on_from_its_last_version(
    space: str, admin: Api, connect: Connect, proxy: FaultProxy
) -> None:
    admin.create(_pods(space), pod("kept"))
    session = await connect("viewer", through=proxy)
    async with following(session, PODS, namespace=space, clock=ManualClock()) as one:
        await one.mirror.until_live()
        made = admin.create(_pods(space), pod("seen"))
        await one.mirror.until(lambda: "seen" in one.mirror.names)
        one.naps.gate.clear()
        proxy.cut_all()
        await one.mirror.until(lambda: one.mirror.phase is Phase.BACKING_OFF)
        admin.delete(f"{_pods(space)}/kept")
        admin.create(_pods(space), pod("while-away"))
        assert one.mirror.names == ["kept", "seen"], "the last rows stand"
        one.naps.gate.set()
        await one.mirror.until_equal(truth(admin, _pods(space)))
        assert one.mirror.names == ["seen", "while-away"]
        assert len(proxy.requests("/pods", listing=True)) == 1
        again = proxy.requests("/pods", listing=False)[0]
        assert int(again.query["resourceVersion"]) >= int(made["metadata"]["resourceVersion"])


async def test_the_servers_own_time_limit_costs_no_list(
    space: str, admin: Api, connect: Connect, proxy: FaultProxy
) -> None:
    proxy.plan(asking(timeoutSeconds="1"), times=3, path="/pods")
    admin.create(_pods(space), pod("kept"))
    session = await connect("viewer", through=proxy)
    async with following(session, PODS, namespace=space, clock=ManualClock()) as one:
        await eventually(lambda: len(proxy.requests("/pods")) == 4, "the fourth request")
        admin.create(_pods(space), pod("late"))
        await one.mirror.until_equal(truth(admin, _pods(space)))
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
        other = admin.create(_pods("default"), pod(f"elsewhere-{space}"))
        await one.mirror.until(lambda: one.mirror.status and one.mirror.status.heard_seconds == bookmarked)
        await eventually(
            lambda: len(proxy.requests("/pods", listing=False)) == 2, "the watch after the bookmark"
        )
        first, second = proxy.requests("/pods", listing=False)
        assert int(second.query["resourceVersion"]) > int(first.query["resourceVersion"])
        assert int(second.query["resourceVersion"]) >= int(other["metadata"]["resourceVersion"])
        assert one.mirror.lists_begun == 1
    admin.delete(f"{_pods('default')}/elsewhere-{space}")


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
        admin.create(_maps(space), configmap(f"c{number:02}"))
    await eventually(lambda: len(admin.items(_maps(space))) == 24, "the controllers' own config map")
    proxy.plan(without_streaming_lists(), times=None)
    session = await connect("viewer", through=proxy)
    async with following(session, CONFIG_MAPS, namespace=space, page_objects=5) as one:
        await one.mirror.until_equal(truth(admin, _maps(space)))
        pages = [seen for seen in proxy.requests("/configmaps") if not seen.is_watch]
        assert len(pages) == 5
        assert all(seen.query["limit"] == "5" for seen in pages)
        assert all("continue" in seen.query for seen in pages[1:])
        assert one.mirror.lists_begun == one.mirror.lists_ended == 1
        admin.create(_maps(space), configmap("late"))
        await one.mirror.until(lambda: "late" in one.mirror.names)


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
    admin.create(_pods(space), pod("p"))
    async with following(await connect("viewer", through=proxy), PODS, namespace=space) as one:
        await one.mirror.until_equal(truth(admin, _pods(space)))
        assert any("limit" in seen.query for seen in proxy.requests("/pods"))


async def test_changes_between_list_and_watch_are_not_lost(
    space: str, admin: Api, connect: Connect, proxy: FaultProxy
) -> None:
    admin.create(_pods(space), pod("a"))
    session = await connect("viewer", through=proxy)

    async def late(exchange: object) -> None:
        admin.create(_pods(space), pod("between"))
        admin.delete(f"{_pods(space)}/a")
        await exchange.forward()  # type: ignore[attr-defined]

    proxy.plan(late, watch=True, path="/pods")
    async with following(session, PODS, namespace=space, streaming_list=False) as one:
        await one.mirror.until(lambda: one.mirror.names == ["between"])
        await one.mirror.until_equal(truth(admin, _pods(space)))


async def test_pages_and_streaming_list_give_the_same_rows(space: str, admin: Api, connect: Connect) -> None:
    for number in range(12):
        admin.create(_pods(space), pod(f"p{number:02}", gpus=number % 3))
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
        admin.create(_pods(space), pod(name, labels=labels))
    admin.merge(f"{_pods(space)}/a2/status", {"status": {"phase": "Running"}})
    session = await connect("viewer")
    answer = await session.request("GET", _pods(space), query=(query,))
    assert sorted(item["metadata"]["name"] for item in answer.json()["items"]) == names


async def test_a_bad_selector_is_the_servers_sentence(space: str, connect: Connect) -> None:
    session = await connect("viewer")
    answer = await session.request("GET", _pods(space), query=(("labelSelector", "a in b"),))
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
