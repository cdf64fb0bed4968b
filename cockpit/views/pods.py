"""The pods table, for those who think in pods."""

from collections.abc import Iterable

from cockpit_widgets.types import Cell, Column, Tone

from cockpit.jobs.members import is_named_otherwise, seat_number
from cockpit.jobs.whose import person_of, team_of
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader
from cockpit.views import format as fmt
from cockpit.views import rdma
from cockpit.views.lazy_table import Field, LazyTable, Memory, View
from cockpit.views.states import pod_cell, pod_words
from cockpit.views.view_state import Measure, ViewState


def owner_text(pod: Pod) -> str:
    """The training job that labels tell, else the controlling owner: `MPIJob llm`."""
    if pod.job_label:
        return pod.job_label
    return f"{pod.owner_kind} {pod.owner_name}".strip()


def rank_text(pod: Pod) -> str:
    """`worker 3`, `part 0-3`, `rank 4` where the pod's name has another number, `launcher`, or nothing."""
    if pod.rank is not None and pod.role and is_named_otherwise(pod):
        return f"rank {pod.rank}"
    if pod.rank is None:
        return pod.role
    return f"{pod.role} {seat_number(pod)}".strip()


def gpus_cell(pod: Pod) -> Cell:
    """GPUs of one pod; `?` where it asks by claims not known here, `2s` for two shared with other pods."""
    if pod.has_unknown_gpus:
        return Cell(f"{pod.gpus}+?" if pod.gpus else "?", "warn")
    if pod.gpus_shared:
        return Cell(f"{pod.gpus + pod.gpus_shared}s", "dim")
    return Cell(str(pod.gpus)) if pod.gpus else fmt.NOTHING


def gpus_count(pod: Pod) -> int | None:
    """The same as a number; None where it is not known, or there are none."""
    return None if pod.has_unknown_gpus else pod.gpus or None


def team_words(pod: Pod) -> str:
    """The team that a label tells, else the namespace: teams have one each."""
    return team_of(pod.traits.labels) or pod.namespace


def _team(pod: Pod, now_seconds: float) -> Cell:
    return Cell(team_words(pod), "" if team_of(pod.traits.labels) else "dim")


def _user(pod: Pod) -> str:
    return person_of(pod.traits.labels)


def _restarts(pod: Pod, now_seconds: float) -> Cell:
    return Cell(str(pod.restarts), "warn") if pod.restarts else Cell("0", "dim")


_FIELDS: tuple[Field[Pod], ...] = (
    Field(
        Column("name", "Pod", 24, grow=5, most=70, wish=44, keeps_end=True),
        lambda r, _: Cell(r.key, "strong"),
        lambda r, _: r.key,
    ),
    Field(
        Column("owner", "Owner", 14, priority=2, grow=2, most=36),
        lambda r, _: Cell(owner_text(r)),
        lambda r, _: owner_text(r),
    ),
    Field(Column("rank", "Rank", 10, priority=4), lambda r, _: Cell(rank_text(r)), lambda r, _: rank_text(r)),
    Field(
        Column("node", "Node", 14, priority=2, grow=2, most=36),
        lambda r, _: Cell(r.node),
        lambda r, _: r.node,
    ),
    Field(
        Column("phase", "Phase", 20, grow=1, most=26), lambda r, _: pod_cell(r), lambda r, _: pod_words(r)[0]
    ),
    Field(
        Column("gpus", "GPUs", 4, "right"),
        lambda r, _: gpus_cell(r),
        lambda r, _: gpus_count(r),
        Measure.COUNT,
    ),
    Field(
        Column("ready", "Ready", 5, "right", priority=4),
        lambda r, _: Cell(fmt.of(r.ready_containers, r.total_containers)),
        lambda r, _: r.ready_containers,
        Measure.COUNT,
    ),
    Field(
        Column("restarts", "Rst", 4, "right", priority=4), _restarts, lambda r, _: r.restarts, Measure.COUNT
    ),
    Field(
        Column("age", "Age", 5, "right"),
        lambda r, now: fmt.age_cell(r.created_seconds, now),
        lambda r, now: None if r.created_seconds is None else now - r.created_seconds,
        Measure.SECONDS,
    ),
    Field(
        Column("rdma", "RDMA", 6, priority=5, grow=1, most=28),
        lambda r, _: rdma.cell(r),
        lambda r, _: rdma.count(r) or None,
        Measure.COUNT,
    ),
    Field(Column("queue", "Queue", 10, priority=6), lambda r, _: Cell(r.queue), lambda r, _: r.queue),
    Field(
        Column("priority", "Prio", 6, "right", priority=6),
        lambda r, _: fmt.count_cell(r.priority) if r.priority is not None else fmt.NOTHING,
        lambda r, _: r.priority,
        Measure.COUNT,
    ),
    Field(
        Column("image", "Image", 20, priority=7, grow=1, most=50),
        lambda r, _: Cell(r.image, "dim"),
        lambda r, _: r.image,
    ),
)

_HIDDEN: tuple[Field[Pod], ...] = (
    Field(Column("team", "Team", 10), _team, lambda r, _: team_words(r)),
    Field(Column("user", "User", 10), lambda r, _: Cell(_user(r)), lambda r, _: _user(r)),
    Field(Column("namespace", "Namespace", 12), lambda r, _: Cell(r.namespace), lambda r, _: r.namespace),
    Field(Column("gang", "Gang", 12), lambda r, _: Cell(r.gang), lambda r, _: r.gang),
    Field(Column("scheduler", "Scheduler", 12), lambda r, _: Cell(r.scheduler), lambda r, _: r.scheduler),
    Field(Column("ip", "IP", 12), lambda r, _: Cell(r.pod_ip), lambda r, _: r.pod_ip),
)


def _haystack(pod: Pod) -> str:
    return " ".join(
        (pod.key, owner_text(pod), rank_text(pod), pod.node, pod_words(pod)[0], pod.queue, pod.image)
    )


_RUNS, _OVER = 3, 4
_URGENCY: dict[Tone, int] = {"bad": 0, "warn": 1, "info": 2, "good": _RUNS}


def urgency(pod: Pod) -> int:
    """Place of what it does in the own order: broken, waiting, starting, running, over."""
    if pod.phase == "Running" and pod.is_ready and not pod.waiting_reason and pod.deleting_seconds is None:
        return _RUNS  # most are: without a word for it
    return _URGENCY.get(pod_words(pod)[1], _OVER)


def message(pod: Pod) -> str:
    """What the cluster says of a pod that does not run, "" where it says nothing."""
    return pod.waiting_message or pod.scheduled_message or pod.status_message


VIEW: View[Pod] = View(
    fields=_FIELDS,
    hidden=_HIDDEN,
    key=lambda pod: pod.uid,
    name=lambda pod: pod.key,
    namespace=lambda pod: pod.namespace,
    rank=urgency,
    haystack=_haystack,
)


def table(
    store: StoreReader,
    state: ViewState,
    now_seconds: float,
    memory: Memory | None = None,
    *,
    pods: Iterable[Pod] | None = None,
) -> LazyTable[Pod]:
    """Pods as rows keyed by uid, with trouble first, then by namespace and name; `pods` narrows them (one
    node's, one job's)."""
    found: Iterable[Pod] = store.records(Kind.POD).values() if pods is None else pods
    return VIEW.table(found, state, now_seconds, memory)
