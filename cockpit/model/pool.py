"""Pools of machines."""

import msgspec

from cockpit.model.record import Condition, Labels, Record


class PoolObject(Record, frozen=True, gc=False, kw_only=True):
    """An object that owns a number of machines through a `scale` subresource, as its API tells it.

    `resource_path` is the collection's path below the host, e.g.
    `/apis/cluster.x-k8s.io/v1beta1/namespaces/ns/machinedeployments`.
    """

    api_version: str
    kind: str
    resource_path: str
    labels: Labels = ()
    annotations: Labels = ()
    replicas: int | None = None  # spec.replicas
    status_replicas: int | None = None
    ready_replicas: int | None = None
    min_replicas: int | None = None  # where the owner or an autoscaler states it
    max_replicas: int | None = None
    template_labels: Labels = ()  # labels that its nodes will carry
    instance_type: str = ""
    conditions: tuple[Condition, ...] = ()


class Pool(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """One row: a named group of nodes and, where known, the object that may resize it."""

    name: str
    owner_kind: str = ""  # MachineDeployment, NodePool ...; "" when no object in the cluster owns the size
    owner_key: str = ""
    owner_uid: str = ""
    why_not: str = ""  # why it can't be resized from here, "" when it can
    machine: str = ""
    gpu_model: str = ""
    nodes_now: int = 0
    nodes_ready: int = 0
    nodes_joining: int = 0
    target: int | None = None
    minimum: int | None = None
    maximum: int | None = None
    gpus_total: int = 0  # as pods ask for them: MIG instances and replicas count each
    gpus_allocated: int = 0
    cards: int = 0  # physical cards behind them
    idle_nodes: int = 0
    is_use_known: bool = True  # False where not every pod is seen: then more may be allocated and fewer idle
    node_names: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """What its history is kept under: the owner's kind and name, so that an owner made anew finds it."""
        return f"{self.owner_kind}/{self.owner_key}" if self.owner_kind else self.name
