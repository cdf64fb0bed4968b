"""A small store and records for the tests of pools."""

from collections.abc import Iterable
from typing import Any

from cockpit.model.batch import Batch
from cockpit.model.node import Node, Taint
from cockpit.model.pod import Pod
from cockpit.model.pool import Machine, PoolObject
from cockpit.model.record import Condition, Kind, Labels
from cockpit.pools import registry
from cockpit.store.store import Store

BORN = 1_790_000_000.0
POOL_LABEL = "example.com/pool"


def node(
    name: str,
    *,
    pool: str = "",
    gpus: int | None = 8,
    ready: str = "True",
    ready_after_seconds: float | None = 30.0,
    labels: Labels = (),
    annotations: Labels = (),
    taints: tuple[str, ...] = (),
    unschedulable: bool = False,
    deleting_seconds: float | None = None,
    pool_label: str = POOL_LABEL,
    expected: int | None = None,
    provider_id: str = "",
) -> Node:
    """A GPU node of `pool`; `gpus` None: nothing advertised."""
    own = ((pool_label, pool),) if pool else ()
    changed = None if ready_after_seconds is None else BORN + ready_after_seconds
    conditions = (Condition("Ready", ready, changed_seconds=changed),) if ready else ()
    return Node(
        uid=f"uid-{name}",
        name=name,
        created_seconds=BORN,
        deleting_seconds=deleting_seconds,
        labels=tuple(sorted((*own, *labels))),
        annotations=annotations,
        taints=tuple(Taint(one, "", "NoSchedule") for one in taints),
        unschedulable=unschedulable,
        conditions=conditions,
        gpu_resource="nvidia.com/gpu",
        gpu_capacity=gpus,
        gpu_allocatable=gpus,
        gpus_expected=expected,
        gpu_model="H100" if gpus else "",
        instance_type="p5.48xlarge",
        pool=pool,
        pool_label=pool_label if pool else "",
        provider_id=provider_id,
    )


def pod(
    name: str,
    on: str,
    gpus: int = 8,
    *,
    job: str = "llm",
    deleting: float | None = None,
    owner_kind: str = "",
) -> Pod:
    """A running pod on a node."""
    return Pod(
        owner_kind=owner_kind,
        uid=f"uid-{name}",
        name=name,
        namespace="team-a",
        phase="Running",
        node=on,
        gpus=gpus,
        job_label=job,
        deleting_seconds=deleting,
    )


def deployment(
    name: str = "h100",
    *,
    kind: str = "MachineDeployment",
    api_version: str = "cluster.x-k8s.io/v1beta1",
    replicas: int | None = 2,
    status_replicas: int | None = None,
    labels: Labels = (),
    annotations: Labels = (),
    template_labels: Labels | None = None,
    minimum: int | None = None,
    maximum: int | None = None,
) -> PoolObject:
    """A pool owner whose nodes carry the pool label."""
    plural = f"{kind.lower()}s"
    return PoolObject(
        uid=f"uid-{kind}-{name}",
        name=name,
        namespace="capi",
        resource_version="77",
        api_version=api_version,
        kind=kind,
        resource_path=f"/apis/{api_version}/namespaces/capi/{plural}",
        labels=labels,
        annotations=annotations,
        replicas=replicas,
        status_replicas=replicas if status_replicas is None else status_replicas,
        min_replicas=minimum,
        max_replicas=maximum,
        template_labels=((POOL_LABEL, name),) if template_labels is None else template_labels,
    )


def machine(on: str, name: str = "", **more: Any) -> Machine:
    """The Machine behind a node, or one by its own name without a node."""
    return Machine(
        uid=f"uid-m-{on or name}",
        name=name or f"m-{on}",
        namespace="capi",
        resource_version="5",
        api_version="cluster.x-k8s.io/v1beta1",
        kind="Machine",
        resource_path="/apis/cluster.x-k8s.io/v1beta1/namespaces/capi/machines",
        node=on,
        **more,
    )


def store_of(
    nodes: Iterable[Node] = (),
    pods: Iterable[Pod] = (),
    pools: Iterable[PoolObject] = (),
    *,
    machines: Iterable[Machine] = (),
) -> Store:
    """A store that holds these."""
    store = Store()
    store.apply(Batch(kind=Kind.NODE, changed=tuple(nodes)))
    store.apply(Batch(kind=Kind.POD, changed=tuple(pods)))
    store.apply(Batch(kind=Kind.POOL, changed=tuple(pools)))
    store.apply(Batch(kind=Kind.MACHINE, changed=tuple(machines)))
    return store


def able(found: PoolObject | None, name: str = "") -> Any:
    """The owner of that pool, or the one of that name, with all that it can do."""
    return registry.owner_named(name) if name else registry.holder(found, ())
