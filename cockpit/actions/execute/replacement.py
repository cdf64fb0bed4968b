"""A call that takes the place of what another call of its plan deletes: when that may be deleted, when it is
gone, and how it is created again."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, Protocol

import msgspec

from cockpit.actions.execute.read_back import is_missing
from cockpit.actions.shell import restore_line
from cockpit.errors import CockpitError
from cockpit.model.plan import Call, Outcome, Plan, Replaced
from cockpit.model.session import Reader

GONE_LOOKS: Final = 240
GONE_SECONDS: Final = 0.5
"""How often, and how far apart, it is looked whether what was deleted is gone."""


class ManifestKeeper(Protocol):
    """Keeps manifests (cockpit.local_state.audit.Audit); raises BadInput where it cannot."""

    def keep(self, audit_id: str, manifest: Mapping[str, Any]) -> None: ...


def has_replacement(plan: Plan) -> bool:
    """Whether one of its calls takes the place of what another deletes."""
    return any(call.replaces for call in plan.calls)


def is_replaced(plan: Plan, call: Call) -> bool:
    """Whether another call takes the place of what this one deletes: where that is gone already, it is not
    created again."""
    return any(one.path == call.path for other in plan.calls for one in other.replaces)


def keep_back(verdict: Outcome, plan: Plan, audit: ManifestKeeper, audit_id: str) -> Outcome | None:
    """What is told where a dry run does not allow the delete, or where its manifest cannot be kept; None once
    both are done."""
    if verdict.state != "done":
        state = "refused" if verdict.state == "untried" else verdict.state
        told = f"nothing was deleted: {verdict.sentence}"
        return msgspec.structs.replace(verdict, state=state, sentence=told)
    try:
        if plan.keeps is not None:
            audit.keep(audit_id, plan.keeps)
    except CockpitError as error:
        return Outcome(state="failed", sentence=f"nothing was deleted: {error.sentence}")
    return None


async def still_there(
    session: Reader, call: Call, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
) -> str:
    """A sentence where what the call takes the place of does not go in time, "" once all of it is gone."""
    left = call.replaces
    for _ in range(GONE_LOOKS):
        left = tuple([one for one in left if not await _is_gone(session, one)])
        if not left:
            return ""
        await sleep(GONE_SECONDS)
    names = " and ".join(one.target for one in left)
    seconds = GONE_LOOKS * GONE_SECONDS
    return f"{names} is still there {seconds:g} s after it was deleted: {call.target} was not created"


def way_back(plan: Plan, stopped: Outcome, done: int, audit_id: str, context: str) -> str:
    """How what was deleted is created again, where the plan stopped after `done` of its deeds; "" where
    nothing was deleted."""
    if plan.keeps is None or (done <= 0 and stopped.state != "unknown"):
        return ""
    return f"; to create it as it was: {restore_line(audit_id, context)}"


async def _is_gone(session: Reader, old: Replaced) -> bool:
    try:
        answer = await session.request("GET", old.path)
        tree = answer.json()
    except (CockpitError, ValueError):
        return False
    if answer.status == 404:
        return is_missing(tree)
    uid = (tree.get("metadata") or {}).get("uid") if isinstance(tree, dict) else None
    return answer.status == 200 and uid is not None and uid != old.uid
