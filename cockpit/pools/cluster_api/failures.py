"""Why Cluster API's Machines do not come: their own words, and conditions of their infrastructure.

Texts of the cloud pass through. Source: cluster-api api/core/v1beta1/condition_consts.go,
api/core/v1beta2/machine_types.go (reasons of InfrastructureReady, BootstrapConfigReady, NodeHealthy).
"""

import re
from collections.abc import Iterable, Iterator

from cockpit.model.pool import Machine
from cockpit.model.record import Condition
from cockpit.pools.failure_classes import classed
from cockpit.pools.owner import FailureClass, PoolFailure

_TELLING = ("InfrastructureReady", "BootstrapReady", "BootstrapConfigReady", "NodeHealthy", "Ready")
_FAILED = re.compile(r"Fail|Error|Timed?Out|TimeOut", re.IGNORECASE)


def of_machines(machines: Iterable[Machine]) -> Iterator[PoolFailure]:
    """What each says, its own word before that of its infrastructure."""
    for one in machines:
        told = next((each for each in one.conditions if _tells(each)), None)
        if not one.failure and told is None:
            continue
        code, said = ("", one.failure) if told is None else (told.reason, told.message)
        means = classed(code, f"{one.failure} {said}")
        yield PoolFailure(
            kind=means.kind,
            sentence=means.sentence,
            remedy=means.remedy,
            source=f"Machine {one.key}",
            said=one.failure or said,
            code=code,
            since_seconds=told.changed_seconds if told is not None else one.created_seconds,
            machine=one.uid,
        )


def _tells(one: Condition) -> bool:
    if one.type not in _TELLING or one.status != "False":
        return False
    if _FAILED.search(one.reason):
        return True
    return classed(one.reason, one.message).kind in (FailureClass.QUOTA, FailureClass.STOCKOUT)
