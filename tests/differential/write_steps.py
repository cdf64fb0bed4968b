"""Steps of stories of requests: how one is written down, and the objects in them."""

from typing import Any

Tree = dict[str, Any]


Step = tuple[str, str, Any, Tree]


MERGE = {"type": "application/merge-patch+json"}


STRATEGIC = {"type": "application/strategic-merge-patch+json"}


JSON = {"type": "application/json-patch+json"}


APPLY = {"type": "application/apply-patch+yaml", "query": {"fieldManager": "applier"}}


def config(name: str = "c", **extra: Any) -> Tree:
    metadata = {"name": name, **extra.pop("metadata", {})}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, **extra}


def pod(name: str = "p", spec: Tree | None = None, **metadata: Any) -> Tree:
    container = {"name": "main", "image": "registry.test/train:1"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, **metadata},
        "spec": {"containers": [container], **(spec or {})},
    }


def with_container(**fields: Any) -> Tree:
    return pod(spec={"containers": [{"name": "main", "image": "registry.test/train:1", **fields}]})


def job(name: str = "j", template: Tree | None = None, **spec: Any) -> Tree:
    container = {"name": "main", "image": "registry.test/train:1"}
    inner = {"restartPolicy": "Never", "containers": [container], **(template or {})}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"template": {"spec": inner}, **spec},
    }


def workload(kind: str, name: str = "d", pod_labels: Tree | None = None, **spec: Any) -> Tree:
    labels = {"app": "x"}
    container = {"name": "main", "image": "registry.test/serve"}
    template = {"metadata": {"labels": pod_labels or labels}, "spec": {"containers": [container]}}
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": name},
        "spec": {"selector": {"matchLabels": labels}, "template": template, **spec},
    }


def options(**fields: Any) -> Tree:
    return {"apiVersion": "v1", "kind": "DeleteOptions", **fields}


def post(path: str, body: Any, **more: Any) -> Step:
    return ("POST", path, body, more)


def put(path: str, body: Any, **more: Any) -> Step:
    return ("PUT", path, body, more)


def patch(path: str, body: Any, how: Tree = MERGE, **more: Any) -> Step:
    return ("PATCH", path, body, {**how, **more})


def delete(path: str, body: Any = None, **more: Any) -> Step:
    return ("DELETE", path, body, more)


def get(path: str, **query: str) -> Step:
    return ("GET", path, None, {"query": query})


HELD: Tree = {"finalizers": ["stories.test/hold"]}


NODE_GONE: Tree = {"nodeName": "no-such-node"}


WIDGETS = "/apis/NS.stories.test/v1/namespaces/NS/widgets"


DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def widget(name: str = "w", **fields: Any) -> Tree:
    return {"apiVersion": "NS.stories.test/v1", "kind": "Widget", "metadata": {"name": name}, **fields}


def definition() -> Tree:
    schema = {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {
                    "replicas": {"type": "integer", "minimum": 0, "default": 1},
                    "size": {"type": "string", "enum": ["small", "large"]},
                },
            },
            "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        },
    }
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {
            "status": {},
            "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"},
        },
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.NS.stories.test"},
        "spec": {
            "group": "NS.stories.test",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [version],
        },
    }


def until(path: str, status: int) -> Step:
    """Asks again until the answer has this status."""
    return ("GET", path, None, {"until": status})
