"""What a list brings is handed on in few steps, and at once where nothing follows."""

import asyncio

from cockpit.clock import ManualClock
from cockpit.kube.batcher import BATCH_OBJECTS, GATHER_OBJECTS, Batcher
from cockpit.model.batch import Batch, ListMark, Phase
from cockpit.model.pod import Pod
from cockpit.store.store import Store

DEADLINE_SECONDS = 60.0


class Sink:
    """Batches, and a way to wait for the next one."""

    def __init__(self) -> None:
        self.batches: list[Batch] = []
        self.told = asyncio.Event()

    def __call__(self, batch: Batch) -> None:
        self.batches.append(batch)
        if batch.changed:
            self.told.set()

    @property
    def sizes(self) -> list[int]:
        return [len(batch.changed) for batch in self.batches if batch.changed]


def pods(first: int, count: int) -> list[Pod]:
    return [Pod(uid=f"uid-{number}", name=f"pod-{number}") for number in range(first, first + count)]


def listing() -> tuple[Batcher, Sink]:
    sink = Sink()
    batcher = Batcher(sink, ManualClock(), "pod", "")
    batcher.begin()
    return batcher, sink


async def test_chunks_of_a_list_are_gathered_and_handed_on_although_none_follows() -> None:
    batcher, sink = listing()
    for first in (0, 10, 20):
        batcher.chunk_begins()
        batcher.listing(pods(first, 10))
        batcher.chunk_ends()
    assert sink.sizes == []
    async with asyncio.timeout(DEADLINE_SECONDS):
        await sink.told.wait()
    assert sink.sizes == [30]
    assert [pod.name for pod in sink.batches[-1].changed] == [f"pod-{number}" for number in range(30)]


async def test_many_are_handed_on_at_once() -> None:
    batcher, sink = listing()
    batcher.listing(pods(0, GATHER_OBJECTS - 1))
    batcher.chunk_ends()
    assert sink.sizes == []
    batcher.listing(pods(GATHER_OBJECTS, 1))
    batcher.chunk_ends()
    assert sink.sizes == [GATHER_OBJECTS]
    assert GATHER_OBJECTS < BATCH_OBJECTS


async def test_the_end_of_a_list_brings_what_was_gathered_and_a_watch_gathers_nothing() -> None:
    batcher, sink = listing()
    batcher.listing(pods(0, 5))
    batcher.chunk_ends()
    batcher.end(Phase.LIVE)
    assert [(batch.mark, len(batch.changed)) for batch in sink.batches] == [
        (ListMark.BEGIN, 0),
        (ListMark.END, 5),
    ]
    batcher.changed(pods(9, 1)[0], is_new=True)
    batcher.chunk_ends()
    assert sink.sizes == [5, 1]


async def test_an_interrupted_list_keeps_what_was_gathered() -> None:
    batcher, sink = listing()
    batcher.listing(pods(0, 5))
    batcher.chunk_ends()
    batcher.interrupted()
    assert sink.sizes == [5]


async def test_nobody_is_told_after_the_stream_was_given_up() -> None:
    batcher, sink = listing()
    batcher.listing(pods(0, 5))
    batcher.chunk_ends()
    due = batcher._due
    assert due is not None
    batcher.falls_silent()
    assert due.cancelled()
    assert sink.sizes == []


def test_what_comes_back_within_a_chunk_is_there() -> None:
    """A selector, or events sent twice: the same object is gone and there again."""
    sink = Sink()
    batcher = Batcher(sink, ManualClock(), "pod", "")
    store = Store()
    (pod,) = pods(0, 1)
    batcher.changed(pod, is_new=True)
    batcher.removed(pod.uid)
    batcher.changed(pod, is_new=True)
    batcher.flush()
    for batch in sink.batches:
        store.apply(batch)
    assert list(store.records("pod")) == [pod.uid]
    batcher.removed(pod.uid)
    batcher.listing([pod])
    batcher.removed(pod.uid)
    batcher.flush()
    for batch in sink.batches:
        store.apply(batch)
    assert list(store.records("pod")) == []
