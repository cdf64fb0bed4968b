"""The way of a job from submit to its first step, and how its members ended."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from cockpit_widgets.types import Pair, Tone

from cockpit.gangs import registry
from cockpit.jobs.members import LEADERS, short_name
from cockpit.jobs.owner_chain import owner_record
from cockpit.jobs.progress import Progress
from cockpit.jobs.run_log import FirstStep
from cockpit.jobs.training.efficiency import baseline_of, compared
from cockpit.jobs.training.eta import Eta
from cockpit.jobs.training.record import RunRecord
from cockpit.jobs.training.run import Checkpoints
from cockpit.jobs.training.start import GOAL_SECONDS, PARTS, StartTime, beside, start_of
from cockpit.model.event import Event
from cockpit.model.gang import Workload
from cockpit.model.job import Job, JobObject, JobState, ReportedProgress
from cockpit.model.pod import Pod
from cockpit.model.pod_times import PodTimes
from cockpit.model.record import Kind, condition
from cockpit.model.store_reader import StoreReader
from cockpit.views import format as fmt
from cockpit.views.run_curves import RunCurves
from cockpit.views.training_panel import Lens

DEEPEST = 8
MOST_NAMED = 3
NOT_YET, NOT_SEEN, NEVER = "not yet", "not seen", "never"
ADMITTED, AGAIN = "admitted", "admitted again"
RESUMED, TRIED_AGAIN = "resumed", "tried again"
_LATER = (AGAIN, RESUMED, TRIED_AGAIN)
"""Stations at which another run of the same job begins."""


class Step(NamedTuple):
    """One station; `at_seconds` None: unknown (events are kept for an hour)."""

    name: str
    at_seconds: float | None
    note: str = ""


class Run(NamedTuple):
    """What was read of the logs; `trouble` is why nothing could be."""

    progress: Progress = Progress()
    first: FirstStep | None = None
    last_words: str = ""
    whose: str = ""
    trouble: str = ""
    times: Mapping[str, PodTimes] = {}
    eta: Eta | None = None
    joined_seconds: float | None = None
    curves: RunCurves = RunCurves()
    lens: Lens = Lens()
    past_starts: tuple[float, ...] = ()
    efficiency: str = ""
    went_on_seconds: float | None = None  # when a step was told first since the job last began
    checkpoints: Checkpoints = Checkpoints()


def steps(
    job: Job, workload: Workload | None, members: Sequence[Pod], store: StoreReader, run: Run
) -> tuple[Step, ...]:
    """The stations in their order; those that cannot apply (a queue, a launcher) are left out. What has not
    come when the job has ended never will."""
    found = _stations(job, workload, members, store, run)
    if job.state not in JobState.ENDED:
        return found
    return tuple(step._replace(note=NEVER) if step.note == NOT_YET else step for step in found)


def _stations(
    job: Job, workload: Workload | None, members: Sequence[Pod], store: StoreReader, run: Run
) -> tuple[Step, ...]:
    first, times = run.first, run.times
    found = [Step("submitted", job.created_seconds)]
    if workload is not None:
        admitted = condition(workload.conditions, "Admitted")
        is_in = admitted is not None and admitted.status == "True"
        was_in = is_in and condition(workload.conditions, "Evicted") is not None  # kept as False from then on
        at_seconds = admitted.changed_seconds if admitted and is_in else None
        found.append(Step(AGAIN if was_in else ADMITTED, at_seconds, NOT_YET))
    later = _later_run(job, members, store)
    if later is not None:
        found.append(later)
    told = {pod.uid: _by_reason(store.events_of(pod.uid)) for pod in members}
    bound = [_bound(pod, told[pod.uid], times.get(pod.uid)) for pod in members]
    known = [at for at in bound if at is not None]
    if not any(pod.node for pod in members):
        is_waiting = len(found) > 1 and found[-1].at_seconds is None
        return tuple(found if is_waiting else (*found, Step("bound to a node", None, NOT_YET)))
    found.append(Step("first bound", min(known, default=None)))
    if len(members) > 1:
        is_whole = all(pod.node for pod in members)
        found.append(
            Step("all bound", max(known) if len(known) == len(members) else None, "" if is_whole else NOT_YET)
        )
    found += _image(members, told)
    started = [_started(pod, told[pod.uid], times.get(pod.uid)) for pod in members]
    is_all = bool(started) and None not in started
    note = NOT_YET if any(pod.phase == "Pending" for pod in members) else ""
    found.append(Step("containers", max(at for at in started if at is not None) if is_all else None, note))
    leader = next((pod for pod in members if pod.role in LEADERS), None)
    if leader is not None:
        note = NOT_YET if leader.phase == "Pending" else ""
        found.append(Step(leader.role, started[members.index(leader)], note))
    if first is not None:  # of a long run only the end of the log is kept on the node
        step = Step("first step" if first.is_first else "first step before", first.at_seconds)
        found.insert(_place(found, first.at_seconds), step)
    again, went_on = _begun_again(found), _went_on(found, run)
    if again is None and first is None:
        found.append(Step("first step", None, NOT_SEEN))
    elif again is not None and (first is None or went_on != first.at_seconds):
        found.append(Step("first step", went_on, NOT_YET))
    return tuple(found)


def _later_run(job: Job, members: Sequence[Pod], store: StoreReader) -> Step | None:
    """Where its pods are of a later run than its first: resumed by hand, or tried again.

    Of a job in a queue the suspensions are the queue's, and the workload tells them.
    """
    found: list[Step] = []
    object_ = _object(job, store)
    if object_ is not None and not job.workload_uid:
        mark = condition(object_.conditions, "Suspended")
        if mark is not None and mark.status == "False" and mark.changed_seconds is not None:
            found.append(Step(RESUMED, mark.changed_seconds))
    leader = next((pod for pod in members if pod.role in LEADERS), None)
    attempts = object_ if leader is None else store.get(Kind.JOB, leader.owner_uid)
    if isinstance(attempts, JobObject) and attempts.failed:
        made = [pod.created_seconds for pod in ([leader] if leader is not None else members)]
        known = [item for item in made if item is not None]
        if known:
            found.append(Step(TRIED_AGAIN, max(known)))
    return max(found, key=lambda one: one.at_seconds or 0.0, default=None)


def _object(job: Job, store: StoreReader) -> JobObject | None:
    """What the row stands for, where the job is of a kind that tells its conditions."""
    found = next((one for kind in (Kind.MPIJOB, Kind.JOB) if (one := store.get(kind, job.uid))), None)
    return found if isinstance(found, JobObject) else None


def _begun_again(found: Sequence[Step]) -> Step | None:
    """The station at which the run began that there is now; None while it is the first."""
    later = [item for item in found if item.name in _LATER and item.at_seconds is not None]
    return max(later, key=lambda one: one.at_seconds or 0.0, default=None)


def _went_on(found: Sequence[Step], run: Run) -> float | None:
    """The first step of a run that began again, as far as it was told."""
    again = _begun_again(found)
    first = run.first.at_seconds if run.first is not None else None
    if again is None or again.at_seconds is None:
        return None
    known = [item for item in (run.went_on_seconds, first) if item is not None and item >= again.at_seconds]
    return min(known, default=None)


def _place(found: Sequence[Step], at_seconds: float | None) -> int:
    """Where a step stands: behind the submit, before what came later; ranks may go ahead of others."""
    if at_seconds is None:
        return len(found)
    later = [n for n, one in enumerate(found) if one.at_seconds is not None and one.at_seconds > at_seconds]
    return max(1, later[0]) if later else len(found)


def _by_reason(events: Iterable[Event]) -> dict[str, Event]:
    """The earliest event of each reason."""
    found: dict[str, Event] = {}
    for event in events:
        held = found.get(event.reason)
        if held is None or (event.first_seconds or 0.0) < (held.first_seconds or 0.0):
            found[event.reason] = event
    return found


def _first(told: dict[str, Event], reason: str) -> float | None:
    return told[reason].first_seconds if reason in told else None


def _bound(pod: Pod, told: dict[str, Event], times: PodTimes | None) -> float | None:
    """As its condition tells, else the scheduler's event, else the moment at which the node took the pod."""
    if not pod.node:
        return None
    if times is not None and times.bound_seconds is not None:
        return times.bound_seconds
    return _first(told, "Scheduled") or pod.started_seconds


def _started(pod: Pod, told: dict[str, Event], times: PodTimes | None) -> float | None:
    """The first start of its containers: by its event, else by its status, where it was never restarted."""
    event = _first(told, "Started")
    if event is not None or times is None or times.restarts:
        return event
    return times.started_seconds


def _image(members: Sequence[Pod], told: dict[str, dict[str, Event]]) -> list[Step]:
    """When the last image was there, with the longest pull; empty if unknown."""
    ends = [(_first(told[pod.uid], "Pulled"), _first(told[pod.uid], "Pulling")) for pod in members]
    pulled = [end for end, _ in ends if end is not None]
    if not pulled:
        return []
    longest = max((end - begin for end, begin in ends if end is not None and begin is not None), default=None)
    note = "already on the node" if longest is None else f"{fmt.span(longest)} to pull"
    return [Step("image", max(pulled) if len(pulled) == len(members) else None, note)]


def words(found: Sequence[Step]) -> str:
    """`admitted +2s → first bound +5s → ...`: each from the submit on, `: ?` where it is not told."""
    begun = found[0].at_seconds
    parts = []
    for step in found[1:]:
        if step.at_seconds is None or begun is None:
            text = f"{step.name}: {step.note if step.note in (NOT_YET, NOT_SEEN, NEVER) else '?'}"
        else:
            text = f"{step.name} +{fmt.span(step.at_seconds - begun)}"
        is_told = step.note and step.at_seconds is not None and step.note not in (NOT_YET, NEVER)
        parts.append(f"{text} ({step.note})" if is_told else text)
    return " → ".join(parts)


def progress_words(now: Progress) -> str:
    """`epoch 31/90 · step 1,590/5,005 · 34% · loss 2.154 · 9,919 images/s`."""
    parts = []
    for name, at, end in (("epoch", now.epoch, now.epochs), ("step", now.step, now.steps)):
        if at is not None:
            parts.append(f"{name} {at:,}" + (f"/{end:,}" if end else ""))
    if now.fraction is not None:
        parts.append(fmt.percent(now.fraction))
    if now.is_loss_lost:
        before = "" if now.loss is None else f", before {now.loss:.4g}"
        parts.append(f"loss is no number (nan){before}")
    elif now.loss is not None:
        parts.append(f"loss {now.loss:.4g}")
    if now.rate is not None:
        parts.append(
            f"{now.rate:,.0f} {now.rate_unit}" if now.rate >= 100 else f"{now.rate:.3g} {now.rate_unit}"
        )
    return " · ".join(parts)


def reported_words(told: ReportedProgress, now_seconds: float) -> str:
    """`45% · 2h left · loss 0.2347 · 3m ago`: what the program told its controller, as of then."""
    parts = []
    if told.done_ratio is not None:
        parts.append(fmt.percent(told.done_ratio))
    if told.remaining_seconds is not None:
        parts.append(f"{fmt.span(told.remaining_seconds)} left")
    parts += [f"{name} {value:.6g}" for name, value in told.metrics[:MOST_NAMED]]
    if told.at_seconds is not None:
        parts.append(f"{fmt.span(max(0.0, now_seconds - told.at_seconds))} ago")
    return " · ".join(parts)


def eta_words(found: Eta, now_seconds: float) -> str:
    """`ends 15:10 to 15:25 UTC`."""
    begin, end = (fmt.moment(item, now_seconds) for item in found)
    return f"ends {begin} UTC" if begin == end else f"ends {begin} to {end} UTC"


def way_to_first_step(found: Sequence[Step], run: Run) -> StartTime | None:
    """The parts of the way, from its stations; None before the first step, or if it was not observed.

    Once a job was admitted again, resumed or tried again, or its pods made anew, its stations are those of a
    later run: of the first one only the whole time is known, and of a step of the later one it is not said at
    all.
    """
    at = {item.name: item.at_seconds for item in found}
    later = _begun_again(found)
    begun, again = at.get("submitted"), None if later is None else later.at_seconds
    if begun is None or run.first is None or not run.first.is_first or run.first.at_seconds is None:
        return None
    if again is not None and again <= run.first.at_seconds:
        return None
    bound = at.get("first bound")
    if again is not None or (bound is not None and bound > run.first.at_seconds):
        return start_of(begun, {PARTS[-1]: run.first.at_seconds})
    started = [at.get("containers"), *(at[name] for name in LEADERS if name in at)]
    ends = (
        at.get(ADMITTED),
        at.get("all bound", at.get("first bound")),
        at.get("image"),
        max((item for item in started if item is not None), default=None),
        run.joined_seconds,
        run.first.at_seconds,
    )
    return start_of(begun, dict(zip(PARTS, ends, strict=True)))


def _since_again(found: Sequence[Step], run: Run) -> str:
    """`12s after it was admitted again`: of the run that there is now; "" for a first run, or before its
    step."""
    again, went_on = _begun_again(found), _went_on(found, run)
    if again is None or again.at_seconds is None or went_on is None:
        return ""
    return f"{fmt.span(went_on - again.at_seconds)} after it was {again.name}"


def efficiency_words(run: RunRecord, known: Iterable[RunRecord]) -> str:
    """`efficiency 91% of resnet-1 (1 GPU)`: of an alike run on fewer GPUs; "" where none is known."""
    baseline = baseline_of(run, known)
    if baseline is None or not run.rate:
        return ""
    part = compared(baseline, run).efficiency
    seats = f"{baseline.seats} {baseline.seat}{'s' if baseline.seats != 1 else ''}"
    return f"efficiency {100 * part:.0f}% of {baseline.name} ({seats})"


def way_of(job: Job, members: Sequence[Pod], store: StoreReader, run: Run) -> StartTime | None:
    """The same of a job, from what is known of it now."""
    if not members:
        return None
    return way_to_first_step(steps(job, registry.workload_of(job, store), members, store, run), run)


def start_words(found: StartTime, past_seconds: Sequence[float]) -> str:
    """`52s (p50 61s of 12, 58% within 60s): queue 2s · schedule 8s · ...`."""
    named = " · ".join(f"{name} {fmt.span(seconds)}" for name, seconds in found.parts.items())
    parts = f": {named}" if len(found.parts) > 1 else ""
    goal = f"{GOAL_SECONDS:.0f}s"
    if not past_seconds:
        return f"{fmt.span(found.seconds)} (goal {goal}){parts}"
    among = beside(found.seconds, past_seconds)
    median = f"p50 {fmt.span(among.median_seconds)} of {among.starts}"
    return f"{fmt.span(found.seconds)} ({median}, {fmt.percent(among.goal_ratio)} within {goal}){parts}"


def end_words(members: Iterable[Pod]) -> str:
    """`137 OOMKilled: worker 3, worker 5 · 0: 6 members`; "" while no container has ended."""
    groups: dict[tuple[int, str], list[str]] = {}
    for pod in members:
        if pod.exit_code is None:
            continue
        reason = "" if pod.terminated_reason in ("Error", "Completed") else pod.terminated_reason
        groups.setdefault((pod.exit_code, reason), []).append(short_name(pod))
    parts = []
    for (code, reason), names in sorted(
        groups.items(), key=lambda one: (one[0][0] == 0, -len(one[1]), one[0])
    ):
        who = ", ".join(names) if len(names) <= MOST_NAMED else f"{len(names)} members"
        parts.append(f"{code} {reason}: {who}" if reason else f"{code}: {who}")
    return " · ".join(parts)


def chain(job: Job, members: Sequence[Pod], store: StoreReader) -> str:
    """Who owns whom, from the pods up: `3 pods → Job llm-launcher → MPIJob llm → Workflow nightly`."""
    parts: list[str] = []
    begin = next((pod for pod in members if pod.owner_uid and pod.owner_uid != job.uid), None)
    uid = begin.owner_uid if begin is not None else job.uid
    seen: set[str] = set()
    while uid and uid not in seen and len(parts) < DEEPEST:
        seen.add(uid)
        record = owner_record(store, uid)
        if record is None:
            break
        parts.append(f"{record.kind} {record.name}")
        if record.owner is None:
            break
        uid = record.owner.uid
        if owner_record(store, uid) is None:
            parts.append(f"{record.owner.kind} {record.owner.name}")
    if len(parts) < 2:
        return ""
    return " → ".join([f"{len(members)} pod{'s' if len(members) != 1 else ''}", *parts])


def facts(
    job: Job, members: Sequence[Pod], store: StoreReader, run: Run, now_seconds: float = 0.0
) -> list[Pair]:
    """The stations of the run in logs and events; unknown ones are left out."""
    pairs: list[Pair] = []
    if not run.progress.is_empty:
        parts = [progress_words(run.progress), run.efficiency]
        if run.eta is not None:
            parts.insert(1, eta_words(run.eta, now_seconds))
        tone: Tone = "bad" if run.progress.is_loss_lost else "good"
        pairs.append(Pair("progress", " · ".join(part for part in parts if part), tone))
        pairs += _checkpoint(job, run.progress, run.checkpoints)
    elif run.trouble:
        pairs.append(Pair("log", run.trouble, "dim"))
    if job.reported is not None:
        pairs.append(Pair("reported", reported_words(job.reported, now_seconds)))
    if ends := end_words(members):
        is_bad = any(pod.exit_code for pod in members)
        pairs.append(Pair("exit codes", ends, "bad" if is_bad else ""))
    if run.last_words:
        pairs.append(Pair("last output", f"{run.whose}: {run.last_words}", "bad"))
    if members:
        found = steps(job, registry.workload_of(job, store), members, store, run)
        start, later = way_to_first_step(found, run), _since_again(found, run)
        if start is not None or later:
            is_late = start is not None and start.seconds > GOAL_SECONDS
            first = "" if start is None else start_words(start, run.past_starts)
            said = " · ".join(item for item in (first, later) if item)
            pairs.append(Pair("first step", said, "warn" if is_late else ""))
        pairs.append(Pair("timeline", words(found)))
    if owners := chain(job, members, store):
        pairs.append(Pair("owned by", owners, "dim"))
    return pairs


def _checkpoint(job: Job, now: Progress, told: Checkpoints) -> list[Pair]:
    """From which step it goes on where it is stopped now, or was: nothing where the log tells of none."""
    if told.step is None and not told.refused:
        return []
    words = "none whole: it starts over" if told.step is None else f"step {told.step:,}"
    lost = 0 if told.step is None or now.step is None else now.step - told.step
    steps = f"{lost:,} step{'s' if lost != 1 else ''}"
    is_lost = lost > 0 and job.state in (JobState.SUSPENDED, JobState.FAILED)
    if is_lost:
        words += f" counts: {steps} after it {'are' if lost != 1 else 'is'} lost"
    elif lost > 0 and job.state not in JobState.ENDED:
        words += f", {steps} ago"
    if told.refused:
        words += f" · refused {told.refused}"
    return [Pair("checkpoint", words, "warn" if is_lost or told.refused else "")]


def merged(pairs: Sequence[Pair], more: Sequence[Pair]) -> tuple[Pair, ...]:
    """The page's pairs with those of the run: what it does now and how it ended stand before its nodes, its
    way behind its times but for how long it took."""
    late = [item for item in more if item.name in ("timeline", "owned by")]
    early = [item for item in more if item not in late]
    at = next((n for n, one in enumerate(pairs) if one.name in ("nodes", "placed", "time")), len(pairs))
    end = next((n + 1 for n, one in enumerate(pairs) if one.name == "time"), len(pairs))
    return (*pairs[:at], *early, *pairs[at:end], *late, *pairs[end:])
