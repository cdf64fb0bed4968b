"""Submit: a filled-in template becomes one POST of its manifest."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from cockpit.actions.address import Lookup, object_path, unserved
from cockpit.actions.refusals import taken
from cockpit.actions.shell import submit_file_line, submit_line
from cockpit.errors import BadInput
from cockpit.fit.pod_sets import makes_no_pods, pods_asked
from cockpit.fit.reasons import asked_lines
from cockpit.gangs import registry
from cockpit.gangs.conflicts import engines_named
from cockpit.gangs.engine import InstalledEngine, Topologies
from cockpit.gangs.form_choice import attach
from cockpit.gangs.manifests import Attached, job_in
from cockpit.jobs.render import advice, queue_of, remarks, render
from cockpit.jobs.schedule import refuse_wrong_schedule
from cockpit.jobs.template import Template
from cockpit.k8s.json_values import mapping
from cockpit.model.contender import Contender
from cockpit.model.listing import listing
from cockpit.model.plan import Call, Plan
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader

_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_TABLES = {"kubeflow.org/MPIJob": Kind.MPIJOB, "batch/Job": Kind.JOB, "/Pod": Kind.POD}
"""The store's table of a kind, by group and kind: engines have a Job, too."""


class Findings(NamedTuple):
    """What was asked of the cluster for one submit, beside the tables. Empty: nothing was asked."""

    present: Sequence[InstalledEngine] = ()  # which engines are there
    doubts: Sequence[str] = ()  # values that the cluster does not offer, claims out of reach
    topologies: Topologies | None = None  # None: nobody knows
    is_served: bool | None = None  # whether the cluster serves the template's kind; None: nobody asked


NOTHING_ASKED = Findings()


def plan_submit(
    template: Template,
    values: Mapping[str, str],
    namespace: str = "",
    *,
    store: StoreReader | None = None,
    lookup: Lookup | None = None,
    context: str = "",
    engine: str = "",
    findings: Findings = NOTHING_ASKED,
) -> Plan:
    """The plan that creates the object.

    `namespace` is used when `values` names none. With a `store`, a name that is taken and a queue that does
    not exist are told before anything is sent. `engine` (`cockpit.gangs.form_choice`) may name its queue or
    scheduler behind a colon. Raises BadInput with one sentence.
    """
    _refuse_unserved(template, lookup, findings)
    given, made, name, where = _made(template, values, namespace, engine)
    manifest = made.manifest
    refuse_wrong_schedule(manifest)
    target = f"{template.kind.lower()} {where}/{name}"
    path = _path(template, where, lookup, findings)
    dead = _refuse_absent(manifest, findings.present)
    warnings = [*remarks(template, given), *advice(manifest, _gpu_taints(store)), *dead, *findings.doubts]
    if store is not None:
        _refuse_taken(store, template, f"{where}/{name}")
    if store is not None:
        warnings += _queue_warning(store, manifest, where)
        warnings += _engine_warnings(store, manifest, where, findings.topologies)
    first = Call(method="POST", path=path, body=manifest, target=target, fields_at_risk=made.fields_at_risk)
    return Plan(
        verb="submit",
        contends=() if makes_no_pods(manifest) else (Contender(name=f"{where}/{name}", manifest=manifest),),
        title=f"Submit {target}",
        done=f"Submitted {target}",
        calls=(first, *(group_call(one, where, lookup) for one in made.before)),
        lines=(*_lines(manifest, target), *_binding(store, manifest, where, findings), *made.lines),
        warnings=tuple(dict.fromkeys(warnings)),
        shell=submit_line(
            template, given, context, engine, "" if template.parameter("namespace") is not None else where
        ),
    )


def together(plans: Sequence[Plan], wish: str, shell: str) -> Plan:
    """The plans of a file's objects as one, in their order; `wish` is the file as a person named it."""
    if len(plans) == 1:
        return msgspec.structs.replace(plans[0], shell=shell)
    return Plan(
        verb="submit",
        title=f"Submit {len(plans)} objects of {wish}",
        done=f"Submitted {len(plans)} objects of {wish}",
        calls=tuple(call for plan in plans for call in plan.calls),
        lines=tuple(line for plan in plans for line in plan.lines),
        warnings=tuple(dict.fromkeys(line for plan in plans for line in plan.warnings)),
        contends=tuple(item for plan in plans for item in plan.contends),
        shell=shell,
    )


def plan_objects(
    templates: Sequence[Template],
    named: str,
    namespace: str,
    *,
    store: StoreReader,
    lookup: Lookup,
    context: str,
    findings: Findings,
) -> Plan:
    """The objects of a file as one plan, from what is known without asking. Raises BadInput."""
    plans = [
        plan_submit(template, {}, namespace, store=store, lookup=lookup, context=context, findings=findings)
        for template in templates
    ]
    # the command refuses a namespace beside another one in the file
    own = {str(template.manifest["metadata"].get("namespace") or namespace) for template in templates}
    return together(plans, named, submit_file_line(named, context, namespace if own == {namespace} else ""))


def check_submit(
    template: Template, values: Mapping[str, str], namespace: str = "", engine: str = ""
) -> None:
    """As far as `plan_submit` needs no cluster. Raises BadInput with one sentence."""
    _made(template, values, namespace, engine)


def _made(
    template: Template, values: Mapping[str, str], namespace: str, engine: str
) -> tuple[dict[str, str], Attached, str, str]:
    """Values as filled in, the manifest with its engine, name and namespace."""
    given = dict(values)
    if namespace and template.parameter("namespace") is not None and not given.get("namespace", "").strip():
        given["namespace"] = namespace
    made = _attached(render(template, given), engine)
    return given, made, *_identity(template, made.manifest, namespace)


def _identity(template: Template, manifest: Mapping[str, Any], namespace: str) -> tuple[str, str]:
    """(name, namespace) of what is made. Raises BadInput."""
    metadata = manifest.get("metadata")
    if not isinstance(metadata, dict):
        metadata = {}
    name, where = str(metadata.get("name") or ""), str(metadata.get("namespace") or namespace or "default")
    if not name:
        raise BadInput(f"template {template.name} creates an object without a name: metadata.name is missing")
    if not _NAMESPACE.fullmatch(where):
        raise BadInput(f"{where!r} is not a valid namespace name")
    return name, where


def _attached(manifest: Mapping[str, Any], engine: str) -> Attached:
    name, _, more = engine.partition(":")
    return attach(name, manifest, queue=more, scheduler=more)


def _refuse_absent(manifest: Mapping[str, Any], present: Sequence[InstalledEngine]) -> list[str]:
    """Raise BadInput for an engine that is not installed; a sentence for one that is known to be dead."""
    told = {one.engine: one for one in present}
    found = []
    for engine in engines_named(manifest):
        one = told.get(engine.name)
        if one is not None and not one.is_served:
            raise BadInput(f"{one.sentence}: nothing would start the job; choose another engine, or none")
        if one is not None and one.is_alive is False:
            found.append(f"{one.sentence}: the job would wait until it does")
    return found


def _binding(
    store: StoreReader | None, manifest: Mapping[str, Any], where: str, findings: Findings
) -> tuple[str, ...]:
    """How a gang in a queue binds; () for others, whose engine tells it."""
    engine, _queue = registry.admitting(manifest)
    topology = engine.topology
    return () if topology is None else topology.submit_lines(manifest, where, store, findings.topologies)


def group_call(tree: dict[str, Any], where: str, lookup: Lookup | None) -> Call:
    """The call that makes a group object: its pods wait for it, so it may come second."""
    name = tree["metadata"]["name"]
    path = object_path(tree["apiVersion"], tree["kind"], where, lookup=lookup)
    return Call(method="POST", path=path, body=tree, target=f"{tree['kind'].lower()} {where}/{name}")


def _path(template: Template, where: str, lookup: Lookup | None, findings: Findings) -> str:
    """Where it is created. Raises BadInput where the cluster does not serve the kind, or nobody knows."""
    try:
        return object_path(template.api_version, template.kind, where, lookup=lookup)
    except BadInput:
        if findings.is_served is not None:
            raise
        raise BadInput(
            f"whether this cluster serves {template.kind} of {template.api_version} is not known yet"
        ) from None


def _refuse_unserved(template: Template, lookup: Lookup | None, findings: Findings) -> None:
    """Before anything else is made of it: the server would answer 404. Another version fits no better, for
    a manifest fits only its own."""
    if lookup is None or (
        findings.is_served is not False and lookup(template.api_version, template.kind) is None
    ):
        return
    if sentence := unserved(template.api_version, template.kind, lookup):
        raise BadInput(sentence)


def _refuse_taken(store: StoreReader, template: Template, key: str) -> None:
    table = _TABLES.get(f"{template.api_version.rpartition('/')[0]}/{template.kind}", "")
    if table and store.by_key(table, key) is not None:
        raise BadInput(taken(f"{template.kind.lower()} {key}"))


def _queue_warning(store: StoreReader, manifest: Mapping[str, Any], namespace: str) -> list[str]:
    engine, queue = registry.admitting(manifest)
    table = engine.queues.local
    if not queue or not table or store.by_key(table, f"{namespace}/{queue}") is not None:
        return []
    return [f"namespace {namespace} has no queue {queue}: the job would wait forever"]


def _engine_warnings(
    store: StoreReader, manifest: Mapping[str, Any], namespace: str, topologies: Topologies | None
) -> tuple[str, ...]:
    """What the engine sees coming for a gang of that size."""
    gpus = pods_asked(manifest).gpus
    if gpus is None:
        return ()
    engine, _queue = registry.admitting(manifest)
    topology = engine.topology
    return () if topology is None else topology.submit_warnings(manifest, namespace, gpus, store, topologies)


def _gpu_taints(store: StoreReader | None) -> frozenset[str] | None:
    """Keys of taints of GPU nodes; None where the nodes are not known."""
    if store is None or not listing(store, Kind.NODE).has_all:
        return None
    nodes = (node for node in store.records(Kind.NODE).values() if node.gpu_capacity or node.is_gpu_labelled)
    return frozenset(taint.key for node in nodes for taint in node.taints)


def _lines(manifest: Mapping[str, Any], target: str) -> tuple[str, ...]:
    if makes_no_pods(manifest):
        return (f"create {target}",)
    asked = pods_asked(manifest)
    lines = [f"create {target}", *asked_lines(asked)]
    if job_in(manifest) is not manifest:
        lines.append(f"starts such a job at each time of {mapping(manifest.get('spec')).get('schedule')}")
    queue = queue_of(manifest)
    if queue:
        lines.append(f"waits in queue {queue} until the whole job is admitted")
    elif asked.sets and not engines_named(manifest):
        lines.append("no queue: each pod starts as soon as it fits")
    return tuple(lines)
