"""Which thing `cockpit why` is asked about, by every word that kubectl and our lists print for its kind."""

from typing import Any

import pytest

from cockpit.actions.kind_words import kind_named
from cockpit.actions.subjects import subject_named, subject_words
from cockpit.errors import BadInput, CockpitError, NotFound
from cockpit.kube.discovery import ServedResource
from cockpit.kube.resource import Resource
from cockpit.model.finding import Subject
from cockpit.triage.context import ClusterView
from tests.triage.case import Case, CaseFile, Recorded
from tests.triage.wide import Ground
from tests.triage.world import view_of

SPACE = "team-a"
AGO = "2026-11-20T00:00:00Z"
GPU = {"name": "main", "image": "train:1", "resources": {"limits": {"nvidia.com/gpu": "1"}}}
TEMPLATE = {"spec": {"containers": [GPU]}}
Tree = dict[str, Any]


def made(
    api: str, kind: str, name: str, *, owner: Tree | None = None, space: str = SPACE, **more: Any
) -> Tree:
    meta: Tree = {"name": name, "uid": f"uid-{kind}-{name}", "resourceVersion": "1", "creationTimestamp": AGO}
    if space:
        meta["namespace"] = space
    if owner is not None:
        ref = {key: owner[key] for key in ("apiVersion", "kind")}
        named = {key: owner["metadata"][key] for key in ("name", "uid")}
        meta["ownerReferences"] = [{**ref, **named, "controller": True}]
    return {"apiVersion": api, "kind": kind, "metadata": meta, **more}


def pod(name: str, owner: Tree | None = None, **spec: Any) -> Tree:
    whole = {"containers": [GPU], "schedulerName": "default-scheduler", **spec}
    return made("v1", "Pod", name, owner=owner, spec=whole, status={"phase": "Pending"})


def roles(kind: str, field: str, api: str, name: str) -> Tree:
    return made(api, kind, name, spec={field: {"Worker": {"replicas": 1, "template": TEMPLATE}}})


def job_objects() -> dict[str, list[Tree]]:
    """A job of each kind, and what its controller made of it."""
    serve = made("apps/v1", "Deployment", "serve", spec={"replicas": 1, "template": TEMPLATE})
    chat = made("apps/v1", "StatefulSet", "chat", spec={"replicas": 1, "template": TEMPLATE})
    mpi = roles("MPIJob", "mpiReplicaSpecs", "kubeflow.org/v2beta1", "ring")
    nightly = {"schedule": "0 1 * * *", "jobTemplate": {"spec": {"template": TEMPLATE}}}
    cron = made("batch/v1", "CronJob", "nightly", spec=nightly)
    night = made("batch/v1", "Job", "nightly-1", owner=cron, spec={"parallelism": 1, "template": TEMPLATE})
    alone = made("batch/v1", "Job", "sweep", spec={"parallelism": 1, "template": TEMPLATE})
    ray = {"headGroupSpec": {"template": TEMPLATE}}
    rayjob = made("ray.io/v1", "RayJob", "tune", spec={"rayClusterSpec": ray})
    role = {"name": "w", "replicas": 1, "template": {"spec": {"template": TEMPLATE}}}
    group = {"replicas": 1, "leaderWorkerTemplate": {"size": 2, "workerTemplate": TEMPLATE}}
    lws = made("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "llama", spec=group)
    return {
        "deployments.apps": [serve],
        "replicasets.apps": [made("apps/v1", "ReplicaSet", "serve-5d", owner=serve)],
        "statefulsets.apps": [chat],
        "daemonsets.apps": [made("apps/v1", "DaemonSet", "warm", spec={"template": TEMPLATE})],
        "mpijobs.kubeflow.org": [mpi],
        "pytorchjobs.kubeflow.org": [roles("PyTorchJob", "pytorchReplicaSpecs", "kubeflow.org/v1", "bert")],
        "cronjobs.batch": [cron],
        "jobs.batch": [night, alone],
        "rayjobs.ray.io": [rayjob],
        "rayclusters.ray.io": [made("ray.io/v1", "RayCluster", "tune-x1", owner=rayjob, spec=ray)],
        "jobsets.jobset.x-k8s.io": [
            made("jobset.x-k8s.io/v1alpha2", "JobSet", "set", spec={"replicatedJobs": [role]})
        ],
        "leaderworkersets.leaderworkerset.x-k8s.io": [lws],
        "workloads.kueue.x-k8s.io": [made("kueue.x-k8s.io/v1beta2", "Workload", "mpijob-ring-1", owner=mpi)],
    }


@pytest.fixture(scope="module")
def view() -> ClusterView:
    jobs = job_objects()
    owner = {tree["metadata"]["name"]: tree for trees in jobs.values() for tree in trees}
    volume = [{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]
    queue = made("kueue.x-k8s.io/v1beta2", "LocalQueue", "main", spec={"clusterQueue": "main"})
    machine = made("karpenter.sh/v1", "NodeClaim", "spot-1", space="", status={"nodeName": "gpu-1"})
    spot = made("karpenter.sh/v1", "NodePool", "spot", space="", spec={"template": {}})
    objects: dict[str, list[Tree]] = {
        "namespaces": [made("v1", "Namespace", SPACE, space="")],
        "nodes": [made("v1", "Node", "gpu-1", space="", status={"capacity": {"nvidia.com/gpu": "8"}})],
        "pods": [
            pod("serve-5d-a", owner["serve-5d"]),
            pod("ring-worker-0", owner["ring"], volumes=volume),
            pod("nightly-1-a", owner["nightly-1"]),
            pod("tune-x1-head", owner["tune-x1"]),
            pod("warm-a", owner["warm"]),
            pod("loose"),
        ],
        **jobs,
        "localqueues.kueue.x-k8s.io": [queue],
        "clusterqueues.kueue.x-k8s.io": [made("kueue.x-k8s.io/v1beta2", "ClusterQueue", "main", space="")],
        "nodepools.karpenter.sh": [spot],
        "nodeclaims.karpenter.sh": [machine],
    }
    file = CaseFile(
        (), "selector", (), Subject("job", SPACE, "ring"), (), 1_795_000_000.0, Recorded("", "", 0)
    )
    return view_of(Case("words", file, objects))


def found(view: ClusterView, *words: str) -> str:
    served = (
        ServedResource(Resource("", "v1", "services", "Service", namespaced=True), short_names=("svc",)),
    )
    return subject_named(*subject_words(words), view, served=served).text


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("pod/loose po/loose pods/loose Pod/loose PODS/loose", "pod team-a/loose"),
        ("node/gpu-1 no/gpu-1 nodes/gpu-1 Node/gpu-1 nodeclaim/spot-1", "node gpu-1"),
        ("mpijob/ring MPIJob/ring mpijobs/ring mpijob.kubeflow.org/ring", "job team-a/ring"),
        ("mpijobs.v2beta1.kubeflow.org/ring job/ring jobs/ring Job/ring", "job team-a/ring"),
        ("workload/mpijob-ring-1 wl/mpijob-ring-1 workloads/mpijob-ring-1", "job team-a/ring"),
        ("pvc/data persistentvolumeclaim/data persistentvolumeclaims/data", "job team-a/ring"),
        ("pytorchjob/bert pytorchjobs.kubeflow.org/bert PyTorchJob/bert", "job team-a/bert"),
        ("rayjobs.ray.io/tune rayjob/tune raycluster/tune-x1 RayJob/tune", "job team-a/tune"),
        ("sts/chat statefulset/chat statefulset.apps/chat StatefulSets/chat", "job team-a/chat"),
        ("deploy/serve deployment.apps/serve rs/serve-5d replicaset.apps/serve-5d", "job team-a/serve"),
        ("jobset/set jobsets.jobset.x-k8s.io/set JobSet/team-a/set", "job team-a/set"),
        ("lws/llama leaderworkerset/llama leaderworkersets/team-a/llama", "job team-a/llama"),
        ("jobs.batch/sweep job.batch/sweep jobs.v1.batch/sweep", "job team-a/sweep"),
        ("cj/nightly cronjob/nightly cronjob.batch/nightly", "job team-a/nightly"),
        ("ds/warm daemonset.apps/warm daemonsets/warm", "job team-a/warm"),
        ("lq/main localqueue/main queue/team-a/main localqueue.kueue.x-k8s.io/main", "queue team-a/main"),
        ("cq/main clusterqueue/main clusterqueues/main ClusterQueue/main", "queue main"),
        ("pool/spot np/spot nodepool/spot nodepools.karpenter.sh/spot", "pool spot"),
        ("card/gpu-1/0 gpu/gpu-1/0 gpus/gpu-1/0", "card gpu-1/0"),
    ],
)
def test_every_word_for_a_kind_leads_to_the_thing(view: ClusterView, words: str, meant: str) -> None:
    for word in words.split():
        assert found(view, word) == meant, word
        assert found(view, *word.split("/", 1)) == meant, word


@pytest.mark.parametrize(
    ("words", "kind", "part"),
    [
        ((), BadInput, "as KIND/NAME; or give --explain CAUSE"),
        (("llm",), BadInput, "'llm' is not KIND/NAME"),
        (("deploy",), BadInput, "'deploy' is not KIND/NAME"),
        (("pod", "a", "b"), BadInput, "'pod a b' is not KIND/NAME"),
        (("pod/a", "pod/b"), BadInput, "more than one thing"),
        (("deploy/",), BadInput, "is not KIND/NAME"),
        (("deploy/a/b/c",), BadInput, "names no deploy: write deploy/NAME"),
        (("deploy/serv",), NotFound, "did you mean team-a/serve?"),
        (("jobs.batch/ring",), NotFound, "there is no job to which job 'ring' belongs"),
        (("svc/web",), NotFound, "there is no job to which service 'web' belongs"),
        (("pvc/other",), NotFound, "there is no job to which persistentvolumeclaim 'other' belongs"),
        (("deplyo/serve",), BadInput, "'deplyo' is no kind that is known here: did you mean deployment"),
    ],
)
def test_what_cannot_be_told_gets_one_sentence(
    view: ClusterView, words: tuple[str, ...], kind: type[CockpitError], part: str
) -> None:
    with pytest.raises(kind) as caught:
        found(view, *words)
    assert part in caught.value.sentence and caught.value.exit_code == 2


def test_every_word_of_discovery_means_its_kind() -> None:
    """Plural, kind, short names, alone and with group and version; short names of watched kinds also where
    discovery was refused."""
    kinds = list(Ground().cluster.operations.kinds)
    served = [ServedResource(kind.resource, short_names=tuple(kind.short_names)) for kind in kinds]
    wrong, words = [], 0
    for kind in kinds:
        its = kind.resource
        tails = [f".{its.group}", f".{its.version}.{its.group}"] if its.group else [""]
        names = [its.plural, its.kind, its.kind.lower(), *kind.short_names]
        names += [f"{name}{tail}" for name in (its.plural, its.kind.lower()) for tail in tails]
        for word in names:
            found = kind_named(word, served)
            words += 1
            wrong += [word] * (not found.is_known or found.kind not in ("", its.kind.lower()))
        if kind_named(its.plural).is_known:
            wrong += [word for word in kind.short_names if not kind_named(word).is_known]
    assert words > 300 and not wrong, wrong
