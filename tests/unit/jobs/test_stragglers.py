"""Which rank is slow: on synthetic traces with fixed seeds, and by example."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cockpit.jobs.progress import Patterns
from cockpit.jobs.training.run import TrainingRun
from cockpit.jobs.training.stalls import Sign, StallReader
from cockpit.jobs.training.stragglers import odd_ones, stragglers
from tests.unit.jobs.traces import as_lines, trace
from tests.unit.jobs.training_logs import BEGUN
from tests.unit.jobs.training_logs import as_lines as log_lines

HEALTHY = range(910_000, 910_200)
SLOW = range(920_000, 920_200)


def test_healthy_traces_alarm_nobody() -> None:
    alarms = {seed: found for seed in HEALTHY if (found := stragglers(trace(seed).computes))}
    print(f"healthy traces: {len(HEALTHY)}, alarms: {len(alarms)}")
    assert alarms == {}


def test_slow_ranks_are_found() -> None:
    right = wrong = missed = 0
    for seed in SLOW:
        made = trace(seed, slow=1 + seed % 3)
        found = {one.rank for one in stragglers(made.computes)}
        right += len(found & made.slow)
        wrong += len(found - made.slow)
        missed += len(made.slow - found)
    precision, recall = right / (right + wrong), right / (right + missed)
    print(
        f"slow ranks: {right + missed} in {len(SLOW)} traces, precision {precision:.3f}, recall {recall:.3f}"
    )
    assert precision >= 0.9
    assert recall >= 0.9


def test_a_slow_rank_is_found_through_its_log() -> None:
    made = trace(930_001, slow=1)
    run = TrainingRun(Patterns(()))
    run.take(log_lines([(BEGUN + at, text) for at, text in enumerate(as_lines(made.computes))]))
    found = stragglers({rank: tuple(one.computes) for rank, one in run.ranks.items()})
    assert {one.rank for one in found} == made.slow


def test_of_two_ranks_the_slow_one() -> None:
    computes = {0: [(n, 0.10 + 0.001 * (n % 3)) for n in range(20)], 1: [(n, 0.13) for n in range(20)]}
    (found,) = stragglers(computes)
    assert found.rank == 1
    assert found.excess == pytest.approx(0.287, abs=0.01)


def test_too_little_is_no_ground() -> None:
    assert stragglers({}) == ()
    assert stragglers({0: [(n, 1.0) for n in range(20)]}) == ()
    assert stragglers({0: [(n, 1.0) for n in range(4)], 1: [(n, 2.0) for n in range(4)]}) == ()
    assert stragglers({0: [(n, 1.0) for n in range(20)], 1: [(n + 50, 2.0) for n in range(20)]}) == ()


computes = st.dictionaries(
    st.integers(0, 9), st.lists(st.tuples(st.integers(0, 30), st.floats(0, 1e6)), max_size=64), max_size=8
)


@given(computes)
@settings(deadline=None)
def test_any_numbers_do_no_harm(told: dict[int, list[tuple[int, float]]]) -> None:
    assert all(one.excess > 0 and one.rank in told for one in stragglers(told))


def test_a_gauge_far_from_its_peers() -> None:
    (found,) = odd_ones({"a": 1.0, "b": 0.98, "c": 1.02, "d": 0.0}).items()
    assert found[0] == "d" and found[1].is_certain
    assert odd_ones({"a": 0.9, "b": 0.8, "c": 1.0, "d": 0.7}) == {}
    assert odd_ones({"a": 1.0, "b": 1.0, "c": 0.0}) == {}, "of three the median may be the odd one"
    assert odd_ones(dict.fromkeys("abcde", 0.0)) == {}


def test_healthy_gauges_alarm_nobody() -> None:
    """Duty of 200 sound gangs: differing by a few points about their mean, as noisy as an"
    " exporter's mean is."""
    alarms = 0
    for seed in range(940_000, 940_200):
        random = Random(seed)
        base, noise = random.uniform(0.3, 0.97), random.uniform(0.005, 0.05)
        values = {
            str(rank): max(0.0, random.gauss(base, noise * base)) for rank in range(random.choice((4, 8, 64)))
        }
        alarms += bool(odd_ones(values))
    print(f"healthy gauges: 200 gangs, alarms: {alarms}")
    assert alarms == 0


# ---- what libraries say

TENSORS = (
    "[2020-12-30 16:35:15.181832: W /tmp/pip/horovod/common/stall_inspector.cc:105] One or more"
    " tensors were submitted to"
    " be reduced, gathered or broadcasted by subset of ranks and are waiting for remainder of ranks"
    " for more than"
    " 60 seconds. This may indicate that different ranks are trying to submit different tensors or"
    " that only subset"
    " of ranks is submitting tensors, which will cause deadlock. "
)


def read(*lines: str, rank: int | None = None) -> list[tuple[Sign, tuple[int, ...]]]:
    reader = StallReader()
    found = [reader.read(line, rank) for line in lines]
    return [(one.sign, one.ranks) for one in found if one is not None]


def test_horovod_names_the_missing_ranks() -> None:
    assert read(TENSORS, "Missing ranks:", "1: [allreduce.conv1.weight, allreduce.fc]", "3:"
    " [allreduce.fc]", "4: no") == [
        (Sign.MISSING, ()), (Sign.MISSING, ()), (Sign.MISSING, (1,)), (Sign.MISSING, (3,)),
    ]  # fmt: skip
    assert read("Stalled ops:HorovodBroadcast_dense_1_bias_0 [missing ranks: 1, 2]") == [
        (Sign.MISSING, (1, 2))
    ]
    assert read("WARNING: " + TENSORS + "Stalled ops: a [ready ranks: 5, 1]") == [(Sign.MISSING, ())]
    assert read("One or more rank (2) is stalled for greater than 120 seconds. Will shutdown.") == [
        (Sign.MISSING, (2,))
    ]


def test_nccl_names_the_rank_that_waited() -> None:
    said = (
        "[E321 02:07:08.408271257 ProcessGroupNCCL.cpp:607] [Rank 4] Watchdog caught collective"
        " operation timeout:"
        " WorkNCCL(SeqNum=1580, OpType=ALLREDUCE, Timeout(ms)=600000) ran for 600060 milliseconds"
        " before timing out."
    )
    assert read(said) == [(Sign.TIMED_OUT, (4,))]
    stuck = "[PG ID 0 PG GUID 0(default_pg) Rank 7] ProcessGroupNCCL's watchdog got stuck for 480 seconds"
    assert read(stuck) == [(Sign.TIMED_OUT, (7,))]
    assert read("NCCL INFO Channel 00/08 : 0 1 2 3 4 5 6 7") == []


def test_gloo_is_told_by_who_wrote_it() -> None:
    peer = (
        "what():  [/tmp/gloo/gloo/transport/tcp/pair.cc:572] Connection closed by peer [10.128.15.205]:53666"
    )
    waited = "[../third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting"
    " 30000ms for recv operation to complete"
    assert read(peer, waited, rank=3) == [(Sign.LOST_PEER, (3,)), (Sign.GLOO_TIMED_OUT, (3,))]
    assert read(peer) == [(Sign.LOST_PEER, ())]
    assert read("Connection closed by peer") == []


@given(st.lists(st.text(max_size=200)))
def test_any_text_names_few_ranks(lines: list[str]) -> None:
    assert all(len(ranks) <= 64 for _, ranks in read(*lines))
