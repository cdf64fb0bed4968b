"""The ladder: which machines are a growth, how far each has come, stamped from objects, and what hangs."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cockpit.model.batch import Batch
from cockpit.model.node import Node
from cockpit.model.pod import Pod
from cockpit.model.pool import Machine, MachineStage, Pool, PoolObject, SizeAsked
from cockpit.model.record import Condition, Kind
from cockpit.pools.index import pools_of
from cockpit.pools.ladder import Ladder, Rung, growth
from cockpit.pools.sightings import Sightings
from cockpit.store.store import Store
from tests.unit.pools.builders import BORN, deployment, node, pod, store_of

KARPENTER = "karpenter.sh/v1"
LABEL = (("karpenter.sh/nodepool", "h100"),)


def claim(
    name: str, *, stage: MachineStage = MachineStage.ACCEPTED, at: float = 0.0, on: str = "", **more: object
) -> Machine:
    """A NodeClaim of the pool h100, made `at` seconds after BORN."""
    return Machine(
        uid=f"uid-{name}",
        name=name,
        created_seconds=BORN + at,
        api_version=KARPENTER,
        kind="NodeClaim",
        resource_path=f"/apis/{KARPENTER}/nodeclaims",
        pool_kind="NodePool",
        pool_key="h100",
        node=on,
        stage=stage,
        **more,  # type: ignore[arg-type]
    )


def nodepool(**more: object) -> PoolObject:
    """A static NodePool."""
    made = deployment("h100", kind="NodePool", api_version=KARPENTER, template_labels=(), **more)  # type: ignore[arg-type]
    return msgspec.structs.replace(made, namespace="")


def member(name: str, *, at: float = 0.0, ready_at: float | None = None, gpus: int | None = None) -> Node:
    """A node that joined `at` seconds after BORN."""
    made = node(name, labels=LABEL, gpus=gpus, expected=8, ready="")
    ready = () if ready_at is None else (Condition("Ready", "True", changed_seconds=BORN + ready_at),)
    return msgspec.structs.replace(made, created_seconds=BORN + at, conditions=ready)


def world(nodes: list[Node], machines: list[Machine], pods: tuple[Pod, ...] = (), **more: object) -> Store:
    """With a NodePool of that many replicas."""
    store = store_of(nodes, pods, [nodepool(**more)])
    store.apply(Batch(kind=Kind.MACHINE, changed=tuple(machines)))
    return store


def only(store: Store) -> Pool:
    """The one pool."""
    (pool,) = pools_of(store)
    return pool


def growing(store: Store, now: float, **more: object) -> Ladder:
    """The growth of the one pool, `now` seconds after BORN."""
    found = growth(only(store), store, BORN + now, **more)  # type: ignore[arg-type]
    assert found is not None
    return found


OLD = member("old", at=-90_000, ready_at=-89_000, gpus=8)
OLD_CLAIM = claim("c-old", at=-90_100, stage=MachineStage.INITIALIZED, on="old")

WAY_UP = [
    ([], [], "accepted", None),
    ([], [claim("c")], "launching", BORN),
    ([], [claim("c", stage=MachineStage.LAUNCHING, launching_seconds=BORN + 1)], "launched", BORN + 1),
    ([], [claim("c", stage=MachineStage.LAUNCHED, launched_seconds=BORN + 40)], "joined", BORN + 40),
    (
        [member("n", at=100)],
        [claim("c", stage=MachineStage.LAUNCHED, launched_seconds=BORN + 40, on="n")],
        "ready",
        BORN + 100,
    ),
    (
        [member("n", at=100, ready_at=130)],
        [claim("c", stage=MachineStage.JOINED, joined_seconds=BORN + 101, on="n")],
        "GPUs up",
        BORN + 130,
    ),
]


@pytest.mark.parametrize(("nodes", "machines", "waits_for", "since"), WAY_UP)
def test_the_step_that_is_waited_for(
    nodes: list[Node], machines: list[Machine], waits_for: str, since: float | None
) -> None:
    found = growing(world([OLD, *nodes], [OLD_CLAIM, *machines], replicas=2), 200)
    assert (found.wanted, found.is_over) == (1, False)
    assert found.hang is not None
    assert (found.hang.step, found.hang.since_seconds) == (waits_for, since)
    reached = [one.step for one in found.stamps if one.is_reached]
    assert reached == list(Rung)[: list(Rung).index(Rung(waits_for))]


def test_a_machine_that_names_neither_its_node_nor_an_id_is_the_node_of_its_name() -> None:
    """For seconds after the node joined; counted twice, the growth would want more than the pool has."""
    launched = claim("n", stage=MachineStage.LAUNCHED, launched_seconds=BORN + 40)
    found = growing(world([OLD, member("n", at=100)], [OLD_CLAIM, launched], replicas=2), 101)
    assert (found.wanted, [one.node for one in found.machines]) == (1, ["n"])
    assert found.hang is not None and found.hang.step is Rung.READY


def test_every_stamp_is_that_of_an_object() -> None:
    machine = claim(
        "c",
        stage=MachineStage.INITIALIZED,
        on="n",
        launched_seconds=BORN + 40,
        joined_seconds=BORN + 101,
        initialized_seconds=BORN + 850,
    )
    started = msgspec.structs.replace(pod("p", "n"), started_seconds=BORN + 860)
    store = world(
        [OLD, member("n", at=100, ready_at=130, gpus=8)], [OLD_CLAIM, machine], (started,), replicas=2
    )
    found = growing(store, 900, asked=SizeAsked(BORN - 5))
    assert {str(one.step): one.at_seconds for one in found.stamps} == {
        "asked": BORN - 5,
        "accepted": BORN,
        "launching": None,  # a launch that is over does not date its beginning
        "launched": BORN + 40,
        "joined": BORN + 100,
        "ready": BORN + 130,
        "GPUs up": BORN + 850,
        "used": BORN + 860,
    }
    assert found.is_over
    assert found.hang is None
    assert dict(found.stages)["GPUs up"] == 855
    assert "launching" not in dict(found.stages)
    assert growth(only(store), store, BORN + 90_000) is None


def test_a_step_that_nobody_dates_is_reached_and_has_no_time() -> None:
    """A node without any machine object, and GPUs that nobody saw come."""
    store = store_of([node("a", pool="h100")], pools=[deployment(replicas=1)])
    (pool,) = pools_of(store)
    found = growth(pool, store, BORN + 60)
    assert found is not None
    assert found.is_over
    times = {str(one.step): (one.is_reached, one.at_seconds) for one in found.stamps}
    assert times["launched"] == (True, None)
    assert times["joined"] == (True, BORN)
    assert times["GPUs up"] == (True, None)
    assert found.stages == ()


def test_gpus_are_dated_by_who_saw_them_come() -> None:
    seen = Sightings()
    seen.note([member("n", ready_at=30)], BORN + 60)
    store = world([member("n", ready_at=30, gpus=8)], [claim("c", at=-50, stage=MachineStage.JOINED, on="n")])
    seen.note([*store.records(Kind.NODE).values(), OLD], BORN + 700)
    seen.note(store.records(Kind.NODE).values(), BORN + 900)
    found = growing(store, 950, seen=seen)
    assert found.machines[0].at(Rung.GPUS_UP) == BORN + 700
    assert seen.at(OLD.uid) is None


def test_what_was_asked_for_counts_what_came_since() -> None:
    whole = MachineStage.INITIALIZED
    before = claim("b", at=-300, on="before", stage=whole, initialized_seconds=BORN - 200)
    old = member("before", at=-290, ready_at=-280, gpus=8)
    store = world([OLD, old], [OLD_CLAIM, before], replicas=4)
    found = growing(store, 1, asked=SizeAsked(BORN))
    assert (found.wanted, found.done(Rung.ASKED), found.done(Rung.ACCEPTED)) == (2, 2, 0), (
        "not the one before"
    )
    after = world([OLD, old], [OLD_CLAIM, before, claim("a", at=2), claim("b2", at=3)], replicas=4)
    found = growing(after, 5, asked=SizeAsked(BORN))
    assert (found.wanted, found.done(Rung.ACCEPTED), found.asked_seconds) == (2, 2, BORN)
    assert dict(found.stages)["accepted"] == 3


def test_what_was_asked_for_does_not_date_a_growth_of_others() -> None:
    whole = MachineStage.INITIALIZED
    ours = claim("a", at=1, on="n", stage=whole, initialized_seconds=BORN + 60)
    node = member("n", at=30, ready_at=40, gpus=8)
    theirs = world([OLD, node], [OLD_CLAIM, ours, claim("b", at=600)], replicas=3)
    found = growing(theirs, 610, asked=SizeAsked(BORN))
    assert [one.name for one in found.machines] == ["b"]
    assert found.asked_seconds is None
    over = world([OLD, node], [OLD_CLAIM, ours], replicas=2)
    assert growing(over, 610, asked=SizeAsked(BORN)).asked_seconds == BORN
    assert growing(over, 610, asked=SizeAsked(BORN - 7_200)).asked_seconds is None


def test_a_driver_that_takes_as_long_as_usual_is_neither_late_nor_broken() -> None:
    def usually(earlier: Rung, later: Rung) -> float | None:
        return 720.0 if (earlier, later) == (Rung.READY, Rung.GPUS_UP) else None

    store = world(
        [member("n", at=100, ready_at=130)], [claim("c", stage=MachineStage.JOINED, on="n")], replicas=1
    )
    hang = growing(store, 800, usually=usually).hang
    assert hang is not None
    assert (hang.step, hang.usually_seconds, hang.lasted(BORN + 800)) == ("GPUs up", 720.0, 670.0)
    assert not hang.is_late(BORN + 130 + 12 * 60)
    assert not hang.is_broken(BORN + 130 + 12 * 60)
    assert hang.is_late(BORN + 130 + 19 * 60)
    assert hang.is_broken(BORN + 130 + 46 * 60)


@pytest.mark.parametrize(
    ("machine", "limit"),
    [
        (claim("c", stage=MachineStage.LAUNCHING, launching_seconds=BORN), 300.0),
        (claim("c", stage=MachineStage.LAUNCHED, launched_seconds=BORN), 900.0),
    ],
)
def test_limits_are_those_of_the_owner(machine: Machine, limit: float) -> None:
    hang = growing(world([], [machine], replicas=1), 10).hang
    assert hang is not None
    assert hang.limit_seconds == limit
    assert not hang.is_broken(BORN + limit)
    assert hang.is_broken(BORN + limit + 1)


def test_a_pool_without_gpus_has_no_step_of_them() -> None:
    plain = msgspec.structs.replace(member("n", ready_at=20), gpus_expected=None)
    found = growing(world([plain], [claim("c", at=-9, stage=MachineStage.JOINED, on="n")], replicas=1), 60)
    assert "GPUs up" not in [one.step for one in found.stamps]
    assert found.is_over


def test_a_machine_that_failed_keeps_its_step_and_its_owners_words() -> None:
    machine = claim("c", stage=MachineStage.FAILED, failure="CreateError: quota")
    found = growing(world([OLD], [OLD_CLAIM, machine], replicas=2), 4_000)
    assert (found.machines[0].failure, found.machines[0].reached) == ("CreateError: quota", 2)


@given(st.lists(st.integers(0, 6), max_size=7), st.integers(0, 9))
@settings(deadline=None, max_examples=80)
def test_steps_are_cumulative_and_never_more_than_wanted(heights: list[int], replicas: int) -> None:
    nodes, machines = [], []
    for at, height in enumerate(heights):
        stage = list(MachineStage)[min(height, 3)]
        machines.append(claim(f"c{at}", stage=stage, on=f"n{at}" if height >= 3 else ""))
        if height >= 3:
            ready = 30.0 if height >= 4 else None
            nodes.append(member(f"n{at}", at=20, ready_at=ready, gpus=8 if height >= 5 else None))
    store = world(nodes, machines, replicas=replicas)
    found = growth(only(store), store, BORN + 60)
    if found is None:
        assert max(replicas, len(heights)) == 0
        return
    counts = [found.done(step) for step in Rung]
    assert counts == sorted(counts, reverse=True)
    assert found.wanted == counts[0] == max(replicas, len(heights))
    for stamps in (*(one.stamps for one in found.machines), found.stamps):
        reached = [stamp.is_reached for stamp in stamps]
        assert reached == sorted(reached, reverse=True)
    times = [one.at_seconds for one in found.stamps if one.at_seconds is not None]
    assert times == sorted(times)


def test_a_machine_whose_job_has_ended_was_used() -> None:
    seen = Sightings()
    new = member("new", at=30, ready_at=60, gpus=8)
    store = world([OLD, new], [OLD_CLAIM, claim("c", stage=MachineStage.INITIALIZED, on="new")], replicas=2)

    def has_been_used() -> bool:
        return growing(store, 600, seen=seen).machines[0].has(Rung.USED)

    assert not has_been_used()
    seen.note_pods([pod("daemon", "new", 0, owner_kind="DaemonSet")], BORN + 300)
    assert not has_been_used(), "a pod of a DaemonSet is no work"
    seen.note_pods([pod("job", "new")], BORN + 300)
    assert has_been_used()
