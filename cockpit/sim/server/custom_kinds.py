"""Custom resource definitions come to life: their kinds are served at once, and go with them.

Facts: apiextensions-apiserver pkg/controller/establish, pkg/controller/finalizer, pkg/apiserver.
"""

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from cockpit.kube.resource import Resource
from cockpit.sim.port import PatchType, PortError, Tree
from cockpit.sim.resources import CUSTOM_RESOURCE_DEFINITIONS
from cockpit.sim.server.builtin.definitions import CLEANUP
from cockpit.sim.server.custom_names import (
    accepted,
    condition,
    established,
    is_established,
    settled,
    with_condition,
)
from cockpit.sim.server.kinds import Check, Decode, ScaleSubresource, ServedKind
from cockpit.sim.server.operations import Operations
from cockpit.sim.server.refusals import Cause
from cockpit.sim.server.request import Request
from cockpit.sim.server.schema.cel_rules import cel_rules, rule_faults
from cockpit.sim.server.schema.custom import CustomKind, version_of
from cockpit.sim.server.schema.patterns import HAS_RULES, QUANTITY
from cockpit.sim.server.schema.shape import SchemaShape
from cockpit.sim.server.storage import Commit

_NOT_HELD = (
    "its rules and patterns are not checked by this server, which lacks packages: "
    "pip install 'gpu-cockpit[demo-rules]'"
)


class CustomSchema(msgspec.Struct, frozen=True, eq=False):
    """What a schema makes of the objects of one version of a custom kind."""

    decode: Decode | None = None
    checks: tuple[Check, ...] = ()
    shape: SchemaShape | None = None
    warnings: tuple[str, ...] = ()
    """What every write of such an object is to be warned of."""


def schema_of(resource: Resource, version: Tree) -> CustomSchema:
    """The rules of one entry of `spec.versions` of a definition."""
    only = version_of({**version, "storage": True})
    custom = CustomKind(
        resource.group,
        resource.kind,
        resource.plural,
        resource.kind.lower(),
        f"{resource.kind}List",
        resource.namespaced,
        (only,),
    )

    rules = cel_rules(only.schema) if HAS_RULES else None

    def check(tree: Tree, old: Tree | None) -> list[Cause]:
        """New faults: what was wrong before may stay as it is (validation ratcheting)."""
        causes = custom.validate(tree)
        if causes and old is not None:
            before = custom.validate(old)
            causes = [cause for cause in causes if cause not in before]
        return causes if rules is None else [*causes, *rule_faults(rules, tree, old, causes)]

    warnings = rules.unevaluated if rules is not None else ()
    if not HAS_RULES and _has_rules(only.schema):
        warnings = (_NOT_HELD,)
    return CustomSchema(custom.decode, (check,), only.shape, warnings)


def _has_rules(schema: Any) -> bool:
    """Whether anything in a schema needs what `demo-rules` installs."""
    if isinstance(schema, list):
        return any(map(_has_rules, schema))
    if not isinstance(schema, dict):
        return False
    wanted = schema.get("pattern")
    is_own = bool(schema.get("x-kubernetes-validations")) or (isinstance(wanted, str) and wanted != QUANTITY)
    return is_own or any(map(_has_rules, schema.values()))


class CustomKinds:
    """Serves what definitions say."""

    def __init__(self, operations: Operations) -> None:
        self._operations = operations
        self._heard: set[Resource] = set()
        self._shelves: dict[str, Resource] = {}
        """Definition's uid -> where its objects lie, whatever version is the stored one by now."""
        for stored in list(operations.storage.shelf(CUSTOM_RESOURCE_DEFINITIONS).between("")):
            if is_established(stored.tree):
                self._serve(stored.tree)
        self.close = operations.storage.listen(CUSTOM_RESOURCE_DEFINITIONS, self._changed)

    def _changed(self, commit: Commit) -> None:
        tree = commit.after.tree
        before = commit.before.tree if commit.before else None
        if commit.type == "DELETED":
            for resource in _resources(tree):
                self._operations.kinds.remove(resource)
            self._shelves.pop(tree["metadata"]["uid"], None)
            self._settle_others(tree)
            return
        if "deletionTimestamp" in tree["metadata"]:
            self._end(tree)
            return
        if is_established(tree) and (before is None or _shown(before) != _shown(tree)):
            for resource in set(_resources(before) if before else ()) - set(_resources(tree)):
                self._operations.kinds.remove(resource)
            self._serve(tree)
        if self._settle(tree) and accepted(before or {}) != accepted(tree):
            self._settle_others(tree)

    def _serve(self, definition: Tree) -> None:
        for kind in self._kinds(definition):
            self._operations.kinds.add(kind)
            if kind.shelf not in self._heard:
                self._heard.add(kind.shelf)
                self._operations.storage.listen(kind.shelf, self._object_changed)

    def _object_changed(self, commit: Commit) -> None:
        """The last object of a kind that goes takes its definition along."""
        if commit.type != "DELETED":
            return
        name = f"{commit.resource.plural}.{commit.resource.group}"
        definition = self._operations.storage.get(CUSTOM_RESOURCE_DEFINITIONS, "", name)
        if definition is not None and "deletionTimestamp" in definition.tree["metadata"]:
            self._clean(definition.tree)

    def _kinds(self, definition: Tree) -> Iterator[ServedKind]:
        spec = definition["spec"]
        names = accepted(definition)
        versions = {version["name"]: version for version in spec["versions"]}
        store = self._shelf(definition)
        for resource in _resources(definition):
            version = versions[resource.version]
            schema = schema_of(resource, version)
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
                warnings=schema.warnings,
                checks=schema.checks,
                status_checks=schema.checks,
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

    def _settle(self, definition: Tree) -> bool:
        """One step on the way to being served; True where there is none left."""
        now = self._operations.now
        status = settled(definition, self._others(definition), now)
        if status == definition.get("status"):
            status = established(definition, now) or status
        if status == definition.get("status"):
            return True
        # The write is heard of here, which is the next step.
        self._put_status(definition, status)
        return False

    def _settle_others(self, definition: Tree) -> None:
        """Names may have become free, or taken."""
        for other in self._others(definition):
            if "deletionTimestamp" not in other["metadata"]:
                self._settle(other)

    def _others(self, definition: Tree) -> list[Tree]:
        """The other definitions of its group."""
        shelf = self._operations.storage.shelf(CUSTOM_RESOURCE_DEFINITIONS)
        return [
            one.tree
            for one in shelf.between("")
            if one.tree["spec"]["group"] == definition["spec"]["group"]
            and one.tree["metadata"]["uid"] != definition["metadata"]["uid"]
        ]

    def _end(self, definition: Tree) -> None:
        """Says that its objects go, then lets them go."""
        status = definition["status"]
        held = next((one for one in status["conditions"] if one["type"] == "Terminating"), None)
        if held is None or held["reason"] != "InstanceDeletionPending":
            self._clean(definition)
            return
        told = condition(
            "Terminating",
            "True",
            "InstanceDeletionInProgress",
            "CustomResource deletion is in progress",
            self._operations.now,
        )
        self._put_status(definition, {**status, "conditions": with_condition(status["conditions"], told)})

    def _clean(self, definition: Tree) -> None:
        """Deletes every object of a kind that goes, then lets the definition go."""
        if CLEANUP not in definition["metadata"].get("finalizers", ()):
            return
        operations = self._operations
        shelf = operations.storage.shelf(self._shelf(definition))
        served = next((one for one in _resources(definition) if operations.kinds.of(one) is not None), None)
        for stored in list(shelf.between("")):
            if served is None:
                operations.storage.remove(self._shelf(definition), stored.key)
                continue
            metadata = stored.tree["metadata"]
            space = metadata.get("namespace", "")
            operations.delete(Request(resource=served, namespace=space, name=metadata["name"]))
        if shelf.objects:
            return
        finalizers = [one for one in definition["metadata"]["finalizers"] if one != CLEANUP]
        self._patch(definition, {"metadata": {"finalizers": finalizers or None}}, "")

    def _put_status(self, definition: Tree, status: Tree) -> None:
        held = definition.get("status") or {}
        gone = {key: None for key in accepted(definition) if key not in status["acceptedNames"]}
        patch = {key: value for key, value in status.items() if held.get(key) != value}
        if gone and "acceptedNames" in patch:
            patch["acceptedNames"] = {**status["acceptedNames"], **gone}
        self._patch(definition, {"status": patch}, "status")

    def _patch(self, definition: Tree, patch: Tree, subresource: str) -> None:
        name = definition["metadata"]["name"]
        request = Request(
            resource=CUSTOM_RESOURCE_DEFINITIONS,
            name=name,
            subresource=subresource,
            field_manager="kube-apiserver",
        )
        try:
            self._operations.patch(request, patch, PatchType.MERGE)
        except PortError as error:
            if not error.is_gone:
                raise


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


def _shown(definition: Tree) -> tuple[Tree, Tree, bool]:
    """What its kinds are made of."""
    return definition["spec"], accepted(definition), is_established(definition)


def _as_version(resource: Resource) -> Callable[[Tree], Tree]:
    """The same object under another version: what conversion strategy None means."""

    def convert(tree: Tree) -> Tree:
        return {**tree, "apiVersion": resource.api_version}

    return convert


def _path(text: str) -> tuple[str, ...]:
    return tuple(part for part in text.split(".") if part)


def _scale(given: Tree | None) -> ScaleSubresource | None:
    if given is None:
        return None
    return ScaleSubresource(
        replicas=_path(given["specReplicasPath"]),
        status_replicas=_path(given["statusReplicasPath"]),
        selector=_path(given.get("labelSelectorPath") or ""),
    )


def _fields(version: Tree) -> dict[str, tuple[str, ...]]:
    paths = [one["jsonPath"] for one in version.get("selectableFields") or ()]
    return {path.removeprefix("."): _path(path) for path in paths}
