"""Situations of pools beside their owners, as the real cluster-autoscaler and Karpenter made them: what each
did, and what every side of the cockpit has to say of it, or must not say."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from cockpit.fit.scheduling_context import Budget
from cockpit.kube.resource import Resource
from cockpit.model.autoscaler import OwnerFlags
from cockpit.model.batch import Batch, Phase, StreamStatus
from cockpit.model.pool import StandingDemand
from cockpit.model.record import Kind
from cockpit.model.scheduling import Requirement
from cockpit.pools.idle import RECLAIM, RECLAIM_AT, REMOVAL
from tests.triage.owner_objects import (
    NOW,
    Tree,
    at,
    capi_nodes,
    deployment,
    event,
    group,
    machine,
    node,
    node_claim,
    node_pool,
    pod,
    status,
)
from tests.triage.owner_world import World

POOL = "agentpool"
STATUS = "cluster-autoscaler-status"
NO_LABEL = "0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector."
BUFFERS = Resource("autoscaling.x-k8s.io", "v1beta1", "capacitybuffers", "CapacityBuffer", namespaced=True)
Sides = Mapping[str, tuple[str, ...]]


class Row(NamedTuple):
    """`made` gets the pool's name and what else is in the cluster. `{p}` in what is said stands for the name;
    of words apart by `|` each side says one."""

    id: str
    situation: str
    did: str
    made: Callable[..., World]
    says: Sides
    never: Sides = MappingProxyType({})


def md(name: str) -> str:
    return f"MachineDeployment/default/{name}"


def hints(name: str, **more: str) -> dict[str, str]:
    return {"gpu-count": "4", "labels": f"ca-pool={name}", **more}


def refusal(text: str) -> Tree:
    return event("Pod", "big", "NotTriggerScaleUp", f"pod didn't trigger scale-up: {text}")


def on_status(reason: str, message: str, ago: float) -> Tree:
    return event("ConfigMap", STATUS, reason, message, ago=ago)


# ---- the autoscaler alone


def at_zero(p: str, *more: Tree) -> World:
    return World(node("cpu-0", None, {POOL: "cpu"}), status(group("cpu", 1, 5), group(p, 0, 4)), *more)


def growing(p: str, *more: Tree) -> World:
    groups = (group("cpu", 1, 5), group(p, 0, 4, target=2, up="InProgress"))
    return World(node("cpu-0", None, {POOL: "cpu"}), status(*groups), *more)


def at_rest(p: str, *more: Tree) -> World:
    nodes = [node(f"{p}-{one}", 4, {POOL: p}) for one in "ab"]
    return World(*nodes, status(group(p, 2, 4)), *more)


def too_large(p: str, *more: Tree) -> World:
    busy = [node(f"{p}-abcde", 4, {POOL: p}), pod("holds", on=f"{p}-abcde")]
    said = refusal("1 max node group size reached, 2 Insufficient nvidia.com/gpu")
    groups = status(group("cpu", 5, 5), group(p, 1, 4), group("h200", 0, 3))
    return World(node("cpu-0", None, {POOL: "cpu"}), *busy, pod("big", 12), said, groups, *more)


def selects_none(p: str, *more: Tree) -> World:
    busy = [node(f"{p}-abcde", 4, {POOL: p}), pod("holds", on=f"{p}-abcde")]
    said = refusal("2 node(s) didn't match Pod's node affinity/selector, 1 max node group size reached")
    waits = pod("big", nodeSelector={"ca-pool": "nope"}, message=NO_LABEL)
    groups = status(group("cpu", 5, 5), group(p, 1, 4), group("h200", 0, 3))
    return World(node("cpu-0", None, {POOL: "cpu"}), *busy, waits, said, groups, *more)


_STOCKOUT = (
    "Scale-up failed for group {p}: couldn't create new node '{p}-xxxxx': nodes \"{p}-xxxxx\" is forbidden:"
    " denied request: InsufficientInstanceCapacity: We do not have sufficient g4dn.12xlarge capacity"
    " in the Availability Zone you requested (eu-west-1a)."
)


def healed(p: str, *more: Tree, has_joined: bool = False) -> World:
    nodes = [node(f"{p}-a", 4, {POOL: p})]
    nodes += [node(f"{p}-b", 4, {POOL: p}, ago=90)] if has_joined else []
    grew = on_status("ScaledUpGroup", f"Scale-up: group {p} size set to 2 instead of 1 (max: 4)", 120)
    groups = status(group(p, len(nodes), 4, target=2))
    return World(*nodes, groups, on_status("FailedToScaleUpGroup", _STOCKOUT.format(p=p), 530), grew, *more)


def joined(p: str, *more: Tree) -> World:
    return healed(p, *more, has_joined=True)


def unneeded(p: str, *more: Tree) -> World:
    taint = {"key": "DeletionCandidateOfClusterAutoscaler", "value": str(int(NOW - 130))}
    one = node(f"{p}-a", 4, {POOL: p}, taints=[{**taint, "effect": "PreferNoSchedule"}])
    return World(one, status(group(p, 1, 4, down="CandidatesPresent")), *more)


def unneeded_by_flags(p: str, *more: Tree) -> World:
    """As its Deployment says: three minutes, not ten."""
    found = unneeded(p, *more)
    owner, flags = "the cluster autoscaler", (("scale-down-unneeded-time", "3m"),)
    read = OwnerFlags(uid=owner, name=owner, flags=flags, read_seconds=NOW)
    found.store.apply(Batch(kind=Kind.OWNER_FLAGS, changed=(read,)))
    return found


def removed(p: str, *more: Tree) -> World:
    said = (f'Scale-down: removing empty node "{p}-qwert"', f"Scale-down: empty node {p}-qwert removed")
    events = [on_status("ScaleDownEmpty", one, 60 - number) for number, one in enumerate(said)]
    return World(node(f"{p}-a", 4, {POOL: p}), status(group(p, 1, 4)), *events, *more)


def full(p: str, *more: Tree) -> World:
    return World(node(f"{p}-a", 4, {POOL: p}), pod("holds", on=f"{p}-a"), status(group(p, 1, 1)), *more)


def buffered(p: str, *more: Tree) -> World:
    asked = StandingDemand(
        kind="CapacityBuffer",
        namespace="default",
        name="ask",
        uid="b",
        path="/b",
        nodes=1,
        by="ann@h",
        made_seconds=NOW - 60,
        state="no autoscaler has answered it yet",
    )
    trees = [node(f"{p}-a", 4, {POOL: p}), pod("holds", on=f"{p}-a"), status(group(p, 1, 4)), *more]
    return World(*trees, standing=[asked], served=[BUFFERS])


def unused(p: str, *more: Tree) -> World:
    return World(node(f"{p}-a", 4, {POOL: p}, ago=600), status(group(p, 1, 4)), *more)


# ---- through Cluster API


def capi(p: str, *more: Tree, size: int, told: bool = True) -> World:
    owner = deployment(p, size, ("0", "45"), hints=hints(p) if told else None)
    nodes = capi_nodes(p, size)
    return World(node("cpu-0", None), *nodes, owner, status(group(md(p), size, 45)), *more)


def waits_at_zero(p: str, *more: Tree, told: bool = True, bounds: bool = True) -> World:
    other = [*capi_nodes("other", 1), deployment("other", 1, ("0", "45"), hints=hints("other"))]
    owner = deployment(p, 0, ("0", "4") if bounds else None, hints=hints(p) if told else None)
    groups = [group(md("other"), 1, 45), *([group(md(p), 0, 4)] if bounds else [])]
    waits = pod("big", nodeSelector={"ca-pool": p}, message=NO_LABEL, ago=10)
    return World(*other, owner, waits, status(*groups), *more)


def tainted(p: str, *more: Tree) -> World:
    said = refusal("1 node(s) had untolerated taint(s), 2 max node group size reached")
    owners = [
        deployment("one", 1, ("0", "1"), hints=hints("one")),
        deployment("two", 0, ("0", "0"), hints=hints("two")),
        deployment(p, 0, ("0", "2"), hints=hints(p, taints="team=x:NoSchedule")),
    ]
    groups = status(group(md("one"), 1, 1), group(md("two"), 0, 0), group(md(p), 0, 2))
    busy = [*capi_nodes("one", 1), pod("holds", on="one-nlp9v-x000")]
    waits = pod("big", nodeSelector={"ca-pool": p}, message=NO_LABEL)
    return World(*busy, *owners, waits, said, groups, *more)


def rolling(p: str, *more: Tree) -> World:
    condition = {"type": "RollingOut", "status": "True"}
    owner = deployment(p, 2, ("0", "45"), hints=hints(p), conditions=[condition])
    return World(*capi_nodes(p, 2), owner, status(group(md(p), 2, 45)), *more)


def dark(p: str, *more: Tree, ago: float = 100.0, old: int = 3, new: int = 40) -> World:
    trees = capi_nodes(p, old + new, None, ago=ago)
    for number, one in enumerate(capi_nodes(p, old, 4, ago=7_200)):
        trees[number] = one
    owner = deployment(p, old + new, ("0", "45"), hints=hints(p))
    return World(*trees, owner, status(group(md(p), old + new, 45)), *more)


def never_lit(p: str, *more: Tree) -> World:
    return dark(p, *more, ago=3_000.0)


def all_dark(p: str, *more: Tree) -> World:
    waits = pod("big", nodeSelector={"ca-pool": p})
    owner = deployment(p, 2, ("0", "2"), hints=hints(p))
    return World(*capi_nodes(p, 2, None, ago=600), owner, status(group(md(p), 2, 2)), waits, *more)


# ---- Karpenter


def claimed(p: str, *more: Tree, budgets: tuple[Budget, ...] | None = ()) -> World:
    one = node("kn-1", 4, {"karpenter.sh/nodepool": p})
    runs = pod("web-1", on="kn-1", labels={"app": "web"})
    return World(one, node_claim(f"{p}-abc", p, "kn-1"), node_pool(p), runs, *more, budgets=budgets)


def budgeted(p: str, *more: Tree) -> World:
    web = (Requirement("app", "In", ("web",)),)
    return claimed(p, *more, budgets=(Budget("team-a", "keep", web, 0, 1),))


def unread(p: str, *more: Tree) -> World:
    return claimed(p, *more, budgets=None)


def wanted(p: str, *more: Tree) -> World:
    key = {"karpenter.sh/nodepool": p}
    waits = [pod(f"w{number}", nodeSelector=key, message=NO_LABEL, ago=4) for number in range(3)]
    return World(node("cpu-0", None), node_pool(p), *waits, *more)


def coming(p: str, *more: Tree) -> World:
    launched = [{"type": "Launched", "status": "Unknown"}]
    return wanted(p, node_claim(f"{p}-x1", p, ago=2, conditions=launched), *more)


def unheld(p: str, *more: Tree) -> World:
    message = 'Pod has "karpenter.sh/do-not-disrupt" annotation (Pod=team-a/web-1)'
    said = event("Node", "kn-1", "DisruptionBlocked", message, ago=40, component="karpenter")
    return claimed(p, said, *more)


# ---- bad situations


def stopped(p: str, *more: Tree) -> World:
    waits = [pod(f"w{number}", nodeSelector={"ca-pool": p}, owner="") for number in range(3)]
    trees = [*capi_nodes(p, 1), pod("holds", on=f"{p}-nlp9v-x000"), *waits]
    owner = deployment(p, 1, ("0", "9"), hints=hints(p))
    return World(*trees, owner, status(group(md(p), 1, 9), ago=900), *more)


def restarted(p: str, *more: Tree) -> World:
    gone = StreamStatus(kind=Kind.AUTOSCALER, phase=Phase.ABSENT, message="There is no configmap.")
    trees = [*capi_nodes(p, 1), deployment(p, 1), status(group(md(p), 1, 9), ago=40), *more]
    return World(*trees, statuses=[gone])


def bounded(p: str, *more: Tree, bounds: tuple[str, str]) -> World:
    return World(*capi_nodes(p, 2), deployment(p, 2, bounds, hints=hints(p)), *more)


def crossed(p: str, *more: Tree) -> World:
    return bounded(p, *more, bounds=("5", "2"))


def no_numbers(p: str, *more: Tree) -> World:
    return bounded(p, *more, bounds=("0", "many"))


def paused(p: str, *more: Tree) -> World:
    note = {"cluster.x-k8s.io/paused": "true"}
    owner = deployment(p, 1, ("0", "9"), hints=hints(p), annotations=note)
    return World(*capi_nodes(p, 1), owner, status(group(md(p), 1, 9)), *more)


def node_gone(p: str, *more: Tree) -> World:
    name = f"{p}-nlp9v-x001"
    lost = {"type": "NodeHealthy", "status": "False", "reason": "NodeDeleted", "lastTransitionTime": at(110)}
    trees = [*capi_nodes(p, 1), machine(name, p, on=name, conditions=[lost]), deployment(p, 2)]
    return World(*trees, *more)


def many(p: str, *more: Tree) -> World:
    return World(*[node(f"n{number}", 4, {POOL: f"{p}-{number:03d}"}) for number in range(100)], *more)


def schemes(p: str, *more: Tree) -> World:
    """Labels of providers, a node of each: two of them in a pool of that name by another label."""
    labels = (
        {"eks.amazonaws.com/nodegroup": f"{p}-eks"},
        {"cloud.google.com/gke-nodepool": f"{p}-gke"},
        {"compute.coreweave.com/node-pool": f"{p}-cw"},
        {"oke.oraclecloud.com/pool.name": f"{p}-oke"},
        {"alibabacloud.com/nodepool-id": f"{p}-ack"},
        {"cloud.example/unheard-of": "x", "node.kubernetes.io/instance-type": "g5.12xlarge"},
        {"cloud.example/unheard-of": "x", "node.kubernetes.io/instance-type": "ecs.gn7i-c32g1.8xlarge"},
    )
    return World(*[node(f"s{number}", 4, one) for number, one in enumerate(labels)], *more)


# ---- a removal that was broken off


def left(p: str, *more: Tree, is_tainted: bool = False) -> World:
    trees = capi_nodes(p, 2)
    marks = {RECLAIM: f"MachineDeployment.cluster.x-k8s.io/default/{p}", RECLAIM_AT: str(int(NOW - 700))}
    trees[0]["metadata"]["annotations"] |= marks
    trees[0]["spec"]["unschedulable"] = True
    if is_tainted:
        trees[0]["spec"]["taints"] = [{"key": REMOVAL.key, "value": REMOVAL.value, "effect": REMOVAL.effect}]
        trees[1]["metadata"]["annotations"] = {"cluster.x-k8s.io/delete-machine": "gpu-cockpit"}
    return World(*trees, deployment(p, 2, hints=hints(p)), *more)


def left_with_taint(p: str, *more: Tree) -> World:
    return left(p, *more, is_tainted=True)
