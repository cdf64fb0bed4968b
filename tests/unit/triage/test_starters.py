"""Who would start on nodes that are not there yet, and that the sums are right."""

import msgspec
from hypothesis import given
from hypothesis import strategies as some

from cockpit.fit.gang import seats_for
from cockpit.fit.shape import Part, Shape
from cockpit.fit.snapshot import ClusterSnapshot
from cockpit.model.job import Job, JobState
from cockpit.model.node import Node
from cockpit.model.pod import Pod
from cockpit.model.pool import PoolObject
from cockpit.model.record import Kind
from cockpit.model.scheduling import PodWishes, SpreadKey, Traits
from cockpit.pools.index import pool_named
from cockpit.pools.next_nodes import nodes_to_come
from cockpit.store.store import Store
from cockpit.triage.starters import Starters, starters
from tests.unit.pools.builders import BORN, POOL_LABEL, deployment, node, pod, store_of

GPU = "nvidia.com/gpu"
ON_H100 = PodWishes(node_selector=((POOL_LABEL, "h100"),))


def waiting(
    name: str, pods: int, gpus: int, *, priority: int = 0, since: float = 0.0, wishes: PodWishes = ON_H100
) -> tuple[Job, list[Pod]]:
    """A job of pods that no node takes."""
    made = [
        Pod(
            uid=f"uid-{name}-{at}",
            name=f"{name}-{at}",
            namespace="team-a",
            phase="Pending",
            gpus=gpus,
            gpu_resource=GPU,
            created_seconds=BORN + since,
            priority=priority,
            scheduled="False",
            scheduled_reason="Unschedulable",
            traits=Traits(wishes=wishes),
        )
        for at in range(pods)
    ]
    job = Job(
        key=f"job/team-a/{name}",
        uid=f"uid-{name}",
        api_version="batch/v1",
        kind="Job",
        namespace="team-a",
        name=name,
        state=JobState.PENDING,
        pod_uids=tuple(one.uid for one in made),
        gpus_wanted=pods * gpus,
    )
    return job, made


def ground(*jobs: tuple[Job, list[Pod]], pool: PoolObject | None = None, nodes: int = 1) -> Store:
    """A pool of nodes of 8 GPUs, all taken, and those who wait."""
    own = [node(f"n{at}", pool="h100") for at in range(nodes)]
    busy = [pod(f"busy-{at}", f"n{at}") for at in range(nodes)]
    return store_of(own, [*busy, *(one for _, pods in jobs for one in pods)], [pool or deployment()])


def asked(store: Store, more: int, *jobs: tuple[Job, list[Pod]]) -> Starters:
    pool = pool_named(store, "h100")
    owner = store.get(Kind.POOL, pool.owner_uid)
    return starters(store, [one for one, _ in jobs], nodes_to_come(store, pool, owner, more, 8))


def names(found: Starters) -> list[str]:
    return [one.name for one in found.jobs]


def test_whoever_fits_on_the_new_nodes_starts_and_the_rest_of_them_stays_free() -> None:
    jobs = (waiting("llm", 2, 8), waiting("wide", 3, 8, since=5.0))
    assert asked(ground(*jobs), 2, *jobs) == Starters((jobs[0][0],), 16, 0, 0, 0)
    found = asked(ground(*jobs), 4, *jobs)
    assert (names(found), found.gpus, found.idle_gpus) == (["llm"], 16, 16)
    found = asked(ground(*jobs), 5, *jobs)
    assert (names(found), found.gpus, found.idle_gpus) == (["llm", "wide"], 40, 0)


def test_priority_comes_before_age() -> None:
    jobs = (waiting("old", 1, 8), waiting("high", 1, 8, priority=1000, since=60.0))
    assert names(asked(ground(*jobs), 1, *jobs)) == ["high"]


def test_nobody_takes_a_seat_that_only_another_pool_has() -> None:
    wishes = PodWishes(node_selector=((POOL_LABEL, "a100"),))
    jobs = (waiting("elsewhere", 1, 8, wishes=wishes),)
    assert asked(ground(*jobs), 3, *jobs) == Starters((), 0, 24, 0, 0)


def test_whoever_fits_without_them_is_not_counted() -> None:
    job = waiting("fits", 1, 4)
    store = store_of([node("n0", pool="h100")], job[1], [deployment()])
    assert asked(store, 1, job) == Starters((), 0, 8, 0, 0)


def test_a_gang_may_have_seats_on_old_and_new_nodes() -> None:
    job = waiting("both", 2, 8)
    store = store_of(
        [node("n0", pool="h100"), node("n1", pool="h100")], [pod("busy", "n0"), *job[1]], [deployment()]
    )
    found = asked(store, 1, job)
    assert (names(found), found.gpus) == (["both"], 8)


def test_what_only_the_scheduler_places_is_not_judged_and_gates_are_told_apart() -> None:
    spread = waiting("spread", 1, 8, wishes=PodWishes(spreads=(SpreadKey("zone", 1),)))
    job, pods = waiting("gated", 1, 8)
    gated = (job, [msgspec.structs.replace(pods[0], is_gated=True)])
    found = asked(ground(spread, gated), 1, spread, gated)
    assert (found.jobs, found.held, found.unjudged) == ((), 1, 1)


def test_a_pool_at_zero_brings_what_its_template_promises() -> None:
    job = waiting("first", 1, 8)
    empty = ground(job, nodes=0)
    assert names(asked(empty, 1, job)) == ["first"]
    pool = pool_named(empty, "h100")
    assert nodes_to_come(empty, pool, None, 2, 8) == ()
    assert nodes_to_come(empty, pool, deployment(), 2, None) == ()
    (made,) = nodes_to_come(empty, pool, deployment(), 1, 8)
    assert (made.gpu_allocatable, dict(made.labels)[POOL_LABEL]) == (8, "h100")


def test_new_nodes_are_like_the_newest_whole_one() -> None:
    old, new = node("old", pool="h100", gpus=4), node("new", pool="h100", gpus=8)
    new = msgspec.structs.replace(new, created_seconds=BORN + 60)
    young = msgspec.structs.replace(node("young", pool="h100", gpus=None), created_seconds=BORN + 90)
    store = store_of([old, new, young], (), [deployment()])
    pool = pool_named(store, "h100")
    (made,) = nodes_to_come(store, pool, None, 1, 8)
    assert made.gpu_allocatable == 8


SIZES = some.lists(some.tuples(some.integers(1, 4), some.sampled_from([1, 2, 4, 8])), max_size=8)


@given(sizes=SIZES, more=some.integers(1, 5))
def test_nobody_gets_more_than_there_is_and_more_nodes_start_no_fewer_gpus(
    sizes: list[tuple[int, int]], more: int
) -> None:
    jobs = [waiting(f"j{at}", *size, since=at) for at, size in enumerate(sizes)]
    store = ground(*jobs)
    found = asked(store, more, *jobs)
    assert found.gpus == sum(one.gpus_wanted or 0 for one in found.jobs)
    assert found.gpus + found.idle_gpus == 8 * more
    assert len(found.jobs) + found.unjudged <= len(jobs)
    first = next((job for job, _ in jobs if (job.gpus_wanted or 0) <= 8), None)
    assert first is None or found.jobs, "one that fits on one node starts, or another one before it"


@given(counts=some.lists(some.integers(1, 3), min_size=1, max_size=3), rooms=some.integers(0, 4))
def test_seats_are_taken_for_all_or_for_none(counts: list[int], rooms: int) -> None:
    nodes: list[Node] = [node(f"n{at}") for at in range(rooms)]
    snapshot = ClusterSnapshot(store_of(nodes))
    parts = [Part(f"r{at}", count, Shape(requests=((GPU, 8),))) for at, count in enumerate(counts)]
    found = seats_for(snapshot, parts, snapshot.nodes.keys())
    free = sum(snapshot.free(one, [GPU])[0] for one in nodes)
    assert (found is not None) is (sum(counts) <= rooms)
    assert free == 8 * (rooms - (sum(counts) if found is not None else 0))
