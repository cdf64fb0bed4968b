"""What one kind of member asks of a node: read from a pod template as it would be sent."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from cockpit.fit.matching import NodeTerm, Toleration
from cockpit.model.devices import is_gpu_resource
from cockpit.model.quantity import millicores, whole
from cockpit.model.record import Labels
from cockpit.model.scheduling import HostPort, PodTerm, Requirement, Selector

Amounts = tuple[tuple[str, int], ...]
"""Resources in base units (cpu in millicores), by name, none of them zero."""

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


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
    spec = _tree(template.get("spec"))
    given = _tree(_tree(template.get("metadata")).get("labels"))
    labels = {**_texts(given), **(added_labels or {})}
    affinity = _tree(spec.get("affinity"))
    required = _tree(affinity.get("nodeAffinity")).get(_REQUIRED)
    priority = spec.get("priority")
    return Shape(
        namespace=namespace,
        labels=tuple(sorted(labels.items())),
        requests=requests_of(spec),
        node_selector=tuple(sorted(_texts(_tree(spec.get("nodeSelector"))).items())),
        node_terms=node_terms(required) if isinstance(required, dict) else None,
        tolerations=tuple(_toleration(one) for one in _items(spec.get("tolerations"))),
        spreads=tuple(_spreads(spec, labels)),
        near=_pod_terms(affinity.get("podAffinity"), namespace, labels),
        keeps_away=_pod_terms(affinity.get("podAntiAffinity"), namespace, labels),
        host_ports=tuple(_ports(spec)),
        claims=tuple(sorted(_claims(spec))),
        priority=priority if isinstance(priority, int) and not isinstance(priority, bool) else None,
        priority_class=_text(spec.get("priorityClassName")),
        preempts=spec.get("preemptionPolicy") != "Never",
        node_name=_text(spec.get("nodeName")),
    )


def requests_of(spec: Mapping[str, Any]) -> Amounts:
    """What the scheduler charges: containers and sidecars, or the largest init container; plus overhead.

    Cpu and memory of the pod itself override. Source: component-helpers resource/helpers.go.
    """
    running: dict[str, int] = {}
    for container in _items(spec.get("containers")):
        _add(running, _asked(container))
    sidecars: dict[str, int] = {}
    peak: dict[str, int] = {}
    for container in _items(spec.get("initContainers")):
        now = dict(sidecars)
        _add(now, _asked(container))
        peak = {name: max(peak.get(name, 0), now.get(name, 0)) for name in {**peak, **now}}
        if container.get("restartPolicy") == "Always":
            sidecars = now
    _add(running, sidecars)
    total = {name: max(running.get(name, 0), peak.get(name, 0)) for name in {**running, **peak}}
    own = _asked(spec)
    total.update({name: own[name] for name in own if name in ("cpu", "memory") or "hugepages-" in name})
    _add(total, amounts(spec.get("overhead")))
    return tuple(sorted((name, count) for name, count in total.items() if count > 0))


def amounts(stated: Any) -> dict[str, int]:
    """A resource list in base units; what is no quantity is left out."""
    found: dict[str, int] = {}
    for name, value in _tree(stated).items():
        try:
            found[str(name)] = millicores(str(value)) if name == "cpu" else whole(str(value))
        except (ValueError, OverflowError):
            continue
    return found


def _asked(container: Mapping[str, Any]) -> dict[str, int]:
    """A limit stands for a request that is not there."""
    resources = _tree(container.get("resources"))
    return {**amounts(resources.get("limits")), **amounts(resources.get("requests"))}


def _add(sums: dict[str, int], more: Mapping[str, int]) -> None:
    for name, count in more.items():
        sums[name] = sums.get(name, 0) + count


def selector_of(raw: Any) -> Selector:
    """A metav1 LabelSelector; None where there is none."""
    if not isinstance(raw, dict):
        return None
    labels = _texts(_tree(raw.get("matchLabels")))
    found = [Requirement(key, "In", (value,)) for key, value in sorted(labels.items())]
    return (*found, *(_requirement(one) for one in _items(raw.get("matchExpressions"))))


def node_terms(raw: Any) -> tuple[NodeTerm, ...]:
    """The terms of a NodeSelector."""
    return tuple(
        NodeTerm(
            tuple(_requirement(each) for each in _items(one.get("matchExpressions"))),
            tuple(_requirement(each) for each in _items(one.get("matchFields"))),
        )
        for one in _items(_tree(raw).get("nodeSelectorTerms"))
    )


def _requirement(one: dict[str, Any]) -> Requirement:
    values = one.get("values")
    texts = tuple(str(value) for value in values) if isinstance(values, (list, tuple)) else ()
    return Requirement(_text(one.get("key")), _text(one.get("operator")), texts)


def _toleration(one: dict[str, Any]) -> Toleration:
    operator = _text(one.get("operator")) or "Equal"
    return Toleration(_text(one.get("key")), operator, _text(one.get("value")), _text(one.get("effect")))


def _spreads(spec: Mapping[str, Any], labels: Mapping[str, str]) -> Iterable[Spread]:
    for one in _items(spec.get("topologySpreadConstraints")):
        if one.get("whenUnsatisfiable", "DoNotSchedule") != "DoNotSchedule":
            continue
        selector = _with_label_keys(selector_of(one.get("labelSelector")), one, labels)
        skew, least = one.get("maxSkew"), one.get("minDomains")
        yield Spread(
            _text(one.get("topologyKey")),
            skew if isinstance(skew, int) else 1,
            selector,
            least if isinstance(least, int) else 1,
            one.get("nodeAffinityPolicy", "Honor") != "Ignore",
            one.get("nodeTaintsPolicy", "Ignore") == "Honor",
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
    for one in _items(_tree(side).get(_REQUIRED)):
        names = one.get("namespaces")
        spaces = tuple(str(name) for name in names) if isinstance(names, list) else ()
        chosen = selector_of(one.get("namespaceSelector"))
        if not spaces and chosen is None:
            spaces = (namespace,)
        selector = _with_label_keys(selector_of(one.get("labelSelector")), one, labels)
        found.append(PodTerm(_text(one.get("topologyKey")), selector, spaces, chosen))
    return tuple(found)


def _ports(spec: Mapping[str, Any]) -> Iterable[HostPort]:
    on_host = spec.get("hostNetwork") is True
    sidecars = [one for one in _items(spec.get("initContainers")) if one.get("restartPolicy") == "Always"]
    for container in (*_items(spec.get("containers")), *sidecars):
        for one in _items(container.get("ports")):
            number = one.get("hostPort") or (one.get("containerPort") if on_host else 0)
            if isinstance(number, int) and number > 0:
                yield HostPort(
                    number, _text(one.get("protocol")) or "TCP", _text(one.get("hostIP")) or "0.0.0.0"
                )


def _claims(spec: Mapping[str, Any]) -> Iterable[str]:
    for volume in _items(spec.get("volumes")):
        name = _text(_tree(volume.get("persistentVolumeClaim")).get("claimName"))
        if name:
            yield name


def _tree(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _items(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, (list, tuple)) else []


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _texts(tree: Mapping[str, Any]) -> dict[str, str]:
    return {str(key): str(value) for key, value in tree.items() if value is not None}
