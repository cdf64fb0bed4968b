"""What stands on a page of *Why* beside the verdict: the stages of a start with the time spent in each, and
the facts of a node, card, queue or pool."""

from collections.abc import Iterable, Sequence
from statistics import median

from cockpit_widgets.types import Pair, ToneLine

from cockpit.gangs import registry
from cockpit.gangs.queue_line import waiting
from cockpit.gangs.sentence import counted
from cockpit.model.finding import Finding, Subject
from cockpit.model.gang import LocalQueue, SchedulerQueue
from cockpit.model.job import Job, JobState
from cockpit.model.node import Node
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.model.remembered import PastRun
from cockpit.pools.index import pools_of
from cockpit.triage.context import ClusterView
from cockpit.triage.expected_start import runs_seen, shape_name
from cockpit.triage.pool_walk import evidence_of, queue_subject
from cockpit.views import format as fmt
from cockpit.views import node_page, queue_page
from cockpit.views.pool_json import ON_ITS_PAGE, Learnt, page_of
from cockpit.views.pool_page import facts, head
from cockpit.views.queues import rows as queue_rows
from cockpit.views.timeline import NOT_YET, Run, Step, steps

FEWEST_RUNS = 3
MOST_HOLDERS = 8
FACT_CELLS = 16


def stages(subject: Subject, job: Job | None, view: ClusterView) -> tuple[str, ...]:
    """The way to a start in one line; nothing for what does not start."""
    if subject.kind == "pod":
        pod: Pod | None = view.store.by_key(Kind.POD, subject.key)
        return () if pod is None else (stages_line(_of_pod(pod, view), view.now_seconds),)
    if job is None:
        return ()
    workload = registry.workload_of(job, view.store)
    members = view.jobs.members(job.key)
    is_waiting = job.state in JobState.WAITING
    found = steps(job, workload, members, view.store, Run())
    told = stages_line(found, view.now_seconds if is_waiting else None)
    return (told + _usual(job, view),)


def stages_line(found: Sequence[Step], now_seconds: float | None) -> str:
    """`submitted ─2s─ admitted ─41m so far─ bound to a node ─?─ first step`. `now_seconds` None: it does not
    wait any more."""
    text, last = found[0].name, found[0].at_seconds
    for step in found[1:]:
        spent = "?"
        if last is not None and step.at_seconds is not None:
            spent = fmt.span(max(0.0, step.at_seconds - last))
        elif last is not None and now_seconds is not None and step.note == NOT_YET:
            spent = f"{fmt.age(now_seconds - last)} so far"  # it ticks
        last = step.at_seconds
        text += f" ─{spent}─ {step.name}"
    return text


def _of_pod(pod: Pod, view: ClusterView) -> tuple[Step, ...]:
    told = {item.reason: item.first_seconds for item in view.store.events_of(pod.uid)}
    bound = told.get("Scheduled") or pod.started_seconds
    note = "" if pod.node else NOT_YET
    ready = "" if pod.is_ready or pod.is_finished else NOT_YET
    return (
        Step("created", pod.created_seconds),
        Step("bound to a node", bound if pod.node else None, note),
        Step("image pulled", told.get("Pulled")),
        Step("started", told.get("Started"), ready),
    )


def _usual(job: Job, view: ClusterView) -> str:
    """How long alike jobs waited, where a few did."""
    members = job.wanted or 0
    gpus = (job.gpus_wanted or 0) // members if members else 0
    shape = shape_name(job.namespace, job.name, gpus)
    waits = [_wait(run) for run in runs_seen(view).runs if run.shape == shape and run.started_seconds]
    return f"   usually {fmt.age(median(waits))}" if len(waits) >= FEWEST_RUNS else ""


def _wait(run: PastRun) -> float:
    return max(0.0, (run.started_seconds or run.submitted_seconds) - run.submitted_seconds)


def about(verdict: Finding, view: ClusterView) -> list[str]:
    """Facts of what is no job, but for what the verdict tells; nothing for what is gone."""
    subject = verdict.subject
    match subject.kind:
        case "node":
            return _node(subject.name, view)
        case "card":
            return _card(subject.name, view)
        case "queue":
            return _queue(subject, view)
        case "pool":
            return _pool(verdict, view)
    return []


def _pairs(found: Iterable[Pair]) -> list[str]:
    return [f"{one.name:<{FACT_CELLS}}{one.value}" for one in found]


def _node(name: str, view: ClusterView) -> list[str]:
    node: Node | None = view.store.by_key(Kind.NODE, name)
    if node is None:
        return []
    return [
        *_pairs(node_page.facts(node, view.store, view.now_seconds, budgets=view.around.budgets)[1:]),
        *_holders(name, view),
    ]


def _holders(name: str, view: ClusterView) -> list[str]:
    holders = [pod for pod in view.store.pods_on(name) if pod.gpus_allocated]
    if not holders:
        return []
    shown = [f"{pod.key} ({counted(pod.gpus_allocated, 'GPU')})" for pod in holders[:MOST_HOLDERS]]
    more = [f"and {len(holders) - MOST_HOLDERS} more"] if len(holders) > MOST_HOLDERS else []
    return _pairs([Pair("on it", ", ".join([*shown, *more]))])


def _card(text: str, view: ClusterView) -> list[str]:
    name, _, index = text.rpartition("/")
    card = next((item for item in view.store.gpus_on(name) if str(item.index) == index), None)
    if card is None:
        return [f"no reading of GPU {index} on {name}"]
    holder = f"{card.pod_namespace}/{card.pod_name}" if card.pod_name else "none"
    now = (
        f"duty {fmt.duty_cell(card.duty_ratio).text}",
        f"memory {fmt.memory_cell(card.memory_used_bytes, card.memory_total_bytes).text}",
        f"temperature {fmt.temperature_cell(card.temperature_celsius).text}",
        f"power {fmt.power_cell(card.power_watts).text}",
    )
    return [
        *_pairs(
            [
                Pair("card", f"{card.model} {card.uuid}".strip()),
                Pair("allocated to", f"{holder} ({card.mark.value})"),
                Pair("now", " · ".join(now)),
                Pair("last Xid", "not collected" if card.xid is None else str(card.xid or "none")),
                Pair("read", f"{fmt.since(card.sampled_seconds, view.now_seconds)} ago"),
            ]
        ),
        "",
        ToneLine(f"node {name}", "dim"),
        *_node(name, view),
    ]


def _queue(subject: Subject, view: ClusterView) -> list[str]:
    for row in queue_rows(view.store):
        own = row.local or row.cluster
        if own is None or queue_subject(own).key != subject.key:
            continue
        is_own_line = isinstance(own, LocalQueue | SchedulerQueue)
        names = [item.job for item in waiting(view.store, own)[:MOST_HOLDERS]] if is_own_line else []
        more = [Pair("in line", ", ".join(names))] if names else []
        return [*_pairs([*queue_page.facts(row)[1:], *more])]
    return []


def _pool(verdict: Finding, view: ClusterView) -> list[str]:
    """What its page says, but for the ladder and the curves."""
    pool = next((item for item in pools_of(view.store) if item.name == verdict.subject.name), None)
    if pool is None:
        return []
    known = view.known
    learnt = Learnt(growths=known.growths, prices=known.prices, held=ON_ITS_PAGE, budgets=view.around.budgets)
    page = page_of(pool, view.store, view.jobs, view.now_seconds, learnt)
    used = fmt.of(pool.gpus_allocated if pool.is_use_known else None, pool.gpus_total)
    pairs = [Pair("pool", head(page)), Pair("GPUs", f"{used} allocated")]
    pairs += [Pair("resize", pool.why_not)] if pool.why_not else []
    others = [item for item in page.failures if evidence_of(item, pool.name) not in verdict.evidence]
    failures = (Pair("fails", f"{item.kind.value}: {item.sentence}; {item.remedy}") for item in others)
    return _pairs([*pairs, *failures, *facts(page)])
