"""Gangs of the placement engines, by objects as their controllers left them, through decode and job rows."""

import json
from typing import Any

import pytest

from cockpit.errors import BadInput
from cockpit.gangs import coscheduling, kai, native, registry, volcano
from cockpit.gangs.conflicts import engines_named, refusals
from cockpit.gangs.installed_engines import installed_engines
from cockpit.gangs.kueue import attach as kueue_attach
from cockpit.gangs.manifests import Attached, members_of
from cockpit.gangs.pod_group import estimate_positions, refused_why
from cockpit.gangs.volcano import suspend_by_command
from cockpit.jobs.index import JobIndex
from cockpit.jobs.render import render
from cockpit.jobs.template import load_library
from cockpit.kube.decode.decoders import pod_group_decoder
from cockpit.kube.resource import Resource
from cockpit.model.batch import Batch
from cockpit.model.gang import PodGroup
from cockpit.model.job import JobObject, JobState, ReplicaSpec
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.store.store import Store
from tests.unit.gangs.builders import NVIDIA, cluster_queue, local_queue, store_of
from tests.unit.jobs.builders import said_of

SCHEDULERS = {
    "scheduling.x-k8s.io": ("v1alpha1", "gang-scheduler"),
    "scheduling.volcano.sh": ("v1beta1", "volcano"),
    "scheduling.k8s.io": ("v1alpha2", "default-scheduler"),
    "scheduling.run.ai": ("v2alpha2", "kai-scheduler"),
}
REFUSED = (
    "0/3 nodes are available: 3 Insufficient nvidia.com/gpu. preemption: 0/3 nodes are available:"
    " 3 No preemption victims found for incoming pod., PodGroup gang/llm gets rejected due to Pod rank-3"
    " is unschedulable even after PostFilter"
)
OPTIMISTIC = "0/1 nodes are available: 1 optimistic rejection in PostFilter."
CONDITION = {"lastTransitionTime": "2026-11-20T21:33:00Z", "status": "True"}

RECORDED: list[tuple[str, dict[str, Any], dict[str, Any], str]] = [
    ("scheduling.x-k8s.io", {"minMember": 4, "scheduleTimeoutSeconds": 0}, {"phase": "Scheduling"},
     "needs 4 GPUs on one node: all 3 nodes lack free GPUs"),
    ("scheduling.x-k8s.io", {"minMember": 5}, {"phase": "Pending"}, "its group has 4 of 5 pods"),
    ("scheduling.volcano.sh", {"minMember": 4, "queue": "gpu"}, {"phase": "Pending"},
     "queue gpu has not admitted it yet"),
    ("scheduling.volcano.sh", {"minMember": 4, "queue": "gpu"},
     {"phase": "Inqueue", "conditions": [{**CONDITION, "type": "Unschedulable",
      "reason": "NotEnoughResources", "message": "1/4 tasks in gang unschedulable: 4 Pending"}]},
     "needs 4 GPUs on one node: all 3 nodes lack free GPUs"),
    ("scheduling.volcano.sh", {"minMember": 4, "queue": "gpu"},
     {"phase": "Inqueue", "conditions": [{**CONDITION, "type": "Unschedulable", "reason": "NotEnoughTasks",
      "message": "Not enough valid tasks for gang-scheduling, valid: 3, min: 4"}]},
     "its group has 3 of 4 pods"),
    ("scheduling.k8s.io", {"schedulingPolicy": {"gang": {"minCount": 4}}},
     {"conditions": [{**CONDITION, "status": "False", "type": "PodGroupScheduled", "reason": "Unschedulable",
      "message": "minCount (4) cannot be satisfied: 3 scheduled, 1 remaining"}]},
     "needs 4 GPUs on one node: all 3 nodes lack free GPUs; its group of 4 is placed whole or not at all"),
    # what kube-scheduler 1.36.3 writes: the cause stands on one member only
    ("scheduling.k8s.io", {"schedulingPolicy": {"gang": {"minCount": 4}}},
     {"conditions": [{**CONDITION, "status": "False", "type": "PodGroupScheduled", "reason": "Unschedulable",
      "message": "pod group is unschedulable"}]},
     "needs 4 GPUs on one node: all 3 nodes lack free GPUs; its group of 4 is placed whole or not at all"),
    ("scheduling.run.ai", {"minMember": 4, "queue": "team-a"},
     {"schedulingConditions": [{**CONDITION, "type": "UnschedulableOnNodePool",
      "reasons": [{"reason": "OverLimit", "message": "Workload requested 16 GPUs, quota is 8"}]}]},
     "queue team-a is at its limit"),
    ("scheduling.run.ai", {"minMember": 4, "queue": "team-a"},
     {"schedulingConditions": [{"type": "UnschedulableOnNodePool", "reasons": [{"reason": "Other",
      "message": "Resources were found for 3 pods while 4 are required for gang scheduling"}]}]},
     "needs 4 GPUs on one node: all 3 nodes lack free GPUs"),
]  # fmt: skip


def group(api_group: str, spec: dict[str, Any], status: dict[str, Any], **fields: Any) -> PodGroup:
    """The record of a PodGroup, decoded from what the API server sends."""
    version, _ = SCHEDULERS[api_group]
    resource = Resource(api_group, version, "podgroups", "PodGroup", namespaced=True)
    tree = {
        "apiVersion": resource.api_version,
        "kind": "PodGroup",
        "metadata": {"name": "llm", "namespace": "team-a", "uid": f"pg-{api_group}", **fields},
        "spec": spec,
        "status": status,
    }
    engine = next(one.engine for one in registry.watched() if one.group == api_group and one.engine)
    record = pod_group_decoder(resource, engine).from_json(json.dumps(tree).encode())
    assert isinstance(record, PodGroup)
    return record


def gang(api_group: str, count: int = 4, bound: int = 0, **fields: Any) -> list[Pod]:
    message = fields.pop("message", REFUSED)
    return [
        Pod(
            uid=f"pod-{rank}",
            name=f"llm-{rank}",
            namespace="team-a",
            owner_uid="job",
            owner_kind="Job",
            owner_name="llm",
            owner_api_version="batch/v1",
            phase="Running" if rank < bound else "Pending",
            is_ready=rank < bound,
            node=f"n{rank}" if rank < bound else "",
            gang="llm",
            gpus=4,
            gpu_resource=NVIDIA,
            scheduler=SCHEDULERS[api_group][1],
            scheduled_reason="" if rank < bound else "Unschedulable",
            scheduled_message="" if rank < bound else (message if rank == 3 else OPTIMISTIC),
            **fields,
        )
        for rank in range(count)
    ]


def cluster(one: PodGroup | None, pods: list[Pod]) -> tuple[Store, JobIndex]:
    store = Store()
    index = JobIndex(store)
    job = JobObject(
        uid="job", name="llm", namespace="team-a", api_version="batch/v1", kind="Job",
        replicas=(ReplicaSpec("main", len(pods), 4, NVIDIA),),
    )  # fmt: skip
    store.apply(Batch(kind=Kind.JOB, changed=(job,)))
    store.apply(Batch(kind=Kind.POD, changed=tuple(pods)))
    if one is not None:
        store.apply(Batch(kind=Kind.POD_GROUP, scope=one.engine, changed=(one,)))
    index.update(store.take_delta())
    return store, index


@pytest.mark.parametrize(("api_group", "spec", "status", "why"), RECORDED)
def test_a_gang_that_waits_says_why_in_plain_words(
    api_group: str, spec: dict[str, Any], status: dict[str, Any], why: str
) -> None:
    one = group(api_group, spec, status)
    store, index = cluster(one, gang(api_group))
    (job,) = index.jobs.values()
    assert (job.state, job.engine) == (JobState.QUEUED, one.engine)
    assert said_of(job, store, index) == why
    assert job.gpus_allocated == 0
    assert (job.position, job.is_position_estimate) == (1, True)


@pytest.mark.parametrize("api_group", SCHEDULERS)
def test_a_gang_that_is_bound_is_judged_by_its_pods_not_by_a_stale_phase(api_group: str) -> None:
    spec = {"minMember": 4, "schedulingPolicy": {"gang": {"minCount": 4}}}
    stale = group(api_group, spec, {"phase": "Pending", "running": 3})
    _store, index = cluster(stale, gang(api_group, bound=4))
    (job,) = index.jobs.values()
    assert job.state == JobState.RUNNING
    assert job.position is None


def test_a_gang_that_bound_a_part_is_pending_and_holds_gpus() -> None:
    one = group("scheduling.x-k8s.io", {"minMember": 4}, {"phase": "Scheduling"})
    _store, index = cluster(one, gang("scheduling.x-k8s.io", bound=2))
    (job,) = index.jobs.values()
    assert (job.state, job.gpus_allocated) == (JobState.PENDING, 8)


def test_a_row_moves_with_its_group() -> None:
    store, index = cluster(None, gang("scheduling.x-k8s.io"))
    (job,) = index.jobs.values()
    assert job.state == JobState.PENDING
    one = group("scheduling.x-k8s.io", {"minMember": 6}, {"phase": "Pending"})
    store.apply(Batch(kind=Kind.POD_GROUP, scope="x", changed=(one,)))
    index.update(store.take_delta())
    (job,) = index.jobs.values()
    assert (job.state, said_of(job, store, index)) == (JobState.QUEUED, "its group has 4 of 6 pods")
    store.apply(Batch(kind=Kind.POD_GROUP, scope="x", removed=(one.uid,)))
    index.update(store.take_delta())
    (job,) = index.jobs.values()
    assert job.state == JobState.PENDING
    assert job.position is None


def test_groups_of_one_name_in_two_engines_are_told_apart_by_the_scheduler() -> None:
    store, index = cluster(
        group("scheduling.volcano.sh", {"minMember": 4, "queue": "gpu"}, {"phase": "Pending"}),
        gang("scheduling.volcano.sh"),
    )
    other = group("scheduling.x-k8s.io", {"minMember": 9}, {"phase": "Pending"})
    store.apply(Batch(kind=Kind.POD_GROUP, scope="x", changed=(other,)))
    index.update(store.take_delta())
    (job,) = index.jobs.values()
    assert (job.engine, said_of(job, store, index)) == ("Volcano", "queue gpu has not admitted it yet")


def test_places_count_by_engine_and_queue_oldest_first() -> None:
    def one(name: str, api_group: str, queue: str, minute: int, phase: str = "Pending") -> PodGroup:
        made = f"2026-11-20T21:{minute:02}:00Z"
        spec, status = {"minMember": 2, "queue": queue}, {"phase": phase}
        return group(api_group, spec, status, name=name, uid=name, creationTimestamp=made)

    groups = [
        one("young", "scheduling.volcano.sh", "gpu", 9),
        one("old", "scheduling.volcano.sh", "gpu", 3),
        one("elsewhere", "scheduling.volcano.sh", "cpu", 5),
        one("runs", "scheduling.volcano.sh", "gpu", 1, "Running"),
        one("kai", "scheduling.run.ai", "gpu", 2),
    ]
    store = Store()
    store.apply(Batch(kind=Kind.POD_GROUP, changed=tuple(groups)))
    assert estimate_positions(store, [each.key for each in groups]) == {
        "old": 1, "young": 2, "elsewhere": 1, "kai": 1,
    }  # fmt: skip


# ---- attaching

TEMPLATES = load_library().templates
IMAGE = {
    "name": "llm",
    "namespace": "team-a",
    "image": "registry.example/train:1",
    "workers": "4",
    "gpus": "8",
}


def manifest(template: str = "mpijob") -> dict[str, Any]:
    known = {name: value for name, value in IMAGE.items() if TEMPLATES[template].parameter(name) is not None}
    return render(TEMPLATES[template], known)


def names(tree: dict[str, Any]) -> tuple[str, ...]:
    return tuple(one.name for one in engines_named(tree))


def attached(engine: str, template: str = "mpijob") -> Attached:
    tree = manifest(template)
    return {
        "Kueue": lambda: kueue_attach.attach(tree, queue="gpu-lq"),
        "Coscheduling": lambda: coscheduling.attach(tree, scheduler="gang-scheduler"),
        "Volcano": lambda: volcano.attach(tree, queue="gpu"),
        "KAI": lambda: kai.attach(tree, queue="team-a"),
        "native gang": lambda: native.attach(tree),
    }[engine]()


@pytest.mark.parametrize("engine", ["Kueue", "Coscheduling", "Volcano", "KAI"])
@pytest.mark.parametrize("template", ["mpijob", "job", "jobset", "pod"])
def test_an_engine_is_attached_to_a_copy_and_recognised_again(engine: str, template: str) -> None:
    before = manifest(template)
    made = attached(engine, template)
    assert manifest(template) == before
    assert names(made.manifest) == (engine,)
    assert refusals(made.manifest) == ()
    assert members_of(made.manifest) == members_of(before)
    for extra in made.before:
        assert extra["metadata"]["name"] == "llm"
        assert extra["spec"]["minMember"] == members_of(before)
    assert registry.engine_named(engine).meaning


def test_the_native_gang_takes_jobs_and_refuses_kinds_that_drop_its_field() -> None:
    made = attached("native gang", "job")
    assert made.manifest["spec"]["template"]["spec"]["schedulingGroup"] == {"podGroupName": "llm"}
    assert made.before[0]["spec"] == {"schedulingPolicy": {"gang": {"minCount": 4}}}
    assert made.fields_at_risk == (("schedulingGroup", native.DROPPED),)
    with pytest.raises(BadInput, match="MPIJob drops"):
        attached("native gang", "mpijob")


@pytest.mark.parametrize("engine", ["Coscheduling", "Volcano", "KAI", "native gang"])
def test_a_train_job_is_attached_in_its_runtime_or_by_kueue(engine: str) -> None:
    with pytest.raises(BadInput, match="TrainJob"):
        attached(engine, "trainjob")
    made = attached("Kueue", "trainjob").manifest
    assert made["spec"]["suspend"] is True
    assert made["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "gpu-lq"
    assert (names(made), refusals(made), members_of(made)) == (("Kueue",), (), 4)


def test_bad_pairs_are_refused_in_words() -> None:
    both = volcano.attach(attached("Kueue").manifest, queue="gpu").manifest
    assert any("a Kueue queue and Volcano's scheduler" in one for one in refusals(both))
    two = volcano.attach(attached("Coscheduling").manifest, queue="gpu").manifest
    assert any("Coscheduling and Volcano would both schedule" in one for one in refusals(two))
    bare = attached("Coscheduling").manifest
    for replica in bare["spec"]["mpiReplicaSpecs"].values():
        del replica["template"]["spec"]["schedulerName"]
    assert any("without schedulerName" in one for one in refusals(bare))
    mixed = attached("Coscheduling").manifest
    mixed["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["schedulerName"] = "other"
    assert any("different schedulers (gang-scheduler and other)" in one for one in refusals(mixed))
    waiting = manifest()
    waiting["spec"]["launcherCreationPolicy"] = "WaitForWorkersReady"
    waiting["spec"]["runPolicy"]["schedulingPolicy"] = {"minAvailable": 5}
    assert any("a deadlock" in one for one in refusals(waiting))
    waiting["spec"]["runPolicy"]["schedulingPolicy"] = {"minAvailable": 4}
    assert refusals(waiting) == ()
    waiting["spec"]["runPolicy"]["schedulingPolicy"] = {"minAvailable": 9}
    assert any("more than its 5 pods" in one or "counts it" in one for one in refusals(waiting))
    job = manifest("volcano")
    assert refusals(job) == ()
    job["spec"]["minAvailable"] = 5
    assert any("the mpi plugin creates the master after" in one for one in refusals(job))
    with pytest.raises(BadInput, match=r"Kueue does not manage Job of batch\.volcano\.sh"):
        kueue_attach.attach(manifest("volcano"), queue="gpu-lq")
    with pytest.raises(BadInput, match="give a leaf queue"):
        kai.attach(manifest(), queue="")


def test_a_volcano_job_is_suspended_by_a_command() -> None:
    tree = {
        "metadata": {"name": "llm", "namespace": "team-a", "uid": "u1"},
        "status": {"state": {"phase": "Running"}},
    }
    change = suspend_by_command(tree, suspend=True)
    (call,) = change.calls
    assert call.method == "POST"
    assert call.path == "/apis/bus.volcano.sh/v1alpha1/namespaces/team-a/commands"
    assert call.body["action"] == "AbortJob"
    assert call.body["target"]["uid"] == "u1"
    assert change.is_destructive
    with pytest.raises(BadInput, match="is not suspended"):
        suspend_by_command(tree, suspend=False)


# ---- half-binding, presence


@pytest.mark.parametrize(
    ("gpus", "free", "used", "topology", "is_warned"),
    [
        (8, 4, 0, False, True),  # quota 8 unused, 4 cards free
        (8, 8, 0, False, False),  # all of it fits
        (8, 4, 4, False, False),  # the quota holds it back first
        (8, 4, 0, True, False),  # topology-aware: together or not at all
        (8, None, 0, False, False),  # not known: nothing is said
    ],
)
def test_a_gang_within_its_quota_but_beyond_the_free_gpus_is_warned_of(
    monkeypatch: pytest.MonkeyPatch,
    gpus: int,
    free: int | None,
    used: int,
    topology: bool,
    is_warned: bool,
) -> None:
    store = store_of(local_queue(), cluster_queue(nominal=8, used=used))
    tree = kueue_attach.attach(manifest(), queue="main").manifest
    if topology:
        worker = tree["spec"]["mpiReplicaSpecs"]["Worker"]["template"]
        worker["metadata"] = {"annotations": {"kueue.x-k8s.io/podset-required-topology": "rack"}}
    monkeypatch.setattr(kueue_attach, "free_gpus", lambda _store: free)
    said = kueue_attach.submit_warnings(tree, "team-a", gpus, store, None)
    assert bool(said) == is_warned
    if is_warned:
        assert "Kueue counts quota, not places: it may admit all 8 GPUs while 4 are free" in said[0]


def test_a_kind_that_is_served_and_a_controller_that_lives_are_two_facts() -> None:
    def found(store: Store, *served: str) -> dict[str, tuple[bool, bool | None]]:
        told = installed_engines(store, lambda api_group, plural: api_group in served)
        return {one.engine: (one.is_served, one.is_alive) for one in told}

    nothing = Store()
    assert set(found(nothing).values()) == {(False, None)}
    assert found(nothing, "kueue.x-k8s.io")["Kueue"] == (True, None)
    alive = Pod(
        uid="p", name="kueue-controller-manager-abc", namespace="kueue-system", phase="Running", is_ready=True
    )
    nothing.apply(Batch(kind=Kind.POD, changed=(alive,)))
    assert found(nothing, "kueue.x-k8s.io")["Kueue"] == (True, True)
    silent = group("scheduling.volcano.sh", {"minMember": 4}, {})
    store, _ = cluster(silent, [])
    assert found(store, "scheduling.volcano.sh")["Volcano"] == (True, False)
    spoken = group("scheduling.volcano.sh", {"minMember": 4}, {"phase": "Pending"})
    store, _ = cluster(spoken, [])
    assert found(store, "scheduling.volcano.sh")["Volcano"] == (True, True)


@pytest.mark.parametrize(
    ("gpus", "words"),
    [
        ((4, 4, 4), "needs 3 x 4 GPUs at once and was refused; waits to be tried again"),
        ((0, 8, 8), "needs 2 x 8 GPUs at once and was refused; waits to be tried again"),
        ((1, 1), "needs 2 x 1 GPU at once and was refused; waits to be tried again"),
        ((2, 4), "needs 6 GPUs at once and was refused; waits to be tried again"),
        ((0, 0), "its group was refused as a whole; waits to be tried again"),
    ],
)
def test_a_group_whose_cause_was_told_nowhere_says_what_it_needs(gpus: tuple[int, ...], words: str) -> None:
    pods = [Pod(uid=f"p{at}", name=f"p{at}", gpus=count) for at, count in enumerate(gpus)]
    assert refused_why(pods) == words


@pytest.mark.parametrize(
    ("message", "is_so"),
    [
        ("0/3 nodes are available: podGroup gang/pg4 failed recently. preemption: x", True),
        ("0/1 nodes are available: 1 optimistic rejection in PostFilter.", True),
        ("0/3 nodes are available: 3 Insufficient nvidia.com/gpu.", False),
        ("pod group is unschedulable, waiting for minCount pods from a gang to be scheduled", False),
        ("", False),
    ],
)
def test_only_who_was_refused_for_its_group_waits_to_be_tried_again(message: str, is_so: bool) -> None:
    assert registry.is_set_aside(message) is is_so
