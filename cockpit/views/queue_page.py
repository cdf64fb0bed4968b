"""The page of one queue: its facts as pairs, who holds it, and what would start who waits; the line itself is
the table of `cockpit.views.queues`."""

from cockpit_widgets.glyphs import bar
from cockpit_widgets.types import Pair, Tone

from cockpit.gangs.queue_line import lately, running
from cockpit.gangs.standing import QueueDay
from cockpit.model.finding import Finding
from cockpit.model.gang import QueueShare, QuotaRow, SchedulerQueue
from cockpit.model.job import Job
from cockpit.model.job_reader import JobReader
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader
from cockpit.views import format as fmt
from cockpit.views import jobs
from cockpit.views.lazy_table import LazyTable
from cockpit.views.queues import QueueRow, rows
from cockpit.views.view_state import ViewState

_BAR_CELLS = 12


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


def holders_table(
    row: QueueRow | None, store: StoreReader, rows: JobReader, now_seconds: float, explain: jobs.Explain
) -> LazyTable[jobs.JobRow]:
    """Its holders as rows of jobs, trouble first; without a column of reasons where none has one."""
    held = [] if row is None else holders(row, store, rows)
    found = jobs.table(held, store, ViewState(), now_seconds, explain=explain)
    return found if any(explain(job, now_seconds).sentence for job in held) else found.without("why")


def facts(row: QueueRow) -> tuple[Pair, ...]:
    """State, counters, and a line of quota for each flavor of devices, or for each resource of a scheduler's
    queue."""
    tone: Tone = "good" if row.standing.takes_jobs else "warn"
    pairs = [Pair("queue", row.name, "strong"), Pair("state", row.state, tone)]
    if row.why:
        pairs.append(Pair("why", row.why, "warn"))
    if row.local is not None:
        cohort = f", cohort {row.cluster.cohort}" if row.cluster is not None and row.cluster.cohort else ""
        pairs.append(Pair("cluster queue", f"{row.cluster_name or 'unknown'}{cohort}"))
    elif row.cluster is not None and row.cluster.cohort:
        is_own = isinstance(row.cluster, SchedulerQueue)
        pairs.append(Pair("parent" if is_own else "cohort", row.cluster.cohort))
    word = "running" if isinstance(row.cluster, SchedulerQueue) else "admitted"
    pairs.append(Pair("jobs", f"{fmt.count(row.pending)} waiting, {fmt.count(row.admitted)} {word}"))
    pairs += [Pair(f"quota {quota.flavor}", _quota(quota)) for quota in row.device_quotas]
    if isinstance(row.cluster, SchedulerQueue):
        if row.cluster.strategy:
            pairs.append(Pair("share", row.cluster.strategy))
        pairs += [Pair(share.resource, _share(share)) for share in row.cluster.shares]
    if row.cluster is not None and row.cluster.preemption:
        pairs.append(Pair("preemption", row.cluster.preemption))
    return tuple(pairs)


def page_facts(row: QueueRow, store: StoreReader, now_seconds: float) -> tuple[Pair, ...]:
    """The same for its page, which names who holds it beside them: quota as bars, and what the last day was
    like."""
    quotas = {f"quota {quota.flavor}": quota for quota in row.device_quotas}
    found = [_with_bar(pair, quotas[pair.name]) if pair.name in quotas else pair for pair in facts(row)]
    if row.cluster is not None and (day := lately(store, row.cluster, now_seconds)) is not None:
        at = next(at for at, pair in enumerate(found) if pair.name == "jobs")
        found[at] = found[at]._replace(value=f"{found[at].value} · {_day_words(day)}")
    return tuple(found)


def _with_bar(pair: Pair, quota: QuotaRow) -> Pair:
    most, used = _most(quota), quota.used
    part = None if used is None else used / max(1, most)
    tone: Tone = "warn" if part is not None and part >= 1 else ""
    return Pair(pair.name, f"{bar(part, _BAR_CELLS)} {pair.value}", tone)


def _most(quota: QuotaRow) -> int:
    """What it may use with all that it may borrow, as far as a limit says so; else its own."""
    return max(quota.nominal + (quota.borrowing_limit or 0), quota.used or 0)


def _day_words(day: QueueDay) -> str:
    wait = day.median_wait_seconds
    waits = "" if wait is None else f"median wait {fmt.age(wait)}, "
    return f"in 24h {waits}{day.preempted or 'none'} preempted"


def start_words(found: Finding, now_seconds: float) -> str:
    """When what waits starts by itself, else the first change that starts it: `14:40 to 15:10`, `if: ...`;
    "" where neither is known."""
    expected = found.expected
    if expected is not None and expected.from_seconds is not None and expected.to_seconds is not None:
        ends = (expected.from_seconds, expected.to_seconds)
        return " to ".join(fmt.moment(item, now_seconds) for item in ends)
    offer = next((change for change in found.changes if change.is_checked), None)
    return "" if offer is None else f"if: {offer.words}"


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
