"""Who waits for which pool: only where every other pool is ruled out."""

from hypothesis import given
from hypothesis import strategies as st

from cockpit.model.pod import Pod
from cockpit.model.record import Labels
from cockpit.model.scheduling import NodeTerm, PodWishes, Requirement, Toleration, Traits
from cockpit.pools.demand import PoolDemand, demand_by_pool
from cockpit.pools.index import pools_of
from cockpit.store.store import Store
from tests.unit.pools.builders import deployment, node, pod, store_of

GPU = "nvidia.com/gpu"


def waiting(
    name: str,
    gpus: int = 8,
    *,
    selector: Labels = (),
    terms: tuple[NodeTerm, ...] | None = None,
    tolerates: tuple[str, ...] = (),
    **more: object,
) -> Pod:
    wishes = PodWishes(
        node_selector=selector,
        node_terms=terms,
        tolerations=tuple(Toleration(one, "Exists") for one in tolerates),
    )
    told = {"gpu_resource": GPU, "phase": "Pending", **more}
    return Pod(uid=f"uid-{name}", name=name, namespace="t", gpus=gpus, traits=Traits(wishes=wishes), **told)  # type: ignore[arg-type]


def two_pools(*pods: Pod) -> Store:
    return store_of(
        nodes=[
            node("big-0", pool="big", gpus=8, labels=(("zone", "a"),)),
            node("small-0", pool="small", gpus=2, labels=(("zone", "b"),), taints=("dedicated",)),
        ],
        pods=pods,
    )


def asked(*pods: Pod) -> dict[str, tuple[int, int]]:
    """GPUs that only that pool can serve, and GPUs that another one could serve, too."""
    found = two_pools(*pods)
    told = demand_by_pool(found, pools_of(found))
    assert told is not None
    return {name: (one.gpus, sum(each.gpus for each in one.shared)) for name, one in told.items()}


def test_a_pod_that_fits_one_pool_alone_waits_for_that_one() -> None:
    assert asked(waiting("a", 8)) == {"big": (8, 0)}
    assert asked(waiting("a", 2)) == {"big": (2, 0)}, "the small ones are tainted against it"
    assert asked(waiting("a", 2, tolerates=("dedicated",))) == {"big": (0, 2), "small": (0, 2)}
    assert asked(waiting("a", 2, tolerates=("dedicated",), selector=(("zone", "b"),))) == {"small": (2, 0)}


def test_a_pod_that_no_pool_could_take_is_demand_for_none() -> None:
    assert asked(waiting("a", 16)) == {}
    assert asked(waiting("a", 1, selector=(("zone", "c"),))) == {}
    assert asked(waiting("a", 1, gpu_resource="amd.com/gpu")) == {}
    assert asked(waiting("a", 1, selector=(("kubernetes.io/hostname", "big-0"),))) == {}


def test_terms_are_read_as_the_scheduler_reads_them() -> None:
    def of(operator: str, *values: str) -> tuple[NodeTerm, ...]:
        return (NodeTerm((Requirement("zone", operator, values),)),)

    assert asked(waiting("a", 1, terms=of("In", "a"))) == {"big": (1, 0)}
    assert asked(waiting("a", 1, terms=of("NotIn", "a"), tolerates=("dedicated",))) == {"small": (1, 0)}
    assert asked(waiting("a", 1, terms=())) == {}, "no term chooses nothing"


def test_what_does_not_wait_for_a_node_is_no_demand() -> None:
    pods = (
        pod("runs", "big-0"),
        waiting("held", is_gated=True),
        waiting("going", deleting_seconds=1.0),
        waiting("over", phase="Failed"),
    )
    assert asked(*pods) == {}


def test_trouble_of_a_node_is_no_trait_of_its_pool() -> None:
    found = store_of(
        nodes=[node("n", pool="p", taints=("node.kubernetes.io/unreachable",), unschedulable=True)],
        pods=[waiting("a")],
    )
    assert demand_by_pool(found, pools_of(found)) == {"p": PoolDemand((waiting("a"),))}


def test_a_pool_at_zero_is_asked_by_what_its_object_promises() -> None:
    hint = (("capacity.cluster-autoscaler.kubernetes.io/gpu-count", "8"),)
    found = store_of(pools=[deployment("h100", replicas=0, annotations=hint)], pods=[waiting("a")])
    told = demand_by_pool(found, pools_of(found))
    assert told is not None and told["h100"].gpus == 8
    found = store_of(pools=[deployment("h100", replicas=0)], pods=[waiting("a")])
    assert demand_by_pool(found, pools_of(found)) == {}, "nothing says that it has GPUs"


@given(st.lists(st.tuples(st.integers(1, 9), st.booleans(), st.sampled_from(["", "a", "b", "c"]))))
def test_no_pod_is_counted_for_one_pool_alone_and_for_another(
    asks: list[tuple[int, bool, str]],
) -> None:
    pods = [
        waiting(
            str(at),
            gpus,
            tolerates=("dedicated",) if tolerant else (),
            selector=(("zone", zone),) if zone else (),
        )
        for at, (gpus, tolerant, zone) in enumerate(asks)
    ]
    found = two_pools(*pods)
    told = demand_by_pool(found, pools_of(found))
    assert told is not None
    alone = [one.uid for each in told.values() for one in each.only]
    shared = {one.uid for each in told.values() for one in each.shared}
    assert len(alone) == len(set(alone)) and shared.isdisjoint(alone)
    assert all(sum(one in each.shared for each in told.values()) in (0, 2) for one in pods)
