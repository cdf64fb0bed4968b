"""Resources of the API: where they live and what they are called."""

import msgspec

from cockpit.errors import BadInput

_FORBIDDEN = frozenset("/%\\?#;") | frozenset(chr(code) for code in (*range(0x21), 0x7F))


def segment(text: str, what: str) -> str:
    """`text` as one path segment, unchanged. Raises BadInput where it is more than a name."""
    if not text or text in (".", "..") or not text.isascii() or not _FORBIDDEN.isdisjoint(text):
        raise BadInput(f"{what} {text!r} is not a name that Kubernetes accepts; give the plain name.")
    return text


class Resource(msgspec.Struct, frozen=True):
    """One resource of an API group ("" for core) in one version."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool

    @property
    def api_version(self) -> str:
        """`v1` or `group/version`."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def is_built_in(self) -> bool:
        """True in the API server's own groups: a definition's group has a dot (apiextensions, validation of
        CustomResourceDefinition `spec.group`), so a kind without one is not removed while the server runs."""
        return "." not in self.group

    @property
    def label(self) -> str:
        """What sentences call it: `pods`, `mpijobs.kubeflow.org`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """The path below the host; without a name the collection's, without a namespace that of all.

        Raises BadInput for a namespace, name or subresource that is no plain path segment.
        """
        base = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        if namespace and self.namespaced:
            base += f"/namespaces/{segment(namespace, 'namespace')}"
        base += f"/{self.plural}"
        if name:
            base += f"/{segment(name, 'name')}"
            if subresource:
                base += "".join(f"/{segment(part, 'subresource')}" for part in subresource.split("/"))
        return base


NODES = Resource("", "v1", "nodes", "Node", namespaced=False)
PODS = Resource("", "v1", "pods", "Pod", namespaced=True)
EVENTS = Resource("", "v1", "events", "Event", namespaced=True)
NAMESPACES = Resource("", "v1", "namespaces", "Namespace", namespaced=False)
SERVICES = Resource("", "v1", "services", "Service", namespaced=True)
JOBS = Resource("batch", "v1", "jobs", "Job", namespaced=True)
MPIJOBS = Resource("kubeflow.org", "v2beta1", "mpijobs", "MPIJob", namespaced=True)
WORKLOADS = Resource("kueue.x-k8s.io", "v1beta2", "workloads", "Workload", namespaced=True)
LOCAL_QUEUES = Resource("kueue.x-k8s.io", "v1beta2", "localqueues", "LocalQueue", namespaced=True)
CLUSTER_QUEUES = Resource("kueue.x-k8s.io", "v1beta2", "clusterqueues", "ClusterQueue", namespaced=False)
MACHINE_DEPLOYMENTS = Resource(
    "cluster.x-k8s.io", "v1beta1", "machinedeployments", "MachineDeployment", namespaced=True
)
MACHINE_SETS = Resource("cluster.x-k8s.io", "v1beta1", "machinesets", "MachineSet", namespaced=True)
MACHINES = Resource("cluster.x-k8s.io", "v1beta1", "machines", "Machine", namespaced=True)
NODE_CLAIMS = Resource("karpenter.sh", "v1", "nodeclaims", "NodeClaim", namespaced=False)
NODE_POOLS = Resource("karpenter.sh", "v1", "nodepools", "NodePool", namespaced=False)
ACCESS_REVIEWS = Resource(
    "authorization.k8s.io", "v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview", namespaced=False
)
RULES_REVIEWS = Resource(
    "authorization.k8s.io", "v1", "selfsubjectrulesreviews", "SelfSubjectRulesReview", namespaced=False
)
