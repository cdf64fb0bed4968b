"""CPU and network of pods, from cAdvisor's series as every kubelet serves them. Pure.

Names and labels: google/cadvisor docs/storage/prometheus.md; `container` is empty for the pod's own cgroup
and "POD" for its sandbox, and network counters carry `interface`. A scrape that renames the kubelet's labels
leaves them as `exported_pod` and so on. What two jobs scrape twice counts once (`max` before `sum`).
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from cockpit.model.pod import Pod
from cockpit.model.pod_use import PodUse
from cockpit.telemetry.promql import any_of
from cockpit.telemetry.sample import from_prometheus

MOST_PODS = 200
"""Pods of a job that are queried at most: the URL of a GET has its limits."""

WINDOW = "3m"
"""Rates need two samples; kubelets are scraped at least once a minute."""

FIELDS = {
    "cpu_cores": ("container_cpu_usage_seconds_total", 'container!="",container!="POD"', "container"),
    "receive_bytes_per_second": ("container_network_receive_bytes_total", 'interface!="lo"', "interface"),
    "transmit_bytes_per_second": ("container_network_transmit_bytes_total", 'interface!="lo"', "interface"),
}
DISK_FIELDS = {
    "disk_read_bytes_per_second": ("container_fs_reads_bytes_total", 'container!="POD"', "container, device"),
    "disk_write_bytes_per_second": (
        "container_fs_writes_bytes_total",
        'container!="POD"',
        "container, device",
    ),
}
"""Asked for only where idle is to be told from loading."""
FIELD_LABEL = "cockpit_use"


def query(
    pods: Sequence[Pod], window: str = WINDOW, fields: Mapping[str, tuple[str, str, str]] = FIELDS
) -> str:
    """One query for the use of these pods (at least one), a row a pod and field."""
    names = any_of(sorted({pod.name for pod in pods}))
    spaces = any_of(sorted({pod.namespace for pod in pods}))
    parts = []
    for field, (series, only, part) in fields.items():
        for prefix in ("", "exported_"):
            pod, namespace = f"{prefix}pod", f"{prefix}namespace"
            which = f"{pod}=~{names},{namespace}=~{spaces},{only}"
            each = f"max by ({namespace}, {pod}, {part}) (rate({series}{{{which}}}[{window}]))"
            parts.append(
                f'label_replace(sum by ({namespace}, {pod}) ({each}), "{FIELD_LABEL}", "{field}", "", "")'
            )
    return " or ".join(parts)


def uses(rows: Iterable[Any], pods: Sequence[Pod]) -> list[PodUse]:
    """A record a pod of which something is known; numbers that are none are left out."""
    by_name = {(pod.namespace, pod.name): pod for pod in pods}
    found: dict[str, dict[str, float]] = {}
    for item in from_prometheus(rows):
        labels = item.labels
        name = labels.get("exported_pod") or labels.get("pod", "")
        pod = by_name.get((labels.get("exported_namespace") or labels.get("namespace", ""), name))
        field = labels.get(FIELD_LABEL, "")
        if pod is not None and field in FIELDS and math.isfinite(item.value) and item.value >= 0.0:
            # the kubelet's own labels, where a scrape renamed them, come last and win
            found.setdefault(pod.uid, {})[field] = item.value
    keys = {pod.uid: pod.key for pod in pods}
    return [PodUse(uid=uid, key=keys[uid], **of) for uid, of in found.items()]
