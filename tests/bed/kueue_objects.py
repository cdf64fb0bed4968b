"""Kueue's CRDs and webhooks, read from its module and pointed at loopback instead of a Service."""

import base64
from pathlib import Path

from tests.bed.api import Tree
from tests.bed.controllers import VISIBILITY_PORT
from tests.bed.layout import Layout
from tests.bed.manifests import document, documents

# Webhook paths of frameworks that are not switched on would make every Pod and Deployment depend on Kueue.
_HOOK_PATHS = ("batch-v1-job", "mpijob", "kueue-x-k8s-io")
_SERVES_NO_CONVERSION = frozenset({"resourceflavors.kueue.x-k8s.io"})


def _client_config(layout: Layout, path: str) -> Tree:
    ca = base64.b64encode((layout.pki / "hook-ca.crt").read_bytes()).decode()
    return {"url": f"https://127.0.0.1:{layout.ports['kueue-webhook']}{path}", "caBundle": ca}


def _components(layout: Layout) -> Path:
    return Path(layout.manifests["kueue"]) / "config" / "components"


def definitions(layout: Layout) -> list[Tree]:
    """The CRDs; those with a webhook patch beside them get their conversion webhook in url form."""
    base = _components(layout) / "crd"
    converted = {
        document(file)["metadata"]["name"] for file in base.glob("patches/webhook_in_*.yaml")
    } - _SERVES_NO_CONVERSION
    found: list[Tree] = [document(file) for file in sorted(base.glob("bases/*.yaml"))]
    for tree in found:
        if tree["metadata"]["name"] in converted:
            tree["spec"]["conversion"] = {
                "strategy": "Webhook",
                "webhook": {
                    "clientConfig": _client_config(layout, "/convert"),
                    "conversionReviewVersions": ["v1"],
                },
            }
    return found


def webhooks(layout: Layout) -> list[Tree]:
    """The mutating and validating configurations, for the frameworks in use, in url form."""
    found: list[Tree] = []
    wanted_paths = (*_HOOK_PATHS, *(("jobset",) if "jobset" in layout.parts else ()))
    for tree in documents(_components(layout) / "webhook" / "manifests.yaml"):
        kept = []
        for hook in tree["webhooks"]:
            path = hook["clientConfig"]["service"]["path"]
            if any(wanted in path for wanted in wanted_paths):
                kept.append({**hook, "clientConfig": _client_config(layout, path)})
        tree["metadata"]["name"] = f"kueue-{tree['metadata']['name']}"
        tree["webhooks"] = kept
        found.append(tree)
    return found


def visibility() -> list[Tree]:
    """The aggregated API that answers who waits in which place."""
    service = {"name": "visibility-server", "namespace": "kueue-system"}
    return [
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": service,
            "spec": {"type": "ExternalName", "externalName": "localhost"},
        },
        {
            "apiVersion": "apiregistration.k8s.io/v1",
            "kind": "APIService",
            "metadata": {"name": "v1beta2.visibility.kueue.x-k8s.io"},
            "spec": {
                "group": "visibility.kueue.x-k8s.io",
                "version": "v1beta2",
                "groupPriorityMinimum": 100,
                "versionPriority": 100,
                "insecureSkipTLSVerify": True,
                "service": {**service, "port": VISIBILITY_PORT},
            },
        },
    ]
