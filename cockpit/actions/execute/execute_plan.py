"""Carry out a plan: audit line, call, audit line. Nothing is ever written twice.

Where an answer is lost, or proves nothing (`cockpit.kube.calls`), the object is read, and what it says is
told; the write is not sent again.
"""

import asyncio
import secrets
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, Protocol, cast, runtime_checkable

import msgspec

from cockpit.actions.execute.call_outcome import Perform, refused_outcome, sentence_of, target_of
from cockpit.actions.execute.dry_run import moved_hold, rehearse
from cockpit.actions.execute.read_back import (
    Effect,
    Sleep,
    marked,
    read_back,
    uid_of,
    unknown_sentence,
    version_of,
    wanted_of,
)
from cockpit.actions.execute.replacement import (
    ManifestKeeper,
    has_replacement,
    is_replaced,
    keep_back,
    still_there,
    way_back,
)
from cockpit.actions.pool_lease import give_up_call, may_have_lapsed
from cockpit.actions.refusals import recreated
from cockpit.clock import Clock
from cockpit.clouds import sending
from cockpit.clouds.errors import Moved, OutsideError
from cockpit.errors import CockpitError, NoConnection, OutcomeUnknown, Refused
from cockpit.kube import calls
from cockpit.local_state.audit import Entry, body_digest
from cockpit.model.plan import Call, Outcome, Plan
from cockpit.model.refusal import Refusal
from cockpit.model.session import Session
from cockpit.pools.failure_classes import classed

READ_ONLY = "read-only: press :write or start with --write"


class AuditLog(ManifestKeeper, Protocol):
    """Where audit lines go (cockpit.local_state.audit.Audit)."""

    def append(self, entry: Entry) -> None: ...


def real_perform() -> Perform:
    """How calls are sent where nothing else is handed in: to the API server, or outside where they say so."""
    kube = cast(Perform, calls.perform)  # every session of the program is one of cockpit.kube
    outside = outside_perform()

    async def send(session: Session, call: Call, /, *, dry_run: bool = False) -> object:
        way = outside if call.via else kube
        return await way(session, call, dry_run=dry_run)

    return send


def outside_perform(**ways: Any) -> Perform:
    """How calls outside the cluster are sent; `ways` as for `cockpit.clouds.sending.send`."""

    async def send(session: Session, call: Call, /, *, dry_run: bool = False) -> object:
        try:
            return await sending.send(call, read_only=session.read_only, dry_run=dry_run, **ways)
        except OutsideError as error:
            raise _outside_trouble(call, error) from None

    return send


def _outside_trouble(call: Call, error: OutsideError) -> Refused | OutcomeUnknown:
    """What kept a call from being done: a refusal, or it is not known whether it was done.

    Another version is a refusal that a plan is made anew for, as that of the API server.
    """
    if error.is_lost:
        unknown = f"{call.target}: unknown: {error.who}: {error.message}"
        return OutcomeUnknown(unknown, Refusal(message=error.message))
    if isinstance(error, Moved):
        moved = Refusal(status=409, reason="Conflict", message=error.message)
        return recreated(call.target) if error.is_another else Refused(error.sentence, moved)
    if error.code == "ReadOnly":
        return Refused(error.message)
    told = classed(error.code, error.message, who=error.who)
    return Refused(told.whole, Refusal(reason=told.kind.value, message=error.message))


async def carry_out(
    plan: Plan,
    session: Session,
    audit: AuditLog,
    clock: Clock,
    *,
    perform: Perform | None = None,
    new_id: Callable[[], str] = lambda: secrets.token_hex(6),
    note: str = "",
    sleep: Sleep = asyncio.sleep,
) -> Outcome:
    """Send the calls of a confirmed plan in order, and stop at the first that is refused.

    Calls of one gang (`plan.is_whole`) are tried dry before; then all are sent whatever comes of one. Where
    one takes the place of what another deletes nothing is sent before a dry run of all has passed.
    `note` says in the audit lines what preceded this: a plan that was refused and made anew.

    Never raises for what a cluster may answer: every end is an Outcome (done, unchanged, refused, failed,
    unknown) with one sentence. Without a written audit line nothing is sent.
    """
    if session.read_only:
        return Outcome(state="refused", sentence=READ_ONLY)
    run = _Run(
        plan=plan,
        session=session,
        audit=audit,
        clock=clock,
        send=perform or real_perform(),
        audit_id=new_id(),
        note=note,
        sleep=sleep,
    )
    return await run.go()


_LAPSED: Final = "too slow: the Lease of the pool may have expired, so nothing more was sent; try again"


@runtime_checkable
class _Readable(Protocol):
    """An answer with a body."""

    def json(self) -> Any: ...


class _Run:
    """One carrying out of one plan."""

    def __init__(
        self,
        *,
        plan: Plan,
        session: Session,
        audit: AuditLog,
        clock: Clock,
        send: Perform,
        audit_id: str,
        note: str,
        sleep: Sleep,
    ) -> None:
        self._plan = plan
        self._session = session
        self._audit = audit
        self._clock = clock
        self._send = send
        self._audit_id = audit_id
        self._note = note
        self._sleep = sleep
        self._done = plan.done or plan.title

    async def go(self) -> Outcome:
        if self._plan.is_whole:
            verdict = await rehearse(self._plan, self._session, perform=self._send)
            if verdict.state in ("refused", "failed"):
                told = f"nothing was done: {verdict.sentence}"
                return msgspec.structs.replace(verdict, sentence=told, is_moved=False)
            return await self._whole()
        if has_replacement(self._plan):
            verdict = await rehearse(self._plan, self._session, perform=self._send)
            unready = keep_back(verdict, self._plan, self._audit, self._audit_id)
            if unready is not None:
                return unready
        return await self._in_order()

    async def _whole(self) -> Outcome:
        """Every call, also after one was refused: what is left out is told by name."""
        left: list[Outcome] = []
        total = len(self._plan.calls)
        for number, call in enumerate(self._plan.calls, 1):
            one = await self._noted(_marked(call, self._audit_id), number)
            if one.state not in ("done", "unchanged"):
                left.append(one)
        if not left:
            return Outcome(
                state="done",
                sentence=self._done,
                audit_id=self._audit_id,
                gives_back=self._plan.gives_back,
            )
        told = "; ".join(one.sentence for one in left[:3])
        return Outcome(
            state=left[0].state,
            sentence=f"{total - len(left)} of {total} done; not done: {told}",
            audit_id=self._audit_id,
            refusal=left[0].refusal,
        )

    async def _noted(self, call: Call, number: int = 0) -> Outcome:
        """One call between its two audit lines: `number` of its plan, 0 for one that is none of its calls."""
        entry = self._entry(call, number)
        try:
            self._audit.append(entry)
        except CockpitError as error:
            return Outcome(state="failed", sentence=error.sentence)
        try:
            one = await self._one(msgspec.structs.replace(call, request_id=entry.server_audit_id))
        except asyncio.CancelledError:
            told = unknown_sentence(target_of(call), "it was interrupted", "nothing was read")
            with suppress(CockpitError):
                self._audit.append(self._after(entry, Outcome(state="unknown", sentence=told)))
            raise
        try:
            self._audit.append(self._after(entry, one))
        except CockpitError as error:
            return msgspec.structs.replace(
                one,
                state=one.state if one.state != "done" else "failed",
                sentence=f"{one.sentence}; the audit line could not be written: {error.sentence}",
            )
        return one

    def _after(self, entry: Entry, one: Outcome) -> Entry:
        """The line after the call, for the one before it."""
        said = one.refusal or Refusal()
        noted = f"{one.sentence} ({self._note})" if self._note else one.sentence
        return msgspec.structs.replace(
            entry,
            step="outcome",
            at_seconds=self._clock.now(),
            state=one.state,
            status=said.status,
            reason=said.reason,
            server_audit_id=one.server_audit_id or said.audit_id or entry.server_audit_id,
            sentence="; ".join((noted, *one.warnings)),
        )

    async def _in_order(self) -> Outcome:
        gone, done = 0, self._done
        warnings: list[str] = []
        for number, call in enumerate(self._plan.calls, 1):
            if may_have_lapsed(self._plan.hold, self._clock):
                one = Outcome(state="refused", sentence=_LAPSED, is_moved=True)
                with suppress(CockpitError):  # the plan ends here, and was not broken off
                    self._audit.append(self._after(self._entry(call, number, is_sent=False), one))
            else:
                one = await self._noted(_marked(call, self._audit_id), number)
            warnings += one.warnings
            if one.state == "unchanged" and is_replaced(self._plan, call):
                return self._end(msgspec.structs.replace(one, state="refused"), number)
            if one.state == "unchanged":
                gone += 1
            elif one.state != "done":
                one = moved_hold(self._plan, call, one)
                if one.state != "unknown":  # what may still come keeps the pool until its Lease lapses
                    await self._give_back(number)
                return self._end(msgspec.structs.replace(one, warnings=tuple(warnings)), number)
            elif call.via:
                done = one.sentence  # with what whoever runs the machines said to it
        if gone == len(self._plan.calls):
            sentence = f"{self._plan.calls[0].target} is already gone"
            return Outcome(state="unchanged", sentence=sentence, audit_id=self._audit_id)
        hold = self._plan.hold
        if hold is not None and hold.is_brief:
            await self._give_back(len(self._plan.calls) + 1)
            hold = None
        return Outcome(
            state="done",
            sentence=done,
            audit_id=self._audit_id,
            warnings=tuple(warnings),
            goes_on=self._plan.goes_on,
            gives_back=self._plan.gives_back,
            hold=hold,
        )

    async def _give_back(self, number: int) -> None:
        """What the first call took is given up where the deed behind it was not done, or is all."""
        hold = self._plan.hold
        if hold is not None and hold.path and number > 1:
            await self._noted(give_up_call(hold, self._clock.cluster_now()))

    async def _one(self, call: Call) -> Outcome:
        if left := await still_there(self._session, call, self._sleep):
            return Outcome(state="failed", sentence=left)
        try:
            answer = await self._send(self._session, call)
        except Refused as error:
            if error.said.is_taken and call.method == "POST":  # a proxy may have sent it twice
                found = await read_back(self._session, call, sleep=self._sleep)
                if found.effect is Effect.APPLIED:
                    told = f"{self._done} (it was created by this request)"
                    return Outcome(state="done", sentence=told, warnings=_dropped(call, found.tree))
                if found.effect is Effect.UNKNOWN:
                    told = unknown_sentence(target_of(call), "the name is taken, perhaps by this", found.why)
                    return Outcome(state="unknown", sentence=told, refusal=error.said)
            return refused_outcome(call, error)
        except NoConnection as error:
            return await self._settled(call, error)
        more = f" ({told})" if (told := sentence_of(answer)) else ""
        return Outcome(
            state="done",
            sentence=f"{self._done}{more}",
            warnings=_dropped(call, _tree_of(answer)),
            server_audit_id=getattr(answer, "audit_id", ""),
        )

    async def _settled(self, call: Call, lost: NoConnection) -> Outcome:
        """No answer tells what became of it: the object does, or it is told that it is not known."""
        said = lost.said if isinstance(lost, OutcomeUnknown) else None
        if lost.is_unsent:
            return Outcome(state="failed", sentence=lost.sentence, is_cut=True)
        if call.via:  # who sent it has looked
            return Outcome(state="unknown", sentence=lost.sentence, refusal=said)
        found = await read_back(self._session, call, sleep=self._sleep)
        if found.effect is Effect.APPLIED:
            answer = "the answer was lost" if said is None else f"the answer was HTTP {said.status}"
            told = f"{self._done} ({answer}; the object confirms it)"
            return Outcome(state="done", sentence=told, warnings=_dropped(call, found.tree))
        is_over = found.is_final or (isinstance(lost, OutcomeUnknown) and lost.is_over)
        if found.effect is Effect.NOT_APPLIED and is_over:
            told = f"{lost.sentence}; {target_of(call)} does not show the change: refresh and retry"
            return Outcome(state="failed", sentence=told, refusal=said)
        why = found.why or "it does not show the change so far"
        told = unknown_sentence(target_of(call), lost.sentence, why)
        return Outcome(state="unknown", sentence=told, refusal=said, is_cut=said is None or found.is_cut)

    def _entry(self, call: Call, number: int, *, is_sent: bool = True) -> Entry:
        return Entry(
            audit_id=self._audit_id,
            step="intent",
            at_seconds=self._clock.now(),
            verb=self._plan.verb,
            target=call.target,
            context=self._session.context,
            server=self._session.server,
            user=self._session.user,
            acts_as=self._session.acts_as.user if self._session.acts_as is not None else "",
            uid=uid_of(call),
            resource_version=version_of(call),
            method=call.method,
            path=call.path,
            body_sha256=body_digest(call.body),
            server_audit_id=f"{self._audit_id}-{number}" if is_sent and not call.via else "",
            call=number,
            calls=len(self._plan.calls) if number else 0,
            wanted=wanted_of(call),
            shell=self._plan.shell,
            sentence=self._note,
            is_kept=self._plan.keeps is not None,
            foretold=self._plan.foretold,
            undo=self._plan.undo,
        )

    def _end(self, stopped: Outcome, number: int) -> Outcome:
        """The plan ended at the call with this number."""
        total = len(self._plan.deeds)
        before = number - 1 - (len(self._plan.calls) - total)
        more = f"{before} of {total} done, then: " if total > 1 and before >= 0 else ""
        back = way_back(self._plan, stopped, before, self._audit_id, self._session.context)
        return msgspec.structs.replace(
            stopped,
            sentence=f"{more}{stopped.sentence}{back}",
            audit_id=self._audit_id,
            is_moved=stopped.is_moved and before <= 0,
        )


def _tree_of(answer: object) -> Any:
    try:
        return answer.json() if isinstance(answer, _Readable) else None
    except (CockpitError, ValueError):
        return None


def _dropped(call: Call, stored: Any) -> tuple[str, ...]:
    """Sentences for fields that were sent and that the stored object lacks. An answer without an object tells
    nothing of them."""
    if not call.fields_at_risk or not isinstance(stored, dict) or not stored:
        return ()
    return tuple(
        sentence
        for field, sentence in call.fields_at_risk
        if _has_field(call.body, field) and not _has_field(stored, field)
    )


def _has_field(tree: Any, field: str) -> bool:
    if isinstance(tree, dict):
        return field in tree or any(_has_field(one, field) for one in tree.values())
    return isinstance(tree, list) and any(_has_field(one, field) for one in tree)


def _marked(call: Call, audit_id: str) -> Call:
    """The call with the mark by which its object, or a cloud, tells this request from another one."""
    if not call.via:
        return marked(call, audit_id)
    return msgspec.structs.replace(call, body={**call.body, "token": audit_id})
