"""Command lines and configuration of the exposition server and of Prometheus."""

import sys
from pathlib import Path

import yaml

from tests.bed.api import Tree
from tests.bed.layout import Layout
from tests.bed.part import Part, http_probe

SCRAPE_SECONDS = 2
NAMESPACE = "monitoring"
SERVICE = "prometheus"
SERVICE_PORT = 9090
SYSTEM_NODE = "system-0"
# Where the API server carries requests to Prometheus.
PROXY_PATH = f"/api/v1/namespaces/{NAMESPACE}/services/{SERVICE}:{SERVICE_PORT}/proxy"
_ROOT = Path(__file__).resolve().parents[2]


def exposition(layout: Layout) -> Part:
    return Part(
        "exposition",
        (
            *(sys.executable, "-m", "tests.bed.exposition_server"),
            *("--run-dir", str(layout.run_dir), "--port", str(layout.ports["exposition"])),
        ),
        http_probe(f"{layout.url('exposition')}/healthz"),
        _ROOT,
    )


def prometheus_configuration(layout: Layout) -> dict[str, object]:
    """One job, targets by HTTP discovery: one for each node that has GPUs now."""
    return {
        "global": {"scrape_interval": f"{SCRAPE_SECONDS}s", "scrape_timeout": f"{SCRAPE_SECONDS}s"},
        "scrape_configs": [
            {
                "job_name": "nvidia-dcgm-exporter",
                # The target's namespace, pod and container win, as with the GPU operator's ServiceMonitor;
                # those of the pod that holds the GPU become exported_namespace and so on.
                "honor_labels": False,
                "http_sd_configs": [
                    {"url": f"{layout.url('exposition')}/targets", "refresh_interval": f"{SCRAPE_SECONDS}s"}
                ],
            }
        ],
    }


def prometheus(layout: Layout) -> Part:
    file = layout.run_dir / "prometheus.yaml"
    file.write_text(yaml.safe_dump(prometheus_configuration(layout)))
    port = layout.ports["prometheus"]
    return Part(
        "prometheus",
        (
            layout.programs["prometheus"],
            *(f"--config.file={file}", f"--storage.tsdb.path={layout.run_dir / 'prometheus'}"),
            *(f"--web.listen-address=0.0.0.0:{port}", "--log.level=warn"),
        ),
        http_probe(f"{layout.url('prometheus')}/-/ready"),
        layout.run_dir,
    )


def service_objects(layout: Layout) -> list[Tree]:
    """The Service that a cockpit finds, and the pod behind it.

    kube-apiserver's service proxy dials only addresses that belong to a Pod (pkg/registry/core/service), so
    there is a pod, on a system node of its own, played by kwok. Whatever address it gets is of the bed's
    range, where Prometheus listens.
    """
    port = layout.ports["prometheus"]
    labels = {"app.kubernetes.io/name": "prometheus"}
    name = {"namespace": NAMESPACE, "labels": labels}
    container: Tree = {
        "name": "prometheus",
        "image": "prometheus",
        "ports": [{"name": "http-web", "containerPort": port}],
    }
    capacity = {"cpu": "8", "memory": "32Gi", "pods": "110"}
    return [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": SYSTEM_NODE,
                "annotations": {"kwok.x-k8s.io/node": "fake"},
                "labels": {
                    "kubernetes.io/hostname": SYSTEM_NODE,
                    "kubernetes.io/os": "linux",
                    "node-role.kubernetes.io/control-plane": "",
                },
            },
            "spec": {"taints": [{"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}]},
            "status": {"capacity": capacity, "allocatable": capacity},
        },
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {**name, "name": SERVICE},
            "spec": {
                "selector": labels,
                # A node outage played on kwok must not take the telemetry away.
                "publishNotReadyAddresses": True,
                "ports": [{"name": "http-web", "port": SERVICE_PORT, "targetPort": port, "protocol": "TCP"}],
            },
        },
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {**name, "name": f"{SERVICE}-0"},
            "spec": {
                "nodeName": SYSTEM_NODE,
                "tolerations": [{"operator": "Exists"}],
                "containers": [container],
            },
        },
    ]
