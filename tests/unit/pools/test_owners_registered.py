"""Owners behind one protocol: who holds a pool, what each would send, and one more that is registered."""

import msgspec
import pytest

from cockpit.model.plan import Call
from cockpit.model.pool import PoolObject
from cockpit.model.record import Kind
from cockpit.model.right import Right, Ways
from cockpit.model.store_reader import StoreReader
from cockpit.model.watched import Watched
from cockpit.pools import registry
from cockpit.pools.index import pools_of
from cockpit.pools.owner import Nodes, Ownership, OwnerTraits, SetsSize, through
from tests.unit.pools.builders import able, deployment, node, store_of

CAPI, KARPENTER, COREWEAVE = "cluster.x-k8s.io/v1beta2", "karpenter.sh/v1", "compute.coreweave.com/v1alpha1"


def _pool(api_version: str, kind: str = "NodePool", **more: object) -> PoolObject:
    return deployment("h100", kind=kind, api_version=api_version, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("found", "holder"),
    [
        (_pool(CAPI, "MachineDeployment"), "Cluster API"),
        (_pool(CAPI, "MachinePool"), "Cluster API"),
        (_pool(KARPENTER), "Karpenter"),
        (_pool(COREWEAVE), "CoreWeave"),
        (_pool("pools.example/v1"), "labels of nodes"),
    ],
)
def test_the_holder_is_known_by_group_and_kind(found: PoolObject, holder: str) -> None:
    assert registry.holder(found, ()).traits.name == holder


@pytest.mark.parametrize(
    ("found", "path", "change"),
    [
        (_pool(CAPI, "MachineSet"), "machinesets/h100/scale", {"replicas": 5}),
        (_pool(KARPENTER), "nodepools/h100/scale", {"replicas": 5}),
        (_pool(COREWEAVE), "nodepools/h100", {"targetNodes": 5}),
    ],
)
def test_a_resize_is_absolute_and_meets_the_object_that_was_shown(
    found: PoolObject, path: str, change: dict[str, int]
) -> None:
    owner = able(found)
    (call,) = owner.resize_calls(found, 5)
    assert call.method == "PATCH"
    assert call.path.endswith(path)
    assert call.body == {"metadata": {"uid": found.uid, "resourceVersion": "77"}, "spec": change}
    group, plural = found.api_version.split("/")[0], path.split("/", maxsplit=1)[0]
    scale = "scale" if path.endswith("scale") else ""
    assert owner.resize_rights(found) == ((Right("patch", group, plural, scale, "capi", "h100"),),)


@pytest.mark.parametrize(
    ("found", "change"),
    [
        (_pool(KARPENTER), {"spec": {"limits": {"nodes": "9"}}}),
        (_pool(COREWEAVE), {"spec": {"maxNodes": 9}}),
        (
            _pool(CAPI, "MachineDeployment"),
            {
                "metadata": {
                    "annotations": {"cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size": "9"}
                }
            },
        ),
    ],
)
def test_a_limit_is_set_where_its_owner_reads_it(found: PoolObject, change: dict[str, object]) -> None:
    (call,) = able(found).limit_calls(found, 9)
    guards = {"uid": found.uid, "resourceVersion": "77"}
    metadata = {**change.get("metadata", {}), **guards}  # type: ignore[dict-item]
    assert call.body == {**change, "metadata": metadata}
    assert able(found).limit_rights(found)[0][0].verb == "patch"


def test_a_pool_of_coreweave_that_it_scales_itself() -> None:
    store = store_of(pools=[msgspec.structs.replace(_pool(COREWEAVE, maximum=8), is_autoscaled=True)])
    (pool,) = pools_of(store)
    assert "the cluster autoscaler controls the size (spec.autoscaling)" in pool.why_not
    says = registry.ownership(_pool(COREWEAVE, maximum=8), (), store)
    assert (says.why_not, says.maximum, says.may_limit.may) == ("", 8, True)


class _Cloud(SetsSize):
    """State read on demand, calls that do not go to the API server."""

    traits = OwnerTraits(
        name="the cloud", pool_kinds=(Watched(Kind.POOL, "cloud.example", "", api_kind="Group"),)
    )

    def ownership(self, found: PoolObject | None, nodes: Nodes, truth: StoreReader) -> Ownership:
        read = None if found is None else found.read_seconds
        return Ownership(owner=self.traits.name, may_resize=through("its API"), read_seconds=read)

    def resize_calls(self, found: PoolObject, replicas: int) -> tuple[Call, ...]:
        return (Call(method="resize", path=found.name, body={"size": replicas}, via="cloud"),)

    def resize_rights(self, found: PoolObject) -> Ways:
        return ()

    def limit_calls(self, found: PoolObject, maximum: int) -> tuple[Call, ...]:
        return ()

    def limit_rights(self, found: PoolObject) -> Ways:
        return ()


def test_an_owner_whose_state_is_not_in_the_cluster_is_one_like_any_other() -> None:
    found = msgspec.structs.replace(_pool("cloud.example/v1", "Group"), read_seconds=5.0)
    store = store_of([node("a", pool="h100")], pools=[found])
    assert pools_of(store)[0].why_not != ""
    with registry.registered(_Cloud()):
        (pool,) = pools_of(store)
        assert (pool.why_not, pool.nodes_now, pool.target) == ("", 1, 2)
        assert registry.ownership(found, (), store).read_seconds == 5.0
        assert able(found).resize_calls(found, 3)[0].via == "cloud"
    assert registry.holder(found, ()) is registry.NODE_LABELS
