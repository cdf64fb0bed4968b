"""Volumes and device claims. Real kube-scheduler and kube-controller-manager."""

from tests.triage.builders import HOST, ZONE, ask, neighbours, pod_spec, pool, refused, run, told
from tests.triage.case import Tree
from tests.triage.stage import Expected, Lasts, Stage, script

SCHEDULER = "kube-scheduler"
DEVICES = "resource.k8s.io/v1"


def claim(name: str, *, storage_class: str = "", volume: str = "", mode: str = "ReadWriteOnce") -> Tree:
    """A PersistentVolumeClaim."""
    spec: Tree = {
        "accessModes": [mode],
        "resources": {"requests": {"storage": "100Gi"}},
        "storageClassName": storage_class,
        **({"volumeName": volume} if volume else {}),
    }
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": spec}


def volume(name: str, *, key: str, values: list[str], mode: str = "ReadWriteOnce") -> Tree:
    """A PersistentVolume that some nodes reach."""
    term = {"matchExpressions": [{"key": key, "operator": "In", "values": values}]}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "accessModes": [mode],
            "capacity": {"storage": "200Gi"},
            "storageClassName": "",
            "csi": {"driver": "csi.example.com", "volumeHandle": name},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}},
        },
    }


def storage_class(name: str, *, waits: bool) -> Tree:
    """A class whose provisioner does not run here."""
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": "csi.example.com",
        "volumeBindingMode": "WaitForFirstConsumer" if waits else "Immediate",
    }


def with_claim(name: str) -> Tree:
    """Fields of a pod's spec that mount a claim."""
    return {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": name}}]}


def bound(stage: Stage, name: str) -> None:
    """Until the claim has its volume."""
    stage.until(
        "persistentvolumeclaims",
        lambda one: one["metadata"]["name"] == name and one["status"].get("phase") == "Bound",
    )


@script("claim-unbound", "class-missing", SCHEDULER, lasts=Lasts.UNTIL_MENDED)
def class_missing(stage: Stage) -> Expected:
    """The claim names a StorageClass that does not exist."""
    pool(stage)
    neighbours(stage)
    name, kind = stage.draw.word("data", "scratch"), stage.draw.word("fast-ssd", "lustre", "weka")
    stage.make(claim(name, storage_class=kind))
    subject = ask(stage, pod_spec(gpus=1, **with_claim(name)))
    refused(stage, "unbound immediate PersistentVolumeClaims", subject)
    told(stage, "ProvisioningFailed", kind)
    return Expected(subject, (name, kind))


@script("claim-unbound", "nobody-provisions", SCHEDULER, lasts=Lasts.UNTIL_MENDED)
def nobody_provisions(stage: Stage) -> Expected:
    """The provisioner of the class does not run."""
    pool(stage)
    neighbours(stage)
    name, kind = stage.draw.word("data", "scratch"), stage.draw.word("fast-ssd", "lustre", "weka")
    stage.make(storage_class(kind, waits=False), claim(name, storage_class=kind))
    subject = ask(stage, pod_spec(gpus=1, **with_claim(name)))
    refused(stage, "unbound immediate PersistentVolumeClaims", subject)
    told(stage, "ExternalProvisioning")
    return Expected(subject, (name,))


@script(
    "claim-missing",
    "claim-missing",
    SCHEDULER,
    can_second=True,
    lasts=Lasts.UNTIL_MENDED,
    double=(Lasts.UNTIL_MENDED, Lasts.UNTIL_MENDED),
)
def claim_missing(stage: Stage) -> Expected:
    """The claim does not exist; second: the pool has a taint, too."""
    marks = ["team=secret:NoSchedule"] if stage.draw.has_second else []
    pool(stage, taints=marks)
    neighbours(stage)
    name = stage.draw.word("dataset", "imagenet", "corpus")
    subject = ask(stage, pod_spec(gpus=2, **with_claim(name)))
    refused(stage, f'persistentvolumeclaim "{name}" not found', subject)
    return Expected(subject, (name,), ("taint",) if marks else ())


@script("claim-missing", "claim-going", SCHEDULER, lasts=Lasts.UNTIL_MENDED)
def claim_going(stage: Stage) -> Expected:
    """The claim is being deleted."""
    pool(stage)
    name = stage.draw.word("dataset", "imagenet", "corpus")
    tree = claim(name, storage_class="none")
    tree["metadata"]["finalizers"] = ["example.com/backup"]
    stage.make(tree)
    stage.remove("persistentvolumeclaims", name)
    subject = ask(stage, pod_spec(gpus=2, **with_claim(name)))
    refused(stage, "is being deleted", subject)
    return Expected(subject, (name,))


@script("volume-elsewhere", "other-zone", SCHEDULER)
def other_zone(stage: Stage) -> Expected:
    """The volume is in a zone without GPU nodes."""
    pool(stage, zones=("zone-a", "zone-b"))
    name, disk = stage.draw.word("data", "ckpt"), stage.draw.word("pv", "disk")
    stage.make(volume(disk, key=ZONE, values=["zone-c"]), claim(name, volume=disk))
    bound(stage, name)
    subject = ask(stage, pod_spec(gpus=1, **with_claim(name)))
    refused(stage, "PersistentVolume's node affinity", subject)
    return Expected(subject, (name, "zone-c"))


@script("volume-not-attachable", "one-pod-only", SCHEDULER, lasts=Lasts.BY_ITSELF)
def one_pod_only(stage: Stage) -> Expected:
    """A ReadWriteOncePod claim is in use by a pod that runs."""
    place = pool(stage)
    mode = "ReadWriteOncePod"
    name, disk = stage.draw.word("data", "ckpt"), stage.draw.word("pv", "disk")
    stage.make(
        volume(disk, key=HOST, values=list(place.nodes), mode=mode), claim(name, volume=disk, mode=mode)
    )
    bound(stage, name)
    run(stage, pod_spec(gpus=1, **with_claim(name)))
    subject = ask(stage, pod_spec(gpus=1, **with_claim(name)))
    refused(stage, "ReadWriteOncePod", subject)
    return Expected(subject, (name,))


def device_class(name: str) -> Tree:
    """A class of devices of one driver."""
    rule = f'device.driver == "{name}"'
    return {
        "apiVersion": DEVICES,
        "kind": "DeviceClass",
        "metadata": {"name": name},
        "spec": {"selectors": [{"cel": {"expression": rule}}]},
    }


def device_claim(name: str, kind: str, count: int) -> Tree:
    """A claim of so many devices."""
    exactly = {"deviceClassName": kind, "allocationMode": "ExactCount", "count": count}
    return {
        "apiVersion": DEVICES,
        "kind": "ResourceClaim",
        "metadata": {"name": name},
        "spec": {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}},
    }


def offers(node: str, driver: str, count: int) -> Tree:
    """What a driver publishes for a node."""
    return {
        "apiVersion": DEVICES,
        "kind": "ResourceSlice",
        "metadata": {"name": f"{node}-{driver.partition('.')[0]}"},
        "spec": {
            "driver": driver,
            "nodeName": node,
            "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
            "devices": [
                {"name": f"gpu-{index}", "attributes": {"productName": {"string": "NVIDIA H100 80GB HBM3"}}}
                for index in range(count)
            ],
        },
    }


def with_devices(name: str, field: str = "resourceClaimName") -> Tree:
    """Fields of a pod's spec that use a claim, and of its container."""
    return {
        "resourceClaims": [{"name": "gpu", field: name}],
        "container": {"resources": {"claims": [{"name": "gpu"}], "requests": {"cpu": "4", "memory": "16Gi"}}},
    }


@script("device-claim-missing", "claim-missing", SCHEDULER)
def device_claim_missing(stage: Stage) -> Expected:
    """The ResourceClaim that the pod names does not exist."""
    pool(stage, gpus=0)
    name = stage.draw.word("gpus", "cards")
    subject = ask(stage, pod_spec(**with_devices(name)))
    stage.until("pods", lambda one: one["metadata"]["name"].startswith(subject.name))
    # The scheduler writes nothing about it: that it was at it shows when a later pod runs.
    run(stage, pod_spec())
    return Expected(subject, (name,), later_seconds=90)


@script("device-claim-missing", "template-missing", "kube-controller-manager")
def template_missing(stage: Stage) -> Expected:
    """The template that the claim is to be made from does not exist."""
    pool(stage, gpus=0)
    name = stage.draw.word("gpu-template", "cards-template")
    subject = ask(stage, pod_spec(**with_devices(name, "resourceClaimTemplateName")))
    told(stage, "FailedResourceClaimCreation", name)
    return Expected(subject, (name,))


@script("devices-short", "too-few-devices", SCHEDULER)
def too_few_devices(stage: Stage) -> Expected:
    """A claim of more devices than any node offers."""
    has = stage.draw.one_of(1, 2, 4)
    place = pool(stage, gpus=0)
    kind = "gpu.nvidia.com"
    stage.make(device_class(kind), *(offers(name, kind, has) for name in place.nodes))
    name = stage.draw.word("gpus", "cards")
    stage.make(device_claim(name, kind, has * 2))
    subject = ask(stage, pod_spec(**with_devices(name)))
    refused(stage, "cannot allocate all claims", subject)
    return Expected(subject, (str(has * 2), str(has)))


@script("device-elsewhere", "claim-elsewhere", SCHEDULER)
def claim_elsewhere(stage: Stage) -> Expected:
    """A shared claim was allocated on one node, and the second pod may run on the others only."""
    place = pool(stage, gpus=0, count=3)
    kind = "gpu.nvidia.com"
    stage.make(device_class(kind), *(offers(name, kind, 4) for name in place.nodes))
    name = stage.draw.word("gpus", "cards")
    stage.make(device_claim(name, kind, 2))
    run(stage, pod_spec(**with_devices(name)))
    runs = stage.until("pods", lambda one: bool(one["spec"].get("nodeName")))["spec"]["nodeName"]
    rule = {"matchExpressions": [{"key": HOST, "operator": "NotIn", "values": [runs]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [rule]}}
    subject = ask(stage, pod_spec(**with_devices(name), affinity={"nodeAffinity": required}))
    refused(stage, "resourceclaim not available on the node", subject)
    return Expected(subject, (name, runs))


@script("device-class-missing", "class-missing", SCHEDULER)
def device_class_missing(stage: Stage) -> Expected:
    """The claim names a DeviceClass that does not exist."""
    pool(stage, gpus=0)
    name, kind = (
        stage.draw.word("gpus", "cards"),
        stage.draw.one_of("mig.nvidia.com", "gpu.nvidia.com", "gpu.amd.com"),
    )
    stage.make(device_claim(name, kind, 1))
    subject = ask(stage, pod_spec(**with_devices(name)))
    refused(stage, f"device class {kind} does not exist", subject)
    return Expected(subject, (kind,))
