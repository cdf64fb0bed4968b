"""Karpenter is the autoscaler: its own words, and machines that it really makes."""

from functools import partial

from tests.bed import karpenter_objects as objects
from tests.bed.karpenter import EIGHT, GPUS_AFTER, ONE
from tests.bed.karpenter_objects import POOL_LABEL
from tests.triage.builders import GPU, ask, fill, is_up, neighbours, pod_spec, pool, refused, run, told
from tests.triage.case import Tree
from tests.triage.stage import Expected, Seen, Stage, script

KARPENTER = "karpenter"
PARTS = frozenset({KARPENTER})
CLAIMS = "nodeclaims.karpenter.sh"
NEVER = "10h"


def elastic(
    stage: Stage,
    *,
    machine: str = EIGHT,
    limit: int | None = None,
    registers_after: str = "1s",
    gpus_after: str = "1s",
) -> str:
    """A NodePool that demand grows, with its class of machines; its name, once Karpenter takes it."""
    name = stage.draw.word("elastic", "burst", "gpu-pool")
    made = objects.node_pool(
        name,
        machines=(machine,),
        limits=None if limit is None else {GPU: str(limit)},
        gpus_after=gpus_after,
        gpus_each=8 if machine == EIGHT else 1,
        class_name=name,
    )
    stage.make(objects.node_class(name, registers_after=registers_after), made)
    stage.until("nodepools.karpenter.sh", partial(is_so, name, "Ready"))
    return name


def is_so(name: str, condition: str, tree: Tree) -> bool:
    """Whether the object of this name has this condition."""
    said = (tree.get("status") or {}).get("conditions") or []
    is_it = tree["metadata"]["name"] == name
    return is_it and any(one["type"] == condition and one["status"] == "True" for one in said)


def claimed(name: str, condition: str = "") -> Seen:
    """Whether a tree is a NodeClaim of this pool, with this condition."""

    def is_its(tree: Tree) -> bool:
        labels = tree["metadata"].get("labels") or {}
        own = tree["metadata"]["name"]
        return labels.get(POOL_LABEL) == name and (not condition or is_so(own, condition, tree))

    return is_its


def others(stage: Stage) -> tuple[str, ...]:
    """By draw full nodes that Karpenter has nothing to do with; the row that holds besides."""
    neighbours(stage)
    if stage.draw.chance(0.5):
        fill(stage, pool(stage), 8)
        return ("gpus-short",)
    pool(stage, count=1, gpus=0)
    return ()


@script("pool-at-maximum", "node-pool-at-its-limit", KARPENTER, parts=PARTS)
def at_its_limit(stage: Stage) -> Expected:
    """The limit of the NodePool allows no further machine: none at all, or none beside one that is full."""
    others(stage)
    has_one = stage.draw.chance(0.5)
    name = elastic(stage, limit=8 if has_one else 4)
    if has_one:
        run(stage, pod_spec(gpus=8))
    subject = ask(stage, pod_spec(gpus=stage.draw.one_of(4, 8)))
    told(stage, "FailedScheduling", "exceed limits")
    refused(stage, "nodes are available", subject)
    return Expected(subject, (name,))


@script("node-coming", "machine-launched", KARPENTER, parts=PARTS)
def launched(stage: Stage) -> Expected:
    """The machine is there, and its kubelet has not spoken yet."""
    others(stage)
    name = elastic(stage, registers_after=NEVER)
    subject = ask(stage, pod_spec(gpus=stage.draw.one_of(4, 8)))
    stage.until(CLAIMS, claimed(name, "Launched"))
    told(stage, "Nominated", "nodeclaim/")
    refused(stage, "nodes are available", subject)
    return Expected(subject, (name,))


@script("node-coming", "gpus-to-come", KARPENTER, parts=PARTS)
def gpus_to_come(stage: Stage) -> Expected:
    """The machine has joined and is Ready; its driver is still being installed."""
    others(stage)
    name = elastic(stage, gpus_after=NEVER)
    subject = ask(stage, pod_spec(gpus=stage.draw.one_of(4, 8)))
    node = stage.until("nodes", partial(joined, name))
    told(stage, "Nominated", "nodeclaim/")
    refused(stage, "Insufficient nvidia.com/gpu", subject)
    return Expected(subject, (str(node["metadata"]["name"]),), later_seconds=240)


def joined(pool_name: str, tree: Tree) -> bool:
    """A Ready node of this NodePool."""
    metadata = tree["metadata"]
    is_its = metadata.get("labels", {}).get(POOL_LABEL) == pool_name
    return is_its and GPUS_AFTER in metadata.get("annotations", {}) and is_up(tree)


@script("no-machine", "no-machine-large-enough", KARPENTER, parts=PARTS)
def none_large_enough(stage: Stage) -> Expected:
    """Machines of the only NodePool have one GPU."""
    neighbours(stage)
    fill(stage, pool(stage), 8)
    elastic(stage, machine=ONE)
    subject = ask(stage, pod_spec(gpus=stage.draw.one_of(2, 4, 8)))
    told(stage, "FailedScheduling", "no instance type")
    refused(stage, "Insufficient nvidia.com/gpu", subject)
    return Expected(subject, ("machine type|instance type",), ("gpus-short",))


@script("no-machine", "pool-of-another-label", KARPENTER, parts=PARTS)
def of_another_label(stage: Stage) -> Expected:
    """It asks for the nodes of a pool that is full; the NodePool that could grow has not their label."""
    neighbours(stage)
    key, value = stage.draw.one_of("tier", "example.com/island"), stage.draw.word("gold", "quiet")
    fill(stage, pool(stage, labels={key: value}), 8)
    elastic(stage)
    subject = ask(stage, pod_spec(gpus=stage.draw.one_of(4, 8), nodeSelector={key: value}))
    told(stage, "FailedScheduling", "incompatible requirements")
    refused(stage, "Insufficient nvidia.com/gpu", subject)
    return Expected(subject, (key,), ("gpus-short",))


@script("no-machine", "cloud-is-out-of-them", KARPENTER, parts=PARTS)
def out_of_them(stage: Stage) -> Expected:
    """The cloud has no such machine: every NodeClaim fails at its launch and is deleted, and a new one made.

    The provider has no stockout of its own; it calls a class of machines that does not exist one.
    """
    others(stage)
    name = elastic(stage)
    stage.make(*objects.stockout(name))
    stage.until("mutatingadmissionpolicybindings.admissionregistration.k8s.io", lambda _: True)
    subject = ask(stage, pod_spec(gpus=stage.draw.one_of(4, 8)))
    said = stage.until(
        "events",
        lambda one: one["reason"] == "InsufficientCapacityError" and name in one["involvedObject"]["name"],
        space="default",
    )
    stage.until_gone(CLAIMS, said["involvedObject"]["name"])
    told(stage, "Nominated", "nodeclaim/")
    refused(stage, "nodes are available", subject)
    return Expected(subject, (name,))
