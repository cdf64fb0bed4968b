"""Which writes an audit log has the line before of and not the line after. Pure."""

from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

from cockpit.local_state.audit import Entry
from cockpit.model.session import Connection

ACKNOWLEDGED: Final = "acknowledged"
"""The step of the line that says that a person knows of a write that was broken off."""
ENDED_SECONDS: Final = 900.0
"""Age after which a process without a known state counts as ended: no plan takes longer."""
_NO_WRITES: Final = ("forward",)
_DRAIN: Final = "drain"


class Unfinished(NamedTuple):
    """A write that was begun and not ended: the last line of it. `done` calls of its plan were carried out.
    With `is_between` that call has ended and the next one was not begun."""

    entry: Entry
    done: int = 0
    is_between: bool = False


class LeftBehind(NamedTuple):
    """What ended processes left: writes without an end, and the first lines of drains that no process carries
    on."""

    writes: tuple[Unfinished, ...]
    drains: tuple[Entry, ...]


def left_behind(
    entries: Iterable[Entry],
    session: Connection,
    who: str,
    now_seconds: float,
    may_run: Callable[[str], bool | None],
) -> LeftBehind:
    """What `entries`, the oldest first, tell of this host and user (`who`), this context and server.

    `may_run` tells whether a process may still run, None where it cannot tell.
    """
    plans: dict[str, list[Entry]] = {}  # those without an end so far
    drains: dict[str, Entry] = {}  # the newest of a node counts
    for entry in entries:
        is_ours = (entry.context, entry.server, entry.local_user) == (session.context, session.server, who)
        if not is_ours or entry.verb in _NO_WRITES:
            continue
        if entry.step == ACKNOWLEDGED:
            plans.pop(entry.audit_id, None)
            continue
        if entry.verb == _DRAIN and entry.target.startswith("node "):
            drains[entry.target] = entry
        lines = plans.setdefault(entry.audit_id, [])
        lines.append(entry)
        if entry.step == "outcome" and not list(_open(lines)):
            del plans[entry.audit_id]
    writes = (
        write
        for lines in plans.values()
        if _has_ended(lines[-1], now_seconds, may_run)
        for write in _open(lines)
    )
    ended = (entry for entry in drains.values() if _has_ended(entry, now_seconds, may_run))
    return LeftBehind(tuple(writes), tuple(ended))


def _has_ended(entry: Entry, now_seconds: float, may_run: Callable[[str], bool | None]) -> bool:
    runs = may_run(entry.process)
    return now_seconds - entry.at_seconds > ENDED_SECONDS if runs is None else not runs


def _open(lines: list[Entry]) -> Iterator[Unfinished]:
    """What of one plan has no end: a call without the line after it or with an unknown one, or the call that
    a plan was broken off behind."""
    ends = {_key(line): line for line in lines if line.step == "outcome"}
    done = sum(line.call > 0 and line.state in ("done", "unchanged") for line in ends.values())
    is_open = False
    for line in lines:
        end = ends.get(_key(line))
        if line.step == "intent" and (end is None or end.state == "unknown"):
            is_open = True
            yield Unfinished(line, done)
    last = max(ends.values(), key=lambda line: line.call, default=None)
    is_whole = last is None or last.state not in ("done", "unchanged") or last.call >= last.calls
    if last is not None and not is_open and not is_whole:
        yield Unfinished(last, done, is_between=True)


def _key(entry: Entry) -> tuple[str, str, int]:
    return (entry.method, entry.path, entry.call)
