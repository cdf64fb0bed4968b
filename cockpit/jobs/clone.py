"""The same job once more: the manifest that its author wrote, from an object of the cluster.

Everything that is made from an object is made from this: a clone, a retry, a job that is recreated, what is
kept of one that is deleted. What the server, controllers, operators, webhooks and the queueing engine wrote
into the object is taken out: by the lists of `cockpit.k8s.controller_marks` and of each engine's package, by
the managers of its fields, and, where an engine has kept how the pods were asked for, by that. Every leaf
that a person wrote stays.
"""

import copy
import json
import re
from collections.abc import Collection, Mapping
from typing import Any, Final

from cockpit.gangs import registry
from cockpit.gangs.suspend_field import suspend_field
from cockpit.jobs.owner_chain import SCHEDULES
from cockpit.jobs.pod_templates import amounts, containers, pod_templates
from cockpit.k8s import labels as well_known
from cockpit.k8s.controller_marks import (
    JOB_LABELS,
    MARKS,
    SERVER_FIELDS,
    injected_names,
    is_mark,
    without_injected,
)
from cockpit.k8s.field_owners import FieldOwners, Path
from cockpit.k8s.json_values import mapping, mappings
from cockpit.k8s.quantity import parse_quantity

_PLACING: Final = ("nodeSelector", "tolerations", "schedulingGates")
_KEYED: Final = ("labels", "annotations")
_OF_ADMISSION: Final = ("priority", "preemptionPolicy", "serviceAccount")
"""Fields of a pod that the API server computes from others."""
_SHORTEST_UID: Final = 32
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
    """The manifest behind an object of the cluster, ready to be created once more.

    `workload` is the tree of what its engine admits it by: it holds the pods as they were asked for.
    """
    made = {key: copy.deepcopy(value) for key, value in tree.items() if key != "status"}
    _Cleaning(tree, made, workload).go()
    return made


class _Cleaning:
    """One object while what was written into it is taken out of its copy `made`."""

    def __init__(
        self, tree: Mapping[str, Any], made: dict[str, Any], workload: Mapping[str, Any] | None
    ) -> None:
        metadata = mapping(tree.get("metadata"))
        self._made = made
        self._workload = workload
        self._owners = FieldOwners(tree)
        self._marks = (*MARKS, *registry.written_labels())
        # no author knows a uid before the object is there
        self._uids = tuple(
            uid
            for item in (metadata, *mappings(metadata.get("ownerReferences")))
            if len(uid := str(item.get("uid") or "")) >= _SHORTEST_UID
        )
        self._applied = _applied(metadata)

    def go(self) -> None:
        metadata, spec = mapping(self._made.get("metadata")), mapping(self._made.get("spec"))
        is_job = self._made.get("kind") == "Job"
        places = {id(template): path for path, template in _places(self._made, ())}
        for _role, template in pod_templates(self._made):
            if template is not self._made:
                self._clean_template(template, places.get(id(template), ()))
        if self._made.get("kind") == "Pod":
            self._clean_pod(spec)
        for key in SERVER_FIELDS:
            metadata.pop(key, None)
        for part in _KEYED:
            self._without(metadata, part, ("metadata", part), JOB_LABELS if is_job else ())
        if is_job and spec.get("manualSelector") is not True:
            spec.pop("selector", None)
        if self._workload is not None:
            self._place_as_asked(self._workload)
        registry.take_out_written(self._made, self._workload)
        _suspend_as_queued(self._made)

    def _clean_template(self, template: dict[str, Any], path: Path) -> None:
        metadata, spec = mapping(template.get("metadata")), mapping(template.get("spec"))
        for key in SERVER_FIELDS:
            metadata.pop(key, None)
        without_injected(spec, injected_names(mapping(metadata.get("annotations"))))
        for part in _KEYED:
            self._without(metadata, part, (*path, "metadata", part), JOB_LABELS)
        if "metadata" in template and not metadata:
            del template["metadata"]
        self._without(spec, "nodeSelector", (*path, "spec", "nodeSelector"))
        self._without_gates(spec, (*path, "spec", "schedulingGates"))

    def _clean_pod(self, spec: dict[str, Any]) -> None:
        annotations = mapping(mapping(self._made.get("metadata")).get("annotations"))
        without_injected(spec, injected_names(annotations))
        if not self._owners.is_of_an_author(("spec", "nodeName")):
            spec.pop("nodeName", None)
        for key in _OF_ADMISSION:
            spec.pop(key, None)
        self._without_gates(spec, ("spec", "schedulingGates"))

    def _without(self, holder: dict[str, Any], part: str, path: Path, marks: Collection[str] = ()) -> None:
        """Leave of a mapping what an author wrote."""
        pairs = mapping(holder.get(part))
        for key, value in list(pairs.items()):
            is_own = key in marks or is_mark(key, self._marks) or any(uid in str(value) for uid in self._uids)
            if is_own or (
                self._owners.is_of_controllers((*path, key)) and not self._is_applied(path, key, value)
            ):
                del pairs[key]
        if part in holder and not pairs:
            del holder[part]

    def _without_gates(self, spec: dict[str, Any], path: Path | None) -> None:
        """`path` None: who owns them is not known."""
        gates = spec.get("schedulingGates")
        if not isinstance(gates, list):
            return
        left = [
            gate
            for at, gate in enumerate(gates)
            if not is_mark(str(mapping(gate).get("name")), self._marks)
            and not (path is not None and self._owners.is_of_controllers((*path, at)))
        ]
        spec["schedulingGates"] = left
        if not left:
            del spec["schedulingGates"]

    def _is_applied(self, path: Path, key: str, value: Any) -> bool:
        """Whether the person's last `kubectl apply` says the same."""
        here: Any = self._applied
        for step in (*path, key):
            try:
                here = here[step]
            except (KeyError, IndexError, TypeError):
                return False
        return bool(here == value)

    def _place_as_asked(self, workload: Mapping[str, Any]) -> None:
        """Pods as the engine found them before it let the job in."""
        sets = {
            str(item.get("name")): item for item in mappings(mapping(workload.get("spec")).get("podSets"))
        }
        places = {id(node): path for path, node in _places(self._made, ())}
        for role, template in pod_templates(self._made):
            asked = mapping(sets.get(role, {}).get("template"))
            spec, wanted = mapping(template.get("spec")), mapping(asked.get("spec"))
            if not wanted:
                continue
            for key in _PLACING:
                spec.pop(key, None)
                if key in wanted:
                    spec[key] = copy.deepcopy(wanted[key])
            self._without_gates(spec, None)
            if "metadata" in asked and template is not self._made:
                self._as_asked(template, mapping(asked["metadata"]), places.get(id(template), ()))

    def _as_asked(self, template: dict[str, Any], asked: Mapping[str, Any], path: Path) -> None:
        """Labels and annotations that the engine found in the template, and those of authors since."""
        metadata = mapping(template.get("metadata"))
        for part in _KEYED:
            pairs, wanted = mapping(metadata.get(part)), mapping(asked.get(part))
            for key in [pair for pair in pairs if pair not in wanted]:
                where = (*path, "metadata", part)
                if not self._owners.is_of_an_author((*where, key)) and not self._is_applied(
                    where, key, pairs[key]
                ):
                    del pairs[key]
            if part in metadata and not pairs:
                del metadata[part]
        if "metadata" in template and not metadata:
            del template["metadata"]


def _places(node: Any, path: Path) -> list[tuple[Path, Any]]:
    """Every mapping of a tree with the way to it."""
    found: list[tuple[Path, Any]] = []
    if isinstance(node, dict):
        found.append((path, node))
        for key, value in node.items():
            found += _places(value, (*path, key))
    elif isinstance(node, list):
        for at, value in enumerate(node):
            found += _places(value, (*path, at))
    return found


def _applied(metadata: Mapping[str, Any]) -> Any:
    """What was applied by `kubectl apply` last; {} where nothing was."""
    text = mapping(metadata.get("annotations")).get(well_known.LAST_APPLIED)
    try:
        return json.loads(text) if isinstance(text, str) else {}
    except ValueError:
        return {}


def _suspend_as_queued(tree: dict[str, Any]) -> None:
    """A job of a queue begins suspended, any other one begins: the old one may have been held. No engine
    holds a schedule: it stays as its author left it."""
    if tree.get("kind") in SCHEDULES:
        return
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
        for container in containers(template):
            old = amounts(container, "limits").get("memory")
            if old is None:
                continue
            new = more_memory(str(old), factor)
            amounts(container, "limits")["memory"] = new
            if "memory" in amounts(container, "requests"):
                amounts(container, "requests")["memory"] = more_memory(
                    str(amounts(container, "requests")["memory"]), factor
                )
            told.append(f"{role}: {old} to {new}")
    return made, told


def more_memory(text: str, factor: float) -> str:
    """A memory quantity times `factor`, rounded up to whole Gi, below 8Gi to whole Mi."""
    wanted = parse_quantity(text) * factor
    unit, name = (_GIB, "Gi") if wanted >= 8 * _GIB else (_MIB, "Mi")
    return f"{max(1, -int(-wanted // unit))}{name}"
