"""Pods that fit nowhere, what happens then, and that they are placed without being touched."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from tests.differential.scheduling_situations import (
    HOST,
    SPACE,
    ZONE,
    Situation,
    Tree,
    claim,
    near,
    node,
    on_nodes,
    pod,
    port,
    spread,
    volume,
)


class Create(NamedTuple):
    """An object comes."""

    tree: Tree


class Merge(NamedTuple):
    """An object is changed by a merge patch."""

    kind: str
    name: str
    patch: Tree
    subresource: str = ""


class Delete(NamedTuple):
    """An object goes at once."""

    kind: str
    name: str


Step = Create | Merge | Delete


@dataclass(frozen=True)
class Wake:
    """A situation, the steps that cure it, and the node that the pod gets."""

    situation: Situation
    steps: tuple[Step, ...]
    node: str

    @property
    def name(self) -> str:
        return self.situation.name


def _wake(name: str, asked: Tree, nodes: list[Tree], *steps: Step, node: str = "n1", **more: Any) -> Wake:
    return Wake(Situation(name, "0/", asked, nodes, **more), steps, node)


WEB = {"app": "web"}
TAINT = "dedicated=other:NoSchedule"
EXPRESSION = {"key": "pool", "operator": "In", "values": ["gpu"]}
NO_TAINT = {"spec": {"taints": None}}
OPEN = {"spec": {"unschedulable": None}}
OUTAGES = [
    {
        "key": f"node.kubernetes.io/{key}",
        "operator": "Exists",
        "effect": "NoExecute",
        "tolerationSeconds": 300,
    }
    for key in ("not-ready", "unreachable")
]
SHOWN = {"status": {"allocatable": {"nvidia.com/gpu": "1"}, "capacity": {"nvidia.com/gpu": "1"}}}

WAKES = [
    _wake("a node arrives", pod(gpus=1), [node("n0")], Create(node("n1", gpus=1))),
    _wake("a node shows its GPUs", pod(gpus=1), [node("n1")], Merge("Node", "n1", SHOWN, "status")),
    _wake(
        "a pod ends",
        pod(gpus=1),
        [node("n1", gpus=1)],
        Delete("Pod", "p1"),
        placed=[pod("p1", gpus=1, on="n1")],
    ),
    _wake(
        "a pod succeeds",
        pod(gpus=1),
        [node("n1", gpus=1)],
        Merge("Pod", "p1", {"status": {"phase": "Succeeded"}}, "status"),
        placed=[pod("p1", gpus=1, on="n1")],
    ),
    _wake(
        "uncordoned",
        pod(),
        [node("n1", cordoned=True)],
        Merge("Node", "n1", OPEN),
    ),
    _wake("a taint goes", pod(), [node("n1", taints=[TAINT])], Merge("Node", "n1", NO_TAINT)),
    _wake(
        "a label comes",
        pod(affinity=on_nodes({"matchExpressions": [EXPRESSION]})),
        [node("n1")],
        Merge("Node", "n1", {"metadata": {"labels": {"pool": "gpu"}}}),
    ),
    _wake(
        "the pod tolerates",
        pod(),
        [node("n1", taints=[TAINT])],
        Merge("Pod", "asked", {"spec": {"tolerations": [*OUTAGES, {"operator": "Exists"}]}}),
    ),
    _wake(
        "a port is free again",
        pod(ports=[port(8080)]),
        [node("n1")],
        Delete("Pod", "p1"),
        placed=[pod("p1", on="n1", ports=[port(8080)])],
    ),
    _wake(
        "company comes",
        pod(affinity=near("web")),
        [node("n1"), node("n2")],
        Create(pod("p1", on="n1", labels=WEB)),
    ),
    _wake(
        "who was shunned goes",
        pod(labels=WEB, affinity=near("web", away=True)),
        [node("n1")],
        Delete("Pod", "p1"),
        placed=[pod("p1", on="n1", labels=WEB)],
    ),
    _wake(
        "who shunned it goes",
        pod(labels=WEB),
        [node("n1")],
        Delete("Pod", "p1"),
        placed=[pod("p1", on="n1", affinity=near("web", HOST, away=True))],
    ),
    _wake(
        "the other zone catches up",
        pod(cpu="5", labels=WEB, topologySpreadConstraints=spread("web")),
        [node("n1", labels={ZONE: "a"}), node("n2", labels={ZONE: "b"})],
        Create(pod("p3", on="n2", labels=WEB)),
        placed=[pod("p1", on="n1", labels=WEB), pod("p2", on="n2", cpu="4")],
    ),
    _wake(
        "its claim appears, bound",
        pod(claim="data"),
        [node("n1")],
        Create(volume("v1", phase="Bound")),
        Create(claim("data", volume="v1")),
    ),
    _wake(
        "the others' claim is free again",
        pod(claim="data"),
        [node("n1")],
        Delete("Pod", "p1"),
        placed=[pod("p1", on="n1", claim="data")],
        objects=[claim("data", volume="v1", mode="ReadWriteOncePod"), volume("v1", phase="Bound")],
    ),
]
SPACES = {"Pod": SPACE, "PersistentVolumeClaim": SPACE}
