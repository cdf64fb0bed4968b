"""What a pod asks for as a whole, as the scheduler and kubelets count it.

Source: component-helpers resource/helpers.go, pkg/apis/core/v1/defaults.go (v0.36).
"""

from collections.abc import Mapping
from typing import Any

from cockpit.k8s.quantity import amounts_of

Tree = Mapping[str, Any]


def pod_requests(spec: Tree, floor: Mapping[str, int] | None = None) -> dict[str, int]:
    """Requests of a pod spec by resource, in base units (cpu in millicores).

    Containers and sidecars add up; an init container counts with the sidecars that were started before it,
    where that is more; cpu, memory and huge pages of the pod itself override; overhead comes on top. A limit
    stands for a request that is not there. `floor` is what a container without a statement counts as.
    """
    total = _together(spec, floor or {})
    own = spec.get("resources")
    if isinstance(own, dict):
        requests, limits = amounts_of(own.get("requests")), amounts_of(own.get("limits"))
        for name, amount in requests.items():
            if is_pod_level(name):
                total[name] = amount
        for name, amount in limits.items():
            # As the API server fills it in: what containers ask for goes before the pod's own limit.
            stands = name in requests or (name in total and not name.startswith("hugepages-"))
            if is_pod_level(name) and not stands:
                total[name] = amount
    _add(total, amounts_of(spec.get("overhead")))
    return total


def is_pod_level(resource: str) -> bool:
    """True for the resources that a pod may state for all its containers together (KEP-2837)."""
    return resource in ("cpu", "memory") or resource.startswith("hugepages-")


def container_requests(container: Tree) -> dict[str, int]:
    """What one container asks for, in base units; a limit stands for a request that is not there."""
    return amounts_of(_requests(container))


def _together(spec: Tree, floor: Mapping[str, int]) -> dict[str, int]:
    total: dict[str, int] = {}
    for container in _items(spec.get("containers")):
        _add(total, {**floor, **container_requests(container)})
    inits = _items(spec.get("initContainers"))
    if not inits:
        return total
    sidecars: dict[str, int] = {}
    starting: dict[str, int] = {}
    for container in inits:
        mine = {**floor, **container_requests(container)}
        if container.get("restartPolicy") == "Always":
            _add(total, mine)
            _add(sidecars, mine)
            _raise(starting, sidecars)
        else:
            _add(mine, sidecars)
            _raise(starting, mine)
    _raise(total, starting)
    return total


def _resources(part: Tree) -> Tree:
    resources = part.get("resources")
    return resources if isinstance(resources, dict) else {}


def _requests(container: Tree) -> Tree:
    resources = _resources(container)
    requests, limits = resources.get("requests"), resources.get("limits")
    if not isinstance(limits, dict):
        return requests if isinstance(requests, dict) else {}
    return {**limits, **requests} if isinstance(requests, dict) else limits


def _items(value: Any) -> list[Tree]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, (list, tuple)) else []


def _add(total: dict[str, int], more: Mapping[str, int]) -> None:
    for name, amount in more.items():
        total[name] = total[name] + amount if name in total else amount


def _raise(total: dict[str, int], least: Mapping[str, int]) -> None:
    for name, amount in least.items():
        if name not in total or total[name] < amount:
            total[name] = amount
