"""How far an autoscaler is with taking a node away, and how long the node has left."""

from msgspec.structs import replace

from cockpit.model.batch import Batch
from cockpit.model.node import Node, Taint
from cockpit.model.pool import Machine
from cockpit.model.record import Condition, Kind
from cockpit.pools.registry import removal
from cockpit.store.store import Store
from cockpit.views.node_page import removal_pairs
from tests.unit.pools.builders import node

NOW = 1_790_000_000.0
KARPENTER = (("karpenter.sh/nodepool", "h100"),)


def told(one: Node, *machines: Machine) -> str:
    store = Store()
    store.apply(Batch(kind=Kind.NODE, changed=(one,)))
    store.apply(Batch(kind=Kind.MACHINE, changed=machines))
    return " ".join(f"{pair.name}: {pair.value}" for pair in removal_pairs(one, store, NOW, ()))


def tainted(key: str, value: str = "") -> Node:
    return replace(node("n"), taints=(Taint(key, value, "PreferNoSchedule"),))


def claim(*conditions: Condition, deleting: float | None = None) -> Machine:
    return Machine(
        uid="c",
        name="h100-x",
        api_version="karpenter.sh/v1",
        kind="NodeClaim",
        resource_path="/apis/karpenter.sh/v1/nodeclaims",
        node="n",
        conditions=conditions,
        deleting_seconds=deleting,
    )


def test_a_node_that_nobody_means_to_take_says_nothing() -> None:
    assert told(node("n")) == ""
    assert removal(node("n", labels=KARPENTER), Store(), NOW) is None


def test_unneeded_node_tells_since_when_and_no_time_left() -> None:
    """A flag of the autoscaler may say another time than ten minutes."""
    said = told(tainted("DeletionCandidateOfClusterAutoscaler", str(int(NOW - 240))))
    assert said == (
        "removal: unneeded to the cluster autoscaler "
        "(removed after 10 min, or what its flag --scale-down-unneeded-time says), for 4m00s"
    )
    assert told(tainted("DeletionCandidateOfClusterAutoscaler", "soon")).endswith("unneeded-time says)")


def test_one_that_goes_says_since_when() -> None:
    said = told(tainted("ToBeDeletedByClusterAutoscaler", str(int(NOW - 30))))
    assert said == "removal: being drained and deleted by the cluster autoscaler, for 30s"


def test_one_that_is_kept_says_by_what() -> None:
    key = "cluster-autoscaler.kubernetes.io/scale-down-disabled"
    kept = node("n", annotations=((key, "true"),))
    said = f"does not take it away: annotation {key} on the node"
    assert told(kept) == f"kept: The cluster autoscaler {said}"
    key = "karpenter.sh/do-not-disrupt"
    kept = node("n", labels=KARPENTER, annotations=((key, "true"),))
    assert told(kept) == f"kept: Karpenter does not take it away: annotation {key} on the node"
    going = replace(tainted("ToBeDeletedByClusterAutoscaler"), annotations=((key, "true"),), labels=KARPENTER)
    assert told(going).startswith("removal: being drained"), "what goes all the same is not called kept"


def test_a_node_claim_goes_through_its_stages() -> None:
    one = node("n", labels=KARPENTER)
    idle = Condition("Consolidatable", "True", changed_seconds=NOW - 120)
    assert told(one, claim(idle)).endswith("Karpenter may remove it at any time, for 2m00s")
    assert "drifted" in told(one, claim(Condition("Drifted", "True")))
    assert told(replace(one, taints=(Taint("karpenter.sh/disrupted", "", "NoSchedule"),)), claim(idle)) == (
        "removal: chosen by Karpenter: no new pods, being drained"
    )
    stages = ("Drained", "VolumesDetached", "InstanceTerminating")
    words = ("its pods are being evicted", "drained;", "its volumes are detached", "its instance ends")
    for at, said in enumerate(words):
        done = (Condition(kind, "True") for kind in stages[:at])
        assert said in told(one, claim(*done, deleting=NOW - 5))
