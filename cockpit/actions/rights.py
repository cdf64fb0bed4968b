"""The right that a call needs, read from its path, and those on the object of a job."""

from collections.abc import Iterable

import msgspec

from cockpit.actions.address import object_path
from cockpit.actions.kubectl import place_of
from cockpit.actions.planning import Planning
from cockpit.errors import BadInput
from cockpit.model.job import GANG, Job
from cockpit.model.node import Node
from cockpit.model.plan import Call
from cockpit.model.right import Right

_VERBS = {"POST": "create", "PATCH": "patch", "DELETE": "delete", "PUT": "update", "GET": "get"}


def right_on(verb: str, path: str) -> Right:
    """The right to `verb` what lives at `path` below the API server."""
    place = place_of(path)
    return Right(verb, place.group, place.resource, place.subresource, place.namespace, place.name)


def right_of(call: Call) -> Right:
    """The right without which this call is refused."""
    return right_on(_VERBS[call.method], call.path)


def of_any_name(rights: Iterable[Right]) -> tuple[Right, ...]:
    """The same rights on any object."""
    return tuple(msgspec.structs.replace(right, name="") for right in rights)


def rights_on_job(planning: Planning, job: Job, *verbs: str) -> tuple[Right, ...]:
    """These verbs on the job's own object; none where the cluster does not serve its kind. That of a gang of
    bare pods are its pods, whatever they are called."""
    if job.kind == GANG:
        pods = object_path("v1", "Pod", job.namespace, "any", lookup=planning.lookup)
        return of_any_name(right_on(verb, pods) for verb in verbs)
    try:
        path = object_path(job.api_version, job.kind, job.namespace, job.name, lookup=planning.lookup)
    except BadInput:
        return ()
    return tuple(right_on(verb, path) for verb in verbs)


def right_to_create(planning: Planning, job: Job) -> tuple[Right, ...]:
    """To make another object of the job's kind in its namespace."""
    return of_any_name(rights_on_job(planning, job, "create"))


def right_to_patch(planning: Planning, job: Job) -> tuple[Right, ...]:
    """To patch the job's own object."""
    return rights_on_job(planning, job, "patch")


def right_to_patch_node(_planning: Planning, node: Node) -> tuple[Right, ...]:
    """To patch the node."""
    return (Right("patch", "", "nodes", name=node.name),)
