"""What rows rest on and nobody watches: asked for once, for a screenful, and only where it says anything."""

from typing import Any

import msgspec
import pytest

from cockpit.catalogue import Cause, Unwatched
from cockpit.fit.scheduling_context import Budget, Surroundings
from cockpit.jobs.index import JobIndex
from cockpit.k8s.selectors import selector_of
from cockpit.model.batch import Batch
from cockpit.model.finding import Finding, Subject
from cockpit.model.node import Node
from cockpit.model.pod import Pod
from cockpit.model.record import Condition, Kind
from cockpit.model.scheduling import Traits
from cockpit.store.store import Store
from cockpit.triage.attention import needs_human
from cockpit.triage.engine import explain
from cockpit.triage.on_demand import (
    BUDGETS_SECONDS,
    MOST_LOGS,
    Need,
    ObjectsRead,
    OnDemand,
    crashed_member,
    rows_of,
)
from cockpit.triage.verdicts import Verdicts
from tests.unit.jobs.builders import Cluster, gang, is_, mpijob, up
from tests.unit.triage.objects import NOW as LATE
from tests.unit.triage.objects import decoded, job, node

NOW = 10_000.0


def crashing(name: str, restarts: int = 3, **fields: Any) -> Pod:
    fields.setdefault("waiting_reason", "CrashLoopBackOff")
    return Pod(
        uid=name,
        name=name,
        namespace="team-a",
        phase="Running",
        node="n",
        exit_code=1,
        restarts=restarts,
        **fields,
    )


def test_a_run_of_a_pod_is_read_once_and_its_next_one_again() -> None:
    known, pod = OnDemand(), crashing("a")
    assert known.unread([(pod,)]) == (pod,)
    assert known.hear(pod, "no such file")
    assert known.unread([(pod,)]) == ()
    again = msgspec.structs.replace(pod, restarts=4)
    assert known.unread([(again,)]) == (again,)
    assert known.last_lines == {"a": "no such file"}, "what it said before stands until then"
    assert not known.hear(again, "no such file"), "no news"
    assert known.unread([(again,)]) == ()


def test_of_each_row_one_pod_is_read_and_of_rows_a_screenful() -> None:
    rows = [(crashing(f"{row}-1"), crashing(f"{row}-0")) for row in range(3 * MOST_LOGS)]
    asked = OnDemand().unread(rows)
    assert [pod.name for pod in asked] == [f"{row}-0" for row in range(MOST_LOGS)]


def test_the_member_that_tells_is_the_first_that_failed_else_one_that_is_started_again() -> None:
    up_ = Pod(uid="u", name="u", phase="Running", is_ready=True)
    first = Pod(uid="f", name="f", phase="Failed", exit_code=1, finished_seconds=5.0)
    later = Pod(uid="e", name="e", phase="Failed", exit_code=1, finished_seconds=9.0)
    assert crashed_member((up_, crashing("x"), later, first)) is first
    assert crashed_member((up_, crashing("y"), crashing("x"))) == crashing("x")
    assert crashed_member((up_,)) is None


def test_findings_of_which_no_log_says_more_are_not_read() -> None:
    cluster = Cluster()
    job = mpijob(conditions=(is_("Running"),), created_seconds=NOW - 600)
    launcher_job, pods = gang(job, **up())
    cluster.put(job, launcher_job, *pods)
    key = "mpijob.kubeflow.org/team-a/llm"
    fields: dict[str, Any] = {"finding": "job-degraded", "row": key, "is_bad": True}
    told = Finding(subject=Subject("job", "team-a", "llm"), sentence="crashed", cause="crashes", **fields)
    other = msgspec.structs.replace(told, cause="image-not-pulled")
    assert rows_of([other, told], cluster.store, cluster.index) == (cluster.index.members(key),)


def test_what_a_crash_said_is_the_cause_of_the_row_and_of_its_acknowledgement() -> None:
    cluster = Cluster()
    job = mpijob(conditions=(is_("Running"),), created_seconds=NOW - 600)
    launcher_job, pods = gang(job, **up())
    bad = msgspec.structs.replace(
        pods[0], waiting_reason="CrashLoopBackOff", exit_code=255, restarts=4, is_ready=False
    )
    cluster.put(job, launcher_job, bad, *pods[1:])
    verdicts = Verdicts(cluster.store, cluster.index)

    def row() -> Finding:
        (one,) = needs_human(cluster.store, cluster.index, NOW, verdicts=verdicts)
        return one

    before = row()
    assert before.cause == "crashes" and "exit 255" in before.sentence
    (asked,) = verdicts.on_demand.unread(rows_of([before], cluster.store, cluster.index))
    assert verdicts.hear(asked, "mpiuser@llm-worker-0: Permission denied (publickey).")
    after = row()
    assert after.key == before.key and after.cause == "ssh-refused" and "ssh" in after.sentence
    assert not verdicts.hear(asked, "mpiuser@llm-worker-0: Permission denied (publickey).")


# ---- drains


def budget(allowed: int = 0, **labels: str) -> Budget:
    return Budget("team-a", "keep", selector_of({"matchLabels": labels or {"app": "svc"}}), allowed)


def on_node(name: str, *, owner: str = "ReplicaSet", app: str = "svc", **fields: Any) -> Pod:
    return Pod(
        uid=name,
        name=name,
        namespace="team-a",
        phase="Running",
        node="gpu-7",
        is_ready=True,
        owner_kind=owner,
        owner_uid=f"{owner}-{name}",
        gpus=1,
        traits=Traits(labels=(("app", app),)),
        **fields,
    )


def drained(
    cluster: Cluster, *pods: Pod, budgets: tuple[Budget, ...] | None, cordoned: bool = True
) -> list[str]:
    node = Node(
        uid="n1",
        name="gpu-7",
        unschedulable=cordoned,
        conditions=(Condition("Ready", "True"),),
        gpu_capacity=8,
        gpu_allocatable=8,
        created_seconds=0.0,
    )
    cluster.store.apply(Batch(kind=Kind.NODE, changed=(node,)))
    cluster.put(*pods)
    verdicts = Verdicts(cluster.store, cluster.index)
    verdicts.on_demand.take_budgets(budgets, NOW)
    found = needs_human(cluster.store, cluster.index, NOW, verdicts=verdicts)
    return [one.sentence for one in found if one.finding.startswith("node-")]


def test_a_drain_that_a_budget_blocks_is_seen_without_an_event() -> None:
    pods = (on_node("a"), on_node("b"), on_node("agent", owner="DaemonSet", app="agent"))
    (said,) = drained(Cluster(), *pods, budgets=(budget(),))
    assert said == "cordoned, a drain is blocked: budget team-a/keep lets no pod go, 2 pods left"


@pytest.mark.parametrize(
    ("pods", "budgets", "cordoned"),
    [
        ((on_node("a"),), (budget(1),), True),
        ((on_node("a"),), (budget(),), False),
        ((on_node("a"), on_node("free", app="other")), (budget(),), True),
        ((on_node("a", deleting_seconds=NOW - 5),), (budget(),), True),
        ((on_node("agent", owner="DaemonSet"),), (budget(),), True),
        ((on_node("a"),), None, True),
        ((on_node("a"),), (budget(app="other"),), True),
    ],
    ids=["one may go", "not cordoned", "another is left", "it goes", "a daemon", "denied", "of others"],
)
def test_nothing_is_said_of_a_node_that_no_budget_keeps_whole(
    pods: tuple[Pod, ...], budgets: tuple[Budget, ...] | None, cordoned: bool
) -> None:
    assert drained(Cluster(), *pods, budgets=budgets, cordoned=cordoned) == []


def test_budgets_are_read_only_while_a_cordoned_node_holds_pods_and_not_all_the_time() -> None:
    cluster, known = Cluster(), OnDemand()
    drained(cluster, budgets=None)
    assert not known.needs_budgets(cluster.store, NOW)
    cluster.put(on_node("a"))
    assert known.needs_budgets(cluster.store, NOW)
    assert known.take_budgets((budget(),), NOW) and not known.take_budgets((budget(),), NOW)
    assert not known.needs_budgets(cluster.store, NOW + BUDGETS_SECONDS - 1)
    assert known.needs_budgets(cluster.store, NOW + BUDGETS_SECONDS)


def test_budgets_are_read_while_somebody_looks_at_what_they_may_hold() -> None:
    cluster, known = Cluster(), OnDemand()
    known.want_budgets(NOW)
    assert known.needs_budgets(cluster.store, NOW)
    known.take_budgets((), NOW)
    assert not known.needs_budgets(cluster.store, NOW + 1), "read just now"
    known.want_budgets(NOW + BUDGETS_SECONDS)
    assert known.needs_budgets(cluster.store, NOW + BUDGETS_SECONDS + 1)
    assert not known.needs_budgets(cluster.store, NOW + 3 * BUDGETS_SECONDS), "nobody looks any more"


def test_before_any_node_is_known_a_pod_that_waits_breaks_nothing() -> None:
    cluster = Cluster()
    waits = Pod(
        uid="w",
        name="w",
        namespace="team-a",
        phase="Pending",
        gpus=8,
        gpu_resource="nvidia.com/gpu",
        created_seconds=NOW - 900,
        scheduled="False",
        scheduled_reason="Unschedulable",
        scheduled_message="0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector.",
    )
    cluster.put(waits)
    (one,) = needs_human(cluster.store, cluster.index, NOW)
    assert one.cause == "no-nodes"


@pytest.mark.parametrize("queue", ["", "nowhere"], ids=["by itself", "in a queue"])
def test_the_row_of_a_job_without_pods_reads_the_claims_that_its_template_names(queue: str) -> None:
    pod = {"volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]}
    tree = job("llm", 1, 1, suspend=True)
    tree["spec"]["template"]["spec"] |= pod
    tree["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": queue} if queue else {}
    store = Store()
    store.apply(Batch(kind=Kind.NODE, changed=tuple(decoded(node("a")))))
    store.apply(Batch(kind=Kind.JOB, changed=tuple(decoded(tree))))
    index = JobIndex(store)
    index.update(store.take_delta())
    verdicts = Verdicts(store, index)
    (row,) = index.jobs.values()
    assert verdicts.of(row, LATE).cause != Cause.CLAIM_MISSING
    need = Need(Unwatched.CLAIMS, "team-a")
    assert need in [asked for asked, _ in verdicts.on_demand.unread_objects(LATE)]
    trees = {("PersistentVolumeClaim", "team-a"): ()}
    assert verdicts.take_objects(need, ObjectsRead(LATE, trees, Surroundings(claims={})))
    assert verdicts.of(row, LATE).cause == Cause.CLAIM_MISSING
    view = msgspec.structs.replace(verdicts.view(LATE), trees=trees, around=Surroundings(claims={}))
    assert explain(Subject("job", "team-a", "llm"), view).cause == Cause.CLAIM_MISSING
