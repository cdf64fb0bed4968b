"""`cockpit why --report FILE`: what a verdict rests on, without names, as the triage corpus keeps cases."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any, Final

from cockpit.actions.surroundings import BUDGETS, CLAIMS, CLASSES, CSI_NODES, PRIORITIES, VOLUMES
from cockpit.actions.verdict_reads import ACCOUNTS, MAPS, QUOTAS
from cockpit.attach import Attachment, watched_kinds
from cockpit.errors import Refused
from cockpit.gangs import registry
from cockpit.gangs.sentence import counted
from cockpit.kube.feed import CORE, CUSTOM
from cockpit.kube.objects import list_trees
from cockpit.kube.resource import EVENTS, Resource
from cockpit.local_state.redact_objects import Redaction
from cockpit.local_state.save import save_lines
from cockpit.model.finding import Finding, Subject
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.triage import controllers
from cockpit.triage.context import ClusterView
from cockpit.triage.namespace_notes import is_confined

MOST_LISTED: Final = 5_000
_ITS_OWN: Final = (
    *(EVENTS, CLAIMS, QUOTAS, BUDGETS),
    Resource("", "v1", "limitranges", "LimitRange", namespaced=True),
    Resource("apps", "v1", "deployments", "Deployment", namespaced=True),
    Resource("apps", "v1", "replicasets", "ReplicaSet", namespaced=True),
    Resource("apps", "v1", "statefulsets", "StatefulSet", namespaced=True),
)
"""Read in the namespace of the subject alone."""
_AROUND: Final = (VOLUMES, CLASSES, CSI_NODES, PRIORITIES)

Tree = dict[str, Any]


async def write_report(path: str, verdict: Finding, attachment: Attachment, view: ClusterView) -> str:
    """Write the file; a remark on what it holds. Raises BadInput where it cannot be made, NoConnection."""
    objects, missing = await _objects(attachment, verdict.subject)
    hidden = Redaction(_public_keys(), controllers.known())
    made = hidden.objects(objects)
    tree = {
        "case": _case(verdict, hidden, view.now_seconds),
        "objects": made,
        "logs": _logs(view, hidden),
    }
    where, _ = save_lines(path, [json.dumps(tree, ensure_ascii=False, indent=1)])
    count = sum(map(len, made.values()))
    left_out = f"; not in it: {', '.join(missing)}" if missing else ""
    return (
        f"wrote {counted(count, 'object')} without names to {where}; review it before you send it{left_out}"
    )


def _case(verdict: Finding, hidden: Redaction, now_seconds: float) -> Tree:
    """As `case.json`: the cause is what was said, until somebody knows better."""
    one = verdict.subject
    return {
        "causes": [verdict.cause] if verdict.cause else [],
        "top": verdict.cause,
        "also": list(verdict.also),
        "subject": Subject(one.kind, hidden.name(one.namespace), hidden.name(one.name))._asdict(),
        "names": [],
        "now": round(now_seconds, 1),
        "recorded": {"from": "report", "script": "report", "seed": 0},
    }


def _logs(view: ClusterView, hidden: Redaction) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for uid, said in view.last_lines.items():
        pod: Pod | None = view.store.get(Kind.POD, uid)
        if pod is not None:
            name = "/".join(hidden.name(one) for one in (pod.namespace, pod.name))
            found[f"{name}/main"] = [hidden.text(line) for line in said.splitlines()]
    return found


async def _objects(attachment: Attachment, subject: Subject) -> tuple[dict[str, list[Tree]], list[str]]:
    """Lists by collection, and the collections that could not be read or are too long."""
    asked = tuple(_asked(attachment, subject))
    session = attachment.connected()
    found: dict[str, list[Tree]] = {}
    missing: set[str] = set()

    async def read(resource: Resource, space: str, is_plain: bool) -> None:
        try:
            trees = await list_trees(session, resource, space, is_metadata=is_plain, most=MOST_LISTED)
        except Refused:
            trees = None
        if trees is None:
            missing.add(resource.label)
            return
        own = {"apiVersion": resource.api_version, "kind": resource.kind}
        found.setdefault(resource.label, []).extend({**tree, **own} for tree in trees)

    await asyncio.gather(*(read(*one) for one in asked))
    return found, sorted(missing)


def _asked(attachment: Attachment, subject: Subject) -> Iterator[tuple[Resource, str, bool]]:
    """What is watched, everywhere; what a pod may name, in the namespace of the subject: of ConfigMaps and
    accounts that they are there, for their contents enter no report."""
    read_in = attachment.namespaces.names if is_confined(attachment.store) else ("",)
    for resource, _ in CORE:
        if resource != EVENTS:
            yield from ((resource, name, False) for name in (read_in if resource.namespaced else ("",)))
    custom = [(one.group, one.plural) for one in CUSTOM]
    # one that is read by its name is a ConfigMap: its kind is none to be listed
    watched = [(one.group, one.plural) for one in watched_kinds() if not one.name]
    for group, plural in (*custom, *watched):
        served = attachment.served.find(group, plural) if attachment.served is not None else None
        if served is not None:
            yield from ((served, name, False) for name in (read_in if served.namespaced else ("",)))
    for resource in _AROUND:
        yield resource, "", False
    if subject.namespace:
        for resource in _ITS_OWN:
            yield resource, subject.namespace, False
        for resource in (MAPS, ACCOUNTS):
            yield resource, subject.namespace, True


def _public_keys() -> set[str]:
    """Labels that the engines gave a meaning, by their domain."""
    keys = [key for one in registry.engines() for key in (one.marks.queue_label, one.marks.group_label)]
    domains = {key.partition("/")[0] for key in (*keys, *registry.written_labels()) if key}
    return domains | {".".join(one.group.split(".")[-2:]) for one in registry.watched() if one.group}
