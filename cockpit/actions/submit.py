"""Submit: a filled-in template becomes one POST of its manifest."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from cockpit.actions.address import Lookup, object_path
from cockpit.actions.shell import submit_line
from cockpit.errors import BadInput
from cockpit.gangs.attach import attach
from cockpit.gangs.kueue_attach import free_gpus, half_bind_warning
from cockpit.gangs.kueue_topology import Topologies, asks_for_topology, binding_words, topology_of
from cockpit.gangs.manifests import Attached
from cockpit.gangs.pairs import engines_named
from cockpit.gangs.presence import Presence
from cockpit.jobs.render import advice, parts, queue_of, remarks, render
from cockpit.jobs.template import Template
from cockpit.model.plan import Call, Plan
from cockpit.model.record import Kind
from cockpit.store.store import Store

_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_TABLES = {"kubeflow.org/MPIJob": Kind.MPIJOB, "batch/Job": Kind.JOB, "/Pod": Kind.POD}
"""The store's table of a kind, by group and kind: Volcano has a Job, too."""


class Taken(Protocol):
    """The store, as far as names are looked up."""

    def by_key(self, kind: str, key: str) -> Any | None: ...


class Findings(NamedTuple):
    """What was asked of the cluster for one submit, beside the tables. Empty: nothing was asked."""

    present: Sequence[Presence] = ()  # which engines are there
    doubts: Sequence[str] = ()  # values that the cluster does not offer, claims out of reach
    topologies: Topologies | None = None  # None: nobody knows


NOTHING_ASKED = Findings()


def plan_submit(
    template: Template,
    values: Mapping[str, str],
    namespace: str = "",
    *,
    store: Taken | None = None,
    lookup: Lookup | None = None,
    context: str = "",
    engine: str = "",
    findings: Findings = NOTHING_ASKED,
) -> Plan:
    """The plan that creates the object.

    `namespace` is used when `values` names none. With a `store`, a name that is taken and a queue that does
    not exist are told before anything is sent. `engine` (see `cockpit.gangs.attach`) may name its queue or
    scheduler behind a colon. Raises BadInput with one sentence.
    """
    given = dict(values)
    if namespace and template.parameter("namespace") is not None and not given.get("namespace", "").strip():
        given["namespace"] = namespace
    made = _attached(render(template, given), engine)
    manifest = made.manifest
    name, where = _identity(template, manifest, namespace)
    target = f"{template.kind.lower()} {where}/{name}"
    path = object_path(template.api_version, template.kind, where, lookup=lookup)
    _refuse_version(template, path)
    dead = _refuse_absent(manifest, findings.present)
    warnings = [*remarks(template, given), *advice(manifest), *dead, *findings.doubts]
    if store is not None:
        _refuse_taken(store, template, f"{where}/{name}")
        warnings += _queue_warning(store, queue_of(manifest), where)
        warnings += _half_bind_warning(store, manifest, where, findings.topologies)
    first = Call(method="POST", path=path, body=manifest, target=target)
    return Plan(
        verb="submit",
        title=f"Submit {target}",
        calls=(first, *(_before(one, where, lookup) for one in made.before)),
        lines=(*_lines(manifest, target), *_binding(store, manifest, where, findings), *made.lines),
        warnings=tuple(dict.fromkeys(warnings)),
        shell=submit_line(template, given, context, engine),
    )


def _identity(template: Template, manifest: Mapping[str, Any], namespace: str) -> tuple[str, str]:
    """(name, namespace) of what is made. Raises BadInput."""
    metadata = manifest.get("metadata")
    if not isinstance(metadata, dict):
        metadata = {}
    name, where = str(metadata.get("name") or ""), str(metadata.get("namespace") or namespace or "default")
    if not name:
        raise BadInput(f"template {template.name} makes an object without a name: metadata.name is missing")
    if not _NAMESPACE.fullmatch(where):
        raise BadInput(f"{where!r} is not the name of a namespace")
    return name, where


def _attached(manifest: Mapping[str, Any], engine: str) -> Attached:
    name, _, more = engine.partition(":")
    return attach(name, manifest, queue=more, scheduler=more)


def _refuse_absent(manifest: Mapping[str, Any], present: Sequence[Presence]) -> list[str]:
    """Raise BadInput for an engine that is not installed; a sentence for one that is known to be dead."""
    told = {one.engine: one for one in present}
    found = []
    for name in engines_named(manifest):
        one = told.get(name)
        if one is not None and not one.is_served:
            raise BadInput(f"{one.sentence}: nothing would start the job; take another engine, or none")
        if one is not None and one.is_alive is False:
            found.append(f"{one.sentence}: the job would wait until it does")
    return found


def _binding(
    store: Taken | None, manifest: Mapping[str, Any], where: str, findings: Findings
) -> tuple[str, ...]:
    """How a gang in a queue of Kueue binds; () for others, whose engine tells it."""
    queue = queue_of(manifest)
    if not queue:
        return ()
    topology = None
    if isinstance(store, Store):
        topology = topology_of(manifest, where, queue, store, findings.topologies)
    if topology is None and findings.topologies is None and not asks_for_topology(manifest):
        return ()
    return (binding_words(manifest, topology),)


def _before(tree: dict[str, Any], where: str, lookup: Lookup | None) -> Call:
    """The call that makes a group object: its pods wait for it, so it may come second."""
    name = tree["metadata"]["name"]
    path = object_path(tree["apiVersion"], tree["kind"], where, lookup=lookup)
    return Call(method="POST", path=path, body=tree, target=f"{tree['kind'].lower()} {where}/{name}")


def taken_sentence(target: str) -> str:
    """What is said when the name belongs to another object already."""
    return f"{target} exists already: choose another name, or kill that one first"


def _refuse_version(template: Template, path: str) -> None:
    # Deleting works in any version that is served; a manifest fits only its own.
    served = "/".join(path.split("/")[2:4]) if path.startswith("/apis/") else path.split("/")[2]
    if served != template.api_version:
        raise BadInput(
            f"template {template.name} makes {template.kind} of {template.api_version},"
            f" this cluster serves {served} only"
        )


def _refuse_taken(store: Taken, template: Template, key: str) -> None:
    table = _TABLES.get(f"{template.api_version.rpartition('/')[0]}/{template.kind}", "")
    if table and store.by_key(table, key) is not None:
        raise BadInput(taken_sentence(f"{template.kind.lower()} {key}"))


def _queue_warning(store: Taken, queue: str, namespace: str) -> list[str]:
    if not queue or store.by_key(Kind.LOCAL_QUEUE, f"{namespace}/{queue}") is not None:
        return []
    return [f"no queue {queue} is known in namespace {namespace}: the job would wait for ever"]


def _half_bind_warning(
    store: Taken, manifest: Mapping[str, Any], namespace: str, topologies: Topologies | None
) -> list[str]:
    """Where the whole store is at hand: a gang that its quota admits and the free GPUs do not hold."""
    if not isinstance(store, Store):
        return []
    gpus = sum(one.replicas * one.gpus_each for one in parts(manifest))
    said = half_bind_warning(manifest, namespace, gpus, free_gpus(store), store, topologies=topologies)
    return [said] if said else []


def _lines(manifest: Mapping[str, Any], target: str) -> tuple[str, ...]:
    pods = parts(manifest)
    lines = [f"create {target}"]
    total = sum(one.replicas * one.gpus_each for one in pods)
    for one in pods:
        each = f" x {one.gpus_each} GPUs" if one.gpus_each else " without GPUs"
        lines.append(f"{one.replicas} {one.role}{'s' * (one.replicas != 1)}{each}")
    lines.append(f"{total} GPUs in all")
    queue = queue_of(manifest)
    if queue:
        lines.append(f"waits in queue {queue} until all of it is admitted")
    elif pods and not engines_named(manifest):
        lines.append("no queue: its pods start as soon as each one fits")
    return tuple(lines)
