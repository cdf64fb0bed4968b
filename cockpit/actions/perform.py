"""Carry out a plan: audit line, call, audit line. Nothing is ever written twice.

When an answer is lost the object is looked at (a read), and what is found there is what is told; the write is
not sent again.
"""

import asyncio
import copy
import secrets
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

import msgspec

from cockpit.actions.refusals import is_changed, is_gone, refusal_sentence
from cockpit.clock import Clock
from cockpit.errors import CockpitError, NoConnection, Refused
from cockpit.keep.audit import Entry, body_digest
from cockpit.model.plan import Call, Outcome, Plan

READ_ONLY = "read-only: press :write or start with --write"
AUDIT_ANNOTATION = "gpu-cockpit/audit-id"
AT_ONCE = 8
"""Dry runs and actions under way at once; an API server shares its patience among all who ask."""
_PAST = {
    **{"Submit": "Submitted", "Kill": "Killed", "Grow": "Growing", "Shrink": "Shrinking"},
    **{"Suspend": "Suspended", "Resume": "Resumed", "Retry": "Retried", "Clone": "Cloned"},
    **{"Resize": "Resized", "Prioritise": "Prioritised", "Move": "Moved", "Stop": "Stopped"},
}


class Answer(Protocol):
    """An HTTP answer, as far as it is read here (cockpit.kube.session.Answer)."""

    @property
    def status(self) -> int: ...
    def json(self) -> Any: ...


class Session(Protocol):
    """The connection, as far as it is needed here (cockpit.kube.session.Session)."""

    @property
    def context(self) -> str: ...
    @property
    def server(self) -> str: ...
    @property
    def user(self) -> str: ...
    @property
    def read_only(self) -> bool: ...


class AuditLog(Protocol):
    """Where audit lines go (cockpit.keep.audit.Audit)."""

    def append(self, entry: Entry) -> None: ...


Perform = Callable[..., Awaitable[Any]]
"""`cockpit.kube.calls.perform`: (session, call, *, dry_run) -> Answer; raises Refused and NoConnection."""


def _kube_perform() -> Perform:
    from cockpit.kube import calls

    send: Perform = calls.perform
    return send


async def rehearse(plan: Plan, session: Any, *, perform: Perform | None = None) -> Outcome:
    """Ask the server what it would say (dryRun=All): allowed in read-only mode, changes nothing."""
    send = perform or _kube_perform()
    slots = asyncio.Semaphore(AT_ONCE)

    async def one(call: Call) -> Outcome | None:
        async with slots:
            try:
                await send(session, call, dry_run=True)
            except Refused as error:
                sentence = refusal_sentence(call, error.sentence)
                return Outcome(state="refused", sentence=sentence, is_moved=is_changed(sentence))
            except NoConnection as error:
                return Outcome(state="failed", sentence=error.sentence)
        return None

    said = await asyncio.gather(*(one(call) for call in plan.calls))
    return next((it for it in said if it), Outcome(state="done", sentence="the cluster would accept it"))


async def carry_out(
    plan: Plan,
    session: Any,
    audit: AuditLog,
    clock: Clock,
    *,
    perform: Perform | None = None,
    new_id: Callable[[], str] = lambda: secrets.token_hex(6),
    local_user: str = "",
    note: str = "",
) -> Outcome:
    """Send the calls of a confirmed plan in order, and stop at the first that is refused.

    Calls of one gang (`plan.is_whole`) are tried dry before; then all are sent whatever comes of one.
    `note` says in the audit lines what preceded this: a plan that was refused and made anew.

    Never raises for what a cluster may answer: every end is an Outcome (done, unchanged, refused, failed)
    with one sentence. Without a written audit line nothing is sent.
    """
    if session.read_only:
        return Outcome(state="refused", sentence=READ_ONLY)
    run = _Run(
        plan=plan,
        session=session,
        audit=audit,
        clock=clock,
        send=perform or _kube_perform(),
        audit_id=new_id(),
        local_user=local_user,
        note=note,
    )
    return await run.go()


class _Run:
    """One carrying out of one plan."""

    def __init__(
        self,
        *,
        plan: Plan,
        session: Any,
        audit: AuditLog,
        clock: Clock,
        send: Perform,
        audit_id: str,
        local_user: str,
        note: str,
    ) -> None:
        self._plan = plan
        self._session = session
        self._audit = audit
        self._clock = clock
        self._send = send
        self._audit_id = audit_id
        self._local_user = local_user
        self._note = note

    async def go(self) -> Outcome:
        if self._plan.is_whole:
            verdict = await rehearse(self._plan, self._session, perform=self._send)
            if not verdict.is_done and not is_gone(verdict.sentence):
                return Outcome(state=verdict.state, sentence=f"nothing was done: {verdict.sentence}")
            return await self._whole()
        return await self._in_order()

    async def _whole(self) -> Outcome:
        """Every call, also after one was refused: what is left out is told by name."""
        left: list[tuple[str, str]] = []
        total = len(self._plan.calls)
        for call in self._plan.calls:
            marked = _marked(call, self._audit_id)
            state, sentence = await self._noted(marked)
            if state not in ("done", "unchanged"):
                left.append((state, sentence))
        if not left:
            return Outcome(state="done", sentence=_past(self._plan.title), audit_id=self._audit_id)
        told = "; ".join(sentence for _state, sentence in left[:3])
        return Outcome(
            state=left[0][0],
            sentence=f"{total - len(left)} of {total} done; left: {told}",
            audit_id=self._audit_id,
        )

    async def _noted(self, call: Call) -> tuple[str, str]:
        """One call between its two audit lines."""
        entry = self._entry(call)
        try:
            self._audit.append(entry)
        except CockpitError as error:
            return "failed", error.sentence
        state, sentence = await self._one(call)
        noted = f"{sentence} ({self._note})" if self._note else sentence
        told = msgspec.structs.replace(
            entry, step="outcome", at_seconds=self._clock.now(), state=state, sentence=noted
        )
        try:
            self._audit.append(told)
        except CockpitError as error:
            return (
                state if state != "done" else "failed",
                f"{sentence}; its audit line is missing: {error.sentence}",
            )
        return state, sentence

    async def _in_order(self) -> Outcome:
        gone = 0
        for number, call in enumerate(self._plan.calls, 1):
            state, sentence = await self._noted(_marked(call, self._audit_id))
            if state == "unchanged":
                gone += 1
            elif state != "done":
                return self._end(state, sentence, number)
        if gone == len(self._plan.calls):
            return self._end("unchanged", f"{self._plan.calls[0].target} is gone already", 1)
        return Outcome(state="done", sentence=_past(self._plan.title), audit_id=self._audit_id)

    async def _one(self, call: Call) -> tuple[str, str]:
        try:
            await self._send(self._session, call)
        except Refused as error:
            if call.method == "DELETE" and is_gone(error.sentence):
                return "unchanged", f"{call.target} is gone already"
            return "refused", refusal_sentence(call, error.sentence)
        except NoConnection as error:
            return await self._look(call, error.sentence)
        return "done", _past(self._plan.title)

    async def _look(self, call: Call, lost: str) -> tuple[str, str]:
        """The answer was lost: find out by reading whether the write took place."""
        path = f"{call.path}/{_name(call)}" if call.method == "POST" else call.path
        try:
            answer = await self._session.request("GET", path)
            status, tree = answer.status, answer.json() if answer.status == 200 else {}
        except (CockpitError, ValueError):
            return (
                "failed",
                f"{lost}; whether {call.target} was changed is not known: look first",
            )
        if _took_place(call, status, tree):
            return "done", f"{_past(self._plan.title)} (the answer was lost, the object shows it)"
        return "failed", f"{lost}; {call.target} does not show the change: look again, then try again"

    def _entry(self, call: Call) -> Entry:
        body = call.body if isinstance(call.body, dict) else {}
        wanted = body.get("preconditions") or body.get("metadata") or {}
        return Entry(
            audit_id=self._audit_id,
            step="intent",
            at_seconds=self._clock.now(),
            verb=self._plan.verb,
            target=call.target,
            context=self._session.context,
            server=self._session.server,
            user=self._session.user,
            local_user=self._local_user,
            uid=str(wanted.get("uid") or ""),
            resource_version=str(wanted.get("resourceVersion") or ""),
            method=call.method,
            path=call.path,
            body_sha256=body_digest(call.body),
            shell=self._plan.shell,
            sentence=self._note,
        )

    def _end(self, state: str, sentence: str, number: int) -> Outcome:
        total = len(self._plan.calls)
        is_moved = state == "refused" and number == 1 and is_changed(sentence)
        if total > 1 and state != "unchanged":
            sentence = f"{number - 1} of {total} done, then: {sentence}"
        return Outcome(state=state, sentence=sentence, audit_id=self._audit_id, is_moved=is_moved)


def _marked(call: Call, audit_id: str) -> Call:
    # The mark on a new object tells our own submission from a stranger's when the answer is lost.
    if call.method != "POST" or not isinstance(call.body, dict):
        return call
    body = copy.deepcopy(call.body)
    body.setdefault("metadata", {}).setdefault("annotations", {})[AUDIT_ANNOTATION] = audit_id
    return msgspec.structs.replace(call, body=body)


def _name(call: Call) -> str:
    return str(call.body["metadata"]["name"])


def _took_place(call: Call, status: int, tree: Any) -> bool:
    metadata = tree.get("metadata") or {} if isinstance(tree, dict) else {}
    if call.method == "POST":
        mark = call.body["metadata"]["annotations"][AUDIT_ANNOTATION]
        return status == 200 and (metadata.get("annotations") or {}).get(AUDIT_ANNOTATION) == mark
    if call.method == "DELETE":
        wanted = (call.body or {}).get("preconditions", {}).get("uid")
        return status == 404 or (
            status == 200 and (metadata.get("uid") != wanted or bool(metadata.get("deletionTimestamp")))
        )
    if not isinstance(call.body, dict) or status != 200:
        return False
    guarded = call.body.get("metadata") or {}
    if guarded.get("uid") and metadata.get("uid", guarded["uid"]) != guarded["uid"]:
        return False
    wanted = {key: value for key, value in call.body.items() if key not in ("apiVersion", "kind", "metadata")}
    own = {key: guarded[key] for key in ("labels", "annotations") if key in guarded}
    return _holds(tree, wanted) and _holds(metadata, own)


def _holds(tree: Any, wanted: Any) -> bool:
    """Whether the merge patch `wanted` has taken place in `tree`: null means that the entry is gone."""
    if not isinstance(wanted, dict):
        return bool(tree == wanted)
    if not isinstance(tree, dict):
        return False
    return all(
        tree.get(key) is None if value is None else _holds(tree.get(key), value)
        for key, value in wanted.items()
    )


def _past(title: str) -> str:
    verb, _, rest = title.partition(" ")
    return f"{_PAST.get(verb, verb)} {rest}"
