"""One object of any kind as facts: its metadata, its conditions, and the rest as YAML."""

from collections.abc import Mapping
from typing import Any, Final

from cockpit.k8s.json_values import mapping
from cockpit.kube.decode.times import from_text
from cockpit.model.object_table import ObjectAddress, ObjectDetail
from cockpit.model.record import Condition, Labels, OwnerRef
from cockpit.yaml_text import yaml_text

_WIDTH: Final = 110
"""Longer values are folded."""


def detail_of(tree: Mapping[str, Any]) -> ObjectDetail:
    """The facts of an object that is presentable (`cockpit.kube.objects`): texts cleaned, secrets hidden."""
    meta = mapping(tree.get("metadata"))
    status = mapping(tree.get("status"))
    conditions = [item for item in status.get("conditions") or () if isinstance(item, dict)]
    rest = {key: value for key, value in tree.items() if key not in ("apiVersion", "kind", "metadata")}
    if conditions:
        rest["status"] = {key: value for key, value in status.items() if key != "conditions"}
    return ObjectDetail(
        address=ObjectAddress(
            _text(tree, "apiVersion"), _text(tree, "kind"), _text(meta, "namespace"), _text(meta, "name")
        ),
        uid=_text(meta, "uid"),
        created_seconds=_seconds(meta, "creationTimestamp"),
        deleting_seconds=_seconds(meta, "deletionTimestamp"),
        labels=_pairs(meta.get("labels")),
        annotations=_pairs(meta.get("annotations")),
        finalizers=tuple(str(item) for item in meta.get("finalizers") or ()),
        owners=owners_of(meta),
        conditions=tuple(
            Condition(
                _text(item, "type"),
                _text(item, "status"),
                _text(item, "reason"),
                _text(item, "message"),
                _seconds(item, "lastTransitionTime"),
            )
            for item in conditions
        ),
        sections=tuple(
            (key, tuple(yaml_text(value, _WIDTH).splitlines())) for key, value in rest.items() if value
        ),
    )


def owners_of(meta: Mapping[str, Any]) -> tuple[OwnerRef, ...]:
    """The owners that an object's metadata names, the controlling one first."""
    found = [item for item in meta.get("ownerReferences") or () if isinstance(item, dict)]
    found.sort(key=lambda item: not item.get("controller"))
    keys = ("apiVersion", "kind", "name", "uid")
    return tuple(OwnerRef(*[_text(item, key) for key in keys]) for item in found)


def _text(tree: Mapping[str, Any], key: str) -> str:
    return str(tree.get(key) or "")


def _pairs(value: Any) -> Labels:
    return tuple(sorted((str(key), str(text)) for key, text in mapping(value).items()))


def _seconds(item: Mapping[str, Any], key: str) -> float | None:
    text = item.get(key)
    return from_text(text) if isinstance(text, str) else None
