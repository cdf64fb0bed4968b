"""The root of each cause: which object all subjects share of which it is told."""

from collections.abc import Mapping
from enum import Enum
from typing import Final, NamedTuple

from cockpit.catalogue.cause import Cause


class RootPlace(Enum):
    """Where the object is that a fact names."""

    CLUSTER = "it has no namespace"
    NAMESPACE = "in the namespace of the subject"
    KEY = "the fact is its namespace and name"
    QUEUE = "the queue of the subject, or the one behind it that takes nothing"
    POOL = "the pool of the node that the fact names"


class RootFact(NamedTuple):
    """A kind of object, which may be a fact in braces, and the fact that names the object; with fact "" it is
    the subject's namespace, or the only one of its kind."""

    kind: str
    fact: str = ""
    place: RootPlace = RootPlace.CLUSTER


def _local(kind: str, fact: str) -> RootFact:
    return RootFact(kind, fact, RootPlace.NAMESPACE)


_NODE = RootFact("node", "node")
_POOL = RootFact("pool", "node", RootPlace.POOL)
_QUEUE = RootFact("queue", "queue", RootPlace.QUEUE)
_TWIN = RootFact("job", "twin", RootPlace.KEY)
_NAMESPACE = RootFact("namespace", "", RootPlace.NAMESPACE)
_REQUEST = RootFact("request", "asked")
_CLAIM = _local("claim", "claim")

ROOTS: Final[Mapping[str, tuple[RootFact, ...]]] = {
    Cause.NAMESPACE_QUOTA_USED_UP: (_local("ResourceQuota", "quota"),),
    Cause.LIMITS_NOT_STATED: (_local("ResourceQuota", "quota"),),
    Cause.OUTSIDE_LIMIT_RANGE: (_NAMESPACE,),
    Cause.REFUSED_BY_POD_SECURITY: (_NAMESPACE,),
    Cause.NAMESPACE_GOING: (_NAMESPACE,),
    Cause.REFUSED_BY_WEBHOOK: (RootFact("webhook", "webhook"),),
    Cause.NAMED_OBJECT_MISSING: (
        _local("ServiceAccount", "account"),
        RootFact("PriorityClass", "priority_class"),
    ),
    Cause.NOT_TAKEN_BY_QUEUE: (
        RootFact("WorkloadPriorityClass", "priority_class"),
        RootFact("operator", "engine"),
    ),
    Cause.NO_CONTROLLER: (RootFact("operator", "manager"), RootFact("operator", "kind")),
    Cause.GROUP_NOT_LET_IN: (_QUEUE,),
    Cause.GROUP_QUEUE_CLOSED: (_QUEUE,),
    Cause.RUNTIME_MISSING: (RootFact("training runtime", "runtime"),),
    Cause.QUOTA_IN_USE: (_QUEUE, _TWIN),
    Cause.ABOVE_QUOTA: (_TWIN,),
    Cause.NO_FLAVOR_FITS: (RootFact("ResourceFlavor", "flavor"), _TWIN),
    Cause.QUEUE_UNUSABLE: (_QUEUE,),
    Cause.QUEUE_STOPPED: (_QUEUE,),
    Cause.QUEUE_OVER_LIMIT: (_QUEUE,),
    Cause.ADMISSION_CHECK: (RootFact("AdmissionCheck", "check"),),
    Cause.ADMISSION_GATED: (RootFact("admission gate", "holder"),),
    Cause.OTHERS_NOT_READY: (RootFact("job", "other", RootPlace.KEY),),
    Cause.BEHIND_THE_HEAD: (RootFact("job", "head", RootPlace.KEY),),
    Cause.TOPOLOGY_FULL: (RootFact("Topology", "topology"), _TWIN),
    Cause.ELASTIC_QUOTA_USED_UP: (RootFact("ElasticQuota", "quota"),),
    Cause.GANG_FINDS_NO_ROOM: (_POOL, _QUEUE),
    Cause.GANG_NOT_PLACED: (_POOL,),
    Cause.GPUS_SHORT: (_POOL, _REQUEST),
    Cause.GPUS_IN_PIECES: (_POOL, _REQUEST),
    Cause.OTHER_RESOURCE_SHORT: (_POOL, _REQUEST),
    Cause.NO_VICTIMS: (_POOL, _REQUEST),
    Cause.MAY_NOT_PREEMPT: (_POOL, _REQUEST),
    Cause.POD_LIMIT: (_POOL, _REQUEST),
    Cause.NODES_NOT_READY: (_POOL, _REQUEST),
    Cause.CORDONED: (_POOL, _REQUEST),
    Cause.TAINT: (_POOL, RootFact("taint", "taint"), _REQUEST),
    Cause.SELECTOR: (RootFact("label", "selector"), _REQUEST),
    Cause.RESOURCE_NOT_OFFERED: (RootFact("resource", "resource"),),
    Cause.OTHER_GPU_UNIT: (RootFact("resource", "resource"),),
    Cause.CLAIM_UNBOUND: (RootFact("StorageClass", "storage_class"), _CLAIM),
    Cause.CLAIM_MISSING: (_CLAIM,),
    Cause.VOLUME_ELSEWHERE: (_CLAIM,),
    Cause.VOLUME_NOT_ATTACHABLE: (_CLAIM,),
    Cause.DEVICE_CLAIM_MISSING: (_local("claim template", "template"), _local("device claim", "claim")),
    Cause.DEVICE_CLASS_MISSING: (RootFact("DeviceClass", "device_class"),),
    Cause.SCHEDULING_GATE: (RootFact("scheduling gate", "gate"),),
    Cause.NO_SUCH_SCHEDULER: (RootFact("scheduler", "scheduler"),),
    Cause.NOT_LOOKED_AT: (RootFact("scheduler", "scheduler"),),
    Cause.NO_NODES: (RootFact("cluster"),),
    Cause.POOL_AT_MAXIMUM: (RootFact("pool", "pool"), _POOL, _REQUEST),
    Cause.NODE_COMING: (RootFact("pool", "pool"), _POOL, _REQUEST),
    Cause.NO_MACHINE: (RootFact("pool", "pool"), RootFact("label", "selector"), _POOL, _REQUEST),
    Cause.IMAGE_NOT_PULLED: (RootFact("registry", "registry"), RootFact("image", "whole_image")),
    Cause.STARTING: (_POOL, _NODE),
    Cause.CONFIG_MISSING: (_local("{kind}", "object"),),
    Cause.VOLUME_NOT_MOUNTED: (_local("{kind}", "object"), _CLAIM, _local("volume", "volume")),
    Cause.CANNOT_START: (_NODE,),
    Cause.NO_SANDBOX: (RootFact("network plugin", "plugin"), _NODE),
    Cause.DEVICES_NOT_PREPARED: (RootFact("DRA driver", "driver"), _NODE),
    Cause.GPU_STACK_DOWN: (_NODE,),
}
"""By cause: the first of these whose fact is known is the root. What is not here is the subject's own."""

HOLDERS: Final[frozenset[str]] = frozenset({"pool", "queue", "namespace", "request"})
"""Kinds of objects that have several troubles at a time: they are one root for each cause."""
