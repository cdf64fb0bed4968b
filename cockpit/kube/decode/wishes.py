"""What a pod asks of its node and its namespace. One object for pods that ask for the same."""

from typing import Any, NamedTuple

import msgspec
from google.protobuf.message import Message

from cockpit.kube.decode.reading import Reading
from cockpit.model.record import Labels
from cockpit.model.scheduling import (
    NO_WISHES,
    NodeTerm,
    PodTerm,
    PodWishes,
    Requirement,
    Selector,
    SpreadKey,
    Toleration,
)
from cockpit.sanitise import WORDS

_KEPT = 20_000
_WISHES: dict[PodWishes, PodWishes] = {NO_WISHES: NO_WISHES}


class RequiredAffinity(NamedTuple):
    """What a pod requires of its node, of pods beside it, and of pods away from it."""

    node_terms: tuple[NodeTerm, ...] | None = None
    near: tuple[PodTerm, ...] = ()
    keeps_away: tuple[PodTerm, ...] = ()


class VolumeNames(NamedTuple):
    """Names of what has to exist for the volumes of a pod, sorted; whether one is on the node's disk."""

    claims: tuple[str, ...] = ()
    config_maps: tuple[str, ...] = ()
    keeps_files: bool = False


_NO_AFFINITY, _NO_VOLUMES = RequiredAffinity(), VolumeNames()
_AFFINITIES: dict[
    tuple[bytes, str], RequiredAffinity
] = {}  # a pure function's answers, by the wire and namespace
_TOLERATIONS: dict[tuple[str, str, str, str], Toleration] = {}


def affinity_of(meta: Any, spec: Any, reading: Reading) -> RequiredAffinity:
    """The required terms of a pod's affinity."""
    if not reading.has(spec, "affinity"):
        return _NO_AFFINITY
    raw, namespace = spec.affinity, meta.namespace
    if not isinstance(raw, Message):
        return _affinity(raw, namespace, reading)
    # Thousands of pods ask for the same few places: their bytes are looked up in a tenth of the time.
    asked = raw.SerializePartialToString(), namespace
    found = _AFFINITIES.get(asked)
    if found is None:
        if len(_AFFINITIES) >= _KEPT:
            _AFFINITIES.clear()
        found = _AFFINITIES[asked] = _affinity(raw, namespace, reading)
    return found


def _affinity(raw: Any, namespace: str, reading: Reading) -> RequiredAffinity:
    has = reading.has
    return RequiredAffinity(
        _node_terms(raw.node_affinity, reading) if has(raw, "node_affinity") else None,
        _pod_terms(raw.pod_affinity, namespace, reading) if has(raw, "pod_affinity") else (),
        _pod_terms(raw.pod_anti_affinity, namespace, reading) if has(raw, "pod_anti_affinity") else (),
    )


def volumes_of(spec: Any, reading: Reading) -> VolumeNames:
    """Claims and config maps that the volumes name, but for a config map that may be missing."""
    if not spec.volumes:
        return _NO_VOLUMES
    claims, maps, keeps_files, has = [], [], False, reading.has
    for volume in spec.volumes:
        source = volume.volume_source
        if has(source, "persistent_volume_claim"):
            claims.append(WORDS[source.persistent_volume_claim.claim_name])
        elif has(source, "config_map") and not source.config_map.optional:
            maps.append(WORDS[source.config_map.local_object_reference.name])
        elif has(source, "host_path") or (has(source, "empty_dir") and source.empty_dir.medium != "Memory"):
            keeps_files = True
    return VolumeNames(tuple(sorted(claims)), tuple(sorted(filter(None, maps))), keeps_files)


def pod_wishes(spec: Any, affinity: RequiredAffinity, volumes: VolumeNames) -> PodWishes:
    """The wishes of one pod; the same object for equal ones."""
    made = PodWishes(
        node_selector=_pairs(spec.node_selector) if spec.node_selector else (),
        node_terms=affinity.node_terms,
        tolerations=tuple([_toleration(toleration) for toleration in spec.tolerations])
        if spec.tolerations
        else (),
        near=affinity.near,
        spreads=_spreads(spec) if spec.topology_spread_constraints else (),
        gates=tuple([WORDS[item.name] for item in spec.scheduling_gates]) if spec.scheduling_gates else (),
        config_maps=volumes.config_maps,
        keeps_files=volumes.keeps_files,
        device_claims=_named(spec, "resource_claim_name") if spec.resource_claims else (),
        claim_templates=_named(spec, "resource_claim_template_name") if spec.resource_claims else (),
        init_containers=_init(spec) if spec.init_containers else (),
        preempts=spec.preemption_policy != "Never",
    )
    return _shared(made)


def with_volumes(wishes: PodWishes, volumes: VolumeNames) -> PodWishes:
    """The same wishes of a pod with these volumes."""
    made = msgspec.structs.replace(wishes, config_maps=volumes.config_maps, keeps_files=volumes.keeps_files)
    return _shared(made)


def _shared(made: PodWishes) -> PodWishes:
    found = _WISHES.get(made)
    if found is None:
        if len(_WISHES) >= _KEPT:
            _WISHES.clear()
            _WISHES[NO_WISHES] = NO_WISHES
        found = _WISHES[made] = made
    return found


def _init(spec: Any) -> tuple[str, ...]:
    return tuple(
        [WORDS[container.name] for container in spec.init_containers if container.restart_policy != "Always"]
    )


def _pairs(selector: Any) -> Labels:
    return tuple(sorted((WORDS[key], WORDS[selector[key]]) for key in selector))


def _named(spec: Any, field: str) -> tuple[str, ...]:
    names = (getattr(claim, field) for claim in spec.resource_claims)
    return tuple(sorted(WORDS[name] for name in names if name))


def _toleration(raw: Any) -> Toleration:
    parts = raw.key, raw.operator, raw.value, raw.effect
    found = _TOLERATIONS.get(parts)
    if found is None:
        if len(_TOLERATIONS) >= _KEPT:
            _TOLERATIONS.clear()
        key, operator, value, effect = (WORDS[part] for part in parts)
        found = _TOLERATIONS[parts] = Toleration(key, operator or "Equal", value, effect)
    return found


def _node_terms(by_node: Any, reading: Reading) -> tuple[NodeTerm, ...] | None:
    if not reading.has(by_node, "required_during_scheduling_ignored_during_execution"):
        return None
    required = by_node.required_during_scheduling_ignored_during_execution
    return tuple(
        NodeTerm(_requirements(term.match_expressions), _requirements(term.match_fields))
        for term in required.node_selector_terms
    )


def _requirements(raw: Any) -> tuple[Requirement, ...]:
    return tuple(
        Requirement(WORDS[item.key], WORDS[item.operator], tuple(WORDS[value] for value in item.values))
        for item in raw
    )


def _pod_terms(side: Any, namespace: str, reading: Reading) -> tuple[PodTerm, ...]:
    """The required terms of one side of inter-pod affinity."""
    found = []
    for item in side.required_during_scheduling_ignored_during_execution:
        spaces = tuple(WORDS[name] for name in item.namespaces)
        chosen = _selector(item, "namespace_selector", reading)
        if not spaces and chosen is None:
            spaces = (WORDS[namespace],)
        own = _selector(item, "label_selector", reading)
        found.append(PodTerm(WORDS[item.topology_key], own, spaces, chosen))
    return tuple(found)


def _selector(term: Any, field: str, reading: Reading) -> Selector:
    if not reading.has(term, field):
        return None
    raw = getattr(term, field)
    labels = [Requirement(WORDS[key], "In", (WORDS[raw.match_labels[key]],)) for key in raw.match_labels]
    labels.sort(key=lambda one: one.key)
    return (*labels, *_requirements(raw.match_expressions))


def _spreads(spec: Any) -> tuple[SpreadKey, ...]:
    return tuple(
        SpreadKey(WORDS[item.topology_key], item.max_skew)
        for item in spec.topology_spread_constraints
        if item.when_unsatisfiable in ("", "DoNotSchedule")
    )
