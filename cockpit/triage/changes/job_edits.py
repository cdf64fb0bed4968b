"""A job with other lines: what has to be changed in its object, the job as it would then be, and the command
that makes it so. Templates of pods may not be changed while a job is there, so it is made anew."""

import copy
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from cockpit.fit.what_if import WhatIf
from cockpit.jobs.planned import planned_gang
from cockpit.triage.changes.offer import ChangeOffer, Desk
from cockpit.triage.verdict import Change, Subject
from cockpit.triage.wanted import Tree

Operation = Mapping[str, Any]
"""One of RFC 6902: add, remove or replace."""
Operations = Iterable[Operation]

_MUTABLE: Final = ("Deployment", "StatefulSet", "DaemonSet")
"""Kinds whose controllers roll out another template by themselves."""
_MADE_BY_THE_SERVER: Final = ("controller-uid", "batch.kubernetes.io/controller-uid")


class PodSpecPlace(NamedTuple):
    """A pod spec within an object, and the JSON pointer to it."""

    pointer: str
    spec: Tree

    def containers(self) -> Iterator[tuple[str, Tree]]:
        """Each container, init containers too, with the pointer to it."""
        for field in ("initContainers", "containers"):
            for at, one in enumerate(self.spec.get(field) or ()):
                if isinstance(one, Mapping):
                    yield f"{self.pointer}/{field}/{at}", one


def pointed(*keys: str) -> str:
    """The part of a JSON pointer that leads through these keys."""
    return "".join(f"/{one.replace('~', '~0').replace('/', '~1')}" for one in keys)


def pod_spec_places(tree: Tree) -> list[PodSpecPlace]:
    """Every pod spec of an object."""
    return list(_below(tree, ""))


def _below(node: Any, pointer: str) -> Iterator[PodSpecPlace]:
    if isinstance(node, Mapping):
        spec = node.get("spec")
        if isinstance(spec, Mapping) and isinstance(spec.get("containers"), list):
            yield PodSpecPlace(f"{pointer}/spec", spec)
            return
        for key, value in node.items():
            if key not in ("status", "metadata"):
                yield from _below(value, pointer + pointed(str(key)))
    elif isinstance(node, list):
        for at, value in enumerate(node):
            yield from _below(value, f"{pointer}/{at}")


def edited(tree: Tree, operations: Operations) -> dict[str, Any]:
    """A copy of the object with the operations done. Raises KeyError or IndexError where a place is not
    there."""
    made: dict[str, Any] = copy.deepcopy(dict(tree))
    for one in operations:
        *path, last = (key.replace("~1", "/").replace("~0", "~") for key in one["path"].split("/")[1:])
        node: Any = made
        for key in path:
            node = node[int(key)] if isinstance(node, list) else node[key]
        if isinstance(node, list):
            if one["op"] == "add":
                node.insert(len(node) if last == "-" else int(last), one["value"])
            elif one["op"] == "remove":
                del node[int(last)]
            else:
                node[int(last)] = one["value"]
        elif one["op"] == "remove":
            del node[last]
        else:
            node[last] = one["value"]
    return made


def own_object(desk: Desk) -> Tree | None:
    """The object that the subject's pods are made from: the job's, a bare pod's; None where it was not
    read."""
    return desk.wanted.tree if desk.wanted.tree is not None else None


def edit_command(tree: Tree, operations: Operations, *, is_placed: bool = True) -> tuple[str, ...]:
    """The object with the operations done: patched where its controller follows, else deleted and created
    anew. `|` stands for a pipe. Where none of its pods `is_placed` what was made from the old one goes first:
    an engine that finds the old Workload beside the new job may take it for the job's own, and give the job
    its old lines again. Elsewhere that might wait for a kubelet that does not answer."""
    meta = tree["metadata"]
    group = str(tree["apiVersion"]).rpartition("/")[0]
    kind = str(tree["kind"]).lower() + (f".{group}" if group else "")
    where = ("-n", str(meta["namespace"])) if meta.get("namespace") else ()
    found = list(operations)
    if tree["kind"] in _MUTABLE:
        return ("kubectl", "patch", kind, meta["name"], *where, "--type=json", "-p", _text(found))
    found = [*_freed(tree), *found]
    goes_first = () if is_placed or tree["kind"] == "Pod" else ("--cascade=foreground",)
    return (
        *("kubectl", "get", kind, meta["name"], *where, "-o", "json", "|"),
        *("kubectl", "patch", "--local", "-f", "-", "--type=json", "-p", _text(found), "-o", "json", "|"),
        *("kubectl", "replace", "--force", *goes_first, "-f", "-"),
    )


def _freed(tree: Tree) -> Iterator[Operation]:
    """Without what the API server writes into a Job and refuses in a new one: its selector, by its uid."""
    spec = tree.get("spec") or {}
    if tree["kind"] != "Job" or spec.get("manualSelector") or "selector" not in spec:
        return
    yield {"op": "remove", "path": "/spec/selector"}
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels") or {}
    for name in _MADE_BY_THE_SERVER:
        if name in labels:
            yield {"op": "remove", "path": "/spec/template/metadata/labels" + pointed(name)}


def _text(operations: Operations) -> str:
    return json.dumps(list(operations), separators=(",", ":"))


def edit_offer(  # noqa: PLR0917 - what an offer is, and of what
    desk: Desk,
    cost: int,
    kind: str,
    words: str,
    operations: Operations,
    target: Subject | None = None,
) -> ChangeOffer | None:
    """The offer to give the job other lines; None where its object was not read, or has no such lines."""
    tree, found = own_object(desk), list(operations)
    if tree is None or not found:
        return None
    then_tree = edited(tree, found)
    parts = planned_gang(then_tree, desk.wanted.namespace)
    if not parts:
        return None
    job = desk.wanted.job
    members = () if job is None else desk.view.jobs.members(job.key)
    command = edit_command(tree, found, is_placed=any(one.node for one in members))
    change = Change(kind=kind, words=words, command=command, target=target or desk.wanted.subject)
    then: WhatIf = msgspec.structs.replace(desk.base, parts=parts, without=own_pods(desk))
    return ChangeOffer(cost, change, then, then_tree)


def in_each(desk: Desk, lines: Callable[[PodSpecPlace], Operations]) -> list[Operation]:
    """The operations that each pod spec of the job needs."""
    tree = own_object(desk)
    return [] if tree is None else [one for place in pod_spec_places(tree) for one in lines(place)]


def own_pods(desk: Desk) -> frozenset[str]:
    """Pods of the job, which go where it is made anew."""
    job = desk.wanted.job
    members = () if job is None else desk.view.jobs.members(job.key)
    return frozenset(one.uid for one in members)
