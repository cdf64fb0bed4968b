"""Why Karpenter's machines do not come: conditions of NodeClaims and NodePools, and events that outlive them.

A NodeClaim that found no capacity is deleted at once, one that was not launched or did not register in time
a little later: then only its event tells. Sources: karpenter pkg/events/reason.go,
pkg/apis/v1/nodepool_status.go, pkg/controllers/nodeclaim/lifecycle/launch.go, registration.go, liveness.go.
"""

from collections.abc import Iterable, Iterator

from cockpit.model.event import Event
from cockpit.model.pool import Machine, PoolObject
from cockpit.model.record import condition
from cockpit.pools.failure_classes import Classed, classed
from cockpit.pools.owner import FailureClass, PoolFailure

KEPT = ("InsufficientCapacityError", "NoCompatibleInstanceTypes", "LaunchFailed", "NodeClassNotReady")
LAUNCH_SECONDS, REGISTER_SECONDS = 300.0, 900.0
_JOIN = Classed(
    FailureClass.JOIN,
    "the machine runs and did not register as a node",
    "read its boot log: network, role, image and join token of the NodeClass",
)
_POOL = {
    "NodeClassReady": Classed(
        FailureClass.OTHER, "its NodeClass is not ready", "look at the conditions of the NodeClass"
    ),
    "ValidationSucceeded": Classed(
        FailureClass.OTHER, "the NodePool is not valid", "mend the field that its condition names"
    ),
    "NodeRegistrationHealthy": _JOIN,
}


def of_claims(claims: Iterable[Machine], now_seconds: float) -> Iterator[PoolFailure]:
    """What NodeClaims say of themselves."""
    for claim in claims:
        launched, registered = (
            condition(claim.conditions, "Launched"),
            condition(claim.conditions, "Registered"),
        )
        if launched is not None and launched.status != "True" and launched.reason in _LAUNCH_REASONS:
            means = classed(launched.reason, launched.message)
            yield _failure(claim, means, launched.reason, launched.message, launched.changed_seconds)
        elif claim.launched_seconds is None:
            since = claim.created_seconds
            if since is not None and now_seconds - since > LAUNCH_SECONDS and claim.joined_seconds is None:
                reason, said = ("", "") if launched is None else (launched.reason, launched.message)
                means = classed(reason, said)
                if means.kind is FailureClass.OTHER:  # the condition does not say why
                    means = classed("LaunchTimeout", "")
                yield _failure(claim, means, "", said, since)
        elif claim.joined_seconds is None and now_seconds - claim.launched_seconds > REGISTER_SECONDS:
            said = registered.message if registered is not None else ""
            yield _failure(claim, _JOIN, "", said, claim.launched_seconds)


_LAUNCH_REASONS = ("LaunchFailed", "InsufficientCapacity", "NodeClassNotReady", "UnavailableOfferings")


def of_pool(found: PoolObject) -> Iterator[PoolFailure]:
    """What the NodePool says of itself."""
    for kind, means in _POOL.items():
        one = condition(found.conditions, kind)
        if one is None or one.status != "False":
            continue
        told = classed(one.reason, one.message)
        yield PoolFailure(
            kind=told.kind if told.kind is not FailureClass.OTHER else means.kind,
            sentence=means.sentence,
            remedy=means.remedy,
            source=f"condition {kind}",
            said=one.message,
            code=one.reason,
            since_seconds=one.changed_seconds,
        )


def of_events(pool: str, events: Iterable[Event]) -> Iterator[PoolFailure]:
    """What was said of NodeClaims of the pool, also of those that are gone: they are called by its name."""
    for event in events:
        if event.reason not in KEPT:
            continue
        name = event.object_name
        if name != pool and name.rpartition("-")[0] != pool:
            continue
        means = classed(event.reason, event.message)
        yield PoolFailure(
            kind=means.kind,
            sentence=means.sentence,
            remedy=means.remedy,
            source=f"event {event.reason} of {event.object_kind} {name}",
            said=event.message,
            code=event.reason,
            since_seconds=event.last_seconds,
            machine=event.object_uid,
            is_past=True,
        )


def _failure(claim: Machine, means: Classed, code: str, said: str, since: float | None) -> PoolFailure:
    return PoolFailure(
        kind=means.kind,
        sentence=means.sentence,
        remedy=means.remedy,
        source=f"NodeClaim {claim.name}",
        said=said,
        code=code,
        since_seconds=since,
        machine=claim.uid,
    )
