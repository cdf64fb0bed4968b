"""What the cluster offers for the parameters of a template, and what cannot be told.

Lists that the tables hold come from the store; the others are asked for when a form or a command needs them.
Secrets are never asked for: the name of a pull secret is typed.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

from cockpit.actions.address import Lookup
from cockpit.errors import BadInput
from cockpit.fit.surroundings import claim_of
from cockpit.gangs.manifests import mapping
from cockpit.jobs import values
from cockpit.jobs.template import Template
from cockpit.model.batch import Phase
from cockpit.model.record import Kind
from cockpit.store.store import Store


class Offer(NamedTuple):
    """Values to choose from. `told` says what else a person has to know: why the list cannot be seen, or what
    was left out of it. `notes` holds what is known beside a value."""

    values: tuple[str, ...] = ()
    told: str = ""
    is_known: bool = True  # False: the list could not be read, so nothing can be said of a value
    notes: Mapping[str, str] = {}


class _Asked(NamedTuple):
    """A list that is asked for: apiVersion and kind, what a person calls its members."""

    api_version: str
    kind: str
    word: str


ASKED: Final[Mapping[str, tuple[_Asked, ...]]] = {
    "claims": (_Asked("v1", "PersistentVolumeClaim", "claim"),),
    "priority-classes": (_Asked("kueue.x-k8s.io/v1beta2", "WorkloadPriorityClass", "WorkloadPriorityClass"),),
    "pod-priority-classes": (_Asked("scheduling.k8s.io/v1", "PriorityClass", "PriorityClass"),),
    "volcano-queues": (_Asked("scheduling.volcano.sh/v1beta1", "Queue", "Volcano queue"),),
    "kai-queues": (_Asked("scheduling.run.ai/v2", "Queue", "KAI queue"),),
    "runtimes": (
        _Asked("trainer.kubeflow.org/v1alpha1", "ClusterTrainingRuntime", "training runtime"),
        _Asked("trainer.kubeflow.org/v1alpha1", "TrainingRuntime", "training runtime"),
    ),
    "topology-levels": (_Asked("kueue.x-k8s.io/v1beta2", "Topology", "topology"),),
}
NEVER_ASKED: Final = ("secrets",)
_NAMESPACED: Final = ("PersistentVolumeClaim", "TrainingRuntime")
_KINDS: Final = {
    "namespaces": (Kind.NAMESPACE, "namespaces"),
    "localqueues": (Kind.LOCAL_QUEUE, "queues"),
    "gpu-models": (Kind.NODE, "nodes"),
    "nodes": (Kind.NODE, "nodes"),
    "pools": (Kind.NODE, "nodes"),
    "gpu-resources": (Kind.NODE, "nodes"),
}


def known_offer(source: str, store: Store, namespace: str = "") -> Offer:
    """What the store tells for a source; queues are those of the namespace, of all where it is ""."""
    if source not in _KINDS:
        return Offer(is_known=False)
    kind, word = _KINDS[source]
    status = store.status(kind)
    found = tuple(sorted(set(_FROM_STORE[source](store, namespace)) - {""}))
    if found:
        return Offer(found)
    if status is not None and status.phase is Phase.DENIED:
        return Offer((), f"denied: you may not list {word}; type the name", is_known=False)
    is_whole = status is not None and (status.is_whole or status.phase is Phase.ABSENT)
    return Offer((), "", is_known=is_whole)


_FROM_STORE: Final[Mapping[str, Callable[[Store, str], Iterable[str]]]] = {
    "namespaces": lambda store, _: (one.name for one in store.records(Kind.NAMESPACE).values()),
    "localqueues": lambda store, where: (
        one.name for one in store.records(Kind.LOCAL_QUEUE).values() if not where or one.namespace == where
    ),
    "gpu-models": lambda store, _: (one.gpu_model for one in store.records(Kind.NODE).values()),
    "nodes": lambda store, _: (one.name for one in store.records(Kind.NODE).values() if one.has_gpus),
    "pools": lambda store, _: (
        f"{one.pool_label}={one.pool}"
        for one in store.records(Kind.NODE).values()
        if one.pool_label and one.pool
    ),
    "gpu-resources": lambda store, _: (one.gpu_resource for one in store.records(Kind.NODE).values()),
}


async def ask_offers(
    session: Any, lookup: Lookup, sources: Iterable[str], namespace: str
) -> dict[str, Offer]:
    """What the server tells for each source that the store does not hold. Raises NoConnection."""
    found = {}
    for source in sources:
        if source in ASKED:
            parts = [await _ask(session, lookup, one, namespace) for one in ASKED[source]]
            found[source] = _together(parts)
    return found


async def _ask(session: Any, lookup: Lookup, asked: _Asked, namespace: str) -> Offer:
    served = lookup(asked.api_version, asked.kind)
    if served is None:
        return Offer((), f"this cluster serves no {asked.kind}")
    try:
        path = served.path(namespace if asked.kind in _NAMESPACED else "")
    except BadInput:
        return Offer(is_known=False)  # a namespace that is none is told beside its own field
    answer = await session.request("GET", path)
    if answer.status in (401, 403):
        return Offer((), f"denied: {answer.message()}; type the name", is_known=False)
    if answer.status >= 300:
        return Offer((), f"cannot be read: {answer.message()}; type the name", is_known=False)
    tree = answer.json()
    items = tree.get("items") if isinstance(tree, dict) else None
    trees = [one for one in items or () if isinstance(one, dict) and isinstance(one.get("metadata"), dict)]
    if asked.kind == "PersistentVolumeClaim":
        return _claims(trees, namespace)
    if asked.kind == "Topology":
        return _levels(trees)
    named = {str(one["metadata"].get("name") or ""): _value(one) for one in trees}
    order = sorted(named, key=lambda name: (-named[name], name))
    notes = {name: f"value {named[name]}" for name in order if named[name]}
    nothing = "" if order else f"there is no {asked.word}"
    return Offer(tuple(order), nothing, notes=notes)


def _value(tree: Mapping[str, Any]) -> int:
    value = tree.get("value")
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _claims(trees: list[dict[str, Any]], namespace: str) -> Offer:
    """Bound claims; those that are not yet are told by name, not offered."""
    claims = sorted((claim_of(one) for one in trees), key=lambda one: one.name)
    bound = [one for one in claims if one.is_bound and not one.is_lost and not one.is_leaving]
    others = [one.name for one in claims if one not in bound]
    told = f"not bound, so not offered: {', '.join(others)}" if others else ""
    if not claims:
        told = f"namespace {namespace} has no claim"
    notes = {one.name: ", ".join(one.modes) for one in bound}
    return Offer(tuple(one.name for one in bound), told, notes=notes)


def _levels(trees: list[dict[str, Any]]) -> Offer:
    """Labels of the levels of every topology, the widest first."""
    notes: dict[str, str] = {}
    for one in trees:
        levels = mapping(one.get("spec")).get("levels")
        for level in levels if isinstance(levels, list) else ():
            label = str(level.get("nodeLabel") or "") if isinstance(level, dict) else ""
            if label:
                notes.setdefault(label, f"topology {one['metadata'].get('name')}")
    return Offer(tuple(notes), "" if notes else "Kueue has no topology here", notes=notes)


def _together(parts: list[Offer]) -> Offer:
    found = tuple(dict.fromkeys(name for one in parts for name in one.values))
    notes = {name: note for one in parts for name, note in one.notes.items()}
    is_known = all(one.is_known for one in parts)
    told = next((one.told for one in parts if one.told and not one.is_known), "")
    if not told and not found:
        told = next((one.told for one in parts if one.told), "")
    if not told and len(parts) == 1:
        told = parts[0].told
    return Offer(found, told, is_known, notes)


def doubts(template: Template, given: Mapping[str, str], offers: Mapping[str, Offer]) -> tuple[str, ...]:
    """A sentence for each value that the cluster does not offer, and for each that could not be looked up."""
    found = []
    for one in template.parameters:
        offer = offers.get(one.choices_from)
        text = given.get(one.name, "").strip()
        if offer is None or not text or text == one.default or one.choices_from == "namespaces":
            continue
        for name in _names(one.type, one.name, text):
            if name in offer.values:
                continue
            if not offer.is_known:
                if offer.told:
                    found.append(f"{one.name}: whether {name} is there is not known ({offer.told})")
            else:
                there = f"; there are {', '.join(offer.values[:6])}" if offer.values else ""
                told = f" ({offer.told})" if offer.told else ""
                found.append(f"{one.name}: {name} is not offered by the cluster{there}{told}")
    return tuple(found)


def _names(type_: str, name: str, text: str) -> tuple[str, ...]:
    if type_ != "claims":
        return (text,) if type_ != "labels" else ()
    try:
        return tuple(one.source for one in values.claims(name, text))
    except BadInput:
        return ()  # told beside its own field


async def ask_topologies(session: Any, lookup: Lookup) -> dict[str, str] | None:
    """The Topology of each ResourceFlavor, "" for one without; None where nobody may know. {} without Kueue.

    Raises NoConnection.
    """
    served = lookup("kueue.x-k8s.io/v1beta2", "ResourceFlavor")
    if served is None:
        return {}
    answer = await session.request("GET", served.path())
    tree = answer.json() if answer.status < 300 else None
    items = tree.get("items") if isinstance(tree, dict) else None
    if not isinstance(items, list):
        return None
    trees = [one for one in items if isinstance(one, dict) and isinstance(one.get("metadata"), dict)]
    return {
        str(one["metadata"].get("name") or ""): str(mapping(one.get("spec")).get("topologyName") or "")
        for one in trees
    }
