"""Who may speak to the bed: static tokens, their groups, the rights they get, and the kubeconfig files."""

import base64
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from tests.bed.api import Tree
from tests.bed.layout import Layout

NAMESPACES = ("team-a", "team-b")


@dataclass(frozen=True)
class Person:
    """A user of the bed; `context` is the name to give to `--context`."""

    context: str
    user: str
    groups: tuple[str, ...] = ()
    known: bool = True  # False: the token is not in the server's file, so it is refused with 401


PEOPLE: tuple[Person, ...] = (
    Person("bed", "admin", ("system:masters",)),
    Person("engineer", "erin", ("bed:engineers",)),
    Person("viewer", "vera", ("bed:viewers",)),
    Person("nobody", "nils"),
    Person("expired", "xavier", known=False),
)
CONTROLLERS = Person("controllers", "bed-controllers", ("system:masters",))


def make_tokens() -> dict[str, str]:
    """Context -> a new token."""
    return {person.context: secrets.token_urlsafe(24) for person in (*PEOPLE, CONTROLLERS)}


def token_file(tokens: Mapping[str, str]) -> str:
    """The text of kube-apiserver's --token-auth-file: token,user,uid,"groups"."""
    lines = [
        f'{tokens[person.context]},{person.user},{person.user},"{",".join(person.groups)}"'
        for person in (*PEOPLE, CONTROLLERS)
        if person.known
    ]
    return "\n".join(lines) + "\n"


def write_kubeconfigs(layout: Layout, tokens: Mapping[str, str]) -> None:
    """The people's kubeconfig (a context each, `bed` current) and the one the controllers use."""
    ca = base64.b64encode(layout.ca_file.read_bytes()).decode()
    cluster = {"server": layout.server, "certificate-authority-data": ca}
    users: list[Tree] = [
        {"name": person.context, "user": {"token": tokens[person.context]}} for person in PEOPLE
    ]
    users.append(
        {
            "name": "certificate",
            "user": {
                "client-certificate-data": _inline(layout.pki / "admin.crt"),
                "client-key-data": _inline(layout.pki / "admin.key"),
            },
        }
    )
    _write(layout.kubeconfig, cluster, users, current="bed")
    controller = {"name": CONTROLLERS.context, "user": {"token": tokens[CONTROLLERS.context]}}
    _write(layout.controller_kubeconfig, cluster, [controller], current=CONTROLLERS.context)


def _inline(file: Path) -> str:
    return base64.b64encode(file.read_bytes()).decode()


def _write(path: Path, cluster: Tree, users: list[Tree], *, current: str) -> None:
    contexts = []
    for user in users:
        context = {"cluster": "bed", "user": user["name"]}
        if user["name"] == "engineer":
            context["namespace"] = "team-a"
        contexts.append({"name": user["name"], "context": context})
    path.touch(mode=0o600)
    path.write_text(
        yaml.safe_dump(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [{"name": "bed", "cluster": cluster}],
                "users": users,
                "contexts": contexts,
                "current-context": current,
            },
            sort_keys=False,
        )
    )


_READ = ["get", "list", "watch"]
_CHANGE = ["create", "update", "patch", "delete", "deletecollection"]


def objects() -> list[Tree]:
    """Roles and bindings: `viewer` reads all but Secrets, `engineer` works in team-a."""
    viewer_rules = [
        {
            "apiGroups": [""],
            "resources": [
                *("nodes", "pods", "pods/log", "events", "namespaces", "services", "endpoints", "configmaps"),
                *("persistentvolumeclaims", "replicationcontrollers", "resourcequotas"),
            ],
            "verbs": _READ,
        },
        {"apiGroups": [""], "resources": ["services/proxy"], "verbs": ["get"]},
        {
            "apiGroups": [
                *("apps", "batch", "kubeflow.org", "kueue.x-k8s.io", "visibility.kueue.x-k8s.io"),
                *("cluster.x-k8s.io", "discovery.k8s.io", "apiextensions.k8s.io", "scheduling.k8s.io"),
            ],
            "resources": ["*"],
            "verbs": _READ,
        },
    ]
    engineer_rules = [
        {
            "apiGroups": ["", "batch", "kubeflow.org"],
            "resources": ["pods", "jobs", "mpijobs", "configmaps"],
            "verbs": _READ + _CHANGE,
        },
        {"apiGroups": [""], "resources": ["pods/log", "events", "services"], "verbs": _READ},
        {"apiGroups": [""], "resources": ["pods/eviction"], "verbs": ["create"]},
        {"apiGroups": ["kueue.x-k8s.io"], "resources": ["localqueues"], "verbs": _READ},
        {"apiGroups": ["kueue.x-k8s.io"], "resources": ["workloads"], "verbs": [*_READ, "patch"]},
    ]
    rbac = "rbac.authorization.k8s.io"
    group = {"kind": "Group", "apiGroup": rbac}
    spaces: list[Tree] = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in NAMESPACES
    ]
    rights: list[Tree] = [
        {"kind": "ClusterRole", "metadata": {"name": "bed-viewer"}, "rules": viewer_rules},
        {
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "bed-viewer"},
            "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": "bed-viewer"},
            "subjects": [{**group, "name": "bed:viewers"}],
        },
        {
            "kind": "Role",
            "metadata": {"name": "bed-engineer", "namespace": "team-a"},
            "rules": engineer_rules,
        },
        {
            "kind": "RoleBinding",
            "metadata": {"name": "bed-engineer", "namespace": "team-a"},
            "roleRef": {"apiGroup": rbac, "kind": "Role", "name": "bed-engineer"},
            "subjects": [{**group, "name": "bed:engineers"}],
        },
    ]
    return spaces + [{"apiVersion": f"{rbac}/v1", **one} for one in rights]
