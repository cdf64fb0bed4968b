"""When a pod was bound and when its containers started (core/v1 PodStatus: conditions, containerStatuses)."""

from datetime import datetime

import msgspec

from cockpit.errors import Refused
from cockpit.kube.refusal import refused
from cockpit.kube.resource import PODS
from cockpit.kube.session import ApiSession
from cockpit.model.pod_times import PodTimes


class _Run(msgspec.Struct):
    started_at: str | None = msgspec.field(name="startedAt", default=None)


class _State(msgspec.Struct):
    running: _Run | None = None
    terminated: _Run | None = None


class _Container(msgspec.Struct):
    state: _State = msgspec.field(default_factory=_State)
    restarts: int = msgspec.field(name="restartCount", default=0)


class _Condition(msgspec.Struct):
    type: str = ""
    status: str = ""
    changed_at: str | None = msgspec.field(name="lastTransitionTime", default=None)


class _Status(msgspec.Struct):
    conditions: list[_Condition] = []
    containers: list[_Container] = msgspec.field(name="containerStatuses", default_factory=list)


class _Pod(msgspec.Struct):
    status: _Status = msgspec.field(default_factory=_Status)


async def read_times(session: ApiSession, namespace: str, name: str) -> PodTimes:
    """The moments of one pod. Raises Refused with the server's sentence, NoConnection."""
    path = PODS.path(namespace, name)
    answer = await session.request("GET", path)
    if not answer.ok:
        raise refused(f"Pod {namespace}/{name}", answer, path)
    return times_of(answer.body)


def times_of(body: bytes) -> PodTimes:
    """The moments in the JSON of a pod. Raises Refused where it is none."""
    try:
        status = msgspec.json.decode(body, type=_Pod).status
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise Refused("The server's answer for a pod is not what a pod looks like.") from None
    bound = next(
        (
            condition
            for condition in status.conditions
            if condition.type == "PodScheduled" and condition.status == "True"
        ),
        None,
    )
    runs = [container.state.running or container.state.terminated for container in status.containers]
    started = [_seconds(run.started_at) if run is not None else None for run in runs]
    return PodTimes(
        _seconds(bound.changed_at) if bound is not None else None,
        max((at for at in started if at is not None), default=None) if None not in started else None,
        sum(container.restarts for container in status.containers),
    )


def _seconds(text: str | None) -> float | None:
    if not text:
        return None
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError):
        return None
