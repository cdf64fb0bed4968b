"""What has to come before a cause is gone: whether a change of the cluster can be weighed against it."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from cockpit.catalogue.cause import Cause


class Lift(StrEnum):
    """How a cause goes away."""

    NUMBERS = "computed again from what the cluster has"
    COMPONENT = "once what its component asks for is done"
    TIME = "by itself, without any change"


LIFTS: Final[Mapping[str, Lift]] = {
    Cause.NAMED_OBJECT_MISSING: Lift.NUMBERS,
    Cause.QUOTA_IN_USE: Lift.NUMBERS,
    Cause.ABOVE_QUOTA: Lift.NUMBERS,
    Cause.BEHIND_THE_HEAD: Lift.NUMBERS,
    Cause.QUEUE_STOPPED: Lift.NUMBERS,
    Cause.GANG_FINDS_NO_ROOM: Lift.NUMBERS,
    Cause.GANG_REFUSED: Lift.NUMBERS,
    Cause.GANG_NOT_PLACED: Lift.NUMBERS,
    Cause.PREEMPTED: Lift.NUMBERS,
    Cause.HALF_PLACED: Lift.NUMBERS,
    Cause.GPUS_SHORT: Lift.NUMBERS,
    Cause.RESOURCE_NOT_OFFERED: Lift.NUMBERS,
    Cause.OTHER_RESOURCE_SHORT: Lift.NUMBERS,
    Cause.POD_LIMIT: Lift.NUMBERS,
    Cause.TAINT: Lift.NUMBERS,
    Cause.NODES_NOT_READY: Lift.NUMBERS,
    Cause.CORDONED: Lift.NUMBERS,
    Cause.SELECTOR: Lift.NUMBERS,
    Cause.POD_AFFINITY: Lift.NUMBERS,
    Cause.TOPOLOGY_SPREAD: Lift.NUMBERS,
    Cause.HOST_PORT: Lift.NUMBERS,
    Cause.CLAIM_MISSING: Lift.NUMBERS,
    Cause.NO_VICTIMS: Lift.NUMBERS,
    Cause.MAY_NOT_PREEMPT: Lift.NUMBERS,
    Cause.NO_NODES: Lift.NUMBERS,
    Cause.POOL_AT_MAXIMUM: Lift.NUMBERS,
    Cause.NO_MACHINE: Lift.NUMBERS,
    Cause.GPUS_IN_PIECES: Lift.NUMBERS,
    Cause.HOLDERS_TERMINATING: Lift.NUMBERS,
    Cause.OTHER_GPU_UNIT: Lift.NUMBERS,
    Cause.GPU_STACK_DOWN: Lift.NUMBERS,
    Cause.GPUS_UNHEALTHY: Lift.NUMBERS,
    Cause.NOT_ADMITTED_YET: Lift.TIME,
    Cause.BETWEEN_ATTEMPTS: Lift.TIME,
    Cause.QUOTA_VICTIMS_ENDING: Lift.TIME,
    Cause.BACKS_OFF: Lift.TIME,
    Cause.GANG_BACKS_OFF: Lift.TIME,
    Cause.VICTIMS_ENDING: Lift.TIME,
    Cause.NODE_COMING: Lift.TIME,
    Cause.NOT_LOOKED_AT: Lift.TIME,
    Cause.STARTING: Lift.TIME,
}
"""By cause; any other is lifted by its component alone, whatever seats and quota there are."""


def lift_of(cause: str) -> Lift:
    """How the cause goes away."""
    return LIFTS.get(cause, Lift.COMPONENT)
