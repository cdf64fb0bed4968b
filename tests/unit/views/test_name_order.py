"""The kept order equals a fresh one, whatever came and went; and what was ordered is not named again."""

from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from cockpit.views.lazy_table import NameOrder
from cockpit.views.order import natural


@dataclass(frozen=True, eq=False)
class Thing:
    """A record: told apart by identity, as the store replaces records by others of the same key."""

    key: str
    name: str


def order() -> NameOrder[Thing]:
    return NameOrder(lambda thing: thing.key, lambda thing: thing.name)


def fresh(rows: list[Thing]) -> list[Thing]:
    return sorted(rows, key=lambda thing: natural(thing.name))


STEPS = st.lists(
    st.tuples(st.sampled_from(["put", "put", "put", "drop", "look"]), st.integers(0, 12)), max_size=40
)


@settings(deadline=None, max_examples=200)
@given(STEPS)
def test_a_table_that_changes_is_always_in_order(steps: list[tuple[str, int]]) -> None:
    table: dict[str, Thing] = {}
    kept = order()
    for what, number in steps:
        key = f"uid-{number}"
        if what == "put":
            table[key] = Thing(key, f"worker-{number * 7 % 13}")
        elif what == "drop":
            table.pop(key, None)
        else:
            rows = list(table.values())
            assert kept.sorted(rows) == fresh(rows)
    rows = list(table.values())
    assert kept.sorted(rows) == fresh(rows)


@settings(deadline=None, max_examples=100)
@given(
    st.lists(st.permutations(range(6)).flatmap(lambda p: st.integers(0, 6).map(lambda n: p[:n])), max_size=5)
)
def test_rows_in_any_order_are_ordered_rightly_too(given_rows: list[list[int]]) -> None:
    things = [Thing(f"uid-{number}", f"n-{number}") for number in range(6)]
    kept = order()
    for numbers in given_rows:
        rows = [things[number] for number in numbers]
        assert kept.sorted(rows) == fresh(rows)


def test_only_new_rows_are_named() -> None:
    named: list[str] = []

    def name(thing: Thing) -> str:
        named.append(thing.key)
        return thing.name

    kept = NameOrder(lambda thing: thing.key, name)
    rows = [Thing(f"uid-{number}", f"gpu-{number}") for number in range(50)]
    kept.sorted(rows)
    assert len(named) == 50
    replaced = [Thing(rows[0].key, rows[0].name), *rows[1:40], Thing("uid-new", "gpu-7")]
    assert kept.sorted(replaced) == fresh(replaced)
    assert named[50:] == ["uid-new"]


def test_nothing_new_is_the_same_list_again() -> None:
    kept = order()
    rows = [Thing("a", "b-2"), Thing("b", "b-1")]
    assert kept.sorted(rows) is kept.sorted(list(rows))


def test_rows_of_one_name_stand_as_they_came() -> None:
    kept = order()
    first, second = Thing("a", "same"), Thing("b", "same")
    assert kept.sorted([first]) == [first]
    assert kept.sorted([first, second]) == [first, second]
