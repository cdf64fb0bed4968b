"""Which jobs look idle, what their traces told of them, and the words for it. Pure.

A job looks idle while the newest samples of all its cards do. Only of such a job the lines of the last hours
are worth asking for, and only they tell idle from a start, a pause for data or a checkpoint (`idleness`).
"""

import enum
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Final, NamedTuple

from cockpit.gangs.registry import can_suspend
from cockpit.gangs.sentence import counted
from cockpit.model.batch import Phase
from cockpit.model.gpu import Gpu
from cockpit.model.job import Job, JobState
from cockpit.model.pod import Pod
from cockpit.model.quantity import Absent
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader
from cockpit.model.trace import PodLines, Trace
from cockpit.triage.idleness import IdleStanding, Judged, WorkSign

IDLE_FOR_SECONDS: Final = 3_600.0
"""The window unless another is asked for. With half of it a notebook whose short cells fell between two
samples, or a server with a request every few minutes, was taken for idle in one of twenty-five traces."""
LOOK_SECONDS: Final = 30.0
"""So often somebody looks for jobs that look idle."""
AGAIN_SECONDS: Final = 300.0
"""A job that goes on looking idle is judged again so often."""
KEPT_SECONDS: Final = 3 * AGAIN_SECONDS
"""A judgement older than this says nothing any more."""
MOST_JOBS: Final = 8
MOST_PODS: Final = 60
"""So much is asked for at a time; the largest job has its turn alone."""
AT_REST_SECONDS: Final = 600.0
"""Cards that have done nothing for so long are told, also where nobody can say whether their job is idle."""
_MOST_KEPT: Final = 500
_BESIDES: Final = ("CPU", "network", "disk")
"""What tells idle from waiting besides the cards."""


class TelemetryGap(enum.StrEnum):
    """Why something is not known that would tell whether GPUs are idle."""

    NOT_READ = "not read yet"
    NOT_COLLECTED = "not collected"
    DENIED = "denied"
    STALE = "stale"


_GAPS: Final[Mapping[Phase, TelemetryGap]] = {
    Phase.CONNECTING: TelemetryGap.NOT_READ,
    Phase.LISTING: TelemetryGap.NOT_READ,
    Phase.ABSENT: TelemetryGap.NOT_COLLECTED,
    Phase.DENIED: TelemetryGap.DENIED,
    Phase.NOT_LOGGED_IN: TelemetryGap.DENIED,
    Phase.STALE: TelemetryGap.STALE,
    Phase.BACKING_OFF: TelemetryGap.STALE,
}


def gap_of(phase: Phase) -> TelemetryGap | None:
    """What is amiss with a stream of telemetry, None where it is live."""
    return _GAPS.get(phase)


def gpu_gap(store: StoreReader) -> TelemetryGap | None:
    """What is amiss with the samples of GPUs as a whole."""
    status = store.status(Kind.GPU)
    if status is None:
        return None if store.records(Kind.GPU) else TelemetryGap.NOT_READ
    gap = gap_of(status.phase)
    return gap or (None if store.records(Kind.GPU) else TelemetryGap.NOT_COLLECTED)


def unmeasured(job: Job, store: StoreReader) -> Counter[TelemetryGap]:
    """GPUs of a running job of which it is not known whether they work now, by why."""
    found: Counter[TelemetryGap] = Counter()
    if job.state != JobState.RUNNING or not job.gpus_allocated:
        return found
    whole, measured = gpu_gap(store), 0
    for gpu in chain.from_iterable(cards_of(job, store)):
        if not isinstance(gpu.duty_ratio, Absent):
            measured += 1
        elif gpu.duty_ratio is Absent.STALE:
            found[whole or TelemetryGap.STALE] += 1
    missing = job.gpus_allocated - measured - found.total()
    if missing > 0:
        found[whole or TelemetryGap.NOT_COLLECTED] += missing
    return found


def cards_of(job: Job, store: StoreReader) -> Iterator[tuple[Gpu, ...]]:
    """Of each pod of the job that has GPUs its cards as telemetry tells them; () where it tells none."""
    for uid in job.pod_uids:
        pod: Pod | None = store.get(Kind.POD, uid)
        if pod is not None and pod.gpus:
            yield store.gpus_of_pod(pod.namespace, pod.name)


class Quiet(NamedTuple):
    """The newest samples of all cards of a job show no work, the youngest stretch of it since then."""

    since_seconds: float
    memory_bytes: float


class AtRest(NamedTuple):
    """A running job whose cards do nothing, since when, and what they keep. `judged` is what its trace tells
    where it is idle; None where nobody can say, `missing` names what is not known for `gap`."""

    since_seconds: float
    memory_bytes: float
    judged: Judged | None = None
    missing: tuple[str, ...] = ()
    gap: TelemetryGap = TelemetryGap.NOT_COLLECTED

    @property
    def missing_words(self) -> str:
        """`CPU, network, disk not collected`; "" where nothing is missing."""
        return f"{', '.join(self.missing)} {self.gap}" if self.missing else ""


class _Kept(NamedTuple):
    pod_uids: tuple[str, ...]
    at_seconds: float
    judged: Judged | None  # None: nobody could say
    gap: TelemetryGap | None = None  # why nobody could


class IdleJobs:
    """What was judged of the jobs of one cluster that look idle."""

    def __init__(self) -> None:
        self.is_remembered: bool | None = None
        """Whether somebody keeps lines of pods; None: nobody was asked yet."""
        self.revision = 0
        """Moves with everything new that was judged."""
        self._kept: dict[str, _Kept] = {}
        self._looked_seconds: float | None = None

    def of(self, job: Job, now_seconds: float) -> Judged | None:
        """What was judged of the job with these pods lately; None where nothing was."""
        kept = self._of_its_pods(job)
        return None if kept is None or now_seconds - kept.at_seconds > KEPT_SECONDS else kept.judged

    def _of_its_pods(self, job: Job) -> _Kept | None:
        kept = self._kept.get(job.key)
        return kept if kept is not None and kept.pod_uids == job.pod_uids else None

    def idle(self, job: Job, store: StoreReader, now_seconds: float) -> Judged | None:
        """What was judged where the job is idle, and its newest samples do not say otherwise; else None.

        This is what idle means, wherever the cockpit says it of a job or of GPUs that a job holds.
        """
        judged = self.of(job, now_seconds) if job.state == JobState.RUNNING else None
        is_idle = judged is not None and judged.standing is IdleStanding.IDLE
        return judged if is_idle and quiet(job, store) is not None else None

    def at_rest(self, job: Job, store: StoreReader, now_seconds: float) -> AtRest | None:
        """The job where it is idle, or where its cards have done nothing for a while and nobody can say
        whether it is; None where it is at work, starts or pauses."""
        looks = quiet(job, store) if job.state == JobState.RUNNING else None
        if looks is None:
            return None
        if (idle := self.idle(job, store, now_seconds)) is not None:
            since = idle.since_seconds
            return AtRest(looks.since_seconds if since is None else since, looks.memory_bytes, idle)
        judged = self.of(job, now_seconds)
        if now_seconds - looks.since_seconds < AT_REST_SECONDS or (judged is not None and not judged.missing):
            return None
        if judged is not None:
            return AtRest(*looks, missing=judged.missing)
        return AtRest(*looks, missing=_BESIDES, gap=self._gap(job))

    def is_open(self, job: Job, store: StoreReader, now_seconds: float) -> bool:
        """Whether the job looks idle, and not for long enough to be told of without having been judged."""
        is_running = job.state == JobState.RUNNING
        looks = quiet(job, store) if is_running and self.of(job, now_seconds) is None else None
        return looks is not None and now_seconds - looks.since_seconds < AT_REST_SECONDS

    def _gap(self, job: Job) -> TelemetryGap:
        kept = self._kept.get(job.key)
        if kept is not None and kept.gap is not None:
            return kept.gap
        return TelemetryGap.NOT_COLLECTED if self.is_remembered is False else TelemetryGap.NOT_READ

    def is_time(self, now_seconds: float) -> bool:
        """Whether somebody should look again; it counts as a look."""
        last = self._looked_seconds
        if last is not None and 0.0 <= now_seconds - last < LOOK_SECONDS:
            return False
        self._looked_seconds = now_seconds
        return True

    def due(self, jobs: Iterable[Job], store: StoreReader, now_seconds: float) -> tuple[Job, ...]:
        """Jobs that look idle and were not judged just now: those that never were first, then those whose
        judgement is the oldest, of alike ones those with the most GPUs."""
        found: list[tuple[float, int, str, Job]] = []
        for job in jobs:
            kept = self._of_its_pods(job) if job.state == JobState.RUNNING and job.gpus_allocated else None
            at = float("-inf") if kept is None else kept.at_seconds
            is_due = job.state == JobState.RUNNING and not 0.0 <= now_seconds - at < AGAIN_SECONDS
            if is_due and quiet(job, store) is not None:
                found.append((at, -job.gpus_allocated, job.key, job))
        return tuple(job for *_, job in sorted(found, key=lambda one: one[:3]))

    def take(
        self, job: Job, judged: Judged | None, now_seconds: float, gap: TelemetryGap | None = None
    ) -> bool:
        """Keep what was judged, or why nobody could say; whether that is anything new."""
        before = self._kept.pop(job.key, None)
        while len(self._kept) >= _MOST_KEPT:
            del self._kept[next(iter(self._kept))]
        self._kept[job.key] = _Kept(job.pod_uids, now_seconds, judged, gap)
        is_new = before is None or (before.judged, before.gap) != (judged, gap)
        self.revision += is_new
        return is_new


def bounded(due: Iterable[Job]) -> tuple[Job, ...]:
    """The first of them, so many as are asked for at a time."""
    found: list[Job] = []
    pods = 0
    for one in due:
        pods += len(one.pod_uids)
        if len(found) == MOST_JOBS or (found and pods > MOST_PODS):
            break
        found.append(one)
    return tuple(found)


def quiet(job: Job, store: StoreReader) -> Quiet | None:
    """Since when no card of the job has worked; None where one does, or is not measured."""
    if not job.gpus_allocated:
        return None
    latest = memory_bytes = 0.0
    cards = 0
    for gpus in cards_of(job, store):
        if not gpus:  # not told by telemetry: unknown is not idle
            return None
        for gpu in gpus:
            since = store.idle_since(gpu.uuid)
            if since is None:
                return None
            latest = max(latest, since)
            memory_bytes += 0.0 if isinstance(gpu.memory_used_bytes, Absent) else gpu.memory_used_bytes
            cards += 1
    return None if cards < job.gpus_allocated else Quiet(latest, memory_bytes)


def reclaimable(nodes: Iterable[str], jobs: Iterable[Job], store: StoreReader) -> tuple[Job, ...]:
    """Jobs on these nodes that look idle, and those that are marked for reclaim."""
    names = frozenset(nodes)
    return tuple(
        one
        for one in jobs
        if one.state == JobState.RUNNING
        and not names.isdisjoint(one.nodes)
        and (one.reclaim is not None or quiet(one, store) is not None)
    )


def trace_of(job: Job, pods: Iterable[Pod], lines: PodLines, started: Mapping[str, float | None]) -> Trace:
    """The lines of the job's pods as one trace. `started` is by uid when the pod's containers did, where
    that is another moment than the pod's."""
    alive = [one for one in pods if not one.is_finished]
    begun = [started.get(one.uid, one.started_seconds) for one in alive]
    known = [one for one in begun if one is not None]
    running = [one for one in alive if one.phase == "Running"]
    return Trace(
        end_seconds=lines.end_seconds,
        step_seconds=lines.step_seconds,
        cards=tuple(card for one in alive for card in lines.cards.get(one.uid, ())),
        pods=tuple(lines.pods[one.uid] for one in alive if one.uid in lines.pods),
        started_seconds=max(known) if known and len(known) == len(begun) else None,
        coming=max(len(alive) - len(running), (job.wanted or 0) - job.ready, 0),
        is_whole=bool(alive) and all(_is_whole(one, lines) for one in alive),
    )


def _is_whole(pod: Pod, lines: PodLines) -> bool:
    cards = len(lines.cards.get(pod.uid, ()))
    wants = max(pod.gpus, 1) if pod.asks_for_gpus else 0
    return pod.uid in lines.pods and cards >= wants and not pod.has_unknown_gpus


# ---- words


def minutes_words(seconds: float) -> str:
    """`47 min`, `3 h 5 min`, `2 d 4 h`."""
    minutes = max(0, int(seconds)) // 60
    if minutes < 120:
        return f"{minutes} min"
    hours = minutes // 60
    if hours >= 48:
        return f"{hours // 24} d {hours % 24} h" if hours % 24 else f"{hours // 24} d"
    return f"{hours} h {minutes % 60} min" if minutes % 60 else f"{hours} h"


def ago_words(seconds: float) -> str:
    """`47 min ago`, `a moment ago`."""
    return "a moment ago" if seconds < 60 else f"{minutes_words(seconds)} ago"


def idle_words(job: Job, judged: Judged, now_seconds: float) -> str:
    """`8 GPUs at 0% duty, no CPU, network or disk for 47 min`: of one that is idle."""
    since = judged.since_seconds
    span = f" for {at_least(judged)}{minutes_words(now_seconds - since)}" if since is not None else ""
    return f"{counted(job.gpus_allocated, 'GPU')} at 0% duty, no CPU, network or disk{span}"


def at_least(judged: Judged) -> str:
    """Before how long it idles, where nothing was seen as far back as lines reach: it may be longer."""
    return "at least " if judged.last is None else ""


def mark_words(job: Job, store: StoreReader, now_seconds: float, *, is_idle: bool) -> str:
    """When a running job that is marked is reclaimed, who marked it, and what the key does by then; "" where
    it is not marked. `is_idle`: its trace says so now."""
    mark = job.reclaim
    if mark is None:
        return ""
    left = mark.due_seconds - now_seconds
    by = f" (marked by {mark.by})" if mark.by else " (marked)"
    if left > 0:
        # rounded up: at the minute that is told it is due
        return f"to be reclaimed in {minutes_words(left + 59)}{by}" + ("" if is_idle else ", if idle then")
    if not is_idle:
        return f"reclaim due{by}: R looks again first"
    ends = "suspends it" if can_suspend(job, store) else "deletes it, by name"
    return f"reclaim due: R {ends}{by}"


def unmark_words(job: Job) -> str:
    """How the mark is taken away, "" where the job is not marked; of one that does not run also that."""
    if job.reclaim is None:
        return ""
    name = f"{job.kind.lower()}/{job.namespace}/{job.name}"
    line = shlex.join(("cockpit", "job", "reclaim", name, "--off", "--write"))
    if job.state == JobState.RUNNING:
        return f"to take the mark away: {line}"
    by = f" by {job.reclaim.by}" if job.reclaim.by else ""
    return f"still marked{by}; to take the mark away: R, or {line}"


def kept_words(memory_bytes: float) -> str:
    """What its cards keep, "" where that is next to nothing."""
    return f", {memory_bytes / 2**30:.0f} GiB of memory kept" if memory_bytes >= 2**30 else ""


def why_not_idle(
    judged: Judged | None, now_seconds: float, gap: TelemetryGap = TelemetryGap.NOT_COLLECTED
) -> str:
    """Why the job is not called idle, as the end of a sentence about it; `gap` why it was not judged."""
    if judged is None:
        return f"whether it is idle is not known: CPU, network and disk over time are {gap}"
    if judged.missing:
        return f"whether it is idle is not known: {' and '.join(judged.missing)} not collected"
    last = judged.last
    ago = "" if last is None else f" {ago_words(now_seconds - last.at_seconds)}"
    if judged.standing is IdleStanding.WORKING and last is not None:
        if last.sign is WorkSign.HIDDEN and last.value is not None and last.usual is not None:
            drew = f"a card drew {last.value:.0f} W on average, {last.usual:.0f} W whenever it was sampled"
            return f"it is not idle: {drew}"
        busy = "" if " " in last.sign.value else " was busy"
        return f"it is not idle: {last.sign.value}{busy}{ago}"
    if judged.standing is IdleStanding.STARTING:
        return "it is not idle: it is starting" + (
            f", {counted(judged.coming, 'member')} to come" if judged.coming else ""
        )
    if judged.standing is IdleStanding.PAUSING:
        return f"it is not idle: it has paused for {minutes_words(judged.pause_seconds)} before"
    if last is not None and last.sign is WorkSign.UNMEASURED:
        return f"whether it is idle is not known: {last.what} was not measured until{ago}"
    return "whether it is idle is not known: its cards and pods are not measured for long enough"
