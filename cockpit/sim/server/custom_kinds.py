"""Custom resource definitions come to life: their kinds are served at once, and go with them.

Other than in apiextensions-apiserver a definition is accepted as it is: its names, its schema, its versions.
"""

from collections.abc import Callable, Iterator

from cockpit.kube.resource import Resource
from cockpit.sim.port import PatchType, Tree
from cockpit.sim.resources import CUSTOM_RESOURCE_DEFINITIONS
from cockpit.sim.server.kinds import ScaleSubresource, ServedKind
from cockpit.sim.server.operations import Operations
from cockpit.sim.server.request import Request
from cockpit.sim.server.schema.custom import custom_schema, keys_of
from cockpit.sim.server.storage import Commit

_SERVED = (
    ("NamesAccepted", "NoConflicts", "no conflicts found"),
    ("Established", "InitialNamesAccepted", "the initial names have been accepted"),
)


class CustomKinds:
    """Serves what definitions say."""

    def __init__(self, operations: Operations) -> None:
        self._operations = operations
        self._shelves: dict[str, Resource] = {}
        """Definition's uid -> where its objects lie, whatever version is the stored one by now."""
        for stored in list(operations.storage.shelf(CUSTOM_RESOURCE_DEFINITIONS).between("")):
            self._serve(stored.tree)
        self.close = operations.storage.listen(CUSTOM_RESOURCE_DEFINITIONS, self._changed)

    def _changed(self, commit: Commit) -> None:
        tree = commit.after.tree
        before = commit.before.tree if commit.before else None
        if commit.type == "DELETED":
            self._end(tree)
        elif before is None:
            self._serve(tree)
            self._establish(tree)
        elif before["spec"] != tree["spec"]:
            for resource in set(_resources(before)) - set(_resources(tree)):
                self._operations.kinds.remove(resource)
            self._serve(tree)

    def _serve(self, definition: Tree) -> None:
        for kind in self._kinds(definition):
            self._operations.kinds.add(kind)

    def _kinds(self, definition: Tree) -> Iterator[ServedKind]:
        spec = definition["spec"]
        names = spec["names"]
        versions = {version["name"]: version for version in spec["versions"]}
        store = self._shelf(definition)
        for resource in _resources(definition):
            version = versions[resource.version]
            schema = custom_schema(resource.kind, version)
            subresources = version.get("subresources") or {}
            yield ServedKind(
                resource=resource,
                singular=names.get("singular") or names["kind"].lower(),
                short_names=tuple(names.get("shortNames") or ()),
                categories=tuple(names.get("categories") or ()),
                has_status="status" in subresources,
                scale=_scale(subresources.get("scale")),
                has_generation=True,
                generation_parts=(),
                is_custom=True,
                is_update_unconditional=False,
                fields=_fields(version),
                decode=schema.decode,
                shape=schema.shape,
                checks=(schema.check,),
                status_checks=(schema.check,),
                store=None if resource == store else store,
                to_stored=None if resource == store else _as_version(store),
                to_served=None if resource == store else _as_version(resource),
            )

    def _shelf(self, definition: Tree) -> Resource:
        """Objects stay where the first were put: with conversion None any version is made of them."""
        uid = definition["metadata"]["uid"]
        if uid not in self._shelves:
            stored = {one["name"] for one in definition["spec"]["versions"] if one.get("storage")}
            self._shelves[uid] = next(one for one in _all_resources(definition) if one.version in stored)
        return self._shelves[uid]

    def _establish(self, definition: Tree) -> None:
        conditions = [
            {
                "type": name,
                "status": "True",
                "lastTransitionTime": self._operations.now,
                "reason": reason,
                "message": message,
            }
            for name, reason, message in _SERVED
        ]
        status = {"acceptedNames": definition["spec"]["names"], "conditions": conditions}
        request = Request(
            resource=CUSTOM_RESOURCE_DEFINITIONS,
            name=definition["metadata"]["name"],
            subresource="status",
            field_manager="kube-apiserver",
        )
        self._operations.patch(request, {"status": status}, PatchType.MERGE)

    def _end(self, definition: Tree) -> None:
        """Its objects go before it: who watches them hears of each."""
        storage, held = self._operations.storage, self._shelves.pop(definition["metadata"]["uid"])
        waiting = {stored.key for stored in storage.shelf(held).between("")}

        def gone(commit: Commit) -> None:
            waiting.discard(commit.after.key)
            if not waiting:
                stop()
                self._withdraw(definition)

        stop = storage.listen(held, gone)
        for key in sorted(waiting):
            storage.remove(held, key)
        if not waiting:
            stop()
            self._withdraw(definition)

    def _withdraw(self, definition: Tree) -> None:
        for resource in _resources(definition):
            self._operations.kinds.remove(resource)


def _all_resources(definition: Tree) -> list[Resource]:
    spec = definition["spec"]
    names = spec["names"]
    return [
        Resource(
            spec["group"],
            version["name"],
            names["plural"],
            names["kind"],
            namespaced=spec["scope"] == "Namespaced",
        )
        for version in spec["versions"]
    ]


def _resources(definition: Tree) -> list[Resource]:
    """Those that are served."""
    versions = {one["name"] for one in definition["spec"]["versions"] if one.get("served")}
    return [one for one in _all_resources(definition) if one.version in versions]


def _as_version(resource: Resource) -> Callable[[Tree], Tree]:
    """The same object under another version: what conversion strategy None means."""

    def convert(tree: Tree) -> Tree:
        return {**tree, "apiVersion": resource.api_version}

    return convert


def _scale(given: Tree | None) -> ScaleSubresource | None:
    if given is None:
        return None
    return ScaleSubresource(
        replicas=keys_of(given["specReplicasPath"]),
        status_replicas=keys_of(given["statusReplicasPath"]),
        selector=keys_of(given.get("labelSelectorPath") or ""),
    )


def _fields(version: Tree) -> dict[str, tuple[str, ...]]:
    paths = [one["jsonPath"] for one in version.get("selectableFields") or ()]
    return {path.removeprefix("."): keys_of(path) for path in paths}
