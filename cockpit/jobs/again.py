"""The same job once more: a manifest from an object of the cluster, and a template made from that manifest.

What the server, the operators and the queueing engine wrote into the object is taken out; every leaf that a
person wrote stays as it is. The template has parameters for what one changes between two runs, so that a
clone goes through the same form, the same checks and the same rendering as a new job.
"""

import copy
import re
from collections.abc import Collection, Mapping
from typing import Any, Final

from cockpit.gangs import registry
from cockpit.gangs.suspend_field import suspend_field
from cockpit.jobs.pod_templates import amounts, containers, mapping, mappings, pod_templates
from cockpit.k8s.quantity import parse_quantity

_SERVERS: Final = (
    *("uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink"),
    *("ownerReferences", "finalizers", "deletionTimestamp", "deletionGracePeriodSeconds", "generateName"),
)
_WRITTEN: Final = (
    "kubectl.kubernetes.io/last-applied-configuration",
    "batch.kubernetes.io/job-tracking",
    "gpu-cockpit/audit-id",
)
_JOB_LABELS: Final = (
    *("controller-uid", "job-name"),
    *("batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name"),
)
_TOKENS: Final = "kube-api-access-"
_PLACING: Final = ("nodeSelector", "tolerations")
_ROUND: Final = re.compile(r"-r[0-9]{1,3}$")
_LONGEST_NAME: Final = 48
_MIB, _GIB = 2**20, 2**30


def next_name(name: str, taken: Collection[str] = ()) -> str:
    """`llm` becomes `llm-r2`, that `llm-r3`: the first that is not in `taken`, at most 48 characters."""
    base = _ROUND.sub("", name)
    found = _ROUND.search(name)
    number = int(found.group()[2:]) + 1 if found else 2
    while True:
        tail = f"-r{number}"
        made = base[: _LONGEST_NAME - len(tail)].rstrip("-") + tail
        if made not in taken:
            return made
        number += 1


def as_written(tree: Mapping[str, Any], workload: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The manifest behind an object of the cluster, ready to be created anew.

    With its `workload` (a tree) pods are placed as the person wrote it: while a job is admitted, its
    templates also carry the node labels of the flavor.
    """
    made = {key: copy.deepcopy(value) for key, value in tree.items() if key != "status"}
    metadata = mapping(made.get("metadata"))
    for key in _SERVERS:
        metadata.pop(key, None)
    for part in ("labels", "annotations"):
        _without(metadata, part, (*_written(), *(_JOB_LABELS if made.get("kind") == "Job" else ())))
    spec = mapping(made.get("spec"))
    if made.get("kind") == "Job" and spec.get("manualSelector") is not True:
        spec.pop("selector", None)
    for _role, template in pod_templates(made):
        _clean_template(template)
    if workload is not None:
        _place_as_asked(made, workload)
    _suspend_as_queued(made)
    return made


def _without(holder: dict[str, Any], part: str, keys: Collection[str]) -> None:
    pairs = mapping(holder.get(part))
    for key in keys:
        pairs.pop(key, None)
    if part in holder and not pairs:
        del holder[part]


def _written() -> tuple[str, ...]:
    return (*_WRITTEN, *registry.written_labels())


def _clean_template(template: dict[str, Any]) -> None:
    metadata = mapping(template.get("metadata"))
    metadata.pop("creationTimestamp", None)
    for part in ("labels", "annotations"):
        _without(metadata, part, (*_written(), *_JOB_LABELS))
    if "metadata" in template and not metadata:
        del template["metadata"]
    spec = mapping(template.get("spec"))
    for key in ("nodeName", "schedulingGates"):
        spec.pop(key, None)
    # The service account's token is mounted by the server into every pod, and again into the next one.
    for one in (*mappings(spec.get("containers")), *mappings(spec.get("initContainers"))):
        mounts = [m for m in mappings(one.get("volumeMounts")) if not _is_token(m)]
        _keep(one, "volumeMounts", mounts)
    _keep(spec, "volumes", [v for v in mappings(spec.get("volumes")) if not _is_token(v)])


def _is_token(one: Mapping[str, Any]) -> bool:
    return str(one.get("name") or "").startswith(_TOKENS)


def _keep(holder: dict[str, Any], key: str, left: list[dict[str, Any]]) -> None:
    if key in holder and len(left) != len(holder[key]):
        holder[key] = left
        if not left:
            del holder[key]


def _place_as_asked(tree: dict[str, Any], workload: Mapping[str, Any]) -> None:
    sets = {str(one.get("name")): one for one in mappings(mapping(workload.get("spec")).get("podSets"))}
    for role, template in pod_templates(tree):
        asked = mapping(mapping(sets.get(role, {}).get("template")).get("spec"))
        if not asked:
            continue
        spec = mapping(template.get("spec"))
        for key in _PLACING:
            spec.pop(key, None)
            if key in asked:
                spec[key] = copy.deepcopy(asked[key])


def _suspend_as_queued(tree: dict[str, Any]) -> None:
    """A job of a queue begins suspended, any other one begins: the old one may have been held."""
    field = suspend_field(str(tree.get("apiVersion") or ""), str(tree.get("kind") or ""))
    if not field:
        return
    here = tree
    for key in field[:-1]:
        here = here.setdefault(key, {})
    if registry.admitting(tree)[1]:
        here[field[-1]] = True
    else:
        here.pop(field[-1], None)


def grown(tree: Mapping[str, Any], roles: Collection[str], factor: float) -> tuple[dict[str, Any], list[str]]:
    """The manifest with the memory of these roles times `factor`, and what changed: `worker: 32Gi to 48Gi`.

    Requests grow with their limits; a container without a memory limit stays as it is.
    """
    made = copy.deepcopy(dict(tree))
    told: list[str] = []
    for role, template in pod_templates(made):
        if role not in roles:
            continue
        for one in containers(template):
            old = amounts(one, "limits").get("memory")
            if old is None:
                continue
            new = more_memory(str(old), factor)
            amounts(one, "limits")["memory"] = new
            if "memory" in amounts(one, "requests"):
                amounts(one, "requests")["memory"] = more_memory(
                    str(amounts(one, "requests")["memory"]), factor
                )
            told.append(f"{role}: {old} to {new}")
    return made, told


def more_memory(text: str, factor: float) -> str:
    """A memory quantity times `factor`, rounded up to whole Gi, below 8Gi to whole Mi."""
    wanted = parse_quantity(text) * factor
    unit, name = (_GIB, "Gi") if wanted >= 8 * _GIB else (_MIB, "Mi")
    return f"{max(1, -int(-wanted // unit))}{name}"
