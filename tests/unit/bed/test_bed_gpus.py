"""The exposition, who holds which GPU, and the plans of the machines controller."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.bed import machine_objects
from tests.bed.api import Tree
from tests.bed.estate import GPU, gpu_job, gpu_node, mpi_job
from tests.bed.exposition import MEMORY_MIB, RESERVED_MIB, Holder, reading, text, uuid_of
from tests.bed.exposition_server import Cards, targets
from tests.bed.gpu_holders import GpuHolders, GpuPod, gpu_pod
from tests.bed.machines import (
    BOOTING,
    JOINED_AT,
    LEAVING_AT,
    READY_AT,
    Step,
    has_gpus,
    is_ready,
    plan,
    status_of,
)

names = st.text("abcdefghij-0123456789", min_size=1, max_size=20)


@settings(deadline=None, max_examples=60)
@given(node=names, gpu=st.integers(0, 15), seed=st.integers(), tick=st.integers(), held=st.booleans())
def test_a_reading_is_repeatable_and_possible(node: str, gpu: int, seed: int, tick: int, held: bool) -> None:
    one = reading(node, gpu, seed=seed, tick=tick, held=held)
    assert one == reading(node, gpu, seed=seed, tick=tick, held=held)
    assert one.used_mib + one.free_mib + RESERVED_MIB == MEMORY_MIB
    assert one.free_mib >= 0
    assert (one.duty_percent > 0) is held
    assert one.uuid == uuid_of(node, gpu)


def test_readings_differ_between_gpus_and_ticks() -> None:
    shown = {
        (one.duty_percent, one.used_mib, one.power_watts)
        for one in (
            reading(f"n{n}", g, tick=t, held=True) for n in range(3) for g in range(8) for t in (0, 1)
        )
    }
    assert len(shown) == 48


def test_the_page_reads_as_dcgm_exporter_writes_it() -> None:
    one = reading("gpu-000", 3, held=True)
    page = text([one], {3: Holder("team-a", "train-1-x", "main")})
    assert "# TYPE DCGM_FI_DEV_GPU_UTIL gauge\n" in page
    line = next(row for row in page.splitlines() if row.startswith("DCGM_FI_DEV_GPU_UTIL{"))
    assert line.startswith(f'DCGM_FI_DEV_GPU_UTIL{{gpu="3",UUID="{one.uuid}",pci_bus_id="00000000:5d:00.0",')
    assert 'container="main",namespace="team-a",pod="train-1-x"}' in line
    assert line.endswith(f" {one.duty_percent}")
    assert page.endswith("\n")


def test_an_idle_gpu_has_no_pod_label_and_a_silent_one_no_line() -> None:
    readings = [reading("n", gpu) for gpu in range(2)]
    page = text(readings, {}, silent=[1])
    assert "pod=" not in page
    assert 'gpu="0"' in page
    assert 'gpu="1"' not in page


def pod(name: str, count: int, *, node: str = "n", created: str = "2026-01-01T00:00:00Z") -> GpuPod:
    return GpuPod(f"uid-{name}", "team-a", name, node, created, (("main", count),))


def test_a_pod_keeps_its_gpus_and_a_new_one_gets_the_lowest_free() -> None:
    holders = GpuHolders()
    holders.update({"n": 8}, [pod("a", 2), pod("b", 2, created="2026-01-01T00:00:01Z")])
    assert {gpu: one.pod for gpu, one in holders.on("n").items()} == {0: "a", 1: "a", 2: "b", 3: "b"}
    holders.update({"n": 8}, [pod("b", 2), pod("c", 3)])
    assert {gpu: one.pod for gpu, one in holders.on("n").items()} == {
        0: "c",
        1: "c",
        2: "b",
        3: "b",
        4: "c",
    }


@settings(deadline=None, max_examples=60)
@given(st.lists(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 4)), max_size=8), max_size=4))
def test_no_gpu_is_held_twice(looks: list[list[tuple[int, int]]]) -> None:
    holders = GpuHolders()
    for look in looks:
        pods = [pod(str(number), count) for number, count in dict(look).items()]
        holders.update({"n": 8}, pods)
        held = holders.on("n")
        assert set(held) <= set(range(8))
        for one in pods:
            mine = [gpu for gpu, holder in held.items() if holder.pod == one.name]
            assert len(mine) <= one.containers[0][1]


def test_only_live_pods_on_nodes_hold_gpus() -> None:
    tree: Tree = gpu_job("train", gpus=4)["spec"]["template"]
    tree["metadata"] = {"uid": "u", "namespace": "team-a", "name": "train-x"}
    assert gpu_pod(tree) is None
    tree["spec"]["nodeName"] = "gpu-000"
    tree["status"] = {"phase": "Running"}
    found = gpu_pod(tree)
    assert found is not None
    assert found.containers == (("main", 4),)
    tree["status"] = {"phase": "Succeeded"}
    assert gpu_pod(tree) is None
    launcher: Tree = mpi_job("m", workers=2, gpus_each=2)["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]
    launcher["metadata"] = {"uid": "v", "namespace": "team-a", "name": "m-launcher"}
    launcher["spec"]["nodeName"] = "gpu-000"
    assert gpu_pod(launcher) is None


def test_cards_obey_and_refuse_unknown_words() -> None:
    cards = Cards(seed=1)
    cards.see([gpu_node("gpu-000"), gpu_node("cpu", gpus=0)], [])
    assert list(cards.gpus_on) == ["gpu-000"]
    before = cards.page("gpu-000")
    cards.obey({"silence": [["gpu-000", 3]], "xid": [["gpu-000", 2, 79]], "tick": 1})
    after = cards.page("gpu-000")
    assert uuid_of("gpu-000", 3) in before
    assert uuid_of("gpu-000", 3) not in after
    assert 'err_code="79"' in after
    said = cards.expected()
    assert said[uuid_of("gpu-000", 3)]["reported"] is False
    assert sum(one["reported"] for one in said.values()) == 7
    try:
        cards.obey({"mute": []})
    except ValueError as error:
        assert "mute is not one of" in str(error)
    else:
        raise AssertionError("an unknown word was taken")


def test_targets_carry_the_exporters_own_pod() -> None:
    (one,) = targets(["gpu-000"], "127.0.0.1:1")
    assert one["labels"]["__metrics_path__"] == "/nodes/gpu-000/metrics"
    assert one["labels"]["namespace"] == "gpu-operator"


def deployment(replicas: int) -> Tree:
    tree = machine_objects.machine_deployment("pool-a", replicas)
    tree["metadata"] |= {"uid": "u-1", "generation": 1}
    return tree


def carry_out(nodes: dict[str, Tree], steps: list[Step]) -> None:
    """What the API server and kwok would make of the steps."""
    for step in steps:
        name = step.path.split("/")[4] if step.method != "POST" else ""
        match step.method:
            case "POST":
                assert step.body is not None
                nodes[step.body["metadata"]["name"]] = step.body
            case "PATCH":
                assert step.body is not None
                node = nodes[name]
                added = step.body.get("metadata", {}).get("annotations", {})
                merged = node["metadata"]["annotations"] | added
                node["metadata"]["annotations"] = {key: one for key, one in merged.items() if one is not None}
                node["status"]["allocatable"] |= step.body.get("status", {}).get("allocatable", {})
                if BOOTING in added:
                    node["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
            case _:
                del nodes[name]


def test_a_node_goes_through_its_stages() -> None:
    nodes: dict[str, Tree] = {}
    pool = deployment(1)
    seen: list[tuple[bool, bool, bool]] = []
    for second in range(10):
        carry_out(nodes, plan(pool, list(nodes.values()), [], float(second)))
        (node,) = nodes.values()
        said = node["metadata"]["annotations"]
        stage = (BOOTING not in said, is_ready(node), has_gpus(node))
        if not seen or seen[-1] != stage:
            seen.append(stage)
    assert seen == [(False, False, False), (True, True, False), (True, True, True)]
    assert READY_AT in node["metadata"]["annotations"]
    assert node["status"]["allocatable"][GPU] == "8"
    assert plan(pool, list(nodes.values()), [], 11.0) == []
    assert status_of(pool, [node])["phase"] == "Running"


def test_scaling_down_drains_the_youngest() -> None:
    nodes: dict[str, Tree] = {}
    for second in range(10):
        carry_out(nodes, plan(deployment(1), list(nodes.values()), [], float(second)))
    (oldest,) = nodes
    for second in range(10, 20):
        carry_out(nodes, plan(deployment(3), list(nodes.values()), [], float(second)))
    assert len(nodes) == 3
    carry_out(nodes, plan(deployment(1), list(nodes.values()), [], 20.0))
    leaving = [name for name, node in nodes.items() if LEAVING_AT in node["metadata"]["annotations"]]
    assert len(leaving) == 2
    assert oldest not in leaving
    assert status_of(deployment(1), list(nodes.values()))["phase"] == "ScalingDown"
    busy: Tree = {"metadata": {"namespace": "a", "name": "p"}, "spec": {"nodeName": leaving[0]}}
    steps = plan(deployment(1), list(nodes.values()), [busy], 30.0)
    assert [(step.method, step.path) for step in steps] == [
        ("DELETE", "/api/v1/namespaces/a/pods/p"),
        ("DELETE", f"/api/v1/nodes/{leaving[1]}"),
    ]


@settings(deadline=None, max_examples=40)
@given(st.lists(st.integers(0, 6), min_size=1, max_size=5))
def test_a_pool_always_arrives_at_what_was_asked(sizes: list[int]) -> None:
    nodes: dict[str, Tree] = {}
    now = 0.0
    for size in sizes:
        for _ in range(12):
            carry_out(nodes, plan(deployment(size), list(nodes.values()), [], now))
            now += 1.0
        assert len(nodes) == size
        assert all(has_gpus(node) for node in nodes.values())
        assert all(float(node["metadata"]["annotations"][JOINED_AT]) <= now for node in nodes.values())
