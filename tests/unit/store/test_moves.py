"""Which records moved since a revision, and where pods' requests did."""

from hypothesis import given
from hypothesis import strategies as st

from cockpit.model.batch import Batch
from cockpit.model.record import Kind
from cockpit.store.moves import MOST, RecordMoves
from cockpit.store.store import Store
from tests.unit.store.builders import fleet


def test_what_was_put_or_dropped_since_a_revision_is_named() -> None:
    store = Store()
    pods = fleet(3, "Running", "1")
    store.apply(Batch(kind=Kind.POD, changed=pods))
    seen = store.revision
    store.apply(Batch(kind=Kind.POD, changed=fleet(1, "Running", "2")))
    store.apply(Batch(kind=Kind.POD, removed=(pods[2].uid,)))
    assert set(store.moved_since(Kind.POD, seen) or ()) == {pods[0].uid, pods[2].uid}
    assert store.revision_of(Kind.POD) == store.revision == seen + 2
    assert store.revision_of(Kind.NODE) == 0


def test_who_is_too_far_behind_is_told_to_look_at_all() -> None:
    store = Store()
    store.apply(Batch(kind=Kind.POD, changed=fleet(MOST + 1, "Running", "1")))
    assert store.moved_since(Kind.POD, -1) is None
    assert store.moved_since(Kind.POD, 0) is None
    assert not store.moved_since(Kind.POD, store.revision)


def test_nodes_are_named_whose_pods_ask_for_something_else() -> None:
    store = Store()
    pods = fleet(4, "Running", "1")
    store.apply(Batch(kind=Kind.POD, changed=pods))
    seen = store.pods_room_revision
    store.apply(Batch(kind=Kind.POD, removed=(pods[1].uid,)))
    assert list(store.rooms_moved_since(seen) or ()) == [pods[1].node]


@given(st.lists(st.integers(1, MOST + 3), min_size=1, max_size=8), st.integers(0, 9))
def test_moves_that_come_together_are_remembered_as_one_by_one(counts: list[int], since: int) -> None:
    together, single = RecordMoves(), RecordMoves()
    for revision, count in enumerate(counts, start=1):
        uids = [f"{revision}-{number}" for number in range(count)]
        together.note_all(revision, uids)
        for uid in uids:
            single.note(revision, uid)
    assert together.revision == single.revision == len(counts)
    assert together.since(since) == single.since(since)
