"""Stories of requests about stateful sets, claims on devices, and kinds that no actor of ours acts on."""

from typing import Any

from tests.differential.write_steps import Step, Tree, delete, get, patch, post, workload

_STORAGE = "/apis/storage.k8s.io/v1"
_DEVICES = "/apis/resource.k8s.io/v1"
_CLAIMS = f"{_DEVICES}/namespaces/NS/resourceclaims"
_TEMPLATES = f"{_DEVICES}/namespaces/NS/resourceclaimtemplates"
_REQUEST: Tree = {"name": "gpu", "exactly": {"deviceClassName": "gpu.example.com"}}
_SPEC: Tree = {"devices": {"requests": [_REQUEST]}}


def _set(name: str = "w", **spec: Any) -> Tree:
    return workload("StatefulSet", name, **spec)


_VOLUME: Tree = {
    "metadata": {"name": "data"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}

DEVICE_STORIES: dict[str, list[Step]] = {
    "stateful sets": [
        post("A/statefulsets", _set()),
        post("A/statefulsets", _set("v", serviceName="v", volumeClaimTemplates=[_VOLUME])),
        post("A/statefulsets", _set("x", podManagementPolicy="Sideways")),
        post("A/statefulsets", _set("x", updateStrategy={"type": "OnDelete"})),
        post("A/statefulsets", _set("y", updateStrategy={"type": "Sometimes"})),
        post("A/statefulsets", _set("y", persistentVolumeClaimRetentionPolicy={"whenDeleted": "Maybe"})),
        post("A/statefulsets", _set("y", ordinals={"start": -1})),
        post("A/statefulsets", _set("y", replicas=-1)),
        post("A/statefulsets", _set("y", selector={})),
        post("A/statefulsets", _set("Y")),
        get("A/statefulsets/w/scale"),
        patch("A/statefulsets/w", {"spec": {"replicas": 3}}),
        patch("A/statefulsets/w", {"spec": {"serviceName": "other"}}),
        patch("A/statefulsets/w", {"spec": {"podManagementPolicy": "Parallel"}}),
        patch("A/statefulsets/w", {"spec": {"template": {"metadata": {"annotations": {"a": "b"}}}}}),
        patch("A/statefulsets/w/status", {"status": {"replicas": 3, "readyReplicas": 1}}),
        delete("A/statefulsets/w"),
    ],
    "claims on devices": [
        post(_TEMPLATES, {"metadata": {"name": "t"}, "spec": {"spec": _SPEC}}),
        post(_CLAIMS, {"metadata": {"name": "c"}, "spec": _SPEC}),
        post(_CLAIMS, {"metadata": {"generateName": "Upper-"}, "spec": _SPEC}),
        get(f"{_CLAIMS}/c"),
        get(f"{_CLAIMS}?limit=1"),
        patch(f"{_CLAIMS}/c", {"metadata": {"labels": {"a": "b"}}}),
        delete(f"{_CLAIMS}/c"),
        delete(f"{_TEMPLATES}/t"),
        get(f"{_CLAIMS}/c"),
    ],
    "drivers, slices and classes": [
        post(
            f"{_STORAGE}/csinodes",
            {"metadata": {"name": "n-NS"}, "spec": {"drivers": [{"name": "d.example.com", "nodeID": "n"}]}},
        ),
        post(f"{_STORAGE}/csidrivers", {"metadata": {"name": "d.NS"}, "spec": {}}),
        post(
            f"{_STORAGE}/namespaces/NS/csistoragecapacities",
            {"metadata": {"name": "s"}, "storageClassName": "fast", "capacity": "5Gi"},
        ),
        post(
            f"{_STORAGE}/volumeattachments",
            {
                "metadata": {"name": "a-NS"},
                "spec": {
                    "attacher": "d.example.com",
                    "nodeName": "n",
                    "source": {"persistentVolumeName": "v"},
                },
            },
        ),
        post(f"{_DEVICES}/deviceclasses", {"metadata": {"name": "c-NS"}, "spec": {}}),
        post(
            f"{_DEVICES}/resourceslices",
            {
                "metadata": {"name": "s-NS"},
                "spec": {
                    "driver": "d.example.com",
                    "nodeName": "n",
                    "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
                    "devices": [{"name": "gpu-0", "attributes": {"model": {"string": "a100"}}}],
                },
            },
        ),
        get(f"{_STORAGE}/csidrivers/d.NS"),
        get(f"{_STORAGE}/volumeattachments/a-NS"),
        get(f"{_DEVICES}/resourceslices/s-NS"),
        delete(f"{_STORAGE}/csinodes/n-NS"),
        delete(f"{_STORAGE}/csidrivers/d.NS"),
        delete(f"{_STORAGE}/namespaces/NS/csistoragecapacities/s"),
        delete(f"{_STORAGE}/volumeattachments/a-NS"),
        delete(f"{_DEVICES}/deviceclasses/c-NS"),
        delete(f"{_DEVICES}/resourceslices/s-NS"),
    ],
    "replication controllers": [
        post(
            "C/replicationcontrollers",
            {
                "metadata": {"name": "old"},
                "spec": {
                    "template": {
                        "metadata": {"labels": {"app": "old"}},
                        "spec": {"containers": [{"name": "main", "image": "registry.test/serve"}]},
                    }
                },
            },
        ),
        get("C/replicationcontrollers/old/scale"),
        get("C/replicationcontrollers"),
        patch("C/replicationcontrollers/old", {"spec": {"replicas": 2}}),
        delete("C/replicationcontrollers/old"),
    ],
}
