"""The roles and bindings that are there from the first moment, read from `bootstrap.yaml`."""

from collections.abc import Iterable, Iterator
from importlib import resources
from typing import Any

from cockpit.sim.port import Tree

_RBAC = "rbac.authorization.k8s.io"
_AGGREGATE = "rbac.authorization.k8s.io/aggregate-to-"
_OWN = "cockpit:"
_DEFAULTS: Tree = {
    "labels": {"kubernetes.io/bootstrapping": "rbac-defaults"},
    "annotations": {"rbac.authorization.kubernetes.io/autoupdate": "true"},
}


def bootstrap_objects(engineer_namespaces: tuple[str, ...] = ("team-a",)) -> list[Tree]:
    """Cluster roles, cluster bindings, and the engineer's binding to `edit`.

    A role that a real cluster aggregates is written out. Objects as they are written, without uid or times;
    the namespaces themselves are the scenario's business.
    """
    import yaml

    text = resources.files("cockpit.sim.server.rbac").joinpath("bootstrap.yaml").read_text("utf-8")
    plan: Tree = yaml.safe_load(text)
    roles = [_role(name, role, plan["verbs"]) for name, role in plan["roles"].items()]
    bindings = [
        _binding("ClusterRoleBinding", name, "", one["role"], one["groups"])
        for name, one in plan["bindings"].items()
    ]
    engineers = [
        _binding("RoleBinding", "cockpit:engineer", namespace, "edit", ["cockpit:engineers"])
        for namespace in engineer_namespaces
    ]
    return [*roles, *bindings, *engineers]


def _metadata(name: str) -> Tree:
    metadata: Tree = {"name": name}
    if not name.startswith(_OWN):
        metadata |= {word: dict(values) for word, values in _DEFAULTS.items()}
    return metadata


def _role(name: str, role: Tree, verbs: Tree) -> Tree:
    metadata = _metadata(name)
    for target in role.get("into") or ():
        metadata.setdefault("labels", {})[f"{_AGGREGATE}{target}"] = "true"
    rules = [_rule(text, verbs) for text in dict.fromkeys(_flat(role["rules"]))]
    return {"apiVersion": f"{_RBAC}/v1", "kind": "ClusterRole", "metadata": metadata, "rules": rules}


def _flat(rules: Iterable[Any]) -> Iterator[str]:
    for one in rules:
        if isinstance(one, str):
            yield one
        else:
            yield from _flat(one)


def _rule(text: str, verbs: Tree) -> Tree:
    """A PolicyRule; its lists are in order, as kube-apiserver writes its own."""
    parts = [sorted(part.split()) for part in text.split("|")]
    words = sorted(verb for word in parts[0] for verb in verbs.get(word, word).split())
    if len(parts) == 2:
        return {"verbs": words, "nonResourceURLs": parts[1]}
    groups = sorted("" if group == "core" else group for group in parts[1])
    return {"verbs": words, "apiGroups": groups, "resources": parts[2]}


def _binding(kind: str, name: str, namespace: str, role: str, groups: list[Any]) -> Tree:
    metadata = _metadata(name)
    if namespace:
        metadata["namespace"] = namespace
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": kind,
        "metadata": metadata,
        "subjects": [{"kind": "Group", "apiGroup": _RBAC, "name": group} for group in groups],
        "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": role},
    }
