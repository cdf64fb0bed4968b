"""The engine: order, timers, retries, and the same history twice. The port is one in memory."""

import asyncio
from collections.abc import Iterable
from random import Random

import pytest

from cockpit.clock import ManualClock, SystemClock
from cockpit.kube.resource import PODS
from cockpit.sim.engine import Actor, ActorEngine, Key
from cockpit.sim.port import ObjectChange, PortError, Tree
from tests.adapters.memory_port import MemoryPort


class Diary(Actor):
    """Writes down when it was asked for what; refuses the first `failures` times."""

    name = "diary"
    watches = (PODS,)

    def __init__(self, failures: int = 0) -> None:
        super().__init__()
        self.lines: list[tuple[float, Key]] = []
        self.failures = failures
        self.repeat_seconds = 0.0

    def wake(self, change: ObjectChange, before: Tree | None) -> Iterable[Key]:
        yield (change.type.value, change.tree["metadata"]["name"], "" if before is None else "known")

    async def reconcile(self, key: Key) -> None:
        self.lines.append((round(self.engine.now() - START, 3), key))
        if self.failures:
            self.failures -= 1
            raise PortError(409, "Conflict", "the object has been modified")
        if self.repeat_seconds:
            self.engine.after(self.repeat_seconds, self, key)


START = ManualClock().now()


def pod(name: str) -> Tree:
    return {"metadata": {"namespace": "a", "name": name}}


async def started(actor: Actor) -> tuple[ActorEngine, MemoryPort]:
    clock = ManualClock()
    port = MemoryPort(clock)
    engine = ActorEngine(port, clock, Random(1), [actor])
    await engine.start()
    return engine, port


async def test_changes_wake_in_the_order_of_the_server_and_know_what_was_before() -> None:
    diary = Diary()
    engine, port = await started(diary)
    port.put(PODS, pod("b"))
    port.put(PODS, pod("a"))
    port.put(PODS, pod("b"))
    await engine.advance(0)
    assert [key for _, key in diary.lines] == [
        ("ADDED", "b", ""),
        ("ADDED", "a", ""),
        ("MODIFIED", "b", "known"),
    ]
    assert {tree["metadata"]["name"] for tree in engine.cache(PODS)} == {"a", "b"}
    port.drop(PODS, "a", "b")
    await engine.advance(0)
    assert engine.cache(PODS).get("a", "b") is None
    assert len(engine.cache(PODS)) == 1


async def test_one_key_asked_for_twice_is_worked_off_once() -> None:
    diary = Diary()
    engine, port = await started(diary)
    port.put(PODS, pod("a"))
    await engine.advance(0)
    port.put(PODS, pod("a"))
    port.put(PODS, pod("a"))
    await engine.advance(0)
    assert len([key for _, key in diary.lines if key == ("MODIFIED", "a", "known")]) == 1


async def test_timers_ring_at_their_time_and_the_earlier_one_stands() -> None:
    diary = Diary()
    engine, _ = await started(diary)
    engine.after(5.0, diary, ("late",))
    engine.after(9.0, diary, ("late",))
    engine.after(2.0, diary, ("soon",))
    await engine.advance(10)
    assert diary.lines == [(2.0, ("soon",)), (5.0, ("late",))]


async def test_a_timer_set_while_time_passes_rings_within_the_same_advance() -> None:
    diary = Diary()
    diary.repeat_seconds = 3.0
    engine, _ = await started(diary)
    engine.soon(diary, ("tick",))
    await engine.advance(7)
    assert [at for at, _ in diary.lines] == [0.0, 3.0, 6.0]
    assert engine.now() - START == 7


async def test_a_conflict_is_tried_again_later_each_time() -> None:
    diary = Diary(failures=3)
    engine, _ = await started(diary)
    engine.soon(diary, ("x",))
    await engine.advance(5)
    assert [at for at, _ in diary.lines] == [0.0, 0.05, 0.15, 0.35]


async def test_only_a_stepped_clock_advances_and_stop_closes_the_port() -> None:
    port = MemoryPort(ManualClock())
    engine = ActorEngine(port, SystemClock(), Random(1), [Diary()])
    await engine.start()
    with pytest.raises(TypeError):
        await engine.advance(1)
    await engine.stop()
    assert port.is_closed


def test_an_actor_without_an_engine_says_so() -> None:
    with pytest.raises(RuntimeError):
        _ = Diary().engine


@pytest.mark.parametrize("ticks", range(6))
async def test_an_end_that_comes_together_with_a_change_is_an_end(ticks: int) -> None:
    """Python 3.11's wait_for takes a result for a cancellation when both come in one round of the loop."""
    port = MemoryPort(ManualClock())
    diary = Diary()
    engine = ActorEngine(port, SystemClock(), Random(1), [diary])
    await engine.start()
    engine.after(3600.0, diary, ("late",))
    running = asyncio.create_task(engine.run())
    for _ in range(5):
        await asyncio.sleep(0)
    port.put(PODS, pod("one"))
    for _ in range(ticks):
        await asyncio.sleep(0)
    running.cancel()
    await asyncio.wait({running}, timeout=10)
    assert running.cancelled()
    await engine.stop()
