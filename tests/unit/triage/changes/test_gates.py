"""What blocks a job once an offer is done: each gate behind the one that the offer opens."""

from typing import Any

import msgspec

from cockpit.fit.what_if import changed_store
from cockpit.model.finding import Change, Finding
from cockpit.model.gang import AdmissionCheck
from cockpit.model.record import Kind
from cockpit.triage.changes.smallest import changes_for
from cockpit.triage.context import ClusterView
from cockpit.triage.engine import explain
from tests.unit.triage.changes.test_changes import WAITS, queued, queues
from tests.unit.triage.changes.test_changes_in_line import line
from tests.unit.triage.objects import NVIDIA, Tree, changes_of, meta, node, view_of

KUEUE = "kueue.x-k8s.io/v1beta1"


def starting(trees: list[Tree], **trees_read: list[Tree]) -> dict[str, Change]:
    """By kind what is said to start it; `trees_read` are objects of the cluster that were read besides."""
    view = view_of(trees)
    read = {**view.trees, **{(kind, ""): some for kind, some in trees_read.items()}}
    found = changes_of(WAITS, msgspec.structs.replace(view, trees=read))
    return {one.kind: one for one in found if one.is_checked}


def flavor(**labels: str) -> Tree:
    spec = {"nodeLabels": labels}
    return {"apiVersion": KUEUE, "kind": "ResourceFlavor", "metadata": meta("default"), "spec": spec}


def test_quota_is_of_no_use_on_nodes_of_another_flavor() -> None:
    trees = [node("a", labels={"card": "a100"}), *queues(8, 4), *queued()]
    assert "raise_quota" in starting(trees, ResourceFlavor=[flavor(card="a100")])
    assert "raise_quota" not in starting(trees, ResourceFlavor=[flavor(card="h100")])


def test_a_queue_with_a_check_of_its_own_starts_nothing_by_quota() -> None:
    trees = [node("a"), *queues(8, 4), *queued()]
    assert "raise_quota" in starting(trees)
    trees[1]["spec"]["admissionChecks"] = ["budget"]
    found = changes_of(WAITS, view_of(trees))
    assert [(one.is_checked, one.leaves) for one in found if one.kind == "raise_quota"] == [
        (False, "admission check budget decides then")
    ]


def test_the_namespaces_quota_stands_behind_that_of_the_queue() -> None:
    limit: Tree = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": meta("team", "team-a"),
        "spec": {"hard": {"requests.nvidia.com/gpu": "8"}},
    }
    view = view_of([node("a"), *queues(8, 4), *queued()])

    def kinds(left: str) -> set[str]:
        read = {**limit, "status": {"used": {"requests.nvidia.com/gpu": left}}}
        known = {**view.trees, ("ResourceQuota", "team-a"): [read]}
        found = changes_of(WAITS, msgspec.structs.replace(view, trees=known))
        return {one.kind for one in found if one.is_checked}

    assert "raise_quota" in kinds("0")
    assert "raise_quota" not in kinds("4")


def test_a_gate_in_the_template_stands_behind_the_quota() -> None:
    trees = [node("a"), *queues(8, 4), *queued()]
    trees[-2]["spec"]["template"]["spec"]["schedulingGates"] = [{"name": "example.com/budget"}]
    assert "raise_quota" not in starting(trees)


def test_a_check_that_is_said_to_be_ready_starts_no_job_that_is_switched_off() -> None:
    def offers(*, is_active: bool) -> list[Change]:
        view = view_of([node("a"), *queues(8, 0), *queued()])
        (one,) = view.store.records(Kind.WORKLOAD).values()
        checks = (AdmissionCheck("budget", "Pending"),)
        held = msgspec.structs.replace(one, checks=checks, is_active=is_active, cluster_queue="research")
        view = _with(view, held)
        verdict = Finding(subject=WAITS, cause="admission-check", facts=(("check", "budget"),))
        return [each for each in changes_for(verdict, view) if each.is_checked]

    assert [one.kind for one in offers(is_active=True)] == ["pass_check"]
    assert offers(is_active=False) == []


def _with(view: ClusterView, record: Any) -> ClusterView:
    return msgspec.structs.replace(view, store=changed_store(view.store, [(Kind.WORKLOAD, record)]))


def test_those_that_cannot_start_take_no_quota() -> None:
    trees = [node("a"), node("b"), *queues(8, 8), *line("first", 8), *queued()]
    assert starting(trees)["raise_quota"].words.endswith("to 24")
    trees[-3]["metadata"]["annotations"] = {"kueue.x-k8s.io/admission-gated-by": "example.com/budget"}
    assert starting(trees)["raise_quota"].words.endswith("to 16")


def test_what_parents_of_a_cohort_lend_needs_no_quota_of_its_own() -> None:
    trees = [*queues(0, 0), node("a"), node("b"), *queued()]
    trees[0]["spec"]["cohort"] = "ml"
    amount = {"name": NVIDIA, "nominalQuota": "6"}
    group = {"coveredResources": [NVIDIA], "flavors": [{"name": "default", "resources": [amount]}]}
    cohorts = [
        {"kind": "Cohort", "metadata": meta("ml"), "spec": {"parentName": "all"}},
        {"kind": "Cohort", "metadata": meta("all"), "spec": {"resourceGroups": [group]}},
    ]
    assert starting(trees, Cohort=cohorts)["raise_quota"].words.endswith("to 2")
    assert starting(trees, Cohort=[])["raise_quota"].words.endswith("to 8")


def test_what_was_not_understood_is_not_called_mended() -> None:
    view = view_of([node("a"), *queues(8, 4), *queued()])
    verdict = explain(WAITS, view)
    raw = msgspec.structs.replace(verdict, cause="", sentence="odd words", sureness=verdict.sureness.UNKNOWN)
    assert [one for one in changes_for(raw, view) if one.is_checked] == []
