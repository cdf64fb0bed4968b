"""Level D: what kubelets write. Fixtures, by the texts of Kubernetes 1.28 to 1.36."""

from typing import Any

from cockpit.model.finding import Subject
from tests.triage.builders import GPU, pod_spec
from tests.triage.case import Tree
from tests.triage.fixture_stage import FixtureStage, fixture
from tests.triage.stage import Expected

KUBELET = "kubelet"


def _waiting(stage: FixtureStage, reason: str, message: str = "", **more: Any) -> Tree:
    state = {"waiting": {"reason": reason, **({"message": message} if message else {})}}
    return {"containerStatuses": [stage.container(state, **more)]}


def _with_image(image: str, **spec: Any) -> Tree:
    return pod_spec(gpus=4, container={"image": image}, **spec)


@fixture("image-not-pulled", "image-absent")
def image_absent(stage: FixtureStage) -> Expected:
    """The tag does not exist."""
    where = stage.pool()
    stage.healthy(where)
    tag = stage.draw.one_of("24.13", "lates", "cuda12.9-py3")
    image = f"registry.example.com/ml/train:{tag}"
    status = _waiting(stage, "ImagePullBackOff", f'Back-off pulling image "{image}"')
    subject, pod = stage.stuck(_with_image(image), where, status)
    said = f'rpc error: code = NotFound desc = failed to pull and unpack image "{image}": failed to resolve'
    stage.event(
        pod,
        "Failed",
        f'Failed to pull image "{image}": {said} reference "{image}": {image}: not found',
        by=KUBELET,
        count=5,
    )
    stage.event(pod, "Failed", "Error: ImagePullBackOff", by=KUBELET, count=20, ago=20)
    return Expected(subject, (f"train:{tag}", "not found|does not exist|no such|absent"))


@fixture("image-not-pulled", "image-unauthorized")
def image_unauthorized(stage: FixtureStage) -> Expected:
    """The registry wants a pull secret."""
    where = stage.pool()
    image = f"registry.example.com/{stage.draw.one_of('private', 'secret-lab')}/train:1.2"
    status = _waiting(
        stage,
        "ErrImagePull",
        f'failed to pull and unpack image "{image}": failed to authorize: 401 Unauthorized',
    )
    subject, pod = stage.stuck(_with_image(image), where, status)
    why = (
        "failed to authorize: failed to fetch anonymous token: unexpected status from GET request: "
        "401 Unauthorized"
    )
    stage.event(
        pod,
        "Failed",
        f'Failed to pull image "{image}": failed to pull and unpack image "{image}": {why}',
        by=KUBELET,
        count=3,
    )
    return Expected(subject, ("train:1.2", "unauthorized|not authorized|authoriz|pull secret|credentials"))


@fixture("starting", "image-pulling")
def image_pulling(stage: FixtureStage) -> Expected:
    """A big image is on its way for minutes."""
    where = stage.pool()
    image = "nvcr.io/nvidia/pytorch:24.10-py3"
    subject, pod = stage.stuck(_with_image(image), where, _waiting(stage, "ContainerCreating"))
    stage.event(
        pod,
        "Pulling",
        f'Pulling image "{image}"',
        by=KUBELET,
        is_warning=False,
        ago=stage.draw.number(120, 400),
    )
    return Expected(subject, ("pytorch:24.10-py3",))


@fixture("config-missing", "config-missing")
def config_missing(stage: FixtureStage) -> Expected:
    """A ConfigMap or Secret that the container's environment needs."""
    where = stage.pool()
    kind, name = stage.draw.one_of("configmap", "secret"), stage.draw.word("train-config", "wandb-key")
    subject, pod = stage.stuck(
        pod_spec(gpus=4), where, _waiting(stage, "CreateContainerConfigError", f'{kind} "{name}" not found')
    )
    stage.event(pod, "Failed", f'Error: {kind} "{name}" not found', by=KUBELET, count=12)
    return Expected(subject, (name,))


@fixture("cannot-start", "no-such-command")
def no_such_command(stage: FixtureStage) -> Expected:
    """The image does not hold the command."""
    where = stage.pool()
    command = stage.draw.one_of("torchrunn", "/opt/train/start.sh", "horovodrun")
    said = f'exec: "{command}": executable file not found in $PATH: unknown'
    if command.startswith("/"):
        said = f'exec: "{command}": stat {command}: no such file or directory: unknown'
    said = (
        "failed to create containerd task: failed to create shim task: OCI runtime create failed: "
        f"runc create failed: unable to start container process: error during container init: {said}"
    )
    spec = pod_spec(gpus=4, container={"command": [command]})
    subject, pod = stage.stuck(spec, where, _waiting(stage, "RunContainerError", said))
    stage.event(pod, "Failed", f"Error: {said}", by=KUBELET, count=4)
    return Expected(subject, (command,))


@fixture("cannot-start", "driver-not-loaded")
def driver_not_loaded(stage: FixtureStage) -> Expected:
    """NVIDIA's hook finds no driver on the node."""
    where = stage.pool()
    said = (
        "error running prestart hook #0: exit status 1, stdout: , stderr: Auto-detected mode as "
        "'legacy'\nnvidia-container-cli: initialization error: nvml error: driver not loaded: unknown"
    )
    said = (
        "failed to create containerd task: failed to create shim task: OCI runtime create failed: "
        f"runc create failed: unable to start container process: {said}"
    )
    subject, pod = stage.stuck(pod_spec(gpus=8), where, _waiting(stage, "RunContainerError", said))
    stage.event(pod, "Failed", f"Error: {said}", by=KUBELET, count=4)
    return Expected(subject, ("driver", where.nodes[0]))


@fixture("no-sandbox", "sandbox")
def sandbox(stage: FixtureStage) -> Expected:
    """The network plugin, or the runtime class of the toolkit, is missing on the node."""
    where = stage.pool()
    said, named = stage.draw.one_of(
        (
            'plugin type="calico" failed (add): error getting ClusterInformation: connection is '
            "unauthorized: Unauthorized",
            "calico",
        ),
        ('failed to get sandbox runtime: no runtime for "nvidia" is configured', "nvidia"),
    )
    subject, pod = stage.stuck(pod_spec(gpus=8), where, _waiting(stage, "ContainerCreating"))
    stage.event(
        pod,
        "FailedCreatePodSandBox",
        f"Failed to create pod sandbox: rpc error: code = Unknown desc = {said}",
        by=KUBELET,
        count=9,
    )
    return Expected(subject, (named,))


@fixture("volume-not-mounted", "mount")
def mount(stage: FixtureStage) -> Expected:
    """A volume that cannot be mounted."""
    where = stage.pool()
    claim, volume = stage.draw.word("data", "ckpt"), "pvc-5d0c2f6e"
    spec = pod_spec(gpus=4, volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": claim}}])
    meta = {"name": claim, "annotations": {"pv.kubernetes.io/bind-completed": "yes"}}
    stage.make(
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": meta,
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "volumeName": volume,
                "resources": {"requests": {"storage": "1Ti"}},
            },
            "status": {"phase": "Bound"},
        }
    )
    subject, pod = stage.stuck(spec, where, _waiting(stage, "ContainerCreating"))
    if stage.draw.chance(0.5):
        said = (
            f'Multi-Attach error for volume "{volume}" Volume is already exclusively attached to one '
            "node and can't be attached to another"
        )
        stage.event(pod, "FailedAttachVolume", said, by="attachdetach-controller", count=6)
        return Expected(subject, (claim, "attached|in use"))
    said = (
        f'MountVolume.SetUp failed for volume "{volume}" : mount failed: exit status 32 mount.nfs: '
        "Connection timed out"
    )
    stage.event(pod, "FailedMount", said, by=KUBELET, count=6)
    return Expected(subject, (claim, "timed out|timeout|timing out"))


@fixture("volume-not-mounted", "configmap-not-there")
def configmap_not_there(stage: FixtureStage) -> Expected:
    """A ConfigMap that is mounted does not exist."""
    where = stage.pool()
    name = stage.draw.word("train-config", "hostfile")
    spec = pod_spec(gpus=4, volumes=[{"name": "conf", "configMap": {"name": name}}])
    subject, pod = stage.stuck(spec, where, _waiting(stage, "ContainerCreating"))
    stage.event(
        pod,
        "FailedMount",
        f'MountVolume.SetUp failed for volume "conf" : configmap "{name}" not found',
        by=KUBELET,
        count=9,
    )
    return Expected(subject, (name,))


@fixture("devices-not-prepared", "prepare-devices")
def prepare_devices(stage: FixtureStage) -> Expected:
    """The driver's plugin is not registered with the kubelet."""
    where = stage.pool()
    spec = pod_spec(resourceClaims=[{"name": "gpu", "resourceClaimName": "cards"}])
    subject, pod = stage.stuck(spec, where, _waiting(stage, "ContainerCreating"))
    said = (
        "Failed to prepare dynamic resources: prepare dynamic resources: DRA driver gpu.nvidia.com "
        "is not registered"
    )
    stage.event(pod, "FailedPrepareDynamicResources", said, by=KUBELET, count=9)
    return Expected(subject, ("gpu.nvidia.com", where.nodes[0]))


@fixture("gpu-stack-down", "plugin-down")
def plugin_down(stage: FixtureStage) -> Expected:
    """Ready nodes whose GPUs have not come: the label is there, the resource is not."""
    where = stage.pool()
    name = where.nodes[0]
    tree = stage.one("nodes", name)
    for field in ("capacity", "allocatable"):
        if stage.draw.chance(0.5):
            del tree["status"][field][GPU]
        else:
            tree["status"][field][GPU] = "0"
    status = _waiting(stage, "CrashLoopBackOff", "back-off 5m0s restarting failed container", restarts=14)
    plugin = stage.pod(
        "nvidia-device-plugin-daemonset-x7k2p",
        pod_spec(),
        on=name,
        phase="Running",
        status=status,
        namespace="gpu-operator",
        labels={"app": "nvidia-device-plugin-daemonset"},
    )
    stage.event(plugin, "BackOff", "Back-off restarting failed container", by=KUBELET, count=30)
    return Expected(Subject("node", "", name), ("GPU",))


@fixture("gpus-unhealthy", "unhealthy-gpus")
def unhealthy_gpus(stage: FixtureStage) -> Expected:
    """The device plugin withdrew cards after an Xid."""
    where = stage.pool()
    lost = stage.draw.number(1, 3)
    name = where.nodes[0]
    tree = stage.one("nodes", name)
    tree["status"]["allocatable"][GPU] = str(8 - lost)
    stage.healthy(where)
    return Expected(Subject("node", "", name), (str(lost),))


@fixture("devices-unavailable", "devices-unavailable")
def devices_unavailable(stage: FixtureStage) -> Expected:
    """The kubelet has fewer devices than the scheduler thinks."""
    where = stage.pool()
    said = (
        "Pod was rejected: Allocate failed due to requested number of devices unavailable for "
        "nvidia.com/gpu. Requested: 8, Available: 7, which is unexpected"
    )
    status = {"reason": "UnexpectedAdmissionError", "message": said}
    subject, pod = stage.stuck(pod_spec(gpus=8), where, status, phase="Failed")
    stage.event(pod, "UnexpectedAdmissionError", said.partition(": ")[2], by=KUBELET)
    return Expected(subject, ("8", "7", where.nodes[0]))


@fixture("refused-by-kubelet", "numa")
def numa(stage: FixtureStage) -> Expected:
    """The topology manager finds no alignment."""
    where = stage.pool()
    reason, said, named = stage.draw.one_of(
        (
            "TopologyAffinityError",
            "Pod was rejected: Resources cannot be allocated with Topology locality",
            "topology|NUMA",
        ),
        (
            "OutOfcpu",
            "Pod was rejected: Node didn't have enough resource: cpu, requested: 8000, used: 92000, "
            "capacity: 96000",
            "CPU",
        ),
        (
            "OutOfnvidia.com/gpu",
            "Pod was rejected: Node didn't have enough resource: nvidia.com/gpu, requested: 4, used: "
            "8, capacity: 8",
            "GPU",
        ),
        (
            "NodeAffinity",
            "Pod was rejected: Predicate NodeAffinity failed: node(s) didn't match Pod's node "
            "affinity/selector",
            "affinity",
        ),
    )
    subject, _ = stage.stuck(pod_spec(gpus=4), where, {"reason": reason, "message": said}, phase="Failed")
    return Expected(subject, (named,))


@fixture("init-container", "init-container")
def init_container(stage: FixtureStage) -> Expected:
    """The downloader of the data has run for an hour."""
    where = stage.pool()
    name = stage.draw.word("fetch-dataset", "download-weights")
    first = {"name": name, "image": "registry.example.com/ml/fetch:1"}
    runs = {
        **stage.container({"running": {"startedAt": stage.ago(3500)}}, name=name),
        "image": first["image"],
    }
    state = {"waiting": {"reason": "PodInitializing"}}
    status = {"initContainerStatuses": [runs], "containerStatuses": [stage.container(state)]}
    subject, _ = stage.stuck(pod_spec(gpus=8, initContainers=[first]), where, status, age=3600)
    return Expected(subject, (name,))


@fixture("crashes", "crash-loop")
def crash_loop(stage: FixtureStage) -> Expected:
    """It crashes again and again; the last line of its log says why."""
    where = stage.pool()
    code, reason, line = stage.draw.one_of(
        (137, "OOMKilled", ""),
        (1, "Error", "ModuleNotFoundError: No module named 'apex'"),
        (1, "Error", "FileNotFoundError: [Errno 2] No such file or directory: '/data/train.idx'"),
        (139, "Error", ""),
    )
    restarts = stage.draw.number(3, 30)
    ended = {"exitCode": code, "reason": reason, "startedAt": stage.ago(200), "finishedAt": stage.ago(140)}
    said = "back-off 5m0s restarting failed container=train pod=x"
    status = _waiting(stage, "CrashLoopBackOff", said, restarts=restarts, last={"terminated": ended})
    spec = {**pod_spec(gpus=4), "restartPolicy": "Always"}
    subject, pod = stage.stuck(spec, where, status, phase="Running")
    stage.event(pod, "BackOff", "Back-off restarting failed container train in pod", by=KUBELET, count=40)
    key = f"{stage.space}/{pod['metadata']['name']}/train"
    logs = {key: ["Traceback (most recent call last):", '  File "train.py", line 3', line]} if line else {}
    words = {137: "memory|OOM", 139: "139|segmentation|segfault"}
    named = line.rpartition(" ")[2].strip("'") if line else words[code]
    return Expected(subject, (named,), logs=logs)


@fixture("evicted-by-kubelet", "evicted")
def evicted(stage: FixtureStage) -> Expected:
    """The kubelet evicted it."""
    where = stage.pool()
    what = stage.draw.one_of("ephemeral-storage", "memory")
    said = (
        f"The node was low on resource: {what}. Threshold quantity: 100Gi, available: 92Gi. Container "
        f"train was using 310Gi, request is 0, has larger consumption of {what}. "
    )
    status = {"reason": "Evicted", "message": said}
    subject, pod = stage.stuck(pod_spec(gpus=4), where, status, phase="Failed")
    stage.event(pod, "Evicted", said, by=KUBELET)
    return Expected(subject, ("memory" if what == "memory" else "ephemeral-storage|ephemeral storage|disk",))


@fixture("not-ready", "not-ready")
def not_ready(stage: FixtureStage) -> Expected:
    """It runs, and its readiness probe fails."""
    where = stage.pool()
    port = stage.draw.one_of(22, 2222, 8080)
    probe = {"readinessProbe": {"tcpSocket": {"port": port}, "periodSeconds": 10}}
    status = stage.running()
    status["containerStatuses"][0]["ready"] = False
    subject, pod = stage.stuck(pod_spec(gpus=4, container=probe), where, status, phase="Running")
    for one in pod["status"]["conditions"]:
        if one["type"] in ("Ready", "ContainersReady"):
            one |= {
                "status": "False",
                "reason": "ContainersNotReady",
                "message": "containers with unready status: [train]",
            }
    said = f"Readiness probe failed: dial tcp 10.0.3.7:{port}: connect: connection refused"
    stage.event(pod, "Unhealthy", said, by=KUBELET, count=50)
    return Expected(subject, (str(port),))


@fixture("node-pressure", "pressure")
def pressure(stage: FixtureStage) -> Expected:
    """A node under pressure."""
    where = stage.pool()
    stage.healthy(where)
    name = where.nodes[0]
    kind, word = stage.draw.one_of(
        ("DiskPressure", "disk"), ("MemoryPressure", "memory"), ("PIDPressure", "PID")
    )
    tree = stage.one("nodes", name)
    tree["status"]["conditions"] = stage.node_conditions(
        **{kind: ("True", f"KubeletHas{kind}", f"kubelet has {kind}")}
    )
    key = {
        "DiskPressure": "disk-pressure",
        "MemoryPressure": "memory-pressure",
        "PIDPressure": "pid-pressure",
    }[kind]
    tree["spec"]["taints"] = [
        {"key": f"node.kubernetes.io/{key}", "effect": "NoSchedule", "timeAdded": stage.ago(400)}
    ]
    return Expected(Subject("node", "", name), (word,))


@fixture("node-not-ready", "not-ready")
def node_not_ready(stage: FixtureStage) -> Expected:
    """The kubelet says that the node is not ready."""
    where = stage.pool()
    name = where.nodes[0]
    said, named = stage.draw.one_of(
        (
            "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady "
            "message:Network plugin returns error: cni plugin not initialized",
            "network",
        ),
        ("container runtime is down", "container runtime"),
        ("PLEG is not healthy: pleg was last seen active 5m12s ago; threshold is 3m0s", "PLEG"),
    )
    tree = stage.one("nodes", name)
    tree["status"]["conditions"] = stage.node_conditions(Ready=("False", "KubeletNotReady", said))
    tree["spec"]["taints"] = [
        {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule", "timeAdded": stage.ago(400)}
    ]
    stage.event(
        tree,
        "NodeNotReady",
        f"Node {name} status is now: NodeNotReady",
        by="node-controller",
        is_warning=False,
        ago=400,
    )
    return Expected(Subject("node", "", name), (named,))
