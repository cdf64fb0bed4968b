"""The operations that take one line out of a pod spec: a selector, a taint's toleration, a port, a spread."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from cockpit.k8s.json_patch import Operation, pointed
from cockpit.triage.changes.job_edits import PodSpecPlace

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"


def _remove(path: str) -> Operation:
    return {"op": "remove", "path": path}


def _add(path: str, value: Any) -> Operation:
    return {"op": "add", "path": path, "value": value}


def _selector(place: PodSpecPlace, detail: str) -> Iterator[Operation]:
    key, _, value = detail.partition("=")
    if (place.spec.get("nodeSelector") or {}).get(key) == value:
        yield _remove(f"{place.pointer}/nodeSelector{pointed(key)}")


def _affinity(place: PodSpecPlace, detail: str) -> Iterator[Operation]:
    if _REQUIRED in ((place.spec.get("affinity") or {}).get("nodeAffinity") or {}):
        yield _remove(f"{place.pointer}/affinity/nodeAffinity/{_REQUIRED}")


def toleration(place: PodSpecPlace, detail: str) -> Iterator[Operation]:
    """Of every taint with that key."""
    wanted = {"key": detail.partition("=")[0], "operator": "Exists"}
    if place.spec.get("tolerations"):
        yield _add(f"{place.pointer}/tolerations/-", wanted)
    else:
        yield _add(f"{place.pointer}/tolerations", [wanted])


def _node_name(place: PodSpecPlace, detail: str) -> Iterator[Operation]:
    if place.spec.get("nodeName"):
        yield _remove(f"{place.pointer}/nodeName")


def _port(place: PodSpecPlace, detail: str) -> Iterator[Operation]:
    for pointer, container in place.containers():
        for at, one in enumerate(container.get("ports") or ()):
            if str(one.get("hostPort", "")) == detail:
                yield _remove(f"{pointer}/ports/{at}/hostPort")


def _terms(place: PodSpecPlace, kind: str, detail: str) -> Iterator[Operation]:
    """From the last on, so that the places of those before stay."""
    held = ((place.spec.get("affinity") or {}).get(kind) or {}).get(_REQUIRED) or ()
    for at, one in reversed(list(enumerate(held))):
        if not detail or one.get("topologyKey") == detail:
            yield _remove(f"{place.pointer}/affinity/{kind}/{_REQUIRED}/{at}")


def _apart(place: PodSpecPlace, detail: str) -> Iterator[Operation]:
    yield from _terms(place, "podAntiAffinity", detail)


def _near(place: PodSpecPlace, detail: str) -> Iterator[Operation]:
    yield from _terms(place, "podAffinity", "")


def _spread(place: PodSpecPlace, detail: str) -> Iterator[Operation]:
    for at, one in enumerate(place.spec.get("topologySpreadConstraints") or ()):
        if one.get("topologyKey") == detail and one.get("whenUnsatisfiable") == "DoNotSchedule":
            path = f"{place.pointer}/topologySpreadConstraints/{at}/whenUnsatisfiable"
            yield {"op": "replace", "path": path, "value": "ScheduleAnyway"}


DROPS: Final[Mapping[str, Callable[[PodSpecPlace, str], Iterator[Operation]]]] = {
    "drop_selector": _selector,
    "drop_affinity": _affinity,
    "tolerate": toleration,
    "unpin": _node_name,
    "drop_port": _port,
    "drop_apart": _apart,
    "drop_near": _near,
    "drop_spread": _spread,
}
"""By the kind of a remedy of the fit, whose `detail` says which line is meant."""


def other_selector(place: PodSpecPlace, key: str, value: str) -> Iterator[Operation]:
    """The same selector with another value."""
    if key in (place.spec.get("nodeSelector") or {}):
        yield {"op": "replace", "path": f"{place.pointer}/nodeSelector{pointed(key)}", "value": value}


def other_request(place: PodSpecPlace, resource: str, amount: str) -> Iterator[Operation]:
    """The container that asks for most of a resource asks for so much of it."""
    for pointer, container in place.containers():
        held = container.get("resources") or {}
        for field in ("requests", "limits"):
            if resource in (held.get(field) or {}):
                path = f"{pointer}/resources/{field}{pointed(resource)}"
                yield {"op": "replace", "path": path, "value": amount}


def other_resource(place: PodSpecPlace, before: str, after: str, amount: str) -> Iterator[Operation]:
    """Another resource in the place of one that is asked for."""
    for pointer, container in place.containers():
        held = container.get("resources") or {}
        for field in ("requests", "limits"):
            if before in (held.get(field) or {}):
                yield _remove(f"{pointer}/resources/{field}{pointed(before)}")
                yield _add(f"{pointer}/resources/{field}{pointed(after)}", amount)


def field_removed(place: PodSpecPlace, field: str) -> Iterator[Operation]:
    """Without a field of the pod spec."""
    if field in place.spec:
        yield _remove(f"{place.pointer}{pointed(field)}")
