"""The page of one queue: its facts as pairs; who waits is the table of `cockpit.views.queues`."""

from cockpit_widgets.types import Pair, Tone

from cockpit.model.gang import QuotaRow
from cockpit.model.store_reader import StoreReader
from cockpit.views import format as fmt
from cockpit.views.queues import QueueRow, rows


def row_of(store: StoreReader, key: str) -> QueueRow | None:
    """The queue with that key (uid), None when it is gone."""
    for row in rows(store):
        if row.key == key:
            return row
    return None


def facts(row: QueueRow) -> tuple[Pair, ...]:
    """State, counters, and a line of quota for each flavor of devices."""
    tone: Tone = "good" if row.state == "active" else "warn"
    pairs = [Pair("queue", row.name, "strong"), Pair("state", row.state, tone)]
    if row.why:
        pairs.append(Pair("why", row.why, "warn"))
    if row.local is not None:
        pairs.append(Pair("cluster queue", row.cluster_name or "unknown"))
    if row.cluster is not None and row.cluster.cohort:
        pairs.append(Pair("cohort", row.cluster.cohort))
    pairs.append(Pair("jobs", f"{fmt.count(row.pending)} waiting, {fmt.count(row.admitted)} admitted"))
    pairs += [Pair(f"quota {one.flavor}", _quota(one)) for one in row.device_quotas]
    if row.cluster is not None and row.cluster.preemption:
        pairs.append(Pair("preemption", row.cluster.preemption))
    return tuple(pairs)


def _quota(one: QuotaRow) -> str:
    words = [f"{fmt.of(one.used, one.nominal)} {one.resource} used"]
    if one.borrowed:
        words.append(f"{one.borrowed} borrowed")
    if one.borrowing_limit is not None:
        words.append(f"may borrow {one.borrowing_limit}")
    return ", ".join(words)
