"""Which jobs are asked about, what their lines are put together to, and what *Now*, rows and *Why* say."""

import asyncio
from typing import Any

import msgspec
import pytest

from cockpit.actions.idle_reads import IdleReads, read_idle, read_idle_once
from cockpit.model.finding import Finding, Subject
from cockpit.model.gpu import Mark
from cockpit.model.job import Job, JobState, ReclaimMark
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.model.trace import CardTrace, PodLines, PodTrace
from cockpit.telemetry.faults import TelemetryError
from cockpit.triage.attention import needs_human
from cockpit.triage.engine import explain
from cockpit.triage.idle_jobs import (
    MOST_JOBS,
    MOST_PODS,
    IdleJobs,
    bounded,
    mark_words,
    quiet,
    trace_of,
    unmark_words,
    why_not_idle,
)
from cockpit.triage.idleness import IdleStanding, Judged, judge
from cockpit.triage.verdicts import Verdicts
from cockpit.views.job_page import facts
from cockpit.views.why import lines
from tests.unit.jobs.builders import Cluster, gang, mpijob, up
from tests.unit.triage.test_attention import card, cards

NOW = 100_000.0
POINTS = 181
WORKER = "llm-worker-0"


class Desk:
    """One job with two GPUs whose cards do nothing, the verdicts about it, and who remembers its pods."""

    def __init__(self, *, idle_minutes: int = 60, started_minutes: int = 300, seen_minutes: int = 5) -> None:
        self.cluster = Cluster()
        started = NOW - started_minutes * 60
        job = mpijob(workers=1, gpus=2)
        launcher, pods = gang(job, **up(node="gpu-7"))
        pods = tuple(msgspec.structs.replace(one, started_seconds=started) for one in pods)
        self.cluster.put(job, launcher, *pods)
        self.verdicts = Verdicts(self.cluster.store, self.cluster.index)
        self.idle_minutes = idle_minutes
        self.fault: TelemetryError | None = None
        self.has_memory = True
        self.without: tuple[str, ...] = ()
        self.asked: list[tuple[str, ...]] = []
        self.sample(NOW - seen_minutes * 60)
        self.sample(NOW)

    def sample(self, at: float, duty: float = 0.0) -> None:
        told: Any = {"pod_namespace": "team-a", "pod_name": WORKER, "mark": Mark.SURE, "sampled_seconds": at}
        cards(
            self.cluster, *(card(index, duty_ratio=duty, memory_used_bytes=2e10, **told) for index in (0, 1))
        )

    def line(self, busy: float, calm: float = 0.0) -> tuple[float, ...]:
        return tuple(busy if at < POINTS - self.idle_minutes else calm for at in range(POINTS))

    async def lines(self, pods: Any) -> PodLines | None:
        self.asked.append(tuple(sorted(one.name for one in pods)))
        if self.fault is not None:
            raise self.fault
        if not self.has_memory:
            return None
        calm = tuple(0.0 for _ in range(POINTS))
        return PodLines(
            end_seconds=NOW,
            step_seconds=60.0,
            cards={
                one.uid: tuple(
                    CardTrace(uuid=f"g{at}", duty=self.line(0.9), memory_bytes=tuple(2e10 for _ in calm))
                    for at in (0, 1)
                )
                for one in pods
                if one.gpus
            },
            pods={
                one.uid: PodTrace(
                    uid=one.uid,
                    cpu_cores=self.line(2.0, 0.01),
                    receive=calm,
                    transmit=calm,
                    disk_read=calm if "disk" not in self.without else (),
                    disk_write=calm if "disk" not in self.without else (),
                )
                for one in pods
            },
        )

    async def read(self, now: float = NOW) -> bool:
        session: Any = None
        reads = IdleReads(self.cluster.store, session, self.lines)
        return await read_idle(self.verdicts.on_demand.idle, self.cluster.index.jobs, reads, now)

    def found(self, now: float = NOW) -> tuple[Finding, ...]:
        return needs_human(self.cluster.store, self.cluster.index, now, verdicts=self.verdicts)

    def said(self) -> str:
        (job,) = self.cluster.index.jobs.values()
        return self.verdicts.of(job, NOW).sentence

    def mark(self, minutes: float, by: str = "ada@bastion") -> Job:
        """It is marked, and due in so many minutes."""
        (one,) = self.cluster.store.records(Kind.MPIJOB).values()
        mark = ReclaimMark(NOW + minutes * 60, by)
        self.cluster.put(msgspec.structs.replace(one, reclaim=mark, resource_version="9"))
        (job,) = self.cluster.index.jobs.values()
        assert job.reclaim == mark
        return job


async def test_a_job_that_is_idle_is_told_with_what_it_does_not_do() -> None:
    desk = Desk(idle_minutes=60)
    assert desk.found() == () and desk.said() == ""
    assert await desk.read()
    (one,) = desk.found()
    assert one.finding == "job-idle" and not one.is_bad
    assert one.sentence == "2 GPUs at 0% duty, no CPU, network or disk for 60 min, 37 GiB of memory kept"
    assert one.since_seconds == NOW - 3_600
    assert desk.said() == "", "a verdict stands for a few seconds"
    later = desk.verdicts.of(next(iter(desk.cluster.index.jobs.values())), NOW + 6)
    assert later.sentence == "idle: 2 GPUs at 0% duty, no CPU, network or disk for 60 min"
    assert not later.is_trouble


@pytest.mark.parametrize("idle, started", [(20, 300), (60, 100)], ids=["works", "starts"])
async def test_a_job_that_worked_lately_or_starts_is_not_told(idle: int, started: int) -> None:
    desk = Desk(idle_minutes=idle, started_minutes=started, seen_minutes=40)
    if started == 100:  # it has never run a kernel
        desk.idle_minutes = POINTS
    await desk.read()
    assert desk.found() == () and desk.said() == ""


async def test_what_is_not_collected_is_not_called_idle() -> None:
    desk = Desk(seen_minutes=40)
    desk.without = ("disk",)
    await desk.read()
    (one,) = desk.found()
    assert one.sentence == "2 GPUs allocated, duty 0%, 37 GiB of memory kept; disk not collected"
    assert desk.said() == ""


async def test_without_anybody_who_remembers_only_what_was_measured_is_told() -> None:
    desk = Desk(seen_minutes=40)
    desk.has_memory = False
    await desk.read()
    (one,) = desk.found()
    assert one.sentence == (
        "2 GPUs allocated, duty 0%, 37 GiB of memory kept; CPU, network, disk not collected"
    )


async def test_a_job_that_works_again_is_told_no_more_before_anybody_asks() -> None:
    desk = Desk()
    await desk.read()
    assert desk.found() != ()
    desk.sample(NOW + 5, 0.4)
    assert desk.found(NOW + 5) == ()


async def test_only_what_looks_idle_is_asked_for_and_not_at_every_look() -> None:
    desk = Desk()
    await desk.read()
    await desk.read(NOW + 5)
    await desk.read(NOW + 40)
    assert len(desk.asked) == 1
    await desk.read(NOW + 340)
    assert len(desk.asked) == 2
    desk.sample(NOW + 700, 0.8)
    await desk.read(NOW + 720)
    assert len(desk.asked) == 2


async def test_an_answer_that_does_not_come_says_nothing_and_is_asked_for_again() -> None:
    desk = Desk()
    desk.fault = TelemetryError("Prometheus at test: too many samples")
    await desk.read()
    assert desk.found() == ()
    desk.fault = None
    await desk.read(NOW + 301)
    assert [one.finding for one in desk.found(NOW + 301)] == ["job-idle"]


async def test_an_old_judgement_and_one_of_other_pods_say_nothing() -> None:
    desk = Desk()
    await desk.read()
    (job,) = desk.cluster.index.jobs.values()
    known = desk.verdicts.on_demand.idle
    assert known.of(job, NOW + 800) is not None
    assert known.of(job, NOW + 1_000) is None
    assert known.of(msgspec.structs.replace(job, pod_uids=("another",)), NOW) is None


def test_at_most_so_many_jobs_are_asked_for_at_a_time_the_largest_first() -> None:
    desk = Desk()
    (job,) = desk.cluster.index.jobs.values()
    many = [msgspec.structs.replace(job, key=f"k{at:02}") for at in range(30)]
    known = desk.verdicts.on_demand.idle
    due = known.due(many, desk.cluster.store, NOW)
    assert len(due) == 30 and len(bounded(due)) == MOST_JOBS
    crowd = [msgspec.structs.replace(job, pod_uids=tuple(map(str, range(MOST_PODS))))] * 2
    assert len(bounded(crowd)) == 1, "the largest has its turn alone"
    assert quiet(job, desk.cluster.store) is not None


def test_those_that_were_never_judged_come_before_those_that_were() -> None:
    desk = Desk()
    (job,) = desk.cluster.index.jobs.values()
    many = [msgspec.structs.replace(job, key=f"k{at:02}") for at in range(30)]
    known, asked = desk.verdicts.on_demand.idle, set[str]()
    for turn in range(4):
        for one in bounded(known.due(many, desk.cluster.store, NOW + 400 * turn)):
            known.take(one, None, NOW + 400 * turn)
            asked.add(one.key)
    assert len(asked) == 30, "each has its turn, also where the first are due again"


async def test_a_command_has_all_judged_at_once_and_stops_where_answers_are_late(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    desk = Desk()
    (job,) = desk.cluster.index.jobs.values()
    many = {f"k{at:02}": msgspec.structs.replace(job, key=f"k{at:02}") for at in range(30)}
    session: Any = None
    reads = IdleReads(desk.cluster.store, session, desk.lines)
    known = desk.verdicts.on_demand.idle
    await read_idle_once(known, many, reads, NOW)
    assert all(known.of(one, NOW) for one in many.values())

    async def never(_pods: Any) -> PodLines | None:
        await asyncio.Event().wait()
        return None

    monkeypatch.setattr("cockpit.actions.idle_reads.ONCE_SECONDS", 0.01)
    late = IdleJobs()
    await read_idle_once(late, many, reads._replace(lines=never), NOW)
    assert late.of(many["k00"], NOW) is None


async def test_a_trace_is_whole_only_with_every_card_and_pod_and_as_young_as_the_youngest() -> None:
    desk = Desk()
    (job,) = desk.cluster.index.jobs.values()
    pods = desk.cluster.index.members(job.key)
    lines = await desk.lines(pods)
    assert lines is not None
    worker: Pod = next(one for one in pods if one.name == WORKER)
    made = trace_of(job, pods, lines, {worker.uid: NOW - 60.0})
    assert made.is_whole and made.started_seconds == NOW - 60.0
    assert judge(made, 1_800.0).standing is IdleStanding.UNKNOWN, "it has not lasted long enough since"
    assert not trace_of(job, pods, msgspec.structs.replace(lines, cards={}), {}).is_whole
    assert not trace_of(job, pods, msgspec.structs.replace(lines, pods={}), {}).is_whole
    assert trace_of(job, pods, lines, {worker.uid: None}).started_seconds is None


def test_why_a_job_is_not_idle_is_a_sentence() -> None:
    assert "not collected" in why_not_idle(None, NOW)
    assert why_not_idle(Judged(standing=IdleStanding.UNKNOWN, missing=("disk", "CPU")), NOW) == (
        "whether it is idle is not known: disk and CPU not collected"
    )
    assert why_not_idle(Judged(standing=IdleStanding.STARTING, coming=2), NOW) == (
        "it is not idle: it is starting, 2 members to come"
    )


IDLE_FOR_AN_HOUR = "2 GPUs at 0% duty, no CPU, network or disk for 60 min"


@pytest.mark.parametrize(
    ("minutes", "by", "said"),
    [
        (12, "ada@bastion", "to be reclaimed in 12 min (marked by ada@bastion)"),
        (11.2, "", "to be reclaimed in 12 min (marked)"),
        (0, "ada@bastion", "reclaim due: R suspends it (marked by ada@bastion)"),
    ],
)
async def test_a_marked_job_tells_when_and_by_whom_before_that_it_is_idle(
    minutes: float, by: str, said: str
) -> None:
    desk = Desk()
    desk.mark(minutes, by)
    await desk.read()
    (one,) = desk.found()
    assert one.sentence.startswith(f"{said}; 2 GPUs at 0% duty")
    assert [remedy.key for remedy in one.remedies] == ["R"]
    assert desk.said() == f"{said}; idle: {IDLE_FOR_AN_HOUR}"


async def test_a_marked_job_that_is_not_seen_idle_is_not_promised_to_end() -> None:
    desk = Desk()
    desk.mark(12)
    desk.sample(NOW, 0.9)
    assert desk.found() == ()
    assert desk.said() == "to be reclaimed in 12 min (marked by ada@bastion), if idle then"
    due = Desk()
    due.mark(-1)
    due.sample(NOW, 0.9)
    assert due.said() == "reclaim due (marked by ada@bastion): R looks again first"


async def test_of_what_cannot_be_suspended_the_mark_says_that_it_is_deleted() -> None:
    desk = Desk()
    job = msgspec.structs.replace(desk.mark(-1), kind="Notebook", api_version="kubeflow.org/v1")
    said = mark_words(job, desk.cluster.store, NOW, is_idle=True)
    assert said == "reclaim due: R deletes it, by name (marked by ada@bastion)"


async def test_the_pages_of_a_marked_job_tell_the_way_back() -> None:
    desk = Desk()
    job, store = desk.mark(12), desk.cluster.store
    line = "to take the mark away: cockpit job reclaim mpijob/team-a/llm --off --write"
    assert ("reclaim", line) in [pair[:2] for pair in facts(job, store, NOW)]
    await desk.read()
    view = desk.verdicts.view(NOW)
    told = lines(explain(Subject("job", "team-a", "llm"), view), view)
    assert told[1].startswith("to be reclaimed in 12 min (marked by ada@bastion); idle: 2 GPUs")
    assert f"T{line[1:]}" in told
    stopped = msgspec.structs.replace(job, state=JobState.SUSPENDED)
    assert unmark_words(stopped).startswith(
        "still marked by ada@bastion; to take the mark away: R, or cockpit"
    )
    assert unmark_words(msgspec.structs.replace(job, reclaim=None)) == ""
