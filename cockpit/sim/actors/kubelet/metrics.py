"""`/pods`, `/metrics/resource` and `/metrics/cadvisor` of the endpoint; `?node=` narrows them to one node.

The metric names are those of Kubernetes 1.36 pkg/kubelet/metrics/collectors/resource_metrics.go and of
google/cadvisor docs/storage/prometheus.md, as far as CPU, memory, disk and network go.
"""

from collections.abc import Iterator

from cockpit.sim.actors.kubelet.actor import Kubelets
from cockpit.sim.actors.kubelet.runs import ContainerRun, PodRun, Stage
from cockpit.sim.actors.kubelet.traffic import cores_asked, rates_of
from cockpit.sim.port import Tree


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
