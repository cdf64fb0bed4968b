"""What the cluster offers for the parameters of a template, and what cannot be told.

Lists that the tables hold come from the store; the others are asked for when a form or a command needs them.
Secrets are never asked for: the name of a pull secret is typed.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

from cockpit.actions.address import Lookup
from cockpit.actions.refusals import withheld
from cockpit.errors import BadInput
from cockpit.fit.scheduling_context import claim_of
from cockpit.gangs import registry
from cockpit.gangs.engine import ClusterList, Engine
from cockpit.jobs import values
from cockpit.jobs.template import Template
from cockpit.k8s.json_values import mapping
from cockpit.model.batch import Phase
from cockpit.model.record import Kind
from cockpit.model.right import cannot
from cockpit.model.session import Reader
from cockpit.model.store_reader import StoreReader
from cockpit.nearest import nearest_words


class Offer(NamedTuple):
    """Values to choose from. `told` says what else a person has to know: why the list cannot be seen, or what
    was left out of it. `notes` holds what is known beside a value."""

    values: tuple[str, ...] = ()
    told: str = ""
    is_known: bool = True  # False: the list could not be read, so nothing can be said of a value
    notes: Mapping[str, str] = {}
    is_denied: bool = False  # not known for want of a right


_ASKED: Final[Mapping[str, tuple[ClusterList, ...]]] = {
    "claims": (ClusterList(("v1", "PersistentVolumeClaim"), "claim", is_namespaced=True),),
    "pod-priority-classes": (ClusterList(("scheduling.k8s.io/v1", "PriorityClass"), "PriorityClass"),),
    "runtimes": (
        ClusterList(("trainer.kubeflow.org/v1alpha1", "ClusterTrainingRuntime"), "training runtime"),
        ClusterList(
            ("trainer.kubeflow.org/v1alpha1", "TrainingRuntime"), "training runtime", is_namespaced=True
        ),
    ),
}
_KINDS: Final = {
    "namespaces": (Kind.NAMESPACE, "namespaces"),
    "gpu-models": (Kind.NODE, "nodes"),
    "nodes": (Kind.NODE, "nodes"),
    "pools": (Kind.NODE, "nodes"),
    "gpu-resources": (Kind.NODE, "nodes"),
}


def asked_lists() -> dict[str, tuple[ClusterList, ...]]:
    """What the server is asked for, by the name of the source: lists that the tables do not hold."""
    return {**_ASKED, **{name: lists for one in registry.engines() for name, lists in one.form_lists.items()}}


def queue_sources() -> tuple[str, ...]:
    """Names of the sources of queues, of all engines."""
    return tuple(one.queues.source for one in registry.engines() if one.queues.source)


def queues_of(engine: Engine, store: StoreReader, namespace: str = "") -> tuple[str, ...]:
    """Names of an engine's queues that jobs of the namespace, of any where it is "", are submitted to."""
    table = engine.queues.local
    queues = store.records(table).values() if table else ()
    return tuple(sorted({one.name for one in queues if not namespace or one.namespace == namespace}))


def known_offer(source: str, store: StoreReader, namespace: str = "") -> Offer:
    """What the store tells for a source; queues are those of the namespace, of all where it is ""."""
    tables = {one.queues.source: one for one in registry.engines() if one.queues.local}
    if source in tables:
        found, word = queues_of(tables[source], store, namespace), "queues"
        kind = tables[source].queues.local
    elif source in _KINDS:
        kind, word = _KINDS[source]
        found = tuple(sorted(set(_FROM_STORE[source](store)) - {""}))
    else:
        return Offer(is_known=False)
    status = store.status(kind)
    if found:
        return Offer(found)
    if status is not None and status.phase is Phase.DENIED:
        told = f"denied: {cannot(f'list {word}')}; type the name"
        return Offer((), told, is_known=False, is_denied=True)
    is_whole = status is not None and (status.is_whole or status.phase is Phase.ABSENT)
    return Offer((), "", is_known=is_whole)


_FROM_STORE: Final[Mapping[str, Callable[[StoreReader], Iterable[str]]]] = {
    "namespaces": lambda store: (one.name for one in store.records(Kind.NAMESPACE).values()),
    "gpu-models": lambda store: (one.gpu_model for one in store.records(Kind.NODE).values()),
    "nodes": lambda store: (one.name for one in store.records(Kind.NODE).values() if one.has_gpus),
    "pools": lambda store: (
        f"{one.pool_label}={one.pool}"
        for one in store.records(Kind.NODE).values()
        if one.pool_label and one.pool
    ),
    "gpu-resources": lambda store: (one.gpu_resource for one in store.records(Kind.NODE).values()),
}


async def ask_offers(
    session: Reader, lookup: Lookup, sources: Iterable[str], namespace: str
) -> dict[str, Offer]:
    """What the server tells for each source that the store does not hold. Raises NoConnection."""
    found = {}
    asked = asked_lists()
    for source in sources:
        if source in asked:
            parts = [await _ask(session, lookup, one, namespace) for one in asked[source]]
            found[source] = _together(parts)
    return found


async def _ask(session: Reader, lookup: Lookup, asked: ClusterList, namespace: str) -> Offer:
    served = lookup(*asked.kind)
    if served is None:
        return Offer((), f"this cluster does not serve {asked.kind[1]}")
    try:
        path = served.path(namespace if asked.is_namespaced else "")
    except BadInput:
        return Offer(is_known=False)  # a namespace that is none is told beside its own field
    answer = await session.request("GET", path)
    if trouble := withheld(answer.status, answer.message()):
        return Offer((), f"{trouble}; type the name", is_known=False, is_denied=answer.status == 403)
    if answer.status >= 300:
        return Offer((), f"cannot be read: {answer.message()}; type the name", is_known=False)
    tree = answer.json()
    items = tree.get("items") if isinstance(tree, dict) else None
    trees = [one for one in items or () if isinstance(one, dict) and isinstance(one.get("metadata"), dict)]
    if asked.kind[1] == "PersistentVolumeClaim":
        return _claims(trees, namespace)
    if asked.kind[1] == "Topology":
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
    told = f"not bound, not offered: {', '.join(others)}" if others else ""
    if not claims:
        told = f"no claims in namespace {namespace}"
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
    return Offer(tuple(notes), "" if notes else "no topologies in this cluster", notes=notes)


def _together(parts: list[Offer]) -> Offer:
    found = tuple(dict.fromkeys(name for one in parts for name in one.values))
    notes = {name: note for one in parts for name, note in one.notes.items()}
    is_known = all(one.is_known for one in parts)
    telling = [one for one in parts if one.told]
    unknown = [one for one in telling if not one.is_known]
    others = telling if not found or len(parts) == 1 else []
    speaker = next(iter(unknown or others), Offer())
    return Offer(found, speaker.told, is_known, notes, speaker.is_denied)


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
                    found.append(f"{one.name}: cannot check whether {name} exists ({offer.told})")
            else:
                there = f"; {nearest_words(name, offer.values)}" if offer.values else ""
                told = f" ({offer.told})" if offer.told else ""
                found.append(f"{one.name}: the cluster has no {name}{there}{told}")
    return tuple(found)


def _names(type_: str, name: str, text: str) -> tuple[str, ...]:
    if type_ != "claims":
        return (text,) if type_ != "labels" else ()
    try:
        return tuple(one.source for one in values.claims(name, text))
    except BadInput:
        return ()  # told beside its own field


async def ask_topologies(session: Reader, lookup: Lookup) -> dict[str, str] | None:
    """The topology of each flavor of nodes, "" for one without; {} where no engine has flavors.

    None where nobody may know. Raises NoConnection.
    """
    known = (one.topology for one in registry.engines() if one.topology is not None)
    topology = next((one for one in known if lookup(*one.flavor_kind) is not None), None)
    served = None if topology is None else lookup(*topology.flavor_kind)
    if topology is None or served is None:
        return {}
    answer = await session.request("GET", served.path())
    tree = answer.json() if answer.status < 300 else None
    items = tree.get("items") if isinstance(tree, dict) else None
    if not isinstance(items, list):
        return None
    trees = [one for one in items if isinstance(one, dict) and isinstance(one.get("metadata"), dict)]
    return {str(one["metadata"].get("name") or ""): topology.flavor_topology(one) for one in trees}
