"""The recorder: one object for what repeats, a new one when the server has forgotten, never a failure."""

from random import Random
from typing import Any

from cockpit.clock import ManualClock
from cockpit.kube.resource import EVENTS
from cockpit.sim.actors.common.recorder import NORMAL, WARNING, Recorder
from cockpit.sim.port import PortError, Tree
from cockpit.sim.times import rfc3339, rfc3339_micro, seconds_of
from tests.adapters.memory_port import MemoryPort

POD: Tree = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"namespace": "a", "name": "train", "uid": "u1", "resourceVersion": "7"},
}
NODE: Tree = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "gpu-1", "uid": "u2"}}


def made(seed: int = 1) -> tuple[MemoryPort, ManualClock, Recorder]:
    clock = ManualClock()
    port = MemoryPort(clock)
    return port, clock, Recorder(port, clock, Random(seed), "kubelet", "gpu-1")


async def test_an_event_repeats_as_a_count_on_one_object() -> None:
    port, clock, recorder = made()
    await recorder.event(
        POD, WARNING, "BackOff", "Back-off pulling image", field_path="spec.containers{main}"
    )
    first = clock.now()
    clock.advance(30)
    await recorder.event(
        POD, WARNING, "BackOff", "Back-off pulling image", field_path="spec.containers{main}"
    )
    ((_, namespace, name), event) = next(iter(port.objects.items()))
    assert len(port.of(EVENTS)) == 1
    assert namespace == "a"
    assert name.startswith("train.") and len(name) == len("train.") + 16
    assert event["count"] == 2
    assert event["firstTimestamp"] == rfc3339(first)
    assert event["lastTimestamp"] == rfc3339(first + 30)
    assert event["source"] == {"component": "kubelet", "host": "gpu-1"}
    assert event["involvedObject"] == {
        "kind": "Pod",
        "apiVersion": "v1",
        "namespace": "a",
        "name": "train",
        "uid": "u1",
        "resourceVersion": "7",
        "fieldPath": "spec.containers{main}",
    }


async def test_other_words_are_another_event_and_nodes_are_told_in_default() -> None:
    port, _, recorder = made()
    await recorder.event(POD, NORMAL, "Pulled", "one")
    await recorder.event(POD, NORMAL, "Pulled", "two")
    await recorder.event(NODE, NORMAL, "NodeReady", "Node gpu-1 status is now: NodeReady")
    assert sorted(event["metadata"]["namespace"] for event in port.of(EVENTS)) == ["a", "a", "default"]


async def test_what_the_server_forgot_starts_anew() -> None:
    port, _, recorder = made()
    await recorder.event(POD, NORMAL, "Pulled", "one")
    port.objects.clear()
    await recorder.event(POD, NORMAL, "Pulled", "one")
    assert [event["count"] for event in port.of(EVENTS)] == [1]


async def test_a_refused_event_is_dropped_without_a_failure_and_told_again_later() -> None:
    port, _, recorder = made()
    port.refusals.append(PortError(403, "Forbidden", "namespace is being terminated"))
    await recorder.event(POD, NORMAL, "Pulled", "one")
    assert not port.of(EVENTS)
    await recorder.event(POD, NORMAL, "Pulled", "one")
    assert len(port.of(EVENTS)) == 1


async def test_the_tenth_message_of_one_reason_and_all_after_it_share_an_object() -> None:
    port, clock, recorder = made()
    for number in range(15):
        await recorder.event(POD, NORMAL, "SuccessfulCreate", f"Created pod: train-{number}")
    messages = {event["message"]: event["count"] for event in port.of(EVENTS)}
    assert len(messages) == 10
    assert messages["Created pod: train-8"] == 1
    assert messages["(combined from similar events): Created pod: train-14"] == 6
    clock.advance(601)
    await recorder.event(POD, NORMAL, "SuccessfulCreate", "Created pod: train-15")
    assert "Created pod: train-15" in {event["message"] for event in port.of(EVENTS)}


async def test_about_one_object_25_things_are_told_and_then_one_in_five_minutes() -> None:
    port, clock, recorder = made()
    for _ in range(40):
        await recorder.event(POD, NORMAL, "MPIJobRunning", "it runs")
    await recorder.event(NODE, NORMAL, "NodeReady", "another object has its own")
    assert sorted(event["count"] for event in port.of(EVENTS)) == [1, 25]
    clock.advance(300)
    for _ in range(3):
        await recorder.event(POD, NORMAL, "MPIJobRunning", "it runs")
    assert sorted(event["count"] for event in port.of(EVENTS)) == [1, 26]


async def test_what_the_scheduler_says_is_never_dropped() -> None:
    port = MemoryPort(ManualClock())
    recorder = Recorder(port, ManualClock(), Random(1), "default-scheduler")
    for _ in range(40):
        await recorder.event(POD, WARNING, "FailedScheduling", "0/3 nodes are available")
    assert [event["count"] for event in port.of(EVENTS)] == [40]


async def test_memory_is_bounded() -> None:
    _, _, recorder = made()
    for number in range(5_000):
        pod: Tree = {**POD, "metadata": {**POD["metadata"], "uid": f"u{number}"}}
        await recorder.event(pod, NORMAL, "Pulled", str(number))
    held: Any = recorder
    assert [len(held._told), len(held._similar), len(held._tokens)] == [4096] * 3


def test_times_in_both_forms() -> None:
    assert rfc3339(1_790_000_000.9) == "2026-09-21T14:13:20Z"
    assert rfc3339_micro(1_790_000_000.25) == "2026-09-21T14:13:20.250000Z"
    assert seconds_of("2026-09-21T14:13:20Z") == 1_790_000_000
    assert seconds_of(rfc3339_micro(1_790_000_000.25)) == 1_790_000_000.25
