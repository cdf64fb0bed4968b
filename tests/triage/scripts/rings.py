"""All pods run, the training does not. Fixtures of logs, by what the tools write."""

from collections.abc import Sequence

from cockpit.model.finding import Subject
from tests.triage.builders import Pool, pod_spec
from tests.triage.case import Tree
from tests.triage.fixture_stage import FixtureStage, fixture
from tests.triage.scripts.admission import mpijob
from tests.triage.stage import Expected


def _mpi(stage: FixtureStage, workers: int = 2) -> tuple[Tree, Tree, list[Tree], Pool]:
    """An MPIJob that runs: itself, its launcher pod, its workers, their nodes."""
    where = stage.pool()
    name = stage.draw.job()
    tree = mpijob(name, workers=workers, gpus=4)
    created = {
        "type": "Created",
        "status": "True",
        "reason": "MPIJobCreated",
        "message": f"MPIJob {name} is created.",
    }
    up = {
        "type": "Running",
        "status": "True",
        "reason": "MPIJobRunning",
        "message": f"MPIJob {name} is running.",
    }
    moment = {"lastTransitionTime": stage.ago(580), "lastUpdateTime": stage.ago(580)}
    counts = {"Launcher": {"active": 1}, "Worker": {"active": workers}}
    tree["status"] = {"conditions": [{**created, **moment}, {**up, **moment}], "replicaStatuses": counts}
    tree["status"]["startTime"] = stage.ago(590)
    stage.make(tree)
    made = stage.one("mpijobs.kubeflow.org", name)
    marks = {"training.kubeflow.org/job-name": name, "training.kubeflow.org/operator-name": "mpi-operator"}
    members = [
        stage.pod(
            f"{name}-worker-{index}",
            tree["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"],
            owner=made,
            on=where.nodes[index % len(where.nodes)],
            phase="Running",
            labels={
                **marks,
                "training.kubeflow.org/job-role": "worker",
                "training.kubeflow.org/replica-index": str(index),
            },
            status=stage.running(name="worker"),
        )
        for index in range(workers)
    ]
    run = stage.job(
        f"{name}-launcher",
        tree["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"],
        status={"ready": 1},
    )
    run["metadata"]["ownerReferences"] = stage.owner(made)
    run["metadata"]["labels"] = {**marks, "training.kubeflow.org/job-role": "launcher"}
    launcher = stage.job_pod(
        run,
        tree["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"],
        on=where.nodes[0],
        phase="Running",
        labels={**marks, "training.kubeflow.org/job-role": "launcher"},
        status=stage.running(name="launcher"),
    )
    return made, launcher, members, where


def _crashes(
    stage: FixtureStage,
    pod: Tree,
    lines: Sequence[str],
    *,
    name: str = "launcher",
    code: int = 1,
    restarts: int = 4,
) -> dict[str, list[str]]:
    """The container crashes over and over with these last lines."""
    ended = {"exitCode": code, "reason": "Error", "startedAt": stage.ago(120), "finishedAt": stage.ago(60)}
    state = {
        "waiting": {
            "reason": "CrashLoopBackOff",
            "message": f"back-off 1m20s restarting failed container={name}",
        }
    }
    pod["spec"]["restartPolicy"] = "OnFailure"
    pod["status"]["containerStatuses"] = [
        stage.container(state, name=name, restarts=restarts, last={"terminated": ended})
    ]
    return {f"{stage.space}/{pod['metadata']['name']}/{name}": list(lines)}


def _about(stage: FixtureStage, tree: Tree) -> Subject:
    return Subject("job", stage.space, tree["metadata"]["name"])


@fixture("launcher-too-early", "launcher-too-early")
def launcher_too_early(stage: FixtureStage) -> Expected:
    """The launcher cannot find a worker that is not up yet."""
    made, launcher, members, _ = _mpi(stage)
    late = members[-1]
    late["status"]["phase"] = "Pending"
    late["status"]["containerStatuses"] = [
        stage.container({"waiting": {"reason": "ContainerCreating"}}, name="worker")
    ]
    for one in late["status"]["conditions"]:
        if one["type"] in ("Ready", "ContainersReady"):
            one["status"] = "False"
    host = f"{late['metadata']['name']}.{made['metadata']['name']}.{stage.space}.svc"
    line = stage.draw.one_of(
        f"ssh: Could not resolve hostname {host}: Name or service not known",
        f"ssh: connect to host {host} port 22: Connection refused",
    )
    logs = _crashes(stage, launcher, [line, "ORTE was unable to reliably start one or more daemons."])
    return Expected(_about(stage, made), (f"worker-{len(members) - 1}",), logs=logs)


@fixture("ssh-refused", "ssh-refused")
def ssh_refused(stage: FixtureStage) -> Expected:
    """ssh to the workers is refused."""
    made, launcher, members, _ = _mpi(stage)
    host = members[0]["metadata"]["name"]
    line, named = stage.draw.one_of(
        (f"mpiuser@{host}: Permission denied (publickey).", "publickey|key"),
        ("Permissions 0644 for '/root/.ssh/id_rsa' are too open. UNPROTECTED PRIVATE KEY FILE!", "key"),
        (
            "Authentication refused: bad ownership or modes for directory /root/.ssh",
            "owner|modes|permissions",
        ),
    )
    return Expected(_about(stage, made), ("ssh", named), logs=_crashes(stage, launcher, [line], code=255))


@fixture("too-few-slots", "not-enough-slots")
def not_enough_slots(stage: FixtureStage) -> Expected:
    """mpirun does not use the hostfile."""
    made, launcher, _, _ = _mpi(stage)
    lines = [
        "There are not enough slots available in the system to satisfy the 8",
        "slots that were requested by the application:",
        "  /train",
    ]
    return Expected(_about(stage, made), ("slots",), logs=_crashes(stage, launcher, lines))


def exposition(made: Sequence[tuple[str, int, str, str, str, float]]) -> str:
    """DCGM's families for (node, index, namespace, pod, container, utilization %)."""
    lines = ["# TYPE DCGM_FI_DEV_GPU_UTIL gauge"]
    for node, index, space, pod, container, percent in made:
        card = f'gpu="{index}",UUID="GPU-{node}-{index}",Hostname="{node}"'
        marks = f'{card},namespace="{space}",pod="{pod}",container="{container}"'
        lines.append(f"DCGM_FI_DEV_GPU_UTIL{{{marks}}} {percent}")
    return "\n".join(lines) + "\n"


@fixture("ring-hangs", "ring-hangs")
def ring_hangs(stage: FixtureStage) -> Expected:
    """All run; some ranks do nothing at all, the others wait at full load; nobody writes."""
    made, launcher, members, _ = _mpi(stage, workers=stage.draw.number(2, 4))
    idle = stage.draw.number(0, len(members) - 1)
    cards = [
        (
            one["spec"]["nodeName"],
            4 * (rank // 2) + card,
            stage.space,
            one["metadata"]["name"],
            "worker",
            0.0 if rank == idle else 100.0,
        )
        for rank, one in enumerate(members)
        for card in range(4)
    ]
    lines = [f"{stage.ago(1900)} step 1200 loss 2.13", f"{stage.ago(1890)} step 1201 loss 2.12"]
    logs = {f"{stage.space}/{launcher['metadata']['name']}/launcher": lines}
    return Expected(
        _about(stage, made),
        (f"worker-{idle}",),
        logs=logs,
        metrics=exposition(cards),
        later_seconds=0,
    )


@fixture("shared-memory", "shared-memory")
def shared_memory(stage: FixtureStage) -> Expected:
    """NCCL has no shared memory, or may not register memory."""
    made, _, members, _ = _mpi(stage)
    line, named, code = stage.draw.one_of(
        (
            "NCCL WARN Error while creating shared memory segment /dev/shm/nccl-ydUmXB (size "
            "9637888): No space left on device",
            "/dev/shm",
            1,
        ),
        (
            "RuntimeError: unable to create shared memory: DataLoader worker is killed by signal: Bus error",
            "/dev/shm",
            135,
        ),
        ("NCCL WARN Call to ibv_reg_mr failed with error Cannot allocate memory", "ibv_reg_mr", 1),
    )
    return Expected(
        _about(stage, made), (named,), logs=_crashes(stage, members[0], [line], name="worker", code=code)
    )


@fixture("horovod-not-built", "horovod-not-built")
def horovod_not_built(stage: FixtureStage) -> Expected:
    """The image has no Horovod for its framework."""
    made, launcher, _, _ = _mpi(stage)
    which = stage.draw.one_of("horovod.torch", "horovod.tensorflow")
    lines = [f"ImportError: Extension {which} has not been built: /usr/lib/python3/mpi_lib_v2.so not found"]
    return Expected(_about(stage, made), (which,), logs=_crashes(stage, launcher, lines))


@fixture("no-rendezvous", "rendezvous")
def rendezvous(stage: FixtureStage) -> Expected:
    """torchrun does not find its peers."""
    where = stage.pool()
    name = stage.draw.job()
    spec = {**pod_spec(gpus=4), "restartPolicy": "OnFailure"}
    made = stage.job(name, spec, pods=2, completionMode="Indexed")
    pods = [
        stage.job_pod(
            made,
            spec,
            on=where.nodes[0],
            phase="Running",
            status=stage.running(),
            annotations={"batch.kubernetes.io/job-completion-index": str(index)},
        )
        for index in range(2)
    ]
    lines = ["torch.distributed.elastic.rendezvous.api.RendezvousTimeoutError"]
    if stage.draw.chance(0.5):
        lines = [
            "[c10d] The client socket has timed out after 60s while trying to connect to (ddp-0.ddp, 29500).",
            *lines,
        ]
    return Expected(
        Subject("job", stage.space, name), ("rendezvous",), logs=_crashes(stage, pods[0], lines, name="train")
    )


@fixture("below-minimum", "too-few-slots")
def too_few_slots(stage: FixtureStage) -> Expected:
    """Elastic Horovod has fewer workers than it needs."""
    made, launcher, _, _ = _mpi(stage)
    least = stage.draw.one_of(16, 32)
    lines = [f"horovod.runner.elastic: Timed out waiting for {least} slots. Increase HOROVOD_ELASTIC_TIMEOUT"]
    return Expected(_about(stage, made), (str(least),), logs=_crashes(stage, launcher, lines))
