"""Which of two faults in one job is told first, the one that lasts, and what follows from a fault."""

from collections.abc import Iterable, Mapping

from cockpit.catalogue import Cause
from tests.triage.case import Case
from tests.triage.stage import SCRIPTS, Lasts


def told_first(case: Case, extra: tuple[str, Lasts] | None = None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Headlines that are right for a case, with a further fault or without, and what is told besides."""
    script = SCRIPTS[case.file.recorded.script]
    faults: list[tuple[str, Lasts]] = []
    if extra is not None and script.lasts is not None:
        faults = [(case.file.top, script.lasts), extra]
    elif script.can_second and script.double is not None and case.file.also:
        faults = list(zip((case.file.top, case.file.also[0]), script.double, strict=True))
    if not faults:
        return (case.file.top,), ()
    first = min(lasts for _, lasts in faults)
    heads = tuple(cause for cause, lasts in faults if lasts is first)
    return heads, tuple(cause for cause, lasts in faults if lasts is not first) or heads[1:]


_OF_ROOM = (Cause.GPUS_SHORT, Cause.GPUS_IN_PIECES, Cause.RESOURCE_NOT_OFFERED)
FOLLOWS: Mapping[Cause, tuple[Cause, ...]] = {
    Cause.BETWEEN_ATTEMPTS: (Cause.CRASHES,),
    Cause.WORKER_FAILED: (Cause.CRASHES,),
    Cause.DEVICES_UNAVAILABLE: (Cause.BETWEEN_ATTEMPTS,),
    Cause.EVICTED_BY_KUBELET: (Cause.BETWEEN_ATTEMPTS,),
    Cause.REFUSED_BY_KUBELET: (Cause.BETWEEN_ATTEMPTS,),
    Cause.GANG_NOT_PLACED: (Cause.GANG_REFUSED,),
    Cause.NAMESPACE_QUOTA_USED_UP: (Cause.STARTING,),  # members that are there
    Cause.OPERATOR_DOWN: (Cause.CRASHES, Cause.IMAGE_NOT_PULLED),  # why its pod is down
    Cause.NO_FLAVOR_FITS: (Cause.SELECTOR, Cause.TAINT),  # the nodes of the flavor are as it says
    Cause.NODES_NOT_READY: (Cause.NODE_NOT_READY, Cause.NODE_PRESSURE),
    Cause.GROUP_NOT_LET_IN: _OF_ROOM,
    Cause.TOPOLOGY_FULL: _OF_ROOM,
    Cause.ABOVE_QUOTA: _OF_ROOM,
    Cause.NODE_COMING: _OF_ROOM,
    Cause.NO_MACHINE: _OF_ROOM,
    Cause.POOL_AT_MAXIMUM: _OF_ROOM,
}
"""What holds as well wherever a script plays the cause, and is no fault of its own."""


def explained(causes: Iterable[str]) -> frozenset[str]:
    """The causes and all that follows from them."""
    known = tuple(causes)
    return frozenset((*known, *(more for one in known for more in FOLLOWS.get(Cause(one), ()))))
