"""LimitRanger: defaults for containers, and bounds (plugin/pkg/admission/limitranger)."""

from decimal import Decimal
from typing import Any

from cockpit.k8s.pod_requests import limits_by, requests_by
from cockpit.k8s.quantity import Quantity
from cockpit.sim.port import Tree
from cockpit.sim.resources import LIMIT_RANGES, PERSISTENT_VOLUME_CLAIMS
from cockpit.sim.server.admission.request import (
    is_pod,
    is_same,
    joined,
    namespace_of,
    refused,
)
from cockpit.sim.server.quantity import Amounts, amounts
from cockpit.sim.server.request import Request
from cockpit.sim.server.storage import Storage

ANNOTATION = "kubernetes.io/limit-ranger"


class LimitRanges:
    """The limit ranges of a namespace, applied to new pods and to claims."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def __call__(self, request: Request, new: Tree, old: Tree | None) -> Tree:
        """The pod, or a limit range itself, with defaults. Raises PortError 403 with every broken bound."""
        if is_same(request.resource, LIMIT_RANGES) and not request.subresource:
            return _completed(new)
        pod = is_pod(request) and old is None
        claim = is_same(request.resource, PERSISTENT_VOLUME_CLAIMS) and not request.subresource
        if not (pod or claim) or (old is not None and old["metadata"].get("deletionTimestamp")):
            return new
        shelf = self._storage.shelf(LIMIT_RANGES)
        ranges = [stored.tree for stored in shelf.between(namespace_of(request, new))]
        items = [(tree.get("spec") or {}).get("limits") or () for tree in ranges]
        if pod:
            for limits in items:
                new = _with_defaults(new, limits)
        for limits in items:
            faults = _pod_faults(new, limits) if pod else _claim_faults(new, limits)
            if faults:
                raise refused(request, new, joined(faults))
        return new


def _completed(limit_range: Tree) -> Tree:
    """What a limit range leaves out for containers: `default` is `max`, `defaultRequest` is `default`, or
    `min` (pkg/apis/core/v1/defaults.go)."""
    spec: Tree = limit_range.get("spec") or {}
    limits = [_completed_item(item) for item in spec.get("limits") or ()] or None
    return {**limit_range, "spec": {**spec, "limits": limits}}


def _completed_item(item: Tree) -> Tree:
    if item.get("type") != "Container":
        return item
    default = {**(item.get("max") or {}), **(item.get("default") or {})}
    request = {**(item.get("min") or {}), **default, **(item.get("defaultRequest") or {})}
    filled = {"default": default, "defaultRequest": request}
    return {**item, **{word: values for word, values in filled.items() if values}}


def _with_defaults(pod: Tree, limits: Any) -> Tree:
    defaults: dict[str, Tree] = {"limits": {}, "requests": {}}
    for item in limits:
        if item.get("type") == "Container":
            defaults["limits"] |= item.get("default") or {}
            defaults["requests"] |= item.get("defaultRequest") or {}
    told: list[str] = []
    spec = dict(pod.get("spec") or {})
    for field, word in (("containers", "container"), ("initContainers", "init container")):
        if field in spec:
            spec[field] = [_filled(one, defaults, word, told) for one in spec[field] or ()]
    if not told:
        return pod
    metadata = dict(pod["metadata"])
    text = "LimitRanger plugin set: " + "; ".join(told)
    metadata["annotations"] = {**(metadata.get("annotations") or {}), ANNOTATION: text}
    return {**pod, "metadata": metadata, "spec": spec}


def _filled(container: Tree, defaults: dict[str, Tree], word: str, told: list[str]) -> Tree:
    resources = dict(container.get("resources") or {})
    for kind in ("requests", "limits"):
        given = resources.get(kind) or {}
        added = {name: value for name, value in sorted(defaults[kind].items()) if name not in given}
        if added:
            resources[kind] = {**given, **added}
            told.append(f"{', '.join(added)} {kind[:-1]} for {word} {container.get('name', '')}")
    return {**container, "resources": resources} if resources else container


def _pod_faults(pod: Tree, limits: Any) -> list[str]:
    faults: list[str] = []
    spec: Tree = pod.get("spec") or {}
    ordered = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    for item in limits:
        if item.get("type") == "Container":
            for container in ordered:
                resources = container.get("resources") or {}
                asked = amounts(resources.get("requests")), amounts(resources.get("limits"))
                faults += _faults(item, "Container", *asked)
        elif item.get("type") == "Pod":
            # Without overhead: LimitRanger has a calculation of its own.
            whole = (
                requests_by(spec, amounts, with_overhead=False),
                limits_by(spec, amounts, with_overhead=False),
            )
            faults += _faults(item, "Pod", *whole)
    return faults


def _claim_faults(claim: Tree, limits: Any) -> list[str]:
    resources = (claim.get("spec") or {}).get("resources") or {}
    requests = amounts(resources.get("requests"))
    faults: list[str] = []
    for item in limits:
        if item.get("type") != "PersistentVolumeClaim":
            continue
        for name, bound in sorted(amounts(item.get("min")).items()):
            faults += _too_little("PersistentVolumeClaim", name, bound, requests, {})
        for name, bound in sorted(amounts(item.get("max")).items()):
            what = f"maximum {name} usage per PersistentVolumeClaim is {bound}"
            asked = requests.get(name)
            if asked is None:
                faults.append(f"{what}.  No request is specified")
            elif asked.amount > bound.amount:
                faults.append(f"{what}, but request is {asked}")
    return faults


def _faults(item: Tree, kind: str, requests: Amounts, limits: Amounts) -> list[str]:
    faults: list[str] = []
    for name, bound in sorted(amounts(item.get("min")).items()):
        faults += _too_little(kind, name, bound, requests, limits)
    for name, bound in sorted(amounts(item.get("max")).items()):
        faults += _too_much(kind, name, bound, requests, limits)
    for name, bound in sorted(amounts(item.get("maxLimitRequestRatio")).items()):
        faults += _too_far(kind, name, bound, requests, limits)
    return faults


def _too_little(kind: str, name: str, bound: Quantity, requests: Amounts, limits: Amounts) -> list[str]:
    what = f"minimum {name} usage per {kind} is {bound}"
    request, limit = requests.get(name), limits.get(name)
    if request is None:
        return [f"{what}.  No request is specified"]
    if request.amount < bound.amount:
        return [f"{what}, but request is {request}"]
    if limit is not None and limit.amount < bound.amount:
        return [f"{what}, but limit is {limit}"]
    return []


def _too_much(kind: str, name: str, bound: Quantity, requests: Amounts, limits: Amounts) -> list[str]:
    what = f"maximum {name} usage per {kind} is {bound}"
    request, limit = requests.get(name), limits.get(name)
    if limit is None:
        return [f"{what}.  No limit is specified"]
    if limit.amount > bound.amount:
        return [f"{what}, but limit is {limit}"]
    if request is not None and request.amount > bound.amount:
        return [f"{what}, but request is {request}"]
    return []


def _too_far(kind: str, name: str, bound: Quantity, requests: Amounts, limits: Amounts) -> list[str]:
    what = f"{name} max limit to request ratio per {kind} is {bound}"
    request, limit = requests.get(name), limits.get(name)
    if request is None or not request.amount:
        return [f"{what}, but no request is specified or request is 0"]
    if limit is None or not limit.amount:
        return [f"{what}, but no limit is specified or limit is 0"]
    ratio: Decimal = limit.amount / request.amount
    return [f"{what}, but provided ratio is {ratio:.6f}"] if ratio > bound.amount else []
