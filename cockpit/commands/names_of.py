"""Names that can be completed, by kind; read as the commands read them."""

import argparse
import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from cockpit.attach import Attachment
from cockpit.catalogue import by_cause
from cockpit.clock import SystemClock
from cockpit.commands.attached import attached
from cockpit.commands.get import LISTS, NEEDS
from cockpit.commands.patience import within
from cockpit.commands.settings import attach_options, settings_in_force
from cockpit.jobs.template import load_library
from cockpit.kube.kubeconfig import choose, context_names
from cockpit.model.record import Kind

_TIMEOUT_SECONDS: Final = 6.0
_KINDS: Final = {"jobs": "job", "nodes": "node", "pools": "pool", "queues": "queue"}


def names_of(kind: str, chosen: Mapping[str, str]) -> Iterable[str]:
    """The names; () where they could only be read after a login. Raises CockpitError where they cannot be."""
    if kind == "contexts":
        return context_names(chosen.get("kubeconfig"))
    if kind == "causes":
        return [str(cause) for cause in by_cause()]
    if kind == "templates":
        return load_library(settings_in_force().template_folders).templates
    found = choose(chosen.get("kubeconfig"), chosen.get("context"), in_cluster=False)
    if found is None or {"exec", "auth-provider"} & found.user.keys():
        return ()
    return asyncio.run(within(_TIMEOUT_SECONDS, _of_cluster(kind, argparse.Namespace(**chosen))))


async def _of_cluster(kind: str, options: argparse.Namespace) -> list[str]:
    chosen = attach_options(options, settings_in_force())
    kinds = tuple(_KINDS) if kind == "subjects" else (kind,)
    needs = [need for item in kinds for need in NEEDS.get(item, (Kind.NAMESPACE,))]
    async with attached(replace(chosen, write=False), SystemClock()) as live:
        await live.settle(tuple(dict.fromkeys(needs)), _TIMEOUT_SECONDS, tells_rest=True)
        found = {item: _names(item, live.attachment) for item in kinds}
    if kind != "subjects":
        return found[kind]
    return [f"{_KINDS[item]}/{name}" for item, names in found.items() for name in names]


def _names(kind: str, attachment: Attachment) -> list[str]:
    store = attachment.store
    if kind == "namespaces":
        return [record.name for record in store.records(Kind.NAMESPACE).values()]
    rows: list[Any] = list(LISTS[kind](attachment, attachment.clock.cluster_now()).rows)
    if kind != "jobs":
        return [row.node.name if kind == "nodes" else row.name for row in rows]
    jobs = [row.job for row in rows if row.job.namespace in attachment.namespaces]
    counted = Counter(job.name for job in jobs)
    short = [job.name for job in jobs if counted[job.name] == 1]
    return [*short, *(f"{job.namespace}/{job.name}" for job in jobs)]
