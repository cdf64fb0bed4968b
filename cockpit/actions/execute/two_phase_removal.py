"""The second step of a plan whose calls cordon what goes: wait until no pod can come any more, look again,
and do the rest, or take the cordons back.

The rest is made of what the server says then. It is sent where it is what was confirmed; where somebody uses
a node by now, or it is refused, nothing is removed and the nodes are given back to the scheduler.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

import msgspec

from cockpit.actions.execute.call_outcome import Perform
from cockpit.actions.execute.execute_plan import AuditLog, carry_out
from cockpit.actions.execute.replan import TRIES, does_the_same
from cockpit.actions.planning import Make
from cockpit.actions.pool_lease import give_up_call
from cockpit.clock import Clock
from cockpit.errors import CockpitError, Refused, Unchanged
from cockpit.model.plan import Call, Outcome, Plan, PoolLeaseHandle
from cockpit.model.session import Session
from cockpit.pools.node_patches import is_taint_call
from cockpit.pools.shrink import SETTLE_SECONDS


class Back(Protocol):
    """Makes the plan that takes back what the calls of `shown` did to nodes, from what the server says by
    now."""

    def __call__(self, shown: Plan, /, *, reads: bool = ...) -> Awaitable[Plan]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Settling:
    """One plan that was confirmed, on its way. `again` makes it anew; `sleep` waits so many of our
    seconds."""

    shown: Plan
    again: Make
    back: Back
    session: Session
    audit: AuditLog
    clock: Clock
    sleep: Callable[[float], Awaitable[None]]
    perform: Perform | None = None

    async def go(self, first: Outcome) -> Outcome:
        """What becomes of it after its calls ended as `first`. Never raises for what a cluster may answer."""
        if first.state == "unchanged" or not (self.shown.later or first.state == "refused"):
            return first
        done, sent = first, [*self.shown.calls]
        try:
            if first.is_done:
                done = await self._rest(await self._settled(), sent)
            elif _is_moved(first) and any(map(is_taint_call, sent)):  # by its owner, which writes its status
                done = await self._rest(await self.again(reads=True), sent)
        except CockpitError as error:
            done = Outcome(state="refused", sentence=error.sentence)
        if done.is_done:
            return done
        if done.state == "unknown":  # the size may be set: the nodes stay cordoned, the pool held
            return msgspec.structs.replace(done, sentence=f"{done.sentence}; the nodes stay cordoned")
        await self._give_up(first.hold)
        return await self._taken_back(done, msgspec.structs.replace(self.shown, calls=tuple(sent)))

    async def _settled(self) -> Plan:
        """The rest once the cluster's time says that the nodes have settled: ours may differ from it."""
        for _ in range(TRIES):
            await self.sleep(SETTLE_SECONDS / self.clock.cluster_pace())
            now = await self.again(reads=True)
            if not (now.later and does_the_same(self.shown.later, now.later)):
                break
        return now

    async def _rest(self, rest: Plan, sent: list[Call]) -> Outcome:
        """Its calls, which are added to `sent`, change nothing more when they are sent twice: it goes on
        after what moved in between."""
        later = self.shown.later or self.shown.deeds
        for _ in range(TRIES):
            if rest.later or not does_the_same(later, rest.deeds[-len(later) :]):
                raise Refused(_other(self.shown, rest))
            sent += rest.calls
            done = await carry_out(rest, self.session, self.audit, self.clock, perform=self.perform)
            if not _is_moved(done):
                break
            rest = await self.again(reads=True)
        return done

    async def _give_up(self, hold: PoolLeaseHandle | None) -> None:
        """Whoever waits for the pool may have it: nothing of it is under way any more."""
        if hold is not None and hold.path:
            call = give_up_call(hold, self.clock.cluster_now())
            plan = Plan(verb=self.shown.verb, title=f"Give pool {hold.pool} back", calls=(call,))
            await carry_out(plan, self.session, self.audit, self.clock, perform=self.perform)

    async def _taken_back(self, done: Outcome, sent: Plan) -> Outcome:
        """`done`, and what became of the nodes."""
        why = done.sentence
        try:
            for _ in range(TRIES):
                plan = await self.back(sent, reads=True)
                why = "; ".join(plan.expects) or why
                given = await carry_out(plan, self.session, self.audit, self.clock, perform=self.perform)
                if not _is_moved(given):
                    break
            told = given.sentence if given.is_done else f"the nodes stay cordoned: {given.sentence}"
        except Unchanged:  # nothing of it was done
            return done
        except CockpitError as error:
            told = f"the nodes stay cordoned: {error.sentence}"
        return msgspec.structs.replace(done, sentence=f"nothing was removed: {why}; {told}")


def _is_moved(done: Outcome) -> bool:
    """Whether an object is newer than what was sent, and nothing else."""
    return done.refusal is not None and done.refusal.is_changed


def _other(shown: Plan, rest: Plan) -> str:
    """Why the rest is not what was confirmed."""
    now = {one.path for one in (*rest.deeds, *rest.later)}
    left = [one.target for one in shown.later if one.path not in now]
    return f"{' and '.join(left)} would no longer go" if left else "the pool has been changed meanwhile"
