"""Seeded random clusters and gangs for the fit and the real kube-scheduler: all that a filter looks at.

Cases share one cluster: each has nodes, a namespace and zones of its own, and its gang selects its nodes.
"""

from dataclasses import dataclass, field
from random import Random
from typing import Any

Tree = dict[str, Any]

ZONE = "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"
RACK = "example.com/rack"
CASE = "example.com/case"
MODEL = "example.com/model"
GPU = "nvidia.com/gpu"
MIG = "nvidia.com/mig-1g.10gb"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


@dataclass(frozen=True)
class FitCase:
    """Objects by what they are; `leaving` and `ended` name pods that are deleted, or have succeeded."""

    number: int
    nodes: list[Tree]
    pods: list[Tree]
    templates: list[tuple[int, Tree]]
    """(members, pod template) of each part of the gang."""
    volumes: list[Tree] = field(default_factory=list)
    claims: list[Tree] = field(default_factory=list)
    leaving: list[str] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)

    @property
    def namespace(self) -> str:
        return f"fit-{self.number}"

    def gang(self) -> list[Tree]:
        """The pods to create."""
        made = []
        for part, (count, template) in enumerate(self.templates):
            for rank in range(count):
                metadata = {
                    **template["metadata"],
                    "name": f"member-{part}-{rank}",
                    "namespace": self.namespace,
                }
                made.append(
                    {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}
                )
        return made


def fit_case(number: int, seed: int, *, unlike: bool = False) -> FitCase:
    """The case of that number; `unlike`: its gang has two kinds of members."""
    random = Random(f"{seed}/{number}/{unlike}")
    zones = [f"{number}-{letter}" for letter in "xyz"[: random.randint(1, 3)]]
    nodes = [_node(random, number, index, zones) for index in range(random.randint(3, 9))]
    names = [one["metadata"]["name"] for one in nodes]
    pods = [_present(random, number, index, names) for index in range(random.randint(0, 9))]
    parts = [(random.choice((1, 2, 2, 3, 4, 6, 8)), _template(random, number))]
    if unlike:
        parts.append((random.randint(1, 3), _template(random, number)))
    case = FitCase(number, nodes, pods, parts)
    for one in pods:
        fate = random.random()
        if fate < 0.08:
            case.leaving.append(one["metadata"]["name"])
        elif fate < 0.16:
            case.ended.append(one["metadata"]["name"])
    if random.random() < 0.15:
        _give_claim(random, case, zones, names)
    return case


def _node(random: Random, number: int, index: int, zones: list[str]) -> Tree:
    name = f"n{number}-{index}"
    labels = {CASE: str(number), HOST: name, RACK: f"{number}-r{index % 3}", "example.com/rank": str(index)}
    if random.random() < 0.93:
        labels[ZONE] = random.choice(zones)
    labels[MODEL] = random.choice(("a100", "h100"))
    offered = {
        "cpu": random.choice(("4", "16", "32")),
        "memory": random.choice(("16Gi", "64Gi", "256Gi")),
        "pods": random.choice(("110", "110", "110", "4")),
        "ephemeral-storage": "100Gi",
    }
    if random.random() < 0.85:
        offered[GPU] = random.choice(("1", "2", "4", "8", "8"))
    if random.random() < 0.2:
        offered[MIG] = random.choice(("2", "7"))
    if random.random() < 0.3:
        offered["rdma/hca"] = "2"
    spec: Tree = {"taints": []}
    ready = "True"
    fate = random.random()
    if fate < 0.06:
        spec["unschedulable"] = True
    elif fate < 0.11:
        ready = "False"
        spec["taints"].append({"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"})
    if random.random() < 0.5:
        spec["taints"].append({"key": GPU, "value": "present", "effect": "NoSchedule"})
    if random.random() < 0.1:
        effect = random.choice(("NoSchedule", "NoExecute", "PreferNoSchedule"))
        spec["taints"].append({"key": "dedicated", "value": random.choice(("a", "b")), "effect": effect})
    condition = {"type": "Ready", "status": ready, "reason": "Kubelet", "message": ""}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": spec,
        "status": {"capacity": offered, "allocatable": offered, "conditions": [condition]},
    }


def _container(requests: dict[str, str], ports: list[Tree]) -> Tree:
    limits = {key: value for key, value in requests.items() if "/" in key}
    return {
        "name": "main",
        "image": "example/train:1",
        "resources": {"requests": requests, "limits": limits},
        "ports": ports,
    }


def _port(random: Random) -> Tree:
    number = random.choice((22, 2222))
    one: Tree = {"containerPort": number, "hostPort": number}
    if random.random() < 0.3:
        one["hostIP"] = random.choice(("10.0.0.1", "10.0.0.2"))
    if random.random() < 0.2:
        one["protocol"] = "UDP"
    return one


def _term(random: Random) -> Tree:
    key = random.choice((HOST, HOST, ZONE, RACK))
    term: Tree = {"topologyKey": key, "labelSelector": _selector(random)}
    if random.random() < 0.1:
        term["namespaceSelector"] = {}
    return term


def _selector(random: Random) -> Tree:
    fate = random.random()
    app = random.choice("abc")
    if fate < 0.7:
        return {"matchLabels": {"app": app}}
    if fate < 0.85:
        return {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": [app]}]}
    return {"matchExpressions": [{"key": "app", "operator": "In", "values": [app, "c"]}]}


def _present(random: Random, number: int, index: int, names: list[str]) -> Tree:
    requests = {"cpu": random.choice(("100m", "1", "3"))}
    if random.random() < 0.6:
        requests[GPU] = random.choice(("1", "1", "2", "4"))
    if random.random() < 0.1:
        requests[random.choice((MIG, "rdma/hca"))] = "1"
    if random.random() < 0.2:
        requests["ephemeral-storage"] = "30Gi"
    spec: Tree = {
        "nodeName": random.choice(names),
        "terminationGracePeriodSeconds": 3600,
        "containers": [_container(requests, [_port(random)] if random.random() < 0.1 else [])],
    }
    if random.random() < 0.12:
        spec["affinity"] = {"podAntiAffinity": {REQUIRED: [_term(random)]}}
    labels = {"app": random.choice("abc")} if random.random() < 0.8 else {}
    metadata = {"name": f"there-{index}", "namespace": f"fit-{number}", "labels": labels}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _template(random: Random, number: int) -> Tree:
    requests = {
        "cpu": random.choice(("100m", "1", "2", "4")),
        "memory": random.choice(("1Gi", "8Gi", "40Gi")),
    }
    if random.random() < 0.8:
        requests[GPU] = random.choice(("1", "1", "1", "2", "2", "4", "8"))
    if random.random() < 0.06:
        requests[random.choice((MIG, "rdma/hca"))] = "1"
    if random.random() < 0.1:
        requests["ephemeral-storage"] = "30Gi"
    containers = [_container(requests, [_port(random)] if random.random() < 0.1 else [])]
    spec: Tree = {"containers": containers, "nodeSelector": {CASE: str(number)}}
    if random.random() < 0.1:
        spec["initContainers"] = [{**_container({"cpu": "3"}, []), "name": "first"}]
    if random.random() < 0.15:
        spec["nodeSelector"][MODEL] = "h100"
    if random.random() < 0.9:
        spec["tolerations"] = [{"key": GPU, "operator": "Exists"}]
    if random.random() < 0.1:
        one = {"key": "dedicated", "operator": "Equal", "value": "a", "effect": "NoSchedule"}
        spec.setdefault("tolerations", []).append(one)
    affinity: Tree = {}
    if random.random() < 0.15:
        affinity["nodeAffinity"] = {REQUIRED: {"nodeSelectorTerms": _node_terms(random, number)}}
    if random.random() < 0.2:
        affinity["podAntiAffinity"] = {REQUIRED: [_term(random)]}
    if random.random() < 0.12:
        affinity["podAffinity"] = {REQUIRED: [_term(random)]}
    if affinity:
        spec["affinity"] = affinity
    if random.random() < 0.25:
        keys = random.sample((ZONE, HOST, RACK), random.choice((1, 1, 1, 2)))
        spec["topologySpreadConstraints"] = [_spread(random, key) for key in keys]
    labels = {"app": random.choice("abc")} if random.random() < 0.9 else {}
    return {"metadata": {"labels": labels}, "spec": spec}


def _spread(random: Random, key: str) -> Tree:
    one: Tree = {
        "maxSkew": random.choice((1, 1, 2)),
        "topologyKey": key,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": _selector(random),
    }
    if random.random() < 0.15:
        one["minDomains"] = random.choice((2, 3))
    if random.random() < 0.15:
        one["nodeTaintsPolicy"] = "Honor"
    return one


def _node_terms(random: Random, number: int) -> list[Tree]:
    choices: list[Tree] = [
        {"matchExpressions": [{"key": MODEL, "operator": "NotIn", "values": ["a100"]}]},
        {"matchExpressions": [{"key": "example.com/rank", "operator": "Gt", "values": ["1"]}]},
        {"matchExpressions": [{"key": ZONE, "operator": "Exists"}]},
        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [f"n{number}-0"]}]},
        {
            "matchExpressions": [
                {"key": "example.com/rank", "operator": "Lt", "values": ["4"]},
                {"key": RACK, "operator": "In", "values": [f"{number}-r0", f"{number}-r1"]},
            ]
        },
    ]
    return random.sample(choices, random.choice((1, 1, 2)))


def _give_claim(random: Random, case: FitCase, zones: list[str], names: list[str]) -> None:
    """A claim for every member: bound to a volume in a zone or on some nodes, unbound, or not there."""
    _, template = case.templates[0]
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
    template["spec"]["volumes"] = [volume]
    kind = random.choice(("zone", "nodes", "nodes", "zone", "unbound", "missing", "single"))
    if kind == "missing":
        return
    name = f"v{case.number}"
    modes = ["ReadWriteOncePod"] if kind == "single" else ["ReadWriteMany"]
    claim: Tree = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data", "namespace": case.namespace},
        "spec": {
            "accessModes": modes,
            "resources": {"requests": {"storage": "1Gi"}},
            "storageClassName": "",
        },
    }
    case.claims.append(claim)
    if kind == "unbound":
        return
    claim["spec"]["volumeName"] = name
    claim["metadata"]["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
    claim["status"] = {"phase": "Bound"}
    spec: Tree = {
        "accessModes": modes,
        "capacity": {"storage": "1Gi"},
        "storageClassName": "",
        "csi": {"driver": "csi.example.com", "volumeHandle": name},
    }
    labels = {}
    if kind == "zone":
        labels[ZONE] = random.choice(zones)
    elif kind == "nodes":
        some = random.sample(names, random.randint(1, len(names)))
        expression = {"key": HOST, "operator": "In", "values": some}
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}
    metadata = {"name": name, "labels": labels}
    case.volumes.append({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": metadata, "spec": spec})
