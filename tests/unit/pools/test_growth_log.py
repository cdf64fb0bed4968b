"""Growths as they pass are remembered once each, from when the first of their machines was asked for."""

from msgspec.structs import replace

from cockpit.model.batch import Batch
from cockpit.model.pool import Machine, MachineStage
from cockpit.model.record import Kind
from cockpit.model.remembered import Growth
from cockpit.pools.index import pools_of
from cockpit.pools.sightings import Sightings
from cockpit.services.pool_watch import GrowthLog
from cockpit.store.store import Store
from tests.unit.pools.builders import BORN, POOL_LABEL, deployment, node, store_of


class Watching:
    """A log, and what is seen of nodes at each look."""

    def __init__(self) -> None:
        self.seen = Sightings()
        self.log = GrowthLog(self.seen)


def look(one: Watching, store: Store, now: float) -> tuple[Growth, ...]:
    one.seen.note(store.records(Kind.NODE).values(), now)
    return one.log.look(pools_of(store), store, now)


def test_a_growth_that_came_while_we_looked_is_kept_when_it_is_over() -> None:
    log = Watching()
    dark = replace(node("n1", pool="h100", expected=8), gpu_allocatable=None, gpu_capacity=None)
    store = store_of([dark], pools=[deployment("h100", replicas=1)])
    assert look(log, store, BORN + 40) == (), "its driver is awaited"
    store.apply(Batch(kind=Kind.NODE, changed=(node("n1", pool="h100", expected=8),)))
    (growth,) = look(log, store, BORN + 700)
    assert (growth.pool_key, growth.nodes, growth.machine_type) == (
        "MachineDeployment.cluster.x-k8s.io/capi/h100",
        1,
        "p5.48xlarge",
    )
    assert growth.seconds_to("GPUs up") == 660.0, "from when it was first seen"
    assert look(log, store, BORN + 710) == (), "once"


def test_one_that_was_over_before_counts_only_where_its_objects_say_when_it_began() -> None:
    quiet = store_of([node("n1", pool="h100")], pools=[deployment("h100", replicas=1)])
    assert look(Watching(), quiet, BORN + 100) == ()
    told = store_of(
        [node("n1", labels=(("karpenter.sh/nodepool", "h100"),))],
        pools=[
            replace(
                deployment("h100", kind="NodePool", api_version="karpenter.sh/v1"), replicas=1, namespace=""
            )
        ],
    )
    told.apply(
        Batch(
            kind=Kind.MACHINE,
            changed=(
                Machine(
                    uid="c",
                    name="h100-x",
                    created_seconds=BORN - 180,
                    api_version="karpenter.sh/v1",
                    kind="NodeClaim",
                    resource_path="/apis/karpenter.sh/v1/nodeclaims",
                    pool_kind="NodePool",
                    pool_key="h100",
                    node="n1",
                    stage=MachineStage.INITIALIZED,
                    joined_seconds=BORN,
                    initialized_seconds=BORN + 500,
                ),
            ),
        )
    )
    (growth,) = look(Watching(), told, BORN + 900)
    assert growth.asked_seconds == BORN - 180
    assert growth.seconds_to("joined") == 180.0 and growth.seconds_to("GPUs up") == 680.0


def test_pools_at_rest_are_no_growth() -> None:
    log = Watching()
    store = store_of(
        [node("n1", pool="h100")],
        pools=[deployment("h100", replicas=1, template_labels=((POOL_LABEL, "h100"),))],
    )
    assert look(log, store, BORN + 40_000) == () and look(log, store, BORN + 80_000) == ()
