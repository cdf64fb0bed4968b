"""Laws for any nodes and pods: never more than there is, never against a taint, and tables that stay true."""

from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from cockpit.k8s.tolerations import untolerated
from cockpit.sim.actors.scheduler.cache import SchedulerCache
from cockpit.sim.actors.scheduler.cycle import Cycle
from cockpit.sim.actors.scheduler.podinfo import PodInfo
from cockpit.sim.port import Tree
from tests.differential.scheduling_situations import HOST, ZONE, near, node, pod, port, spread

TAINTS = ("nvidia.com/gpu=present:NoSchedule", "old=yes:NoExecute", "slow=yes:PreferNoSchedule")
TOLERATIONS: list[Tree] = [
    {"key": "nvidia.com/gpu", "operator": "Exists"},
    {"key": "old", "operator": "Equal", "value": "yes", "effect": "NoExecute"},
    {"operator": "Exists"},
]

nodes = st.builds(
    lambda name, cpu, gpus, pods, zone, taints, cordoned: node(
        name,
        cpu=cpu,
        gpus=gpus,
        pods=pods,
        labels={ZONE: zone} if zone else {},
        taints=taints,
        cordoned=cordoned,
    ),
    name=st.sampled_from([f"n{number}" for number in range(6)]),
    cpu=st.sampled_from(["1", "2500m", "8"]),
    gpus=st.integers(0, 4),
    pods=st.sampled_from(["1", "3", "110"]),
    zone=st.sampled_from(["", "a", "b"]),
    taints=st.lists(st.sampled_from(TAINTS), max_size=2, unique=True),
    cordoned=st.booleans(),
)


@st.composite
def pods(draw: st.DrawFn) -> Tree:
    """A pod with some of the things that the filters look at."""
    spec: dict[str, Any] = {}
    if chosen := draw(st.lists(st.sampled_from(TOLERATIONS), max_size=2)):
        spec["tolerations"] = chosen
    around = draw(st.sampled_from(["", "", "", "near", "away", "spread", "zone"]))
    if around in ("near", "away"):
        spec["affinity"] = near("a", draw(st.sampled_from([HOST, ZONE])), away=around == "away")
    elif around == "spread":
        spec["topologySpreadConstraints"] = spread("a", draw(st.sampled_from([HOST, ZONE])))
    elif around == "zone":
        spec["nodeSelector"] = {ZONE: draw(st.sampled_from(["a", "b"]))}
    tree = pod(
        cpu=draw(st.sampled_from(["", "500m", "1", "2"])),
        gpus=draw(st.integers(0, 2)),
        labels={"app": draw(st.sampled_from("ab"))},
        ports=draw(st.sampled_from([[], [], [port(80)], [port(80, "10.0.0.1")]])),
        **spec,
    )
    tree["spec"]["priority"] = draw(st.sampled_from([0, 0, 0, 100]))
    return tree


steps = st.lists(
    st.one_of(
        st.tuples(st.just("node"), nodes),
        st.tuples(st.just("pod"), pods()),
        st.tuples(st.just("end"), st.integers(0, 50)),
        st.tuples(st.just("gone"), st.integers(0, 5)),
    ),
    min_size=1,
    max_size=40,
)


def named(tree: Tree, number: int) -> PodInfo:
    """The pod under a name of its own."""
    metadata = {**tree["metadata"], "name": f"p{number}", "uid": f"u{number}"}
    return PodInfo({**tree, "metadata": metadata})


def replay(cache: SchedulerCache) -> SchedulerCache:
    """The same cache, put together again."""
    other = SchedulerCache()
    for info in cache.nodes.values():
        other.put_node(info.tree)
    for each in cache.pods.values():
        other.put_pod(each)
    for name, waiting in cache.nominated.items():
        for each in waiting.values():
            other.nominate(each, name)
    return other


def check(cache: SchedulerCache, placed: PodInfo, name: str) -> None:
    """What must hold of the node that was chosen."""
    chosen = cache.nodes[name]
    assert untolerated(chosen.taints, placed.tolerations) is None
    assert not chosen.is_cordoned or any(t.key == "" for t in placed.tolerations)
    assert len(chosen.pods) <= chosen.most_pods
    for resource, used in chosen.requested.items():
        asked = placed.requests.get(resource, 0)
        assert not asked or used <= chosen.allocatable.get(resource, 0), resource
    assert all(count <= 1 for count in chosen.ports.values())


@settings(max_examples=150, deadline=None)
@given(steps=steps)
def test_nothing_is_overcommitted_and_shared_tables_stay_true(steps: list[tuple[str, Any]]) -> None:
    cache = SchedulerCache()
    cycle = Cycle(cache, Random(1))
    for number, (what, value) in enumerate(steps):
        if what == "node":
            cache.put_node(value)
        elif what == "end" and cache.pods:
            cache.drop_pod(sorted(cache.pods)[value % len(cache.pods)])
        elif what == "gone":
            cache.drop_node(f"n{value}")
        elif what == "pod":
            asked = named(value, number)
            fresh = Cycle(replay(cache), Random(1)).decide(asked)
            verdict = cycle.decide(asked)
            assert bool(verdict.node) == bool(fresh.node)
            assert verdict.message == fresh.message
            assert verdict.plugins == fresh.plugins
            if verdict.node:
                # Among equals the dice may fall differently; what was chosen must be one that fits.
                assert Cycle(only(cache, verdict.node), Random(1)).decide(asked).node == verdict.node or (
                    asked.spreads or asked.affinity or asked.anti_affinity
                )
                cache.put_pod(asked.on(verdict.node))
                check(cache, asked, verdict.node)


def only(cache: SchedulerCache, name: str) -> SchedulerCache:
    """A cache of one node, with the pods on it and those it is being emptied for."""
    other = SchedulerCache()
    other.put_node(cache.nodes[name].tree)
    for each in cache.pods.values():
        other.put_pod(each)
    for each in cache.nominated.get(name, {}).values():
        other.nominate(each, name)
    return other


@settings(max_examples=80, deadline=None)
@given(held=st.lists(st.tuples(st.integers(1, 3), st.integers(0, 3)), max_size=8), asked=st.integers(1, 4))
def test_victims_are_less_important_and_their_end_makes_room(held: list[tuple[int, int]], asked: int) -> None:
    cache = SchedulerCache()
    cache.put_node(node("n", gpus=4))
    free = 4
    for number, (gpus, priority) in enumerate(held):
        if gpus <= free:
            tree = pod(gpus=gpus)
            tree["spec"]["priority"] = priority
            cache.put_pod(named(tree, number).on("n"))
            free -= gpus
    tree = pod(gpus=asked)
    tree["spec"]["priority"] = 2
    wanted = named(tree, 99)
    verdict = Cycle(cache, Random(1)).decide(wanted)
    lower = sum(p.requests["nvidia.com/gpu"] for p in cache.pods.values() if p.priority < 2)
    if asked <= free:
        assert verdict.node == "n"
    elif asked <= free + lower:
        assert verdict.nominated == "n"
        victims = [cache.pods[uid] for uid in verdict.victims]
        assert victims
        assert all(victim.priority < 2 for victim in victims)
        freed = sum(victim.requests["nvidia.com/gpu"] for victim in victims)
        assert asked <= free + freed
        least = min(victim.requests["nvidia.com/gpu"] for victim in victims)
        assert asked > free + freed - least, "one victim more than needed"
    else:
        assert not verdict.node
        assert not verdict.nominated
        assert "preemption: 0/1 nodes are available" in verdict.message
