"""Traits of a pod: labels, required anti-affinity, host ports, claims. One object for pods that are alike."""

from typing import Any

from cockpit.kube.decode.amounts import Named
from cockpit.kube.decode.reading import Reading
from cockpit.kube.decode.wishes import VolumeNames, affinity_of, pod_wishes, volumes_of, with_volumes
from cockpit.model.record import Labels
from cockpit.model.scheduling import NO_TRAITS, NO_WISHES, HostPort, PodTerm, PodWishes, Traits
from cockpit.sanitise import WORDS

MEMBER_LABELS: frozenset[str] = frozenset(
    (
        "training.kubeflow.org/replica-index",
        "batch.kubernetes.io/job-completion-index",
        "jobset.sigs.k8s.io/job-index",
        "jobset.sigs.k8s.io/replicatedjob-replicas",
        "jobset.sigs.k8s.io/job-global-index",
        "jobset.sigs.k8s.io/job-key",
        "jobset.sigs.k8s.io/restart-attempt",
        "volcano.sh/task-index",
        "leaderworkerset.sigs.k8s.io/group-index",
        "leaderworkerset.sigs.k8s.io/group-key",
        "leaderworkerset.sigs.k8s.io/worker-index",
        "kueue.x-k8s.io/pod-group-pod-index",
        "spark-exec-id",
        "apps.kubernetes.io/pod-index",
        "statefulset.kubernetes.io/pod-name",
    )
)
"""Labels that differ between members of one job: left out, so that the members share their traits."""

_KEPT = 50_000

Pair = tuple[str, str]
Parts = tuple[
    Labels, tuple[PodTerm, ...], tuple[HostPort, ...], tuple[str, ...], Named, tuple[str, ...], PodWishes
]

_LABELS: dict[tuple[Pair, ...], Labels] = {}
_TRAITS: dict[tuple[Any, ...], Traits] = {}  # by `Parts` with the wishes' id, which its traits keep alive


def pod_traits(pairs: list[Pair], meta: Any, spec: Any, named: Named, reading: Reading) -> Traits:
    """The traits of one pod: `pairs` are its labels, `named` resources but cpu, memory and one GPU's."""
    labels = _labels(pairs) if pairs else ()
    affinity, volumes = affinity_of(meta, spec, reading), volumes_of(spec, reading)
    ports: tuple[HostPort, ...] = ()
    for container in spec.containers:
        if container.ports:
            ports += _ports(container)
    devices = tuple([WORDS[claim.name] for claim in spec.resource_claims]) if spec.resource_claims else ()
    wishes = pod_wishes(spec, affinity, volumes)
    return _shared((labels, affinity.keeps_away, ports, volumes.claims, named, devices, wishes))


def relabelled(traits: Traits, pairs: list[Pair]) -> Traits:
    """The same traits of a pod with other labels."""
    labels = _labels(pairs) if pairs else ()
    same = traits.keeps_away, traits.host_ports, traits.claims, traits.resources, traits.device_claims
    return _shared((labels, *same, traits.wishes))


def remounted(traits: Traits, volumes: VolumeNames) -> Traits:
    """The same traits of a pod with other volumes."""
    others = traits.labels, traits.keeps_away, traits.host_ports, volumes.claims
    wishes = with_volumes(traits.wishes, volumes)
    return _shared((*others, traits.resources, traits.device_claims, wishes))


def _shared(parts: Parts) -> Traits:
    wishes = parts[-1]
    asked = (*parts[:-1], id(wishes))  # wishes are one object where they are equal, and long to hash
    found = _TRAITS.get(asked)
    if found is None:
        if len(_TRAITS) >= _KEPT:
            _TRAITS.clear()
        is_none = wishes is NO_WISHES and not any(parts[:-1])
        found = _TRAITS[asked] = NO_TRAITS if is_none else Traits(*parts)
    return found


def _labels(pairs: list[Pair]) -> Labels:
    raw = tuple([pair for pair in pairs if pair[0] not in MEMBER_LABELS])
    found = _LABELS.get(raw)
    if found is None:
        if len(_LABELS) >= _KEPT:
            _LABELS.clear()
        found = _LABELS[raw] = tuple(sorted((WORDS[key], WORDS[value]) for key, value in raw))
    return found


def _ports(container: Any) -> tuple[HostPort, ...]:
    return tuple(
        HostPort(port.host_port, WORDS[port.protocol] or "TCP", WORDS[port.host_ip] or "0.0.0.0")
        for port in container.ports
        if port.host_port
    )
