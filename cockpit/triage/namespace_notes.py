"""What is amiss with the namespaces that are shown: there is none of that name, or it may not be read."""

from collections.abc import Sequence

from cockpit.gangs.sentence import listed
from cockpit.model.batch import Phase
from cockpit.model.namespaces import Namespaces
from cockpit.model.record import Kind
from cockpit.model.right import cannot
from cockpit.model.store_reader import StoreReader

NAMESPACED = (Kind.POD, Kind.JOB, Kind.EVENT, Kind.MPIJOB, Kind.WORKLOAD, Kind.LOCAL_QUEUE)
"""Kinds whose objects are in namespaces, as far as a page is about them."""
_MAIN = (Kind.POD, Kind.JOB)
"""Kinds without which a namespace counts as denied; others denied there are findings of their own."""
_NOTE_CELLS = 100


def reads_all(store: StoreReader) -> bool:
    """True where each of these kinds was listed in the whole cluster, or is not served."""
    statuses = (store.status(kind) for kind in NAMESPACED)
    return all(one is not None and (one.is_whole or one.phase is Phase.ABSENT) for one in statuses)


def is_confined(store: StoreReader) -> bool:
    """True where pods are read by namespace, because they may not be read everywhere."""
    return any(one.kind == Kind.POD and one.scope for one in store.statuses().values())


def missing_namespaces(store: StoreReader, shown: Namespaces) -> tuple[str, ...]:
    """Those that do not exist; () also where namespaces may not be listed, or are not listed yet."""
    status = store.status(Kind.NAMESPACE)
    if not shown or status is None or not status.is_whole or status.phase is Phase.ABSENT:
        return ()
    known = {one.name for one in store.records(Kind.NAMESPACE).values()}
    return tuple(name for name in shown.names if name not in known) if known else ()


def absent_words(missing: Sequence[str]) -> str:
    """`namespace a does not exist`, `namespaces a, b do not exist`."""
    return f"{Namespaces(tuple(missing)).words} do{'es' * (len(missing) == 1)} not exist"


def namespace_notes(store: StoreReader, shown: Namespaces) -> tuple[str, ...]:
    """Sentences without an end, the most important first; () where all is well."""
    missing = missing_namespaces(store, shown)
    notes = [absent_words(missing)] if missing else []
    statuses = store.statuses().values()
    for kind in _MAIN:
        denied = [
            one.scope
            for one in statuses
            if one.kind == kind and one.phase is Phase.DENIED and one.scope in shown.names
        ]
        if denied := [name for name in denied if name not in missing]:
            notes.append(cannot(f"list {kind} in {', '.join(sorted(denied))}"))
    narrowed = {one.kind: one.scope for one in statuses if one.kind in NAMESPACED and one.scope}
    if narrowed and not shown:
        where = f" of namespace {next(iter(narrowed.values()))} only: no right to list all"
        notes.append(listed("", sorted(narrowed), _NOTE_CELLS) + where)
    return tuple(notes)
