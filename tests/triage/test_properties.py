"""What holds of every verdict, whatever the case: strangers do not change it, and its funnel adds up."""

import random
from collections.abc import Mapping
from itertools import pairwise

import msgspec
import pytest

from cockpit.model.finding import Finding
from cockpit.model.sureness import Sureness
from cockpit.triage.engine import explain
from tests.triage.case import Case, Tree, read_cases
from tests.triage.fresh import fresh
from tests.triage.judge import judged
from tests.triage.world import view_of

AGO = "2020-01-01T00:00:00Z"


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    return [*read_cases(), *fresh(20261123, 80)]


def _verdict(case: Case) -> Finding:
    return explain(case.file.subject, view_of(case))


def _meta(name: str, space: str = "elsewhere") -> Tree:
    named = {"name": name, "namespace": space} if space else {"name": name}
    return {**named, "uid": f"uid-{name}", "resourceVersion": "1", "creationTimestamp": AGO}


def _healthy(rng: random.Random) -> Mapping[str, Tree]:
    """One object of each kind that is well and has to do with nobody, named by chance."""
    name = f"well-{rng.randrange(10**6)}"
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": _meta(name),
        "spec": {"containers": [{"name": "web", "image": "web:1"}], "schedulerName": "default-scheduler"},
        "status": {"phase": "Succeeded"},
    }
    finished = {"type": "Complete", "status": "True", "lastTransitionTime": AGO}
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": _meta(f"{name}-job"),
        "spec": {"parallelism": 1, "template": {"spec": pod["spec"]}},
        "status": {"succeeded": 1, "completionTime": AGO, "conditions": [finished]},
    }
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": _meta(f"{name}.1"),
        "involvedObject": {"apiVersion": "v1", "kind": "Pod", "name": name, "namespace": "elsewhere"},
        "reason": "Started",
        "message": "Started container web",
        "type": "Normal",
        "firstTimestamp": AGO,
        "lastTimestamp": AGO,
        "count": 1,
    }
    queue = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "LocalQueue",
        "metadata": _meta(f"{name}-queue"),
        "spec": {"clusterQueue": f"{name}-cluster-queue"},
    }
    group = {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": _meta(f"{name}-group"),
        "spec": {"minMember": 2},
        "status": {"phase": "Finished"},
    }
    return {
        "pods": pod,
        "jobs.batch": job,
        "events": event,
        "localqueues.kueue.x-k8s.io": queue,
        "podgroups.scheduling.x-k8s.io": group,
    }


def _with_a_stranger(case: Case) -> Case:
    """A kind that is not served at all stays so: that it is served would be news."""
    more = _healthy(random.Random(case.name))
    added = {label: [*case.objects[label], tree] for label, tree in more.items() if label in case.objects}
    assert added
    return msgspec.structs.replace(case, objects={**case.objects, **added})


def test_an_unrelated_healthy_object_changes_no_verdict(cases: list[Case]) -> None:
    changed = []
    for case in cases:
        before, after = _verdict(case), _verdict(_with_a_stranger(case))
        same = ("cause", "sentence", "sureness", "also", "funnel", "facts")
        if any(getattr(before, field) != getattr(after, field) for field in same):
            changed.append(f"{case.name}: {before.sentence!r} became {after.sentence!r}")
    assert not changed, "\n".join(changed)


def test_a_funnel_adds_up_to_the_nodes_of_the_cluster(cases: list[Case]) -> None:
    wrong, funnels = [], 0
    for case in cases:
        funnel = _verdict(case).funnel
        if funnel is None:
            continue
        funnels += 1
        left = [funnel.nodes, *(step.nodes for step in funnel.steps)]
        dropped = [before - after for before, after in pairwise(left)]
        adds_up = sum(dropped) + funnel.passing == funnel.nodes == len(case.objects["nodes"])
        if not adds_up or min(dropped, default=0) < 0 or (funnel.best_free or 0) < 0:
            wrong.append(f"{case.name}: {funnel}")
    assert funnels > 50
    assert not wrong, "\n".join(wrong)


def test_fresh_cases_reach_what_the_committed_ones_reach() -> None:
    found = judged(fresh(7, 120))
    wrong = [one.line() for one in found if not one.is_right]
    assert not wrong, "\n".join(wrong)
    assert not any(one.verdict.sureness is Sureness.PROVED and not one.is_cause_right for one in found)


def test_a_volume_elsewhere_is_told_with_its_zone_and_those_of_the_pools(cases: list[Case]) -> None:
    """Where the volume lies, where the nodes lie that would do without it, and what to do about it."""
    found = [_verdict(one) for one in cases if one.name.startswith("volume-elsewhere-other-zone")]
    assert found
    for verdict in found:
        told = {one.field: one.value for one in verdict.evidence}
        volume, pools = told["spec.nodeAffinity"], told["zones of its nodes"].split(", ")
        assert volume in verdict.sentence
        assert pools and volume not in pools, "no node that would take the pod lies there"
