"""The jobs table: one row a training job of any kind."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

from cockpit_widgets.types import Cell, Column

from cockpit.fit.placement import Placement, placement_of
from cockpit.model.finding import Finding
from cockpit.model.gpu import Gpu
from cockpit.model.gpu_share import GpuShare
from cockpit.model.job import Job, JobState
from cockpit.model.pod import Pod
from cockpit.model.quantity import Absent, Reading
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader
from cockpit.views import cards
from cockpit.views import format as fmt
from cockpit.views.lazy_table import Field, LazyTable, ListRows, Memory, View
from cockpit.views.order import Value
from cockpit.views.states import job_cell, job_urgency
from cockpit.views.view_state import Measure, ViewState

Explain = Callable[[Job, float], Finding]
"""Why a job waits or is broken, by the time now in epoch seconds."""


@dataclass(frozen=True)
class JobRow:
    """A job with the cards of its pods, looked up only when drawn or sorted by."""

    job: Job
    store: StoreReader
    explain: Callable[[Job], Finding] | None = None

    @property
    def verdict(self) -> Finding | None:
        """Why it waits or is broken; None if it was not computed."""
        return None if self.explain is None else self.explain(self.job)

    @property
    def why(self) -> str:
        """The sentence of its verdict; where nothing holds it how far it is, "" where that is not counted."""
        found = self.verdict
        return done_words(self.job) if found is None or not found.sentence else found.sentence

    @cached_property
    def gpus(self) -> tuple[Gpu, ...]:
        """Cards that telemetry gives to the job's pods."""
        found: list[Gpu] = []
        for uid in self.job.pod_uids:
            pod: Pod | None = self.store.get(Kind.POD, uid)
            if pod is not None and pod.gpus:
                found.extend(self.store.gpus_of_pod(pod.namespace, pod.name))
        return tuple(found)

    @cached_property
    def duty(self) -> Reading:
        """Mean over the job's cards."""
        return cards.fold(self.gpus, cards.duty, cards.mean)

    @cached_property
    def duty_least(self) -> Reading:
        return cards.fold(self.gpus, cards.duty, min)

    @cached_property
    def memory_used(self) -> Reading:
        """Sum over the job's cards, in bytes."""
        return cards.fold(self.gpus, cards.memory_used, sum)

    @cached_property
    def placement(self) -> Placement:
        """Where its members lie; nothing for a job that holds no GPU."""
        return placement_of(self.store, self.job.nodes if self.job.gpus_allocated else ())

    @property
    def has_cards(self) -> bool:
        """False for a job that holds no GPU: its telemetry columns do not apply."""
        return bool(self.job.gpus_allocated or self.gpus)


def _reading(value: Reading) -> Value:
    return None if isinstance(value, Absent) else value


def known_gpus(job: Job) -> int | None:
    """GPUs that it holds; None where claims of its pods are not known."""
    return None if job.has_unknown_gpus else job.gpus_allocated


def done_words(job: Job) -> str:
    """`2 of 3 left, 1 done` of a job of which a part has ended well, "" of any other."""
    if not job.done or not job.left or job.state in JobState.ENDED:
        return ""
    return f"{job.left} of {job.left + job.done} left, {job.done} done"


def share_words(share: GpuShare) -> str:
    """`0.5` of a GPU, `2000Mi` of the memory of one."""
    parts = [f"{share.fraction:g}"] if share.fraction is not None else []
    if share.memory_bytes is not None:
        parts.append(f"{share.memory_bytes >> 20}Mi")
    return "+".join(parts)


def _name(row: JobRow, now_seconds: float) -> Cell:
    return Cell(f"{row.job.namespace}/{row.job.name}", "strong")


def _gpus(row: JobRow, now_seconds: float) -> Cell:
    job = row.job
    if job.gpu_share is not None and not job.gpus_wanted:
        return Cell(share_words(job.gpu_share), "dim" if job.state in JobState.ENDED else "")
    if job.gpus_wanted == 0 and not job.gpus_allocated and not job.has_unknown_gpus:
        return Cell("none", "dim")
    return Cell(fmt.of(known_gpus(job), job.gpus_wanted), "dim" if job.state in JobState.ENDED else "")


def _ready(row: JobRow, now_seconds: float) -> Cell:
    # none of a job that has ended is ready, and none should be
    return Cell(fmt.of(row.job.ready, row.job.wanted), "dim" if row.job.state in JobState.ENDED else "")


def _duty(row: JobRow, now_seconds: float) -> Cell:
    return fmt.duty_cell(row.duty) if row.has_cards else fmt.NOTHING


def _duty_least(row: JobRow, now_seconds: float) -> Cell:
    return fmt.duty_cell(row.duty_least) if row.has_cards else fmt.NOTHING


def _memory(row: JobRow, now_seconds: float) -> Cell:
    return fmt.memory_cell(row.memory_used) if row.has_cards else fmt.NOTHING


def _placement(row: JobRow, now_seconds: float) -> Cell:
    placement = row.placement
    return Cell(placement.words, "warn" if placement.is_mixed or placement.is_spread else "dim")


def team_words(job: Job) -> str:
    """The team that a label tells, else the namespace: teams have one each."""
    return job.team or job.namespace


def _team(row: JobRow, now_seconds: float) -> Cell:
    return Cell(team_words(row.job), "" if row.job.team else "dim")


def _position(row: JobRow, now_seconds: float) -> Cell:
    """`#3` where the engine told the place, `~3` where it was estimated."""
    if row.job.position is None:
        return fmt.NOTHING
    if row.job.is_position_estimate:
        return Cell(f"~{row.job.position}", "dim")
    return Cell(f"#{row.job.position}")


def _age(row: JobRow, now_seconds: float) -> Value:
    return None if row.job.created_seconds is None else now_seconds - row.job.created_seconds


def _runs(row: JobRow, now_seconds: float) -> Cell:
    job = row.job
    if job.started_seconds is None or job.state in JobState.WAITING:
        return fmt.NOTHING
    end = now_seconds if job.finished_seconds is None else job.finished_seconds
    return Cell(fmt.age(end - job.started_seconds))


def _ran_seconds(row: JobRow, now_seconds: float) -> Value:
    job = row.job
    if job.started_seconds is None or job.state in JobState.WAITING:
        return None
    return (now_seconds if job.finished_seconds is None else job.finished_seconds) - job.started_seconds


def _order(row: JobRow, now_seconds: float) -> Value:
    # state first; within a state the youngest first (ages stay far below 1e12 s)
    age_seconds = 1e11 if row.job.created_seconds is None else now_seconds - row.job.created_seconds
    return job_urgency(row.job.state) * 1e12 + age_seconds


_FIELDS: tuple[Field[JobRow], ...] = (
    Field(
        Column("name", "Job", 22, grow=2, most=40, keeps_end=True),
        _name,
        lambda r, _: f"{r.job.namespace}/{r.job.name}",
    ),
    Field(Column("kind", "Kind", 10, priority=5), lambda r, _: Cell(r.job.kind), lambda r, _: r.job.kind),
    Field(
        Column("engine", "Engine", 8, priority=6),
        lambda r, _: Cell(r.job.engine, "dim"),
        lambda r, _: r.job.engine,
    ),
    Field(Column("state", "State", 11), lambda r, _: job_cell(r.job.state), lambda r, _: r.job.state),
    Field(Column("ready", "Ready", 7, "right", priority=3), _ready, lambda r, _: r.job.ready, Measure.COUNT),
    Field(Column("gpus", "GPUs", 7, "right"), _gpus, lambda r, _: known_gpus(r.job), Measure.COUNT),
    Field(
        Column("duty", "Duty", 6, "right", priority=2), _duty, lambda r, _: _reading(r.duty), Measure.RATIO
    ),
    Field(
        Column("min", "Min", 6, "right", priority=4),
        _duty_least,
        lambda r, _: _reading(r.duty_least),
        Measure.RATIO,
    ),
    Field(
        Column("memory", "Memory", 7, "right", priority=4),
        _memory,
        lambda r, _: _reading(r.memory_used),
        Measure.BYTES,
    ),
    Field(
        Column("queue", "Queue", 10, priority=4),
        lambda r, _: Cell(r.job.queue),
        lambda r, _: r.job.queue,
    ),
    Field(
        Column("position", "Pos", 4, "right", priority=4),
        _position,
        lambda r, _: r.job.position,
        Measure.COUNT,
    ),
    Field(
        Column("age", "Age", 5, "right", priority=2),
        lambda r, now: fmt.age_cell(r.job.created_seconds, now),
        _age,
        Measure.SECONDS,
    ),
    Field(Column("runs", "Runs", 5, "right", priority=7), _runs, _ran_seconds, Measure.SECONDS),
    Field(
        Column("placement", "Placed", 9, priority=7),
        _placement,
        lambda r, _: r.placement.cost if r.placement.nodes else None,
        Measure.COUNT,
    ),
    Field(Column("team", "Team", 10, priority=8), _team, lambda r, _: team_words(r.job)),
    Field(Column("owner", "Owner", 10, priority=6), lambda r, _: Cell(r.job.owner), lambda r, _: r.job.owner),
    Field(
        Column("why", "Why", 32, grow=10, wish=80, folds=True), lambda r, _: Cell(r.why), lambda r, _: r.why
    ),
)

_HIDDEN: tuple[Field[JobRow], ...] = (
    Field(
        Column("namespace", "Namespace", 12),
        lambda r, _: Cell(r.job.namespace),
        lambda r, _: r.job.namespace,
    ),
    Field(
        Column("wanted", "Wanted", 7),
        lambda r, _: fmt.count_cell(r.job.gpus_wanted),
        lambda r, _: r.job.gpus_wanted,
        Measure.COUNT,
    ),
    Field(
        Column("node", "Node", 12),
        lambda r, _: Cell(",".join(r.job.nodes)),
        lambda r, _: ",".join(r.job.nodes),
    ),
)


def _haystack(row: JobRow) -> str:
    job = row.job
    return " ".join(
        (
            f"{job.namespace}/{job.name}",
            job.kind,
            job.engine,
            job.state,
            job.queue,
            job.owner,
            job.team,
            row.why,
            *job.nodes,
        )
    )


VIEW: View[JobRow] = View(
    fields=_FIELDS,
    hidden=_HIDDEN,
    key=lambda row: row.job.key,
    name=lambda row: f"{row.job.namespace}/{row.job.name}",
    namespace=lambda row: row.job.namespace,
    order=_order,
    haystack=_haystack,
    token=lambda row: (row.job, row.verdict),
)


def table(
    jobs: Iterable[Job],
    store: StoreReader,
    state: ViewState,
    now_seconds: float,
    memory: Memory | None = None,
    *,
    explain: Explain,
) -> LazyTable[JobRow]:
    """Jobs as rows keyed by `Job.key`: what may need a person first, what has ended last."""
    return listed(jobs, store, now_seconds, explain=explain).table(state, now_seconds, memory)


def listed(
    jobs: Iterable[Job], store: StoreReader, now_seconds: float, *, explain: Explain
) -> ListRows[JobRow]:
    """The same before filter and order."""

    def of(job: Job) -> Finding:
        return explain(job, now_seconds)

    return ListRows(VIEW, (JobRow(job, store, of) for job in jobs))
