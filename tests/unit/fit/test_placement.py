"""Placement quality against a table made by hand."""

import pytest

from cockpit.fit.placement import KNOWN_COST, Placement, placement_of
from cockpit.model.node import Node
from tests.unit.fit.builders import fleet, node


def _node(name: str, rack: str = "", zone: str = "", model: str = "H100") -> Node:
    labels = {"topology.kubernetes.io/rack": rack} if rack else {}
    return node(name, labels=labels, zone=zone, gpu_model=model)


STORE = fleet(
    _node("a1", "r1", "z1"),
    _node("a2", "r1", "z1"),
    _node("b1", "r2", "z1"),
    _node("c1", "r3", "z2"),
    _node("old", "r1", "z1", "A100"),
    _node("bare"),
)

TABLE = [
    ((), "", ""),
    (("gone",), "", ""),
    (("a1",), "1 node", "1 node, rack r1, zone z1"),
    (("a1", "a2", "a1"), "1 rack", "2 nodes, rack r1, zone z1"),
    (("a1", "b1"), "2 racks", f"2 nodes, 2 racks, zone z1; {KNOWN_COST}"),
    (("a1", "b1", "c1"), "2 zones", f"3 nodes, 3 racks, 2 zones; {KNOWN_COST}"),
    (
        ("a1", "old"),
        "1 rack, mixed",
        "2 nodes, rack r1, zone z1; cards are mixed (A100, H100): every step waits for the slowest",
    ),
    (("a1", "bare"), "2 nodes", "2 nodes, rack r1, zone z1, 1 of unknown rack"),
    (("bare",), "1 node", "1 node"),
]


@pytest.mark.parametrize(("nodes", "words", "sentence"), TABLE)
def test_placement(nodes: tuple[str, ...], words: str, sentence: str) -> None:
    found = placement_of(STORE, nodes)
    assert (found.words, found.sentence) == (words, sentence)


def test_costs_order_from_best_to_worst() -> None:
    costs = [placement_of(STORE, nodes).cost for nodes in (("a1",), ("a1", "a2"), ("a1", "b1"), ("a1", "c1"))]
    assert costs == sorted(set(costs))
    assert placement_of(STORE, ("a1", "old")).cost > placement_of(STORE, ("a1", "c1")).cost
    assert Placement(1, ("r",), ("z",), ("m",)).cost == 0
