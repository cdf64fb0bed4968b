"""A request as values, and what its headers may say."""

import msgspec

JSON = "application/json"
YAML = "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
PATCHES = (
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
)
TYPES = (
    *(JSON,) * 20,
    *(YAML,) * 3,
    PROTOBUF,
    "application/cbor",
    "text/plain",
    "",
    "application/json;charset=x",
)
USERS = (*("admin",) * 40, "engineer", "engineer", "viewer", "nobody", "expired", "")
ACCEPTS = (
    JSON,
    JSON,
    "*/*",
    "",
    PROTOBUF,
    "application/json;as=Table;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
    "application/json;as=X;v=v1;g=meta.k8s.io",
    "application/json;q=x,text/html;q=2",
    "," * 500,
    ";" * 500,
)
ACTED_ON = frozenset(
    {
        *("pods", "jobs", "deployments", "replicasets", "daemonsets", "nodes", "services", "namespaces"),
        *("workloads", "clusterqueues", "localqueues", "mpijobs", "poddisruptionbudgets", "resourcequotas"),
        *("persistentvolumeclaims", "persistentvolumes", "leases", "machinedeployments", "podgroups"),
    }
)
"""What controllers, kubelets, the scheduler and the queue act on."""


class Resource(msgspec.Struct, frozen=True):
    """One resource that discovery names."""

    prefix: str
    plural: str
    kind: str
    namespaced: bool


class Sent(msgspec.Struct):
    """One request."""

    method: str
    path: str
    headers: list[tuple[str, str]]
    body: bytes = b""
    user: str = "admin"
    acts_as: None = None

    def __str__(self) -> str:
        shown = f"{self.method} {self.path[:160]} as {self.user!r} {dict(self.headers)!r:.200}"
        return f"{shown} {self.body[:300]!r} ({len(self.body)} bytes)"
