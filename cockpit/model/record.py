"""What every record of a cluster object shares, and the typed names of things."""

from typing import NewType

import msgspec

Uid = NewType("Uid", str)
"""`metadata.uid`: the identity of an object; a name can be given twice, a uid cannot."""


class Kind:
    """The kinds of record the store keeps a table for. The value is also the word on the command line.

    Engines may have further tables (`cockpit.gangs.registry`).
    """

    NODE = "nodes"
    POD = "pods"
    EVENT = "events"
    JOB = "jobs"  # batch/v1 Job
    MPIJOB = "mpijobs"  # kubeflow.org/v2beta1 MPIJob
    OTHER_JOB = "otherjobs"  # objects of any other kind whose pod templates ask for GPUs
    WORKLOAD = "workloads"  # what stands for a job where an engine admits jobs whole
    AUTOSCALER = "autoscalers"  # what an autoscaler of nodes writes of itself
    OWNER_FLAGS = "ownerflags"  # command-line flags of pool owners, read on demand
    OWNER_EVENT = "ownerevents"  # events of pool owners, kept when the cluster has forgotten them
    POD_GROUP = "podgroups"  # the group object of any placement engine
    PLACE = "places"  # in line, as the engine told it; keyed by the uid of the Workload
    LOCAL_QUEUE = "localqueues"
    CLUSTER_QUEUE = "clusterqueues"
    DEVICE_SLICE = "resourceslices"  # what nodes offer to claims (resource.k8s.io)
    DEVICE_CLAIM = "resourceclaims"
    POOL = "pools"  # any object that owns a number of machines
    MACHINE = "machines"  # what stands for one machine of a pool, before it is a node and after
    OWNER = "owners"  # metadata of a controller that is none of the above
    NAMESPACE = "namespaces"
    GPU = "gpus"  # telemetry, keyed by GPU uuid
    GPU_DETAIL = "gpudetails"  # further values on the page of a node, same keys
    ALERT = "alerts"  # what fires in Alertmanager, keyed by fingerprint
    POD_USE = "poduses"  # CPU and network of the pods on screen, keyed by the pod's uid


class Record(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Fields of `metadata` that every object has. `key` is unique within a kind."""

    uid: str
    name: str
    namespace: str = ""  # "" for cluster-scoped objects
    resource_version: str = ""
    created_seconds: float | None = None
    deleting_seconds: float | None = None  # metadata.deletionTimestamp

    @property
    def key(self) -> str:
        """`namespace/name`, or `name` for a cluster-scoped object: what a person types."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class OwnerRef(msgspec.Struct, frozen=True, gc=False):
    """The controlling owner of an object (`metadata.ownerReferences[?controller]`)."""

    api_version: str
    kind: str
    name: str
    uid: str


class Condition(msgspec.Struct, frozen=True, gc=False):
    """One entry of `status.conditions`; `status` is "True", "False" or "Unknown"."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    changed_seconds: float | None = None


def condition(conditions: tuple[Condition, ...], type_: str) -> Condition | None:
    """The condition of that type, or None where the object does not have it."""
    for condition in conditions:
        if condition.type == type_:
            return condition
    return None


Labels = tuple[tuple[str, str], ...]
"""Label or annotation pairs in the order of their keys."""


def label(labels: Labels, key: str) -> str:
    """The label's value, "" where it is missing."""
    for name, value in labels:
        if name == key:
            return value
    return ""
