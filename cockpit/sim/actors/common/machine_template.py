"""What a MachineDeployment of the embedded cluster says about the machines it makes.

The shape is Cluster API's (api/core/v1beta1/machinedeployment_types.go: `spec.replicas`, `spec.template`,
scale subresource). Where a real one points to an infrastructure template, ours carries the node itself:

    spec.template.spec.node: {labels, annotations, taints, capacity}     quantities as strings

How long each stage takes, and what goes wrong, is said by annotations of the deployment:

    cockpit.dev/launch-seconds   until the instance exists                    (default 20)
    cockpit.dev/join-seconds     from there until its Node joins              (default 15)
    cockpit.dev/ready-seconds    from there until its kubelet is Ready        (default 10)
    cockpit.dev/gpus-seconds     from there until its GPUs are advertised     (default 15)
    cockpit.dev/launch-fails     the provider's sentence: no instance comes

and where they stand: machines are dealt to zones (`spec.failureDomain`) and racks in turn.

    cockpit.dev/zones            zone-a,zone-b
    cockpit.dev/rack-size        so many machines to a rack
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from cockpit.k8s.gpu_resources import is_gpu_resource
from cockpit.kube.resource import Resource
from cockpit.sim.port import Tree

MACHINES = Resource("cluster.x-k8s.io", "v1beta1", "machines", "Machine", namespaced=True)

DEPLOYMENT_LABEL = "cluster.x-k8s.io/deployment-name"
CLUSTER_LABEL = "cluster.x-k8s.io/cluster-name"
DELETE_ANNOTATION = "cluster.x-k8s.io/delete-machine"
MACHINE_ANNOTATION = "cluster.x-k8s.io/machine"
OWNER_KIND_ANNOTATION = "cluster.x-k8s.io/owner-kind"
OWNER_NAME_ANNOTATION = "cluster.x-k8s.io/owner-name"
CLUSTER_NAMESPACE_ANNOTATION = "cluster.x-k8s.io/cluster-namespace"
FINALIZER = "machine.cluster.x-k8s.io"
KUBELET_ANNOTATION = "cockpit.dev/kubelet"

ZONES_ANNOTATION = "cockpit.dev/zones"
RACK_SIZE_ANNOTATION = "cockpit.dev/rack-size"
RACK_LABEL = "cockpit.dev/rack"
ZONE_LABEL = "topology.kubernetes.io/zone"


class Timing(msgspec.Struct, frozen=True):
    """Seconds of each stage; `failure` is why no instance comes, "" when one does."""

    launch_seconds: float = 20.0
    join_seconds: float = 15.0
    ready_seconds: float = 10.0
    gpus_seconds: float = 15.0
    failure: str = ""


def timing_of(deployment: Mapping[str, Any]) -> Timing:
    """The stages of a deployment's machines; what cannot be read counts as not said."""
    said = deployment["metadata"].get("annotations") or {}
    default = Timing()
    return Timing(
        launch_seconds=_seconds(said, "launch", default.launch_seconds),
        join_seconds=_seconds(said, "join", default.join_seconds),
        ready_seconds=_seconds(said, "ready", default.ready_seconds),
        gpus_seconds=_seconds(said, "gpus", default.gpus_seconds),
        failure=str(said.get("cockpit.dev/launch-fails", "")),
    )


def _seconds(said: Mapping[str, Any], stage: str, default: float) -> float:
    try:
        value = float(said[f"cockpit.dev/{stage}-seconds"])
    except (KeyError, ValueError):
        return default
    return value if 0 <= value <= 86_400 else default


def place_of(deployment: Mapping[str, Any], machines: Iterable[Mapping[str, Any]]) -> tuple[str, str]:
    """Zone and rack of the next machine beside those that there are: the zone with the fewest, the first rack
    with room; "" where the deployment says nothing."""
    said = deployment["metadata"].get("annotations") or {}
    there = list(machines)
    zones = [zone for zone in str(said.get(ZONES_ANNOTATION, "")).split(",") if zone]
    zone = ""
    if zones:
        in_zone = Counter((one.get("spec") or {}).get("failureDomain", "") for one in there)
        zone = min(zones, key=lambda one: (in_zone[one], zones.index(one)))
    size = str(said.get(RACK_SIZE_ANNOTATION, ""))
    if not size.isdigit() or int(size) < 1:
        return zone, ""
    in_rack = Counter((one["metadata"].get("labels") or {}).get(RACK_LABEL, "") for one in there)
    name, number = deployment["metadata"]["name"], 0
    while in_rack[f"{name}-rack-{number}"] >= int(size):
        number += 1
    return zone, f"{name}-rack-{number}"


def node_template(deployment: Mapping[str, Any]) -> Tree:
    """`spec.template.spec.node` of a deployment; empty where it says nothing."""
    template = (deployment.get("spec") or {}).get("template") or {}
    node: Tree = (template.get("spec") or {}).get("node") or {}
    return node


def full_node(deployment: Mapping[str, Any], name: str) -> Tree:
    """A node of this pool when all is well: what an autoscaler tries pods on."""
    metadata = deployment["metadata"]
    node = node_template(deployment)
    capacity = dict(node.get("capacity") or {})
    capacity.setdefault("pods", "110")
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                "kubernetes.io/arch": "amd64",
                DEPLOYMENT_LABEL: metadata["name"],
                **(node.get("labels") or {}),
            },
            "annotations": {
                CLUSTER_NAMESPACE_ANNOTATION: metadata.get("namespace", ""),
                OWNER_KIND_ANNOTATION: "MachineSet",
                OWNER_NAME_ANNOTATION: metadata["name"],
                MACHINE_ANNOTATION: name,
                **(node.get("annotations") or {}),
            },
        },
        "spec": {
            "providerID": f"cockpit:///{metadata['name']}/{name}",
            **({"taints": list(node["taints"])} if node.get("taints") else {}),
        },
        "status": {"capacity": capacity, "allocatable": dict(capacity)},
    }


def joining_node(deployment: Mapping[str, Any], machine: Mapping[str, Any], at: str) -> Tree:
    """The node of a machine as it joins: no kubelet has reported yet and no GPU is advertised. `at` is RFC
    3339."""
    node = full_node(deployment, machine["metadata"]["name"])
    labels = node["metadata"]["labels"]
    zone = (machine.get("spec") or {}).get("failureDomain", "")
    rack = (machine["metadata"].get("labels") or {}).get(RACK_LABEL, "")
    labels |= ({ZONE_LABEL: zone} if zone else {}) | ({RACK_LABEL: rack} if rack else {})
    plain = {key: value for key, value in node["status"]["capacity"].items() if not is_gpu_resource(key)}
    node["status"] = {
        "capacity": plain,
        "allocatable": dict(plain),
        "conditions": [
            {
                "type": "Ready",
                "status": "False",
                "reason": "KubeletNotReady",
                "message": "container runtime network not ready: NetworkReady=false "
                "reason:NetworkPluginNotReady message:Network plugin returns error: "
                "cni plugin not initialized",
                "lastHeartbeatTime": at,
                "lastTransitionTime": at,
            }
        ],
    }
    return node
