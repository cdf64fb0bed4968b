"""What needs a human over time: rows that do not flap, what is resolved, what somebody acknowledged. Pure.

`needs_human` says what is wrong at a moment. `Troubles` is shown that again and again, and what former
sessions remember, and tells what stands on *Now*: a trouble stays until it has been gone for a time that fits
its kind, then reads as resolved for a while.
"""

from collections.abc import Callable, Iterable, Sequence

import msgspec
from msgspec.structs import replace

from cockpit.catalogue.cause import Cause
from cockpit.model.finding import Finding
from cockpit.model.remembered import Acknowledgement, ProblemKey, SeenProblem

STAYS_SECONDS = 20.0
"""So long a trouble must be gone before it is called resolved, where its kind has no time of its own."""
STAYS_SECONDS_OF = {
    "write-broken-off": 0.0,  # it ends by a key
    **dict.fromkeys(
        (
            *("job-degraded", "job-idle", "job-starved", "job-hangs", "pod-waits", "stream-denied"),
            *("not-logged-in", "node-not-ready", "node-pressure", "node-gpus-lost", "node-xid"),
            *("node-silent", "node-hot"),
        ),
        120.0,
    ),
}
"""Of what alternates by its nature: a kubelet that is overloaded, a hot card, a stream, a crash."""
ALTERNATES_SECONDS = 300.0
"""What came back is known to alternate, and is over once it was gone for so long."""
AWAY_SECONDS = 3.0
"""What was missed for less did not go: a list was being read again."""
GOES_SILENTLY = frozenset({"job-failed", "stream-denied", "write-broken-off", "alerts-unread"})
"""Findings that end by becoming old or by what we may read: nothing was mended."""
MEASURED = frozenset({"job-idle", "job-starved", "job-hangs", "node-xid", "node-silent", "node-hot"})
"""Findings that rest on telemetry: without it they are not known to be gone."""
RESOLVED_SECONDS = 600.0
MOST_RESOLVED = 5
MOST_UNWRITTEN = 1_000
"""Resolved troubles that wait to be written; where nothing is kept on this host they are let go."""
SAME_SECONDS = 12 * 3_600.0
"""A problem that an earlier session left so lately and that is there now is the same one (own choice)."""
FIRST_SIGHT_SECONDS = 30.0
"""What shows up so soon was there before us, it only had to be measured: no news."""

_SAYS_LESS = frozenset({"", Cause.CRASHES, Cause.BETWEEN_ATTEMPTS})
"""No cause, or a crash by its exit code, as every one is told until its log was read: not another one."""

IsKnown = Callable[[Finding], bool]


class Trouble(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A finding over time. `first_seconds` is since when this host knows of it; `gone_seconds` since when it
    is no longer found, and `is_resolved` once that is long enough. `times` is how often it came, and
    `begun_seconds` of what came again what the objects said when it came first."""

    found: Finding
    first_seconds: float
    last_seconds: float
    gone_seconds: float | None = None
    is_resolved: bool = False
    times: int = 1
    begun_seconds: float | None = None
    acknowledged: Acknowledgement | None = None

    @property
    def key(self) -> str:
        return self.found.key

    @property
    def since_seconds(self) -> float:
        """Since when: told by the objects when it came first, else since it was seen first."""
        return self.first_seconds if self._told_seconds is None else self._told_seconds

    @property
    def is_quiet(self) -> bool:
        """True where no human has to do anything now."""
        return self.is_resolved or self.acknowledged is not None

    @property
    def is_since_told(self) -> bool:
        """False where nothing but our own watching says since when."""
        return self._told_seconds is not None

    @property
    def _told_seconds(self) -> float | None:
        return self.begun_seconds if self.times > 1 else self.found.since_seconds


def key_of(found: Finding) -> ProblemKey:
    """What a finding is remembered by."""
    return (found.row, found.finding)


def _rows(found: Finding) -> Iterable[str]:
    return (found.row, *(one.row for one in found.alike))


def is_worse(found: Finding, known: Acknowledgement) -> bool:
    """Whether it became worse than what was acknowledged, or has another cause."""
    causes = {found.cause, known.cause}
    is_other = len(causes) == 2 and not causes & _SAYS_LESS
    return is_other or (found.is_bad and not known.is_bad) or found.gpus > known.gpus


class Troubles:
    """The troubles of one cluster, as far as one namespace or all are looked at."""

    def __init__(self) -> None:
        self._troubles: dict[ProblemKey, Trouble] = {}
        self._order: list[ProblemKey] = []
        self._seen: dict[ProblemKey, SeenProblem] = {}
        self._known: dict[ProblemKey, Acknowledgement] = {}
        self._ended: set[ProblemKey] = set()  # acknowledgements that are over and not written yet
        self._resolved: dict[ProblemKey, SeenProblem] = {}  # not written yet
        self._news: list[Finding] = []
        self._sighted_seconds: float | None = None
        self._has_settled = False

    def remember(self, problems: Iterable[SeenProblem], known: Iterable[Acknowledgement]) -> None:
        """What former sessions, or others, know. Acknowledgements replace all that were known."""
        self._seen.update((one.key, one) for one in problems)
        self._known = {one.key: one for one in known}
        for key, one in self._troubles.items():
            first = self._first(key, one.first_seconds)
            self._troubles[key] = replace(one, first_seconds=first)

    def acknowledge(self, known: Acknowledgement) -> None:
        self._known[known.key] = known
        self._ended.discard(known.key)

    def take_back(self, key: ProblemKey) -> None:
        """Nobody knows of it any more."""
        if self._known.pop(key, None) is not None:
            self._ended.add(key)

    def look(
        self,
        found: Sequence[Finding],
        now_seconds: float,
        *,
        is_sighted: IsKnown,
        exists: IsKnown,
        is_mended: IsKnown,
        is_settled: bool = True,
    ) -> tuple[Trouble, ...]:
        """What stands on *Now*: as triage ranks it, then what is acknowledged, then what was resolved lately.

        `is_sighted` says whether a finding of that kind would be found if it was there, `exists` whether what
        it is about is still there: what is deleted needs no time to calm down. `is_mended` is False where it
        has only become a part of another row. Until everything was listed once (`is_settled`) what goes was
        no trouble of its own: its cause had not come yet.
        """
        here = {key_of(one): one for one in found}
        subjects = {row for one in found for row in _rows(one)}
        for key, one in here.items():
            self._meet(key, one, now_seconds)
        for key in [key for key in self._troubles if key not in here]:
            if not self._has_settled:
                del self._troubles[key]
            elif not subjects.isdisjoint(_rows(self._troubles[key].found)):
                self._drop(key, now_seconds)  # it is told by another cause or row now
            else:
                self._miss(key, now_seconds, is_sighted, exists, is_mended)
        self._has_settled = self._has_settled or is_settled
        while len(self._resolved) > MOST_UNWRITTEN:
            del self._resolved[next(iter(self._resolved))]
        self._order = self._ordered(list(here))
        return self._shown(now_seconds)

    def sighted(self, now_seconds: float) -> None:
        """Everything was listed by now: what comes later is news."""
        if self._sighted_seconds is None:
            self._sighted_seconds = now_seconds

    def _first(self, key: ProblemKey, now_seconds: float) -> float:
        seen = self._seen.get(key)
        if seen is None or seen.resolved_seconds is not None or seen.first_seconds > now_seconds:
            return now_seconds
        return seen.first_seconds if now_seconds - seen.last_seconds <= SAME_SECONDS else now_seconds

    def _meet(self, key: ProblemKey, found: Finding, now_seconds: float) -> None:
        before = self._troubles.get(key)
        if before is None:
            first = self._first(key, now_seconds)
            since = self._sighted_seconds
            is_late = since is not None and now_seconds - since > FIRST_SIGHT_SECONDS
            if is_late and first == now_seconds and key not in self._known:
                self._news.append(found)
        else:
            first = before.first_seconds
        self._resolved.pop(key, None)
        begun, times = found.since_seconds, 1
        if before is not None:
            gone = before.gone_seconds
            times = before.times + (gone is not None and now_seconds - gone >= AWAY_SECONDS)
            if times > 1:  # this is not its beginning
                begun = before.begun_seconds
        self._troubles[key] = Trouble(
            found=found, first_seconds=first, last_seconds=now_seconds, times=times, begun_seconds=begun
        )

    def _miss(
        self, key: ProblemKey, now_seconds: float, is_sighted: IsKnown, exists: IsKnown, is_mended: IsKnown
    ) -> None:
        before = self._troubles[key]
        gone = before.gone_seconds
        if gone is None or not (before.is_resolved or is_sighted(before.found)):
            gone = now_seconds
        is_there = exists(before.found)
        stays = _stays(before) if is_there else 0.0
        is_silent = before.found.finding in GOES_SILENTLY or not (
            before.is_resolved or is_mended(before.found)
        )
        is_over = before.is_resolved or (is_sighted(before.found) and now_seconds - gone >= stays)
        if is_over and (is_silent or now_seconds - gone >= RESOLVED_SECONDS):
            self._drop(key, gone)
            return
        if is_over and not before.is_resolved:
            self._resolved[key] = _seen(before, gone)
            self._seen.pop(key, None)
        self._troubles[key] = replace(before, gone_seconds=gone, is_resolved=is_over)

    def _drop(self, key: ProblemKey, gone_seconds: float) -> None:
        one = self._troubles.pop(key)
        self.take_back(key)
        if not one.is_resolved:
            self._resolved[key] = _seen(one, gone_seconds)
            self._seen.pop(key, None)

    def _ordered(self, here: list[ProblemKey]) -> list[ProblemKey]:
        """As triage ranks them; one that is gone for a moment stays behind the one it stood behind."""
        there = set(here)
        behind: dict[ProblemKey | None, list[ProblemKey]] = {}
        before: ProblemKey | None = None
        for key in self._order:
            if key in there:
                before = key
            elif key in self._troubles:
                behind.setdefault(before, []).append(key)
        order = behind.get(None, [])
        for key in here:
            order.append(key)
            order += behind.get(key, ())
        return order

    def _shown(self, now_seconds: float) -> tuple[Trouble, ...]:
        open_: list[Trouble] = []
        known: list[Trouble] = []
        resolved: list[Trouble] = []
        for key in self._order:
            one = self._troubles[key]
            if one.is_resolved:
                resolved.append(one)
            elif (who := self._acknowledged(key, one, now_seconds)) is not None:
                known.append(replace(one, acknowledged=who))
            else:
                open_.append(one)
        resolved.sort(key=lambda one: -(one.gone_seconds or 0.0))
        return (*open_, *known, *resolved[:MOST_RESOLVED])

    def _acknowledged(self, key: ProblemKey, one: Trouble, now_seconds: float) -> Acknowledgement | None:
        """Who knows of it; none once the time is over, or it became worse."""
        known = self._known.get(key)
        if known is None:
            return None
        is_over = known.until_seconds is not None and now_seconds >= known.until_seconds
        if is_over or is_worse(one.found, known):
            self.take_back(key)
            return None
        return known

    # ---- what the host is to keep, and what is to be told

    def news(self) -> tuple[Finding, ...]:
        """What is new since this was asked last."""
        news, self._news = tuple(self._news), []
        return news

    def unwritten(self) -> tuple[SeenProblem, ...]:
        """Every trouble that is there, and what was resolved since `written`."""
        here = (_seen(one, None) for one in self._troubles.values() if not one.is_resolved)
        return (*here, *self._resolved.values())

    def taken_back(self) -> tuple[ProblemKey, ...]:
        """Acknowledgements that ended since `written`."""
        return tuple(self._ended)

    def written(self, problems: Iterable[SeenProblem], taken_back: Iterable[ProblemKey]) -> None:
        """These are on the disk."""
        for one in problems:
            if self._resolved.get(one.key) == one:
                del self._resolved[one.key]
        self._ended.difference_update(taken_back)


def _stays(trouble: Trouble) -> float:
    own = STAYS_SECONDS_OF.get(trouble.found.finding, STAYS_SECONDS)
    return max(own, ALTERNATES_SECONDS) if own and trouble.times > 1 else own


def _seen(one: Trouble, resolved_seconds: float | None) -> SeenProblem:
    return SeenProblem(
        subject_key=one.found.row,
        finding=one.found.finding,
        first_seconds=one.first_seconds,
        last_seconds=one.last_seconds,
        resolved_seconds=resolved_seconds,
        subject=one.found.title,
        sentence=one.found.sentence,
    )
