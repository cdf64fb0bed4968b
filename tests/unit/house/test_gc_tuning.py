"""The records are no work for the garbage collector."""

import gc
import random
from collections.abc import Callable, Iterator

import pytest

from cockpit import gc_tuning
from cockpit.model.batch import Batch
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.store.store import Store

PODS = 5_000
# Tables and indexes: a set for each node and each job, never one for each pod.
TRACKED_AT_MOST = 300


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    thresholds = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*thresholds)


def test_thresholds_of_the_collector_grow() -> None:
    gc_tuning.expect_many()
    assert gc.get_threshold()[0] >= 10_000
    assert gc.get_freeze_count() > 0


def test_what_has_settled_is_not_looked_at_again() -> None:
    kept = [[number] for number in range(1_000)]
    before = len(gc.get_objects())
    gc_tuning.settle()
    assert len(gc.get_objects()) < before - len(kept) // 2


class Page:
    """A page as far as the collector sees it: some thousand objects in cycles."""

    open_pages = 0

    def __init__(self) -> None:
        Page.open_pages += 1
        self.parts = [[self] for _ in range(5_000)]

    def __del__(self) -> None:
        Page.open_pages -= 1


def test_closed_pages_do_not_pile_up() -> None:
    gc_tuning.expect_many()
    gc_tuning.settle()
    gc.collect()
    before = Page.open_pages
    rng, stack, most = random.Random(1), [Page()], 0
    for _ in range(1_500):
        if rng.random() < 0.3 and len(stack) < 4:
            stack.append(Page())
        elif len(stack) > 1:
            stack.pop()
        else:
            stack[0] = Page()
        most = max(most, Page.open_pages - before)
    assert most < 45, "at the rounds of loading lists it is 70"


def test_a_quiet_moment_after_some_pages_collects_them() -> None:
    gc.collect()
    gc.disable()
    try:
        waiting: list[Callable[[], None]] = []
        pages = gc_tuning.ClosedPages(lambda seconds, fn: waiting.append(fn))
        before = Page.open_pages
        for number in range(1, 2 * gc_tuning.PAGES + 1):
            Page()
            pages.changed()
            while len(waiting) > 1:
                waiting.pop(0)()
                assert Page.open_pages == before + number, "a page changed since"
        waiting.pop()()
        assert Page.open_pages == before
        Page()
        pages.changed()
        waiting.pop()()
        assert Page.open_pages == before + 1, "too few to be worth a round"
    finally:
        gc.enable()
        gc.collect()


def test_pages_that_change_without_a_quiet_moment_do_not_pile_up() -> None:
    gc.collect()
    gc.disable()
    try:
        pages = gc_tuning.ClosedPages(lambda seconds, fn: None)
        before, most = Page.open_pages, 0
        for _ in range(5 * gc_tuning.MOST_PAGES):
            Page()
            pages.changed()
            most = max(most, Page.open_pages - before)
        assert most <= gc_tuning.MOST_PAGES
    finally:
        gc.enable()
        gc.collect()


def test_a_pod_in_the_store_adds_nothing_that_is_tracked() -> None:
    pods = tuple(
        Pod(
            uid=f"uid-{number}",
            name=f"worker-{number}",
            namespace="team-a",
            node=f"gpu-{number % 20}",
            gpus=1,
            gpu_resource="nvidia.com/gpu",
            owner_uid=f"job-{number % 20}",
            job_label=f"job-{number % 20}",
            created_seconds=float(number),
        )
        for number in range(PODS)
    )
    store = Store()
    gc.collect()
    before = len(gc.get_objects())
    store.apply(Batch(kind=Kind.POD, changed=pods))
    gc.collect()
    assert len(gc.get_objects()) - before < TRACKED_AT_MOST
