"""Writes of an earlier session that were broken off: what the cluster says became of them, read on demand."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple, Protocol

from cockpit.actions.execute.call_outcome import AT_ONCE
from cockpit.actions.execute.execute_plan import AuditLog
from cockpit.actions.execute.read_back import Effect, Sleep, call_again, read_back
from cockpit.clock import Clock
from cockpit.daemon_thread import apart
from cockpit.errors import BadInput
from cockpit.local_state.audit import DamagedLine, Entry
from cockpit.local_state.process import may_still_run
from cockpit.local_state.unfinished import ACKNOWLEDGED, LeftBehind, Unfinished, left_behind
from cockpit.model.broken_write import BrokenWrite, EndedDrain
from cockpit.model.session import Connection, Session

MOST_READ: Final = 50
"""Broken-off writes that are read at once; the newest first."""
APPLIED, NOT_APPLIED, UNTOLD = "applied", "not applied", "cannot be told"
_HTTP: Final = ("POST", "PUT", "PATCH", "DELETE")


class AuditRead(Protocol):
    """An audit log that can be read (cockpit.local_state.audit.Audit)."""

    def lines(self) -> Iterator[Entry | DamagedLine]: ...


class LeftOver(NamedTuple):
    """What sessions of this user on this host left, on this cluster."""

    writes: tuple[BrokenWrite, ...] = ()
    drains: tuple[EndedDrain, ...] = ()


async def read_left_over(
    session: Session,
    log: AuditRead,
    who: str,
    clock: Clock,
    *,
    may_run: Callable[[str], bool | None] = may_still_run,
    sleep: Sleep = asyncio.sleep,
) -> LeftOver:
    """Every write that was begun and not ended by a process that is over, with what became of it.

    Raises BadInput where the log cannot be read, and nothing that a cluster may answer.
    """

    def look() -> LeftBehind:
        entries = (line for line in log.lines() if isinstance(line, Entry))
        return left_behind(entries, session, who, clock.now(), may_run)

    found = await apart(look)
    slots = asyncio.Semaphore(AT_ONCE)

    async def told(write: Unfinished) -> BrokenWrite:
        async with slots:
            return await _told(session, write, sleep)

    newest = sorted(found.writes, key=lambda write: write.entry.at_seconds, reverse=True)
    read = await asyncio.gather(*map(told, newest[:MOST_READ]))
    rest = (_write(write, UNTOLD, f"only the newest {MOST_READ} were read") for write in newest[MOST_READ:])
    drains = (
        EndedDrain(node=entry.target.removeprefix("node "), at_seconds=entry.at_seconds)
        for entry in found.drains
    )
    return LeftOver((*read, *rest), tuple(drains))


async def _told(session: Session, write: Unfinished, sleep: Sleep) -> BrokenWrite:
    entry = write.entry
    if write.is_between:
        return _write(write, APPLIED)
    if entry.method not in _HTTP:
        where = (
            "what was typed in it is not recorded" if entry.method == "GET" else "read the pool it changes"
        )
        return _write(write, UNTOLD, where)
    if entry.method == "PATCH" and entry.wanted is None and not entry.resource_version:
        return _write(write, UNTOLD, "what it was to change is not recorded")
    call = call_again(
        method=entry.method,
        path=entry.path,
        target=entry.target,
        wanted=entry.wanted,
        uid=entry.uid,
        resource_version=entry.resource_version,
        audit_id=entry.audit_id,
    )
    found = await read_back(session, call, sleep=sleep)
    if found.effect is Effect.APPLIED:
        return _write(write, APPLIED)
    if found.effect is Effect.NOT_APPLIED:
        return _write(write, NOT_APPLIED, found.why)
    return _write(write, UNTOLD, found.why)


def _write(write: Unfinished, effect: str, why: str = "") -> BrokenWrite:
    entry = write.entry
    return BrokenWrite(
        audit_id=entry.audit_id,
        verb=entry.verb,
        target=entry.target,
        at_seconds=entry.at_seconds,
        method=entry.method,
        path=entry.path,
        effect=effect,
        why=why,
        shell=entry.shell,
        done=write.done,
        calls=entry.calls,
        is_between=write.is_between,
    )


def acknowledge(write: BrokenWrite, session: Connection, audit: AuditLog, clock: Clock) -> None:
    """Note that a person knows of it: it is not told again. Raises BadInput where that cannot be written."""
    if not write.audit_id:
        raise BadInput("audit id: is empty; give the one that triage tells")
    audit.append(
        Entry(
            audit_id=write.audit_id,
            step=ACKNOWLEDGED,
            at_seconds=clock.now(),
            verb=write.verb,
            target=write.target,
            context=session.context,
            server=session.server,
            user=session.user,
            state=write.effect.replace(" ", "-"),
            sentence=f"{write.effect}{f': {write.why}' if write.why else ''}",
        )
    )
