"""What the page of a queue says: quota as bars, and what would start who waits."""

import pytest

from cockpit.model.batch import Batch, Phase, StreamStatus
from cockpit.model.finding import Change, Expected, Finding
from cockpit.model.gang import QuotaRow
from cockpit.model.record import Kind
from cockpit.views.queue_page import page_facts, row_of, start_words
from tests.unit.gangs.builders import NVIDIA, cluster_queue, local_queue, store_of

NOON = 1_700_049_600.0
"""12:00 UTC."""
RAISED = Change(kind="raise_quota", words="quota to 16", is_checked=True)


@pytest.mark.parametrize(
    ("quota", "bar", "tone"),
    [
        (QuotaRow("h100", NVIDIA, 8, 4), "━━━━━━──────", ""),
        (QuotaRow("h100", NVIDIA, 8, 8), "━━━━━━━━━━━━", "warn"),
        (QuotaRow("h100", NVIDIA, 8, 8, 0, 8), "━━━━━━──────", ""),
        (QuotaRow("h100", NVIDIA, 8, 12, 4), "━━━━━━━━━━━━", "warn"),
        (QuotaRow("h100", NVIDIA, 8, None), "┄┄┄┄┄┄┄┄┄┄┄┄", ""),
        (QuotaRow("h100", NVIDIA, 0, 0), "────────────", ""),
    ],
    ids=["half", "full", "may borrow as much", "borrows without a limit", "not told", "none"],
)
def test_quota_is_a_bar_of_what_the_queue_may_use(quota: QuotaRow, bar: str, tone: str) -> None:
    store = store_of(local_queue(), cluster_queue(quotas=(quota,)))
    row = row_of(store, "lq")
    assert row is not None
    (pair,) = (pair for pair in page_facts(row, store, NOON) if pair.name == "quota h100")
    assert (pair.value.split(" ")[0], pair.tone) == (bar, tone)


def test_the_last_day_is_left_out_where_workloads_are_not_all_known() -> None:
    store = store_of(local_queue(), cluster_queue())
    row = row_of(store, "lq")
    assert row is not None
    live = StreamStatus(kind=Kind.WORKLOAD, phase=Phase.LIVE)
    store.apply(Batch(kind=Kind.WORKLOAD, status=live))
    assert any("none preempted" in pair.value for pair in page_facts(row, store, NOON))
    store.apply(Batch(kind=Kind.WORKLOAD, status=StreamStatus(kind=Kind.WORKLOAD, phase=Phase.DENIED)))
    assert not any("preempted" in pair.value for pair in page_facts(row, store, NOON))


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (Finding(expected=Expected(NOON + 600, NOON + 4_200, "")), "12:10 to 13:10"),
        (Finding(expected=Expected(None, None, "unknown"), changes=(RAISED,)), "if: quota to 16"),
        (Finding(changes=(Change(kind="wait_for", words="wait"), RAISED)), "if: quota to 16"),
        (Finding(changes=(Change(kind="wait_for", words="wait"),)), ""),
        (Finding(), ""),
    ],
    ids=["by itself", "not known when", "the first that starts it", "nothing tried", "nothing known"],
)  # fmt: skip
def test_what_would_start_it_is_a_time_else_a_change_that_starts_it(found: Finding, words: str) -> None:
    assert start_words(found, NOON) == words
