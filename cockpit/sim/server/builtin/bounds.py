"""Leases, quotas and limits: what they must say (pkg/apis/coordination and core/validation)."""

import re
from collections.abc import Iterator

from cockpit.sim.port import Tree
from cockpit.sim.server.builtin.pod_rules import amount_of
from cockpit.sim.server.refusals import Cause, wrong

_STANDARD = frozenset({
    "cpu", "memory", "ephemeral-storage", "requests.cpu", "requests.memory", "requests.storage",
    "requests.ephemeral-storage", "limits.cpu", "limits.memory", "limits.ephemeral-storage", "pods",
    "resourcequotas", "services", "replicationcontrollers", "secrets", "configmaps",
    "persistentvolumeclaims", "services.nodeports", "services.loadbalancers",
})  # fmt: skip
_SCOPES = (
    "BestEffort", "CrossNamespacePodAffinity", "NotBestEffort", "NotTerminating", "PriorityClass",
    "Terminating", "VolumeAttributesClass",
)  # fmt: skip
_COUNTED = re.compile(r"count/[a-z0-9.-]+").fullmatch
_LIMIT_TYPES = ("Pod", "Container", "PersistentVolumeClaim")


def check_lease(lease: Tree, old: Tree | None) -> Iterator[Cause]:
    """Times and counts that can be."""
    spec = lease.get("spec") or {}
    duration, transitions = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
    if duration is not None and duration <= 0:
        yield wrong("spec.leaseDurationSeconds", duration, "must be greater than 0")
    if transitions is not None and transitions < 0:
        yield wrong("spec.leaseTransitions", transitions, "must be greater than or equal to 0")


def check_quota(quota: Tree, old: Tree | None) -> Iterator[Cause]:
    """Known amounts that are none below nought; scopes that stay."""
    spec = quota.get("spec") or {}
    for name, text in sorted((spec.get("hard") or {}).items()):
        field = f"spec.hard[{name}]"
        if "/" not in name and name not in _STANDARD:
            yield wrong(field, name, "must be a standard resource type or fully qualified")
            yield wrong(field, name, "must be a standard resource for quota")
        elif name.startswith("count/") and not _COUNTED(name):
            yield wrong(field, name, "must be a standard resource for quota")
        amount = amount_of(text)
        if amount is not None and amount < 0:
            yield wrong(field, text, "must be greater than or equal to 0")
    if any(one not in _SCOPES for one in spec.get("scopes") or ()):
        yield wrong("spec.scopes", spec["scopes"], "unsupported scope")
    if old is not None and (spec.get("scopes") or []) != ((old.get("spec") or {}).get("scopes") or []):
        yield wrong("spec.scopes", spec.get("scopes"), "field is immutable")


def check_limits(limits: Tree, old: Tree | None) -> Iterator[Cause]:
    """Limits are for something known."""
    for index, one in enumerate((limits.get("spec") or {}).get("limits") or ()):
        kind = one.get("type", "")
        if kind not in _LIMIT_TYPES and "/" not in kind:
            why = "must be a standard limit type or fully qualified"
            yield wrong(f"spec.limits[{index}].type", kind, why)
