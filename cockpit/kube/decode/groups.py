"""Group objects of the placement engines, one lean record for all.

Sources: scheduler-plugins apis/scheduling/v1alpha1, volcano-sh/apis scheduling/v1beta1, kubernetes
scheduling/v1alpha2 and v1beta1, KAI-Scheduler scheduling/v2alpha2.
"""

from collections.abc import Callable

from cockpit.kube.decode.common import conditions, controller, identity
from cockpit.kube.decode.reading import JSON
from cockpit.kube.decode.shapes import ObjectMeta, PodCondition, WireShape
from cockpit.kube.resource import Resource
from cockpit.mask import MESSAGES
from cockpit.model.gang import PodGroup
from cockpit.model.record import Condition
from cockpit.sanitise import WORDS


class _Gang(WireShape, frozen=True, gc=False):
    min_count: int | None = None


class _Policy(WireShape, frozen=True, gc=False):
    gang: _Gang = _Gang()


class _Spec(WireShape, frozen=True, gc=False):
    min_member: int | None = None
    queue: str = ""
    priority_class_name: str = ""
    scheduling_policy: _Policy = _Policy()


class _Reason(WireShape, frozen=True, gc=False):
    reason: str = ""
    message: str = ""


class _SchedulingCondition(WireShape, frozen=True, gc=False):
    """KAI's own form: a list of reasons, no status beside it means that it holds."""

    type: str = ""
    status: str = "True"
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None
    reasons: tuple[_Reason, ...] = ()


class _Status(WireShape, frozen=True, gc=False):
    phase: str = ""
    running: int | None = None
    conditions: tuple[PodCondition, ...] = ()
    scheduling_conditions: tuple[_SchedulingCondition, ...] = ()


class PodGroupShape(WireShape, frozen=True, gc=False):
    metadata: ObjectMeta = ObjectMeta()
    spec: _Spec = _Spec()
    status: _Status = _Status()


def _kai(one: _SchedulingCondition) -> Condition:
    told = one.reasons[-1] if one.reasons else _Reason(one.reason, one.message)
    return Condition(
        type=WORDS[one.type],
        status=WORDS[one.status],
        reason=WORDS[told.reason or one.reason],
        message=MESSAGES[told.message or one.message],
        changed_seconds=JSON.seconds(one.last_transition_time),
    )


def pod_group_record(resource: Resource, engine: str) -> Callable[[PodGroupShape], PodGroup]:
    """The record maker of one engine's group; `engine` is its name."""

    def record(shape: PodGroupShape) -> PodGroup:
        spec, status = shape.spec, shape.status
        least = spec.min_member if spec.min_member is not None else spec.scheduling_policy.gang.min_count
        return PodGroup(
            **identity(shape.metadata, JSON),
            engine=engine,
            api_version=resource.api_version,
            owner=controller(shape.metadata),
            min_member=least,
            phase=WORDS[status.phase],
            queue=WORDS[spec.queue],
            priority_class=WORDS[spec.priority_class_name],
            running=status.running,
            is_ours=shape.metadata.labels.get("app.kubernetes.io/managed-by") == "gpu-cockpit",
            conditions=(
                *conditions(status.conditions, JSON),
                *(_kai(condition) for condition in status.scheduling_conditions),
            ),
        )

    return record
