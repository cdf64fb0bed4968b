"""Pools owned by a Karpenter NodePool.

A NodePool with `spec.replicas` is static and may be scaled; without, Karpenter sizes it from pending pods.
The mode cannot be switched, and only `limits.nodes` bounds a static one (sources: kubernetes-sigs/karpenter
designs/static-capacity.md, pkg/apis/v1/nodepool.go, taints.go, labels.go).
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from cockpit.model.node import Node
from cockpit.model.plan import Call
from cockpit.model.pod import Pod
from cockpit.model.pool import Machine, PoolObject, ResourceLimit
from cockpit.model.record import Kind, Labels, condition, label
from cockpit.model.right import Ways
from cockpit.model.store_reader import StoreReader
from cockpit.model.watched import Watched
from cockpit.pools.capacity import CapacityWish, DemandWay
from cockpit.pools.karpenter.budgets import budget_lines
from cockpit.pools.karpenter.claims import claim_calls, claim_lines
from cockpit.pools.karpenter.failures import (
    KEPT,
    LAUNCH_SECONDS,
    REGISTER_SECONDS,
    of_claims,
    of_events,
    of_pool,
)
from cockpit.pools.karpenter.keepers import KEEP, keepers_of_node, keepers_of_pool, takes_none
from cockpit.pools.keepers import Budgets, Keeper
from cockpit.pools.owner import (
    HasMachines,
    MakesMachines,
    Nodes,
    NodeTemplate,
    Ownership,
    OwnerTraits,
    PoolFailure,
    PromisesNodes,
    Removal,
    RemovesNodes,
    ScalesDown,
    SetsSize,
    TakesEmptyFirst,
    common_labels,
    in_order,
    machines_of,
    plain_template,
    refused,
    through,
)
from cockpit.pools.patches import patch_rights, scale_calls, spec_calls

GOING = "karpenter.sh/disrupted"


def going(node: Node, claim: Machine | None) -> Removal | None:
    """On its way out: nothing holds it any more."""
    if claim is not None and claim.deleting_seconds is not None:
        return Removal(stage=_leaving(claim), since_seconds=claim.deleting_seconds)
    if any(one.key == GOING for one in node.taints):
        return Removal(stage="chosen by Karpenter: no new pods, being drained")
    return None


def coming(claim: Machine | None, found: PoolObject | None, now_seconds: float) -> Removal | None:
    """What is meant to happen to a node that nothing holds, with the time left where that is known."""
    if claim is None:
        return None
    drifted, idle = condition(claim.conditions, "Drifted"), condition(claim.conditions, "Consolidatable")
    if drifted is not None and drifted.status == "True":
        stage = "drifted from its NodePool: Karpenter means to replace it"
        return Removal(stage=stage, since_seconds=drifted.changed_seconds)
    if idle is not None and idle.status == "True":
        stage = "idle for consolidateAfter of its NodePool: Karpenter may remove it at any time"
        return Removal(stage=stage, since_seconds=idle.changed_seconds)
    after = None if found is None or found.disruption is None else found.disruption.after_seconds
    quiet = claim.pod_moved_seconds or claim.initialized_seconds
    if after is None or quiet is None:
        return None
    stage = "no pod came or went: Karpenter may remove it once its consolidateAfter has passed"
    return Removal(stage=stage, since_seconds=quiet, left_seconds=max(0.0, quiet + after - now_seconds))


def _leaving(claim: Machine) -> str:
    """Drained, volumes detached, instance terminating: in this order."""
    steps = (
        ("InstanceTerminating", "its instance ends"),
        ("VolumesDetached", "its volumes are detached; its instance ends next"),
        ("Drained", "drained; its volumes are being detached"),
    )
    for kind, words in steps:
        found = condition(claim.conditions, kind)
        if found is not None and found.status == "True":
            return f"being removed by Karpenter: {words}"
    return "being removed by Karpenter: its pods are being evicted"


GROUP = "karpenter.sh"
NODE_LABEL = "karpenter.sh/nodepool"
_LIMITS = "limits.nodes of the NodePool"
_OF_TYPES = (
    "karpenter.sh/capacity-type",
    "karpenter.k8s.aws/",
    "karpenter.azure.com/",
    "karpenter.k8s.gcp/",
    "eks.amazonaws.com/instance-",
)
"""Labels of machine types: a NodePool that does not name them allows every value (pkg/scheduling)."""


class Karpenter(
    PromisesNodes,
    ScalesDown,
    SetsSize,
    RemovesNodes,
    TakesEmptyFirst,  # pkg/controllers/static/deprovisioning/controller.go
    MakesMachines,
    HasMachines,
):
    """NodePools, and the NodeClaims that it makes of them."""

    machine_kind = Watched(Kind.MACHINE, GROUP, "nodeclaims", ("v1",), api_kind="NodeClaim")
    traits = OwnerTraits(
        name="Karpenter",
        keep_annotation=KEEP,
        marks_all=True,
        node_label=NODE_LABEL,
        pool_kinds=(Watched(Kind.POOL, GROUP, "nodepools", api_kind="NodePool"),),
        watched=(machine_kind,),
        going_taints=(GOING,),
        demand_ways=(DemandWay.BUFFER, DemandWay.PLACEHOLDER, DemandWay.MACHINE),
        kept_reasons=KEPT,
        # karpenter pkg/controllers/nodeclaim/lifecycle/liveness.go
        step_limits={"launched": LAUNCH_SECONDS, "joined": REGISTER_SECONDS},
        taint_words={
            "karpenter.sh/disrupted": "Karpenter is about to replace it",
            "karpenter.sh/disruption": "Karpenter is about to replace it",
        },
        # karpenter-provider-aws charts/karpenter/templates/_helpers.tpl
        log_labels=frozenset({("app.kubernetes.io/name", "karpenter")}),
    )

    # ---- what is its own

    def selector(self, found: PoolObject | None, nodes: Nodes) -> Labels:
        """The label that it puts on every node, whether there is one or not."""
        return ((NODE_LABEL, found.name),) if found is not None else common_labels(found, nodes)

    def template(self, found: PoolObject) -> NodeTemplate:
        """GPUs by its requirements, labels, or the types of machines that it may choose from."""
        told = plain_template(found, self.selector(found, ()))
        return told._replace(gpus=gpus_of(found), most_gpus=most_gpus_of(found), open_prefixes=_OF_TYPES)

    # ---- who decides

    def ownership(self, found: PoolObject | None, nodes: Nodes, truth: StoreReader) -> Ownership:
        """Static pools may be scaled within `limits.nodes`; dynamic ones say who sizes them."""
        if found is None:
            way = "list nodepools.karpenter.sh"
            no = refused(f"a Karpenter NodePool that cannot be read: {way}")
            return Ownership(
                owner=self.traits.name, may_resize=no, may_limit=no, handle=f"the right to {way}"
            )
        resize, demand = through("scale subresource"), refused("a static NodePool: set its number of nodes")
        remove = refused("a static NodePool: a node that is removed is replaced; set its number of nodes")
        if found.replicas is None:
            demand, remove = through("pending pods"), through("deletion of its NodeClaim")
            resize = refused(
                "a dynamic NodePool: Karpenter sizes it from pending pods; submit work, or change its limits"
            )
        return Ownership(
            owner=self.traits.name,
            minimum=found.min_replicas,
            maximum=found.max_replicas,
            may_resize=resize,
            may_limit=through(_LIMITS),
            may_demand=demand,
            may_remove=remove,
        )

    def failures(
        self, found: PoolObject | None, nodes: Nodes, truth: StoreReader, now_seconds: float
    ) -> tuple[PoolFailure, ...]:
        """Of its NodeClaims, of the NodePool, and of NodeClaims that are gone."""
        told = list(of_claims(self.machines(found, nodes, truth), now_seconds))
        if found is not None:
            told += of_pool(found)
            told += of_events(found.name, truth.records(Kind.OWNER_EVENT).values())
        return tuple(told)

    def removal(
        self, node: Node, truth: StoreReader, now_seconds: float, budgets: Budgets = None
    ) -> Removal | None:
        """By the node's taint and the conditions of its NodeClaim, unless something holds it."""
        if not self.traits.knows(node):
            return None
        claim, found = _claim_of(node, truth), self._pool_of(node, truth)
        if (told := going(node, claim)) is not None:
            return told
        held = (
            *self.node_keepers(node, truth, now_seconds, budgets),
            *self.pool_keepers(node, truth, now_seconds),
        )
        return None if any(one.is_sure for one in held) else coming(claim, found, now_seconds)

    def node_keepers(
        self, node: Node, truth: StoreReader, now_seconds: float, budgets: Budgets = None
    ) -> tuple[Keeper, ...]:
        """Its own annotation, those of its pods, their budgets, and what Karpenter says of it."""
        if not self.traits.knows(node) or going(node, None) is not None:
            return ()
        found = self._pool_of(node, truth)
        if budgets is None and found is not None and takes_none(found):
            budgets = {}  # what is not read makes no difference
        return keepers_of_node(node, truth, now_seconds, budgets)

    def pool_keepers(self, node: Node, truth: StoreReader, now_seconds: float) -> tuple[Keeper, ...]:
        """Policy and disruption budgets of its NodePool."""
        found = self._pool_of(node, truth)
        if found is None or going(node, claim := _claim_of(node, truth)) is not None:
            return ()
        return keepers_of_pool(node, claim, found, truth, now_seconds)

    def _pool_of(self, node: Node, truth: StoreReader) -> PoolObject | None:
        return self.traits.object_of(node, tuple(truth.records(Kind.POOL).values()))

    # ---- what would be sent

    def resize_calls(self, found: PoolObject, replicas: int) -> tuple[Call, ...]:
        """One patch of the scale subresource."""
        return scale_calls(found, replicas)

    def takes_for_busy(self, node: Node, truth: StoreReader) -> tuple[Pod, ...]:
        """All but those of DaemonSets, also pods that have ended and static ones, and those of DaemonSets
        that are not to be disrupted: only then comes the node with the least to disrupt, whoever works on it
        (pkg/controllers/static/deprovisioning/controller.go).
        """
        return tuple(
            one
            for one in truth.pods_on(node.name)
            if one.owner_kind != "DaemonSet" or label(one.stay_notes, KEEP)
        )

    def resize_rights(self, found: PoolObject) -> Ways:
        """To patch that."""
        return patch_rights(found, "scale")

    def empty_since(self, node: Node, machine: Machine | None) -> float | None:
        """Consolidatable is true once no pod has come or gone for a while."""
        found = None if machine is None else condition(machine.conditions, "Consolidatable")
        return found.changed_seconds if found is not None and found.status == "True" else None

    def removal_calls(self, found: PoolObject, nodes: Nodes, truth: StoreReader) -> tuple[Call, ...]:
        """The NodeClaims are deleted: Karpenter drains the node and ends the instance. A static pool makes
        another in its place, so its number is lowered: it takes empty nodes first (static-capacity.md)."""
        machines = machines_of(nodes, self.machines(found, nodes, truth))
        if found.replicas is not None:
            return self.resize_calls(found, found.replicas - len(machines))
        return tuple(
            Call(
                method="DELETE",
                path=f"{one.resource_path}/{one.name}",
                body={
                    "apiVersion": "v1",
                    "kind": "DeleteOptions",
                    "preconditions": {"uid": one.uid, "resourceVersion": one.resource_version},
                },
                target=f"nodeclaim {one.name}",
            )
            for one in machines
        )

    def no_room(self, found: PoolObject, nodes: int, gpus: int | None) -> str:
        """Its limits, as Karpenter counts them: what is used by now and what a node would add."""
        return no_room(found, nodes, gpus)

    def limit_lines(self, found: PoolObject) -> tuple[str, ...]:
        """Its limits but that of nodes."""
        words = ", ".join(limit_words(one) for one in found.limits)
        return (f"limits of the NodePool: {words}",) if words else ()

    def page_lines(self, found: PoolObject, nodes: Nodes, now_seconds: float) -> tuple[str, ...]:
        """Its limits, when it takes nodes away, and how many may go now."""
        return (*self.limit_lines(found), *budget_lines(found, nodes, now_seconds))

    def machine_calls(
        self, template: Mapping[str, Any], wish: CapacityWish, names: Sequence[str]
    ) -> tuple[Call, ...]:
        """NodeClaims as it makes them itself from the NodePool, so that it counts them among its own."""
        return claim_calls(template, wish, names)

    def idle_words(self, found: PoolObject | None) -> str:
        """Its `consolidateAfter`."""
        after = found.disruption.after if found is not None and found.disruption is not None else ""
        if after == "Never":
            return "never removes idle nodes on its own (consolidateAfter Never): R gives them back"
        if not after:
            return self.traits.idle_words
        return f"removes nodes later, once they idle for {after} (consolidateAfter)"

    def machine_lines(self, found: PoolObject) -> tuple[str, ...]:
        """It takes them away like any other once they idle."""
        return claim_lines(found)

    def limit_calls(self, found: PoolObject, maximum: int) -> tuple[Call, ...]:
        """`limits.nodes`; other limits stay as they are."""
        return spec_calls(found, {"spec": {"limits": {"nodes": str(maximum)}}})

    def limit_rights(self, found: PoolObject) -> Ways:
        """To patch the NodePool."""
        return patch_rights(found)

    # ---- what is on its way

    def machines(self, found: PoolObject | None, nodes: Nodes, truth: StoreReader) -> tuple[Machine, ...]:
        """NodeClaims of the NodePool; without one those of the nodes."""
        claims = (
            one for one in truth.records(Kind.MACHINE).values() if one.api_version.startswith(f"{GROUP}/")
        )
        if found is not None:
            return in_order(one for one in claims if one.pool_key == found.name)
        names = frozenset(one.name for one in nodes)
        return in_order(one for one in claims if one.node in names)


def _claim_of(node: Node, truth: StoreReader) -> Machine | None:
    claims: Iterable[Machine] = truth.records(Kind.MACHINE).values()
    return next((one for one in claims if one.node == node.name), None)


_COUNTS = (
    "karpenter.k8s.aws/instance-gpu-count",
    "karpenter.azure.com/sku-gpu-count",
    "nvidia.com/gpu.count",
)
GPUS_NOTE = "capacity.cluster-autoscaler.kubernetes.io/gpu-count"
"""The annotation by which other owners tell it of a pool at zero; some sites put it on NodePools as well."""
_GPU = "nvidia.com/gpu"


def gpus_of(found: PoolObject) -> int | None:
    """GPUs of each node where its object says so; None where it leaves more than one number, or none."""
    for key in _COUNTS:
        said = label(found.template_labels, key)
        if said:
            return _whole(said)
        allowed = {one.values for one in found.requirements if one.key == key and one.operator == "In"}
        if len(allowed) == 1 and len(values := next(iter(allowed))) == 1:
            return _whole(values[0])
    return _whole(label(found.annotations, GPUS_NOTE))


def most_gpus_of(found: PoolObject) -> int | None:
    """GPUs of its largest machine type where its object lists how many they have; None where not."""
    listed = [one for one in found.requirements if one.key in _COUNTS and one.operator == "In"]
    return max((_whole(value) or 0 for one in listed for value in one.values), default=None)


def no_room(found: PoolObject, nodes: int, gpus: int | None) -> str:
    """Why so many more nodes would be beyond a limit, "" where they are not, as far as is known."""
    for one in found.limits:
        if one.used is None:
            continue
        more = nodes * gpus if one.resource == _GPU and gpus else 0
        if one.used + more > one.most or (not more and one.used >= one.most):
            return (
                f"limit {limit_words(one)}: Karpenter adds none beyond it; raise spec.limits of the NodePool"
            )
    return ""


def limit_words(one: ResourceLimit) -> str:
    """`nvidia.com/gpu 16 of 32 used`, `cpu 64 of 100 used`, `memory 512 of 1024 GiB used`."""
    each, unit = {"cpu": (1000, ""), "memory": (1 << 30, " GiB")}.get(one.resource, (1, ""))
    used = "?" if one.used is None else f"{one.used / each:.4g}"
    return f"{one.resource} {used} of {one.most / each:.4g}{unit} used"


def _whole(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 4 else None
