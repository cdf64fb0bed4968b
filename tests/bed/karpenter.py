"""Karpenter with its kwok provider: real decisions, conditions and events over machines that kwok plays.

The provider makes a Node some seconds after the launch (`nodeRegistrationDelay` of the KWOKNodeClass), with
all its resources at once. On a real machine the driver and the device plugin come minutes later, so an
admission policy takes the GPUs off the new Node, and a stage of kwok puts them back `bed/gpus-after` the node
became Ready; `bed/ready-after` holds the Ready back. Both are annotations of the NodePool's template.
"""

import json
from pathlib import Path

from tests.bed.api import Tree
from tests.bed.layout import Layout
from tests.bed.manifests import document
from tests.bed.part import Part, http_probe

GPU = "nvidia.com/gpu"
READY_AFTER, GPUS_AFTER = "bed/ready-after", "bed/gpus-after"
EIGHT, ONE, NONE = "gpu-8x-h100", "gpu-1x-h100", "cpu-16x"
"""The machine types."""
_MACHINES = (
    # name, price an hour, resources
    (EIGHT, 98.32, {"cpu": "192", "memory": "2Ti", GPU: "8"}),
    (ONE, 12.29, {"cpu": "24", "memory": "256Gi", GPU: "1"}),
    (NONE, 0.8, {"cpu": "16", "memory": "64Gi"}),
)
ZONES = ("zone-a", "zone-b")


def instance_types() -> list[Tree]:
    """The provider's file of machine types: two GPU machines and one without, on demand in two zones."""
    return [
        {
            "name": name,
            "architecture": "amd64",
            "operatingSystems": ["linux"],
            "resources": {"ephemeral-storage": "1Ti", "pods": "110", **resources},
            "offerings": [
                {
                    "Price": price,
                    "Available": True,
                    "Requirements": [having("karpenter.sh/capacity-type", "on-demand"), having(_ZONE, zone)],
                }
                for zone in ZONES
            ],
        }
        for name, price, resources in _MACHINES
    ]


_ZONE = "topology.kubernetes.io/zone"


def having(key: str, *values: str) -> Tree:
    return {"key": key, "operator": "In", "values": [*values]}


def karpenter(layout: Layout) -> Part:
    file = layout.run_dir / "instance-types.json"
    file.write_text(json.dumps(instance_types()))
    health, metrics = (str(layout.ports[f"karpenter-{one}"]) for one in ("health", "metrics"))
    return Part(
        "karpenter",
        (
            layout.programs["karpenter"],
            *("--disable-leader-election", "--instance-types-file-path", str(file)),
            *("--health-probe-port", health, "--metrics-port", metrics),
            *("--feature-gates", "StaticCapacity=true,CapacityBuffer=true"),
            *("--batch-idle-duration", "1s", "--batch-max-duration", "3s"),
        ),
        http_probe(f"http://127.0.0.1:{health}/healthz"),
        layout.run_dir,
        env={"SYSTEM_NAMESPACE": "kube-system", "KUBECONFIG": str(layout.controller_kubeconfig)},
    )


def definitions(layout: Layout) -> list[Tree]:
    """Its CRDs, and those it watches beside them."""
    base = Path(layout.manifests["karpenter"]) / "kwok"
    return [document(file) for file in sorted(base.glob("*/crds/*.yaml"))]


def late_gpus() -> list[Tree]:
    """The admission policy that lets a new machine come without its GPUs, where its pool says so."""
    path = GPU.replace("/", "~1")
    # A machine of a static pool comes without a capacity: the provider takes it from the pods it is made for.
    patches = " + ".join(
        f"(has(object.status.{one}) && '{GPU}' in object.status.{one}"
        f" ? [JSONPatch{{op: 'remove', path: '/status/{one}/{path}'}}] : [])"
        for one in ("capacity", "allocatable")
    )
    late = f"has(object.metadata.annotations) && '{GPUS_AFTER}' in object.metadata.annotations"
    return policy("bed-late-gpus", ("", "v1", "nodes"), [{"name": "late", "expression": late}], patches)


def policy(name: str, resource: tuple[str, str, str], when: list[Tree], patches: str) -> list[Tree]:
    """A policy that changes what is created of (group, version, plural), and its binding."""
    api = "admissionregistration.k8s.io/v1"
    group, version, plural = resource
    rule = {"apiGroups": [group], "apiVersions": [version], "operations": ["CREATE"], "resources": [plural]}
    return [
        {
            "apiVersion": api,
            "kind": "MutatingAdmissionPolicy",
            "metadata": {"name": name},
            "spec": {
                "failurePolicy": "Fail",
                "reinvocationPolicy": "Never",
                "matchConstraints": {"resourceRules": [rule]},
                "matchConditions": when,
                "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": patches}}],
            },
        },
        {
            "apiVersion": api,
            "kind": "MutatingAdmissionPolicyBinding",
            "metadata": {"name": name},
            "spec": {"policyName": name},
        },
    ]
