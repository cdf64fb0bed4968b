"""What one kind of member asks of a node: read from a pod template as it would be sent."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from cockpit.k8s.gpu_resources import is_gpu_resource
from cockpit.k8s.host_ports import host_ports_of
from cockpit.k8s.json_values import mapping
from cockpit.k8s.node_affinity import REQUIRED, required_terms_of
from cockpit.k8s.pod_requests import pod_requests
from cockpit.k8s.selectors import selector_of
from cockpit.k8s.tolerations import tolerations_of
from cockpit.model.record import Labels
from cockpit.model.scheduling import HostPort, NodeTerm, PodTerm, Requirement, Selector, Toleration

Amounts = tuple[tuple[str, int], ...]
"""Resources in base units (cpu in millicores), by name, none of them zero."""


class Spread(msgspec.Struct, frozen=True, gc=False):
    """One hard topology spread constraint (DoNotSchedule)."""

    key: str
    max_skew: int
    selector: Selector
    min_domains: int = 1
    honors_affinity: bool = True
    honors_taints: bool = False


class Shape(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Everything by which the scheduler chooses a node for one kind of pod."""

    namespace: str = "default"
    labels: Labels = ()
    requests: Amounts = ()
    node_selector: Labels = ()
    node_terms: tuple[NodeTerm, ...] | None = None  # any of them; None where nothing is required
    tolerations: tuple[Toleration, ...] = ()
    spreads: tuple[Spread, ...] = ()
    spread_keys: tuple[str, ...] = ()  # of spreads that are known by their label alone
    near: tuple[PodTerm, ...] = ()  # required affinity
    keeps_away: tuple[PodTerm, ...] = ()  # required anti-affinity
    host_ports: tuple[HostPort, ...] = ()
    claims: tuple[str, ...] = ()
    priority: int | None = None
    priority_class: str = ""
    preempts: bool = True
    node_name: str = ""

    @property
    def gpu_resource(self) -> str:
        """Name of the GPU resource asked for, "" for none; of several the first."""
        return next((name for name, _ in self.requests if is_gpu_resource(name)), "")

    @property
    def gpus(self) -> int:
        """Devices of that resource."""
        return dict(self.requests).get(self.gpu_resource, 0)


class Part(msgspec.Struct, frozen=True, gc=False):
    """`count` members of one shape."""

    role: str
    count: int
    shape: Shape


def shape_of(
    template: Mapping[str, Any], namespace: str = "default", added_labels: Mapping[str, str] | None = None
) -> Shape:
    """The shape of a pod template (`metadata`, `spec`); what is malformed reads as not there.

    `added_labels` are those that a controller puts on the pods it makes.
    """
    spec = mapping(template.get("spec"))
    given = mapping(mapping(template.get("metadata")).get("labels"))
    labels = {**_texts(given), **(added_labels or {})}
    affinity = mapping(spec.get("affinity"))
    priority = spec.get("priority")
    return Shape(
        namespace=namespace,
        labels=tuple(sorted(labels.items())),
        requests=requests_of(spec),
        node_selector=tuple(sorted(_texts(mapping(spec.get("nodeSelector"))).items())),
        node_terms=required_terms_of(spec),
        tolerations=tolerations_of(spec.get("tolerations")),
        spreads=tuple(_spreads(spec, labels)),
        near=_pod_terms(affinity.get("podAffinity"), namespace, labels),
        keeps_away=_pod_terms(affinity.get("podAntiAffinity"), namespace, labels),
        host_ports=tuple(host_ports_of(spec)),
        claims=tuple(sorted(_claims(spec))),
        priority=priority if isinstance(priority, int) and not isinstance(priority, bool) else None,
        priority_class=_text(spec.get("priorityClassName")),
        preempts=spec.get("preemptionPolicy") != "Never",
        node_name=_text(spec.get("nodeName")),
    )


def requests_of(spec: Mapping[str, Any]) -> Amounts:
    """What the scheduler charges a pod of this spec."""
    return tuple(sorted((name, count) for name, count in pod_requests(spec).items() if count > 0))


def _spreads(spec: Mapping[str, Any], labels: Mapping[str, str]) -> Iterable[Spread]:
    for item in _items(spec.get("topologySpreadConstraints")):
        if item.get("whenUnsatisfiable", "DoNotSchedule") != "DoNotSchedule":
            continue
        selector = _with_label_keys(selector_of(item.get("labelSelector")), item, labels)
        skew, least = item.get("maxSkew"), item.get("minDomains")
        yield Spread(
            _text(item.get("topologyKey")),
            skew if isinstance(skew, int) else 1,
            selector,
            least if isinstance(least, int) else 1,
            item.get("nodeAffinityPolicy", "Honor") != "Ignore",
            item.get("nodeTaintsPolicy", "Ignore") == "Honor",
        )


def _with_label_keys(selector: Selector, one: dict[str, Any], labels: Mapping[str, str]) -> Selector:
    """matchLabelKeys and mismatchLabelKeys become requirements, as the API server writes them."""
    if selector is None:
        return None
    for field, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")):
        keys = one.get(field)
        for key in keys if isinstance(keys, list) else ():
            if isinstance(key, str) and key in labels:
                selector = (*selector, Requirement(key, operator, (labels[key],)))
    return selector


def _pod_terms(side: Any, namespace: str, labels: Mapping[str, str]) -> tuple[PodTerm, ...]:
    found = []
    for item in _items(mapping(side).get(REQUIRED)):
        names = item.get("namespaces")
        spaces = tuple(str(name) for name in names) if isinstance(names, list) else ()
        chosen = selector_of(item.get("namespaceSelector"))
        if not spaces and chosen is None:
            spaces = (namespace,)
        selector = _with_label_keys(selector_of(item.get("labelSelector")), item, labels)
        found.append(PodTerm(_text(item.get("topologyKey")), selector, spaces, chosen))
    return tuple(found)


def _claims(spec: Mapping[str, Any]) -> Iterable[str]:
    for volume in _items(spec.get("volumes")):
        name = _text(mapping(volume.get("persistentVolumeClaim")).get("claimName"))
        if name:
            yield name


def _items(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, (list, tuple)) else []


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _texts(tree: Mapping[str, Any]) -> dict[str, str]:
    return {str(key): str(value) for key, value in tree.items() if value is not None}
