"""Quota that is wanting, in sentences with the numbers the queue shows now.

Kueue writes quantities as Kubernetes does (`1500m`, `10Gi`); here they are base units until they are worded.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from cockpit.catalogue.cause import Cause
from cockpit.gangs.draft import draft, plain
from cockpit.gangs.kueue import texts
from cockpit.gangs.sentence import counted, listed
from cockpit.k8s import quantity
from cockpit.k8s.gpu_resources import is_gpu_resource, resource_word
from cockpit.model.finding import Finding
from cockpit.model.gang import ClusterQueue, QuotaRow, Workload
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader
from cockpit.model.sureness import Sureness

_BYTES = ("memory", "ephemeral-storage")


class _Short(NamedTuple):
    resource: str
    flavor: str
    missing: int | None
    raw: str


class _Loan(NamedTuple):
    borrower: str
    amount: int


def short_of(workload: Workload, store: StoreReader, cluster_queue: str, message: str) -> Finding | None:
    """What is used up now; None where the message speaks of no such thing."""
    never = {(one["flavor"]) for one in texts.EXCEEDS.finditer(message)}
    short = [
        _Short(one["resource"], one["flavor"], _base(one["resource"], one["missing"]), one["missing"])
        for one in texts.UNUSED.finditer(message)
        if one["flavor"] not in never
    ]
    if not short:
        return None
    of_gpus = [one for one in short if is_gpu_resource(one.resource)] or short
    least = min(of_gpus, key=lambda one: (one.missing is None, one.missing or 0))
    if len(of_gpus) > 1:
        return _in_no_flavor(workload, of_gpus, least)
    return _in_one_flavor(workload, store, cluster_queue, least)


def _in_no_flavor(workload: Workload, short: Sequence[_Short], least: _Short) -> Finding:
    head = f"needs {_asked(workload, least.resource)}, no flavor has it free: "
    lacking = [f"{one.flavor} lacks {figure(one.resource, one.missing, one.raw)}" for one in short]
    facts = tuple((f"missing in {one.flavor}", one.raw) for one in short)
    names = (("flavor", least.flavor), ("resource", least.resource), *_needs(least.resource, least.missing))
    return Finding(cause=Cause.QUOTA_IN_USE, sentence=listed(head, lacking), facts=(*facts, *names))


def _in_one_flavor(workload: Workload, store: StoreReader, cluster_queue: str, short: _Short) -> Finding:
    needed, resource, flavor = short.missing, short.resource, short.flavor
    names = {"queue": cluster_queue, "flavor": flavor, "resource": resource}
    more = figure(resource, needed, short.raw)
    row = _quota_row(store, cluster_queue, flavor, resource)
    asks = plain(_asked(workload, resource))
    if needed is None or row is None or row.used is None:
        whose = " of quota {queue}/{flavor}" if cluster_queue else " of flavor {flavor}"
        noun = plain(resource_word(resource, needed))
        return draft(
            Cause.QUOTA_IN_USE,
            f"needs {asks}{whose}: {more} more {noun} needed",
            names,
            facts=_needs(resource, needed),
        )
    free = max(0, row.nominal - row.used)
    asked = _amount(workload, resource)
    cohort = _cohort(store, cluster_queue)
    has = f"quota {{queue}}/{{flavor}} has {figure(resource, free)} unused"
    if asked and free >= asked and not cohort:
        text = f"{has} now: starts at Kueue's next look"
        return draft(Cause.QUOTA_IN_USE, text, names, sureness=Sureness.INFERRED)
    left = max(0, asked - needed)
    if asked and cohort and free > left:
        return _lent_out(asks, store, cohort, names, _Room(free, left, needed))
    if asked and cohort and left > free:
        has += f" and may borrow {figure(resource, left - free)}"
    sureness = Sureness.PROVED if asked and free < asked else Sureness.SAID
    return draft(
        Cause.QUOTA_IN_USE,
        f"needs {asks}, {has}: {more} more needed",
        names,
        sureness=sureness,
        facts=_needs(resource, needed),
    )


class _Room(NamedTuple):
    """Of a queue's own quota: not used by itself, of that left after lending; and what a job misses."""

    free: int
    left: int
    missing: int


def _lent_out(asks: str, store: StoreReader, cohort: str, names: Mapping[str, str], room: _Room) -> Finding:
    """Quota of its own queue that others of the cohort use: who does, and whether it can be had back."""
    resource, lent = names["resource"], room.free - room.left
    loans = _loans(store, cohort, names)
    target: ClusterQueue | None = store.by_key(Kind.CLUSTER_QUEUE, names["queue"])
    may_reclaim = target is not None and target.reclaims not in ("", "Never")
    more = f" and {len(loans) - 1} more" if len(loans) > 1 else ""
    back = "reclaimable" if may_reclaim else "not reclaimable"
    text = (
        f"needs {asks}, has {figure(resource, room.left)}: {figure(resource, lent)} of quota"
        f" {{queue}}/{{flavor}} lent to {{borrower}}{more}, {back}"
    )
    lent_to = tuple((f"lent to {one.borrower}", figure(resource, one.amount)) for one in loans)
    may = ("reclaimable", "yes" if may_reclaim else "no: reclaimWithinCohort is Never")
    return draft(
        Cause.QUOTA_IN_USE,
        text,
        {**names, "borrower": loans[0].borrower if loans else f"cohort {cohort}"},
        sureness=Sureness.PROVED if loans else Sureness.INFERRED,
        facts=(("cohort", cohort), *lent_to, may, *_needs(resource, room.missing)),
    )


def _needs(resource: str, missing: int | None) -> tuple[tuple[str, str], ...]:
    """The fact how much more of it has to come free; none where that is not known."""
    if not missing:
        return ()
    return (("needs", f"{figure(resource, missing)} more {resource_word(resource, missing)}"),)


def _loans(store: StoreReader, cohort: str, names: Mapping[str, str]) -> list[_Loan]:
    """What other queues of the cohort use beyond their own quota, the most first."""
    found = []
    queues: Iterable[ClusterQueue] = store.records(Kind.CLUSTER_QUEUE).values()
    for queue in queues:
        if queue.cohort != cohort or queue.name == names["queue"]:
            continue
        borrowed = sum(
            one.borrowed or 0
            for one in queue.quotas
            if (one.flavor, one.resource) == (names["flavor"], names["resource"])
        )
        if borrowed:
            found.append(_Loan(queue.name, borrowed))
    return sorted(found, key=lambda one: (-one.amount, one.borrower))


def too_large(store: StoreReader, cluster_queue: str, exceeds: re.Match[str]) -> Finding:
    """More than the queue can ever give, also by borrowing."""
    resource, flavor = exceeds["resource"], exceeds["flavor"]
    before, asked = _base(resource, exceeds["before"]) or 0, _base(resource, exceeds["asked"])
    most = _base(resource, exceeds["most"])
    total = None if asked is None else before + asked
    noun = plain(resource_word(resource, total))
    whose = "queue {queue}" if cluster_queue else "flavor {flavor}"
    text = (
        f"asks {figure(resource, total, exceeds['asked'])} {noun}, {whose} can never give more than"
        f" {figure(resource, most, exceeds['most'])}"
    )
    row = _quota_row(store, cluster_queue, flavor, resource)
    is_proved = row is not None and total is not None and most is not None and row.nominal <= most < total
    return draft(
        Cause.ABOVE_QUOTA,
        text,
        {"queue": cluster_queue, "flavor": flavor, "resource": resource},
        sureness=Sureness.PROVED if is_proved else Sureness.SAID,
    )


def not_offered(workload: Workload, store: StoreReader, cluster_queue: str) -> Finding | None:
    """A kind of GPU that the queue has no quota for: seen here where Kueue has not said it."""
    target: ClusterQueue | None = store.by_key(Kind.CLUSTER_QUEUE, cluster_queue) if cluster_queue else None
    if target is None or not target.quotas:
        return None
    covered = {row.resource for row in target.quotas}
    for part in workload.pod_sets:
        for resource, amount in part.resources:
            if amount and is_gpu_resource(resource) and resource not in covered:
                return draft(
                    Cause.NO_FLAVOR_FITS,
                    "ClusterQueue {queue} offers no {resource}",
                    {"queue": cluster_queue, "resource": resource},
                    sureness=Sureness.INFERRED,
                )
    return None


def beyond(workload: Workload, store: StoreReader, cluster_queue: str) -> Finding | None:
    """That it asks for more GPUs than all flavors of its queue can ever have, with what they borrow."""
    target: ClusterQueue | None = store.by_key(Kind.CLUSTER_QUEUE, cluster_queue) if cluster_queue else None
    if target is None:
        return None
    for resource in {
        name for part in workload.pod_sets for name, _ in part.resources if is_gpu_resource(name)
    }:
        rows = [row for row in target.quotas if row.resource == resource]
        if any(target.cohort and row.borrowing_limit is None for row in rows):
            continue  # what the cohort has is not told here
        most = sum(row.nominal + (row.borrowing_limit or 0) for row in rows)
        asked = _amount(workload, resource)
        if rows and asked > most:
            return draft(
                Cause.ABOVE_QUOTA,
                f"asks {asked} {plain(resource_word(resource, asked))}, queue {{queue}} can never give more"
                f" than {most}",
                {"queue": cluster_queue, "resource": resource},
                sureness=Sureness.PROVED,
            )
    return None


def figure(resource: str, amount: int | None, raw: str = "") -> str:
    """The number as a person says it: cores, GiB, devices."""
    if amount is None:
        return raw
    if resource == "cpu":
        return f"{amount / 1000:g}"
    if resource in _BYTES:
        return f"{amount / 2**30:.3g} GiB"
    return str(amount)


def _asked(workload: Workload, resource: str) -> str:
    amount = _amount(workload, resource)
    if not amount:
        return resource_word(resource)
    if resource == "cpu":
        return f"{amount / 1000:g} CPU"
    if resource in _BYTES:
        return f"{amount / 2**30:.3g} GiB of {resource_word(resource)}"
    if is_gpu_resource(resource) and resource_word(resource).startswith("GPU"):
        return counted(amount, "GPU")
    return f"{amount} {resource_word(resource, amount)}"


def _amount(workload: Workload, resource: str) -> int:
    return sum(amount for part in workload.pod_sets for name, amount in part.resources if name == resource)


def _base(resource: str, text: str) -> int | None:
    try:
        return quantity.base_units(resource, text)
    except ValueError:
        return None


def _quota_row(store: StoreReader, cluster_queue: str, flavor: str, resource: str) -> QuotaRow | None:
    target: ClusterQueue | None = store.by_key(Kind.CLUSTER_QUEUE, cluster_queue) if cluster_queue else None
    if target is None:
        return None
    return next((row for row in target.quotas if (row.flavor, row.resource) == (flavor, resource)), None)


def _cohort(store: StoreReader, cluster_queue: str) -> str:
    target: ClusterQueue | None = store.by_key(Kind.CLUSTER_QUEUE, cluster_queue)
    return "" if target is None else target.cohort
