"""What a pod asks of its node and namespace, the same from both wires, and one object for pods that are
alike."""

from typing import Any

import msgspec

from cockpit.kube.decode import shapes
from cockpit.kube.decode.pods import pod_record
from cockpit.kube.decode.reading import JSON, PROTOBUF
from cockpit.kube.proto import core_pb2
from cockpit.model.pod import Pod
from cockpit.model.scheduling import NO_WISHES, NodeTerm, PodWishes, Requirement, SpreadKey, Toleration

RAW = {
    "metadata": {
        "name": "w-0",
        "namespace": "team-a",
        "uid": "u1",
        "finalizers": ["kueue.x-k8s.io/managed"],
        "deletionTimestamp": "2026-11-01T10:00:00Z",
    },
    "spec": {
        "nodeSelector": {"zone": "eu-1", "gpu": "b300"},
        "serviceAccountName": "trainer",
        "runtimeClassName": "nvidia",
        "preemptionPolicy": "Never",
        "tolerations": [{"key": "team", "value": "secret", "effect": "NoSchedule"}],
        "schedulingGates": [{"name": "example.com/hold"}],
        "resourceClaims": [
            {"name": "gpu", "resourceClaimName": "shared"},
            {"name": "nic", "resourceClaimTemplateName": "nics"},
        ],
        "topologySpreadConstraints": [
            {"maxSkew": 2, "topologyKey": "rack", "whenUnsatisfiable": "DoNotSchedule"},
            {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"},
        ],
        "volumes": [
            {"configMap": {"name": "hyper"}},
            {"configMap": {"name": "extra", "optional": True}},
            {"persistentVolumeClaim": {"claimName": "data"}},
            {"emptyDir": {"medium": "Memory"}},
            {"hostPath": {"path": "/var/log"}},
        ],
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [
                        {"matchExpressions": [{"key": "gpu", "operator": "In", "values": ["h100"]}]}
                    ]
                }
            }
        },
    },
    "status": {
        "nominatedNodeName": "gpu-1",
        "conditions": [
            {
                "type": "DisruptionTarget",
                "status": "True",
                "reason": "PreemptionByScheduler",
                "message": "preempted by a pod",
            }
        ],
    },
}

OTHER = {"name": "w-1", "uid": "u2", "labels": {"a": "b"}}


def from_json(raw: object = RAW) -> Pod:
    return pod_record(msgspec.json.decode(msgspec.json.encode(raw), type=shapes.WirePod), JSON)


def from_protobuf() -> Pod:
    pod = core_pb2.Pod()
    pod.metadata.name, pod.metadata.namespace, pod.metadata.uid = "w-0", "team-a", "u1"
    pod.metadata.finalizers.append("kueue.x-k8s.io/managed")
    pod.metadata.deletion_timestamp.seconds = 1_793_527_200
    spec = pod.spec
    spec.node_selector["zone"], spec.node_selector["gpu"] = "eu-1", "b300"
    spec.service_account_name, spec.runtime_class_name = "trainer", "nvidia"
    spec.preemption_policy = "Never"
    spec.tolerations.add(key="team", value="secret", effect="NoSchedule")
    spec.scheduling_gates.add(name="example.com/hold")
    spec.resource_claims.add(name="gpu", resource_claim_name="shared")
    spec.resource_claims.add(name="nic", resource_claim_template_name="nics")
    spread = spec.topology_spread_constraints
    spread.add(max_skew=2, topology_key="rack", when_unsatisfiable="DoNotSchedule")
    spread.add(max_skew=1, topology_key="zone", when_unsatisfiable="ScheduleAnyway")
    for name, optional in (("hyper", False), ("extra", True)):
        source = spec.volumes.add().volume_source.config_map
        source.local_object_reference.name, source.optional = name, optional
    spec.volumes.add().volume_source.persistent_volume_claim.claim_name = "data"
    spec.volumes.add().volume_source.empty_dir.medium = "Memory"
    spec.volumes.add().volume_source.host_path.type = ""
    required = spec.affinity.node_affinity.required_during_scheduling_ignored_during_execution
    required.node_selector_terms.add().match_expressions.add(key="gpu", operator="In", values=["h100"])
    pod.status.nominated_node_name = "gpu-1"
    pod.status.conditions.add(
        type="DisruptionTarget",
        status="True",
        reason="PreemptionByScheduler",
        message="preempted by a pod",
    )
    return pod_record(pod, PROTOBUF)


def plain_wishes(volume: dict[str, Any]) -> PodWishes:
    return from_json({"metadata": {"name": "p", "uid": "u4"}, "spec": {"volumes": [volume]}}).traits.wishes


def test_both_wires_tell_the_same() -> None:
    assert from_json() == from_protobuf()


def test_what_the_pod_asks_for_is_told_by_name() -> None:
    pod = from_json()
    wishes = pod.traits.wishes
    assert wishes.node_selector == (("gpu", "b300"), ("zone", "eu-1"))
    assert wishes.node_terms == (NodeTerm((Requirement("gpu", "In", ("h100",)),)),)
    assert wishes.tolerations == (Toleration("team", "Equal", "secret", "NoSchedule"),)
    assert wishes.gates == ("example.com/hold",)
    assert wishes.spreads == (SpreadKey("rack", 2),)
    assert wishes.config_maps == ("hyper",), "one that is optional need not exist"
    assert wishes.keeps_files
    assert not plain_wishes({"emptyDir": {"medium": "Memory"}}).keeps_files, "memory is no file on the node"
    assert plain_wishes({"emptyDir": {}}).keeps_files
    assert (wishes.device_claims, wishes.claim_templates) == (("shared",), ("nics",))
    assert not wishes.preempts
    assert pod.finalizers == ("kueue.x-k8s.io/managed",)
    assert pod.nominated_node == "gpu-1"
    assert (pod.disruption_reason, pod.disruption_message) == ("PreemptionByScheduler", "preempted by a pod")


def test_pods_that_ask_for_the_same_share_one_object() -> None:
    one, other = from_json(), from_json({**RAW, "metadata": OTHER})
    assert one.traits is not other.traits
    assert one.traits.wishes is other.traits.wishes
    assert other.finalizers == (), "of a pod that is not being deleted they are nobody's concern"
    plain = from_json({"metadata": {"name": "p", "uid": "u3"}})
    assert plain.traits.wishes is NO_WISHES


def test_the_same_affinity_means_the_pods_of_its_own_namespace() -> None:
    raw = core_pb2.Pod()
    raw.metadata.name, raw.metadata.uid = "w-0", "u1"
    for side in (raw.spec.affinity.pod_affinity, raw.spec.affinity.pod_anti_affinity):
        term = side.required_during_scheduling_ignored_during_execution.add()
        term.topology_key = "rack"
        term.label_selector.match_labels["app"] = "train"
    for namespace in ("team-a", "team-b"):
        raw.metadata.namespace = namespace
        traits = pod_record(raw, PROTOBUF).traits
        assert [one.namespaces for one in (*traits.wishes.near, *traits.keeps_away)] == [(namespace,)] * 2
