"""Names of the contexts that a person may switch to, without importing the `kubernetes` package."""

from typing import Any

from cockpit.kube.kubeconfig import check, files
from cockpit.sanitise import clean


def context_names(kubeconfig: str | None = None) -> tuple[str, ...]:
    """Names in the order of the files; of a name given twice the first counts, as kubectl merges them.

    Raises NoConnection for a file that is broken. Blocking (files): call it in a thread.
    """
    return tuple(clean(name, 253) for name in _contexts(kubeconfig))


def context_namespaces(kubeconfig: str | None, context: str) -> tuple[str, ...]:
    """Namespaces that contexts of the same cluster as `context` name, in the order of the files. Raises and
    blocks as `context_names`."""
    contexts = _contexts(kubeconfig)
    cluster = contexts.get(context, {}).get("cluster")
    named = (context.get("namespace") for context in contexts.values() if context.get("cluster") == cluster)
    return tuple(dict.fromkeys(clean(str(name), 63) for name in named if name))


def _contexts(kubeconfig: str | None) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for path in files(kubeconfig):
        if path.exists():
            for entry in check(path).get("contexts") or ():
                found.setdefault(entry["name"], entry.get("context") or {})
    return found
