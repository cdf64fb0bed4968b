"""Which lists a cause rests on: what they hide may refute it, or tell another one; and which objects that
no watch covers."""

import enum
from collections.abc import Mapping
from typing import Final, NamedTuple

from cockpit.catalogue.cause import Cause
from cockpit.catalogue.row import Gate
from cockpit.model.record import Kind


class ListOf(NamedTuple):
    """A kind, of all namespaces or of the subject's own."""

    kind: str
    is_wide: bool = False


_NODES = ListOf(Kind.NODE, is_wide=True)
_PODS, _EVERY_POD = ListOf(Kind.POD), ListOf(Kind.POD, is_wide=True)
_EVENTS, _WORKLOADS, _GROUPS = ListOf(Kind.EVENT), ListOf(Kind.WORKLOAD), ListOf(Kind.POD_GROUP)
_QUEUES = (ListOf(Kind.LOCAL_QUEUE), ListOf(Kind.CLUSTER_QUEUE, is_wide=True))
_DEVICES = (_NODES, ListOf(Kind.DEVICE_SLICE, is_wide=True), ListOf(Kind.DEVICE_CLAIM, is_wide=True))

RESTS_ON: Final[Mapping[str, tuple[ListOf, ...]]] = {
    Gate.PLACEMENT: (_NODES, _EVERY_POD),
    Cause.SELECTOR: (_NODES,),
    Cause.TAINT: (_NODES,),
    Cause.CORDONED: (_NODES,),
    Cause.NODES_NOT_READY: (_NODES,),
    Cause.NO_NODES: (_NODES,),
    Cause.RESOURCE_NOT_OFFERED: (_NODES,),
    Cause.OTHER_GPU_UNIT: (_NODES,),
    Cause.VOLUME_ELSEWHERE: (_NODES,),
    Cause.VOLUME_NOT_ATTACHABLE: (_EVERY_POD,),
    Cause.CLAIM_MISSING: (),
    Cause.CLAIM_UNBOUND: (),
    Cause.DEVICE_CLAIM_MISSING: (ListOf(Kind.DEVICE_CLAIM),),
    Cause.DEVICES_SHORT: _DEVICES,
    Cause.DEVICE_ELSEWHERE: _DEVICES,
    Cause.DEVICE_CLASS_MISSING: (),
    Cause.NODE_COMING: (_NODES, _EVERY_POD, ListOf(Kind.EVENT, is_wide=True)),
    Cause.VICTIMS_ENDING: (),
    Cause.SCHEDULING_GATE: (),
    Cause.SCHEDULER_FAILED: (),
    Cause.NO_SUCH_SCHEDULER: (_EVENTS,),
    Cause.NOT_LOOKED_AT: (_EVENTS,),
    Cause.HELD_BEFORE_QUEUE: (_EVENTS,),
    Cause.QUOTA_IN_USE: _QUEUES,
    Cause.ABOVE_QUOTA: _QUEUES,
    Cause.NO_FLAVOR_FITS: _QUEUES,
    Cause.QUEUE_UNUSABLE: _QUEUES,
    Cause.GANG_MISSING: (_GROUPS,),
    Cause.GANG_MEMBERS_MISSING: (_PODS,),
    Cause.HALF_PLACED: (_NODES, _EVERY_POD),
    Cause.NOT_TAKEN_BY_QUEUE: (_WORKLOADS, _EVENTS),
    Cause.NOT_ADMITTED_YET: (_WORKLOADS, _EVENTS, *_QUEUES),
    Cause.SUSPENDED_BY_HAND: (_WORKLOADS,),
    Cause.NO_CONTROLLER: (_EVENTS, _PODS),
    Cause.OPERATOR_DOWN: (_EVENTS, _EVERY_POD),
    Cause.PART_SUSPENDED: (_WORKLOADS, _PODS),
    Cause.QUOTA_NOT_RELEASED: (_PODS, *_QUEUES),
    Cause.LAUNCHER_NOT_MADE: (_PODS, ListOf(Kind.JOB)),
    Cause.WORKERS_LEFT: (_PODS,),
    Cause.STARTING: (_EVENTS,),
    Cause.NOT_READY: (_EVENTS,),
    Cause.GPU_STACK_DOWN: (_NODES, _EVERY_POD),
    Cause.GPUS_UNHEALTHY: (_NODES,),
    Cause.NODE_NOT_READY: (_NODES,),
}
"""By cause, else by its gate; what is not here rests on what a component said of the subject itself."""


class Unwatched(enum.Enum):
    """Objects that are read where a row tells a cause that they may prove, refute or tell better."""

    CLAIMS = "volume claims of the namespace, their volumes and classes"
    DEVICES = "device claims of the namespace and their templates"
    ENGINE = "queues of the job's engine, and classes of priority in a queue"
    OWN = "the job's own object"


UNWATCHED: Final[Mapping[str, Unwatched]] = {
    Cause.CLAIM_MISSING: Unwatched.CLAIMS,
    Cause.CLAIM_UNBOUND: Unwatched.CLAIMS,
    Cause.VOLUME_ELSEWHERE: Unwatched.CLAIMS,
    Cause.VOLUME_NOT_ATTACHABLE: Unwatched.CLAIMS,
    Cause.VOLUME_NOT_MOUNTED: Unwatched.CLAIMS,
    Cause.DEVICE_CLAIM_MISSING: Unwatched.DEVICES,
    Cause.DEVICE_ELSEWHERE: Unwatched.DEVICES,
    Cause.DEVICES_SHORT: Unwatched.DEVICES,
    Cause.NOT_TAKEN_BY_QUEUE: Unwatched.ENGINE,
    Cause.GROUP_NOT_LET_IN: Unwatched.ENGINE,
    Cause.NO_CONTROLLER: Unwatched.OWN,
    Cause.LAUNCHER_NOT_MADE: Unwatched.OWN,
    Cause.GANG_MEMBERS_MISSING: Unwatched.OWN,
}
