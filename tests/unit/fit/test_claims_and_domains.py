"""Claims that the chosen nodes cannot reach, and gangs that have to stand inside one domain."""

from typing import Any

from cockpit.fit.claims import claim_conflicts
from cockpit.fit.scheduling_context import Claim, Surroundings, Volume
from cockpit.fit.shape import Part
from cockpit.fit.topology_placement import fit_together
from cockpit.store.store import Store
from tests.unit.fit.builders import HOST, ZONE, fleet, holder, node, shape

RACK = "example.com/rack"


def around(**zones: str) -> Surroundings:
    """Bound claims, each with a volume in its zone."""
    claims = {name: Claim(name, f"v-{name}", is_bound=True) for name in zones}
    volumes = {f"v-{name}": Volume(f"v-{name}", zones=((ZONE, zone),)) for name, zone in zones.items()}
    return Surroundings(claims=claims, volumes=volumes, classes={})


def zoned() -> Store:
    return fleet(
        node("a1", labels={ZONE: "eu-1a"}),
        node("b1", labels={ZONE: "eu-1b"}),
        node("b2", labels={ZONE: "eu-1b"}),
    )


def told(store: Store, known: Surroundings, **fields: Any) -> tuple[str, ...]:
    return claim_conflicts(store, [Part("worker", 2, shape(8, **fields))], known)


def test_a_claim_in_another_zone_than_the_chosen_nodes_is_said_in_words() -> None:
    pins = {"node_selector": ((ZONE, "eu-1b"),), "claims": ("data",)}
    assert told(zoned(), around(data="eu-1a"), **pins) == (
        "claim data lies in eu-1a, the chosen nodes (b1, b2) lie in eu-1b: its pods could never start there",
    )
    assert told(zoned(), around(data="eu-1b"), **pins) == ()
    assert told(zoned(), around(data="eu-1a"), claims=("data",)) == ()
    assert told(zoned(), around(data="eu-1a"), node_selector=((HOST, "a1"),), claims=("data",)) == ()


def test_two_claims_that_lie_apart_are_said_even_without_a_pin() -> None:
    (line,) = told(zoned(), around(data="eu-1a", out="eu-1b"), claims=("data", "out"))
    assert line == "claim data lies in eu-1a and claim out in eu-1b: no node reaches both"


def test_nothing_is_said_of_what_was_not_read() -> None:
    pins = {"node_selector": ((ZONE, "eu-1b"),), "claims": ("data",)}
    assert told(zoned(), Surroundings(), **pins) == ()
    assert told(zoned(), Surroundings(claims={}, volumes={}, classes={}), **pins) == ()
    unbound = Surroundings(claims={"data": Claim("data")}, volumes={}, classes={})
    assert told(zoned(), unbound, **pins) == ()


def racks(*free: tuple[str, str, int]) -> Store:
    """(node, rack, free GPUs of 8)."""
    records: list[Any] = []
    for name, rack, left in free:
        records.append(node(name, 8, labels={RACK: rack}))
        if left < 8:
            records.append(holder(f"h-{name}", name, 8 - left))
    return fleet(*records)


def worker(count: int, gpus: int = 8) -> list[Part]:
    return [Part("launcher", 1, shape(0)), Part("worker", count, shape(gpus))]


def test_a_gang_inside_one_domain_takes_the_one_that_holds_it() -> None:
    store = racks(("a1", "a", 8), ("a2", "a", 2), ("b1", "b", 8), ("b2", "b", 8))
    found = fit_together(store, worker(2), RACK, bound_parts=(1,))
    assert found.answer is not None
    assert (found.answer.missing, found.domain, found.domains) == (0, "b", 2)
    assert {name for name, count in found.answer.places if count} >= {"b1", "b2"}


def test_free_gpus_in_two_domains_are_no_room_for_one_gang() -> None:
    store = racks(("a1", "a", 8), ("b1", "b", 8), ("c1", "c", 4))
    found = fit_together(store, worker(2), RACK, bound_parts=(1,))
    assert found.answer is not None and found.answer.missing == 1
    assert found.domains == 3 and found.domain in ("a", "b")


def test_nodes_are_domains_without_a_label_of_their_own() -> None:
    store = fleet(node("n1", labels={}), node("n2", labels={}), holder("h", "n1", 6))
    found = fit_together(store, worker(4, 2), HOST, bound_parts=(1,))
    assert found.answer is not None
    assert (found.answer.missing, found.domain) == (0, "n2")


def test_no_node_with_the_label_is_no_answer() -> None:
    found = fit_together(fleet(node("n1", labels={})), worker(1), RACK, bound_parts=(1,))
    assert (found.answer, found.domains) == (None, 0)
