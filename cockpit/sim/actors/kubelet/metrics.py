"""`/pods`, `/metrics/resource` and `/metrics/cadvisor` of the endpoint; `?node=` narrows them to one node.

The metric names are those of Kubernetes 1.36 pkg/kubelet/metrics/collectors/resource_metrics.go and of
google/cadvisor docs/storage/prometheus.md, as far as CPU, memory and network go.
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


def cadvisor_metrics(kubelets: Kubelets, node: str) -> str:
    """CPU and memory of each running container, network of each pod, with the time of the reading."""
    now = kubelets.engine.now()
    at = int(1000 * now)
    rows: dict[str, list[str]] = {
        "container_cpu_usage_seconds_total": [],
        "container_memory_working_set_bytes": [],
        "container_network_receive_bytes_total": [],
        "container_network_transmit_bytes_total": [],
    }
    cpu, memory, receive, transmit = rows.values()
    for run in _runs(kubelets, node):
        pod = f'namespace="{run.namespace}",pod="{run.name}"'
        up = 0.0
        for one, seconds, cores, used in _running(run, now):
            up = max(up, seconds)
            own = f'container="{one.name}",{pod}'
            cpu.append(f'{{{own},cpu="total"}} {cores * seconds:.3f} {at}')
            memory.append(f"{{{own}}} {used} {at}")
        if up > 0.0 and not run.pod["spec"].get("hostNetwork"):
            rates = rates_of(run.pod)
            sandbox = f'{{container="",interface="eth0",{pod}}}'
            receive.append(f"{sandbox} {rates.receive_bytes_per_second * up:.0f} {at}")
            transmit.append(f"{sandbox} {rates.transmit_bytes_per_second * up:.0f} {at}")
    lines = []
    for name, found in rows.items():
        kind = "counter" if name.endswith("_total") else "gauge"
        lines += [f"# TYPE {name} {kind}", *(f"{name}{row}" for row in found)]
    return "\n".join(lines) + "\n"
