"""Kubernetes events."""

from cockpit.model.record import Record


class Event(Record, frozen=True, gc=False, kw_only=True):
    """One event, of either API group; counts and times folded from the series where there is one."""

    type: str = ""  # Normal, Warning
    reason: str = ""
    message: str = ""
    component: str = ""
    count: int = 1
    first_seconds: float | None = None
    last_seconds: float | None = None
    object_kind: str = ""
    object_namespace: str = ""
    object_name: str = ""
    object_uid: str = ""
