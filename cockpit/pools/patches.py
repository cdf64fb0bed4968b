"""Patches that several owners share: of `scale`, as Kubernetes defines it for any kind, and of the object.

Sizes are absolute, so that sending the same call again changes nothing; the resource version refuses the
write when the object changed after it was shown.
"""

from typing import Any

from cockpit.model.plan import Call
from cockpit.model.pool import PoolObject
from cockpit.model.right import Right, Ways
from cockpit.pools.owner import MERGE_PATCH, guarded, target_of


def scale_calls(found: PoolObject, replicas: int) -> tuple[Call, ...]:
    """Set `spec.replicas` through the subresource."""
    body = {"metadata": guarded(found), "spec": {"replicas": replicas}}
    return (_patch(found, "/scale", body),)


def spec_calls(found: PoolObject, change: dict[str, Any]) -> tuple[Call, ...]:
    """Merge `change` into the object; it has no `metadata.uid` or resource version of its own."""
    body = {**change, "metadata": {**change.get("metadata", {}), **guarded(found)}}
    return (_patch(found, "", body),)


def patch_rights(found: PoolObject, subresource: str = "") -> Ways:
    """The right to patch the object, or its subresource."""
    group = found.api_version.rpartition("/")[0]
    plural = found.resource_path.rpartition("/")[2]
    return ((Right("patch", group, plural, subresource, found.namespace, found.name),),)


def _patch(found: PoolObject, subresource: str, body: dict[str, Any]) -> Call:
    return Call(
        method="PATCH",
        path=f"{found.resource_path}/{found.name}{subresource}",
        body=body,
        content_type=MERGE_PATCH,
        target=target_of(found),
    )
