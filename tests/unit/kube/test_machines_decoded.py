"""Machines as Cluster API and Karpenter tell them: how far each has come, and when.

Objects in the shapes of cluster-api api/core/v1beta1 and v1beta2 machine_types.go and karpenter
pkg/apis/v1/nodeclaim.go.
"""

from typing import Any

import pytest

from cockpit.kube.decode.decoders import machine_decoder
from cockpit.kube.resource import MACHINES, NODE_CLAIMS, Resource
from cockpit.model.pool import MachineStage
from tests.unit.kube.builders import meta
from tests.unit.kube.test_kueue_and_pools import made

NEW_MACHINES = Resource("cluster.x-k8s.io", "v1beta2", "machines", "Machine", namespaced=True)
AT = "2026-11-23T10:00:00Z"
AT_SECONDS = 1_795_428_000.0


def _conditions(*pairs: tuple[str, str]) -> list[dict[str, Any]]:
    return [{"type": one, "status": status, "lastTransitionTime": AT} for one, status in pairs]


def _claim(conditions: list[dict[str, Any]], **status: Any) -> Any:
    labels = {
        "karpenter.sh/nodepool": "gpu",
        "node.kubernetes.io/instance-type": "p5.48xlarge",
        "topology.kubernetes.io/zone": "eu-1a",
    }
    tree = {
        "metadata": meta("gpu-x7k2p", namespace="") | {"labels": labels},
        "spec": {"nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "gpu"}},
        "status": {"conditions": conditions, **status},
    }
    return made(machine_decoder(NODE_CLAIMS), tree)


@pytest.mark.parametrize(
    ("conditions", "stage"),
    [
        ([], MachineStage.ACCEPTED),
        ([("Launched", "Unknown")], MachineStage.LAUNCHING),
        ([("Launched", "False")], MachineStage.LAUNCHING),
        ([("Launched", "True"), ("Registered", "Unknown")], MachineStage.LAUNCHED),
        ([("Launched", "True"), ("Registered", "True"), ("Initialized", "Unknown")], MachineStage.JOINED),
        ([("Launched", "True"), ("Registered", "True"), ("Initialized", "True")], MachineStage.INITIALIZED),
    ],
)
def test_how_far_a_node_claim_has_come(conditions: list[tuple[str, str]], stage: MachineStage) -> None:
    assert _claim(_conditions(*conditions)).stage is stage


def test_a_node_claim_is_stamped_by_its_conditions() -> None:
    one = _claim(
        _conditions(("Launched", "True"), ("Registered", "Unknown")),
        nodeName="ip-10-0-0-7",
        providerID="aws:///eu-1a/i-0abc",
    )
    assert (one.pool_kind, one.pool_key, one.node) == ("NodePool", "gpu", "ip-10-0-0-7")
    assert (one.provider_id, one.instance_type, one.zone) == ("aws:///eu-1a/i-0abc", "p5.48xlarge", "eu-1a")
    assert (one.launched_seconds, one.joined_seconds, one.initialized_seconds) == (AT_SECONDS, None, None)
    assert one.resource_path == "/apis/karpenter.sh/v1/nodeclaims"
    waiting = _claim(_conditions(("Launched", "Unknown")))
    assert (waiting.launching_seconds, waiting.launched_seconds) == (AT_SECONDS, None)


def _machine(status: dict[str, Any], resource: Resource = MACHINES, **spec: Any) -> Any:
    labels = {"cluster.x-k8s.io/deployment-name": "h100", "cluster.x-k8s.io/set-name": "h100-abcde"}
    metadata = meta("h100-abcde-x", namespace="capi") | {"labels": labels}
    return made(machine_decoder(resource), {"metadata": metadata, "spec": spec, "status": status})


@pytest.mark.parametrize(
    ("status", "stage"),
    [
        ({}, MachineStage.ACCEPTED),
        ({"phase": "Pending"}, MachineStage.ACCEPTED),
        ({"phase": "Provisioning"}, MachineStage.LAUNCHING),
        ({"phase": "Provisioned"}, MachineStage.LAUNCHED),
        ({"phase": "Running", "nodeRef": {"name": "n"}}, MachineStage.JOINED),
        ({"phase": "Deleting", "nodeRef": {"name": "n"}}, MachineStage.JOINED),
        ({"phase": "Failed"}, MachineStage.FAILED),
    ],
)
def test_how_far_a_machine_has_come(status: dict[str, Any], stage: MachineStage) -> None:
    assert _machine(status).stage is stage


def test_a_machine_of_both_versions() -> None:
    old = _machine(
        {"phase": "Provisioned", "conditions": _conditions(("InfrastructureReady", "True"))},
        providerID="docker:////h100-x",
        failureDomain="eu-1b",
    )
    assert (old.pool_kind, old.pool_key, old.set_name) == ("MachineDeployment", "capi/h100", "h100-abcde")
    assert (old.provider_id, old.zone, old.launched_seconds) == ("docker:////h100-x", "eu-1b", AT_SECONDS)
    both = _machine(
        {
            "phase": "Provisioning",
            "conditions": _conditions(("Ready", "False")),
            "v1beta2": {"conditions": _conditions(("Ready", "Unknown"), ("BootstrapConfigReady", "True"))},
        }
    )
    assert [(one.type, one.status) for one in both.conditions] == [
        ("Ready", "Unknown"),
        ("BootstrapConfigReady", "True"),
    ]
    new = _machine(
        {
            "phase": "Provisioned",
            "conditions": _conditions(("InfrastructureReady", "True")),
            "initialization": {"infrastructureProvisioned": True},
        },
        NEW_MACHINES,
    )
    assert (new.api_version, new.stage) == ("cluster.x-k8s.io/v1beta2", MachineStage.LAUNCHED)


def test_a_machine_that_failed_keeps_the_words_of_its_owner() -> None:
    one = _machine({"phase": "Failed", "failureReason": "CreateError", "failureMessage": "no\x07 quota"})
    assert one.failure == "CreateError: no quota"
