"""Writes `fields.json` out of the `generated.proto` files of k8s.io/api and k8s.io/apimachinery.

Run as `python -m cockpit.sim.server.http.wire.generate FOLDER_OF_API FOLDER_OF_APIMACHINERY`. The result is
checked in. It holds nothing but names, numbers and types of fields.
"""

import re
import sys
from pathlib import Path

import msgspec

HERE = Path(__file__).resolve().parent
API = ("core", "apps", "batch", "policy", "rbac", "authorization", "authentication", "autoscaling")
MORE = ("coordination", "scheduling", "storage", "discovery", "events", "resource")
MACHINERY = {
    "meta": "pkg/apis/meta/v1",
    "resource": "pkg/api/resource",
    "intstr": "pkg/util/intstr",
    "runtime": "pkg/runtime",
}
ROOTS = (
    *("core.Binding", "core.ConfigMap", "core.Endpoints", "core.Event", "core.LimitRange", "core.Namespace"),
    *("core.Node", "core.PersistentVolume", "core.PersistentVolumeClaim", "core.Pod", "core.ResourceQuota"),
    *("core.Secret", "core.Service", "core.ServiceAccount", "apps.ControllerRevision", "apps.DaemonSet"),
    *("core.ReplicationController", "storage.CSIDriver", "storage.CSINode", "storage.CSIStorageCapacity"),
    *("storage.VolumeAttachment", "resource.DeviceClass", "resource.ResourceClaim"),
    *("resource.ResourceClaimTemplate", "resource.ResourceSlice"),
    *("apps.Deployment", "apps.ReplicaSet", "apps.StatefulSet", "batch.Job", "policy.Eviction"),
    *("policy.PodDisruptionBudget", "rbac.Role", "rbac.RoleBinding", "rbac.ClusterRole"),
    *("rbac.ClusterRoleBinding", "authorization.LocalSubjectAccessReview"),
    *("authorization.SelfSubjectAccessReview", "authorization.SelfSubjectRulesReview"),
    *("authorization.SubjectAccessReview", "authentication.SelfSubjectReview", "autoscaling.Scale"),
    *("coordination.Lease", "scheduling.PriorityClass", "storage.StorageClass", "discovery.EndpointSlice"),
    *("events.Event", "meta.DeleteOptions"),
)
_MESSAGE = re.compile(r"^message (\w+) \{(.*?)^\}", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(
    r"^  (optional|repeated|map<(\w+), ?([\w.]+)>)\s*([\w.]+)?\s+(\w+) = (\d+);", re.MULTILINE
)
_SCALARS = frozenset({"string", "bytes", "bool", "int32", "int64", "uint32", "uint64", "double"})


def main(api: str, machinery: str) -> int:
    """Reads, follows what the roots name, writes."""
    files = [(name, Path(api) / name / "v1/generated.proto") for name in (*API, *MORE)]
    files += [(name, Path(machinery) / path / "generated.proto") for name, path in MACHINERY.items()]
    found = {}
    for package, file in files:
        for name, body in _MESSAGE.findall(file.read_text()):
            fields = [_field(package, one) for one in _FIELD.findall(body)]
            found[f"{package}.{name}"] = dict(fields)
    kept: dict[str, dict[str, list[str]]] = {}
    waiting = list(ROOTS)
    while waiting:
        name = waiting.pop()
        if name not in kept and name in found:
            kept[name] = found[name]
            waiting += [kind for _, _, kind in found[name].values() if kind not in _SCALARS]
    lines = [
        f"{msgspec.json.encode(name).decode()}:{msgspec.json.encode(kept[name]).decode()}"
        for name in sorted(kept)
    ]
    (HERE / "fields.json").write_text("{" + ",\n".join(lines) + "}\n")
    return 0


def _field(package: str, found: tuple[str, ...]) -> tuple[str, list[str]]:
    label, _, value, kind, name, number = found
    how = "map" if label.startswith("map") else label
    return number, [name, how, _type(package, value if how == "map" else kind)]


def _type(package: str, text: str) -> str:
    if text in _SCALARS:
        return text
    parts = text.strip(".").split(".")
    if len(parts) == 1:
        return f"{package}.{text}"
    return f"{parts[-2] if parts[-2] != 'v1' else parts[-3]}.{parts[-1]}"


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
