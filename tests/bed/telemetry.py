"""Command lines and configuration of the exposition server and of Prometheus."""

import sys
from pathlib import Path

import yaml

from tests.bed.layout import PROMETHEUS_ADDRESS, Layout
from tests.bed.part import Part, http_probe

SCRAPE_SECONDS = 2
NAMESPACE = "monitoring"
SERVICE = "prometheus"
SERVICE_PORT = 9090
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


def service_objects(layout: Layout) -> list[dict[str, object]]:
    """The Service that a cockpit finds, and the address behind it (kcm mirrors it into an EndpointSlice)."""
    name = {"name": SERVICE, "namespace": NAMESPACE}
    labels = {"app.kubernetes.io/name": "prometheus"}
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {**name, "labels": labels},
            "spec": {"ports": [{"name": "http-web", "port": SERVICE_PORT, "protocol": "TCP"}]},
        },
        {
            "apiVersion": "v1",
            "kind": "Endpoints",
            "metadata": {**name, "labels": labels},
            "subsets": [
                {
                    "addresses": [{"ip": PROMETHEUS_ADDRESS}],
                    "ports": [{"name": "http-web", "port": layout.ports["prometheus"], "protocol": "TCP"}],
                }
            ],
        },
    ]
