"""What a pod asks for as a whole, as the scheduler, quotas and kubelets count it.

Source: component-helpers resource/helpers.go, pkg/apis/core/v1/defaults.go (v0.36).
"""

from collections.abc import Callable, Mapping
from typing import Any, Protocol, Self, TypeVar

from cockpit.k8s.quantity import amounts_of

Tree = Mapping[str, Any]


class Amount(Protocol):
    """What can be added up and compared: whole base units, or quantities."""

    def __add__(self, other: Self, /) -> Self: ...
    def __lt__(self, other: Self, /) -> bool: ...


A = TypeVar("A", bound=Amount)
Read = Callable[[Any], dict[str, A]]
"""Reads a resource list of the API."""


def pod_requests(spec: Tree, floor: Mapping[str, int] | None = None) -> dict[str, int]:
    """Requests of a pod spec by resource, in base units (cpu in millicores).

    Containers and sidecars add up; an init container counts with the sidecars that were started before it,
    where that is more; cpu, memory and huge pages of the pod itself override; overhead comes on top. A limit
    stands for a request that is not there. `floor` is what a container without a statement counts as.
    """
    return requests_by(spec, amounts_of, floor=floor)


def requests_by(
    spec: Tree, read: Read[A], *, floor: Mapping[str, A] | None = None, with_overhead: bool = True
) -> dict[str, A]:
    """`pod_requests` in amounts of whatever `read` makes of a resource list."""

    def asked(container: Tree) -> dict[str, A]:
        stated = _requests(container)
        return {**floor, **read(stated)} if floor else read(stated)

    total = _together(spec, asked)
    own = spec.get("resources")
    if isinstance(own, dict):
        requests, limits = read(own.get("requests")), read(own.get("limits"))
        for name, amount in requests.items():
            if is_pod_level(name):
                total[name] = amount
        for name, amount in limits.items():
            # As the API server fills it in: what containers ask for goes before the pod's own limit.
            stands = name in requests or (name in total and not name.startswith("hugepages-"))
            if is_pod_level(name) and not stands:
                total[name] = amount
    if with_overhead:
        _add(total, read(spec.get("overhead")))
    return total


def limits_by(spec: Tree, read: Read[A], *, with_overhead: bool = True) -> dict[str, A]:
    """Limits of a pod spec by resource; overhead comes on top of a limit that is there."""
    total = _together(spec, lambda container: read(_resources(container).get("limits")))
    for name, amount in read(_resources(spec).get("limits")).items():
        if is_pod_level(name):
            total[name] = amount
    if with_overhead:
        for name, amount in read(spec.get("overhead")).items():
            if total.get(name):
                total[name] = total[name] + amount
    return total


def is_pod_level(resource: str) -> bool:
    """True for the resources that a pod may state for all its containers together (KEP-2837)."""
    return resource in ("cpu", "memory") or resource.startswith("hugepages-")


def container_requests(container: Tree) -> dict[str, int]:
    """What one container asks for, in base units; a limit stands for a request that is not there."""
    return amounts_of(_requests(container))


def _together(spec: Tree, asked: Callable[[Tree], dict[str, A]]) -> dict[str, A]:
    total: dict[str, A] = {}
    for container in _items(spec.get("containers")):
        _add(total, asked(container))
    inits = _items(spec.get("initContainers"))
    if not inits:
        return total
    sidecars: dict[str, A] = {}
    starting: dict[str, A] = {}
    for container in inits:
        mine = asked(container)
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


def _add(total: dict[str, A], more: Mapping[str, A]) -> None:
    for name, amount in more.items():
        total[name] = total[name] + amount if name in total else amount


def _raise(total: dict[str, A], least: Mapping[str, A]) -> None:
    for name, amount in least.items():
        if name not in total or total[name] < amount:
            total[name] = amount
