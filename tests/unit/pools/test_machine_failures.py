"""Why machines of Karpenter and of Cluster API do not come, as their objects and events say."""
# ruff: noqa: E501 - texts as they are written

import msgspec
import pytest

from cockpit.model.batch import Batch, Phase, StreamStatus
from cockpit.model.pool import Machine, MachineStage, PoolObject
from cockpit.model.record import Condition, Kind
from cockpit.pools.failures import failures_of
from cockpit.pools.index import pools_of
from cockpit.pools.ladder import growth
from cockpit.pools.owner import FailureClass, PoolFailure
from cockpit.pools.shrink import shrink_of
from cockpit.pools.stage import GPUS_LIMIT_SECONDS
from tests.unit.pools.builders import BORN, deployment, machine, node, store_of
from tests.unit.pools.test_cluster_autoscaler import event
from tests.unit.pools.test_ladder import claim, member, nodepool, world

LAUNCHED = {"stage": MachineStage.LAUNCHED, "launched_seconds": BORN}


def _unlaunched(reason: str, message: str) -> Machine:
    condition = Condition("Launched", "False", reason, message, BORN + 5)
    return claim("h100-abc12", stage=MachineStage.LAUNCHING, conditions=(condition,))


def told(machine: Machine | None, now: float, pool: PoolObject | None = None) -> tuple[PoolFailure, ...]:
    """Of the pool, `now` seconds after BORN."""
    store = world([], [machine] if machine is not None else [], replicas=1)
    if pool is not None:
        store.apply(Batch(kind=Kind.POOL, changed=(pool,)))
    return failures_of(pools_of(store)[0], store, BORN + now)


@pytest.mark.parametrize(
    ("machine", "now", "kind"),
    [
        (
            _unlaunched("LaunchFailed", "creating instance, VcpuLimitExceeded: You have requested more"),
            9,
            "QUOTA",
        ),
        (_unlaunched("LaunchFailed", "UnauthorizedOperation: not authorized"), 9, "PERMISSION"),
        (
            _unlaunched(
                "InsufficientCapacity", "all requested instance types were unavailable during launch"
            ),
            9,
            "STOCKOUT",
        ),
        (claim("h100-abc12", stage=MachineStage.LAUNCHING), 301, "TIMEOUT"),
        (_unlaunched("Unknown", "insufficient capacity, with fleet error(s)"), 301, "STOCKOUT"),
        (claim("h100-abc12", **LAUNCHED), 901, "JOIN"),  # type: ignore[arg-type]
    ],
)
def test_what_a_node_claim_says(machine: Machine, now: float, kind: str) -> None:
    (found,) = told(machine, now)
    assert (found.kind, found.machine) == (FailureClass[kind], machine.uid)
    assert found.source == "NodeClaim h100-abc12"


@pytest.mark.parametrize(
    ("machine", "now"),
    [(claim("h100-abc12", stage=MachineStage.LAUNCHING), 299), (claim("h100-abc12", **LAUNCHED), 899)],  # type: ignore[arg-type]
)
def test_nothing_is_broken_before_its_limit(machine: Machine, now: float) -> None:
    assert told(machine, now) == ()


def test_a_stockout_outlives_its_node_claim() -> None:
    store = world([], [], replicas=1)
    words = (
        "creating instance, insufficient capacity, with fleet error(s), InsufficientInstanceCapacity: We currently"
        " do not have sufficient p5.48xlarge capacity in the Availability Zone you requested"
    )
    mine = event(
        "InsufficientCapacityError", words, at=BORN + 3, object_name="h100-x7k2p", object_kind="NodeClaim"
    )
    other = event("InsufficientCapacityError", words, object_name="a100-x7k2p", object_kind="NodeClaim")
    store.apply(Batch(kind=Kind.OWNER_EVENT, changed=(mine, other)))
    (found,) = failures_of(pools_of(store)[0], store, BORN + 600)
    assert (found.kind, found.said, found.since_seconds) == (FailureClass.STOCKOUT, words, BORN + 3)
    assert found.source == "event InsufficientCapacityError of NodeClaim h100-x7k2p"


def test_what_a_node_pool_says() -> None:
    bad = Condition("NodeRegistrationHealthy", "False", "RegistrationFailed", "Failed to register node", BORN)
    (found,) = told(None, 5, msgspec.structs.replace(nodepool(replicas=1), conditions=(bad,)))
    assert (found.kind, found.source) == (FailureClass.JOIN, "condition NodeRegistrationHealthy")


def _machine(**more: object) -> Machine:
    return Machine(
        uid="uid-m",
        name="h100-m",
        namespace="capi",
        created_seconds=BORN,
        api_version="cluster.x-k8s.io/v1beta1",
        kind="Machine",
        resource_path="",
        pool_kind="MachineDeployment",
        pool_key="capi/h100",
        **more,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(
    ("machine", "kind"),
    [
        (
            _machine(failure="CreateError: quota GPUS_ALL_REGIONS exceeded", stage=MachineStage.FAILED),
            "QUOTA",
        ),
        (
            _machine(
                conditions=(
                    Condition(
                        "InfrastructureReady",
                        "False",
                        "InstanceProvisionFailed",
                        "ZonalAllocationFailed: Allocation failed",
                        BORN,
                    ),
                )
            ),
            "STOCKOUT",
        ),
    ],
)
def test_what_a_machine_says(machine: Machine, kind: str) -> None:
    store = store_of(pools=[deployment()])
    store.apply(Batch(kind=Kind.MACHINE, changed=(machine,)))
    (found,) = failures_of(pools_of(store)[0], store, BORN + 5)
    assert (found.kind, found.source) == (FailureClass[kind], "Machine capi/h100-m")
    waiting = Condition("InfrastructureReady", "False", "WaitingForInfrastructure", "", BORN)
    store.apply(Batch(kind=Kind.MACHINE, changed=(_machine(conditions=(waiting,)),)))
    assert failures_of(pools_of(store)[0], store, BORN + 5) == ()


def test_gpus_that_never_show() -> None:
    late = member("n", at=0, ready_at=30)
    store = world([late], [], replicas=1)
    limit = 30 + GPUS_LIMIT_SECONDS
    assert failures_of(pools_of(store)[0], store, BORN + limit) == ()
    (found,) = failures_of(pools_of(store)[0], store, BORN + limit + 1)
    assert (found.kind, found.sentence) == (FailureClass.NO_GPUS, "node n joined, its GPUs never came")
    assert (
        failures_of(pools_of(store_of([node("a", pool="p")]))[0], store_of([node("a", pool="p")]), BORN) == ()
    )


def test_a_machine_whose_node_was_deleted_is_told_and_goes_first() -> None:
    unhealthy = Condition("NodeHealthy", "False", "NodeDeleted", "", BORN + 60)
    made = [
        machine(
            name,
            stage=MachineStage.JOINED,
            pool_kind="MachineDeployment",
            pool_key="capi/h100",
            created_seconds=BORN,
            conditions=(unhealthy,) if name == "c" else (),
        )
        for name in "abc"
    ]
    nodes = [node(name, pool="h100") for name in "ab"]
    store = store_of(nodes, [], [deployment(replicas=3)], machines=made)
    (pool,) = pools_of(store)
    (found,) = failures_of(pool, store, BORN + 120)
    assert (found.kind, found.since_seconds) == (FailureClass.NODE_DELETED, BORN + 60)
    assert found.sentence == "node c was deleted, and its Machine m-c is still there"
    ladder = growth(pool, store, BORN + 120)
    assert ladder is not None
    assert [one.name for one in ladder.machines] == ["m-a", "m-b"], "what lost its node does not grow"
    assert pool.nodes_joining == 0
    (owner,) = store.records(Kind.POOL).values()
    shrunk = shrink_of(pool, owner, 2, store, BORN + 120)
    assert (shrunk.going, [one.target for one in shrunk.calls]) == (0, ["machine capi/m-c"])
    going = msgspec.structs.replace(made[2], deleting_seconds=BORN + 90)
    store.apply(Batch(kind=Kind.MACHINE, changed=(going,)))
    assert failures_of(pool, store, BORN + 120) == ()


@pytest.mark.parametrize("phase", [Phase.DENIED, Phase.LISTING, Phase.LIVE])
def test_where_nodes_are_not_listed_none_is_called_deleted(phase: Phase) -> None:
    made = machine("c", stage=MachineStage.JOINED, pool_kind="MachineDeployment", pool_key="capi/h100")
    store = store_of([], [], [deployment(replicas=1)], machines=[made])
    store.apply(Batch(kind=Kind.NODE, status=StreamStatus(kind=Kind.NODE, phase=phase)))
    assert bool(failures_of(pools_of(store)[0], store, BORN)) is (phase is Phase.LIVE)
