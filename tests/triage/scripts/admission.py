"""The pods do not exist. Real admission, Job controller and mpi-operator."""

from cockpit.model.finding import Subject
from tests.triage.builders import (
    GPU,
    also_elsewhere,
    elsewhere,
    fill,
    job,
    neighbours,
    pod_spec,
    pool,
    run,
    told,
)
from tests.triage.case import Tree
from tests.triage.stage import Expected, Lasts, Stage, script

API = "kube-apiserver"
KCM = "kube-controller-manager"
MPI = "mpi-operator"


def start(stage: Stage, spec: Tree, *, pods: int = 1) -> Subject:
    """A Job as the subject; it will not come to pods."""
    name = stage.draw.job()
    stage.make(job(name, spec, pods=pods))
    return Subject("job", stage.space, name)


def quota(name: str, **hard: str) -> Tree:
    """A ResourceQuota; `__` in a key stands for a dot, `_` for a slash."""
    amounts = {key.replace("__", ".").replace("_", "/"): value for key, value in hard.items()}
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": name},
        "spec": {"hard": amounts},
    }


def enforced(stage: Stage, name: str) -> None:
    """Until the quota controller has counted."""
    stage.until(
        "resourcequotas",
        lambda one: one["metadata"]["name"] == name and "used" in (one.get("status") or {}),
    )


@script(
    "namespace-quota-used-up",
    "gpu-quota",
    API,
    can_second=True,
    double=(Lasts.NEVER_PASSES, Lasts.NEVER_PASSES),
)
def gpu_quota(stage: Stage) -> Expected:
    """The namespace's quota of GPUs is used up, or too small; second: no node is that large, either."""
    place = pool(stage)
    name, hard = stage.draw.word("gpu-quota", "team-quota"), stage.draw.one_of(4, 8)
    stage.make(quota(name, requests__nvidia__com_gpu=str(hard)))
    enforced(stage, name)
    used = stage.draw.one_of(0, 2, 4)
    if used:
        run(stage, pod_spec(gpus=used), on=place.nodes[0])
    wanted = 16 if stage.draw.has_second else 8
    subject = start(stage, pod_spec(gpus=wanted if used or stage.draw.has_second else hard + 4))
    told(stage, "FailedCreate", "exceeded quota")
    return Expected(subject, (name, str(hard)), ("gpus-short",) if stage.draw.has_second else ())


@script("namespace-quota-used-up", "quota-of-a-replica-set", KCM, lasts=Lasts.NEVER_PASSES)
def quota_of_a_replica_set(stage: Stage) -> Expected:
    """A Deployment whose ReplicaSet may not make pods: the quota of pods or of memory."""
    pool(stage, gpus=8)
    name = stage.draw.word("pod-quota", "team-quota")
    stage.make(quota(name, requests__memory="8Gi"))
    enforced(stage, name)
    app = stage.draw.job()
    template = {"metadata": {"labels": {"app": app}}, "spec": {**pod_spec(gpus=1), "restartPolicy": "Always"}}
    spec = {"replicas": 2, "selector": {"matchLabels": {"app": app}}, "template": template}
    stage.make({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": app}, "spec": spec})
    told(stage, "FailedCreate", "exceeded quota")
    return Expected(Subject("job", stage.space, app), (name, "memory"))


@script(
    "limits-not-stated",
    "limits-demanded",
    API,
    can_second=True,
    lasts=Lasts.NEVER_PASSES,
    double=(Lasts.NEVER_PASSES, Lasts.NEVER_PASSES),
)
def limits_demanded(stage: Stage) -> Expected:
    """A quota on limits, and a pod without them; second: a selector that no node has."""
    pool(stage)
    name, what = stage.draw.word("compute-quota", "team-quota"), stage.draw.one_of("cpu", "memory")
    stage.make(quota(name, **{f"limits__{what}": "1000"}))
    enforced(stage, name)
    subject = start(stage, pod_spec(gpus=stage.draw.number(1, 8), **elsewhere(stage)))
    told(stage, "FailedCreate", "must specify")
    return Expected(subject, (name, f"limits.{what}"), also_elsewhere(stage))


@script(
    "outside-limit-range",
    "limit-range",
    API,
    can_second=True,
    lasts=Lasts.NEVER_PASSES,
    double=(Lasts.NEVER_PASSES, Lasts.NEVER_PASSES),
)
def limit_range(stage: Stage) -> Expected:
    """More, or less, than the LimitRange allows; second: a selector that no node has."""
    pool(stage)
    edge, what, value = stage.draw.one_of(
        ("max", "memory", "8Gi"), ("max", "cpu", "2"), ("min", "cpu", "32"), ("max", GPU, "1")
    )
    limits = [{"type": "Container", edge: {what: value}}]
    tree = {"apiVersion": "v1", "kind": "LimitRange", "spec": {"limits": limits}}
    stage.make({**tree, "metadata": {"name": stage.draw.word("container-limits", "bounds")}})
    hard = {"cpu": "4", "memory": "16Gi", GPU: "4"}
    subject = start(
        stage, pod_spec(container={"resources": {"requests": hard, "limits": hard}}, **elsewhere(stage))
    )
    told(stage, "FailedCreate", "per Container")
    return Expected(subject, ("GPU" if what == GPU else what,), also_elsewhere(stage))


@script(
    "refused-by-pod-security",
    "pod-security",
    API,
    can_second=True,
    lasts=Lasts.NEVER_PASSES,
    double=(Lasts.NEVER_PASSES, Lasts.NEVER_PASSES),
)
def pod_security(stage: Stage) -> Expected:
    """The namespace's pod security level forbids it; second: a selector that no node has."""
    pool(stage)
    level = stage.draw.one_of("baseline", "restricted")
    mark = {"pod-security.kubernetes.io/enforce": level}
    stage.patch("namespaces", stage.space, {"metadata": {"labels": mark}})
    spec, named = stage.draw.one_of(
        (pod_spec(gpus=8, hostNetwork=True), "hostNetwork"),
        (pod_spec(gpus=8, container={"securityContext": {"privileged": True}}), "privileged"),
        (pod_spec(gpus=8, volumes=[{"name": "shm", "hostPath": {"path": "/dev/shm"}}]), "hostPath"),
        (pod_spec(gpus=8, hostIPC=True), "hostIPC"),
    )
    subject = start(stage, {**spec, **elsewhere(stage)})
    told(stage, "FailedCreate", "violates PodSecurity")
    return Expected(subject, (level, named), also_elsewhere(stage))


@script(
    "refused-by-webhook",
    "webhook-down",
    API,
    can_second=True,
    lasts=Lasts.UNTIL_MENDED,
    double=(Lasts.UNTIL_MENDED, Lasts.NEVER_PASSES),
)
def webhook_down(stage: Stage) -> Expected:
    """A validating webhook for pods of the namespace that nobody answers;
    second: a selector that no node has."""
    pool(stage)
    hook = f"{stage.draw.word('policy', 'image-check')}.example.com"
    kinds = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}
    one = {
        "name": hook,
        "clientConfig": {"url": f"https://127.0.0.1:{stage.draw.number(2, 9)}/check"},
        "rules": [{**kinds, "scope": "Namespaced"}],
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "timeoutSeconds": 3,
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": stage.space}},
    }
    stage.make(
        {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": stage.draw.word("policy", "image-check")},
            "webhooks": [one],
        }
    )
    subject = start(stage, pod_spec(gpus=2, **elsewhere(stage)))
    told(stage, "FailedCreate", "failed calling webhook")
    return Expected(subject, (hook,), also_elsewhere(stage))


@script("named-object-missing", "service-account", API, lasts=Lasts.UNTIL_MENDED)
def service_account(stage: Stage) -> Expected:
    """The ServiceAccount does not exist."""
    pool(stage)
    neighbours(stage)
    name = stage.draw.word("trainer", "s3-reader")
    subject = start(stage, pod_spec(gpus=2, serviceAccountName=name))
    told(stage, "FailedCreate", f'serviceaccount "{name}" not found')
    return Expected(subject, (name,))


@script(
    "named-object-missing",
    "priority-class",
    API,
    can_second=True,
    lasts=Lasts.UNTIL_MENDED,
    double=(Lasts.UNTIL_MENDED, Lasts.BY_ITSELF),
)
def priority_class(stage: Stage) -> Expected:
    """The PriorityClass does not exist; second: every node is full, too."""
    place = pool(stage)
    if stage.draw.has_second:
        fill(stage, place, 8)
    name = stage.draw.word("urgent", "high-priority")
    subject = start(stage, pod_spec(gpus=2, priorityClassName=name))
    told(stage, "FailedCreate", f"no PriorityClass with name {name} was found")
    return Expected(subject, (name,), ("gpus-short",) if stage.draw.has_second else ())


@script(
    "suspended-by-hand",
    "suspended",
    KCM,
    can_second=True,
    lasts=Lasts.UNTIL_MENDED,
    double=(Lasts.UNTIL_MENDED, Lasts.NEVER_PASSES),
)
def suspended(stage: Stage) -> Expected:
    """Somebody suspended the Job, no queue holds it; second: a selector that no node has."""
    pool(stage)
    neighbours(stage)
    name = stage.draw.job()
    stage.make(job(name, pod_spec(gpus=4, **elsewhere(stage)), suspend=True))
    told(stage, "Suspended")
    return Expected(Subject("job", stage.space, name), ("suspended",), also_elsewhere(stage))


@script("suspended-by-hand", "mpijob-suspended", MPI, lasts=Lasts.UNTIL_MENDED)
def mpijob_suspended(stage: Stage) -> Expected:
    """The same for an MPIJob."""
    pool(stage)
    name = stage.draw.job()
    stage.make(mpijob(name, workers=2, gpus=4, runPolicy={"suspend": True}))
    stage.until("mpijobs.kubeflow.org", lambda one: _has(one, "Suspended"))
    return Expected(Subject("job", stage.space, name), ("suspended",))


def _has(tree: Tree, kind: str, status: str = "True") -> bool:
    conditions = (tree.get("status") or {}).get("conditions") or []
    return any(one["type"] == kind and one["status"] == status for one in conditions)


def mpijob(name: str, *, workers: int, gpus: int, more: Tree | None = None, **fields: Tree | str) -> Tree:
    """An MPIJob; `more` goes into the workers' pods."""
    launcher = pod_spec(
        cpu="1", memory="2Gi", container={"name": "launcher", "command": ["mpirun", "/train"]}
    )
    worker = {**pod_spec(gpus=gpus, container={"name": "worker"}), **(more or {})}
    return {
        "apiVersion": "kubeflow.org/v2beta1",
        "kind": "MPIJob",
        "metadata": {"name": name},
        "spec": {
            "slotsPerWorker": gpus,
            "mpiReplicaSpecs": {
                "Launcher": {"replicas": 1, "template": {"spec": launcher}},
                "Worker": {"replicas": workers, "template": {"spec": worker}},
            },
            **fields,
        },
    }


@script("no-controller", "managed-elsewhere", KCM, lasts=Lasts.UNTIL_MENDED)
def managed_elsewhere(stage: Stage) -> Expected:
    """`managedBy` names a controller that does not run."""
    pool(stage)
    manager = stage.draw.one_of("kueue.x-k8s.io/multikueue", "example.com/job-runner")
    name = stage.draw.job()
    stage.make(job(name, pod_spec(gpus=4), managedBy=manager))
    stage.until("jobs.batch", lambda one: one["metadata"]["name"] == name)
    return Expected(Subject("job", stage.space, name), (manager,), later_seconds=120)


@script("refused-by-operator", "name-too-long", MPI, lasts=Lasts.NEVER_PASSES)
def name_too_long(stage: Stage) -> Expected:
    """The workers' host names would be longer than DNS allows."""
    pool(stage)
    name = f"{stage.draw.job()}-{'x' * 50}"[:60]
    stage.make(mpijob(name, workers=2, gpus=4))
    told(stage, "ValidationError")
    return Expected(Subject("job", stage.space, name), ("name",))


@script("name-taken", "name-taken", MPI, lasts=Lasts.UNTIL_MENDED)
def name_taken(stage: Stage) -> Expected:
    """Something of that name is there and belongs to somebody else."""
    pool(stage)
    name = stage.draw.job()
    if stage.draw.chance(0.5):
        taken = f"{name}-config"
        left: Tree = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"hostfile": ""}}
    else:
        taken = name
        left = {
            "apiVersion": "v1",
            "kind": "Service",
            "spec": {"clusterIP": "None", "selector": {"app": "old"}},
        }
    stage.make({**left, "metadata": {"name": taken}})
    stage.make(mpijob(name, workers=2, gpus=4))
    told(stage, "ErrResourceExists")
    return Expected(Subject("job", stage.space, name), (taken,))


@script("between-attempts", "between-retries", KCM)
def between_retries(stage: Stage) -> Expected:
    """Its pod failed twice, and the next one comes after a back-off."""
    place = pool(stage)
    code = stage.draw.one_of(1, 2, 137)
    subject = start(stage, pod_spec(gpus=2, nodeName=place.nodes[0]))
    failed: set[str] = set()
    for _ in range(2):
        one = stage.until("pods", lambda tree: _runs(tree) and tree["metadata"]["name"] not in failed)
        failed.add(one["metadata"]["name"])
        state = {"terminated": {"exitCode": code, "reason": "OOMKilled" if code == 137 else "Error"}}
        told_of = {"name": "train", "image": "x", "imageID": "", "ready": False, "restartCount": 0}
        change = {"status": {"phase": "Failed", "containerStatuses": [{**told_of, "state": state}]}}
        stage.patch("pods", one["metadata"]["name"], change, part="status")
    stage.until("jobs.batch", lambda tree: (tree.get("status") or {}).get("failed", 0) >= 2)
    return Expected(subject, ("memory|OOM" if code == 137 else str(code),), later_seconds=3)


def _runs(tree: Tree) -> bool:
    return (tree.get("status") or {}).get("phase") == "Running"
