"""A case as it is seen by those who know less: a kind denied, not read yet, listed in some namespaces only,
polled a while ago, or stale; and what may be said of it then."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from cockpit.catalogue import row_of
from cockpit.gangs.sentence import SENTENCE_LIMIT
from cockpit.jobs.index import JobIndex
from cockpit.model.batch import Batch, ListMark, Phase, StreamStatus
from cockpit.model.finding import Finding
from cockpit.model.listing import Gap
from cockpit.model.record import Kind
from cockpit.model.sureness import Sureness
from cockpit.store.store import Store
from cockpit.triage.context import ClusterView
from cockpit.triage.engine import explain
from tests.triage.case import Case
from tests.triage.world import view_of

WATCHED = (
    Kind.NODE,
    Kind.POD,
    Kind.EVENT,
    Kind.JOB,
    Kind.MPIJOB,
    Kind.WORKLOAD,
    Kind.LOCAL_QUEUE,
    Kind.CLUSTER_QUEUE,
    Kind.POD_GROUP,
    Kind.DEVICE_CLAIM,
    Kind.DEVICE_SLICE,
    Kind.MACHINE,
    Kind.POOL,
)
ON_DEMAND = {
    "PersistentVolumeClaim": "claims",
    "PersistentVolume": "volumes",
    "StorageClass": "classes",
    "PriorityClass": "priorities",
    "ConfigMap": "",
    "ResourceClaimTemplate": "",
    "WorkloadPriorityClass": "",
    "AdmissionCheck": "",
    "ResourceFlavor": "",
}
"""Kinds that are read when they are asked about, and what of the surroundings comes of them."""
OLD_SECONDS = 300.0


class Cell(NamedTuple):
    """Of which kind how much is known."""

    kind: str
    gap: Gap


def cells(case: Case) -> Iterator[Cell]:
    """Every cell that the case has anything of."""
    whole = view_of(case)
    for kind in WATCHED:
        records = whole.store.records(kind).values()
        if not records:
            continue
        for gap in (Gap.DENIED, Gap.UNREAD, Gap.STALE, Gap.POLLED):
            yield Cell(kind, gap)
        if case.file.subject.namespace and any(one.namespace for one in records):
            yield Cell(kind, Gap.PARTIAL)
    yield from (Cell(kind, Gap.DENIED) for kind, _ in whole.trees if kind in ON_DEMAND)


def seen(case: Case, cell: Cell) -> ClusterView:
    """The view of somebody who knows of that kind only so much."""
    view = view_of(case)
    if cell.kind in ON_DEMAND:
        trees = {key: one for key, one in view.trees.items() if key[0] != cell.kind}
        field = ON_DEMAND[cell.kind]
        around = msgspec.structs.replace(view.around, **{field: None}) if field else view.around
        return msgspec.structs.replace(view, trees=trees, around=around)
    store = view.store
    assert isinstance(store, Store)
    assert isinstance(view.jobs, JobIndex)
    records = tuple(store.records(cell.kind).values())
    streams = [one for one in store.statuses().values() if one.kind == cell.kind]
    space = case.file.subject.namespace
    for old in streams:
        if cell.gap in (Gap.STALE, Gap.POLLED):
            phase = Phase.STALE if cell.gap is Gap.STALE else Phase.POLLED
            changed = msgspec.structs.replace(old, phase=phase, heard_seconds=case.file.now - OLD_SECONDS)
            store.apply(Batch(kind=cell.kind, scope=old.scope, status=changed))
            continue
        store.apply(Batch(kind=cell.kind, scope=old.scope, mark=ListMark.DROP))
        if cell.gap is Gap.PARTIAL:
            scope = f"{old.scope}/{space}" if old.scope else space
            status = msgspec.structs.replace(old, scope=scope)
            mine = tuple(one for one in records if one.namespace == space)
            store.apply(Batch(kind=cell.kind, scope=scope, mark=ListMark.BEGIN))
            store.apply(Batch(kind=cell.kind, scope=scope, changed=mine))
            store.apply(Batch(kind=cell.kind, scope=scope, mark=ListMark.END, status=status))
        else:
            phase = Phase.DENIED if cell.gap is Gap.DENIED else Phase.LISTING
            status = StreamStatus(kind=cell.kind, scope=old.scope, phase=phase)
            store.apply(Batch(kind=cell.kind, scope=old.scope, status=status))
    view.jobs.update(store.take_delta())
    return view


def faults(whole: Finding, half: Finding, cell: Cell) -> Iterator[str]:
    """What the verdict of those who know less claims and cannot know; nothing where it is right."""
    if len(half.sentence) > SENTENCE_LIMIT:
        yield f"{len(half.sentence)} characters"
    known = {whole.cause, *whole.also, *(one.cause for one in whole.then)} - {""}
    rests = {one.kind for one in row_of(half.cause).rests_on if one.is_wide or cell.gap is not Gap.PARTIAL}
    if half.sureness is Sureness.PROVED and (cell.kind in rests or half.cause not in known):
        yield "proved"
    if cell.kind == Kind.NODE and cell.gap in (Gap.DENIED, Gap.UNREAD) and half.funnel is not None:
        yield "counts nodes"
    is_same = (half.cause, half.sentence) == (whole.cause, whole.sentence)
    if is_same or is_named(half.sentence, cell):
        return
    if half.cause not in known:
        yield f"{half.cause or 'no cause'}, and not a word of what is not known"


def is_named(sentence: str, cell: Cell) -> bool:
    """Whether the sentence says of which kind not all is known."""
    return any(f"{cell.kind} {words}" in sentence for words in (f"are {cell.gap.value}", "of "))


def told(case: Case, view: ClusterView) -> Finding:
    """Of what the case is about."""
    return explain(case.file.subject, view)


def claims(case: Case, whole: Finding, cell: Cell) -> list[str]:
    """A line for each fault of what is said of the case by those who know less."""
    half = told(case, seen(case, cell))
    return [
        f"{case.name}, {cell.kind} {cell.gap.value}: {one}: {half.sentence!r} for {whole.sentence!r}"
        for one in faults(whole, half, cell)
    ]


def all_claims(cases: Iterable[Case]) -> tuple[int, list[str]]:
    """How many cells all cases have, and the faults of all of them."""
    found, count = [], 0
    for case in cases:
        whole = told(case, view_of(case))
        for cell in cells(case):
            count += 1
            found += claims(case, whole, cell)
    return count, found
