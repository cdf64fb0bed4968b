"""Events: one store, shown by two groups (pkg/apis/events/v1/conversion.go)."""

from collections.abc import Iterator

from cockpit.sim.port import Tree
from cockpit.sim.server.builtin.filling import filled
from cockpit.sim.server.refusals import Cause, required, wrong

_NAMES = {
    "involvedObject": "regarding",
    "message": "note",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "reportingComponent": "reportingController",
}
_BACK = {new: core for core, new in _NAMES.items()}

CORE_FIELDS: dict[str, tuple[str, ...]] = {
    **{
        f"involvedObject.{part}": ("involvedObject", part)
        for part in ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
    },
    "reason": ("reason",),
    "reportingComponent": ("reportingComponent",),
    "source": ("source", "component"),
    "type": ("type",),
}
NEW_FIELDS: dict[str, tuple[str, ...]] = {
    **{
        f"regarding.{part}": ("regarding", part)
        for part in ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
    },
    "reason": ("reason",),
    "reportingController": ("reportingController",),
    "type": ("type",),
}


def to_new(event: Tree) -> Tree:
    """A stored event as events.k8s.io shows it."""
    shown = {
        _NAMES.get(key, key): value
        for key, value in event.items()
        if value != "" or not key.startswith("reporting")
    }
    return {**shown, "apiVersion": "events.k8s.io/v1"}


def to_core(event: Tree) -> Tree:
    """An event of events.k8s.io as it is stored."""
    return complete({_BACK.get(key, key): value for key, value in event.items()} | {"apiVersion": "v1"})


def complete(event: Tree) -> Tree:
    """What every event shows, also when it is empty."""
    return filled(
        event,
        involvedObject={},
        source={},
        firstTimestamp=None,
        lastTimestamp=None,
        eventTime=None,
        reportingComponent="",
        reportingInstance="",
    )


def check(event: Tree, old: Tree | None) -> Iterator[Cause]:
    """A core event is about something in its own namespace, or without one in `default`."""
    space = event["metadata"].get("namespace", "")
    about = (event.get("involvedObject") or {}).get("namespace", "")
    if space != about and not (about == "" and space == "default"):
        yield wrong("involvedObject.namespace", about, "does not match event.namespace")


_OPEN = ("metadata", "series", "apiVersion", "kind")


def _change_faults(event: Tree, old: Tree) -> Iterator[Cause]:
    """An event that has happened goes on at most: only its series changes."""
    for key in {**event, **old}:
        if key not in _OPEN and event.get(key) != old.get(key):
            name = key if key == "reportingController" else _BACK.get(key, key)
            yield wrong(name, event.get(key), "field is immutable")


def check_new(event: Tree, old: Tree | None) -> Iterator[Cause]:
    """An event of events.k8s.io says when, by whom, what and why (pkg/apis/core/validation/events.go)."""
    if old is not None:
        yield from _change_faults(event, old)
        return
    if not event.get("eventTime"):
        yield required("eventTime")
    else:
        for key in ("reportingController", "reportingInstance", "action", "reason"):
            if not event.get(key):
                yield required(key)
    if event.get("type") not in ("Normal", "Warning"):
        yield wrong("type", event.get("type", ""), "has invalid value: " + str(event.get("type", "")))
