"""What the user may do, as far as it was asked: reviews of one attachment, kept for a few minutes.

Nothing is asked but what somebody wants to know now (the row under the cursor), one question at a time, and a
newer wish takes the place of an older one. One SelfSubjectRulesReview answers for a whole namespace; where it
is not complete (an authorizer that cannot list its rules), and for what is in no namespace, single rights are
asked for. Nothing is made up: no answer is *not known*.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

import msgspec

from cockpit.errors import CockpitError
from cockpit.kube.access import Rules, read_rules, read_verdict
from cockpit.kube.guard import read_path
from cockpit.kube.resource import ACCESS_REVIEWS
from cockpit.kube.session import ApiSession
from cockpit.model.right import Permission, Right

FRESH_SECONDS = 240.0
"""Age at which an answer is requested again; the old one is used until the new one arrives."""
RETRY_SECONDS = 30.0
"""The same for a question that got no answer."""
PAUSE_SECONDS = 0.2
"""Between two questions: who moves through a hundred namespaces asks about few of them."""
MOST_NAMESPACES = 64
MOST_RIGHTS = 256
MOST_WANTED = 256

Key = TypeVar("Key")
Sleep = Callable[[float], Awaitable[None]]


class _Kept(msgspec.Struct, frozen=True):
    """One answer, None where there was none, and when it came (monotonic)."""

    answer: Rules | Permission | None
    at_seconds: float


class AccessReviews:
    """The rights of one user on one cluster. `changed` is called after each answer."""

    def __init__(
        self,
        session: ApiSession,
        monotonic: Callable[[], float],
        changed: Callable[[], None],
        *,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._session = session
        self._monotonic = monotonic
        self._changed = changed
        self._sleep = sleep
        self._namespaces: dict[str, _Kept] = {}
        self._rights: dict[Right, _Kept] = {}
        self._wanted: tuple[Right, ...] = ()
        self._wish = asyncio.Event()
        self._doubts = 0
        self._answers = 0

    @property
    def answers(self) -> int:
        """How often the server has answered: where it is the same, no verdict is another one."""
        return self._answers

    def verdict(self, right: Right) -> Permission:
        """What is known of the right now, from answers alone."""
        rules = self._rules(right)
        if rules is not None and (listed := rules.verdict(right)) is not None:
            return listed
        any_name = msgspec.structs.replace(right, name="")
        found = self._single(any_name)
        if found is Permission.DENIED and right.name and rules is None:
            return self._single(right)
        return found

    def want(self, rights: Iterable[Right]) -> None:
        """Ask for these from now on, as long as they are not known; what was wanted before no longer is."""
        self._wanted = tuple(dict.fromkeys(rights))[:MOST_WANTED]
        if self._next() is not None:
            self._wish.set()

    def doubt(self, rights: Iterable[Right]) -> None:
        """Request these and their namespaces again: a refusal, or a person, contradicts the answer.

        What was answered holds until the new answer comes.
        """
        self._doubt({right.namespace for right in rights})

    def refused(self, path: str) -> None:
        """The same for what a request to `path` needs: the server answered it with 403."""
        target = read_path(path)
        if target is not None and target.group != ACCESS_REVIEWS.group:
            self._doubt({target.namespace})

    def _doubt(self, namespaces: set[str]) -> None:
        self._doubts += 1
        for space in namespaces & set(self._namespaces):
            self._namespaces[space] = _Kept(self._namespaces[space].answer, -math.inf)
        for right, kept in self._rights.items():
            if right.namespace in namespaces:
                self._rights[right] = _Kept(kept.answer, -math.inf)
        self._wish.set()

    async def run(self) -> None:
        """Ask what is wanted, until cancelled."""
        while True:
            await self._wish.wait()
            self._wish.clear()
            await self.ask_wanted()

    async def ask_wanted(self) -> None:
        """Ask until all that is wanted is known, or got no answer."""
        while (question := self._next()) is not None:
            await self._ask(question)
            self._changed()
            await self._sleep(PAUSE_SECONDS)

    def _rules(self, right: Right) -> Rules | None:
        kept = self._namespaces.get(right.namespace) if right.namespace else None
        return kept.answer if kept is not None and isinstance(kept.answer, Rules) else None

    def _single(self, right: Right) -> Permission:
        kept = self._rights.get(right)
        return kept.answer if kept is not None and isinstance(kept.answer, Permission) else Permission.UNKNOWN

    def _next(self) -> Right | str | None:
        """The next question: a namespace, a right, or None where all that is wanted is known."""
        return next((item for item in map(self._open, self._wanted) if item is not None), None)

    def _open(self, right: Right) -> Right | str | None:
        if right.namespace and self._is_old(self._namespaces.get(right.namespace)):
            return right.namespace
        rules = self._rules(right)
        if rules is not None and rules.verdict(right) is not None:
            return None
        any_name = msgspec.structs.replace(right, name="")
        if self._is_old(self._rights.get(any_name)):
            return any_name
        is_open = right.name and rules is None and self._single(any_name) is Permission.DENIED
        return right if is_open and self._is_old(self._rights.get(right)) else None

    def _is_old(self, kept: _Kept | None) -> bool:
        if kept is None:
            return True
        lasts = RETRY_SECONDS if kept.answer in (None, Permission.UNKNOWN) else FRESH_SECONDS
        return self._monotonic() - kept.at_seconds >= lasts

    async def _ask(self, question: Right | str) -> None:
        answer: Rules | Permission | None
        doubts = self._doubts
        try:
            if isinstance(question, str):
                answer = await read_rules(self._session, question)
            else:
                answer = await read_verdict(self._session, question)
        except CockpitError:
            answer = None
        # an answer to a question that was put before the doubt came is no answer to the doubt
        kept = _Kept(answer, self._monotonic() if doubts == self._doubts else -math.inf)
        self._answers += 1
        if isinstance(question, str):
            _keep(self._namespaces, question, kept, MOST_NAMESPACES)
        else:
            _keep(self._rights, question, kept, MOST_RIGHTS)


def _keep(table: dict[Key, _Kept], key: Key, kept: _Kept, most: int) -> None:
    """The newest last; the oldest goes where there are too many."""
    table.pop(key, None)
    table[key] = kept
    while len(table) > most:
        del table[next(iter(table))]
