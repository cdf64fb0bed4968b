"""Several embedded clusters in one kubeconfig, a context for each."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml


def merged(path: Path, contexts: Mapping[str, tuple[Path, str]]) -> Path:
    """Write a kubeconfig with these contexts: each is that of another file, by the name it has there."""
    tree: dict[str, Any] = {"apiVersion": "v1", "kind": "Config"}
    sections: dict[str, list[dict[str, Any]]] = {"clusters": [], "users": [], "contexts": []}
    for name, (source, former) in contexts.items():
        own = yaml.safe_load(source.read_text())
        context = dict(_named(own["contexts"], former)["context"])
        cluster, user = _named(own["clusters"], context["cluster"]), _named(own["users"], context["user"])
        sections["clusters"].append({**cluster, "name": name})
        sections["users"].append({**user, "name": name})
        sections["contexts"].append({"name": name, "context": {**context, "cluster": name, "user": name}})
    path.write_text(yaml.safe_dump({**tree, **sections, "current-context": next(iter(contexts))}))
    path.chmod(0o600)
    return path


def _named(entries: list[dict[str, Any]], name: str) -> dict[str, Any]:
    return next(entry for entry in entries if entry["name"] == name)
