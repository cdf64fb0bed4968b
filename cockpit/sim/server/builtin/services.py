"""What a service must say (pkg/apis/core/validation/validation.go: ValidateService, validateServicePort)."""

from collections.abc import Iterator

from cockpit.sim.port import Tree
from cockpit.sim.server.refusals import Cause, banned, duplicate, required, unsupported, wrong

_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_PROTOCOLS = ("SCTP", "TCP", "UDP")
_AFFINITIES = ("ClientIP", "None")
_STICKY = {"clientIP": {"timeoutSeconds": 10800}}


def with_affinity(spec: Tree) -> Tree:
    """A service that keeps its clients says for how long; another says nothing of it."""
    if spec.get("sessionAffinity") == "ClientIP":
        return {"sessionAffinityConfig": _STICKY, **spec}
    return {key: value for key, value in spec.items() if key != "sessionAffinityConfig"}


def check(service: Tree, old: Tree | None) -> Iterator[Cause]:
    """What is wrong with a service, or with a change of one."""
    spec = service.get("spec") or {}
    ports = spec.get("ports") or []
    kind = spec.get("type")
    if not ports and spec.get("clusterIP") != "None" and kind != "ExternalName":
        yield required("spec.ports")
    if kind == "ExternalName" and spec.get("clusterIP"):
        yield banned("spec.clusterIPs", "may not be set for ExternalName services")
    yield from _port_faults(ports)
    if spec.get("sessionAffinity") not in _AFFINITIES:
        yield unsupported("spec.sessionAffinity", spec.get("sessionAffinity"), _AFFINITIES)
    if kind not in _TYPES:
        yield unsupported("spec.type", kind, _TYPES)
    if kind == "ExternalName" and not spec.get("externalName"):
        yield required("spec.externalName")
    held = ((old or {}).get("spec") or {}).get("clusterIP")
    if held and kind != "ExternalName" and spec.get("clusterIP") != held:
        shown = [spec["clusterIP"]] if spec.get("clusterIP") else None
        yield wrong("spec.clusterIPs[0]", shown, "may not change once set")


def _port_faults(ports: list[Tree]) -> Iterator[Cause]:
    names: set[str] = set()
    for index, port in enumerate(ports):
        field = f"spec.ports[{index}]"
        name = port.get("name", "")
        if not name and len(ports) > 1:
            yield required(f"{field}.name")
        elif name in names:
            yield duplicate(f"{field}.name", name)
        names |= {name} if name else set()
        for key in ("port", "targetPort"):
            number = port.get(key)
            if isinstance(number, int) and not 1 <= number <= 65535:
                yield wrong(f"{field}.{key}", number, "must be between 1 and 65535, inclusive")
        if port.get("protocol") not in _PROTOCOLS:
            yield unsupported(f"{field}.protocol", port.get("protocol"), _PROTOCOLS)


def check_status(service: Tree, old: Tree | None) -> Iterator[Cause]:
    """Only a load balancer has addresses outside."""
    spec, status = service.get("spec") or {}, service.get("status") or {}
    ingress = (status.get("loadBalancer") or {}).get("ingress")
    if ingress and spec.get("type") != "LoadBalancer":
        yield banned("status.loadBalancer.ingress", "may only be used when `spec.type` is 'LoadBalancer'")
