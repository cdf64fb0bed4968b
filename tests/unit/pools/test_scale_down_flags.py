"""When the cluster autoscaler takes nodes away, by the flags of its own pod or Deployment: never guessed."""

import json
from typing import Any

import pytest
from msgspec.structs import replace

from cockpit.actions.flag_reads import flags_in, read_flags
from cockpit.model.autoscaler import AutoscalerStatus, OwnerFlags, ScaledGroup
from cockpit.model.batch import Batch
from cockpit.model.node import Node, Taint
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.model.scheduling import Traits
from cockpit.pools import registry
from cockpit.pools.cluster_autoscaler import ClusterAutoscaler
from cockpit.pools.cluster_autoscaler.flags import NAMES, STALE_SECONDS, terms_of
from cockpit.store.store import Store
from cockpit.views.node_page import removal_pairs
from tests.unit.pools.builders import node

NOW = 1_790_000_000.0
OWNER = ClusterAutoscaler()
NAME = OWNER.traits.name
ARGS = ["--scale-down-unneeded-time=3m", "--scale-down-gpu-utilization-threshold", "0.7", "--v=4"]


class Server:
    """Answers each path; a path without an answer is not found."""

    def __init__(self, **answers: Any) -> None:
        self.answers = answers
        self.asked: list[str] = []

    async def request(self, _method: str, path: str) -> Any:
        self.asked.append(path)
        status, tree = self.answers.get(path.rpartition("/")[2], (404, {}))
        return type("Answer", (), {"status": status, "json": lambda self: json.loads(json.dumps(tree))})()


def spec(*args: str, image: str = "registry.k8s.io/autoscaling/cluster-autoscaler:v1.37.0") -> dict[str, Any]:
    return {
        "containers": [{"name": "ca", "image": image, "command": ["./cluster-autoscaler"], "args": [*args]}]
    }


def pod(uid: str = "ca-1") -> Pod:
    labels = (("app.kubernetes.io/name", "aws-cluster-autoscaler"),)
    return Pod(
        uid=uid, name="ca", namespace="scaling", node="cpu-1", phase="Running", traits=Traits(labels=labels)
    )


def cluster(*pods: Pod, is_working: bool = True) -> Store:
    store = Store()
    written = NOW - (5 if is_working else 900)
    group = ScaledGroup(name="h100", minimum=0, maximum=4, target=2, registered=2)
    status = AutoscalerStatus(
        uid="s",
        name="status",
        namespace="scaling",
        written_seconds=written,
        read_seconds=NOW,
        groups=(group,),
    )
    store.apply(Batch(kind=Kind.AUTOSCALER, changed=(status,)))
    store.apply(Batch(kind=Kind.POD, changed=pods))
    return store


async def read(store: Store, server: Server) -> OwnerFlags:
    (found,) = await read_flags(server, store, NOW)
    store.apply(Batch(kind=Kind.OWNER_FLAGS, changed=(found,)))
    return found


def unneeded() -> Node:
    taint = Taint("DeletionCandidateOfClusterAutoscaler", str(int(NOW - 130)), "PreferNoSchedule")
    return replace(node("n"), taints=(taint,))


def told(store: Store) -> str:
    return " ".join(f"{pair.name}: {pair.value}" for pair in removal_pairs(unneeded(), store, NOW, ()))


@pytest.mark.parametrize(
    ("args", "found"),
    [
        (ARGS, {"scale-down-gpu-utilization-threshold": "0.7", "scale-down-unneeded-time": "3m"}),
        (["-scale-down-delay-after-add=3m", "--scale-down-delay-after-add=5m"],
         {"scale-down-delay-after-add": "5m"}),
        (["sh", "-c", "exec ca --scale-down-enabled --scale-down-delay-after-add='7m' --token=x"],
         {"scale-down-delay-after-add": "7m", "scale-down-enabled": "true"}),
        (["--token=secret", "--scale-down-unneeded-time-of-mine=1m"], {}),
    ],
)  # fmt: skip
def test_of_a_command_these_flags_alone_are_kept(args: list[str], found: dict[str, str]) -> None:
    assert dict(flags_in(spec(*args), NAMES)) == found


async def test_the_flags_of_its_pod_say_how_long_a_node_has_left() -> None:
    store, server = cluster(pod()), Server(ca=(200, {"spec": spec(*ARGS)}))
    assert "after 10 min, or what its flag" in told(store)
    await read(store, server)
    assert server.asked == ["/api/v1/namespaces/scaling/pods/ca"]
    assert (
        told(store)
        == "removal: unneeded to the cluster autoscaler (removed after 3 min), for 2m10s, 50s left"
    )
    assert OWNER.scale_down_words(store) == (
        "removes nodes after 3m with fewer than 70 % of GPUs requested,"
        " none within 10m (default) of a scale-up"
    )
    # another pod may have been started with other flags
    store.apply(Batch(kind=Kind.POD, changed=(pod("ca-2"),), removed=("ca-1",)))
    assert terms_of(store, NAME) is None and " left" not in told(store)


async def test_what_stands_nowhere_is_the_default_and_named_so() -> None:
    store = cluster(pod())
    await read(store, Server(ca=(200, {"spec": spec("--v=4")})))
    assert told(store).endswith("(removed after 10 min by default), for 2m10s, 7m50s left")
    lines = registry.page_lines(None, (unneeded(),), store, NOW, ())
    assert lines == () or all("scale-down" not in line for line in lines)  # of a pool that it does not scale


@pytest.mark.parametrize(
    ("status", "trouble"),
    [
        (403, "denied: get pod scaling/ca"),
        (500, "the server answered 500"),
        (404, "the server answered 404"),
    ],
)
async def test_what_may_not_be_read_is_not_known(status: int, trouble: str) -> None:
    store = cluster(pod())
    await read(store, Server(ca=(status, {})))
    assert terms_of(store, NAME) is None and " left" not in told(store)
    words = OWNER.scale_down_words(store)
    assert words.startswith("removes unneeded nodes after 10 min, or what its flag")
    assert trouble in words


async def test_without_a_pod_of_its_labels_its_deployment_is_found_by_its_image() -> None:
    template = {"spec": {"template": {"spec": spec(*ARGS)}}}
    other = {"spec": {"template": {"spec": spec("--scale-down-unneeded-time=1s", image="web:1")}}}
    store, server = cluster(), Server(deployments=(200, {"items": [other, template]}))
    found = await read(store, server)
    assert server.asked == ["/apis/apps/v1/namespaces/scaling/deployments"]
    assert dict(found.flags)["scale-down-unneeded-time"] == "3m"
    assert terms_of(store, NAME, NOW) is not None
    assert terms_of(store, NAME, NOW + STALE_SECONDS + 1) is None, "it may have been changed since"
    await read(store, Server(deployments=(200, {"items": [other]})))
    assert "no pod or Deployment of it is seen in scaling" in OWNER.scale_down_words(store)


async def test_nothing_is_asked_where_it_does_not_work() -> None:
    server = Server(ca=(200, {"spec": spec(*ARGS)}))
    assert await read_flags(server, cluster(pod(), is_working=False), NOW) == ()
    assert await read_flags(server, Store(), NOW) == () and server.asked == []


async def test_a_switch_that_is_off_and_a_value_that_is_none_are_told() -> None:
    store = cluster(pod())
    await read(store, Server(ca=(200, {"spec": spec("--scale-down-enabled=false")})))
    assert OWNER.scale_down_words(store) == "removes no nodes: --scale-down-enabled=false"
    await read(store, Server(ca=(200, {"spec": spec("--scale-down-unneeded-time=$(TIME)")})))
    assert "after a time that is not understood" in OWNER.scale_down_words(store)
    assert " left" not in told(store)
