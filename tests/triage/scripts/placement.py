"""The scheduler filters every node out. Real kube-scheduler."""

from tests.triage.builders import (
    HOST,
    ask,
    fill,
    neighbours,
    node_like,
    pod_spec,
    pool,
    refused,
    run,
)
from tests.triage.stage import Expected, Lasts, Stage, script

SCHEDULER = "kube-scheduler"
EVERYTHING = [{"operator": "Exists"}]


@script("gpus-short", "all-busy", SCHEDULER, lasts=Lasts.BY_ITSELF)
def all_busy(stage: Stage) -> Expected:
    """Every node of the cluster is full."""
    place = pool(stage)
    neighbours(stage)
    fill(stage, place, 8)
    wanted = stage.draw.one_of(1, 2, 4, 8)
    subject = ask(stage, pod_spec(gpus=wanted))
    refused(stage, "Insufficient nvidia.com/gpu", subject)
    return Expected(subject, (str(wanted),))


@script("gpus-short", "too-big-for-any-node", SCHEDULER, lasts=Lasts.NEVER_PASSES)
def too_big(stage: Stage) -> Expected:
    """More GPUs than any node has, on idle nodes."""
    size = stage.draw.one_of(4, 8)
    pool(stage, gpus=size)
    neighbours(stage)
    subject = ask(stage, pod_spec(gpus=size * 2))
    refused(stage, "Insufficient nvidia.com/gpu", subject)
    return Expected(subject, (str(size * 2), str(size)))


@script("resource-not-offered", "nobody-offers-it", SCHEDULER, lasts=Lasts.NEVER_PASSES)
def nobody_offers(stage: Stage) -> Expected:
    """A resource that no node has: a typo, or another vendor's."""
    pool(stage)
    neighbours(stage)
    resource = stage.draw.one_of(
        "amd.com/gpu", "nvidia.com/gpus", "gpu.intel.com/i915", "nvidia.com/gpu.shared"
    )
    subject = ask(stage, pod_spec(gpus=stage.draw.number(1, 8), resource=resource))
    refused(stage, f"Insufficient {resource}", subject)
    return Expected(subject, (resource,))


@script("other-resource-short", "cpu-taken", SCHEDULER, can_second=True, lasts=Lasts.BY_ITSELF)
def cpu_taken(stage: Stage) -> Expected:
    """GPUs are free, the processors are taken by a pod without any; second: too little memory, too."""
    place = pool(stage)
    for name in place.nodes:
        run(stage, pod_spec(cpu="90"), on=name)
    is_double = stage.draw.has_second
    memory = "2Ti" if is_double else "16Gi"
    subject = ask(stage, pod_spec(gpus=stage.draw.number(1, 4), cpu="16", memory=memory))
    refused(stage, "Insufficient cpu", subject)
    return Expected(subject, ("CPU", "memory") if is_double else ("CPU",))


@script("other-resource-short", "device-besides", SCHEDULER, lasts=Lasts.NEVER_PASSES)
def device_besides(stage: Stage) -> Expected:
    """A network card or huge pages that nodes have too few of."""
    resource, has, wants = stage.draw.one_of(
        ("rdma/hca_shared_devices_a", "2", "4"),
        ("hugepages-2Mi", "1Gi", "4Gi"),
        ("vpc.amazonaws.com/efa", "1", "4"),
    )
    pool(stage, more={resource: has})
    neighbours(stage)
    subject = ask(stage, pod_spec(gpus=4, more={resource: wants}))
    refused(stage, f"Insufficient {resource}", subject)
    return Expected(subject, (resource,))


@script("pod-limit", "pod-limit", SCHEDULER, lasts=Lasts.BY_ITSELF)
def pod_limit(stage: Stage) -> Expected:
    """Each node runs as many pods as it may."""
    most = stage.draw.number(1, 2)
    place = pool(stage, count=2, more={"pods": str(most)})
    for name in place.nodes:
        for _ in range(most):
            run(stage, pod_spec(cpu="2"), on=name)
    subject = ask(stage, pod_spec(gpus=stage.draw.number(1, 4)))
    refused(stage, "Too many pods", subject)
    return Expected(subject, ("pods", str(most)))


@script(
    "taint",
    "taint",
    SCHEDULER,
    can_second=True,
    lasts=Lasts.UNTIL_MENDED,
    double=(Lasts.UNTIL_MENDED, Lasts.BY_ITSELF),
)
def tainted(stage: Stage) -> Expected:
    """A taint of the pool that the pod does not tolerate; second: its nodes are full, too."""
    key = stage.draw.one_of("team", "dedicated", "example.com/reserved", "nvidia.com/gpu")
    value = stage.draw.one_of("secret", "research", "prod", "")
    effect = stage.draw.one_of("NoSchedule", "NoExecute")
    place = pool(stage, taints=[f"{key}={value}:{effect}"])
    neighbours(stage)
    if stage.draw.has_second:
        fill(stage, place, 8)
    subject = ask(stage, pod_spec(gpus=stage.draw.one_of(1, 2, 4, 8)))
    refused(stage, "untolerated taint", subject)
    return Expected(
        subject, (f"{key}={value}" if value else key,), ("gpus-short",) if stage.draw.has_second else ()
    )


@script("nodes-not-ready", "not-ready", SCHEDULER)
def not_ready(stage: Stage) -> Expected:
    """The only nodes with GPUs are under pressure: the pod tolerates the pool, not the trouble."""
    place = pool(stage, count=stage.draw.number(1, 2))
    neighbours(stage)
    kind = stage.draw.one_of("DiskPressure", "PIDPressure", "MemoryPressure")
    for name in place.nodes:
        tree = node_like(stage, name)
        conditions = [
            {**one, "status": "True", "reason": f"KubeletHas{kind}", "message": f"kubelet has {kind}"}
            if one["type"] == kind
            else one
            for one in tree["status"]["conditions"]
        ]
        stage.patch("nodes", name, {"status": {"conditions": conditions}}, part="status")
    word = {"DiskPressure": "disk", "PIDPressure": "pid", "MemoryPressure": "memory"}[kind]
    key = f"node.kubernetes.io/{word}-pressure"
    for name in place.nodes:
        node_like(stage, name, key)
    subject = ask(stage, pod_spec(gpus=1, tolerations=[{"key": "nvidia.com/gpu", "operator": "Exists"}]))
    refused(stage, "untolerated taint", subject)
    return Expected(subject, (f"{word} pressure|{kind}|{word}-pressure",), ("node-pressure",))


@script(
    "cordoned",
    "cordoned",
    SCHEDULER,
    can_second=True,
    lasts=Lasts.UNTIL_MENDED,
    double=(Lasts.UNTIL_MENDED, Lasts.BY_ITSELF),
)
def cordoned(stage: Stage) -> Expected:
    """All nodes that could take it are cordoned; second: they are full, too."""
    place = pool(stage, cordoned=range(4))
    neighbours(stage)
    if stage.draw.has_second:
        fill(stage, place, 8)
    subject = ask(stage, pod_spec(gpus=stage.draw.one_of(1, 4, 8)))
    refused(stage, "unschedulable", subject)
    names = (place.nodes[0],) if len(place.nodes) == 1 else (str(len(place.nodes)),)
    return Expected(subject, ("cordoned", *names), ("gpus-short",) if stage.draw.has_second else ())


@script(
    "selector",
    "selector",
    SCHEDULER,
    can_second=True,
    lasts=Lasts.NEVER_PASSES,
    double=(Lasts.NEVER_PASSES, Lasts.NEVER_PASSES),
)
def selector(stage: Stage) -> Expected:
    """A nodeSelector that no node satisfies; second: more GPUs than a node has."""
    pool(stage)
    neighbours(stage)
    key = stage.draw.one_of("gpu", "nvidia.com/gpu.product", "example.com/tier", "pool")
    value = stage.draw.one_of("b300", "NVIDIA-B300", "gold", "h800")
    subject = ask(stage, pod_spec(gpus=16 if stage.draw.has_second else 2, nodeSelector={key: value}))
    refused(stage, "didn't match Pod's node affinity/selector", subject)
    return Expected(subject, (f"{key}={value}",), ("gpus-short",) if stage.draw.has_second else ())


@script("selector", "affinity", SCHEDULER, lasts=Lasts.NEVER_PASSES)
def affinity(stage: Stage) -> Expected:
    """Required node affinity that no node satisfies."""
    pool(stage)
    neighbours(stage)
    key = stage.draw.one_of("example.com/rack", "nvidia.com/gpu.product", "topology.kubernetes.io/zone")
    values = stage.draw.some(["r17", "zone-z", "NVIDIA-B300", "east-9"], stage.draw.number(1, 2))
    term = {"matchExpressions": [{"key": key, "operator": "In", "values": values}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    subject = ask(stage, pod_spec(gpus=2, affinity={"nodeAffinity": required}))
    refused(stage, "didn't match Pod's node affinity/selector", subject)
    return Expected(subject, (key, values[0]))


@script("pod-affinity", "anti-affinity", SCHEDULER)
def anti_affinity(stage: Stage) -> Expected:
    """One per host of its kind, and every host has one; or it must stand beside somebody who is not there."""
    place = pool(stage)
    app = stage.draw.word("app", "svc")
    if stage.draw.chance(0.5):
        for name in place.nodes:
            run(stage, pod_spec(gpus=1), on=name, labels={"app": app})
        kind = "podAntiAffinity"
    else:
        kind = "podAffinity"
    term = {"topologyKey": HOST, "labelSelector": {"matchLabels": {"app": app}}}
    rule = {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    subject = ask(stage, pod_spec(gpus=1, affinity=rule))
    refused(stage, "affinity rules", subject)
    return Expected(subject, (f"app={app}",))


@script("topology-spread", "spread", SCHEDULER)
def spread(stage: Stage) -> Expected:
    """A hard spread over a label that no node has, or over zones of which one is full."""
    key = stage.draw.one_of("example.com/rack", "topology.kubernetes.io/zone")
    pool(stage)
    neighbours(stage)
    app = stage.draw.word("app", "svc")
    rule = {
        "maxSkew": 1,
        "topologyKey": key,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": app}},
    }
    subject = ask(stage, pod_spec(gpus=1, topologySpreadConstraints=[rule]), labels={"app": app})
    refused(stage, "topology spread constraints", subject)
    return Expected(subject, (key,))


@script("host-port", "host-port", SCHEDULER, lasts=Lasts.BY_ITSELF)
def host_port(stage: Stage) -> Expected:
    """The port it wants on the host is taken on every node."""
    place = pool(stage, count=stage.draw.number(1, 3))
    port = stage.draw.one_of(2222, 8265, 29500, 9000)
    ports = {"ports": [{"containerPort": port, "hostPort": port, "protocol": "TCP"}]}
    for name in place.nodes:
        run(stage, pod_spec(gpus=1, container=ports), on=name)
    subject = ask(stage, pod_spec(gpus=1, container=ports))
    refused(stage, "didn't have free ports", subject)
    return Expected(subject, (str(port),))
