"""Traits of pods: the same from both wires, one object for pods that are alike."""

from typing import Any

from google.protobuf.json_format import ParseDict

from cockpit.kube.decode.decoders import POD
from cockpit.kube.proto import core_pb2
from cockpit.model.pod import Pod
from cockpit.model.scheduling import NO_TRAITS, HostPort, PodTerm, Requirement

Tree = dict[str, Any]
TERM = {
    "topologyKey": "zone",
    "labelSelector": {
        "matchLabels": {"app": "a"},
        "matchExpressions": [{"key": "tier", "operator": "In", "values": ["x", "y"]}],
    },
}


def tree(name: str = "p", **spec: Any) -> Tree:
    container = {
        "name": "main",
        "ports": [{"containerPort": 80}, {"containerPort": 22, "hostPort": 22, "protocol": "TCP"}],
        "resources": {"limits": {"nvidia.com/gpu": "2", "rdma/hca": "1"}, "requests": {"cpu": "1"}},
    }
    return {
        "metadata": {"name": name, "namespace": "t", "uid": name, "labels": {"b": "2", "a": "1"}},
        "spec": {"containers": [container], **spec},
    }


def from_json(pod: Tree) -> Pod:
    import msgspec

    made = POD.from_json(msgspec.json.encode(pod))
    assert isinstance(made, Pod)
    return made


def from_protobuf(pod: Tree) -> Pod:
    """The wire as the server writes it: sources of volumes in a message of their own, quantities too."""
    spec = {**pod["spec"]}
    spec["volumes"] = [{"volumeSource": one} for one in spec.get("volumes", ())]
    spec["containers"] = [_wire_container(one) for one in spec["containers"]]
    assert POD.from_protobuf is not None
    message = ParseDict({**pod, "spec": spec}, core_pb2.Pod(), ignore_unknown_fields=True)
    made = POD.from_protobuf(message.SerializeToString())
    assert isinstance(made, Pod)
    return made


def _wire_container(container: Tree) -> Tree:
    stated = {
        side: {name: {"string": text} for name, text in amounts.items()}
        for side, amounts in container["resources"].items()
    }
    return {**container, "resources": stated}


def test_both_wires_say_the_same() -> None:
    pod = tree(
        affinity={"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [TERM]}},
        volumes=[
            {"name": "z", "emptyDir": {}},
            {"name": "d", "persistentVolumeClaim": {"claimName": "data"}},
        ],
    )
    traits = from_json(pod).traits
    assert traits == from_protobuf(pod).traits
    assert traits.labels == (("a", "1"), ("b", "2"))
    wanted = (Requirement("app", "In", ("a",)), Requirement("tier", "In", ("x", "y")))
    assert traits.keeps_away == (PodTerm("zone", wanted, ("t",)),)
    assert traits.host_ports == (HostPort(22),)
    assert traits.claims == ("data",)
    assert traits.resources == (("nvidia.com/gpu", 2), ("rdma/hca", 1))


def test_namespaces_of_a_term() -> None:
    """None and no selector: its own. An empty selector: all. A missing label selector: no pod."""

    def term(**fields: Any) -> PodTerm:
        one = {"topologyKey": "zone", **fields}
        made = tree(affinity={"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [one]}})
        assert from_json(made).traits == from_protobuf(made).traits
        return from_json(made).traits.keeps_away[0]

    assert term() == PodTerm("zone", None, ("t",), None)
    assert term(labelSelector={}, namespaceSelector={}) == PodTerm("zone", (), (), ())
    assert term(namespaces=["a", "b"]).namespaces == ("a", "b")


def test_members_of_a_job_share_one_object() -> None:
    one, other = tree("p-0"), tree("p-1")
    one["metadata"]["labels"]["training.kubeflow.org/replica-index"] = "0"
    other["metadata"]["labels"]["training.kubeflow.org/replica-index"] = "1"
    assert from_json(one).traits is from_json(other).traits


def test_devices_of_one_resource_alone_are_no_trait() -> None:
    pod = tree()
    pod["metadata"]["labels"] = {}
    pod["spec"]["containers"][0] |= {"ports": [], "resources": {"limits": {"nvidia.com/gpu": "2"}}}
    assert from_json(pod).traits is NO_TRAITS
    pod["spec"]["initContainers"] = [
        {"name": "i", "resources": {"requests": {"nvidia.com/mig-1g.10gb": "1"}}}
    ]
    assert from_json(pod).traits.resources == (("nvidia.com/gpu", 2), ("nvidia.com/mig-1g.10gb", 1))
