"""`/pods`, `/metrics/resource` and `/metrics/cadvisor` of the endpoint; `?node=` narrows them to one node.

The metric names are those of Kubernetes 1.36 pkg/kubelet/metrics/collectors/resource_metrics.go and of
google/cadvisor docs/storage/prometheus.md, as far as CPU, memory, disk and network go.
"""

from collections.abc import Iterator
from functools import lru_cache
from random import Random

import msgspec

from cockpit.k8s.quantity import parse_quantity
from cockpit.sim.actors.common.gpu_load import ANNOTATION, LoadPattern, load_of
from cockpit.sim.actors.kubelet.actor import Kubelets
from cockpit.sim.actors.kubelet.runs import ContainerRun, PodRun, Stage
from cockpit.sim.devices import GPU, MIG_PREFIX, SHARED_GPU
from cockpit.sim.port import Tree

CPU_ANNOTATION = "cockpit.dev/cpu"


class Rates(msgspec.Struct, frozen=True):
    """`cpu_ratio` is of what was asked for, None where the runtime's own number counts."""

    cpu_ratio: float | None
    receive_bytes_per_second: float
    transmit_bytes_per_second: float
    read_bytes_per_second: float = 0.0
    write_bytes_per_second: float = 0.0


_PLAIN = Rates(None, 60e3, 40e3, 2e3, 9e3)
_OF = {
    LoadPattern.TRAINING: Rates(0.55, 31e6, 28e6, 40e6, 2e6),
    LoadPattern.DATA_STARVED: Rates(0.97, 14e6, 1e6, 90e6, 1e6),
    LoadPattern.NETWORK_BOUND: Rates(0.35, 1.16e9, 1.14e9, 30e6, 2e6),
    LoadPattern.INFERENCE: Rates(0.4, 2e6, 5e6, 1e3, 8e3),
    LoadPattern.NOTEBOOK: Rates(0.1, 120e3, 90e3, 2e6, 3e5),
    LoadPattern.IDLE: Rates(0.02, 4e3, 4e3, 0.0, 1e3),
    LoadPattern.STEADY: Rates(0.2, 4e3, 4e3, 0.0, 4e3),
}
"""Of a link of 10 Gbit/s, as a worker sees it that exchanges gradients over its pod's own interface."""


def rates_of(pod: Tree) -> Rates:
    """The rates of a pod, a few percent apart from those of its like."""
    metadata = pod["metadata"]
    annotations = metadata.get("annotations") or {}
    if ANNOTATION not in annotations and not _has_gpus(pod):
        found = _PLAIN
    else:
        found = _OF[load_of(annotations, "", 0.0).pattern]
    some = _apart(f"{metadata.get('namespace')}/{metadata['name']}")
    return Rates(
        None if CPU_ANNOTATION in annotations else found.cpu_ratio,
        round(found.receive_bytes_per_second * some),
        round(found.transmit_bytes_per_second * some),
        round(found.read_bytes_per_second * some),
        round(found.write_bytes_per_second * some),
    )


@lru_cache(maxsize=1 << 12)
def _apart(name: str) -> float:
    return Random(name).uniform(0.97, 1.03)


def _has_gpus(pod: Tree) -> bool:
    return any(
        name in (GPU, SHARED_GPU) or name.startswith(MIG_PREFIX)
        for container in pod["spec"].get("containers") or ()
        for name in (container.get("resources") or {}).get("limits") or ()
    )


def cores_asked(container: Tree) -> float:
    """CPU cores that a container asked for; 0 where it did not."""
    resources = container.get("resources") or {}
    asked = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}
    return float(parse_quantity(str(asked.get("cpu", "0"))))


def _runs(kubelets: Kubelets, node: str) -> list[PodRun]:
    return [run for run in kubelets.pods.values() if not node or run.node == node]


def pod_list(kubelets: Kubelets, node: str) -> Tree:
    """The pods as a v1 PodList."""
    items = [run.pod for run in _runs(kubelets, node)]
    return {"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": items}


def resource_metrics(kubelets: Kubelets, node: str) -> str:
    """CPU seconds and working set of running containers, in Prometheus text."""
    now = kubelets.engine.now()
    cpu = ["# TYPE container_cpu_usage_seconds_total counter"]
    memory = ["# TYPE container_memory_working_set_bytes gauge"]
    for run in _runs(kubelets, node):
        for one, seconds, cores, used in _running(run, now):
            labels = f'{{container="{one.name}",namespace="{run.namespace}",pod="{run.name}"}}'
            cpu.append(f"container_cpu_usage_seconds_total{labels} {cores * seconds:.3f}")
            memory.append(f"container_memory_working_set_bytes{labels} {used}")
    return "\n".join((*cpu, *memory)) + "\n"


def _running(run: PodRun, now: float) -> Iterator[tuple[ContainerRun, float, float, int]]:
    """Containers that run, each with the seconds since, the cores it uses, and the bytes it holds."""
    rates = rates_of(run.pod)
    for one in run.containers:
        if one.stage is not Stage.RUNNING or one.running is None:
            continue
        cores, used = one.running.usage(now)
        asked = cores_asked(one.spec)
        if rates.cpu_ratio is not None and asked and not run.is_local:
            cores = asked * rates.cpu_ratio
        yield one, max(0.0, now - one.started_at), cores, used


CADVISOR_NAMES = (
    "container_cpu_usage_seconds_total",
    "container_memory_working_set_bytes",
    "container_fs_reads_bytes_total",
    "container_fs_writes_bytes_total",
    "container_network_receive_bytes_total",
    "container_network_transmit_bytes_total",
)
CadvisorSample = tuple[str, tuple[tuple[str, str], ...], float]
"""A metric's name, its labels, its value."""


def cadvisor_samples(run: PodRun, at_seconds: float) -> Iterator[CadvisorSample]:
    """CPU, memory and disk of each container that runs now, network of its pod, as they were at a time: none
    before the container started."""
    pod = (("namespace", run.namespace), ("pod", run.name))
    rates, up = rates_of(run.pod), 0.0
    cpu, memory, reads, writes, receive, transmit = CADVISOR_NAMES
    for one, seconds, cores, used in _running(run, at_seconds):
        if at_seconds < one.started_at:
            continue
        up = max(up, seconds)
        own = (("container", one.name), *pod)
        yield cpu, (*own, ("cpu", "total")), round(cores * seconds, 3)
        yield memory, own, used
        disk = (*own, ("device", "/dev/nvme0n1"))
        yield reads, disk, round(rates.read_bytes_per_second * seconds)
        yield writes, disk, round(rates.write_bytes_per_second * seconds)
    if up > 0.0 and not run.pod["spec"].get("hostNetwork"):
        sandbox = (("container", ""), ("interface", "eth0"), *pod)
        yield receive, sandbox, round(rates.receive_bytes_per_second * up)
        yield transmit, sandbox, round(rates.transmit_bytes_per_second * up)


def cadvisor_metrics(kubelets: Kubelets, node: str) -> str:
    """The same of all pods of a node now, in Prometheus text with the time of the reading."""
    now = kubelets.engine.now()
    rows: dict[str, list[str]] = {name: [] for name in CADVISOR_NAMES}
    for run in _runs(kubelets, node):
        for name, labels, value in cadvisor_samples(run, now):
            said = ",".join(f'{label}="{text}"' for label, text in labels)
            rows[name].append(f"{name}{{{said}}} {value} {int(1000 * now)}")
    lines = []
    for name, found in rows.items():
        lines += [f"# TYPE {name} {'counter' if name.endswith('_total') else 'gauge'}", *found]
    return "\n".join(lines) + "\n"
