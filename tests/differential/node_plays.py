"""Plays for the controllers of nodes: silence, taints, daemons; the table is in `controller_plays`."""

from tests.differential.controller_ground import Play, Side, Tree, ended, pod_spec, running


def node(side: Side, name: str, **labels: str) -> Tree:
    condition = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "kubelet is ready"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": f"{side.space}-{name}", "labels": labels},
        "status": {"conditions": [condition], "capacity": {"pods": "110"}, "allocatable": {"pods": "110"}},
    }


def bound_pod(side: Side, name: str, to: str, **spec: object) -> Tree:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {**pod_spec(), "nodeName": f"{side.space}-{to}", **spec},
    }


def node_silent(side: Side) -> None:
    """One of two nodes falls silent for a minute and is heard of again."""
    one, two = f"{side.space}-one", f"{side.space}-two"
    for name in ("one", "two"):
        side.make(node(side, name))
    side.beat(one, two)
    side.make(bound_pod(side, "usual", "one"))
    soon = {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 3}
    side.make(bound_pod(side, "soon", "one", tolerations=[soon]))
    side.become("usual", "soon", **running())
    side.look()
    side.beat(two)
    side.wait(70)
    side.look()
    side.beat(one, two)
    side.wait(12)
    side.look()


def node_cordon(side: Side) -> None:
    name = f"{side.space}-one"
    side.make(node(side, "one"))
    side.beat(name)
    side.look()
    side.change("nodes", name, {"spec": {"unschedulable": True}})
    side.look()
    side.change("nodes", name, {"spec": {"unschedulable": None}})
    side.look()


def daemon_set() -> Tree:
    labels = {"app": "dcgm"}
    template = {"metadata": {"labels": labels}, "spec": {**pod_spec(None), "nodeSelector": {"gpu": "yes"}}}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "dcgm"},
        "spec": {"selector": {"matchLabels": labels}, "template": template},
    }


def node_daemons(side: Side) -> None:
    """A daemon goes where it fits, and its failed pod is replaced."""
    for name, gpu in (("one", "yes"), ("two", "yes"), ("three", "no")):
        side.make(node(side, name, gpu=gpu))
    names = [f"{side.space}-{name}" for name in ("one", "two", "three")]
    side.beat(*names)
    side.make(daemon_set())
    side.look()
    side.place()
    side.become(*side.pods("dcgm-"), **running())
    side.look()
    side.change("nodes", names[2], {"metadata": {"labels": {"gpu": "yes"}}})
    side.look()
    side.place()
    side.change("nodes", names[0], {"metadata": {"labels": {"gpu": "no"}}})
    side.bury()
    side.look()
    side.become(*side.pods("dcgm-"), **running())
    side.become(side.pods("dcgm-")[0], **ended(1))
    side.place()
    side.become(*side.pods("dcgm-"), **running())
    side.look()


PLAYS: tuple[Play, ...] = (node_silent, node_cordon, node_daemons)
