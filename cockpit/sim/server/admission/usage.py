"""What one object uses of a quota, and which quotas it falls under (kubernetes: pkg/quota/v1)."""

from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from cockpit.k8s.pod_requests import limits_by, requests_by
from cockpit.k8s.quantity import Quantity
from cockpit.kube.resource import PODS, SERVICES, Resource
from cockpit.sim.port import Tree
from cockpit.sim.resources import PERSISTENT_VOLUME_CLAIMS
from cockpit.sim.server.admission.request import containers, is_same
from cockpit.sim.server.quantity import Amounts, amounts

ONE = Quantity(Decimal(1))
NONE = Quantity()
_ALIASES = {
    ("", "configmaps"): "configmaps",
    ("", "resourcequotas"): "resourcequotas",
    ("", "replicationcontrollers"): "replicationcontrollers",
    ("", "secrets"): "secrets",
}
_COMPUTE = ("cpu", "memory", "ephemeral-storage")
_POD_NAMES = frozenset(
    (
        "pods",
        "count/pods",
        *_COMPUTE,
        *(f"{word}.{name}" for word in ("requests", "limits") for name in _COMPUTE),
    )
)
_ENFORCED = ("cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory")
_SERVICE_NAMES = frozenset({"services", "services.loadbalancers", "services.nodeports", "count/services"})
_CLAIM_SUFFIX = ".storageclass.storage.k8s.io/"


def count_name(resource: Resource) -> str:
    """`count/pods`, `count/jobs.batch`."""
    return f"count/{resource.label}"


def is_counted(resource: Resource, name: str) -> bool:
    """Whether objects of `resource` use up what a quota calls `name`."""
    if is_same(resource, PODS):
        return (
            name in _POD_NAMES or name.startswith(("hugepages-", "requests.hugepages-")) or _is_device(name)
        )
    if is_same(resource, SERVICES):
        return name in _SERVICE_NAMES
    if is_same(resource, PERSISTENT_VOLUME_CLAIMS):
        known = ("persistentvolumeclaims", "requests.storage", "count/persistentvolumeclaims")
        return name in known or _CLAIM_SUFFIX in name
    return name in (count_name(resource), _ALIASES.get((resource.group, resource.plural)))


def _is_extended(name: str) -> bool:
    return "/" in name and "kubernetes.io/" not in name and not name.startswith("requests.")


def _is_device(name: str) -> bool:
    return name.startswith("requests.") and _is_extended(name.removeprefix("requests."))


def usage(resource: Resource, tree: Tree) -> Amounts:
    """What an object uses, by the names of quotas."""
    if is_same(resource, PODS):
        return _pod_usage(tree)
    if is_same(resource, SERVICES):
        return _service_usage(tree)
    if is_same(resource, PERSISTENT_VOLUME_CLAIMS):
        return _claim_usage(tree)
    found = {count_name(resource): ONE}
    alias = _ALIASES.get((resource.group, resource.plural))
    if alias:
        found[alias] = ONE
    return found


def _pod_usage(tree: Tree) -> Amounts:
    found: Amounts = {"count/pods": ONE}
    if (tree.get("status") or {}).get("phase") in ("Succeeded", "Failed"):
        return found
    spec: Tree = tree.get("spec") or {}
    return found | _compute(requests_by(spec, amounts), limits_by(spec, amounts))


def _compute(requests: Amounts, limits: Amounts) -> Amounts:
    found: Amounts = {"pods": ONE}
    for name, amount in requests.items():
        if name in _COMPUTE or name.startswith("hugepages-"):
            found[name] = found[f"requests.{name}"] = amount
        elif _is_extended(name):
            found[f"requests.{name}"] = amount
    for name in _COMPUTE:
        if name in limits:
            found[f"limits.{name}"] = limits[name]
    return found


def _service_usage(tree: Tree) -> Amounts:
    spec: Tree = tree.get("spec") or {}
    ports = spec.get("ports") or ()
    kind = spec.get("type", "ClusterIP")
    node_ports = 0
    if kind == "NodePort" or (
        kind == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts") is not False
    ):
        node_ports = len(ports)
    elif kind == "LoadBalancer":
        node_ports = sum(1 for port in ports if port.get("nodePort"))
    return {
        "count/services": ONE,
        "services": ONE,
        "services.nodeports": Quantity(Decimal(node_ports)),
        "services.loadbalancers": ONE if kind == "LoadBalancer" else NONE,
    }


def _claim_usage(tree: Tree) -> Amounts:
    spec: Tree = tree.get("spec") or {}
    size = amounts((spec.get("resources") or {}).get("requests")).get("storage")
    names = ["persistentvolumeclaims", "count/persistentvolumeclaims"]
    storage = ["requests.storage"]
    if spec.get("storageClassName"):
        names.append(f"{spec['storageClassName']}{_CLAIM_SUFFIX}persistentvolumeclaims")
        storage.append(f"{spec['storageClassName']}{_CLAIM_SUFFIX}requests.storage")
    found = dict.fromkeys(names, ONE)
    return found | (dict.fromkeys(storage, size) if size is not None else {})


def unspecified(spec: Tree, names: Iterable[str]) -> str:
    """What a quota over compute needs every container to say: `limits.cpu for: a,b; memory for: b`, or ""."""
    if (spec.get("resources") or {}).get("requests") or (spec.get("resources") or {}).get("limits"):
        return ""
    wanted = [name for name in sorted(names) if name in _ENFORCED]
    lacking: dict[str, set[str]] = {}
    for container in containers(spec):
        resources = container.get("resources") or {}
        said = _compute(amounts(resources.get("requests")), amounts(resources.get("limits")))
        for name in wanted:
            if name not in said:
                lacking.setdefault(name, set()).add(container.get("name", ""))
    return "; ".join(f"{name} for: {','.join(sorted(lacking[name]))}" for name in sorted(lacking))


# ---- scopes

Selector = tuple[str, str, tuple[str, ...]]
"""Scope, operator, values."""


def selectors_of(quota: Tree) -> tuple[Selector, ...]:
    """`spec.scopes` and `spec.scopeSelector` of a quota, together."""
    spec: Tree = quota.get("spec") or {}
    scopes = [(scope, "Exists", ()) for scope in spec.get("scopes") or ()]
    chosen = (spec.get("scopeSelector") or {}).get("matchExpressions") or ()
    return (
        *scopes,
        *(
            (one["scopeName"], one.get("operator", "Exists"), tuple(one.get("values") or ()))
            for one in chosen
        ),
    )


def is_in_scopes(resource: Resource, tree: Tree, selectors: Iterable[Selector]) -> bool:
    """Whether an object falls under all selectors. What is no pod falls under a quota without any only."""
    if not is_same(resource, PODS):
        return not tuple(selectors)
    spec: Tree = tree.get("spec") or {}
    return all(_is_in_scope(tree, spec, selector) for selector in selectors)


def _is_in_scope(pod: Tree, spec: Tree, selector: Selector) -> bool:
    scope, operator, values = selector
    match scope:
        case "Terminating" | "NotTerminating":
            ends = spec.get("activeDeadlineSeconds") is not None and spec["activeDeadlineSeconds"] >= 0
            return ends is (scope == "Terminating")
        case "BestEffort" | "NotBestEffort":
            return _is_best_effort(pod, spec) is (scope == "BestEffort")
        case "CrossNamespacePodAffinity":
            return _reaches_out(spec.get("affinity") or {})
        case "PriorityClass":
            name = spec.get("priorityClassName") or ""
            found = {"In": name in values, "NotIn": not name or name not in values, "Exists": bool(name)}
            return found.get(operator, not name)
    return False


def _is_best_effort(pod: Tree, spec: Tree) -> bool:
    known = (pod.get("status") or {}).get("qosClass")
    if known:
        return bool(known == "BestEffort")
    found: list[Any] = []
    for one in (*containers(spec), spec):
        for word in ("requests", "limits"):
            given = amounts((one.get("resources") or {}).get(word))
            found += [name for name in ("cpu", "memory") if name in given and given[name].amount]
    return not found


def _reaches_out(affinity: Tree) -> bool:
    for word in ("podAffinity", "podAntiAffinity"):
        rules = affinity.get(word) or {}
        terms = list(rules.get("requiredDuringSchedulingIgnoredDuringExecution") or ())
        preferred = rules.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
        terms += [one.get("podAffinityTerm") or {} for one in preferred]
        if any(term.get("namespaces") or term.get("namespaceSelector") is not None for term in terms):
            return True
    return False
