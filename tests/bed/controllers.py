"""Command lines and configuration of Kueue, mpi-operator and the machines controller."""

import sys
from pathlib import Path

import yaml

from tests.bed.binaries import NEWER, OLDER
from tests.bed.layout import Layout
from tests.bed.part import Part, http_probe

VISIBILITY_PORT = 8082  # fixed in Kueue's source
MPI_HEALTH_PORT = 8080  # fixed in mpi-operator's source
FRAMEWORKS = ("batch/job", "kubeflow.org/mpijob")
JOBSET = "jobset.x-k8s.io/jobset"  # only beside its controller: Kueue waits for the CRD otherwise
# Off by default in 0.19, which then says Pending and Inadmissible as the older one does.
FEATURE_GATES = {NEWER: {"UnadmittedWorkloadsObservability": True}, OLDER: dict[str, bool]()}
_ROOT = Path(__file__).resolve().parents[2]


def kueue_configuration(layout: Layout) -> dict[str, object]:
    """Kueue's Configuration object for this bed."""
    ports = layout.ports
    gates = FEATURE_GATES[layout.generation]
    return {
        **({"featureGates": gates} if gates else {}),
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "namespace": "kueue-system",
        "health": {"healthProbeBindAddress": f"127.0.0.1:{ports['kueue-health']}"},
        "metrics": {
            "bindAddress": f"127.0.0.1:{ports['kueue-metrics']}",
            "enableClusterQueueResources": True,
        },
        "webhook": {
            "host": "127.0.0.1",
            "port": ports["kueue-webhook"],
            "certDir": str(layout.run_dir / "hook"),
        },
        "leaderElection": {"leaderElect": False},
        "internalCertManagement": {"enable": False},
        "clientConnection": {"qps": 50, "burst": 100},
        "integrations": {"frameworks": [*FRAMEWORKS, *((JOBSET,) if "jobset" in layout.parts else ())]},
    }


def kueue(layout: Layout) -> Part:
    file = layout.run_dir / "kueue.yaml"
    file.write_text(yaml.safe_dump(kueue_configuration(layout)))
    return Part(
        "kueue",
        (
            layout.programs["kueue"],
            *("--config", str(file), "--kubeconfig", str(layout.controller_kubeconfig)),
        ),
        http_probe(f"{layout.url('kueue-health')}/readyz"),
        # The visibility server's certificate folder is "hook", relative to this.
        layout.run_dir,
        # Its visibility server asks for the in-cluster configuration, whatever --kubeconfig says.
        env={
            "KUBERNETES_SERVICE_HOST": "127.0.0.1",
            "KUBERNETES_SERVICE_PORT": str(layout.ports["apiserver"]),
        },
    )


def mpi_operator(layout: Layout) -> Part:
    return Part(
        "mpi",
        (
            layout.programs["mpi"],
            *("--kubeConfig", str(layout.controller_kubeconfig), "--lock-namespace", "mpi-operator"),
            *("--monitoring-port", str(layout.ports["mpi-metrics"])),
            *("--kube-api-qps", "50", "--kube-api-burst", "100"),
        ),
        http_probe(f"http://127.0.0.1:{MPI_HEALTH_PORT}/healthz"),
        layout.run_dir,
    )


def machines(layout: Layout) -> Part:
    port = layout.ports["machines"]
    return Part(
        "machines",
        (sys.executable, "-m", "tests.bed.machines", str(layout.run_dir), str(port)),
        http_probe(f"http://127.0.0.1:{port}/healthz"),
        _ROOT,
    )
