"""Where a gang is played: what is asked past the cockpit, on the real bed and on the embedded cluster."""

import base64
from pathlib import Path
from typing import Any, Protocol

import yaml

from tests.bed.api import Api
from tests.bed.bed import Bed


class Ground(Protocol):
    """One cluster, asked by something that is not the cockpit."""

    queue: str
    """The LocalQueue of every namespace, which the form finds by itself; "" where there is none."""

    def pods(self, namespace: str) -> list[dict[str, Any]]:
        """Every pod of the namespace."""

    def names(self, kinds: str, namespace: str) -> list[str]:
        """Names of objects. `kinds` are plurals as kubectl takes them: `jobs,podgroups.scheduling.k8s.io`."""

    def create(self, path: str, tree: dict[str, Any]) -> None:
        """Make an object past the cockpit."""


class OnTheBed:
    """The real control plane: pods over HTTPS, what is left by its kubectl."""

    def __init__(self, bed: Bed, queue: str = "") -> None:
        self.bed = bed
        self.queue = queue

    def pods(self, namespace: str) -> list[dict[str, Any]]:
        return self.bed.api().items(f"/api/v1/namespaces/{namespace}/pods")

    def names(self, kinds: str, namespace: str) -> list[str]:
        return self.bed.kubectl("get", kinds, "--namespace", namespace, "-o", "name").split()

    def create(self, path: str, tree: dict[str, Any]) -> None:
        self.bed.api().create(path, tree)


class Embedded:
    """The embedded cluster, asked over HTTPS by the bed's small client."""

    def __init__(self, kubeconfig: Path) -> None:
        self.kubeconfig = kubeconfig
        self.queue = "main"
        self.api = api_of(kubeconfig)
        self._lists: dict[str, str] = {}

    def pods(self, namespace: str) -> list[dict[str, Any]]:
        return self.api.items(f"/api/v1/namespaces/{namespace}/pods")

    def names(self, kinds: str, namespace: str) -> list[str]:
        found = []
        for kind in kinds.split(","):
            trees = self.api.items(self._list(kind).format(namespace))
            found += [f"{kind}/{one['metadata']['name']}" for one in trees]
        return found

    def create(self, path: str, tree: dict[str, Any]) -> None:
        self.api.create(path, tree)

    def _list(self, kind: str) -> str:
        """Where the objects of a kind are listed, with a hole for the namespace. Fails for one not served."""
        if not self._lists:
            for version in self._versions():
                for one in self.api.get(version)["resources"]:
                    group = version.split("/")[2] if version.startswith("/apis/") else ""
                    path = f"{version}/namespaces/{{}}/{one['name']}"
                    self._lists.setdefault(one["name"], path)
                    self._lists.setdefault(f"{one['name']}.{group}", path)
        assert kind in self._lists, f"no {kind} is served"
        return self._lists[kind]

    def _versions(self) -> list[str]:
        """Every group and version, of each group the preferred one first."""
        groups = self.api.get("/apis")["groups"]
        return ["/api/v1", *(f"/apis/{one['groupVersion']}" for each in groups for one in each["versions"])]


def api_of(kubeconfig: Path) -> Api:
    """A client for the context that a kubeconfig names as the current one."""
    tree = yaml.safe_load(kubeconfig.read_text())

    def named(list_: str, name: str, key: str) -> dict[str, Any]:
        return next(dict(one[key]) for one in tree[list_] if one["name"] == name)

    context = named("contexts", tree["current-context"], "context")
    cluster = named("clusters", context["cluster"], "cluster")
    user = named("users", context["user"], "user")
    authority = kubeconfig.with_name("authority-of-tests.crt")
    authority.write_bytes(base64.b64decode(cluster["certificate-authority-data"]))
    return Api(cluster["server"], user["token"], authority)
