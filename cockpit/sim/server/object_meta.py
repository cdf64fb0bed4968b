"""Metadata of objects: what the server writes into it, and what may stand in it.

Facts: apiserver pkg/registry/rest (BeforeCreate, BeforeUpdate), apimachinery pkg/api/validation.
"""

from collections.abc import Iterator
from random import Random
from typing import Any
from uuid import UUID

from cockpit.kube.resource import EVENTS
from cockpit.sim.port import Tree
from cockpit.sim.server.kinds import ServedKind
from cockpit.sim.server.names import (
    RULES,
    generated_faults,
    label_key_faults,
    label_value_faults,
)
from cockpit.sim.server.refusals import Cause, banned, required, too_long, wrong

_SUFFIX = "bcdfghjklmnpqrstvwxz2456789"
_LONGEST_PREFIX = 58
_ANNOTATIONS_BYTES = 256 * 1024
_KEPT_AT_UPDATE = (
    "namespace",
    "creationTimestamp",
    "generation",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "selfLink",
)
_STANDARD_FINALIZERS = frozenset(("kubernetes", "orphan", "foregroundDeletion"))


def new_uid(random: Random) -> str:
    """A version 4 UUID of the cluster's own dice."""
    return str(UUID(int=random.getrandbits(128), version=4))


def generated_name(prefix: str, random: Random) -> str:
    """`prefix` (cut to 58 characters) and five characters that spell no words."""
    return prefix[:_LONGEST_PREFIX] + "".join(random.choice(_SUFFIX) for _ in range(5))


def created(metadata: Tree, kind: ServedKind, namespace: str, now: str, random: Random) -> Tree:
    """Metadata of a new object: its own fields, and those that the server gives."""
    made = {
        key: value
        for key, value in metadata.items()
        if key not in ("deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "resourceVersion")
        and value is not None
    }
    if namespace:
        made["namespace"] = namespace
    made["uid"] = new_uid(random)
    made["creationTimestamp"] = now
    if kind.has_generation:
        made["generation"] = 1
    return _tidy(made)


def updated(metadata: Tree, old: Tree) -> Tree:
    """Metadata of an update: what only the server writes stays as it was."""
    made = dict(metadata)
    for key in _KEPT_AT_UPDATE:
        if key in old:
            made[key] = old[key]
        else:
            made.pop(key, None)
    if not made.get("uid"):
        made["uid"] = old["uid"]
    if not made.get("name"):
        made["name"] = old["name"]
    if "namespace" in old:
        made["namespace"] = old["namespace"]
    made["resourceVersion"] = old.get("resourceVersion", "")
    if made.get("managedFields") is None and "managedFields" in old:
        made["managedFields"] = old["managedFields"]
    return _tidy(made)


def _tidy(metadata: Tree) -> Tree:
    for key in ("labels", "annotations", "finalizers", "ownerReferences"):
        if key in metadata and not metadata[key]:
            del metadata[key]
    return metadata


def faults_at_create(metadata: Tree, kind: ServedKind) -> Iterator[Cause]:
    """What is wrong with the metadata of a new object."""
    if prefix := metadata.get("generateName"):
        for fault in generated_faults(prefix, kind.name_rule):
            yield wrong("metadata.generateName", prefix, fault)
    name = metadata.get("name")
    if not name:
        yield required("metadata.name", "name or generateName is required")
    else:
        for fault in RULES[kind.name_rule](name):
            yield wrong("metadata.name", name, fault)
    yield from _faults(metadata, kind)


def faults_at_update(metadata: Tree, old: Tree, kind: ServedKind) -> Iterator[Cause]:
    """What is wrong with changed metadata."""
    for key in ("name", "uid"):
        if metadata.get(key) != old.get(key):
            yield wrong(f"metadata.{key}", metadata.get(key), "field is immutable")
    if old.get("deletionTimestamp"):
        known = set(old.get("finalizers", ()))
        late = [one for one in metadata.get("finalizers", ()) if one not in known]
        if late:
            shown = ", ".join(f'"{one}"' for one in late)
            yield banned(
                "metadata.finalizers",
                "no new finalizers can be added if the object is being deleted, "
                f"found new finalizers []string{{{shown}}}",
            )
    if any(metadata.get(key) is not old.get(key) for key in _CHECKED):
        yield from _faults(metadata, kind)


_CHECKED = ("labels", "annotations", "finalizers", "ownerReferences")


def _faults(metadata: Tree, kind: ServedKind) -> Iterator[Cause]:
    yield from label_faults_at("metadata.labels", metadata.get("labels") or {})
    size = 0
    for key, value in (metadata.get("annotations") or {}).items():
        for fault in label_key_faults(key.lower()):
            yield wrong("metadata.annotations", key, fault)
        size += len(key) + len(value.encode())
    if size > _ANNOTATIONS_BYTES:
        yield too_long("metadata.annotations", _ANNOTATIONS_BYTES)
    # Definitions and their objects are checked by the general rules, built-in kinds by stricter ones.
    is_strict = not kind.is_custom and kind.resource != EVENTS
    is_strict = is_strict and kind.resource.group not in ("apiextensions.k8s.io", "policy")
    for index, finalizer in enumerate(metadata.get("finalizers") or ()):
        for fault in label_key_faults(finalizer):
            yield wrong("metadata.finalizers", finalizer, fault)
        if is_strict and "/" not in finalizer and finalizer not in _STANDARD_FINALIZERS:
            yield wrong(
                f"metadata.finalizers[{index}]",
                finalizer,
                "name is neither a standard finalizer name nor is it fully qualified",
            )
    yield from _owner_faults(metadata.get("ownerReferences") or [])


def label_faults_at(field: str, labels: Any) -> Iterator[Cause]:
    """What is wrong with labels at a path, also of pod templates."""
    for key, value in labels.items():
        for fault in label_key_faults(key):
            yield wrong(field, key, fault)
        if not isinstance(value, str):
            yield wrong(field, value, "must be a string")
            continue
        for fault in label_value_faults(value):
            yield wrong(field, value, fault)


def _owner_faults(owners: list[Tree]) -> Iterator[Cause]:
    controller = ""
    for owner in owners:
        for key in ("apiVersion", "kind", "name", "uid"):
            if not owner.get(key):
                yield wrong(f"metadata.ownerReferences.{key}", "", "must not be empty")
        if not owner.get("controller"):
            continue
        if controller:
            yield wrong(
                "metadata.ownerReferences",
                owners,
                'Only one reference can have Controller set to true. Found "true" in references for '
                f"{controller} and {owner.get('kind')}/{owner.get('name')}",
            )
        controller = f"{owner.get('kind')}/{owner.get('name')}"
