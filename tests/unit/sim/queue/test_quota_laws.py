"""Laws of quota and of who gives way, for estates that nobody thought of."""

from hypothesis import given, settings
from hypothesis import strategies as st

from cockpit.k8s.admission.admission_cycle import AdmissionOutcome
from cockpit.k8s.admission.admission_specs import QueueSpec, WorkloadInfo
from cockpit.k8s.admission.flavor_assignment import Mode
from cockpit.k8s.admission.quota_tree import Quota
from cockpit.sim.actors.queue.pending_queue import PendingQueue
from tests.unit.sim.queue.test_quota_and_decisions import GPU, KEY, Bench, ask, hold, spec

amounts = st.integers(0, 12)


limits = st.none() | st.integers(0, 8)


policies = st.fixed_dictionaries(
    {
        "within_queue": st.sampled_from(["Never", "LowerPriority", "LowerOrNewerEqualPriority"]),
        "reclaim": st.sampled_from(["Never", "LowerPriority", "Any"]),
        "borrow_policy": st.sampled_from(["Never", "LowerPriority"]),
        "borrow_most_priority": st.none() | st.integers(0, 3),
    }
)


@st.composite
def estates(draw: st.DrawFn) -> list[QueueSpec]:
    return [
        spec(
            name,
            Quota(draw(amounts), draw(limits), draw(limits)),
            draw(st.sampled_from(["", "site", "site"])),
            **draw(policies),
        )
        for name in "abcd"[: draw(st.integers(1, 4))]
    ]


def within_limits(bench: Bench) -> None:
    """Nobody uses more than own quota and borrowing limit; a tree never more than all its quota."""
    for name, one in bench.specs.items():
        node, quota = bench.forest.queues[name], one.quotas[KEY]
        used = node.usage.get(KEY, 0)
        if node.parent is None:
            assert used <= quota.nominal
        elif quota.borrowing_limit is not None:
            assert used <= quota.nominal + quota.borrowing_limit
    for cohort in bench.forest.cohorts.values():
        assert cohort.usage.get(KEY, 0) <= cohort.subtree.get(KEY, 0)
        mine = [one for one in bench.specs.values() if one.cohort == cohort.name]
        assert sum(bench.forest.queues[one.name].usage.get(KEY, 0) for one in mine) <= sum(
            one.quotas[KEY].nominal for one in mine
        )


@settings(max_examples=300, deadline=None)
@given(estates(), st.lists(st.tuples(st.integers(0, 3), st.integers(1, 14), st.integers(0, 4)), max_size=14))
def test_quota_is_never_exceeded_and_only_the_weaker_give_way(
    specs: list[QueueSpec], arrivals: list[tuple[int, int, int]]
) -> None:
    bench = Bench(specs)
    for number, (where, gpus, priority) in enumerate(arrivals):
        queue = specs[where % len(specs)].name
        head = ask(f"w{number}", gpus, queue, priority, float(number))
        before = {name: dict(node.usage) for name, node in bench.forest.queues.items()}
        (decision,) = bench.decide(head)
        assert {name: node.usage for name, node in bench.forest.queues.items()} == before
        for target in decision.targets:
            victim = target.reservation
            if victim.queue == queue:
                assert victim.priority < priority or (
                    bench.specs[queue].within_queue == "LowerOrNewerEqualPriority"
                    and victim.priority == priority
                    and victim.moment > head.moment
                )
            else:
                assert bench.forest.queues[victim.queue].exceeds(KEY), "only who borrows is reclaimed from"
                assert bench.specs[queue].reclaim == "Any" or victim.priority < priority
            for key, amount in victim.usage.items():
                bench.forest.queues[victim.queue].remove(key, amount)
            bench.reservations.remove(victim)
        if decision.targets:
            (decision,) = bench.decide(head)
            assert decision.outcome is AdmissionOutcome.ADMIT, "those who gave way were enough"
        if decision.outcome is AdmissionOutcome.ADMIT:
            bench.reservations.append(hold(f"w{number}", gpus, queue, priority, float(number)))
            bench.count(bench.reservations[-1])
        within_limits(bench)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 6), st.integers(0, 3)), min_size=1, max_size=12))
def test_what_is_admitted_stays_when_nobody_may_preempt(arrivals: list[tuple[int, int]]) -> None:
    bench = Bench([spec("a", Quota(8), "site"), spec("b", Quota(4), "site")])
    for number, (gpus, priority) in enumerate(arrivals):
        (decision,) = bench.decide(ask(f"w{number}", gpus, "ab"[number % 2], priority, float(number)))
        assert decision.targets == ()
        assert (decision.outcome is AdmissionOutcome.ADMIT) == (decision.assignment.mode is Mode.FIT)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 6), st.integers(0, 2)), min_size=1, max_size=12), st.integers(1, 12))
def test_strict_order_never_overtakes(wanted: list[tuple[int, int]], quota: int) -> None:
    line = PendingQueue("StrictFIFO")
    asks = [ask(f"w{n}", gpus, "a", priority, float(n)) for n, (gpus, priority) in enumerate(wanted)]
    for one in asks:
        line.put(one, ready=True)
    bench = Bench([spec("a", Quota(quota))])
    admitted: list[WorkloadInfo] = []
    while (head := line.head()) is not None:
        (decision,) = bench.decide(head)
        if decision.outcome is not AdmissionOutcome.ADMIT:
            assert not line.failed(head), "nobody is tried behind a head that waits"
            assert line.head() == head
            break
        line.drop(head.key)
        admitted.append(head)
        bench.count(hold(head.key[1], head.pod_sets[0].requests[GPU]))
    order = sorted(asks, key=lambda one: (-one.priority, one.moment))
    assert admitted == order[: len(admitted)]
