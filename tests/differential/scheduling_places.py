"""Situations about where a pod may go: resources, taints, labels, ports, company, spreads."""

from tests.differential.scheduling_situations import (
    HOST,
    ZONE,
    Situation,
    Tree,
    named,
    near,
    node,
    on_nodes,
    pod,
    port,
    spread,
)

A, B, C = {ZONE: "a"}, {ZONE: "b"}, {ZONE: "c"}


WEB = {"app": "web"}


OPERATOR_GT = {"key": "gpu-count", "operator": "Gt", "values": ["4"]}


def zones(**more: object) -> list[Tree]:
    """Three nodes in two zones."""
    return [node("a1", labels=A), node("a2", labels=A), node("b1", labels=B)]


RESOURCES = [
    Situation("cpu beyond every node", "3 Insufficient cpu", pod(cpu="9"), zones()),
    Situation(
        "GPUs taken by equals",
        "No preemption victims found",
        pod(gpus=1),
        [node("g1", gpus=1), node("g2", gpus=1)],
        [pod("p1", gpus=1, on="g1"), pod("p2", gpus=1, on="g2")],
    ),
    Situation(
        "more GPUs than any node has", "Insufficient nvidia.com/gpu", pod(gpus=8), [node("g1", gpus=4)]
    ),
    Situation(
        "GPUs taken here, too few there",
        "1 No preemption victims found for incoming pod, 1 Preemption is not helpful",
        pod(gpus=4),
        [node("g1", gpus=4), node("g2", gpus=2)],
        [pod("p1", gpus=1, on="g1")],
    ),
    Situation(
        "cpu on one, memory on the other",
        "1 Insufficient cpu, 1 Insufficient memory",
        pod(cpu="4", memory="8Gi"),
        [node("n1", cpu="2"), node("n2", memory="4Gi")],
    ),
    Situation(
        "two resources short on one node",
        "1 Insufficient cpu, 1 Insufficient memory, 1 Insufficient nvidia.com/gpu",
        pod(cpu="4", memory="8Gi", gpus=1),
        [node("n1", cpu="2", memory="4Gi")],
    ),
    Situation(
        "too many pods",
        "Too many pods",
        pod(),
        [node("n1", pods="1")],
        [pod("p1", on="n1")],
    ),
    Situation(
        "no room for any pod and no cpu",
        "1 Insufficient cpu, 1 Too many pods",
        pod(cpu="9"),
        [node("n1", pods="0")],
    ),
    Situation(
        "local storage",
        "Insufficient ephemeral-storage",
        pod(more={"ephemeral-storage": "20Gi"}),
        [node("n1", more={"ephemeral-storage": "10Gi"})],
    ),
    Situation(
        "huge pages",
        "Insufficient hugepages-2Mi",
        pod(cpu="1", more={"hugepages-2Mi": "64Mi"}),
        [node("n1", more={"hugepages-2Mi": "32Mi"})],
    ),
    Situation(
        "a slice where only whole cards are",
        "2 Insufficient nvidia.com/mig-1g.10gb",
        pod(more={"nvidia.com/mig-1g.10gb": "1"}),
        [node("g1", gpus=8), node("g2", gpus=8)],
    ),
    Situation(
        "an init container asks the most",
        "Insufficient cpu",
        pod(
            cpu="1",
            initContainers=[{"name": "i", "image": "example/i:1", "resources": {"requests": {"cpu": "9"}}}],
        ),
        [node("n1")],
    ),
    Situation(
        "a sidecar counts beside the containers",
        "Insufficient cpu",
        pod(
            cpu="5",
            initContainers=[
                {
                    "name": "s",
                    "image": "example/s:1",
                    "restartPolicy": "Always",
                    "resources": {"requests": {"cpu": "4"}},
                }
            ],
        ),
        [node("n1")],
    ),
    Situation(
        "fractions add up",
        "Insufficient cpu",
        pod(cpu="1500m"),
        [node("n1", cpu="2")],
        [pod("p1", cpu="501m", on="n1")],
    ),
    Situation("the one node with room", "", pod(gpus=2), [node("g1", gpus=1), node("g2", gpus=2)]),
    Situation("no node at all", "no nodes available to schedule pods", pod()),
]


GPU_TAINT = "nvidia.com/gpu=present:NoSchedule"


TAINTS = [
    Situation(
        "a taint", "1 node(s) had untolerated taint(s)", pod(), [node("g1", gpus=1, taints=[GPU_TAINT])]
    ),
    Situation(
        "a toleration of another value",
        "untolerated taint(s)",
        pod(
            tolerations=[
                {"key": "nvidia.com/gpu", "operator": "Equal", "value": "no", "effect": "NoSchedule"}
            ]
        ),
        [node("g1", taints=[GPU_TAINT])],
    ),
    Situation(
        "a toleration of another effect",
        "untolerated taint(s)",
        pod(tolerations=[{"key": "dead", "operator": "Exists", "effect": "NoSchedule"}]),
        [node("n1", taints=["dead=:NoExecute"])],
    ),
    Situation("a preference is no refusal", "", pod(), [node("n1", taints=["slow=yes:PreferNoSchedule"])]),
    Situation(
        "tolerated",
        "",
        pod(tolerations=[{"operator": "Exists"}]),
        [node("g1", taints=[GPU_TAINT, "x=:NoExecute"])],
    ),
    Situation("cordoned", "1 node(s) were unschedulable", pod(), [node("n1", cordoned=True)]),
    Situation(
        "cordoned and tolerated",
        "",
        pod(tolerations=[{"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}]),
        [node("n1", cordoned=True)],
    ),
    Situation(
        "cordon, taint, selector and cpu, a node each",
        "1 Insufficient cpu",
        pod(cpu="9", nodeSelector={"pool": "gpu"}),
        [
            node("n1", cordoned=True, labels={"pool": "gpu"}),
            node("n2", taints=[GPU_TAINT], labels={"pool": "gpu"}),
            node("n3"),
            node("n4", labels={"pool": "gpu"}),
        ],
    ),
]


LABELS = [
    Situation(
        "selector", "didn't match Pod's node affinity/selector", pod(nodeSelector={"pool": "x"}), zones()
    ),
    Situation(
        "affinity by number",
        "2 node(s) didn't match Pod's node affinity/selector",
        pod(affinity=on_nodes({"matchExpressions": [OPERATOR_GT]})),
        [node("n1", labels={"gpu-count": "4"}), node("n2")],
    ),
    Situation(
        "affinity: any term suffices",
        "",
        pod(
            affinity=on_nodes(
                {"matchExpressions": [{"key": "pool", "operator": "In", "values": ["x"]}]},
                {"matchExpressions": [{"key": "pool", "operator": "DoesNotExist"}]},
            )
        ),
        [node("n1", labels={"pool": "y"}), node("n2")],
    ),
    Situation(
        "bound by name to a full node",
        "node(s) didn't satisfy plugin(s) [NodeAffinity]",
        pod(cpu="9", affinity=on_nodes({"matchFields": [named("a1")]})),
        zones(),
    ),
    Situation(
        "bound by name to no node",
        "didn't satisfy plugin(s) [NodeAffinity]",
        pod(affinity=on_nodes({"matchFields": [named("gone")]})),
        zones(),
    ),
    Situation(
        "bound to two names at once",
        "pod affinity terms conflict",
        pod(affinity=on_nodes({"matchFields": [named("a1"), named("b1")]})),
        zones(),
    ),
]


PORTS = [
    Situation(
        "host port taken",
        "didn't have free ports",
        pod(ports=[port(8080)]),
        [node("n1")],
        [pod("p1", on="n1", ports=[port(8080)])],
    ),
    Situation(
        "host port on every address",
        "didn't have free ports",
        pod(ports=[port(8080)]),
        [node("n1")],
        [pod("p1", on="n1", ports=[port(8080, "10.0.0.1")])],
    ),
    Situation(
        "same port, other address",
        "",
        pod(ports=[port(8080, "10.0.0.2")]),
        [node("n1")],
        [pod("p1", on="n1", ports=[port(8080, "10.0.0.1")])],
    ),
    Situation(
        "same port, other protocol",
        "",
        pod(ports=[port(8080, protocol="UDP")]),
        [node("n1")],
        [pod("p1", on="n1", ports=[port(8080)])],
    ),
]


COMPANY = [
    Situation(
        "away from its like",
        "2 node(s) didn't match pod anti-affinity rules",
        pod(labels=WEB, affinity=near("web", away=True)),
        [node("n1"), node("n2")],
        [pod("p1", on="n1", labels=WEB), pod("p2", on="n2", labels=WEB)],
    ),
    Situation("near nobody", "3 node(s) didn't match pod affinity rules", pod(affinity=near("web")), zones()),
    Situation("the first of its kind", "", pod(labels=WEB, affinity=near("web")), [node("n1")]),
    Situation(
        "near one that has no room",
        "1 Insufficient cpu, 1 node(s) didn't match pod affinity rules",
        pod(cpu="6", affinity=near("web")),
        [node("n1"), node("n2")],
        [pod("p1", on="n1", cpu="4", labels=WEB)],
    ),
    Situation(
        "near, but the label is missing",
        "didn't match pod affinity rules",
        pod(affinity=near("web", "rack")),
        [node("n1")],
        [pod("p1", on="n1", labels=WEB)],
    ),
    Situation(
        "not welcome",
        "didn't satisfy existing pods anti-affinity rules",
        pod(labels=WEB),
        [node("a1", labels=A), node("a2", labels=A)],
        [pod("p1", on="a1", affinity=near("web", ZONE, away=True))],
    ),
    Situation(
        "away across all namespaces",
        "anti-affinity rules",
        pod(affinity=near("web", away=True, namespaceSelector={})),
        [node("n1")],
        [pod("p1", on="n1", labels=WEB)],
    ),
]


SPREADS = [
    Situation(
        "skew",
        "2 node(s) didn't match pod topology spread constraints",
        pod(cpu="5", labels=WEB, topologySpreadConstraints=spread("web")),
        zones(),
        [pod("p1", on="a1", labels=WEB), pod("p2", on="b1", cpu="4")],
    ),
    Situation(
        "skew, label missing",
        "1 node(s) didn't match pod topology spread constraints (missing required label)",
        pod(cpu="9", labels=WEB, topologySpreadConstraints=spread("web")),
        [node("n1", cpu="16"), node("a1", labels=A)],
    ),
    Situation(
        "fewer domains than asked",
        "didn't match pod topology spread constraints",
        pod(labels=WEB, topologySpreadConstraints=spread("web", minDomains=3)),
        zones(),
        [pod("p1", on="a1", labels=WEB), pod("p2", on="b1", labels=WEB)],
    ),
    Situation(
        "a tainted domain does not count",
        "",
        pod(labels=WEB, topologySpreadConstraints=spread("web", nodeTaintsPolicy="Honor")),
        [node("a1", labels=A), node("c1", labels=C, taints=[GPU_TAINT])],
        [pod("p1", on="a1", labels=WEB)],
    ),
    Situation(
        "a tainted domain counts",
        "untolerated taint(s)",
        pod(labels=WEB, topologySpreadConstraints=spread("web")),
        [node("a1", labels=A), node("c1", labels=C, taints=[GPU_TAINT])],
        [pod("p1", on="a1", labels=WEB)],
    ),
    Situation(
        "spread over hosts by a label of its own",
        "",
        pod(
            labels={"app": "web", "rev": "2"},
            topologySpreadConstraints=spread("web", HOST, matchLabelKeys=["rev"]),
        ),
        [node("n1")],
        [pod("p1", on="n1", labels={"app": "web", "rev": "1"})],
    ),
]
