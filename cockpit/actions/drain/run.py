"""A drain under way: waits for the jobs it is to wait for, then evicts, as fast as budgets let it.

Each eviction is sent by `actions.execute` between two audit lines. A budget that allows no eviction is read
again, and asked only once it has something to give, so that a long wait is not a long audit. Before each
round the node is read: the drain is over for this session once its note is gone, or is another one's.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence

import msgspec

from cockpit.actions.drain.plan import budget_words
from cockpit.actions.drain.reads import budgets_in, pods_on
from cockpit.actions.execute.call_outcome import AT_ONCE, Perform
from cockpit.actions.execute.execute_plan import READ_ONLY, AuditLog, carry_out
from cockpit.actions.read import read_tree
from cockpit.clock import Clock
from cockpit.errors import NoConnection, Refused
from cockpit.fit.scheduling_context import Budget
from cockpit.gangs.sentence import counted, listed
from cockpit.k8s.selectors import selects
from cockpit.kube.resource import NODES
from cockpit.model.node import Node
from cockpit.model.plan import Call, DrainOrder, Outcome, Plan
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.model.refusal import Refusal
from cockpit.model.session import Session
from cockpit.model.store_reader import StoreReader
from cockpit.pools.drain_mark import DrainMark, mark_in, mark_of, still_there

LOOK_SECONDS = 1.0
"""So often the tables are looked at for pods that have gone."""
BUDGET_SECONDS = 5.0
"""So often budgets are read again; kubectl tries an eviction again after as long."""
DOUBT_SECONDS = 30.0
"""A pod whose budget says no is tried all the same after so long: what is not ready may go, and budgets may
not be readable."""


class DrainStatus(msgspec.Struct, frozen=True, kw_only=True):
    """How far a drain of this session has come: `gone` of `total` pods have left the node. `waits` says what
    holds the others, a sentence each, `problems` who cannot be evicted."""

    node: str
    total: int
    gone: int = 0
    after: tuple[str, ...] = ()  # jobs that it still waits for
    waits: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """`3 of 7 pods gone; waits for budget team-a/db: 0 of 2 may be disrupted`."""
        if self.after:
            return listed("waits for ", list(self.after), 200)
        return "; ".join((f"{self.gone} of {counted(self.total, 'pod')} gone", *self.waits, *self.problems))


class _OverError(Exception):
    """The drain is over for this session; the sentence says why."""


class DrainRun:
    """One drain, from the cordon to its end."""

    def __init__(
        self,
        order: DrainOrder,
        *,
        session: Session,
        store: StoreReader,
        audit: AuditLog,
        clock: Clock,
        told: Callable[[DrainStatus], None] = lambda _status: None,
        perform: Perform | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.order = order
        self.status = DrainStatus(
            node=order.node, total=len(order.evictions), after=tuple(one.name for one in order.after)
        )
        self._session, self._store, self._audit, self._clock = session, store, audit, clock
        self._told, self._perform, self._sleep = told, perform, sleep
        self._begun = clock.monotonic()
        self._pending = {uid_of(call): call for call in order.evictions}
        self._sent: set[str] = set()  # uids of pods whose eviction the server took
        self._tried: dict[str, float] = {}  # uid -> monotonic
        self._waits: dict[str, str] = {}  # uid -> what holds it
        self._problems: list[str] = []
        self._is_seen = False  # the tables have shown our note

    async def go(self) -> Outcome:
        """To the end. Never raises for what a cluster may answer."""
        try:
            await self._wait_for_jobs()
            while self._pending or self._left():
                await self._round()
        except _OverError as over:
            return Outcome(state="refused", sentence=self._stopped(str(over)))
        return self._end()

    # ---- waiting for jobs

    async def _wait_for_jobs(self) -> None:
        while self.order.after:
            self._tell()
            if not self.status.after:
                try:
                    await self._refuse_other_mark()
                    there = {
                        one.uid
                        for one in await pods_on(self._session, self.order.node)
                        if not one.is_finished
                    }
                except NoConnection:
                    there = {uid for one in self.order.after for uid in one.pod_uids}
                except Refused as error:
                    raise _OverError(error.sentence) from None
                if not any(uid in there for one in self.order.after for uid in one.pod_uids):
                    return
            self._refuse_late()
            await self._sleep(LOOK_SECONDS)
            self._refuse_mark_in_sight()

    def _jobs_there(self) -> tuple[str, ...]:
        return tuple(one.name for one in self.order.after if any(self._is_there(uid) for uid in one.pod_uids))

    def _is_there(self, uid: str) -> bool:
        pod = self._store.get(Kind.POD, uid)
        return isinstance(pod, Pod) and not pod.is_finished

    # ---- evicting

    async def _round(self) -> None:
        try:
            if self._pending:
                await self._refuse_other_mark()
                budgets = await budgets_in(self._session, frozenset(map(_space, self._pending.values())))
                await self._evict(self._due(budgets), budgets)
        except NoConnection as error:
            self._waits = dict.fromkeys(self._pending, error.sentence)
        except Refused as error:
            raise _OverError(error.sentence) from None
        self._tell()
        if not (self._pending or self._left()):
            return
        self._refuse_late()
        end = self._clock.monotonic() + (BUDGET_SECONDS if self._pending else LOOK_SECONDS)
        while True:
            await self._sleep(LOOK_SECONDS)
            self._refuse_mark_in_sight()
            self._tell()
            if self._clock.monotonic() >= end or (not self._pending and not self._left()):
                return

    def _due(self, budgets: Sequence[Budget] | None) -> list[tuple[str, Call]]:
        """Who may go now: of each budget as many as it lets go; whose budget says no after a while all the
        same."""
        now, found, taken = self._clock.monotonic(), [], dict[str, int]()
        self._waits = {
            uid: why for uid, why in self._waits.items() if uid in self._pending and budgets is None
        }
        for uid, call in self._pending.items():
            own = [] if budgets is None else self._budgets_of(uid, budgets)
            name = own[0].name if own else ""
            key = f"{_space(call)}/{name}"
            since = now - self._tried.get(uid, self._begun)
            is_free = not own or (len(own) == 1 and taken.get(key, 0) < own[0].allowed)
            if is_free and (own or uid not in self._tried or since >= BUDGET_SECONDS):
                taken[key] = taken.get(key, 0) + 1
                found.append((uid, call))
            elif since >= DOUBT_SECONDS:
                found.append((uid, call))
            if not is_free:
                self._waits[uid] = _held(own)
        return found

    def _budgets_of(self, uid: str, budgets: Iterable[Budget]) -> list[Budget]:
        pod = self._store.get(Kind.POD, uid)
        if not isinstance(pod, Pod) or pod.phase != "Running":
            return []
        labels = dict(pod.traits.labels)
        return [one for one in budgets if one.namespace == pod.namespace and selects(one.selector, labels)]

    async def _evict(self, due: Sequence[tuple[str, Call]], budgets: Sequence[Budget] | None) -> None:
        slots = asyncio.Semaphore(AT_ONCE)

        async def one(uid: str, call: Call) -> None:
            async with slots:
                plan = Plan(
                    verb="drain", title=f"Evict {call.target}", done=f"Evicted {call.target}", calls=(call,)
                )
                self._tried[uid] = self._clock.monotonic()
                outcome = await carry_out(
                    plan, self._session, self._audit, self._clock, perform=self._perform
                )
            self._take(uid, call, outcome, budgets)

        await asyncio.gather(*(one(uid, call) for uid, call in due))

    def _take(self, uid: str, call: Call, outcome: Outcome, budgets: Sequence[Budget] | None) -> None:
        said = outcome.refusal
        if outcome.is_done or outcome.state == "unchanged" or (said is not None and said.is_recreated):
            self._sent.add(uid)
            del self._pending[uid]
            self._waits.pop(uid, None)
        elif outcome.sentence == READ_ONLY:
            raise _OverError(READ_ONLY)
        elif outcome.state in ("failed", "unknown") or _may_pass(said):
            own = self._budgets_of(uid, budgets or ())
            self._waits[uid] = _held(own) if own else outcome.sentence
        else:
            self._problems.append(outcome.sentence)
            del self._pending[uid]

    # ---- where it stands

    def _left(self) -> list[str]:
        """Evicted pods that have not gone yet."""
        return [uid for uid in self._sent if self._is_there(uid)]

    def _tell(self) -> None:
        left = len(self._pending) + len(self._left()) + len(self._problems)
        now = msgspec.structs.replace(
            self.status,
            gone=max(0, self.status.total - left),
            after=self._jobs_there(),
            waits=tuple(dict.fromkeys(self._waits.values())),
            problems=tuple(self._problems),
        )
        if now != self.status:
            self.status = now
            self._told(now)

    def _refuse_late(self) -> None:
        most = self.order.longest_seconds
        if most and self._clock.monotonic() - self._begun >= most:
            raise _OverError(f"not done within {most:g} s")

    def _refuse_mark_in_sight(self) -> None:
        """As the tables tell it: they may be behind the cordon, but not once they have shown its note."""
        node = self._store.by_key(Kind.NODE, self.order.node)
        if not isinstance(node, Node):
            return
        mark = mark_of(node)
        if mark is not None and mark.id == self.order.id:
            self._is_seen = True
        elif self._is_seen:
            raise _OverError(_other(mark))

    async def _refuse_other_mark(self) -> None:
        target = f"node {self.order.node}"
        tree = await read_tree(self._session, NODES.path(name=self.order.node), target)
        mark = mark_in(tree)
        if tree["metadata"].get("uid") != self.order.node_uid:
            raise _OverError(f"{target} is another one now")
        if mark is None or mark.id != self.order.id:
            raise _OverError(_other(mark))

    def _stopped(self, why: str) -> str:
        left = len(still_there(self.order.node, self._store))
        waits = (self.status.sentence,) if self.status.after else self.status.waits[:2]
        held = "".join(f"; {one}" for one in waits)
        stays = f"{counted(left, 'pod')} stay{'s' * (left == 1)} on it" if left else "no pod is left on it"
        return f"Drain of node {self.order.node} stopped: {why}{held}; {stays}"

    def _end(self) -> Outcome:
        done = len(self._sent)
        sentence = f"Drained node {self.order.node}: {counted(done, 'pod')} evicted"
        if self._problems:
            told = "; ".join(self._problems[:2])
            return Outcome(state="refused", sentence=f"{sentence}; {len(self._problems)} not: {told}")
        came = [one.key for one in still_there(self.order.node, self._store)]
        if came:
            sentence += listed("; still on it: ", came, 200)
        return Outcome(state="done", sentence=sentence)


def _may_pass(said: Refusal | None) -> bool:
    """Whether it may be taken later: a budget or the load of the server holds it."""
    return said is not None and (said.status == 429 or said.status >= 500)


def _other(mark: DrainMark | None) -> str:
    return "it was called off" if mark is None else f"another drain of it was begun {mark.begun}"


def uid_of(call: Call) -> str:
    """The pod of an eviction."""
    return str(call.body["deleteOptions"]["preconditions"]["uid"])


def _space(call: Call) -> str:
    return str(call.body["metadata"]["namespace"])


def _held(budgets: Sequence[Budget]) -> str:
    if len(budgets) > 1:
        names = listed("", [f"{one.namespace}/{one.name}" for one in budgets], 200)
        return f"several budgets protect the same pod ({names}): the server does not evict it"
    return f"waits for budget {budget_words(budgets[0])}"
