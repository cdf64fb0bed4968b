"""Gang engines beyond the full bed: scheduler-plugins' coscheduling, JobSet, and the native gang's gates."""

import base64
from pathlib import Path
from typing import Any

import yaml

from tests.bed.api import Tree
from tests.bed.layout import Layout
from tests.bed.manifests import document, documents
from tests.bed.part import Part, http_probe

NOT_BUILT = "{} is not in the cache: python -m tests.bed build --all, or make test-all, compiles it"
# What the chart of scheduler-plugins calls its second scheduler.
COSCHEDULING_SCHEDULER = "scheduler-plugins-scheduler"
# A gate of 1.36 that is off by default, and an alpha version that is not served by default.
_GATES = "GenericWorkload=true,GangScheduling=true"
NATIVE_FLAGS = ("--feature-gates", _GATES)
NATIVE_API_FLAGS = (*NATIVE_FLAGS, "--runtime-config", "scheduling.k8s.io/v1alpha2=true")
_JOBSET_POD_HOOK = "pod"


def coscheduling_configuration(layout: Layout) -> dict[str, Any]:
    """A second scheduler with one profile: coscheduling places and orders.

    The waiting time is the chart's, the back-off the one of the plugin's own example: with none at all a
    refused group is tried again and again by each of its pods.
    """
    coscheduling = {"name": "Coscheduling"}
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": False},
        "clientConnection": {"kubeconfig": str(layout.controller_kubeconfig), "qps": 100, "burst": 200},
        "profiles": [
            {
                "schedulerName": COSCHEDULING_SCHEDULER,
                "plugins": {
                    "multiPoint": {"enabled": [coscheduling]},
                    "queueSort": {"enabled": [coscheduling], "disabled": [{"name": "*"}]},
                },
                "pluginConfig": [
                    {
                        **coscheduling,
                        "args": {"permitWaitingTimeSeconds": 10, "podGroupBackoffSeconds": 5},
                    }
                ],
            }
        ],
    }


def coscheduling_scheduler(layout: Layout) -> Part:
    file = layout.run_dir / "coscheduling.yaml"
    file.write_text(yaml.safe_dump(coscheduling_configuration(layout)))
    port, kubeconfig = layout.ports["coscheduling"], str(layout.controller_kubeconfig)
    return Part(
        "coscheduling",
        (
            layout.programs["coscheduling"],
            *("--config", str(file), "--bind-address", "127.0.0.1", "--secure-port", str(port)),
            *("--authentication-kubeconfig", kubeconfig, "--authorization-kubeconfig", kubeconfig),
        ),
        http_probe(f"https://127.0.0.1:{port}/healthz"),
        layout.run_dir,
    )


def pod_group_controller(layout: Layout) -> Part:
    """It writes the status of PodGroups; the scheduler alone leaves it empty."""
    port = layout.ports["pod-groups"]
    return Part(
        "pod-groups",
        (
            layout.programs["pod-groups"],
            *("--kubeconfig", str(layout.controller_kubeconfig)),
            *("--metricsAddr", f"127.0.0.1:{layout.ports['pod-groups-metrics']}"),
            *("--probeAddr", f"127.0.0.1:{port}"),
        ),
        http_probe(f"http://127.0.0.1:{port}/readyz"),
        layout.run_dir,
    )


def jobset_configuration(layout: Layout) -> dict[str, Any]:
    """JobSet's Configuration object for this bed."""
    ports = layout.ports
    return {
        "apiVersion": "config.jobset.x-k8s.io/v1alpha1",
        "kind": "Configuration",
        "leaderElection": {"leaderElect": False},
        "health": {"healthProbeBindAddress": f"127.0.0.1:{ports['jobset-health']}"},
        "metrics": {"bindAddress": f"127.0.0.1:{ports['jobset-metrics']}"},
        "webhook": {
            "host": "127.0.0.1",
            "port": ports["jobset-webhook"],
            "certDir": str(layout.run_dir / "hook"),
        },
        "internalCertManagement": {"enable": False},
        "clientConnection": {"qps": 50, "burst": 100},
    }


def jobset(layout: Layout) -> Part:
    file = layout.run_dir / "jobset.yaml"
    file.write_text(yaml.safe_dump(jobset_configuration(layout)))
    return Part(
        "jobset",
        (
            layout.programs["jobset"],
            *("--config", str(file), "--kubeconfig", str(layout.controller_kubeconfig)),
        ),
        http_probe(f"{layout.url('jobset-health')}/readyz"),
        layout.run_dir,
    )


def definitions(layout: Layout) -> list[Tree]:
    """The CRDs of the optional parts of this bed."""
    found: list[Tree] = []
    if plugins := layout.manifests.get("sp-scheduler") or layout.manifests.get("sp-controller"):
        base = Path(plugins) / "config" / "crd" / "bases"
        found += [document(file) for file in sorted(base.glob("*.yaml"))]
    if "jobset" in layout.parts:
        base = Path(layout.manifests["jobset"]) / "config" / "components" / "crd" / "bases"
        found += [document(file) for file in sorted(base.glob("*.yaml"))]
    return found


def jobset_webhooks(layout: Layout) -> list[Tree]:
    """JobSet's webhooks in url form; those on pods only for its own, or every pod would wait for it."""
    ca = base64.b64encode((layout.pki / "hook-ca.crt").read_bytes()).decode()
    own = {"matchExpressions": [{"key": "jobset.sigs.k8s.io/jobset-name", "operator": "Exists"}]}
    file = Path(layout.manifests["jobset"]) / "config" / "components" / "webhook" / "manifests.yaml"
    found: list[Tree] = []
    for tree in documents(file):
        for hook in tree["webhooks"]:
            path = hook["clientConfig"]["service"]["path"]
            url = f"https://127.0.0.1:{layout.ports['jobset-webhook']}{path}"
            hook["clientConfig"] = {"url": url, "caBundle": ca}
            if _JOBSET_POD_HOOK in path:
                hook["objectSelector"] = own
        tree["metadata"]["name"] = f"jobset-{tree['metadata']['name']}"
        found.append(tree)
    return found
