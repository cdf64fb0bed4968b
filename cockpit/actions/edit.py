"""Edit the manifest of a job: what its object lets change in place is patched, for anything else the job is
recreated (`cockpit.actions.recreate`).

What is edited is what its author wrote (`cockpit.jobs.clone`), with the suspend field as it is now and its
secrets behind marks.
"""

import copy
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from cockpit.actions.address import object_path
from cockpit.actions.job_size import plan_resize, size_of
from cockpit.actions.planner import Planner
from cockpit.actions.planning import Planning, tree_of, workload_path, workload_tree
from cockpit.actions.prioritise import PriorityOptions, plan_to_prioritise
from cockpit.actions.recreate import plan_recreate, read_operations, refuse_identity, with_operations
from cockpit.actions.refusals import sentence_of
from cockpit.actions.rights import right_to_patch
from cockpit.actions.shell import job_line
from cockpit.actions.suspend import plan_to_resume, plan_to_suspend
from cockpit.errors import BadInput, Refused, Unchanged
from cockpit.gangs import registry
from cockpit.gangs.sentence import listed
from cockpit.gangs.suspend_field import patch_call, suspend_field
from cockpit.jobs.clone import as_written
from cockpit.jobs.manifest_file import documents
from cockpit.jobs.schedule import refuse_wrong_schedule
from cockpit.k8s.json_patch import Operation, difference, merge_patch, merged, pointed
from cockpit.k8s.json_values import mapping
from cockpit.mask import FormMask, has_mark, mask_text
from cockpit.model.gang import Workload
from cockpit.model.job import Job
from cockpit.model.plan import Call, Plan
from cockpit.model.record import Kind
from cockpit.model.refusal import Refusal
from cockpit.yaml_text import yaml_text

_KEYED: Final = (("metadata", "labels"), ("metadata", "annotations"))
_IN_PLACE: Final[Mapping[tuple[str, str], tuple[tuple[str, ...], ...]]] = {
    ("batch", "Job"): (
        ("spec", "activeDeadlineSeconds"),
        ("spec", "backoffLimit"),
        ("spec", "ttlSecondsAfterFinished"),
    ),
    ("batch", "CronJob"): (("spec",),),
}
"""Fields of an existing object that the API server lets change, with labels, annotations, size and suspend.
Source: kubernetes pkg/apis/batch/validation (ValidateJobSpecUpdate, ValidateCronJobUpdate)."""
_WIDTH: Final = 1000
_MISSING: Final = object()
Path = tuple[str, ...]


class OpenedManifest:
    """The manifest of one job while it is edited. `text` is what is shown, as YAML."""

    def __init__(self, job: Job, tree: Mapping[str, Any]) -> None:
        self._target = _target(job)
        self._mask = FormMask()
        self._tree = dict(tree)
        self._shown = self._mask.tree(self._tree)
        first = f"# {self._target}: save and leave to see what would be done; unchanged, nothing is.\n"
        marks = "# [hidden-1] stands for a secret: where it is left, the secret stays.\n"
        text = yaml_text(self._shown, _WIDTH)
        self.text = first + (marks if has_mark(text) else "") + text

    def patch(self, text: str, source: str) -> str:
        """What the edited `text` changes, as a JSON patch; "" where it changes nothing. `source` names the
        file. Raises BadInput."""
        found = documents(text, source)
        if len(found) != 1 or not isinstance(found[0], dict):
            raise BadInput(f"{source}: one object belongs in it, the manifest of {self._target}")
        operations = difference(self._shown, found[0])
        refuse_identity(operations, source)
        steps = [self._restored(step) for step in operations]
        if any(has_mark(json.dumps(step.get("value"))) for step in steps):
            raise BadInput(f"{source}: a [hidden] mark stands where it stands for no secret: write the value")
        return json.dumps(steps, separators=(",", ":"), ensure_ascii=False) if steps else ""

    def refuse_moved(self, tree: Mapping[str, Any]) -> None:
        """Raise Refused (409) where the manifest is another by now."""
        if self._tree != tree:
            said = Refusal(status=409, reason="Conflict")
            raise Refused(sentence_of(self._target, said), said)

    def _restored(self, step: Operation) -> Operation:
        return {**step, "value": _restored(step["value"], self._mask)} if "value" in step else step


def _restored(value: Any, mask: FormMask) -> Any:
    if isinstance(value, dict):
        first = {"name": value["name"]} if "name" in value else {}  # by its name a value is seen to be secret
        return {key: _restored(item, mask) for key, item in {**first, **value}.items()}
    if isinstance(value, list):
        return [_restored(item, mask) for item in value]
    return mask.restored(value) if isinstance(value, str) else value


async def editable(planning: Planning, job: Job) -> dict[str, Any]:
    """The manifest that is edited, as it is now. Raises BadInput, Refused."""
    return _editable(await tree_of(planning, job), await workload_tree(planning, job))


def _editable(tree: Mapping[str, Any], workload: Mapping[str, Any] | None) -> dict[str, Any]:
    made = as_written(tree, workload)
    if field := suspend_field(str(tree.get("apiVersion") or ""), str(tree.get("kind") or "")):
        _set(made, field, _at(tree, field))
    return made


@dataclass(frozen=True, slots=True)
class EditOptions:
    """`patch`: a JSON patch of the manifest, as text."""

    patch: str = ""

    def __post_init__(self) -> None:
        read_operations(self.patch)


async def plan_to_edit(planning: Planning, job: Job, options: EditOptions) -> Plan:
    """Patch what can change in place; where anything else changes, recreate the job with all of it."""
    tree, workload = await tree_of(planning, job), await workload_tree(planning, job)
    target = _target(job)
    before = _editable(tree, workload)
    after = with_operations(before, read_operations(options.patch), target)
    operations = difference(before, after)
    refuse_wrong_schedule(after)
    if not operations:
        raise Unchanged(f"{target}: nothing is changed")
    if fixed := _fixed(tree, before, after):
        return _recreated(planning, job, (tree, workload), operations, fixed)
    plans, rest = await _by_their_verbs(planning, job, tree, before, after)
    calls = [call for plan in plans for call in plan.calls]
    lines = [line for plan in plans for line in plan.lines]
    if change := merge_patch(before, rest):
        path = object_path(job.api_version, job.kind, job.namespace, job.name, lookup=planning.lookup)
        calls.append(patch_call(tree, path, target, change))
        lines = [*map(_line, difference(before, rest)), *lines]
    return Plan(
        verb="edit",
        title=f"Edit {target}",
        done=f"Edited {target}",
        calls=_one_a_path(calls),
        lines=tuple(lines),
        warnings=tuple(warning for plan in plans for warning in plan.warnings),
        shell=job_line("edit", job, planning.context, "--patch", options.patch),
        is_destructive=any(plan.is_destructive for plan in plans),
        contends=tuple(asks for plan in plans for asks in plan.contends),
    )


def _fixed(tree: Mapping[str, Any], before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """The fields that change and cannot while the object is there, as a person writes them."""
    api_version, kind = str(tree.get("apiVersion") or ""), str(tree.get("kind") or "")
    more = _IN_PLACE.get((api_version.rpartition("/")[0], kind), ())
    free = (*_KEYED, *more, *size_of(tree).fields, suspend_field(api_version, kind))
    places = [pointed(*path) for path in free if path]
    return [
        _dotted(step["path"])
        for step in difference(before, after)
        if not any(step["path"] == place or step["path"].startswith(f"{place}/") for place in places)
    ]


def _recreated(
    planning: Planning,
    job: Job,
    trees: tuple[Mapping[str, Any], Mapping[str, Any] | None],
    operations: tuple[Operation, ...],
    fixed: list[str],
) -> Plan:
    """What `cockpit job recreate` does with the same patch; a person types the name of the job for it."""
    field = suspend_field(job.api_version, job.kind)
    if field and any(step["path"] == pointed(*field) for step in operations):
        raise BadInput(
            f"{_target(job)}: {'.'.join(field)} cannot change together with {fixed[0]}, for which the job is"
            " recreated: change it before or after that"
        )
    tree, workload = trees
    record = planning.store.get(Kind.WORKLOAD, job.workload_uid) if job.workload_uid else None
    plan = plan_recreate(
        job,
        tree,
        operations,
        store=planning.store,
        workload=workload,
        workload_path=workload_path(planning, record) if isinstance(record, Workload) else "",
        lookup=planning.lookup,
        context=planning.context,
    )
    why = listed("cannot change while the job is there: ", fixed, 200)
    return msgspec.structs.replace(plan, lines=(why, *plan.lines), typed=job.name)


async def _by_their_verbs(
    planning: Planning,
    job: Job,
    tree: Mapping[str, Any],
    before: Mapping[str, Any],
    after: Mapping[str, Any],
) -> tuple[list[Plan], dict[str, Any]]:
    """The plans of what has a verb (size, suspend, priority, queue), and the manifest with the rest alone."""
    rest: dict[str, Any] = copy.deepcopy(dict(after))
    plans: list[Plan] = []
    if new := _changed(before, after, size := size_of(tree).fields):
        plans.append(plan_resize(job, tree, _workers(job, size, new), lookup=planning.lookup))
    engine = registry.engine_named(job.engine)
    marks = {
        "priority": engine.priority.label if engine.priority else "",
        "queue": engine.marks.queue_label if engine.priority else "",
    }
    labels = {what: ("metadata", "labels", label) for what, label in marks.items() if label}
    wanted = _changed(before, after, tuple(labels.values()))
    told = {what: str(wanted[path]) for what, path in labels.items() if wanted.get(path)}
    if told:
        plans.append(await plan_to_prioritise(planning, job, PriorityOptions(**told)))
    field = suspend_field(job.api_version, job.kind)
    if field and (held := _changed(before, after, (field,))):
        make = plan_to_suspend if held[field] is True else plan_to_resume
        plans.append(await make(planning, job))
    for path in (*size, *(labels[what] for what in told), *((field,) if field else ())):
        _set(rest, path, _at(before, path))
    return plans, rest


def _workers(job: Job, fields: Sequence[Path], new: Mapping[Path, Any]) -> int:
    """The size that the fields agree on. Raises BadInput."""
    names = " and ".join(".".join(path) for path in fields)
    values = set(new.values())
    if len(values) != 1 or len(new) != len(fields):
        raise BadInput(f"{_target(job)}: {names} change together: give both the same number")
    if not isinstance(value := values.pop(), int) or isinstance(value, bool):
        raise BadInput(f"{_target(job)}: {names}: {value!r} is not a whole number")
    return value


def _changed(before: Mapping[str, Any], after: Mapping[str, Any], paths: Sequence[Path]) -> dict[Path, Any]:
    """The new values of those of the fields that differ, None for one that is gone."""
    pairs = {path: (_at(before, path), _at(after, path)) for path in paths}
    return {path: None if new is _MISSING else new for path, (old, new) in pairs.items() if old != new}


def _at(tree: Mapping[str, Any], path: Path) -> Any:
    here: Any = tree
    for key in path:
        here = here.get(key, _MISSING) if isinstance(here, Mapping) else _MISSING
    return here


def _set(tree: dict[str, Any], path: Path, value: Any) -> None:
    """Give the field that value, or take it out."""
    if value is _MISSING:
        mapping(_at(tree, path[:-1])).pop(path[-1], None)
        return
    here = tree
    for key in path[:-1]:
        here = here.setdefault(key, {})
    here[path[-1]] = value


def _one_a_path(calls: Sequence[Call]) -> tuple[Call, ...]:
    """Merge patches of one object as one: after the first the second would meet a newer object."""
    made: dict[str, Call] = {}
    for call in calls:
        first = made.get(call.path)
        body = call.body if first is None else merged(first.body, call.body)
        made[call.path] = msgspec.structs.replace(call, body=body)
    return tuple(made.values())


def _line(step: Operation) -> str:
    place = _dotted(step["path"])
    if step["op"] == "remove":
        return f"without {place}"
    return mask_text(f"{place}: {json.dumps(step['value'], ensure_ascii=False)}")


def _dotted(pointer: str) -> str:
    return ".".join(key.replace("~1", "/").replace("~0", "~") for key in pointer.split("/")[1:])


def _target(job: Job) -> str:
    return f"{job.kind.lower()} {job.namespace}/{job.name}"


EDIT = Planner(options=EditOptions, plan=plan_to_edit, needs=right_to_patch)
