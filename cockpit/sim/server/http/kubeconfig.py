"""A kubeconfig with a context for each user that the cluster ships."""

import base64
from collections.abc import Mapping
from pathlib import Path

from cockpit.sim.port import Tree

CLUSTER = "cockpit"


def write_kubeconfig(
    path: Path, url: str, ca_file: Path, tokens: Mapping[str, str], namespaces: Mapping[str, str]
) -> None:
    """Writes it (0600) over `path`: `tokens` by name of the context, the first of them current.

    `namespaces` are those of the contexts that have one.
    """
    import yaml

    authority = base64.b64encode(ca_file.read_bytes()).decode()
    tree: Tree = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": CLUSTER, "cluster": {"server": url, "certificate-authority-data": authority}}],
        "users": [{"name": name, "user": {"token": token}} for name, token in tokens.items()],
        "contexts": [{"name": name, "context": _context(name, namespaces)} for name in tokens],
        "current-context": next(iter(tokens)),
    }
    path.touch(mode=0o600)
    path.chmod(0o600)
    path.write_text(yaml.safe_dump(tree, sort_keys=False))


def _context(name: str, namespaces: Mapping[str, str]) -> Tree:
    context = {"cluster": CLUSTER, "user": name}
    return context | {"namespace": namespaces[name]} if name in namespaces else context
