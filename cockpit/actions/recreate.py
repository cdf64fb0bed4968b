"""Recreate a job under its own name, with other lines where its template may not be changed while it is
there.

What is created is the manifest that its author wrote (`cockpit.jobs.clone`). Nothing is deleted before the
server has said in a dry run that it would take it, and what is deleted is kept on this host.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from cockpit.actions.address import Lookup, object_path
from cockpit.actions.kill import REMAINS, ends_of
from cockpit.actions.planner import Planner
from cockpit.actions.planning import Planning, tree_of, workload_path, workload_tree
from cockpit.actions.rights import right_to_create, rights_on_job
from cockpit.actions.shell import job_line, restore_line
from cockpit.errors import BadInput
from cockpit.jobs.clone import as_written
from cockpit.jobs.members import members_of
from cockpit.k8s.json_patch import Operation, edited
from cockpit.mask import mask_text
from cockpit.model.contender import Contender
from cockpit.model.gang import Workload
from cockpit.model.job import Job
from cockpit.model.plan import Call, Plan, Replaced
from cockpit.model.record import Kind
from cockpit.model.right import Right
from cockpit.model.store_reader import StoreReader

LEFT_OUT: Final = "what the server, controllers and the queueing engine wrote into it is left out"


def plan_recreate(
    job: Job,
    tree: Mapping[str, Any],
    operations: tuple[Operation, ...],
    *,
    store: StoreReader,
    workload: Mapping[str, Any] | None = None,
    workload_path: str = "",
    lookup: Lookup | None = None,
    context: str = "",
) -> Plan:
    """The plan that deletes the job and creates it again with the `operations` (JSON patch) done to what its
    author wrote. `workload` is the tree of what its engine admits it by, `workload_path` where that is.

    Raises BadInput where it is being deleted, belongs to another object, or has no such line.
    """
    target = f"{job.kind.lower()} {job.namespace}/{job.name}"
    metadata = tree["metadata"]
    if metadata.get("deletionTimestamp"):
        raise BadInput(f"{target} is already being deleted")
    _refuse_owned(target, metadata)
    if not (uid := str(metadata.get("uid") or "")):
        raise BadInput(f"{target} has no known uid: it is not deleted by name alone")
    before = as_written(tree, workload)
    path = object_path(job.api_version, job.kind, job.namespace, job.name, lookup=lookup)
    replaced = [Replaced(path=path, uid=uid, target=target)]
    if workload is not None and workload_path:
        own = workload["metadata"]
        name = f"workload {own.get('namespace', '')}/{own.get('name', '')}"
        replaced.append(Replaced(path=workload_path, uid=str(own.get("uid") or ""), target=name))
    guard = {"uid": uid, "resourceVersion": str(metadata.get("resourceVersion") or "")}
    options = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"}
    pods = members_of(job, store)
    made = with_operations(before, operations, target)
    return Plan(
        verb="recreate",
        contends=(Contender(name=f"{job.namespace}/{job.name}", manifest=made, replaces=uid),),
        title=f"Recreate {target}",
        done=f"Recreated {target}",
        calls=(
            Call(method="DELETE", path=path, body={**options, "preconditions": guard}, target=target),
            Call(
                method="POST",
                path=path.rpartition("/")[0],
                body=made,
                target=target,
                replaces=tuple(replaced),
            ),
        ),
        lines=(
            f"delete {target} and create it again under its name",
            *map(_told, operations),
            LEFT_OUT,
            *ends_of(pods, job.gpus_allocated),
            REMAINS,
        ),
        shell=job_line("recreate", job, context, *_words(operations)),
        is_destructive=True,
        keeps=before,
    )


def plan_restore(
    manifest: Mapping[str, Any], audit_id: str, *, lookup: Lookup | None = None, context: str = ""
) -> Plan:
    """The plan that creates what was deleted, as it was kept under the id of an audit line."""
    kind, metadata = str(manifest.get("kind") or ""), manifest["metadata"]
    name, namespace = str(metadata.get("name") or ""), str(metadata.get("namespace") or "default")
    target = f"{kind.lower()} {namespace}/{name}"
    path = object_path(str(manifest.get("apiVersion") or ""), kind, namespace, lookup=lookup)
    return Plan(
        verb="restore",
        contends=(Contender(name=f"{namespace}/{name}", manifest=dict(manifest)),),
        title=f"Create {target} again",
        done=f"Created {target} again",
        calls=(Call(method="POST", path=path, body=dict(manifest), target=target),),
        lines=(f"create {target} as it was before it was recreated", LEFT_OUT),
        shell=restore_line(audit_id, context),
    )


def read_operations(text: str) -> tuple[Operation, ...]:
    """A JSON patch of add, remove and replace; () of "". Raises BadInput."""
    if not text:
        return ()
    try:
        found = json.loads(text)
    except ValueError:
        raise BadInput(f"--patch: this is not JSON; {_JSON_PATCH}") from None
    if not isinstance(found, list) or not all(map(_is_operation, found)):
        raise BadInput(f"--patch: {_JSON_PATCH}, each with its path")
    refuse_identity(found, "--patch")
    return tuple(found)


def refuse_identity(operations: Iterable[Operation], source: str) -> None:
    """Raise BadInput for an operation that would make another object of it; `source` is what holds it."""
    for step in operations:
        if step["path"].split("/")[1] in _KIND or step["path"].startswith(_IDENTITY):
            raise BadInput(f"{source}: {step['path']} cannot be changed: the job keeps its name and kind")


def _is_operation(step: Any) -> bool:
    if not isinstance(step, dict) or not str(step.get("path", "")).startswith("/"):
        return False
    return step.get("op") == "remove" or (step.get("op") in ("add", "replace") and "value" in step)


_JSON_PATCH: Final = "give a JSON patch: a list of add, remove and replace"
_KIND: Final = ("apiVersion", "kind", "status")
_IDENTITY: Final = ("/metadata/name", "/metadata/namespace", "/metadata/uid")


def _refuse_owned(target: str, metadata: Mapping[str, Any]) -> None:
    for owner in metadata.get("ownerReferences") or ():
        if isinstance(owner, Mapping) and owner.get("controller"):
            raise BadInput(
                f"{target} is made by {str(owner.get('kind')).lower()} {owner.get('name')}: recreate that one"
            )


def with_operations(
    manifest: Mapping[str, Any], operations: tuple[Operation, ...], target: str
) -> dict[str, Any]:
    """A copy of the manifest of `target` with the operations done. Raises BadInput where it has no such
    place."""
    made: dict[str, Any] = dict(manifest)
    for one in operations:
        try:
            made = edited(made, (one,))
        except (KeyError, IndexError, TypeError, ValueError):
            raise BadInput(
                f"{target}: its author wrote no {one['path']} into it; look at its manifest, and plan again"
            ) from None
    return made


def _told(operation: Operation) -> str:
    value = mask_text(json.dumps(operation.get("value"), ensure_ascii=False))
    match operation["op"]:
        case "remove":
            return f"without {operation['path']}"
        case "add":
            return f"with {operation['path']}: {value}"
        case _:
            return f"with {operation['path']} changed to {value}"


def _words(operations: tuple[Operation, ...]) -> tuple[str, ...]:
    return ("--patch", json.dumps(list(operations), separators=(",", ":"))) if operations else ()


@dataclass(frozen=True, slots=True)
class RecreateOptions:
    """`patch`: a JSON patch of the manifest that the job's author wrote, as text; "" changes nothing."""

    patch: str = ""

    def __post_init__(self) -> None:
        read_operations(self.patch)


async def plan_to_recreate(planning: Planning, job: Job, options: RecreateOptions) -> Plan:
    """Delete the job and create it again, with other lines."""
    workload = planning.store.get(Kind.WORKLOAD, job.workload_uid) if job.workload_uid else None
    return plan_recreate(
        job,
        await tree_of(planning, job),
        read_operations(options.patch),
        store=planning.store,
        workload=await workload_tree(planning, job),
        workload_path=workload_path(planning, workload) if isinstance(workload, Workload) else "",
        lookup=planning.lookup,
        context=planning.context,
    )


def _needs(planning: Planning, job: Job) -> tuple[Right, ...]:
    return (*rights_on_job(planning, job, "delete"), *right_to_create(planning, job))


RECREATE = Planner(options=RecreateOptions, plan=plan_to_recreate, needs=_needs)
