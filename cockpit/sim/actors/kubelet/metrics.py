"""`/pods` and `/metrics/resource` of the endpoint; `?node=` narrows them to one node.

The metric names are those of Kubernetes 1.36 pkg/kubelet/metrics/collectors/resource_metrics.go.
"""

from cockpit.sim.actors.kubelet.actor import Kubelets
from cockpit.sim.actors.kubelet.runs import PodRun, Stage
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
        for one in run.containers:
            if one.stage is not Stage.RUNNING or one.running is None:
                continue
            labels = f'{{container="{one.name}",namespace="{run.namespace}",pod="{run.name}"}}'
            cores, used = one.running.usage(now)
            cpu.append(
                f"container_cpu_usage_seconds_total{labels} {cores * max(0.0, now - one.started_at):.3f}"
            )
            memory.append(f"container_memory_working_set_bytes{labels} {used}")
    return "\n".join((*cpu, *memory)) + "\n"
