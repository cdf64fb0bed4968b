"""One object described: what it is, who owns it, its conditions, events and fields."""

from collections.abc import Iterable, Iterator
from typing import Final

from cockpit_widgets.types import Tone, ToneLine

from cockpit.model.event import Event
from cockpit.model.object_table import ObjectAddress, ObjectDetail, OwnedObject
from cockpit.model.record import Labels
from cockpit.views import format as fmt
from cockpit.views.events import folded
from cockpit.views.order import natural

_NAME_CELLS: Final = 12
_TROUBLE: Final = {
    **dict.fromkeys(("Ready", "ContainersReady", "Available", "PodScheduled", "Initialized"), "False"),
    **dict.fromkeys(("MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable"), "True"),
    **dict.fromkeys(("Failed", "Degraded", "ReplicaFailure", "Evicted", "DisruptionTarget"), "True"),
}
"""The status that means trouble, by type of condition (kubernetes.io: pods, nodes; controllers' APIs)."""
_GLYPHS: Final = {"True": "●", "False": "○"}


def named(address: ObjectAddress) -> str:
    """`Deployment team-a/web`, or `Node gpu-1`."""
    place = f"{address.namespace}/{address.name}" if address.namespace else address.name
    return f"{address.kind} {place}"


def describe_lines(detail: ObjectDetail, events: Iterable[Event], now_seconds: float) -> list[ToneLine]:
    """The page of `d`, a part after the other; what the object does not have is left out."""
    return [
        *_head(detail, now_seconds),
        *_conditions(detail, now_seconds),
        *_events(events, now_seconds),
        *_rest(detail),
    ]


def _head(detail: ObjectDetail, now_seconds: float) -> Iterator[ToneLine]:
    yield ToneLine(f"{named(detail.address)} · {detail.address.api_version}", "strong")
    if detail.created_seconds is not None:
        yield _fact("created", f"{fmt.age(now_seconds - detail.created_seconds)} ago")
    if detail.deleting_seconds is not None:
        yield _fact(
            "deleted", f"{fmt.age(now_seconds - detail.deleting_seconds)} ago, and still there", "warn"
        )
    for number, owner in enumerate(detail.owners):
        yield _fact("" if number else "owner", f"{owner.kind} {owner.name}")
    yield from _pairs("labels", detail.labels)
    yield from _pairs("annotations", detail.annotations)
    for number, finalizer in enumerate(detail.finalizers):
        yield _fact("" if number else "finalizers", finalizer, "warn" if detail.deleting_seconds else "")


def _fact(name: str, text: str, tone: Tone = "") -> ToneLine:
    return ToneLine(f"{name:<{_NAME_CELLS}}{text}", tone)


def _pairs(name: str, pairs: Labels) -> Iterator[ToneLine]:
    for number, (key, value) in enumerate(pairs):
        first, *others = value.splitlines() or [""]
        yield _fact("" if number else name, f"{key}={first}")
        for line in others:
            yield _fact("", f"  {line}")


def _title(text: str) -> Iterator[ToneLine]:
    yield ToneLine("")
    yield ToneLine(text, "accent")


def _conditions(detail: ObjectDetail, now_seconds: float) -> Iterator[ToneLine]:
    if not detail.conditions:
        return
    yield from _title("Conditions")
    widest = max(len(condition.type) for condition in detail.conditions)
    for condition in detail.conditions:
        is_trouble = condition.status == _TROUBLE.get(condition.type)
        glyph = "▲" if is_trouble else _GLYPHS.get(condition.status, "?")
        ago = "" if condition.changed_seconds is None else fmt.age(now_seconds - condition.changed_seconds)
        said = ": ".join(part for part in (condition.reason, condition.message) if part)
        text = f"  {glyph} {condition.type:<{widest}}  {condition.status:<7}  {ago:>5}  {said}".rstrip()
        yield ToneLine(text, "warn" if is_trouble else "")


def _rest(detail: ObjectDetail) -> Iterator[ToneLine]:
    for name, lines in detail.sections:
        yield from _title(name[:1].upper() + name[1:])
        for line in lines:
            yield ToneLine(f"  {line}")


def _events(events: Iterable[Event], now_seconds: float) -> Iterator[ToneLine]:
    yield from _title("Events")
    rows = folded(events)
    if not rows:
        yield ToneLine("  none in the last hour", "dim")
    for row in rows:
        event = row.event
        ago = "?" if event.last_seconds is None else fmt.age(now_seconds - event.last_seconds)
        times = f" x{row.count}" if row.count > 1 else ""
        glyph = "▲" if event.type == "Warning" else "·"
        text = f"  {glyph} {ago:>5}{times}  {event.reason}: {event.message}"
        yield ToneLine(text, "warn" if event.type == "Warning" else "")


def owner_lines(root: OwnedObject, chosen: ObjectAddress) -> list[ToneLine]:
    """A tree of owners, the one that was asked about marked."""
    return list(_branch(root, chosen, "", ""))


def _branch(item: OwnedObject, chosen: ObjectAddress, first: str, further: str) -> Iterator[ToneLine]:
    is_chosen = item.address[1:] == chosen[1:]
    state = f"  {item.state}" if item.state else ""
    mark = "  ◂" if is_chosen else ""
    yield ToneLine(f"{first}{named(item.address)}{state}{mark}", "accent" if is_chosen else "")
    if item.error:
        yield ToneLine(f"{further}  {item.error}", "warn")
    parts = sorted(item.children, key=lambda child: natural(f"{child.address.kind} {child.address.name}"))
    for number, child in enumerate(parts, start=1):
        is_last = number == len(parts)
        yield from _branch(
            child, chosen, f"{further}{'└ ' if is_last else '├ '}", f"{further}{'  ' if is_last else '│ '}"
        )
