"""Traits of a pod: labels, required anti-affinity, host ports, claims. One object for pods that are alike."""

from typing import Any

from cockpit.kube.decode.amounts import Named
from cockpit.kube.decode.clean import WORDS
from cockpit.kube.decode.reading import Reading
from cockpit.model.record import Labels
from cockpit.model.scheduling import NO_TRAITS, HostPort, PodTerm, Requirement, Selector, Traits

MEMBER_LABELS: frozenset[str] = frozenset(
    (
        "training.kubeflow.org/replica-index",
        "batch.kubernetes.io/job-completion-index",
        "jobset.sigs.k8s.io/job-index",
        "jobset.sigs.k8s.io/job-global-index",
        "jobset.sigs.k8s.io/job-key",
        "jobset.sigs.k8s.io/restart-attempt",
        "volcano.sh/task-index",
        "leaderworkerset.sigs.k8s.io/worker-index",
        "apps.kubernetes.io/pod-index",
        "statefulset.kubernetes.io/pod-name",
    )
)
"""Labels that differ between members of one job: left out, so that the members share their traits."""

_KEPT = 50_000

Pair = tuple[str, str]
Parts = tuple[Labels, tuple[PodTerm, ...], tuple[HostPort, ...], tuple[str, ...], Named]

_LABELS: dict[tuple[Pair, ...], Labels] = {}
_TRAITS: dict[Parts, Traits] = {}


def pod_traits(pairs: list[Pair], meta: Any, spec: Any, named: Named, reading: Reading) -> Traits:
    """The traits of one pod: `pairs` are its labels, `named` resources besides cpu, memory and one GPU's."""
    labels = _labels(pairs) if pairs else ()
    terms = _terms(spec.affinity, meta.namespace, reading) if reading.has(spec, "affinity") else ()
    ports: tuple[HostPort, ...] = ()
    for container in spec.containers:
        if container.ports:
            ports += _ports(container)
    claims = _claims(spec, reading) if spec.volumes else ()
    return _shared((labels, terms, ports, claims, named))


def relabelled(traits: Traits, pairs: list[Pair]) -> Traits:
    """The same traits of a pod with other labels."""
    labels = _labels(pairs) if pairs else ()
    return _shared((labels, traits.keeps_away, traits.host_ports, traits.claims, traits.resources))


def _shared(parts: Parts) -> Traits:
    found = _TRAITS.get(parts)
    if found is None:
        if len(_TRAITS) >= _KEPT:
            _TRAITS.clear()
        found = _TRAITS[parts] = Traits(*parts) if any(parts) else NO_TRAITS
    return found


def _labels(pairs: list[Pair]) -> Labels:
    raw = tuple([pair for pair in pairs if pair[0] not in MEMBER_LABELS])
    found = _LABELS.get(raw)
    if found is None:
        if len(_LABELS) >= _KEPT:
            _LABELS.clear()
        found = _LABELS[raw] = tuple(sorted((WORDS[key], WORDS[value]) for key, value in raw))
    return found


def _terms(affinity: Any, namespace: str, reading: Reading) -> tuple[PodTerm, ...]:
    if not reading.has(affinity, "pod_anti_affinity"):
        return ()
    found = []
    for one in affinity.pod_anti_affinity.required_during_scheduling_ignored_during_execution:
        spaces = tuple(WORDS[name] for name in one.namespaces)
        chosen = _selector(one, "namespace_selector", reading)
        if not spaces and chosen is None:
            spaces = (WORDS[namespace],)
        own = _selector(one, "label_selector", reading)
        found.append(PodTerm(WORDS[one.topology_key], own, spaces, chosen))
    return tuple(found)


def _selector(term: Any, field: str, reading: Reading) -> Selector:
    if not reading.has(term, field):
        return None
    raw = getattr(term, field)
    labels = [Requirement(WORDS[key], "In", (WORDS[raw.match_labels[key]],)) for key in raw.match_labels]
    labels.sort(key=lambda one: one.key)
    labels += [
        Requirement(WORDS[one.key], WORDS[one.operator], tuple(WORDS[value] for value in one.values))
        for one in raw.match_expressions
    ]
    return tuple(labels)


def _ports(container: Any) -> tuple[HostPort, ...]:
    return tuple(
        HostPort(one.host_port, WORDS[one.protocol] or "TCP", WORDS[one.host_ip] or "0.0.0.0")
        for one in container.ports
        if one.host_port
    )


def _claims(spec: Any, reading: Reading) -> tuple[str, ...]:
    sources = [volume.volume_source for volume in spec.volumes]
    return tuple(
        sorted(
            WORDS[source.persistent_volume_claim.claim_name]
            for source in sources
            if reading.has(source, "persistent_volume_claim")
        )
    )
