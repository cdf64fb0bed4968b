"""The page of one queue: its facts as pairs; who waits is the table of `cockpit.views.queues`."""

from cockpit_widgets.types import Pair, Tone

from cockpit.gangs.queue_line import running
from cockpit.model.gang import QueueShare, QuotaRow, SchedulerQueue
from cockpit.model.job import Job
from cockpit.model.job_reader import JobReader
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader
from cockpit.views import format as fmt
from cockpit.views.queues import QueueRow, rows

_MOST_NAMED = 4


def row_of(store: StoreReader, key: str) -> QueueRow | None:
    """The queue with that key (uid), None when it is gone."""
    for row in rows(store):
        if row.key == key:
            return row
    return None


def holders(row: QueueRow, store: StoreReader, rows: JobReader) -> list[Job]:
    """Jobs that hold quota of the queue, or of the one behind it; what its engine has let in."""
    if isinstance(row.cluster, SchedulerQueue):
        names = {*running(store, row.cluster)}
        return [job for job in rows.jobs.values() if f"{job.namespace}/{job.name}" in names]
    behind = row.cluster_name
    uids = {
        workload.uid
        for workload in store.records(Kind.WORKLOAD).values()
        if workload.cluster_queue == behind and behind and not workload.is_finished
    }
    return [job for job in rows.jobs.values() if job.workload_uid in uids]


def facts(row: QueueRow, runs: tuple[str, ...] = ()) -> tuple[Pair, ...]:
    """State, counters, and a line of quota for each flavor of devices, or for each resource of a scheduler's
    queue; `runs` are jobs that run in it."""
    tone: Tone = "good" if row.standing.takes_jobs else "warn"
    pairs = [Pair("queue", row.name, "strong"), Pair("state", row.state, tone)]
    if row.why:
        pairs.append(Pair("why", row.why, "warn"))
    if row.local is not None:
        pairs.append(Pair("cluster queue", row.cluster_name or "unknown"))
    if row.cluster is not None and row.cluster.cohort:
        is_own = isinstance(row.cluster, SchedulerQueue)
        pairs.append(Pair("parent" if is_own else "cohort", row.cluster.cohort))
    word = "running" if isinstance(row.cluster, SchedulerQueue) else "admitted"
    pairs.append(Pair("jobs", f"{fmt.count(row.pending)} waiting, {fmt.count(row.admitted)} {word}"))
    if runs:
        more = f" and {len(runs) - _MOST_NAMED} more" if len(runs) > _MOST_NAMED else ""
        pairs.append(Pair("running", ", ".join(runs[:_MOST_NAMED]) + more))
    pairs += [Pair(f"quota {quota.flavor}", _quota(quota)) for quota in row.device_quotas]
    if isinstance(row.cluster, SchedulerQueue):
        if row.cluster.strategy:
            pairs.append(Pair("share", row.cluster.strategy))
        pairs += [Pair(share.resource, _share(share)) for share in row.cluster.shares]
    if row.cluster is not None and row.cluster.preemption:
        pairs.append(Pair("preemption", row.cluster.preemption))
    return tuple(pairs)


def _share(one: QueueShare) -> str:
    """`8 used, 6 deserved, 2 over, limit 16`."""

    def amount(value: float | None) -> str:
        if value is None:
            return "?"
        if one.resource == "cpu":
            return f"{value / 1000:g}"
        return fmt.byte_size(value) if one.resource == "memory" else f"{value:g}"

    words = [f"{amount(one.used)} used"]
    words += [f"{amount(one.deserved)} deserved"] if one.deserved is not None else []
    words += [f"{amount(one.over)} over"] if one.over else []
    words += [f"{amount(one.guaranteed)} guaranteed"] if one.guaranteed is not None else []
    words.append("no limit" if one.limit is None else f"limit {amount(one.limit)}")
    return ", ".join(words)


def _quota(one: QuotaRow) -> str:
    words = [f"{fmt.of(one.used, one.nominal)} {one.resource} used"]
    if one.borrowed:
        words.append(f"{one.borrowed} borrowed")
    if one.borrowing_limit is not None:
        words.append(f"may borrow {one.borrowing_limit}")
    return ", ".join(words)
