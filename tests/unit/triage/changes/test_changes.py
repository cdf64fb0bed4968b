"""Each kind of offer once: its words, its command, and that it is not made where it would not help."""

from typing import Any

import msgspec
import pytest

from cockpit.fit.scheduling_context import Claim, Surroundings
from cockpit.model.batch import Batch
from cockpit.model.finding import Change, Subject
from cockpit.model.gpu import Gpu, Mark
from cockpit.model.node import Taint
from cockpit.model.pool import Machine, PoolObject, ResourceLimit
from cockpit.model.price import MachinePrice, Prices
from cockpit.model.record import Kind
from cockpit.model.remembered import Growth
from cockpit.pools.forecast import PoolExperience
from cockpit.store.store import Store
from cockpit.triage.changes.smallest import changes_for
from cockpit.triage.context import ClusterView
from cockpit.triage.engine import explain
from cockpit.triage.idle_jobs import IdleJobs
from cockpit.triage.idleness import IdleStanding, Judged
from tests.unit.triage.objects import NOW, NVIDIA, POOL, Tree, changes_of, job, meta, node, pods_of, view_of

WAITS = Subject("job", "team-a", "waits")


def waiting(members: int = 1, gpus: int = 8, **spec: Any) -> list[Tree]:
    one = job("waits", members, gpus, **spec)
    return [one, *pods_of(one)]


def holding(name: str, *places: str, gpus: int = 8, **spec: Any) -> list[Tree]:
    one = job(name, len(places), gpus, **spec)
    return [one, *pods_of(one, places)]


def offers(view: ClusterView, subject: Subject = WAITS) -> dict[str, Change]:
    return {one.kind: one for one in changes_of(subject, view)}


def test_a_cordoned_node_comes_before_the_work_of_others() -> None:
    trees = [node("a"), node("b", unschedulable=True), *holding("x", "a"), *waiting()]
    found = changes_of(WAITS, view_of(trees))
    assert [one.kind for one in found] == ["uncordon_node", "wait_for", "more_nodes", "suspend"]
    assert found[0].words == "uncordon b"
    assert found[0].command == ("cockpit", "node", "uncordon", "b", "--write")
    assert found[1].words == "wait for team-a/x (8 GPUs)"
    assert found[3].command == ("cockpit", "job", "suspend", "team-a/x", "--write")


def test_fewer_gpus_are_as_many_as_there_are() -> None:
    trees = [node("a"), *holding("x", "a", gpus=2), *waiting()]
    found = offers(view_of(trees))
    assert found["fewer_gpus"].words == "6 GPUs instead of 8"
    assert found["fewer_gpus"].command == (
        "cockpit",
        "job",
        "clone",
        "team-a/waits",
        "--gpus",
        "6",
        "--write",
    )


def test_a_job_that_fits_is_offered_nothing() -> None:
    assert changes_of(WAITS, view_of([node("a"), *waiting()])) == ()


def test_what_was_not_read_is_not_guessed() -> None:
    trees = [node("a", unschedulable=True), *waiting()]
    view = view_of(trees)
    assert [one.kind for one in changes_of(WAITS, view)][:1] == ["uncordon_node"]
    unread = {key: some for key, some in view.trees.items() if key[0] != "Pod"}
    assert changes_of(WAITS, msgspec.structs.replace(view, trees=unread)) == ()


def test_a_pod_alone_may_be_given_a_toleration() -> None:
    trees = [node("a", taints=[{"key": "team", "value": "b", "effect": "NoSchedule"}]), *waiting()]
    found = offers(view_of(trees), Subject("pod", "team-a", "waits-0"))
    assert found["tolerate"].words == "tolerate the taint team=b"
    assert found["tolerate"].command[:4] == ("kubectl", "patch", "pod", "waits-0")


def test_services_are_not_waited_for() -> None:
    _, pod = holding("x", "a")
    pod["metadata"]["ownerReferences"][0] |= {"apiVersion": "apps/v1", "kind": "ReplicaSet", "uid": "rs"}
    trees = [node("a"), pod, *waiting()]
    assert "more_nodes" in offers(view_of(trees))
    assert not {"wait_for", "suspend", "kill"} & set(offers(view_of(trees)))


def test_two_jobs_are_named_together_where_one_does_not_suffice() -> None:
    trees = [node("a"), node("b"), *holding("x", "a"), *holding("y", "b"), *waiting(2)]
    assert offers(view_of(trees))["wait_for"].words == "wait for team-a/x and team-a/y (16 GPUs)"


def test_nobody_is_asked_to_end_what_is_more_important() -> None:
    trees = [node("a"), *holding("x", "a", priority=1000), *waiting()]
    found = offers(view_of(trees))
    assert "wait_for" in found
    assert "suspend" not in found


def test_a_job_is_called_idle_by_what_it_did_and_never_by_its_duty_alone() -> None:
    view = view_of([node("a"), *holding("x", "a"), *waiting()])
    store, known = view.store, IdleJobs()
    (holder,) = (one for one in view.jobs.jobs.values() if one.name == "x")
    assert isinstance(store, Store)
    for seconds in (NOW - 7_200, NOW):
        told: Any = {
            "pod_namespace": "team-a",
            "pod_name": "x-0",
            "mark": Mark.SURE,
            "sampled_seconds": seconds,
        }
        cards = (Gpu(uuid=f"g{at}", node="a", index=at, duty_ratio=0.0, **told) for at in range(8))
        store.apply(Batch(kind=Kind.GPU, changed=tuple(cards)))
    view = msgspec.structs.replace(view, idle=known)
    assert offers(view)["suspend"].words == "suspend team-a/x (8 GPUs)", "it may load data"
    for standing in (IdleStanding.PAUSING, IdleStanding.IDLE):
        known.take(holder, Judged(standing=standing, since_seconds=NOW - 3_000), NOW)
        is_idle = standing is IdleStanding.IDLE
        assert ("idle for 50 min" in offers(view)["suspend"].words) == is_idle
        order = [one.kind for one in changes_of(WAITS, view)]
        assert (order.index("suspend") < order.index("wait_for")) == is_idle


def test_a_pod_that_is_stuck_terminating_is_named() -> None:
    trees = [node("a"), *holding("x", "a"), *waiting()]
    trees[2]["metadata"]["deletionTimestamp"] = "2027-01-15T07:10:00Z"
    found = offers(view_of(trees))["force_delete"]
    assert found.words == "force-delete team-a/x-0, terminating for 50 min"
    assert found.command[-2:] == ("--force", "--grace-period=0")


# ---- pools


def pooled(name: str = "h100", **fields: Any) -> PoolObject:
    fields = {"replicas": 1, "kind": "MachineDeployment", **fields}
    return PoolObject(
        uid=f"pool-{name}",
        name=name,
        namespace="machines",
        api_version="cluster.x-k8s.io/v1beta1",
        resource_path="/apis/cluster.x-k8s.io/v1beta1/namespaces/machines/machinedeployments",
        template_labels=(("nodepool", name),),
        **fields,
    )


def in_pool(name: str, pool: str) -> Tree:
    return node(name, labels={"nodepool": pool})


def test_a_pool_grows_within_its_maximum() -> None:
    trees = [in_pool("a", "h100"), *holding("x", "a"), *waiting(2)]
    view = view_of(trees, pools=(pooled(max_replicas=5),))
    found = offers(view)["scale_pool"]
    assert found.words == "grow pool h100 by 2 nodes, to 3"
    assert found.command == ("cockpit", "pool", "scale", "h100", "--to", "3", "--write")


def test_a_pool_at_its_maximum_is_given_a_higher_one() -> None:
    trees = [in_pool("a", "h100"), *holding("x", "a"), *waiting(2)]
    found = offers(view_of(trees, pools=(pooled(max_replicas=2),)))["raise_maximum"]
    assert found.words == "raise the maximum of pool h100 from 2 to 3, then grow it"
    assert found.verb == "pool.limit"
    assert " ".join(found.command) == (
        "cockpit pool limit h100 --max 3 --write && cockpit pool scale h100 --to 3 --write"
    )
    assert [one.verb for one in found.steps] == ["pool.limit", "pool.scale"]


AUTOSCALED = (
    ("cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size", "1"),
    ("cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size", "2"),
)


def test_where_demand_sets_the_size_a_higher_maximum_is_all_it_takes() -> None:
    """With what it costs and how long it usually takes, where this host knows."""
    trees = [in_pool("a", "h100"), *holding("x", "a"), *waiting(2)]
    pool = pooled(annotations=AUTOSCALED, max_replicas=2, instance_type="p5")
    view = view_of(trees, pools=(pool,))
    found = offers(view)["raise_maximum"]
    assert found.words == "raise the maximum of pool h100 from 2 to 3 (2 nodes)"
    assert " ".join(found.command) == "cockpit pool limit h100 --max 3 --write"
    prices = Prices(machines=(("p5", MachinePrice(hourly=32.0)),))
    growths = tuple(
        Growth(
            pool_key="MachineDeployment.cluster.x-k8s.io/machines/h100",
            asked_seconds=float(at),
            stages=(("joined", 100.0), ("GPUs up", seconds)),
        )
        for at, seconds in enumerate((500.0, 540.0, 900.0))
    )
    found = offers(msgspec.structs.replace(view, known=PoolExperience(prices, growths)))["raise_maximum"]
    assert found.words == ("raise the maximum of pool h100 from 2 to 3 (2 nodes, about 9 min, $64 an hour)")


def test_where_demand_sets_the_size_below_the_maximum_nothing_is_to_be_changed() -> None:
    trees = [in_pool("a", "h100"), *holding("x", "a"), *waiting(1)]
    pool = pooled(annotations=(AUTOSCALED[0], (AUTOSCALED[1][0], "9")), max_replicas=9)
    assert not {"raise_maximum", "scale_pool"} & set(offers(view_of(trees, pools=(pool,))))


HINT = ("capacity.cluster-autoscaler.kubernetes.io/gpu-count", "8")


@pytest.mark.parametrize(
    ("members", "gpus", "size"), [(1, 8, "1 node, to 1"), (3, 8, "3 nodes, to 3"), (3, 4, "2 nodes, to 2")]
)
def test_a_pool_at_zero_is_grown_by_what_its_owner_promises(members: int, gpus: int, size: str) -> None:
    pool = pooled(annotations=(HINT,), replicas=0)
    view = view_of([node("a"), *holding("x", "a"), *waiting(members, gpus)], pools=(pool,))
    assert offers(view)["scale_pool"].words == f"grow pool h100 by {size}"
    too_small = pooled(annotations=((HINT[0], "2"),), replicas=0)
    assert "scale_pool" not in offers(view_of(waiting(members, gpus), pools=(too_small,)))


def dynamic(gpus: str = "8", **fields: Any) -> PoolObject:
    """A NodePool that Karpenter sizes by itself, at zero."""
    return PoolObject(
        uid="pool-spot", name="spot", api_version="karpenter.sh/v1", kind="NodePool",
        resource_path="/apis/karpenter.sh/v1/nodepools",
        template_labels=(("karpenter.k8s.aws/instance-gpu-count", gpus),), **fields,
    )  # fmt: skip


def waits_for(pool: PoolObject, *, machine: Machine | None = None, **spec: Any) -> dict[str, Change]:
    chosen = {"nodeSelector": {"karpenter.sh/nodepool": "spot"}, **spec}
    view = view_of([node("a"), *holding("x", "a"), *waiting(2, 8, **chosen)], pools=(pool,))
    store = view.store if machine is None else view.store.with_record(Kind.MACHINE, machine)
    return offers(msgspec.structs.replace(view, store=store))


def test_the_machines_of_a_karpenter_pool_at_zero_are_asked_for() -> None:
    offer = waits_for(dynamic())["ask_nodes"]
    assert offer.words == "ask for 2 nodes of pool spot"
    assert " ".join(offer.command) == "cockpit pool ask spot --nodes 2 --way machine --write"
    assert offer.is_checked
    tolerates = [{"key": "gpu", "operator": "Exists"}]
    tainted = dynamic(template_taints=(Taint("gpu", "", "NoSchedule"),))
    assert "ask_nodes" in waits_for(tainted, tolerations=tolerates)


@pytest.mark.parametrize(
    ("pool", "machine"),
    [
        (dynamic("4"), None),
        (dynamic("many"), None),
        (dynamic(template_taints=(Taint("gpu", "", "NoSchedule"),)), None),
        (dynamic(limits=(ResourceLimit(NVIDIA, 8, 0),)), None),
        (
            dynamic(),
            Machine(
                uid="m", name="spot-x", api_version="karpenter.sh/v1", kind="NodeClaim",
                resource_path="/apis/karpenter.sh/v1/nodeclaims", pool_kind="NodePool", pool_key="spot",
            ),
        ),
    ],
    ids=["too small", "of unknown size", "not tolerated", "beyond its limit", "on their way"],
)  # fmt: skip
def test_machines_that_would_not_help_are_not_asked_for(pool: PoolObject, machine: Machine | None) -> None:
    assert "ask_nodes" not in waits_for(pool, machine=machine)


# ---- claims and failed workers


def test_a_claim_that_does_not_exist_is_to_be_created() -> None:
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "imagenet"}}]
    trees = [node("a"), *waiting(volumes=volumes)]
    around = Surroundings(claims={"other": Claim("other")}, volumes={}, classes={})
    found = offers(view_of(trees, around))["create"]
    assert found.words == "create claim imagenet in team-a"
    assert found.target == Subject("claim", "team-a", "imagenet")
    assert changes_of(WAITS, view_of(trees)) == ()  # claims were not read


def test_a_failed_worker_is_deleted_where_its_successor_finds_a_seat() -> None:
    run: Tree = {
        "apiVersion": "kubeflow.org/v2beta1",
        "kind": "MPIJob",
        "metadata": meta("ring", "team-a"),
        "spec": {"mpiReplicaSpecs": {"Worker": {"replicas": 2, "template": {"spec": {"containers": []}}}}},
    }
    body = job("ring", 2, 8)
    pods = pods_of(body, ("a", "b"))
    for number, pod in enumerate(pods):
        ref = {"apiVersion": run["apiVersion"], "kind": "MPIJob", "name": "ring", "controller": True}
        pod["metadata"]["ownerReferences"] = [{**ref, "uid": run["metadata"]["uid"]}]
        pod["metadata"]["labels"] = {
            "training.kubeflow.org/job-name": "ring",
            "training.kubeflow.org/job-role": "worker",
            "training.kubeflow.org/replica-index": str(number),
        }
    pods[1]["status"]["phase"] = "Failed"
    ring = Subject("job", "team-a", "ring")
    (found,) = changes_of(ring, view_of([node("a"), node("b"), run, *pods]))
    assert found.command == ("kubectl", "delete", "pod", "ring-1", "-n", "team-a")
    full = [node("a"), node("b"), *holding("x", "b"), run, *pods]
    assert changes_of(ring, view_of(full)) == ()


# ---- quota


def queues(nominal: int, used: int, *, name: str = "research", stop: str = "None") -> list[Tree]:
    amount = {"name": NVIDIA, "nominalQuota": str(nominal)}
    flavor = {"name": "default", "resources": [{"name": "cpu", "nominalQuota": "100"}, amount]}
    reserved = [{"name": NVIDIA, "total": str(used)}, {"name": "cpu", "total": "1"}]
    return [
        {
            "apiVersion": "kueue.x-k8s.io/v1beta1",
            "kind": "ClusterQueue",
            "metadata": meta(name),
            "spec": {
                "stopPolicy": stop,
                "resourceGroups": [{"coveredResources": ["cpu", NVIDIA], "flavors": [flavor]}],
            },
            "status": {"flavorsReservation": [{"name": "default", "resources": reserved}]},
        },
        {
            "apiVersion": "kueue.x-k8s.io/v1beta1",
            "kind": "LocalQueue",
            "metadata": meta(f"{name}-lq", "team-a"),
            "spec": {"clusterQueue": name},
        },
    ]


def workload(owner: Tree, queue: str, admitted_by: str = "") -> Tree:
    spec = owner["spec"]
    name = owner["metadata"]["name"]
    one = {"name": "main", "count": spec["parallelism"], "template": spec["template"]}
    ref = {"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": owner["metadata"]["uid"]}
    status = {}
    if admitted_by:
        flavors = {NVIDIA: "default", "cpu": "default"}
        limits = spec["template"]["spec"]["containers"][0]["resources"]["limits"]
        total = {key: str(int(value) * spec["parallelism"]) for key, value in limits.items()}
        given = {"name": "main", "flavors": flavors, "resourceUsage": total, "count": spec["parallelism"]}
        true = {"status": "True", "reason": "Admitted", "lastTransitionTime": "2027-01-15T07:00:00Z"}
        status = {
            "admission": {"clusterQueue": admitted_by, "podSetAssignments": [given]},
            "conditions": [{"type": "QuotaReserved", **true}, {"type": "Admitted", **true}],
        }
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta1",
        "kind": "Workload",
        "metadata": meta(f"job-{name}", "team-a", ownerReferences=[{**ref, "controller": True}]),
        "spec": {"queueName": queue, "active": True, "podSets": [one]},
        "status": status,
    }


def queued(gpus: int = 8, queue: str = "research-lq") -> list[Tree]:
    one = job("waits", 1, gpus)
    one["spec"]["suspend"] = True
    one["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": queue}
    return [one, workload(one, queue)]


def test_quota_is_raised_by_what_is_missing() -> None:
    trees = [node("a"), node("b"), *queues(8, 4), *queued()]
    found = offers(view_of(trees))["raise_quota"]
    assert found.words == "raise research's quota of GPUs in flavor default to 12"
    path = '"path":"/spec/resourceGroups/0/flavors/0/resources/1/nominalQuota","value":"12"'
    assert path in found.command[-1]


def test_a_queue_with_room_is_offered_before_more_quota() -> None:
    trees = [node("a"), node("b"), *queues(8, 4), *queues(8, 0, name="spare"), *queued()]
    found = changes_of(WAITS, view_of(trees))
    assert [one.kind for one in found][:2] == ["other_queue", "raise_quota"]
    assert found[0].command == (
        *("cockpit", "job", "prioritise", "team-a/waits", "--queue", "spare-lq", "--write"),
    )


def test_quota_alone_does_not_start_what_finds_no_seat() -> None:
    trees = [node("a"), *queues(8, 4), *holding("x", "a", gpus=4), *queued()]
    assert "raise_quota" not in offers(view_of(trees))


def test_a_stopped_queue_is_resumed() -> None:
    trees = [node("a"), *queues(8, 0, stop="Hold"), *queued()]
    (found,) = changes_of(WAITS, view_of(trees))
    assert (found.kind, found.verb, found.words) == ("resume_queue", "queue.resume", "resume queue research")


def test_two_stopped_queues_are_resumed_one_after_the_other() -> None:
    cluster, local = queues(8, 0, stop="Hold")
    local["spec"]["stopPolicy"] = "Hold"
    found = changes_of(WAITS, view_of([node("a"), cluster, local, *queued()]))
    assert [[one.command for one in each.steps] for each in found] == [
        [
            ("cockpit", "queue", "resume", "research", "--write"),
            ("cockpit", "queue", "resume", "team-a/research-lq", "--write"),
        ]
    ]
    assert found[0].is_checked


def test_the_end_of_a_job_gives_its_quota_back() -> None:
    holds = job("x", 1, 4)
    holds["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "research-lq"}
    run = [holds, *pods_of(holds, ("a",)), workload(holds, "research-lq", admitted_by="research")]
    trees = [node("a"), node("b"), *queues(8, 4), *run, *queued()]
    found = offers(view_of(trees))
    assert found["wait_for"].target == Subject("job", "team-a", "x")
    assert found["suspend"].command == ("cockpit", "job", "suspend", "team-a/x", "--write")


def test_a_queue_that_is_missing_is_created_or_another_named() -> None:
    trees = [node("a"), *queues(8, 0), *queued(queue="typo")]
    found = offers(view_of(trees))
    assert set(found) == {"create", "other_queue"}
    assert found["create"].words == "create queue typo in team-a, on research"


@pytest.mark.parametrize("kind", ["node", "queue", "pool"])
def test_only_what_waits_for_a_seat_is_offered_one(kind: str) -> None:
    assert changes_of(Subject(kind, "", "a"), view_of([node("a")])) == ()


def test_another_value_of_the_selector_is_named() -> None:
    trees = [node("a", labels={POOL: "a100"}), *waiting(nodeSelector={POOL: "h100"})]
    assert offers(view_of(trees))["other_pool"].words == f"made anew on {POOL}=a100 instead of h100"


def finished(reason: str, message: str) -> list[Tree]:
    one, owned = queued()
    mark = {"type": "Finished", "status": "True", "reason": reason, "message": message}
    owned["status"] = {"conditions": [{**mark, "lastTransitionTime": "2027-01-15T07:10:00Z"}]}
    return [one, owned]


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("FailedToStart", "Kueue could not start it and declared its Workload finished"),
        ("OwnerNotFound", "its Workload is finished with the job that had its name before"),
        ("OutOfSync", "its prebuilt Workload does not match it and is declared finished"),
        ("Succeeded", "Kueue has declared its Workload finished"),
    ],
)
def test_a_suspended_job_whose_workload_is_finished_is_told_as_that(reason: str, words: str) -> None:
    message = "invalid admission check PodSetUpdate: conflict for annotations: conflict for key=k"
    view = view_of([node("a"), *queues(8, 0), *finished(reason, message)])
    found = explain(WAITS, view)
    assert (found.cause, found.sentence) == ("declared-finished", f"{words}: it never starts; recreate it")
    assert found.fact("reason") == reason
    assert message in found.evidence[0].value
    (offer,) = changes_for(found, view)
    assert offer.command == ("cockpit", "job", "recreate", "team-a/waits", "--write")
    assert offer.verb == "job.recreate"
    assert offer.is_checked
    full = view_of([node("a"), *queues(8, 8), *finished(reason, message)])
    (offer,) = changes_for(explain(WAITS, full), full)
    assert not offer.is_checked
    assert "8 more GPUs of quota" in offer.leaves


def test_a_job_that_is_taken_for_one_that_had_its_name_is_told_as_that() -> None:
    one, owned = finished("OwnerNotFound", "The workload's owner no longer exists")
    owned["metadata"]["ownerReferences"][0]["uid"] = "of-another"
    found = explain(WAITS, view_of([node("a"), *queues(8, 0), one, owned]))
    assert (found.cause, found.fact("reason")) == ("declared-finished", "OwnerNotFound")
    owned["metadata"]["deletionTimestamp"] = "2027-01-15T07:20:00Z"
    assert explain(WAITS, view_of([node("a"), *queues(8, 0), one, owned])).cause != "declared-finished"


def test_a_job_that_has_ended_has_a_finished_workload_by_right() -> None:
    one, owned = finished("Succeeded", "Job finished successfully")
    one["status"] = {"conditions": [{"type": "Complete", "status": "True"}], "succeeded": 1}
    assert explain(WAITS, view_of([node("a"), *queues(8, 0), one, owned])).cause != "declared-finished"
