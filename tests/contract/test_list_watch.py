"""List and watch through the reflector: the rows become, and stay, what the server holds."""

from cockpit.clock import ManualClock
from cockpit.kube.resource import EVENTS, JOBS, NAMESPACES, NODES, PODS, Resource
from cockpit.model.batch import ListMark, Phase
from tests.adapters.faults.proxy import FaultProxy
from tests.bed.api import Api
from tests.contract.asking import maps_in, pods_in
from tests.contract.conftest import Connect
from tests.contract.following import CONFIG_MAPS, following
from tests.contract.mirror import truth
from tests.contract.shapes import configmap, custom, event, job, node, pod

# ---- the first list


async def test_a_list_has_a_beginning_every_object_and_an_end(
    space: str, admin: Api, connect: Connect
) -> None:
    for number in range(5):
        admin.create(pods_in(space), pod(f"p{number}"))
    async with following(await connect("viewer"), PODS, namespace=space) as one:
        await one.mirror.until_live()
        marks = [batch.mark for batch in one.mirror.batches if batch.mark is not ListMark.NONE]
        assert marks == [ListMark.BEGIN, ListMark.END]
        assert one.mirror.names == ["p0", "p1", "p2", "p3", "p4"]
        await one.mirror.until_equal(truth(admin, pods_in(space)))


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
        admin.create(pods_in(space), pod(f"p{number}"))
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
        admin.create(maps_in(space), configmap(f"c{number:03}"))
    async with following(await connect("viewer"), CONFIG_MAPS, namespace=space) as one:
        await one.mirror.until_live()
        told = [record.uid for batch in one.mirror.batches for record in batch.changed]
        assert len(told) == len(set(told)) >= 300
        await one.mirror.until_equal(truth(admin, maps_in(space)))


async def test_an_object_of_nearly_a_megabyte_passes(space: str, admin: Api, connect: Connect) -> None:
    async with following(await connect("viewer"), CONFIG_MAPS, namespace=space) as one:
        await one.mirror.until_live()
        admin.create(maps_in(space), configmap("large", blob="x" * 900_000))
        await one.mirror.until(lambda: "large" in one.mirror.names)


# ---- changes


async def test_an_added_object_becomes_a_row(space: str, admin: Api, connect: Connect) -> None:
    async with following(await connect("viewer"), PODS, namespace=space) as one:
        await one.mirror.until_live()
        made = admin.create(pods_in(space), pod("late", gpus=4))
        await one.mirror.until(lambda: one.mirror.names == ["late"])
        row = one.mirror.named("late")
        assert (row.uid, row.gpus, row.gpu_resource, row.phase) == (
            made["metadata"]["uid"],
            4,
            "nvidia.com/gpu",
            "Pending",
        )


async def test_a_changed_object_changes_its_row(space: str, admin: Api, connect: Connect) -> None:
    admin.create(pods_in(space), pod("p"))
    async with following(await connect("viewer"), PODS, namespace=space) as one:
        await one.mirror.until_live()
        admin.merge(f"{pods_in(space)}/p/status", {"status": {"phase": "Running", "podIP": "10.64.0.9"}})
        await one.mirror.until(lambda: one.mirror.named("p").phase == "Running")
        assert one.mirror.named("p").pod_ip == "10.64.0.9"
        assert one.mirror.lists_begun == 1


async def test_a_deleted_object_takes_its_row_away(space: str, admin: Api, connect: Connect) -> None:
    admin.create(pods_in(space), pod("p"))
    async with following(await connect("viewer"), PODS, namespace=space) as one:
        await one.mirror.until(lambda: one.mirror.names == ["p"])
        uid = one.mirror.named("p").uid
        admin.delete(f"{pods_in(space)}/p")
        await one.mirror.until(lambda: not one.mirror.rows)
        assert any(uid in batch.removed for batch in one.mirror.batches)


async def test_a_deleted_collection_takes_all_rows_away(space: str, admin: Api, connect: Connect) -> None:
    for number in range(20):
        admin.create(pods_in(space), pod(f"p{number}"))
    async with following(await connect("viewer"), PODS, namespace=space) as one:
        await one.mirror.until(lambda: len(one.mirror.rows) == 20)
        admin.delete(pods_in(space))
        await one.mirror.until(lambda: not one.mirror.rows)


async def test_a_finalizer_keeps_the_row_and_marks_it(space: str, admin: Api, connect: Connect) -> None:
    held = configmap("held") | {"metadata": {"name": "held", "finalizers": ["contract.test/hold"]}}
    admin.create(maps_in(space), held)
    async with following(await connect("viewer"), CONFIG_MAPS, namespace=space) as one:
        await one.mirror.until(lambda: "held" in one.mirror.names)
        assert one.mirror.named("held").deleting_seconds is None
        admin.delete(f"{maps_in(space)}/held")
        await one.mirror.until(lambda: one.mirror.named("held").deleting_seconds is not None)
        admin.merge(f"{maps_in(space)}/held", {"metadata": {"finalizers": None}})
        await one.mirror.until(lambda: "held" not in one.mirror.names)


async def test_the_same_name_again_is_another_row(space: str, admin: Api, connect: Connect) -> None:
    first = admin.create(pods_in(space), pod("p"))["metadata"]["uid"]
    async with following(await connect("viewer"), PODS, namespace=space) as one:
        await one.mirror.until(lambda: first in one.mirror.rows)
        admin.delete(f"{pods_in(space)}/p")
        second = admin.create(pods_in(space), pod("p"))["metadata"]["uid"]
        await one.mirror.until(lambda: set(one.mirror.rows) == {second})


async def test_a_burst_of_changes_ends_in_the_newest(space: str, admin: Api, connect: Connect) -> None:
    admin.create(maps_in(space), configmap("hot", n="0"))
    async with following(await connect("viewer"), CONFIG_MAPS, namespace=space) as one:
        await one.mirror.until_live()
        for number in range(50):
            admin.merge(f"{maps_in(space)}/hot", {"data": {"n": str(number + 1)}})
        await one.mirror.until_equal(truth(admin, maps_in(space)))


async def test_rows_never_go_back_to_an_older_version(space: str, admin: Api, connect: Connect) -> None:
    admin.create(maps_in(space), configmap("hot", n="0"))
    async with following(await connect("viewer"), CONFIG_MAPS, namespace=space) as one:
        await one.mirror.until_live()
        for number in range(20):
            admin.merge(f"{maps_in(space)}/hot", {"data": {"n": str(number + 1)}})
        await one.mirror.until_equal(truth(admin, maps_in(space)))
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
    admin.create(pods_in(other), pod("stranger"))
    async with following(await connect("viewer"), PODS, namespace=space) as one:
        await one.mirror.until_live()
        admin.create(pods_in(other), pod("stranger-2"))
        admin.create(pods_in(space), pod("mine"))
        await one.mirror.until(lambda: "mine" in one.mirror.names)
        assert one.mirror.names == ["mine"]
    admin.delete(f"/api/v1/namespaces/{other}")


async def test_all_namespaces_are_one_stream(
    space: str, admin: Api, connect: Connect, proxy: FaultProxy
) -> None:
    other = f"{space}-b"
    admin.create("/api/v1/namespaces", {"metadata": {"name": other}})
    for where in (space, other):
        admin.create(pods_in(where), pod("same-name"))
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
    about = admin.create(pods_in(space), pod("p"))
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
    about = admin.create(pods_in(space), pod("p"))
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
    admin.create(pods_in(space), pod("p"))
    admin.create(maps_in(space), configmap("c"))
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
