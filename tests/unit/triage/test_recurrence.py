"""What comes and goes, looked at again and again: one row with its count, the same words on *Now*, on the
page and in the command, until it has been over for a while."""

import re
from collections.abc import Iterable
from typing import Any

import msgspec
import pytest

from cockpit.catalogue.cause import Cause
from cockpit.commands.triage_document import finding_item
from cockpit.model.batch import Batch
from cockpit.model.event import Event
from cockpit.model.finding import Finding, Subject
from cockpit.model.gpu import Gpu
from cockpit.model.node import Node
from cockpit.model.pod import Pod
from cockpit.model.record import Condition, Kind, Record
from cockpit.triage.attention import needs_human
from cockpit.triage.engine import explain
from cockpit.triage.recurrence import WINDOW_SECONDS, Recurrence
from cockpit.triage.verdicts import Verdicts
from cockpit.views.why import lines
from tests.unit.jobs.builders import Cluster, batch_job, owned, up

START = 100_000.0
ROUND = 120
"""Seconds from one time to the next."""


def gpu_node(ready: str, since: float = START - 80_000) -> Node:
    return Node(
        uid="n",
        name="gpu-1",
        gpu_allocatable=8,
        gpu_capacity=8,
        conditions=(Condition("Ready", ready, "", "", since),),
        created_seconds=START - 90_000,
    )


def event(about: Record, reason: str, count: int, last: float, message: str = "", **more: Any) -> Event:
    kind = type(about).__name__
    fields = {
        "uid": f"{about.uid}-{reason}",
        "name": f"{about.name}.{reason}".lower(),
        "namespace": about.namespace or "default",
        "type": "Warning",
        "object_kind": kind,
        "object_name": about.name,
        "object_namespace": about.namespace,
        "object_uid": about.uid,
        "component": "kubelet",
        "first_seconds": START,
    }
    return Event(reason=reason, message=message, count=count, last_seconds=last, **{**fields, **more})


def told(cluster: Cluster, subject: Subject, now_seconds: float, verdicts: Verdicts) -> Finding | None:
    """The one row of *Now*, None without one; of it page, command and JSON say the same."""
    rows = needs_human(cluster.store, cluster.index, now_seconds, verdicts=verdicts)
    page = explain(subject, verdicts.view(now_seconds))
    if not rows:
        assert not page.is_trouble, page.sentence
        return None
    (row,) = rows
    assert (row.cause, row.sentence, row.since_seconds) == (page.cause, page.sentence, page.since_seconds)
    assert lines(page, verdicts.view(now_seconds))[1] == finding_item(row)["sentence"] == row.sentence
    return row


def counts(rows: Iterable[Finding]) -> list[int]:
    found = [re.search(r"(\d+) times in (\d+) min", row.sentence) for row in rows]
    assert all(found), [row.sentence for row in rows]
    return [int(one[1]) for one in found if one]


def one_row(rows: list[Finding | None]) -> list[Finding]:
    """It is there in every look, under one key, with one cause and one beginning."""
    known = [row for row in rows if row is not None]
    assert len(known) == len(rows)
    assert len({(row.key, row.cause, row.since_seconds) for row in known}) == 1, {
        (row.key, row.cause, row.since_seconds) for row in known
    }
    return known


def test_a_pull_that_comes_and_goes_is_one_row_with_its_tries() -> None:
    cluster, job = Cluster(), batch_job("llm", created_seconds=START - 60)
    pod = owned(job, "llm-0", gpus=1, node="gpu-1", phase="Pending", created_seconds=START - 60)
    node = gpu_node("True")
    cluster.put(job, node, pod)
    verdicts = Verdicts(cluster.store, cluster.index)
    rows: list[Finding | None] = []
    image, why = "reg.example.com/team/llm:1", "dial tcp: i/o timeout"
    for second in range(60, 1_200, 10):
        tries, phase = 1 + second // ROUND, second % ROUND
        reason = "ErrImagePull" if phase < 20 else "ImagePullBackOff" if phase < 90 else "ContainerCreating"
        last = START + second - phase
        failed = event(pod, "Failed", tries, last, f'Failed to pull image "{image}": {why}')
        pulls = event(pod, "Pulling", tries, START + second, f'Pulling image "{image}"', type="Normal")
        cluster.put(msgspec.structs.replace(pod, waiting_reason=reason, image=image), failed, pulls)
        rows.append(told(cluster, Subject("job", "team-a", "llm"), START + second, verdicts))
    known = one_row(rows)
    assert {row.cause for row in known} == {Cause.IMAGE_NOT_PULLED}
    again = counts(known[ROUND // 10 :])
    assert again == sorted(again) and (again[0], again[-1]) == (2, 10)


def test_an_image_that_came_in_the_end_is_no_trouble() -> None:
    cluster, job = Cluster(), batch_job("llm", created_seconds=START - 60)
    pod = owned(job, "llm-0", gpus=1, node="gpu-1", phase="Pending", created_seconds=START - 60)
    failed = event(pod, "Failed", 4, START, 'Failed to pull image "a": i/o timeout')
    came = event(pod, "Pulled", 1, START + 10, 'Successfully pulled image "a"', type="Normal")
    cluster.put(job, msgspec.structs.replace(pod, waiting_reason="ContainerCreating"), failed, came)
    found = explain(
        Subject("pod", "team-a", "llm-0"), Verdicts(cluster.store, cluster.index).view(START + 20)
    )
    assert found.cause == Cause.STARTING, found.sentence


@pytest.mark.parametrize("rank", [None, 0])
def test_a_job_between_two_attempts_stays_one_row_and_a_healed_one_goes(rank: int | None) -> None:
    cluster = Cluster()
    node = gpu_node("True")
    verdicts = Verdicts(cluster.store, cluster.index)
    rows: list[Finding | None] = []
    after: list[Finding | None] = []
    ends = 6 * ROUND
    for second in range(0, ends + int(WINDOW_SECONDS) + 200, 10):
        failures, phase = min(second, ends) // ROUND, second % ROUND
        is_waiting = phase < 30 and 0 < second < ends
        job = batch_job(
            "llm",
            1,
            1,
            created_seconds=START,
            failed=failures,
            active=0 if is_waiting else 1,
            started_seconds=START,
        )
        pods: list[Pod] = [
            owned(
                job, f"llm-{at}", gpus=1, rank=rank, node="gpu-1", phase="Failed", exit_code=137,
                terminated_reason="OOMKilled", created_seconds=START + at * ROUND,
                finished_seconds=START + (at + 1) * ROUND,
            )
            for at in range(failures)
        ]  # fmt: skip
        if not is_waiting:
            made = START + failures * ROUND
            pods.append(owned(job, f"llm-{failures}", gpus=1, rank=rank, created_seconds=made, **up()))
        cluster.put(node, job, *pods)
        if second < 2 * ROUND:
            continue  # one failure is no loop
        row = told(cluster, Subject("job", "team-a", "llm"), START + second, verdicts)
        (rows if second < ends + WINDOW_SECONDS else after).append(row)
    known = [row for row in rows if row is not None]
    assert len(known) == len(rows) and len({row.key for row in known}) == 1
    numbers = [
        int(re.findall(r"(\d+) (?:times|failed attempts) in \d+ min", row.sentence)[0]) for row in known
    ]
    assert numbers == sorted(numbers) and (numbers[0], numbers[-1]) == (2, 6)
    assert {row.since_seconds for row in known} == {START}
    assert after and not any(after)


def test_members_of_a_wide_job_that_failed_once_each_are_no_loop() -> None:
    cluster, job = Cluster(), batch_job("llm", 8, 1, created_seconds=START, failed=4, active=8)
    pods = [
        owned(job, f"old-{rank}", gpus=1, rank=rank, node="gpu-1", phase="Failed", exit_code=1,
              created_seconds=START, finished_seconds=START + 50)
        for rank in range(4)
    ]  # fmt: skip
    pods += [
        owned(job, f"new-{rank}", gpus=1, rank=rank, created_seconds=START + 60, **up()) for rank in range(8)
    ]
    cluster.put(job, *pods)
    assert needs_human(cluster.store, cluster.index, START + 120) == ()


@pytest.mark.parametrize("uid", ["n", "gpu-1"])
def test_a_node_that_flips_is_one_row_while_it_is_ready_as_well(uid: str) -> None:
    cluster = Cluster()
    verdicts = Verdicts(cluster.store, cluster.index)
    rows: list[Finding | None] = []
    after: list[Finding | None] = []
    ends = 8 * ROUND
    for second in range(0, ends + int(WINDOW_SECONDS) + 100, 10):
        flips, phase = 1 + min(second, ends) // ROUND, second % ROUND
        is_ready = phase >= 40 or second > ends
        last = START + (flips - 1) * ROUND
        node = gpu_node("True" if is_ready else "Unknown", last)
        said = event(node, "NodeNotReady", flips, last, object_uid=uid, type="Normal")
        cluster.put(node, said)
        row = told(cluster, Subject("node", "", "gpu-1"), START + second, verdicts)
        if 2 * ROUND <= second < ends + WINDOW_SECONDS:
            rows.append(row)
        elif second >= ends + WINDOW_SECONDS:
            after.append(row)
    known = one_row(rows)
    assert {row.finding for row in known} == {"node-not-ready"}
    assert counts(known) == sorted(counts(known)) and counts(known)[-1] == 9
    assert after and not any(after)


def test_a_node_that_was_started_again_does_not_flip() -> None:
    cluster = Cluster()
    node = gpu_node("True")
    by_both = [
        event(node, "NodeNotReady", 2, START, component=who, uid=who, type="Normal")
        for who in ("kubelet", "node-controller")
    ]
    cluster.put(node, *by_both)
    assert needs_human(cluster.store, cluster.index, START + 20) == ()


def test_a_card_that_throttles_now_and_then_is_one_row_with_its_times_and_a_cool_one_goes() -> None:
    cluster, node = Cluster(), gpu_node("True")
    verdicts = Verdicts(cluster.store, cluster.index)
    rows: list[Finding | None] = []
    after: list[Finding | None] = []
    cluster.put(node)
    ends = 6 * ROUND
    for second in range(0, ends + int(WINDOW_SECONDS) + 100, 10):
        is_hot = second % ROUND < 30 and second < ends
        card = Gpu(
            uuid="g0", node="gpu-1", index=0, duty_ratio=0.9, throttle=0x40 if is_hot else 0,
            temperature_celsius=88.0 if is_hot else 70.0, sampled_seconds=START + second,
        )  # fmt: skip
        cluster.store.apply(Batch(kind=Kind.GPU, changed=(card,)))
        row = told(cluster, Subject("node", "", "gpu-1"), START + second, verdicts)
        if second >= ROUND:
            (rows if second < ends + WINDOW_SECONDS - ROUND else after).append(row)
    known = one_row(rows)
    assert {row.finding for row in known} == {"node-hot"}
    assert counts(known) == sorted(counts(known)) and (counts(known)[0], counts(known)[-1]) == (2, 6)
    assert after and not after[-1]


HARM = {"throttle": 0x40}, {"temperature_celsius": 93.0}
WELL = {"throttle": 0x4, "temperature_celsius": 79.0}


def looks(reads: Iterable[tuple[int, bool]], harm: dict[str, Any], **more: Any) -> list[list[str]]:
    """What *Now* says after each read of a card, which comes at so many seconds and finds it harmed or not;
    page and command say the same."""
    cluster, verdicts = Cluster(), None
    cluster.put(gpu_node("True"))
    verdicts = Verdicts(cluster.store, cluster.index)
    found = []
    for second, is_harmed in reads:
        state = harm if is_harmed else WELL
        fields: dict[str, Any] = {"duty_ratio": 0.9, **state, **more}
        card = Gpu(uuid="g0", node="gpu-1", index=0, sampled_seconds=START + second, **fields)
        cluster.store.apply(Batch(kind=Kind.GPU, changed=(card,)))
        row = told(cluster, Subject("node", "", "gpu-1"), START + second, verdicts)
        found.append([] if row is None else [row.sentence])
    return found


@pytest.mark.parametrize("harm", HARM, ids=["throttled", "hot"])
@pytest.mark.parametrize("at", [0, 30, 90])
def test_one_read_of_a_harmed_card_is_no_row(harm: dict[str, Any], at: int) -> None:
    """At a fresh start, and between reads of a card that is well; so are two reads within a minute."""
    for reads in ((at,), (at, at + 30)):
        assert not any(looks([(second, second in reads) for second in range(0, 300, 30)], harm)), reads


@pytest.mark.parametrize("harm", HARM, ids=["throttled", "hot"])
@pytest.mark.parametrize("until", [60, 90, 240])
def test_a_card_that_is_harmed_for_a_minute_is_one_row_until_that_is_over(
    harm: dict[str, Any], until: int
) -> None:
    ends = until + int(WINDOW_SECONDS)
    seconds = range(0, ends + 60, 30)
    rows = looks([(second, second <= until) for second in seconds], harm)
    said = {second: row for second, row in zip(seconds, rows, strict=True) if row}
    assert list(said) == list(range(60, ends, 30)), "no flap"
    why = "too hot: the hardware slows it" if "throttle" in harm else "at 93°C: hot"
    assert f"GPU 0{':' * ('throttle' in harm)} {why}, for 1 min" == said[60][0]
    assert said[ends - 30][0].endswith(f"for {round(until / 60)} min")


def test_a_power_cap_is_no_harm_however_long() -> None:
    assert not any(looks([(second, False) for second in range(0, 900, 30)], {}))


@pytest.mark.parametrize(
    ("lasted_seconds", "told"),
    [
        (0.2, "1 s"),
        (24, "24 s"),
        (59, "59 s"),
        (61, "1 min"),
        (7_000, "117 min"),
        (9_000, "2 h"),
        (3e5, "3 days"),
    ],
)
def test_a_span_is_told_no_longer_than_it_was(lasted_seconds: float, told: str) -> None:
    assert Recurrence(2, 1_000.0, 1_000.0 + lasted_seconds).span == told
