"""Events: one store, shown by two groups (pkg/apis/events/v1/conversion.go)."""

from collections.abc import Iterator

import msgspec

from cockpit.sim.port import Tree
from cockpit.sim.server.builtin.filling import filled
from cockpit.sim.server.names import label_key_faults
from cockpit.sim.server.refusals import Cause, required, wrong

_NOTE_BYTES = 1024
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
    """A core event (pkg/apis/core/validation/events.go)."""
    yield from _old_faults(event, CORE)


class _Names(msgspec.Struct, frozen=True):
    """What a group calls the parts of an event."""

    about: str
    by: str
    text: str


CORE = _Names("involvedObject", "reportingComponent", "message")
NEW = _Names("regarding", "reportingController", "note")


def _old_faults(event: Tree, names: _Names) -> Iterator[Cause]:
    """An event is about something in its own namespace, or without one in `default`; one that says at which
    instant it was says by whom, what and why instead."""
    if event.get("eventTime"):
        yield from _story_faults(event, names)
        return
    space = event["metadata"].get("namespace", "")
    about = (event.get(names.about) or {}).get("namespace", "")
    if space != about and not (about == "" and space == "default"):
        yield wrong("involvedObject.namespace", about, "does not match event.namespace")


_FIXED = (
    "involvedObject", "reason", "message", "source", "firstTimestamp", "lastTimestamp", "count", "reason",
    "type", "eventTime", "action", "related", "reportingController", "reportingInstance",
)  # fmt: skip
_TIMES = ("firstTimestamp", "lastTimestamp", "eventTime")


def _change_faults(event: Tree, old: Tree) -> Iterator[Cause]:
    """An event that has happened goes on at most: only its series changes."""
    for name in _FIXED:
        key = _NAMES.get(name, name)
        if event.get(key) != old.get(key):
            given = event.get(key)
            yield wrong(name, given if given is not None or name in _TIMES else "", "field is immutable")


def check_story(event: Tree, old: Tree | None) -> Iterator[Cause]:
    """An event of events.k8s.io says by whom, what and why."""
    yield from _old_faults(event, NEW)


def check_new(event: Tree, old: Tree | None) -> Iterator[Cause]:
    """An event of events.k8s.io says when it was, and of what type (after `check_story`)."""
    if old is not None:
        yield from _change_faults(event, old)
        return
    if not event.get("eventTime"):
        yield required("eventTime")
    if event.get("type") not in ("Normal", "Warning"):
        yield wrong("type", "", "has invalid value: " + str(event.get("type", "")))
    if event.get("deprecatedCount"):
        yield wrong("count", "", "needs to be unset")


def _story_faults(event: Tree, names: _Names) -> Iterator[Cause]:
    by = event.get(names.by) or ""
    if not by:
        yield required(names.by)
    for fault in label_key_faults(by):
        yield wrong(names.by, by, fault)
    for key in ("reportingInstance", "action", "reason"):
        if not event.get(key):
            yield required(key)
    if len((event.get(names.text) or "").encode()) > _NOTE_BYTES:
        yield wrong("message", "", f"can have at most {_NOTE_BYTES} characters")
