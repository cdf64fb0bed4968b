"""Situations about volumes, preemption and which of several nodes is chosen."""

from tests.differential.scheduling_places import GPU_TAINT, WEB, A, C, zones
from tests.differential.scheduling_situations import (
    Situation,
    Tree,
    budget,
    claim,
    near,
    node,
    pod,
    storage_class,
    volume,
)

STATIC = storage_class("static", provisioner="kubernetes.io/no-provisioner")


VOLUMES = [
    Situation("no such claim", 'persistentvolumeclaim "data" not found', pod(claim="data"), zones()),
    Situation(
        "unbound, immediate",
        "pod has unbound immediate PersistentVolumeClaims",
        pod(claim="data"),
        zones(),
        objects=[
            storage_class("now", provisioner="example.com/csi", waits=False),
            claim("data", storage_class="now"),
        ],
    ),
    Situation(
        "unbound, no such class",
        "pod has unbound immediate",
        pod(claim="data"),
        zones(),
        objects=[claim("data", storage_class="nowhere")],
    ),
    Situation(
        "claim lost its volume",
        'bound to non-existent persistentvolume "v1"',
        pod(claim="data"),
        zones(),
        objects=[claim("data", volume="v1", phase="Lost")],
    ),
    Situation(
        "claim is being deleted",
        'persistentvolumeclaim "data" is being deleted',
        pod(claim="data"),
        zones(),
        objects=[claim("data", volume="v1"), volume("v1", phase="Bound")],
        going=["data"],
    ),
    Situation(
        "volume bound elsewhere",
        "2 node(s) didn't match PersistentVolume's node affinity",
        pod(cpu="9", claim="data"),
        [node("a1", cpu="16"), node("a2", cpu="16"), node("b1")],
        objects=[claim("data", volume="v1"), volume("v1", nodes=["b1"], phase="Bound")],
    ),
    Situation(
        "claim names a volume that is gone",
        "v1",
        pod(claim="data"),
        zones(),
        objects=[claim("data", volume="v1")],
    ),
    Situation(
        "volume of another zone",
        "node(s) had no available volume zone",
        pod(claim="data"),
        [node("a1", labels=A)],
        objects=[claim("data", volume="v1"), volume("v1", zone="b", phase="Bound")],
    ),
    Situation(
        "volume of several zones",
        "",
        pod(claim="data"),
        [node("a1", labels=A), node("c1", labels=C)],
        objects=[claim("data", volume="v1"), volume("v1", zone="b__c", phase="Bound")],
    ),
    Situation(
        "nothing to bind on first use",
        "3 node(s) didn't find available persistent volumes to bind",
        pod(claim="data"),
        zones(),
        objects=[STATIC, claim("data", storage_class="static")],
    ),
    Situation(
        "a volume to bind, on a full node",
        "1 Insufficient cpu, 2 node(s) didn't find available persistent volumes to bind",
        pod(cpu="9", claim="data"),
        [node("a1", cpu="16"), node("a2", cpu="16"), node("b1")],
        objects=[
            STATIC,
            claim("data", storage_class="static"),
            volume("v1", nodes=["b1"], storage_class="static"),
        ],
    ),
    Situation(
        "provisioned elsewhere only",
        "didn't find available persistent volumes to bind",
        pod(claim="data"),
        zones(),
        objects=[
            storage_class("zoned", provisioner="example.com/csi", zones=["c"]),
            claim("data", storage_class="zoned"),
        ],
    ),
    Situation(
        "claim for one pod, in use",
        "ReadWriteOncePod",
        pod(claim="data"),
        [node("n1"), node("n2")],
        [pod("p1", on="n1", claim="data")],
        objects=[claim("data", volume="v1", mode="ReadWriteOncePod"), volume("v1", phase="Bound")],
    ),
    Situation(
        "a claim of its own is awaited",
        "waiting for ephemeral volume controller",
        pod(
            volumes=[
                {
                    "name": "scratch",
                    "ephemeral": {
                        "volumeClaimTemplate": {
                            "spec": {
                                "accessModes": ["ReadWriteOnce"],
                                "resources": {"requests": {"storage": "1Gi"}},
                            }
                        }
                    },
                }
            ]
        ),
        zones(),
    ),
]


PREEMPTION = [
    Situation(
        "victims make room",
        "1 Insufficient nvidia.com/gpu",
        pod(gpus=1, priority="words-high"),
        [node("g1", gpus=1)],
        [pod("p1", gpus=1, on="g1")],
    ),
    Situation(
        "victims do not make enough room",
        "preemption: 0/1 nodes are available: 1 Insufficient nvidia.com/gpu",
        pod(gpus=2, priority="words-high"),
        [node("g1", gpus=2)],
        [pod("p1", gpus=1, on="g1"), pod("p2", gpus=1, on="g1", priority="words-high")],
    ),
    Situation(
        "not allowed to preempt",
        "not eligible due to preemptionPolicy=Never.",
        pod(gpus=1, priority="words-never"),
        [node("g1", gpus=1)],
        [pod("p1", gpus=1, on="g1")],
    ),
    Situation(
        "victims on one, taint on another, equals on a third",
        "preemption: 0/3 nodes are available",
        pod(gpus=2, priority="words-high"),
        [node("g1", gpus=2), node("g2", gpus=2, taints=[GPU_TAINT]), node("g3", gpus=2)],
        [
            pod("p1", gpus=1, on="g1"),
            pod("p2", gpus=1, on="g1", priority="words-high"),
            pod("p3", gpus=2, on="g3", priority="words-high"),
        ],
    ),
    Situation(
        "a budget is no wall",
        "1 Insufficient nvidia.com/gpu",
        pod(gpus=1, priority="words-high"),
        [node("g1", gpus=1)],
        [pod("p1", gpus=1, on="g1", labels=WEB)],
        objects=[budget("web", 1)],
    ),
    Situation(
        "anti-affinity with one less important",
        "didn't match pod anti-affinity rules",
        pod(priority="words-high", labels=WEB, affinity=near("web", away=True)),
        [node("n1")],
        [pod("p1", on="n1", labels=WEB)],
    ),
    Situation(
        "room is being made for another",
        "1 Insufficient nvidia.com/gpu",
        pod(gpus=1, priority="words-high"),
        [node("g1", gpus=1)],
        [pod("p1", gpus=1, on="g1")],
        waiting=[pod("first", gpus=1, priority="words-high")],
    ),
    Situation(
        "less important than one that waits for room",
        "No preemption victims found",
        pod(gpus=1),
        [node("g1", gpus=2)],
        [pod("p1", gpus=1, on="g1"), pod("p2", gpus=1, on="g1")],
        waiting=[pod("first", gpus=1, priority="words-high")],
    ),
]


GPU_POOL = {"pool": "gpu"}


IN_POOL = {"matchExpressions": [{"key": "pool", "operator": "In", "values": ["gpu"]}]}


SLOW = "slow=yes:PreferNoSchedule"


def wished(weight: int) -> Tree:
    """Preferred node affinity to the pool `gpu`."""
    return {
        "nodeAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": weight, "preference": IN_POOL}]
        }
    }


CHOICES = [
    Situation(
        "the emptier node",
        "",
        pod(cpu="1", memory="1Gi"),
        [node("n1"), node("n2")],
        [pod("p1", cpu="4", memory="16Gi", on="n1")],
    ),
    Situation(
        "the larger node",
        "",
        pod(cpu="2", memory="8Gi"),
        [node("n1", cpu="4", memory="16Gi"), node("n2", cpu="64", memory="256Gi")],
    ),
    Situation(
        "the node that gets balanced",
        "",
        pod(cpu="2", memory="1Gi"),
        [node("n1"), node("n2")],
        [pod("p1", cpu="4", memory="1Gi", on="n1"), pod("p2", cpu="1", memory="13Gi", on="n2")],
    ),
    Situation(
        "a small wish beats an empty node",
        "",
        pod(cpu="1", affinity=wished(1)),
        [node("n1"), node("n2", labels=GPU_POOL)],
        [pod("p1", cpu="6", memory="24Gi", on="n2")],
    ),
    Situation(
        "a soft taint is avoided",
        "",
        pod(cpu="1"),
        [node("n1", taints=[SLOW]), node("n2")],
        [pod("p1", cpu="6", memory="24Gi", on="n2")],
    ),
    Situation(
        "a soft taint that is tolerated",
        "",
        pod(cpu="1", memory="1Gi", tolerations=[{"key": "slow", "operator": "Exists"}]),
        [node("n1", taints=[SLOW]), node("n2")],
        [pod("p1", cpu="6", memory="24Gi", on="n2")],
    ),
    Situation(
        "a wish against a soft taint",
        "",
        pod(cpu="1", affinity=wished(100)),
        [node("n1", taints=[SLOW], labels=GPU_POOL), node("n2")],
    ),
]
