"""What the cluster autoscaler counts of its groups, beside what the nodes show: texts of the real one, 1.37."""
# ruff: noqa: E501 - texts as they are written

from typing import Any

import pytest

from cockpit.model.batch import Batch
from cockpit.model.event import Event
from cockpit.model.finding import Finding, Subject
from cockpit.model.record import Kind
from cockpit.pools import registry
from cockpit.triage.engine import explain
from tests.unit.triage.objects import NOW, Tree, node, view_of
from tests.unit.triage.test_lost_gpus import pod

HEAD = "pod didn't trigger scale-up: "
FULL, BACKOFF = "max node group size reached", "in backoff after failed scale-up"
SELECTOR = "node(s) didn't match Pod's node affinity/selector"
TAINT = "node(s) had untolerated taint(s)"
RECORDED = {
    f"1 {BACKOFF}, 1 {FULL}, 1 {SELECTOR}": (1, 1, 1),
    f"1 {FULL}, 2 Insufficient nvidia.com/gpu": (1, 0, 2),
    f"1 {SELECTOR}, 1 {BACKOFF}, 1 {FULL}": (1, 1, 1),
    f"1 {TAINT}, 2 {SELECTOR}, 2 {FULL}": (2, 0, 3),
    f"1 not ready for scale-up, 2 {FULL}, 1 {TAINT}, 1 {SELECTOR}": (2, 1, 2),
    f"2 {SELECTOR}, 1 {FULL}": (1, 0, 2),
}


def said(text: str, uid: str = "team-a-answer") -> Event:
    return Event(
        uid="e",
        name="e",
        namespace="team-a",
        reason="NotTriggerScaleUp",
        message=HEAD + text,
        object_kind="Pod",
        object_name="answer",
        object_namespace="team-a",
        object_uid=uid,
        first_seconds=NOW - 60,
        last_seconds=NOW - 10,
    )


@pytest.mark.parametrize("text", RECORDED)
def test_its_counts_are_of_groups_and_of_what_keeps_each(text: str) -> None:
    told = registry.refusals(said(text))
    full = sum(one.groups for one in told if one.is_full)
    waiting = sum(one.groups for one in told if one.is_waiting)
    assert (full, waiting, sum(one.groups for one in told) - full - waiting) == RECORDED[text]


def test_other_events_count_no_group() -> None:
    assert registry.refusals(Event(uid="e", name="e", reason="TriggeredScaleUp", message=HEAD + "1 x")) == ()


POOL = {"eks.amazonaws.com/nodegroup": "h100"}


def verdict(text: str, *objects: Tree, **asked: Any) -> Finding:
    view = view_of([node("a", 8, labels=POOL), pod("holder", 8, on="a"), *objects, pod("answer", **asked)])
    view.store.apply(Batch(kind=Kind.EVENT, changed=(said(text),)))  # type: ignore[attr-defined]
    return explain(Subject("pod", "team-a", "answer"), view)


@pytest.mark.parametrize("text", RECORDED)
@pytest.mark.parametrize(
    ("asked", "cause"),
    [
        ({"gpus": 12}, "gpus-short"),
        ({"nodeSelector": {"ca-pool": "manual"}, "is_elsewhere": True}, "selector"),
    ],
)
def test_the_reason_of_a_group_that_would_not_serve_it_is_not_its_own(
    text: str, asked: dict[str, Any], cause: str
) -> None:
    found = verdict(text, **asked)
    assert found.cause == cause
    assert not {"maximum", "backs off", "backoff"} & set(found.sentence.replace(",", "").split()), (
        found.sentence
    )
    assert any(one.value == HEAD + text for one in found.evidence), "what was said is not hidden"


def test_a_taint_that_it_does_not_tolerate_stays_the_cause() -> None:
    taint = [{"key": "team", "value": "b", "effect": "NoSchedule"}]
    view = view_of([node("a", 8, labels=POOL, taints=taint), pod("answer")])
    view.store.apply(Batch(kind=Kind.EVENT, changed=(said(f"1 {TAINT}, 2 {FULL}"),)))  # type: ignore[attr-defined]
    assert "maximum" not in explain(Subject("pod", "team-a", "answer"), view).sentence


@pytest.mark.parametrize(
    ("text", "cause", "words"),
    [
        (f"1 {FULL}, 2 {SELECTOR}", "pool-at-maximum", "pool h100 is at its maximum"),
        (f"1 {BACKOFF}, 2 {SELECTOR}", "no-machine", "backs off from pool h100"),
        (f"1 {FULL}, 1 {BACKOFF}", "gpus-short", "node groups: 1 at the maximum, 1 in backoff"),
        (f"2 {SELECTOR}, 1 {TAINT}", "gpus-short", "all 8 GPUs on 1 node are allocated"),
    ],
)
def test_the_reason_of_the_pool_that_would_serve_it_is_told(text: str, cause: str, words: str) -> None:
    found = verdict(text)
    assert (found.cause, words in found.sentence) == (cause, True), found.sentence
