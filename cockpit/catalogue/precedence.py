"""Which causes say less than others: beside a special cause a general one is what follows from it."""

from collections.abc import Mapping
from typing import Final

from cockpit.catalogue.cause import Cause
from cockpit.catalogue.row import Gate

YIELDS: Final[Mapping[str, tuple[Cause | Gate, ...]]] = {
    Cause.NOT_ADMITTED_YET: (Gate.CREATION, Gate.QUEUE),
    Cause.BETWEEN_ATTEMPTS: (Gate.START, Gate.PROGRESS, Cause.PREEMPTED),
    Cause.LAUNCHER_NOT_MADE: (Gate.START, Gate.PROGRESS, Gate.PLACEMENT),
    Cause.GANG_FINDS_NO_ROOM: (Gate.PLACEMENT, Gate.CREATION),
    Cause.GANG_REFUSED: (Gate.PLACEMENT, Gate.CREATION, Gate.QUEUE),
    Cause.GANG_BACKS_OFF: (Gate.PLACEMENT, Gate.CREATION),
    Cause.GANG_NOT_PLACED: (Gate.PLACEMENT,),
    Cause.GANG_MEMBERS_MISSING: (Gate.CREATION,),
    Cause.HELD_BEFORE_QUEUE: (Gate.PLACEMENT, Gate.QUEUE, Gate.CREATION),
    Cause.NOT_LOOKED_AT: (Gate.PLACEMENT, Gate.QUEUE, Gate.CREATION),
    Cause.GPUS_SHORT: (
        Cause.GPUS_IN_PIECES,
        Cause.HOLDERS_TERMINATING,
        Cause.NO_VICTIMS,
        Cause.MAY_NOT_PREEMPT,
        Cause.VICTIMS_ENDING,
    ),
    Cause.OTHER_RESOURCE_SHORT: (Cause.NO_VICTIMS, Cause.MAY_NOT_PREEMPT, Cause.VICTIMS_ENDING),
    Cause.RESOURCE_NOT_OFFERED: (Cause.OTHER_GPU_UNIT, Cause.GPU_STACK_DOWN),
    Cause.STARTING: (Gate.START, Gate.PROGRESS),
    Cause.INIT_CONTAINER: (Gate.START, Gate.PROGRESS),
    Cause.NOT_READY: (Gate.START, Gate.PROGRESS),
    Cause.CRASHES: (
        Gate.PROGRESS,
        Cause.CANNOT_START,
        Cause.PREEMPTED,
        Cause.EVICTED_BY_KUBELET,
        Cause.REFUSED_BY_KUBELET,
        Cause.DEVICES_UNAVAILABLE,
    ),
}
"""By general cause: the causes, or all of a gate that are not general themselves, to which it yields."""

STORIES: Final[frozenset[str]] = frozenset({Cause.HALF_PLACED, Cause.BEHIND_THE_HEAD, Cause.OTHERS_NOT_READY})
"""What several objects do to each other; the own cause of one of them is told before."""
