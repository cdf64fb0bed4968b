"""Changes of the store leave nothing for the garbage collector (what they cost: tests/bench/rooms.py)."""

import gc

from cockpit.model.batch import Batch
from cockpit.model.record import Kind
from cockpit.store.store import Store
from tests.unit.store.builders import fleet


def test_500_changes_leave_no_garbage_for_the_collector() -> None:
    store = Store()
    store.apply(Batch(kind=Kind.POD, changed=fleet(5_000, "Running", "1")))
    store.take_delta()
    gc.collect()
    tracked = len(gc.get_objects())
    for version in range(2, 7):
        store.apply(Batch(kind=Kind.POD, changed=fleet(500, "Running", str(version))))
        store.take_delta()
    gc.collect()
    assert len(gc.get_objects()) - tracked < 100
