"""What Kubernetes, well-known operators and admission webhooks write into objects: none of it is part of what
a person asks for, and some of it binds an object made from it to the old one.

Marks of a queueing engine belong to the engine's own package in `cockpit.gangs`. A mark that ends with `/`
stands for all keys that begin with it.

Sources: kubernetes.io/docs/reference/labels-annotations-taints; jobset api/jobset/v1alpha2/jobset_types.go;
kubeflow common pkg/apis; mpi-operator pkg/apis/kubeflow/v2beta1/constants.go; KubeRay ray-operator
controllers/ray/utils/constant.go; argo-workflows workflow/common/common.go; appwrapper api/v1beta2; istio
pkg/kube/inject; linkerd2 pkg/k8s/labels.go; vault-k8s agent-inject/agent/annotations.go.
"""

import json
from collections.abc import Collection, Mapping
from typing import Any, Final

from cockpit.k8s import labels as well_known

SERVER_FIELDS: Final = (
    *("uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink"),
    *("ownerReferences", "finalizers", "deletionTimestamp", "deletionGracePeriodSeconds", "generateName"),
)
"""Fields of `metadata` that the API server or a controller writes."""
JOB_LABELS: Final = (
    *("controller-uid", "job-name"),
    *("batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name"),
)
"""Labels that the API server writes into a Job and its pod template."""
OWN_NAME_LABELS: Final = (
    *("job-name", "batch.kubernetes.io/job-name"),
    *("training.kubeflow.org/job-name", "jobset.sigs.k8s.io/jobset-name", "ray.io/cluster"),
    "leaderworkerset.sigs.k8s.io/name",
)
"""Labels by which selectors mean the pods of one job by its name."""
MARKS: Final = (
    well_known.LAST_APPLIED,
    *well_known.PROVISIONING_MARKS,
    *("gpu-cockpit/audit-id", "gpu-cockpit/reclaim-at", "gpu-cockpit/reclaim-due", "gpu-cockpit/reclaim-by"),
    *("batch.kubernetes.io/job-tracking", "batch.kubernetes.io/cronjob-scheduled-timestamp"),
    *("batch.kubernetes.io/job-completion-index", "batch.kubernetes.io/job-index-failure-count"),
    *("deployment.kubernetes.io/revision", "pod-template-hash", "controller-revision-hash"),
    *("pod-template-generation", "statefulset.kubernetes.io/pod-name", "apps.kubernetes.io/pod-index"),
    *("kubernetes.io/limit-ranger", "kubernetes.io/psp", "kubernetes.io/config."),
    *("cni.projectcalico.org/", "k8s.v1.cni.cncf.io/network-status", "k8s.v1.cni.cncf.io/networks-status"),
    "k8s.ovn.org/",
    "jobset.sigs.k8s.io/",
    *("training.kubeflow.org/job-name", "training.kubeflow.org/job-role"),
    *("training.kubeflow.org/operator-name", "training.kubeflow.org/replica-"),
    *("leaderworkerset.sigs.k8s.io/name", "leaderworkerset.sigs.k8s.io/group-index"),
    *("leaderworkerset.sigs.k8s.io/group-key", "leaderworkerset.sigs.k8s.io/worker-index"),
    *("leaderworkerset.sigs.k8s.io/size", "leaderworkerset.sigs.k8s.io/template-revision-hash"),
    *("ray.io/cluster", "ray.io/node-type", "ray.io/group", "ray.io/is-ray-node", "ray.io/identifier"),
    *("ray.io/serve", "ray.io/originated-from-", "ray.io/cluster-dashboard"),
    *("workflows.argoproj.io/phase", "workflows.argoproj.io/completed"),
    *("workflows.argoproj.io/workflow-archiving-status", "workflows.argoproj.io/pod-name-format"),
    *("workload.codeflare.dev/appwrapper", "workload.codeflare.dev/user", "workload.codeflare.dev/userid"),
    *("sidecar.istio.io/status", "istio.io/rev", "security.istio.io/tlsMode"),
    *("linkerd.io/created-by", "linkerd.io/proxy-version", "linkerd.io/trust-root-sha256"),
    "vault.hashicorp.com/agent-inject-status",
)
"""Labels and annotations."""
_FAMILIES: Final = ("/", "-", ".")
_TOKENS: Final = "kube-api-access-"
_STATUS_OF_SIDECARS: Final = "sidecar.istio.io/status"
_INJECTED: Final[Mapping[str, tuple[str, ...]]] = {
    "linkerd.io/proxy-version": (
        *("linkerd-proxy", "linkerd-init", "linkerd-network-validator"),
        *("linkerd-proxy-init-xtables-lock", "linkerd-identity-end-entity", "linkerd-identity-token"),
    ),
    "vault.hashicorp.com/agent-inject-status": (
        *("vault-agent", "vault-agent-init", "home-init", "home-sidecar", "vault-secrets"),
    ),
}
"""By the annotation that a webhook leaves: names of the containers and volumes that it put in."""
_PARTS: Final = ("containers", "initContainers", "volumes", "imagePullSecrets")


def is_mark(key: str, marks: Collection[str] = MARKS) -> bool:
    """Whether a label or an annotation is one of these marks."""
    return any(key == item or (item.endswith(_FAMILIES) and key.startswith(item)) for item in marks)


def injected_names(annotations: Mapping[str, Any]) -> frozenset[str]:
    """Names of the containers and volumes that webhooks put into a pod with these annotations."""
    found = {name for mark, names in _INJECTED.items() if mark in annotations for name in names}
    try:
        status = json.loads(str(annotations.get(_STATUS_OF_SIDECARS) or "{}"))
    except ValueError:
        status = None
    for part in _PARTS if isinstance(status, dict) else ():
        names = status.get(part)
        found |= {str(name) for name in names} if isinstance(names, list) else set()
    return frozenset(found)


def without_injected(spec: dict[str, Any], names: Collection[str]) -> None:
    """Take these containers and volumes out of a pod spec, with what mounts them, and the volumes by which
    the API server gives a pod the token of its service account."""

    def is_injected(item: Any) -> bool:
        name = str(item.get("name") or "") if isinstance(item, dict) else ""
        return name in names or name.startswith(_TOKENS)

    for part in _PARTS:
        _keep(spec, part, is_injected)
    for part in ("containers", "initContainers"):
        containers = spec.get(part)
        for container in containers if isinstance(containers, list) else ():
            if isinstance(container, dict):
                _keep(container, "volumeMounts", is_injected)


def _keep(holder: dict[str, Any], key: str, is_gone: Any) -> None:
    items = holder.get(key)
    if not isinstance(items, list):
        return
    left = [item for item in items if not is_gone(item)]
    if len(left) == len(items):
        return
    holder[key] = left
    if not left:
        del holder[key]
