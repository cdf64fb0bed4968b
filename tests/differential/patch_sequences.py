"""Sequences of patches to one object, for the comparison with the real server."""

from tests.differential.patch_cases import (
    CONFIG_START,
    DEPLOYMENT_START,
    LAST_APPLIED,
    A,
    J,
    M,
    S,
    Step,
    Tree,
    applied,
    config,
    containers,
)

_READY = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "ready"}


_KUBELET: Tree = {"manager": "kubelet", "sub": "status"}


SEQUENCES: dict[str, tuple[Tree, list[Step]]] = {
    "what a kubelet says of a node": (
        {"apiVersion": "v1", "kind": "Node", "metadata": {"labels": {"pool": "gpu"}}},
        [
            (S, {"status": {"capacity": {"cpu": "8000m", "memory": "1024Mi"}}}, _KUBELET),
            (S, {"status": {"conditions": [_READY]}}, _KUBELET),
            (S, {"status": {"conditions": [{"type": "MemoryPressure", "status": "False"}]}}, _KUBELET),
            (S, {"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}}, _KUBELET),
            (S, {"status": {"addresses": [{"type": "InternalIP", "address": "10.0.0.1"}]}}, _KUBELET),
            (S, {"status": {"capacity": {"nvidia.com/gpu": "8"}}}, {"manager": "plugin", "sub": "status"}),
            (J, [{"op": "add", "path": "/status/capacity/nvidia.com~1mig-1g.10gb", "value": "2"}], _KUBELET),
            (M, {"status": {"capacity": {"nvidia.com/gpu": None}}}, _KUBELET),
            (M, {"spec": {"unschedulable": True}}, {"manager": "kubectl-cordon"}),
            (S, {"spec": {"unschedulable": None}}, {"manager": "kubectl-cordon"}),
            (S, {"spec": {"taints": [{"key": "gpu", "effect": "NoSchedule"}]}}, {"manager": "admin"}),
            (S, {"spec": {"taints": [{"key": "a", "effect": "NoExecute"}]}}, {"manager": "admin"}),
            (M, {"metadata": {"labels": {"pool": None, "zone": "a"}}}, {"manager": "admin"}),
        ],
    ),
    "what a kubelet says of a pod": (
        {"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [{"name": "c", "image": "i:1"}]}},
        [
            (S, {"status": {"phase": "Running", "conditions": [_READY]}}, _KUBELET),
            (S, {"status": {"podIP": "10.1.0.1", "podIPs": [{"ip": "10.1.0.1"}]}}, _KUBELET),
            (
                S,
                {
                    "status": {
                        "containerStatuses": [
                            {
                                "name": "c",
                                "ready": True,
                                "restartCount": 0,
                                "image": "i:1",
                                "imageID": "",
                                "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}},
                            }
                        ]
                    }
                },
                _KUBELET,
            ),
            (S, {"status": {"conditions": [{"type": "Ready", "$patch": "delete"}]}}, _KUBELET),
            (M, {"status": {"message": "gone", "reason": "Evicted", "phase": "Failed"}}, _KUBELET),
            (M, {"metadata": {"annotations": {"a": "b"}}}, {"manager": "admin"}),
            (S, {"metadata": {"finalizers": ["a.b/c"]}}, {"manager": "admin"}),
            (S, {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a.b/c"]}}, {"manager": "admin"}),
            (S, {"spec": {"activeDeadlineSeconds": "soon"}}, {"manager": "admin"}),
            (S, {"spec": {"containers": [{"name": "c", "image": "i:2"}]}}, {"manager": "admin"}),
        ],
    ),
    "a job is held and let go": (
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "spec": {
                "suspend": True,
                "template": {
                    "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i:1"}]}
                },
            },
        },
        [
            (M, {"spec": {"suspend": False}}, {"manager": "queue"}),
            (S, {"spec": {"parallelism": 3}}, {"manager": "admin"}),
            (J, [{"op": "replace", "path": "/spec/parallelism", "value": -1}], {"manager": "admin"}),
            (M, {"spec": {"completions": 5}}, {"manager": "admin"}),
            (M, {"status": {"active": 2, "ready": 1}}, {"manager": "controller", "sub": "status"}),
            (M, {"spec": {"template": {"spec": {"hostNetwork": True}}}}, {"manager": "admin"}),
        ],
    ),
    "two appliers share and let go": (
        CONFIG_START,
        [
            (A, config(data={"p": "1", "q": "2", "r": "3"}), {"manager": "one"}),
            (A, config(data={"q": "2", "s": "4"}), {"manager": "two"}),
            (A, config(data={"p": "1"}), {"manager": "one"}),
            (A, config(data={"s": "5"}), {"manager": "one"}),
            (A, config(data={"s": "5"}), {"manager": "one", "force": True}),
            (A, config(data={"q": "2", "s": "5"}), {"manager": "two"}),
            (A, config(), {"manager": "two"}),
            (A, config(), {"manager": "one"}),
        ],
    ),
    "an update takes over": (
        CONFIG_START,
        [
            (A, config(data={"p": "1", "q": "2"}), {"manager": "one"}),
            (M, {"data": {"p": "7"}}, {"manager": "edit"}),
            (A, config(data={"p": "1", "q": "2"}), {"manager": "one"}),
            (A, config(data={"q": "2"}), {"manager": "one"}),
            (M, {"data": {"q": None}}, {"manager": "edit"}),
            (A, config(data={"q": "2"}), {"manager": "one"}),
        ],
    ),
    "lists with keys and sets": (
        DEPLOYMENT_START,
        [
            (
                A,
                applied(containers({"name": "a", "image": "i:1"}, {"name": "b", "image": "i:1"})["spec"]),
                {"manager": "one"},
            ),
            (
                A,
                applied(containers({"name": "b", "image": "i:1"}, {"name": "c", "image": "i:1"})["spec"]),
                {"manager": "two"},
            ),
            (A, applied(containers({"name": "b", "image": "i:1"})["spec"]), {"manager": "one"}),
            (
                A,
                applied(containers({"name": "c", "image": "i:2"}, {"name": "b", "image": "i:1"})["spec"]),
                {"manager": "two"},
            ),
            (A, applied(finalizers=["a.b/c", "a.b/d"]), {"manager": "three"}),
            (A, applied(finalizers=["a.b/d", "a.b/e"]), {"manager": "four"}),
            (A, applied(finalizers=["a.b/c"]), {"manager": "three"}),
            (M, {"metadata": {"finalizers": None}}, {"manager": "edit"}),
        ],
    ),
    "status has owners of its own": (
        DEPLOYMENT_START,
        [
            (M, {"status": {"replicas": 2, "readyReplicas": 1}}, {"manager": "controller", "sub": "status"}),
            (M, {"status": {"replicas": 3}, "spec": {"replicas": 9}}, {"manager": "edit"}),
            (A, applied({"replicas": 2}), {"manager": "one"}),
        ],
    ),
    "kubectl moves from the client to the server": (
        config(
            data={"a": "1", "b": "2"},
            metadata={"annotations": {"kubectl.kubernetes.io/last-applied-configuration": LAST_APPLIED}},
        ),
        [
            (A, config(data={"a": "9", "b": "2"}), {"manager": "other"}),
            (A, config(data={"a": "9", "b": "2"}), {"manager": "kubectl"}),
            (A, config(data={"a": "9"}), {"manager": "kubectl"}),
            (M, {"data": {"a": "8"}}, {"manager": "edit"}),
            (A, config(data={"a": "7"}), {"manager": "kubectl"}),
        ],
    ),
}
"""Each is sent step by step to one object."""
