"""What needs a human, looked at again and again: the troubles of the cluster in force, and what is kept.

One for the app. `look` is called by *Now* whenever it draws, and by the app once in a while behind any other
screen. `keep_history` is a task beside them: files are read and written in a thread, the loop waits for none.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from cockpit.daemon_thread import apart
from cockpit.errors import BadInput
from cockpit.model.batch import Phase
from cockpit.model.finding import Finding
from cockpit.model.job import JobState
from cockpit.model.namespaces import EVERY
from cockpit.model.record import Kind
from cockpit.model.remembered import (
    Acknowledgement,
    LoadSample,
    PastRun,
    ProblemKey,
    Remembered,
    SessionNotes,
)
from cockpit.services.host import Cluster, Host
from cockpit.triage.alerts import is_alert, is_firing
from cockpit.triage.attention import go_on, is_behind, needs_human
from cockpit.triage.expected_start import ended_runs
from cockpit.triage.since_left import Happened, since_left
from cockpit.triage.troubles import MEASURED, Trouble, Troubles, key_of
from cockpit.views.fleet import fleet
from cockpit.views.load import MINUTES, load_sample, minute_of

if TYPE_CHECKING:
    from cockpit.local_state.history import LocalHistory
    from cockpit.local_state.shared_notes import SharedNotes

KEEP_SECONDS = 30.0
"""How often what was seen is written, and what others acknowledged is read."""
BEHIND_SECONDS = 5.0
"""How often one looks behind another screen: new problems are announced there, too."""
PAUSE_SECONDS = 1.0
LONGEST_SECONDS = 15.0
"""Who types without a pause is disturbed after this time."""
SPREAD_SECONDS = 0.03
"""Between two parts of a judgement that is spread."""
SHARE_OF_TIME = 0.02
"""Looking takes at most this share of the time behind another screen."""

Changed = Mapping[ProblemKey, Acknowledgement | None]
"""Acknowledgements that are new, None for those that are over."""

_UNDER_WAY = (Phase.CONNECTING, Phase.LISTING)
_OF_A_STATE = ("job-waits", "job-degraded", "job-stuck")
"""Findings that end for good when the job runs or has ended."""


class Files(NamedTuple):
    """Where a cluster's history is kept, and what a group shares; None: nowhere."""

    history: "LocalHistory | None" = None
    shared: "SharedNotes | None" = None


class NowWatch:
    """The troubles of the cluster and the namespaces in force, and what former sessions left.

    `files` gives those of the cluster that is connected and opens nothing; `announce` receives new
    problems.
    """

    def __init__(
        self, app: Host, files: Callable[[], Files], announce: Callable[[tuple[Finding, ...]], None]
    ) -> None:
        self._app = app
        self._files_now = files
        self._announce = announce
        self._cluster: Cluster | None = None
        self._namespaces = EVERY
        self._troubles = Troubles()
        self.shown: tuple[Trouble, ...] | None = None
        """What the last look found; None before the first one at this cluster and these namespaces."""
        self._files: Files | None = None
        self._left: Remembered | None = None
        self._own: dict[ProblemKey, Acknowledgement] = {}
        self._unwritten: dict[ProblemKey, Acknowledgement | None] = {}  # None: taken back
        self._nodes: frozenset[str] | None = None  # as they were written
        self._loads: dict[int, LoadSample] = {}  # by minute
        self._unwritten_loads: set[int] = set()
        self._runs: frozenset[PastRun] = frozenset()  # as they were written
        self._happened: tuple[Happened, ...] | None = None  # None: not looked up yet
        self._told: set[str] = set()
        self._looked_at = self._cost_seconds = 0.0
        self._due = asyncio.Event()
        self._is_spreading = False

    # ---- looking

    def look(self) -> tuple[Trouble, ...]:
        """What stands on *Now*."""
        self._follow()
        cluster, clock = self._app.cluster, self._app.clock
        began, now_seconds = clock.monotonic(), clock.cluster_now()
        if is_listed(cluster):
            self._troubles.sighted(now_seconds)
        found: tuple[Finding, ...] = ()
        if not are_nodes_coming(cluster):
            found = needs_human(
                cluster.store, cluster.jobs, now_seconds, cluster.namespaces, verdicts=cluster.verdicts
            )
        shown = self.shown = look_again(self._troubles, found, now_seconds, cluster)
        if self._happened is None and self._left is not None and is_settled(cluster):
            here = {key_of(item) for item in found}
            self._happened = since_left(cluster.store, cluster.jobs, self._left, here, cluster.namespaces)
        if is_settled(cluster) and minute_of(now_seconds) not in self._loads:
            self.keep_load(self.load)
        if news := self._troubles.news():
            self._announce(news)
        self._looked_at = clock.monotonic()
        self._cost_seconds = self._looked_at - began
        cluster.verdicts.pace.is_in_force = is_settled(cluster)
        self._spread(cluster)
        if self._files is None and cluster.is_connected:
            self._due.set()
        return shown

    def _spread(self, cluster: Cluster) -> None:
        """What a big change left to judge is judged a little at a time, then drawn."""
        if not self._is_spreading and _is_behind(cluster):
            self._is_spreading = True
            self._app.spawn(partial(self._go_on, cluster), "problems")

    async def _go_on(self, cluster: Cluster) -> None:
        try:
            while self._app.cluster is cluster and _is_behind(cluster):
                await asyncio.sleep(SPREAD_SECONDS)
                cluster.jobs.catch_up(is_whole=False)
                go_on(cluster.verdicts, self._app.clock.cluster_now())
        finally:
            self._is_spreading = False
        self._app.looked_up()

    def is_due(self, typed_at: float) -> bool:
        """Whether to look behind another screen: not while nodes and pods are being listed (each row would be
        judged again for each of its pods), not when somebody just did, nor when it costs too much, and in a
        pause of who types (`typed_at`, of the monotonic clock), for to look at 50,000 pods takes 150 ms."""
        now = self._app.clock.monotonic()
        since = now - self._looked_at
        is_time = since >= max(BEHIND_SECONDS, self._cost_seconds / SHARE_OF_TIME)
        is_pause = now - typed_at >= PAUSE_SECONDS or since >= LONGEST_SECONDS
        return is_time and is_pause and not is_listing(self._app.cluster)

    def _follow(self) -> None:
        """Forget the problems of the former cluster or namespaces."""
        cluster: Cluster = self._app.cluster
        if cluster is self._cluster and cluster.namespaces == self._namespaces:
            return
        if cluster is not self._cluster:
            self._files = self._left = self._nodes = self._happened = None
            self._own, self._unwritten = {}, {}
            self._loads, self._unwritten_loads, self._runs = {}, set(), frozenset()
        self._cluster, self._namespaces = cluster, cluster.namespaces
        self._troubles, self.shown = Troubles(), None
        if self._left is not None:
            self._troubles.remember(self._left.problems, self._own.values())

    # ---- the last hour

    @property
    def load(self) -> LoadSample:
        """What is asked for and used now."""
        cluster = self._app.cluster
        jobs = cluster.jobs.jobs.values()
        return load_sample(fleet(cluster.store), jobs, self._app.clock.cluster_now())

    @property
    def loads(self) -> tuple[LoadSample, ...]:
        """The same a minute, as far as this host has seen it in the last hour."""
        return tuple(self._loads.values())

    def keep_load(self, now: LoadSample) -> None:
        minute = minute_of(now.at_seconds)
        self._loads[minute] = now
        self._unwritten_loads.add(minute)
        for old in [item for item in self._loads if item < minute - MINUTES]:
            del self._loads[old]
        self._unwritten_loads &= self._loads.keys()

    # ---- jobs of the past

    @property
    def past(self) -> tuple[PastRun, ...]:
        """Jobs that ended, as this host remembers them."""
        return () if self._left is None else self._left.runs

    # ---- what happened since the last session

    @property
    def left_seconds(self) -> float | None:
        """When the last session was alive; None where there is none."""
        return None if self._left is None else self._left.left_seconds

    @property
    def happened(self) -> tuple[Happened, ...]:
        """What happened since then, as it was at first sight."""
        return self._happened or ()

    def dismiss_happened(self) -> None:
        """It is known by now."""
        self._happened = ()
        self._app.looked_up()

    # ---- acknowledging

    def acknowledge(self, found: Finding, note: str, seconds: float | None, who: str) -> None:
        """Acknowledge the finding for `seconds`; None: until it changes."""
        now_seconds = self._app.clock.cluster_now()
        known = Acknowledgement(
            subject_key=found.row,
            finding=found.finding,
            made_seconds=now_seconds,
            until_seconds=None if seconds is None else now_seconds + seconds,
            note=note,
            who=who,
            is_bad=found.is_bad,
            gpus=found.gpus,
            cause=found.cause,
        )
        self._own[known.key] = self._unwritten[known.key] = known
        self._troubles.acknowledge(known)
        self._app.looked_up()
        self._due.set()

    def take_back(self, found: Finding) -> None:
        """It needs a human after all."""
        key = key_of(found)
        self._own.pop(key, None)
        self._unwritten[key] = None
        self._troubles.take_back(key)
        self._app.looked_up()
        self._due.set()

    # ---- what is kept

    async def keep_history(self) -> None:
        """Read what was left and write what is seen, until cancelled."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(KEEP_SECONDS):  # `wait_for` of Python 3.11 may lose a cancellation
                    await self._due.wait()
            self._due.clear()
            if self._app.cluster.is_connected:
                await self.keep()

    async def keep(self) -> None:
        """One round: read what was left, where that was not done yet; write what is seen; share."""
        self._follow()
        cluster, is_new = self._cluster, self._files is None
        if is_new and not await self._recall():
            return
        troubles, files = self._troubles, self._files or Files()
        unwritten, self._unwritten = self._unwritten, {}
        ended = troubles.taken_back()
        for key in ended:
            self._own.pop(key, None)
        changes = {**dict.fromkeys(ended), **unwritten}
        if files.history is not None and not await self._write(files.history, troubles, changes):
            self._unwritten = unwritten | self._unwritten  # next time
        if files.shared is not None and self._app.cluster is cluster:
            await self._share(files.shared, troubles, changes)
        if self._app.cluster is cluster and (is_new or files.shared is not None):
            self._app.looked_up()

    async def _recall(self) -> bool:
        """Open the files; False where another cluster is in force meanwhile."""
        cluster, files = self._cluster, self._files_now()
        left = Remembered()
        if files.history is not None:
            left = await apart(partial(files.history.recall, self._app.clock.cluster_now()))
            self._tell(files.history.note)
        if self._app.cluster is not cluster or cluster is not self._cluster:
            return False
        self._files, self._left = files, left
        since = minute_of(self._app.clock.cluster_now()) - MINUTES
        before = {minute_of(sample.at_seconds): sample for sample in left.samples}
        self._loads = {minute: one for minute, one in before.items() if minute >= since} | self._loads
        self._own = {item.key: item for item in left.acknowledgements} | self._own
        self._troubles.remember(left.problems, self._own.values())
        return True

    async def _write(self, history: "LocalHistory", troubles: Troubles, changes: Changed) -> bool:
        nodes = node_names(self._app.cluster)
        problems = troubles.unwritten()
        runs = frozenset(ended_runs(self._app.cluster.jobs.jobs.values()))
        notes = SessionNotes(
            at_seconds=self._app.clock.cluster_now(),
            problems=problems,
            acknowledged=tuple(change for change in changes.values() if change is not None),
            taken_back=tuple(key for key, one in changes.items() if one is None),
            nodes=None if nodes == self._nodes else nodes,
            samples=tuple(self._loads[minute] for minute in sorted(self._unwritten_loads)),
            runs=tuple(sorted(runs - self._runs)),
        )
        is_kept = await apart(partial(history.record, notes))
        self._tell(history.note)
        if is_kept:
            troubles.written(problems, notes.taken_back)
            if troubles is self._troubles:
                self._nodes, self._runs = nodes or self._nodes, runs
                self._unwritten_loads -= {minute_of(sample.at_seconds) for sample in notes.samples}
        return is_kept or not history.may_recover

    async def _share(self, shared: "SharedNotes", troubles: Troubles, changes: Changed) -> None:
        """Put what was acknowledged where others find it, and take in what they did."""

        def exchange() -> tuple[Acknowledgement, ...]:
            for key, one in changes.items():
                if one is None:
                    shared.remove(key)
                else:
                    shared.write(one)
            return shared.read()

        try:
            others = await apart(exchange)
        except BadInput as error:
            self._tell(error.sentence)
            return
        if troubles is self._troubles:
            known = {item.key: item for item in others} | self._own
            gone = {key for key, one in self._unwritten.items() if one is None}
            troubles.remember((), (one for key, one in known.items() if key not in gone))

    def _tell(self, sentence: str) -> None:
        if sentence and sentence not in self._told:
            self._told.add(sentence)
            self._app.notify(f"{sentence}.", severity="warning")


def _is_behind(cluster: Cluster) -> bool:
    return is_behind(cluster.verdicts) or cluster.jobs.is_behind


def is_listed(cluster: Cluster) -> bool:
    """Whether nodes and pods are in, so that what is missing is not there."""
    live = (cluster.store.status(kind) for kind in (Kind.NODE, Kind.POD))
    return cluster.is_connected and all(item is not None and item.is_current for item in live)


def are_nodes_coming(cluster: Cluster) -> bool:
    """Whether nodes are being listed: what would be said of pods by then would be wrong."""
    status = cluster.store.status(Kind.NODE)
    return status is not None and status.phase in (Phase.CONNECTING, Phase.LISTING)


def is_listing(cluster: Cluster) -> bool:
    """Whether nodes or pods are on their way."""
    both = (cluster.store.status(kind) for kind in (Kind.NODE, Kind.POD))
    return any(item is not None and item.phase in _UNDER_WAY for item in both)


def look_again(
    troubles: Troubles, found: Sequence[Finding], now_seconds: float, cluster: Cluster
) -> tuple[Trouble, ...]:
    """What `troubles` shows after a look that found these, by what the cluster lets one see."""
    return troubles.look(
        found,
        now_seconds,
        is_sighted=partial(is_sighted, cluster),
        exists=partial(exists, cluster),
        is_mended=partial(is_mended, cluster),
        is_settled=is_settled(cluster),
    )


def is_settled(cluster: Cluster) -> bool:
    """Whether no kind is being listed any more."""
    statuses = cluster.store.statuses().values()
    listed = (status for status in statuses if status.kind != Kind.ALERT)  # no finding of ours rests on it
    return is_listed(cluster) and not any(status.phase in _UNDER_WAY for status in listed)


def is_sighted(cluster: Cluster, found: Finding) -> bool:
    """Whether this finding would be found now if it was there."""
    if not is_settled(cluster):
        return False
    source = Kind.ALERT if is_alert(found) else Kind.GPU if found.finding in MEASURED else ""
    status = cluster.store.status(source) if source else None
    return not source or (status is not None and status.phase is Phase.LIVE)


def exists(cluster: Cluster, found: Finding) -> bool:
    """Whether what it is about is still there."""
    if found.alike:
        return True
    if found.finding.startswith("job-"):
        return cluster.jobs.job(found.row) is not None
    if found.finding.startswith("node-"):
        return cluster.store.by_key(Kind.NODE, found.row) is not None
    if found.finding.startswith("pod-"):
        return cluster.store.by_key(Kind.POD, found.row) is not None
    return True


def is_mended(cluster: Cluster, found: Finding) -> bool:
    """False for a job that waits or is broken still: another row tells its cause, or no human is needed; and
    for an alert that fires still, beside a finding or without its object."""
    if is_alert(found) and is_firing(found, cluster.store):
        return False
    job = cluster.jobs.job(found.row) if found.finding in _OF_A_STATE else None
    return job is None or job.state in (JobState.RUNNING, *JobState.ENDED)


def node_names(cluster: Cluster) -> frozenset[str] | None:
    """The nodes that there are; None while they are not listed whole."""
    status = cluster.store.status(Kind.NODE)
    if status is None or not status.is_current:
        return None
    return frozenset(record.name for record in cluster.store.records(Kind.NODE).values())
