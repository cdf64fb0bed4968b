"""A storage with a few objects, and one write through the admissions."""

from typing import Any

from cockpit.kube.resource import NAMESPACES, PODS, SERVICES, Resource
from cockpit.sim.port import PortError, Tree
from cockpit.sim.resources import (
    CONFIG_MAPS,
    LIMIT_RANGES,
    PERSISTENT_VOLUME_CLAIMS,
    PRIORITY_CLASSES,
    RESOURCE_QUOTAS,
    SERVICE_ACCOUNTS,
)
from cockpit.sim.server.admission import Admissions
from cockpit.sim.server.request import Request
from cockpit.sim.server.storage import Storage, key_of

SPACE = "team-a"
SERVED = (PODS, SERVICES, CONFIG_MAPS, PERSISTENT_VOLUME_CLAIMS, RESOURCE_QUOTAS)


class Estate:
    """`put` stores as it is; `admit` runs the admissions only; `create` does both."""

    def __init__(self, *, labels: dict[str, str] | None = None, with_accounts: bool = True) -> None:
        self.storage = Storage()
        self.admissions = Admissions(self.storage, lambda: SERVED, with_accounts=with_accounts)
        self.put(NAMESPACES, {"metadata": {"name": SPACE, "labels": labels or {}}})
        self.put(SERVICE_ACCOUNTS, {"metadata": {"name": "default", "namespace": SPACE}})

    def put(self, resource: Resource, tree: Tree) -> Tree:
        metadata = dict(tree["metadata"])
        if resource.namespaced:
            metadata.setdefault("namespace", SPACE)
        key = key_of(metadata.get("namespace", ""), metadata["name"])
        return self.storage.put(resource, key, {**tree, "metadata": metadata}).tree

    def admit(
        self, resource: Resource, tree: Tree, old: Tree | None = None, *, subresource: str = ""
    ) -> Tree:
        request = Request(
            resource=resource,
            namespace=SPACE if resource.namespaced else "",
            name=old["metadata"]["name"] if old else "",
            subresource=subresource,
        )
        for admission in self.admissions.chain:
            tree = admission(request, tree, old)
        return tree

    def create(self, resource: Resource, tree: Tree) -> Tree:
        return self.put(resource, self.admit(resource, tree))

    def refusal(self, resource: Resource, tree: Tree, old: Tree | None = None) -> str:
        """The sentence with which a write is refused. Fails when it is let through."""
        try:
            self.admit(resource, tree, old)
        except PortError as error:
            assert error.status in (403, 422), error
            return error.message
        raise AssertionError("the write was let through")

    def warnings(self, resource: Resource, tree: Tree, old: Tree | None = None) -> tuple[str, ...]:
        request = Request(resource=resource, namespace=SPACE if resource.namespaced else "")
        return self.admissions.warnings(request, tree, old)

    def quota(self, name: str = "q", *, hard: dict[str, str], **spec: Any) -> Tree:
        return self.put(RESOURCE_QUOTAS, {"metadata": {"name": name}, "spec": {"hard": hard, **spec}})

    def used(self, name: str = "q") -> dict[str, str]:
        stored = self.storage.get(RESOURCE_QUOTAS, SPACE, name)
        assert stored is not None
        used: dict[str, str] = stored.tree["status"]["used"]
        assert used == self.admissions.quotas.used(SPACE, name)
        return used

    def limit_range(self, *limits: Tree, name: str = "l") -> Tree:
        return self.put(LIMIT_RANGES, {"metadata": {"name": name}, "spec": {"limits": list(limits)}})

    def priority_class(self, name: str, value: int, **more: Any) -> Tree:
        return self.put(PRIORITY_CLASSES, {"metadata": {"name": name}, "value": value, **more})


def pod(name: str = "p", *, requests: Tree | None = None, limits: Tree | None = None, **spec: Any) -> Tree:
    """One container `c`."""
    container: Tree = {"name": "c", "image": "i"}
    if requests or limits:
        container["resources"] = {
            **({"requests": requests} if requests else {}),
            **({"limits": limits} if limits else {}),
        }
    return {"metadata": {"name": name}, "spec": {"containers": [container], **spec}}


def gpu_pod(name: str = "p", gpus: int = 1, **spec: Any) -> Tree:
    """Requests as the defaults fill them in."""
    held = {"nvidia.com/gpu": str(gpus)}
    return pod(name, requests=held, limits=held, **spec)
