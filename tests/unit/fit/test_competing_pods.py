"""Pods of others that may come first: a start that is told for sure stands wherever these are put."""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from cockpit.fit.gang import fit, starts
from cockpit.fit.shape import Part, Shape
from cockpit.model.node import Node
from cockpit.model.pod import Pod
from tests.unit.fit.builders import NVIDIA, fleet, holder, node, shape
from tests.unit.fit.test_fit_properties import CPU, cluster, member


def _put_somewhere(nodes: list[Node], pods: list[Pod], rivals: list[Shape], random: Random) -> list[Pod]:
    """The rivals that find room on nodes, taken in any order."""
    there = list(pods)
    for number, asked in enumerate(rivals):
        most = [one for one in nodes if not one.unschedulable]
        random.shuffle(most)
        for one in most:
            part = Part("pod", 1, asked)
            seen = fit(fleet(one, *there), [part])
            if seen.fits:
                amounts = dict(asked.requests)
                there.append(
                    holder(f"rival-{number}", one.name, amounts[NVIDIA], cpu_millicores=amounts["cpu"])
                )
                break
    return there


@settings(max_examples=300, deadline=None)
@given(
    cluster(),
    member(wishes=False),
    st.integers(1, 4),
    st.lists(st.tuples(st.integers(1, 3), st.integers(1, 2)), max_size=4),
    st.randoms(use_true_random=False),
)
def test_what_starts_for_sure_starts_wherever_rivals_are_put(
    there: tuple[list[Node], list[Pod]],
    asked: Shape,
    wanted: int,
    others: list[tuple[int, int]],
    random: Random,
) -> None:
    nodes, pods = there
    rivals = [shape(gpus, more={"cpu": cpu * CPU}) for gpus, cpu in others]
    part = Part("worker", wanted, asked)
    if not starts(fleet(*nodes, *pods), [part], rivals=[Part("pod", 1, one) for one in rivals]):
        return
    for _ in range(5):
        placed = _put_somewhere(nodes, pods, rivals, random)
        assert starts(fleet(*nodes, *placed), [part])


def test_one_rival_takes_one_of_two_free_nodes() -> None:
    store, rival = fleet(node("a"), node("b")), Part("pod", 1, shape(1))
    assert starts(store, [Part("worker", 1, shape(8))], rivals=[rival])
    assert not starts(store, [Part("worker", 2, shape(8))], rivals=[rival])
    assert starts(store, [Part("worker", 2, shape(7))], rivals=[rival])


def test_a_rival_takes_nothing_where_it_cannot_go_or_leaves_enough() -> None:
    store, wanted = fleet(node("a")), [Part("worker", 1, shape(8))]
    assert starts(store, wanted, rivals=[Part("pod", 1, shape(8, node_selector=(("pool", "b"),)))])
    assert starts(store, wanted, rivals=[Part("pod", 1, shape(16))])
    assert starts(store, wanted, rivals=[Part("pod", 9, shape(0, more={"cpu": 1_000}))])


def test_what_is_missing_is_counted_after_the_seats_of_rivals() -> None:
    store = fleet(node("a"), node("b"), holder("x", "a", 8))
    answer = fit(store, [Part("worker", 1, shape(8))], rivals=[Part("pod", 1, shape(8))])
    assert answer.missing == 1
    (more,) = (one for one in answer.remedies if one.kind == "more_nodes")
    assert len(more.nodes) == 1
