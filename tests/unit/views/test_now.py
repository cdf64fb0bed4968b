"""The header, what became of every GPU, the panels, the heatmap."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pytest
from cockpit_widgets.status_line import fitting_segments
from cockpit_widgets.types import StatusSegment
from hypothesis import given, settings
from hypothesis import strategies as st

from cockpit.model.acts_as import ActsAs
from cockpit.model.batch import Batch, Phase, StreamStatus
from cockpit.model.gpu import Mark
from cockpit.model.namespaces import Namespaces
from cockpit.model.pool import Pool
from cockpit.model.quantity import Absent
from cockpit.model.record import Kind
from cockpit.model.trust import Trust
from cockpit.pools.index import pools_of
from cockpit.store.store import Store
from cockpit.store.trends import Trends
from cockpit.views import heatmap, now
from cockpit.views.fleet import Fleet, fleet, share
from cockpit.views.states import why_empty
from cockpit.views.view_state import ViewState
from tests.unit.views.builders import (
    NOW,
    card,
    cluster_queue,
    line,
    live,
    local_queue,
    node,
    pod,
    pool,
    store,
    texts,
)


def cluster() -> Store:
    return live(
        store(
            node("gpu-1", 8, gpu_allocatable=7),
            node("gpu-2", 4, ready="Unknown"),
            node("gpu-3", None, gpus_expected=8),
            node("cpu-1", None),
            pod("w-0", gpus=4),
            card(0, "w-0", duty=0.9),
            card(1, "w-0", duty=0.8),
            card(2, "w-0", duty=0.01),
            card(3, "w-0", duty=Absent.STALE),
            card(4, duty=0.0),
        ),
        Kind.NODE,
        Kind.POD,
    )


def test_every_gpu_is_counted_once() -> None:
    found = fleet(cluster())
    assert (found.nodes, found.gpu_nodes) == (4, 3)
    assert (found.busy, found.idle_allocated, found.allocated_unknown) == (2, 1, 1)
    assert found.free == 3  # 7 allocatable, 4 allocated
    assert found.lost == 5  # 1 that fell out, 4 on a node that is not ready
    assert found.joining == 8
    assert found.gpus == 12
    assert found.duty == pytest.approx((0.9 + 0.8 + 0.01) / 3)
    assert found.sampled_seconds == NOW - 10


def test_the_fleet_follows_every_change() -> None:
    made = cluster()
    before = fleet(made)
    assert fleet(made) is before
    made.apply(Batch(kind=Kind.POD, changed=(pod("w-1", gpus=2),)))
    assert fleet(made).free == 1
    made.apply(Batch(kind=Kind.GPU, changed=(card(2, "w-0", duty=0.5),)))
    assert (fleet(made).busy, fleet(made).idle_allocated) == (3, 0)
    made.apply(Batch(kind=Kind.NODE, removed=("uid-gpu-2",)))
    assert fleet(made).lost == 1
    made.apply(Batch(kind=Kind.GPU, removed=("GPU-gpu-1-0",)))
    assert fleet(made).busy == 2


def test_all_devices_held_need_no_pod_labels() -> None:
    known = [card(index, duty=0.5, mark=Mark.NOT_COLLECTED) for index in range(8)]
    assert share(node(), 8, known).busy == 8
    assert share(node(), 7, known).allocated_unknown == 7


@settings(deadline=None, max_examples=200)
@given(
    st.integers(0, 8),
    st.integers(0, 8),
    st.integers(0, 12),
    st.lists(st.tuples(st.floats(0, 1), st.booleans()), max_size=8),
    st.sampled_from(["True", "False", "Unknown", ""]),
)
def test_shares_add_up(
    capacity: int, allocatable: int, allocated: int, duties: list[tuple[float, bool]], ready: str
) -> None:
    record = node(gpus=capacity, gpu_allocatable=min(allocatable, capacity), ready=ready)
    known = [card(index, "w" if named else "", duty=duty) for index, (duty, named) in enumerate(duties)]
    found = share(record, allocated, known)
    parts = (found.busy, found.idle_allocated, found.allocated_unknown, found.free, found.lost)
    assert all(part >= 0 for part in parts)
    assert sum(parts) == capacity


class Link(enum.Enum):
    CONNECTING = "connecting"
    ATTACHED = "connected"
    FAILED = "failed"


@dataclass(frozen=True)
class Attached:
    store: Store
    is_connected: bool = True
    context: str = "prod-eu"
    trust: Trust | None = Trust.VERIFIED
    link: Any = Link.ATTACHED
    sentence: str = ""
    api_seconds: float | None = 0.0121
    unanswered_since_seconds: float | None = None
    is_read_only: bool = True
    faults: Mapping[str, str] = field(default_factory=dict)
    acts_as: ActsAs | None = None


def words(segments: now.Segments) -> str:
    return " · ".join(one.text for one in segments)


def test_the_header() -> None:
    left, right = now.header(Attached(cluster()), NOW, ViewState(namespaces=Namespaces(("team-a",))))
    assert words(left) == (
        "prod-eu · 4 nodes · 2/12 GPUs busy · 1 allocated, duty n/c · 1 low duty · 3 free · 5 lost "
        "· 8 joining · duty 57% · namespace team-a"
    )
    assert words(right) == "api 12 ms · live · ro"


def test_what_a_page_is_about_stays_in_its_header_longer_than_the_fleet() -> None:
    page = (StatusSegment("why job team-a/llm-70b", "accent", 1),)
    for heading, first in ((page, 2), ((StatusSegment("jobs", "accent", 2),), 1)):
        left, _ = now.header(Attached(cluster()), NOW, None, heading)
        assert left[1] == heading[0]
        assert min(one.priority for one in left[2:]) == first


def test_an_internal_error_stands_in_the_header_of_every_place() -> None:
    _, right = now.header(Attached(cluster(), faults={"telemetry": "x"}), NOW)
    assert words(right) == "internal error in telemetry · api 12 ms · live · ro"
    _, right = now.header(Attached(cluster(), faults={"telemetry": "x", "places": "y"}), NOW)
    assert words(right) == "internal error in telemetry and 1 more · api 12 ms · live · ro"


@pytest.mark.parametrize(
    ("trust", "mark"), [(Trust.UNVERIFIED, "▲ TLS unverified"), (Trust.PLAIN, "▲ no TLS")]
)
def test_who_is_not_checked_stands_in_front_in_red(trust: Trust, mark: str) -> None:
    heading = (StatusSegment("jobs", "accent", 2),)
    left, _ = now.header(Attached(cluster(), trust=trust), NOW, None, heading)
    assert words(left).startswith(f"{mark} · prod-eu · jobs · 4 nodes")
    assert (left[0].tone, left[0].priority) == ("bad", 1)
    left, _ = now.header(Attached(cluster()), NOW, None, heading)
    assert words(left).startswith("prod-eu · jobs · 4 nodes")


def test_whom_one_acts_as_stands_behind_the_context_at_any_width() -> None:
    heading = (StatusSegment("jobs", "accent", 2),)
    left, right = now.header(Attached(cluster(), acts_as=ActsAs("viewer")), NOW, None, heading)
    assert words(left).startswith("prod-eu · as viewer · jobs · 4 nodes")
    long = ActsAs("system:serviceaccount:team-of-many-people:trainer-07")
    attached = Attached(cluster(), acts_as=long, context="arn:aws:eks:eu-west-1:123456789012:cluster/h100-07")
    left, right = now.header(attached, NOW, None, heading)
    kept, _ = fitting_segments(left, right, 80)
    shown = words(tuple(kept))
    assert "h100-07 · as system:" in shown
    assert "ainer-07" in shown


def test_a_context_keeps_its_end_when_it_is_cut() -> None:
    name = "arn:aws:eks:eu-west-1:123456789012:cluster/training-of-many-teams-h100-07"
    for trust in (Trust.VERIFIED, Trust.UNVERIFIED):
        left, right = now.header(Attached(cluster(), context=name, trust=trust), NOW)
        kept, _ = fitting_segments(left, right, 60)
        assert "-h100-07" in words(tuple(kept))


def test_an_api_server_without_an_answer_makes_all_stale() -> None:
    _, right = now.header(Attached(cluster(), api_seconds=None, unanswered_since_seconds=NOW - 23), NOW)
    assert words(right) == "stale: no answer for 23s · ro"


def test_trouble_tells_the_age_of_what_is_shown() -> None:
    made = cluster()
    status = StreamStatus(kind=Kind.POD, phase=Phase.BACKING_OFF, message="cut", heard_seconds=NOW - 40)
    made.apply(Batch(kind=Kind.POD, status=status))
    assert now.data_segment(made, NOW).text == "pods backing off, last update 40s ago"
    made.apply(Batch(kind=Kind.POD, status=msgspec.structs.replace(status, phase=Phase.DENIED)))
    assert now.data_segment(made, NOW).text == "pods denied"


@pytest.mark.parametrize(
    "status",
    [
        StreamStatus(kind=Kind.POD, scope="team-a", phase=Phase.LIVE),
        StreamStatus(kind=Kind.POD, phase=Phase.DENIED),
        StreamStatus(kind=Kind.POD, phase=Phase.LISTING),
        StreamStatus(kind=Kind.POD, phase=Phase.BACKING_OFF),
    ],
)
def test_where_not_every_pod_is_seen_nothing_is_called_free(status: StreamStatus) -> None:
    made = store(node(), pod("w", gpus=4))
    made.apply(Batch(kind=Kind.POD, status=status))
    found = fleet(made)
    assert (found.gpus, found.allocated, found.free, found.unseen) == (8, 4, 0, 4)
    left, _ = now.header(Attached(made), NOW)
    assert words(left) == "prod-eu · 1 node · 8 GPUs · 4 seen allocated · free unknown · duty n/c"
    (group,) = heatmap.groups(made)
    assert group.blocks[0].levels == (heatmap.NOT_COLLECTED,) * 8
    (row,) = pools_of(made)
    assert not row.is_use_known
    panel = line(now.pool_lines([row]).table(ViewState(), NOW))
    assert panel["share"] == ""
    assert "idle" not in panel["words"]
    made.apply(Batch(kind=Kind.POD, status=StreamStatus(kind=Kind.POD, phase=Phase.STALE, objects=1)))
    assert (fleet(made).free, fleet(made).unseen) == (4, 0)


def test_at_80_columns_the_first_of_each_remain() -> None:
    left, right = now.header(Attached(cluster()), NOW)
    kept = [one.text for one in (*left, *right) if one.priority == 1]
    assert kept == ["prod-eu", "2/12 GPUs busy", "5 lost", "ro"]


def test_without_telemetry_nothing_is_called_idle_or_busy() -> None:
    made = store(node(), pod("w", gpus=4))
    left, _ = now.header(Attached(made), NOW)
    assert words(left) == "prod-eu · 1 node · 4/8 GPUs allocated · 4 free · duty n/c"


def test_a_header_without_a_connection() -> None:
    attached = Attached(store(), False, "dev", None, Link.CONNECTING, "The server cannot be reached.", None)
    left, right = now.header(attached, NOW)
    assert words(left) == "dev · connecting · The server cannot be reached."
    assert words(right) == "no data yet · ro"
    left, _ = now.header(Attached(store(), False, "", None, Link.CONNECTING), NOW)
    assert words(left) == "connecting"
    left, _ = now.header(Attached(store(), False, "", None, Link.FAILED, "There is none."), NOW)
    assert words(left) == "no context · failed · There is none."


def test_a_cluster_without_gpus_says_so() -> None:
    assert words(now.fleet_segments(Fleet(nodes=3))) == "3 nodes · no GPUs"
    assert now.fleet_segments(Fleet()) == ()


def test_one_gpu_is_told_as_one() -> None:
    told = words(now.fleet_segments(Fleet(nodes=1, gpus=1, free=1)))
    assert told.startswith("1 node · 0/1 GPU busy · "), told


@pytest.mark.parametrize(
    ("phase", "text"),
    [
        (Phase.LISTING, "pods listing 1,200"),
        (Phase.CONNECTING, "pods connecting 1,200"),
        (Phase.DENIED, "pods denied"),
        (Phase.NOT_LOGGED_IN, "pods not logged in"),
        (Phase.STALE, "pods stale"),
        (Phase.BACKING_OFF, "pods backing off"),
    ],
)
def test_a_stream_in_trouble_is_told_in_the_header(phase: Phase, text: str) -> None:
    made = live(store(node()), Kind.NODE)
    made.apply(Batch(kind=Kind.POD, status=StreamStatus(kind=Kind.POD, phase=phase, objects=1_200)))
    assert now.data_segment(made, NOW).text == text


@pytest.mark.parametrize(("heard", "text", "tone"), [(1, "live", "dim"), (3_600, "data 60m old", "warn")])
def test_data_is_called_old_only_when_the_server_fell_silent(heard: float, text: str, tone: str) -> None:
    made = store(node())
    status = StreamStatus(kind=Kind.NODE, phase=Phase.LIVE, heard_seconds=NOW - heard)
    made.apply(Batch(kind=Kind.NODE, status=status))
    found = now.data_segment(made, NOW)
    assert (found.text, found.tone) == (text, tone)


@pytest.mark.parametrize(
    ("status", "sentence"),
    [
        (None, "Connecting: jobs are not listed yet."),
        (
            StreamStatus(kind="pods", phase=Phase.LISTING, objects=12_000),
            "Listing pods: 12,000 so far.",
        ),
        (StreamStatus(kind="x", phase=Phase.DENIED, message="No right to list."), "No right to list."),
        (StreamStatus(kind="x", phase=Phase.DENIED), "Denied: no right to list jobs."),
        (StreamStatus(kind="x", phase=Phase.ABSENT), "This cluster does not serve jobs."),
        (StreamStatus(kind="x", phase=Phase.STALE), "No jobs known; the stream is stale."),
        (StreamStatus(kind="x", phase=Phase.LIVE), "There are no jobs."),
        (StreamStatus(kind="x", phase=Phase.LIVE, scope="ns"), "There are no jobs in namespace ns."),
    ],
)
def test_why_a_table_is_empty(status: StreamStatus | None, sentence: str) -> None:
    assert why_empty("jobs", status) == sentence


def test_panels() -> None:
    shown = line(
        now.pool_lines([pool("h100", nodes_joining=2, idle_nodes=1, maximum=3)]).table(ViewState(), NOW)
    )
    assert shown == {
        "name": "h100",
        "now": "3/3 max",
        "gpus": "24",
        "share": "50%",
        "words": "+2 joining · 1 idle",
    }
    made = store(local_queue(), cluster_queue(), local_queue("busy", pending=9, uid="x"))
    found = now.queue_lines(made).table(ViewState(), NOW)
    assert texts(found, "name") == ["team-a/busy", "team-a/gpu-lq"]
    assert texts(found, "quota") == ["256/320", "256/320"]


def test_sums_of_fleet_and_pools_with_how_they_went_lately() -> None:
    made = store(node(gpus=2), card(0, "w", duty=0.5), card(1, duty=0.0))
    trends = Trends()
    trends.note(made, NOW)
    assert now.fleet_sums(fleet(made), trends, 80) == "duty 50% · power 824W · memory 80Gi/160Gi"
    made.apply(Batch(kind=Kind.GPU, changed=(card(0, "w", duty=1.0),)))
    trends.note(made, NOW + 30)
    said = "duty ▅█ 100% · power ██ 824W · memory 80Gi/160Gi"
    assert now.fleet_sums(fleet(made), trends, len(said)) == said
    assert now.fleet_sums(fleet(made), trends, 44) == "duty 100% · power 824W · memory 80Gi/160Gi"
    assert now.fleet_sums(fleet(made), trends, 42) == "duty 100% · power 824W · memory 80Gi/160Gi"
    assert now.fleet_sums(fleet(made), trends, 41) == "duty 100% · power 824W"
    assert now.fleet_sums(fleet(made), trends, 8) == ""
    table = now.pool_lines([Pool(name="h100", gpus_total=2), Pool(name="none")], trends).table(
        ViewState(), NOW
    )
    assert texts(table, "duty") == ["▅█ 100%", ""]
