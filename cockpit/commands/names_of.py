"""Names that can be completed, by kind; those of a cluster without its pods, of which there are too many."""

import argparse
import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from cockpit.attach import Attachment
from cockpit.catalogue import by_cause
from cockpit.clock import SystemClock
from cockpit.commands.attached import attached
from cockpit.commands.patience import within
from cockpit.commands.settings import attach_options, settings_in_force
from cockpit.gangs import registry
from cockpit.jobs.template import load_library
from cockpit.kube.kubeconfig import choose, context_names
from cockpit.local_state.paths import write_private
from cockpit.model.job import JobObject
from cockpit.model.record import Kind
from cockpit.pools.index import pools_of
from cockpit.views import queues

_TIMEOUT_SECONDS: Final = 15.0
_MOST_FILES: Final = 128
_SUBJECTS: Final = {"jobs": "job", "nodes": "node", "pools": "pool", "queues": "queue"}
_NEEDS: Final = {
    "jobs": (Kind.MPIJOB, Kind.JOB, Kind.OTHER_JOB, *registry.own_job_tables()),
    "nodes": (Kind.NODE,),
    "pools": (Kind.NODE, Kind.POOL),
    "queues": registry.queue_tables(),
    "namespaces": (Kind.NAMESPACE,),
}


def keep_names(kind: str, chosen: Mapping[str, str], path: str, key: str) -> None:
    """Read the names and write them, sorted, behind the line `key`. Raises CockpitError where they cannot."""
    file = Path(path)
    write_private(file, "\n".join([key, *sorted(set(names_of(kind, chosen)))]))
    newest = sorted(file.parent.iterdir(), key=lambda item: item.stat().st_mtime, reverse=True)
    for item in newest[_MOST_FILES:]:
        item.unlink(missing_ok=True)


def names_of(kind: str, chosen: Mapping[str, str]) -> Iterable[str]:
    """The names; () where they could only be read after a login. Raises CockpitError where they cannot be."""
    if kind == "contexts":
        return context_names(chosen.get("kubeconfig"))
    if kind == "causes":
        return [str(cause) for cause in by_cause()]
    if kind == "templates":
        return load_library(settings_in_force().template_folders).templates
    kinds = tuple(_SUBJECTS) if kind == "subjects" else (kind,)
    found = choose(chosen.get("kubeconfig"), chosen.get("context"), in_cluster=False)
    if found is None or {"exec", "auth-provider"} & found.user.keys() or not _NEEDS.keys() >= set(kinds):
        return ()
    names = asyncio.run(within(_TIMEOUT_SECONDS, _of_cluster(kinds, argparse.Namespace(**chosen))))
    if kind != "subjects":
        return names[kind]
    return [f"{_SUBJECTS[item]}/{name}" for item, found in names.items() for name in found]


async def _of_cluster(kinds: tuple[str, ...], options: argparse.Namespace) -> dict[str, list[str]]:
    chosen = attach_options(options, settings_in_force())
    needs = dict.fromkeys(need for kind in kinds for need in _NEEDS[kind])
    async with attached(replace(chosen, write=False), SystemClock()) as live:
        await live.settle(tuple(needs), _TIMEOUT_SECONDS, tells_rest=True)
        return {kind: _names(kind, live.attachment) for kind in kinds}


def _names(kind: str, attachment: Attachment) -> list[str]:
    store = attachment.store
    if kind in ("namespaces", "nodes"):
        (table,) = _NEEDS[kind]
        return [record.name for record in store.records(table).values()]
    if kind == "pools":
        return [pool.name for pool in pools_of(store)]
    if kind == "queues":
        return [row.name for row in queues.listed(store).rows]
    rows = {(job.namespace, job.name) for job in attachment.jobs.jobs.values()}
    others: Iterable[JobObject] = store.records(Kind.OTHER_JOB).values()  # a row once a pod of theirs is read
    rows |= {(other.namespace, other.name) for other in others if other.owner is None}
    jobs = [(namespace, name) for namespace, name in rows if namespace in attachment.namespaces]
    counted = Counter(name for _, name in jobs)
    return [*(name for _, name in jobs if counted[name] == 1), *(f"{space}/{name}" for space, name in jobs)]
