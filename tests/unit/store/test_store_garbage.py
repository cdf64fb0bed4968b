"""Changes of the store leave nothing for the garbage collector (what they cost: tests/bench/rooms.py)."""

import gc

from cockpit.model.batch import Batch
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.store.store import Store


def fleet(count: int, phase: str, version: str) -> tuple[Pod, ...]:
    return tuple(
        Pod(
            uid=f"u{i}",
            name=f"p{i}",
            namespace=f"ns{i % 50}",
            resource_version=version,
            phase=phase,
            node=f"n{i % 250}",
            owner_uid=f"o{i // 4}",
            gpus=i % 2,
        )
        for i in range(count)
    )


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
