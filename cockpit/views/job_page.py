"""The page of one job: its facts as pairs, its members as a table by rank, its events."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from cockpit_widgets.glyphs import spark
from cockpit_widgets.types import Cell, Column, Pair, Tone

from cockpit.fit.placement import placement_of
from cockpit.gangs.sentence import counted
from cockpit.jobs.owner_chain import SCHEDULES, owner_record
from cockpit.jobs.schedule import runs_of, runs_words
from cockpit.model.event import Event
from cockpit.model.gpu import Gpu, Mark
from cockpit.model.job import Job, JobState
from cockpit.model.pod import Pod
from cockpit.model.quantity import Absent, Reading
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader
from cockpit.triage.idle_jobs import unmark_words
from cockpit.views import cards, doubts, rdma, training_panel, worker_use
from cockpit.views import format as fmt
from cockpit.views.claims import claims_trouble
from cockpit.views.jobs import JobRow, done_words, known_gpus, share_words
from cockpit.views.lazy_table import Field, LazyTable, Memory, View
from cockpit.views.order import Value
from cockpit.views.pods import gpus_cell, gpus_count, rank_text
from cockpit.views.states import job_cell, pod_cell, pod_words, telemetry_trouble
from cockpit.views.training_panel import Compute
from cockpit.views.view_state import Measure, ViewState

MOST_NODES = 6
_PAST_CELLS = 30
"""Two minutes each."""


@dataclass(frozen=True)
class MemberRow:
    """A pod of the job with its cards."""

    pod: Pod
    store: StoreReader
    compute: Compute | None = None
    """What its slowest rank spends on its own in a step, where the log tells."""

    @cached_property
    def gpus(self) -> tuple[Gpu, ...]:
        return self.store.gpus_of_pod(self.pod.namespace, self.pod.name) if self.pod.asks_for_gpus else ()

    @cached_property
    def duty(self) -> Reading:
        return cards.fold(self.gpus, cards.duty, cards.mean)

    @cached_property
    def memory_used(self) -> Reading:
        return cards.fold(self.gpus, cards.memory_used, sum)

    @cached_property
    def memory_total(self) -> Reading:
        return cards.fold(self.gpus, cards.memory_total, sum)

    @cached_property
    def hottest(self) -> Reading:
        return cards.fold(self.gpus, cards.temperature, max)

    @cached_property
    def power(self) -> Reading:
        return cards.power_sum(self.gpus)

    @property
    def devices(self) -> str:
        """Indices of its cards, `0-3,6`; a trailing `?` where telemetry only guesses."""
        if not self.gpus:
            return ""
        return ranges(sorted({card.index for card in self.gpus})) + "?" * self.is_guessed

    @property
    def is_guessed(self) -> bool:
        """Telemetry does not know for sure that all of these cards are its."""
        return any(card.mark is not Mark.SURE for card in self.gpus)


def ranges(numbers: Sequence[int]) -> str:
    """Ascending whole numbers as a person writes them: `0-3,6`."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ",".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def _reading(value: Reading) -> Value:
    return None if isinstance(value, Absent) else value


def _allocated(row: MemberRow, cell: Cell) -> Cell:
    """Readings apply to members that hold GPUs now."""
    return cell if row.pod.gpus_allocated else fmt.NOTHING


def _devices(row: MemberRow, now_seconds: float) -> Cell:
    if not row.pod.gpus_allocated:
        return fmt.NOTHING
    if not row.devices:
        return fmt.absent_cell(Absent.NOT_COLLECTED)
    return Cell(row.devices, "warn" if row.is_guessed else "")


def _bars(row: MemberRow, now_seconds: float) -> Cell:
    """Duty of each device, a glyph each: the row of the rank in the grid."""
    if not row.pod.gpus_allocated:
        return fmt.NOTHING
    return Cell("".join(fmt.bar(card.duty_ratio) for card in row.gpus) or fmt.NOT_COLLECTED, "dim")


_FIELDS: tuple[Field[MemberRow], ...] = (
    Field(
        Column("rank", "Rank", 10),
        lambda r, _: Cell(rank_text(r.pod) or "member", "strong"),
        lambda r, _: rank_text(r.pod),
    ),
    Field(
        Column("pod", "Pod", 16, priority=2, grow=4, most=60, wish=28, keeps_end=True, folds=True),
        lambda r, _: Cell(r.pod.name),
        lambda r, _: r.pod.name,
    ),
    Field(
        Column("node", "Node", 14, grow=2, most=40),
        lambda r, _: Cell(r.pod.node),
        lambda r, _: r.pod.node,
    ),
    Field(
        Column("phase", "Phase", 20),
        lambda r, _: pod_cell(r.pod),
        lambda r, _: pod_words(r.pod)[0],
    ),
    Field(
        Column("gpus", "GPUs", 4, "right", priority=3),
        lambda r, _: gpus_cell(r.pod),
        lambda r, _: gpus_count(r.pod),
        Measure.COUNT,
    ),
    Field(Column("devices", "Devices", 8, grow=1, most=16), _devices, lambda r, _: r.devices),
    Field(Column("bars", "By GPU", 8, priority=3), _bars, lambda r, _: _reading(r.duty), Measure.RATIO),
    Field(
        Column("duty", "Duty", 6, "right"),
        lambda r, _: _allocated(r, fmt.duty_cell(r.duty)),
        lambda r, _: _reading(r.duty),
        Measure.RATIO,
    ),
    Field(
        Column("memory", "Memory", 12, "right", priority=2),
        lambda r, _: _allocated(r, fmt.memory_cell(r.memory_used, r.memory_total)),
        lambda r, _: _reading(r.memory_used),
        Measure.BYTES,
    ),
    Field(
        Column("temperature", "Temp", 6, "right", priority=2),
        lambda r, _: _allocated(r, fmt.temperature_cell(r.hottest)),
        lambda r, _: _reading(r.hottest),
        Measure.COUNT,
    ),
    Field(
        Column("power", "Power", 7, "right", priority=3),
        lambda r, _: _allocated(r, fmt.power_cell(r.power)),
        lambda r, _: _reading(r.power),
        Measure.COUNT,
    ),
    Field(
        Column("compute", "Compute", 11, "right", priority=2),
        lambda r, _: training_panel.compute_cell(r.compute),
        lambda r, _: None if r.compute is None else r.compute.seconds,
        Measure.SECONDS,
    ),
    Field(
        Column("cpu", "CPU", 8, "right", priority=4),
        lambda r, _: _allocated(r, worker_use.cpu_cell(r.pod, worker_use.use_of(r.pod, r.store))),
        lambda r, _: _reading(worker_use.use_of(r.pod, r.store).cpu_cores),
        Measure.COUNT,
    ),
    Field(
        Column("rdma", "RDMA", 6, priority=5, grow=1, most=28),
        lambda r, _: rdma.cell(r.pod),
        lambda r, _: rdma.count(r.pod) or None,
        Measure.COUNT,
    ),
    Field(
        Column("restarts", "Rst", 3, "right", priority=4),
        lambda r, _: Cell(str(r.pod.restarts), "warn" if r.pod.restarts else "dim"),
        lambda r, _: r.pod.restarts,
        Measure.COUNT,
    ),
    Field(
        Column("age", "Age", 5, "right", priority=4),
        lambda r, now: fmt.age_cell(r.pod.created_seconds, now),
        lambda r, now: None if r.pod.created_seconds is None else now - r.pod.created_seconds,
        Measure.SECONDS,
    ),
)

VIEW: View[MemberRow] = View(
    fields=_FIELDS,
    key=lambda row: row.pod.uid,
    haystack=lambda r: f"{rank_text(r.pod)} {r.pod.name} {r.pod.node} {pod_words(r.pod)[0]}",
    token=lambda row: (row.pod, row.compute),
)


_PLAIN: View[MemberRow] = replace(
    VIEW, fields=tuple(field for field in _FIELDS if field.column.id != "compute")
)
"""Without what only the log of a training tells."""


def members_table(
    members: Iterable[Pod],
    store: StoreReader,
    state: ViewState,
    now_seconds: float,
    memory: Memory | None = None,
    *,
    computes: Mapping[str, Compute] | None = None,
) -> LazyTable[MemberRow]:
    """Members keyed by pod uid in the order given (launcher first, then by rank); `computes` by pod uid."""
    told = computes or {}
    rows = (MemberRow(pod, store, told.get(pod.uid)) for pod in members)
    return (VIEW if told else _PLAIN).table(rows, state, now_seconds, memory)


def events_of(job: Job, members: Iterable[Pod], store: StoreReader) -> list[Event]:
    """Events of the job, of its Workload and of its members, each once."""
    uids = dict.fromkeys((job.uid, job.workload_uid, *(pod.uid for pod in members)))
    found = {event.uid: event for uid in uids if uid for event in store.events_of(uid)}
    return list(found.values())


def gone(key: str) -> tuple[Pair, ...]:
    """What stands there when the job is not there any more. `key` is kind.group/namespace/name."""
    name = key.split("/", 1)[-1]
    return (Pair("job", name, "strong"), Pair("state", "gone: the job or its last pod was deleted", "warn"))


def facts(
    job: Job,
    store: StoreReader,
    now_seconds: float,
    members: Iterable[Pod] = (),
    past: Sequence[float | None] = (),
    *,
    why: str = "",
) -> tuple[Pair, ...]:
    """Names and values: what the job is, where it stands and why, what its GPUs and workers do together.

    `past` is its mean duty over the last hour, the oldest first, `why` the sentence of its verdict.
    """
    state = job_cell(job.state)
    pairs = [
        Pair("job", f"{job.namespace}/{job.name}", "strong"),
        Pair("kind", f"{job.kind} ({job.api_version})"),
        Pair("state", state.text, state.tone),
    ]
    if why:
        pairs.append(Pair("why", why, "warn" if job.state in JobState.WAITING else state.tone))
    if unmark := unmark_words(job):
        pairs.append(Pair("reclaim", unmark, "warn"))
    if job.queue:
        about = "about " if job.is_position_estimate else ""
        place = "" if job.position is None else f", {about}position {job.position}"
        pairs.append(Pair("queue", f"{job.queue}{place}" + (f" ({job.engine})" if job.engine else "")))
    if job.kind in SCHEDULES:
        pairs.append(Pair("runs", runs_words(runs_of(job, store))))
    record = owner_record(store, job.uid)
    if record is not None and record.owner is not None and record.owner.kind in SCHEDULES:
        pairs.append(Pair("run of", f"{record.owner.kind} {record.owner.name}"))
    counts = (f"{fmt.of(job.ready, job.wanted)} ready", done_words(job))
    pairs.append(Pair("members", ", ".join(filter(None, counts))))
    pairs.append(Pair("GPUs", f"{fmt.of(known_gpus(job), job.gpus_wanted)} allocated"))
    if job.gpu_share is not None:
        pairs.append(Pair("share", f"{share_words(job.gpu_share)} of a GPU requested by annotation"))
    if job.has_unknown_gpus:
        pairs.append(Pair("claims", claims_trouble(store), "warn"))
    pairs += _readings(job, store)
    if job.gpus_allocated and any(item is not None for item in past):
        pairs.append(Pair("last hour", f"duty {spark(past, _PAST_CELLS, 0.0, 1.0)}"))
    if (workers := worker_use.fact(members, store)) is not None:
        pairs.append(workers)
    if job.nodes:
        more = f" and {len(job.nodes) - MOST_NODES} more" if len(job.nodes) > MOST_NODES else ""
        pairs.append(Pair("nodes", ", ".join(job.nodes[:MOST_NODES]) + more))
        placed = placement_of(store, job.nodes if job.gpus_allocated else ())
        if placed.nodes:
            tone: Tone = "warn" if placed.is_mixed or placed.is_spread else ""
            pairs.append(Pair("placed", placed.sentence, tone))
    pairs.append(Pair("time", _times(job, now_seconds)))
    if job.owner:
        pairs.append(Pair("owner", job.owner))
    return tuple(pairs)


def _readings(job: Job, store: StoreReader) -> list[Pair]:
    if not job.gpus_allocated:
        return []
    row = JobRow(job, store)
    known = len(row.gpus)
    duty = fmt.duty_cell(row.duty)
    words = [f"duty {duty.text}", f"min {fmt.duty_cell(row.duty_least).text}"]
    words.append(f"memory {fmt.memory_cell(row.memory_used).text}")
    words.append(f"power {fmt.power_cell(cards.power_sum(row.gpus)).text}")
    if known < job.gpus_allocated:
        # a mean over some of the cards must not pass for one over all
        words.append(f"from {known} of {counted(job.gpus_allocated, 'GPU')}")
    pairs = [Pair("now", " · ".join(words), duty.tone)]
    if trouble := telemetry_trouble(store.status(Kind.GPU)):
        pairs.append(Pair("telemetry", trouble, "warn"))
    if doubtful := doubts.summary(row.gpus, with_node=True):
        pairs.append(Pair("doubtful", doubtful, "warn"))
    return pairs


def _times(job: Job, now_seconds: float) -> str:
    words = [f"submitted {fmt.since(job.created_seconds, now_seconds)} ago"]
    if job.started_seconds is not None and job.state not in JobState.WAITING:
        end = now_seconds if job.finished_seconds is None else job.finished_seconds
        verb = "running for" if job.finished_seconds is None else "ran"
        words.append(f"{verb} {fmt.age(end - job.started_seconds)}")
    if job.finished_seconds is not None:
        words.append(f"ended {fmt.since(job.finished_seconds, now_seconds)} ago")
    return " · ".join(words)
