"""Command lines of kubectl for one object."""

import json
from collections.abc import Mapping
from typing import Any

from cockpit.k8s.json_patch import Operation


def applied(manifest: Mapping[str, Any]) -> tuple[str, ...]:
    """The command that creates an object that is known whole."""
    return ("echo", json.dumps(manifest, separators=(",", ":")), "|", "kubectl", "apply", "-f", "-")


def json_patch(words: tuple[str, ...], *operations: Operation) -> tuple[str, ...]:
    """`kubectl patch WORDS` with these operations."""
    text = json.dumps(list(operations), separators=(",", ":"))
    return ("kubectl", "patch", *words, "--type=json", "-p", text)


def merge_patch(words: tuple[str, ...], change: Mapping[str, Any]) -> tuple[str, ...]:
    """`kubectl patch WORDS` with these fields."""
    return ("kubectl", "patch", *words, "--type=merge", "-p", json.dumps(change, separators=(",", ":")))


def get_command(kind: str, namespace: str, name: str) -> tuple[str, ...]:
    """The command that shows the object as YAML."""
    return ("kubectl", "get", kind, name, *(("-n", namespace) if namespace else ()), "-o", "yaml")
